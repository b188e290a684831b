"""What the editor last had on disk of each open document, so far as that was seen.

Owns how a buffer and its file stand to each other. A buffer that differs from the disk was typed
in, or the disk was written under it; only what was once seen equal tells which.
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
from agent_ls.lsp.connection.uris import uri_to_path
from agent_ls.processes.reading import read_file

_MAX_BYTES = 2 * 2**20
"""Of a larger file nothing is known: it is read while the editor waits."""
_MAX_REPLACED = 16
_BOM = "\ufeff".encode()

Standing = Literal["same", "unsaved", "behind", "apart"]
"""``same``: the disk holds the buffer's text. ``unsaved``: the disk holds what the editor last had
there, the buffer more. ``behind``: the buffer holds what the editor last had on disk, and the disk
something newer, or nothing any more. ``apart``: they differ, and neither is known to be the other's
past, so neither may replace the other."""


class SavedTexts:
    """The texts that the open documents and their files had in common last."""

    def __init__(self, documents: DocumentStore) -> None:
        """Follow these documents from now on."""
        self._documents = documents
        self._common: dict[str, tuple[str, str] | None] = {}
        """By URI, the version of that text and of its file; None: there was no file. Missing:
        nobody knows."""
        self._encodings: dict[str, tuple[Encoding, ...]] = {}
        """By URI, those in which the file held that text."""
        self._is_ended: dict[str, bool] = {}
        """By URI, whether the file's last line has an end, where the document's is otherwise."""
        self._files: dict[str, tuple[int, ...]] = {}
        """By URI, how the file's entry was when it was last compared with what an editor sent."""
        self._replaced: dict[str, deque[str]] = {}
        """By URI, the versions that the agent replaced on disk since the two were the same last."""
        documents.listen(self._on_document)

    def standing(self, document: Snapshot, on_disk: bytes | None) -> Standing:
        """Return how a document and its file's bytes stand; None: there is no file."""
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
        """Return a document's text with its last line ended, or not, as it was in the file where
        the editor shows that otherwise."""
        is_ended = self._is_ended.get(document.uri)
        return document.text if is_ended is None else ended(document.text, is_ended=is_ended)

    def encodings(self, uri: str, on_disk: bytes) -> tuple[Encoding, ...]:
        """Return the encodings in which an editor can have a document's file: those in which the
        two were the same last, or what the bytes alone say; none where they do not."""
        if known := self._encodings.get(uri):
            return known
        possible = possible_encodings(on_disk)
        return possible if len(possible) == 1 else ()

    def note(self, uri: str, text: str | None, on_disk: bytes | None = None) -> None:
        """Know what was put on disk for a document, by its bytes if these are not the text's in
        UTF-8; None: there is no file.
        """
        if text is None:
            self._common[uri] = None
        else:
            there = version_of(text) if on_disk is None else _version(on_disk)
            self._common[uri] = version_of(text), there

    def note_replaced(self, uri: str, on_disk: bytes) -> None:
        """Know which bytes of a document's file are about to be replaced: an editor that has just
        read them shows them later."""
        replaced = self._replaced.setdefault(uri, deque(maxlen=_MAX_REPLACED))
        replaced.append(_version(_unmarked(on_disk)))

    def _on_document(self, event: DocumentEvent) -> None:
        """See what the disk holds as the editor opens or saves a document, or loads it again.

        At once, not in a thread: a later look would take what another program has written by then
        for what the editor has read.
        """
        path = uri_to_path(event.uri)
        is_typed = event.kind is DocumentEventKind.CHANGED
        if not is_typed:
            self._common.pop(event.uri, None)
            self._encodings.pop(event.uri, None)
            self._files.pop(event.uri, None)
            self._replaced.pop(event.uri, None)
            self._is_ended.pop(event.uri, None)
        if path is None or self._documents.spelled(event.uri) is None:
            return
        try:
            entry = _entry(path)
            if is_typed and entry == self._files.get(event.uri):
                # Nobody wrote it, so there was nothing to load again: this is the person's.
                return
            # A file that is too large is not compared, and a keystroke makes no text of it.
            on_disk = content(path)
            if (document := self._documents.get(event.uri)) is not None:
                self._compare(document, on_disk)
            self._files[event.uri] = entry
        except FileNotFoundError:
            if not is_typed:
                self.note(event.uri, None)
        except OSError:
            pass

    def _compare(self, document: Snapshot, on_disk: bytes) -> None:
        """See whether a document and its file are the same, as the editor may just have read or
        written it; not where the disk holds what is known, as then the difference was typed."""
        if not document.in_sync or self.standing(document, on_disk) != "apart":
            return
        held, encodings = held_as(document.text, on_disk)
        if encodings:
            self._note_same(document, held, on_disk, encodings)
        elif version_of(document.text) in self._replaced.get(document.uri, ()):
            # It was read before the disk got something newer, and is not what anybody typed.
            self.note(document.uri, document.text)

    def _note_same(
        self, document: Snapshot, held: str, on_disk: bytes, encodings: tuple[Encoding, ...]
    ) -> None:
        """Know that the bytes are the text ``held``, which the editor shows as the document's."""
        uri, is_ended = document.uri, held.endswith("\n")
        self._replaced.pop(uri, None)
        self._common[uri] = version_of(document.text), _version(on_disk)
        self._encodings[uri] = encodings
        self._is_ended.pop(uri, None)
        if document.text.endswith("\n") is not is_ended:
            self._is_ended[uri] = is_ended


def version_of(text: str) -> str:
    """Return a buffer's version, equal for equal texts: undoing a change is no change."""
    return _version(text.encode("utf-8", "surrogatepass"))


def digests_of(text: str) -> tuple[str, str]:
    """Return the digests a buffer's bytes can have in the store: without and with a byte order
    mark, which no buffer shows."""
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest(), hashlib.sha256(_BOM + data).hexdigest()


def as_bytes(document: Snapshot, on_disk: bytes | None) -> bytes:
    """Return a buffer's text in UTF-8; editors keep a byte order mark to themselves."""
    data = document.text.encode("utf-8", "surrogatepass")
    if on_disk is not None and on_disk.startswith(_BOM) and not data.startswith(_BOM):
        return _BOM + data
    return data


def content(place: Path) -> bytes:
    """Return a file's bytes. Errors: ``OSError``, also for what is no file or too large."""
    return read_file(place, max_bytes=_MAX_BYTES)


def _unmarked(data: bytes) -> bytes:
    return data.removeprefix(_BOM)


def _entry(place: Path) -> tuple[int, ...]:
    """Return what tells that a file was written. Errors: ``OSError``."""
    facts = place.stat()
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _version(data: bytes) -> str:
    return "buffer:" + hashlib.blake2b(data, digest_size=16).hexdigest()
