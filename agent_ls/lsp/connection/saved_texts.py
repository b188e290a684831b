"""What the editor last had on disk for each open document, as far as known.

Owns the comparison of buffer and file. When they differ, either the buffer was edited or the file
was written. Only the text that both last had in common shows which.
"""

from __future__ import annotations

import hashlib
from collections import deque
from pathlib import Path
from typing import Literal

from agent_ls.edits.encodings import Encoding, encodings_of, ended, held_as, possible_encodings
from agent_ls.lsp.connection.documents import (
    DocumentEvent,
    DocumentEventKind,
    DocumentStore,
    Snapshot,
)
from agent_ls.processes.reading import read_file

_MAX_BYTES = 2 * 2**20
"""Larger files are not compared: they are read while the editor waits."""
_MAX_REPLACED = 16
_BOM = "\ufeff".encode()

Standing = Literal["same", "unsaved", "behind", "apart"]
"""``same``: file and buffer hold the same text. ``unsaved``: the buffer was edited; the file is as
the editor last had it. ``behind``: the file was written or deleted; the buffer is as the editor
last had it on disk. ``apart``: the difference is unexplained; neither may replace the other.
"""


class SavedTexts:
    """The last text that each open document and its file had in common."""

    def __init__(self, documents: DocumentStore) -> None:
        self._documents = documents
        self._common: dict[str, tuple[str, str] | None] = {}
        """By URI, the common text's buffer and file version; None: no file. No entry: unknown."""
        self._encodings: dict[str, tuple[Encoding, ...]] = {}
        """By URI, the encodings in which the file held the common text."""
        self._is_ended: dict[str, bool] = {}
        """By URI, whether the file's last line has a line end, where the buffer differs in that."""
        self._files: dict[str, tuple[int, ...]] = {}
        """By URI, the file's stat values at the last comparison."""
        self._replaced: dict[str, deque[str]] = {}
        """By URI, file versions that the agent replaced on disk since the last common text."""
        documents.listen(self._on_document)

    def standing(self, document: Snapshot, on_disk: bytes | None) -> Standing:
        """Compare a document with its file's bytes; None: there is no file."""
        if not document.in_sync:
            return "apart"
        mine = version_of(document.text)
        if on_disk is not None and (found := encodings_of(document.text, on_disk)):
            self._note_same(document, document.text, on_disk, found)
            return "same"
        if document.uri not in self._common:
            return "apart"
        common = self._common[document.uri]
        there = () if on_disk is None else (_version(on_disk), _version(_unmarked(on_disk)))
        if common is not None and common[0] == mine:
            return "same" if common[1] in there else "behind"
        if common is None or on_disk is None:
            return "unsaved" if common is on_disk else "apart"
        return "apart" if set(there).isdisjoint(common) else "unsaved"

    def as_saved(self, document: Snapshot) -> str:
        """Return a document's text with the final line end as in the file."""
        is_ended = self._is_ended.get(document.uri)
        return document.text if is_ended is None else ended(document.text, is_ended=is_ended)

    def encodings(self, uri: str, on_disk: bytes) -> tuple[Encoding, ...]:
        """Return the possible encodings of a document's file: those of the common text, else the
        only one that fits the bytes; empty if uncertain."""
        if known := self._encodings.get(uri):
            return known
        possible = possible_encodings(on_disk)
        return possible if len(possible) == 1 else ()

    def note(self, uri: str, text: str | None, on_disk: bytes | None = None) -> None:
        """Record what was written to a document's file; ``text`` None: there is no file.

        ``on_disk`` are the bytes, if they are not the text in UTF-8.
        """
        if text is None:
            self._common[uri] = None
        else:
            there = version_of(text) if on_disk is None else _version(on_disk)
            self._common[uri] = version_of(text), there

    def note_replaced(self, uri: str, on_disk: bytes) -> None:
        """Record bytes about to be replaced: the editor may have read them and show them later."""
        replaced = self._replaced.setdefault(uri, deque(maxlen=_MAX_REPLACED))
        replaced.append(_version(_unmarked(on_disk)))

    def _on_document(self, event: DocumentEvent) -> None:
        """Compare with the disk when the editor opens, saves or reloads a document.

        Not in a thread: by then another program may have written the file.
        """
        is_typed = event.kind is DocumentEventKind.CHANGED
        if not is_typed:
            self._common.pop(event.uri, None)
            self._encodings.pop(event.uri, None)
            self._files.pop(event.uri, None)
            self._replaced.pop(event.uri, None)
            self._is_ended.pop(event.uri, None)
        if event.path is None or event.kind is DocumentEventKind.CLOSED:
            return
        try:
            entry = _entry(event.path)
            if is_typed and entry == self._files.get(event.uri):
                # The file is unchanged, so the editor did not reload: the user typed.
                return
            # Read first: for a file that is too large, a keystroke must not join the text.
            on_disk = content(event.path)
            if (document := self._documents.get(event.uri)) is not None:
                self._compare(document, on_disk)
            self._files[event.uri] = entry
        except FileNotFoundError:
            if not is_typed:
                self.note(event.uri, None)
        except OSError:
            pass

    def _compare(self, document: Snapshot, on_disk: bytes) -> None:
        """Record the common text if document and file match now.

        Only where they stand ``apart``: any other difference is explained already.
        """
        if not document.in_sync or self.standing(document, on_disk) != "apart":
            return
        held, encodings = held_as(document.text, on_disk)
        if encodings:
            self._note_same(document, held, on_disk, encodings)
        elif version_of(document.text) in self._replaced.get(document.uri, ()):
            # The editor read the file before the agent replaced it; nobody typed.
            self.note(document.uri, document.text)

    def _note_same(
        self, document: Snapshot, held: str, on_disk: bytes, encodings: tuple[Encoding, ...]
    ) -> None:
        """Record that the bytes hold the text ``held``, which the editor shows as the document."""
        uri, is_ended = document.uri, held.endswith("\n")
        self._replaced.pop(uri, None)
        self._common[uri] = version_of(document.text), _version(on_disk)
        self._encodings[uri] = encodings
        self._is_ended.pop(uri, None)
        if document.text.endswith("\n") is not is_ended:
            self._is_ended[uri] = is_ended


def version_of(text: str) -> str:
    """Return a text's version; equal texts have equal versions."""
    return _version(text.encode("utf-8", "surrogatepass"))


def digests_of(text: str) -> tuple[str, str]:
    """Return the digests that a buffer's file can have in the store: without and with a byte
    order mark, which buffers do not show."""
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest(), hashlib.sha256(_BOM + data).hexdigest()


def as_bytes(document: Snapshot, on_disk: bytes | None) -> bytes:
    """Return a buffer's text in UTF-8, with a byte order mark if the file has one."""
    data = document.text.encode("utf-8", "surrogatepass")
    if on_disk is not None and on_disk.startswith(_BOM) and not data.startswith(_BOM):
        return _BOM + data
    return data


def content(place: Path) -> bytes:
    """Return a file's bytes. Errors: ``OSError``, also if it is no file or too large."""
    return read_file(place, max_bytes=_MAX_BYTES)


def _unmarked(data: bytes) -> bytes:
    return data.removeprefix(_BOM)


def _entry(place: Path) -> tuple[int, ...]:
    """Return stat values that change when a file is written. Errors: ``OSError``."""
    facts = place.stat()
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _version(data: bytes) -> str:
    return "buffer:" + hashlib.blake2b(data, digest_size=16).hexdigest()
