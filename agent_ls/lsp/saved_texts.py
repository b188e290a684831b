"""What the editor last had on disk of each open document, so far as that was seen.

Owns how a buffer and its file stand to each other. A buffer that differs from the disk was typed
in, or the disk was written under it; only what was once seen equal tells which.
"""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path
from typing import Literal

from agent_ls.lsp.documents import DocumentEvent, DocumentEventKind, DocumentStore, Snapshot
from agent_ls.lsp.uris import uri_to_path

_MAX_BYTES = 2 * 2**20
"""Of a larger file nothing is known: it is read while the editor waits."""
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
        self._common: dict[str, str | None] = {}
        """By URI, the version of that text; None: there was no file. Missing: nobody knows."""
        self._behind: set[str] = set()
        """Documents that were found behind the disk last, by URI."""
        documents.listen(self._on_document)

    def standing(self, document: Snapshot, on_disk: bytes | None) -> Standing:
        """Return how a document and its file's bytes stand; None: there is no file."""
        found = self._standing(document, on_disk)
        (self._behind.add if found == "behind" else self._behind.discard)(document.uri)
        return found

    def _standing(self, document: Snapshot, on_disk: bytes | None) -> Standing:
        if not document.in_sync:
            return "apart"
        if on_disk is not None and on_disk == as_saved(document, on_disk):
            self._common[document.uri] = version_of(document.text)
            return "same"
        if document.uri not in self._common:
            return "apart"
        common = self._common[document.uri]
        if common == version_of(document.text):
            return "behind"
        there = None if on_disk is None else _version(on_disk.removeprefix(_BOM))
        return "unsaved" if common == there else "apart"

    def may_be_behind(self, document: Snapshot) -> bool:
        """Say whether a document holds what the editor last had on disk."""
        return document.in_sync and self._common.get(document.uri) == version_of(document.text)

    def note(self, uri: str, text: str | None) -> None:
        """Know what was put on disk for a document; None: its file was taken away."""
        self._common[uri] = None if text is None else version_of(text)

    def _on_document(self, event: DocumentEvent) -> None:
        """See what the disk holds as the editor opens or saves a document, or loads it again.

        At once, not in a thread: a later look would take what another program has written by then
        for what the editor has read.
        """
        path, document = uri_to_path(event.uri), self._documents.get(event.uri)
        is_known = event.kind is DocumentEventKind.CHANGED
        if not is_known:
            self._common.pop(event.uri, None)
            self._behind.discard(event.uri)
        if path is None or document is None or (is_known and event.uri not in self._behind):
            return
        try:
            self.standing(document, content(path))
        except FileNotFoundError:
            if not is_known:
                self.note(event.uri, None)
        except OSError:
            pass


def version_of(text: str) -> str:
    """Return a buffer's version, equal for equal texts: undoing a change is no change."""
    return _version(text.encode("utf-8", "surrogatepass"))


def digests_of(text: str) -> tuple[str, str]:
    """Return the digests a buffer's bytes can have in the store: without and with a byte order
    mark, which no buffer shows."""
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest(), hashlib.sha256(_BOM + data).hexdigest()


def as_saved(document: Snapshot, on_disk: bytes | None) -> bytes:
    """Return a buffer as the editor will write it; editors keep a byte order mark to themselves."""
    data = document.text.encode("utf-8", "surrogatepass")
    if on_disk is not None and on_disk.startswith(_BOM) and not data.startswith(_BOM):
        return _BOM + data
    return data


def content(place: Path) -> bytes:
    """Return a file's bytes. Errors: ``OSError``, also for what is no file or too large."""
    facts = place.stat()
    if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MAX_BYTES:
        raise OSError("not looked at")
    return place.read_bytes()


def _version(data: bytes) -> str:
    return "buffer:" + hashlib.blake2b(data, digest_size=16).hexdigest()
