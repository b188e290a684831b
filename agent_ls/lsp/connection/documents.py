"""The documents open in the editor, exactly as the editor has them.

Owns their text, versions and change events, and waiting for a text. Knows no file system.
Belongs to the event loop's thread; only snapshots may leave it.

pygls' own store is not used. It treats form feed, NEL and U+2028 as line ends, so later edits land
in wrong lines, and it splits the whole text for every keystroke.
"""

from __future__ import annotations

import asyncio
import logging
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Final, NamedTuple

from agent_ls.lsp.connection.positions import (
    Encoding,
    LineEnds,
    TextPositions,
    WithoutEnds,
    column_to_index,
    content_length,
    index_to_column,
    split_lines,
)
from agent_ls.lsp.connection.uris import uri_to_path

logger = logging.getLogger(__name__)

_SURROGATE: Final = re.compile("[\ud800-\udfff]")

CELLS: Final = "notebook by cells"
"""The language of a notebook's JSON that the editor has open by its cells (``notebooks``)."""

Place = tuple[int, int]
"""Line and column, both from 0; the column in the client's encoding."""


class Change(NamedTuple):
    """One change of a document, as the client sent it."""

    text: str
    start: Place | None = None
    """None: `text` is the whole new document."""
    end: Place = (0, 0)

    @classmethod
    def from_json(cls, raw: Any) -> Change:
        """The change in a `TextDocumentContentChangeEvent`.

        Errors: `ValueError` for any other shape.
        """
        try:
            text, where = raw["text"], raw.get("range")
            if where is None:
                places: tuple[Place, ...] = ()
            else:
                ends = where["start"], where["end"]
                places = tuple(
                    (operator.index(e["line"]), operator.index(e["character"])) for e in ends
                )
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"not a content change: {error!r}") from error
        if not isinstance(text, str):
            raise ValueError("not a content change: its text is not a string")
        return cls(text, *places)


@dataclass(frozen=True)
class Snapshot:
    """One state of an open document; immutable, safe for other threads."""

    uri: str
    """As the client spells it; use this spelling in messages to the client."""
    version: int | None
    """The client's number: may start at 0, be missing, or go back."""
    text: str
    """A lone surrogate, which some editors allow, is replaced by U+FFFD."""
    language_id: str
    revision: int
    """Our own number; grows with every change to any document."""
    in_sync: bool
    """False after a change that was invalid or cut a surrogate pair in two.

    The editor's text then differs. Compute no edit on this one until the document is opened again
    or sent whole."""


class DocumentEventKind(Enum):
    """What happened to a document."""

    OPENED = "opened"
    CHANGED = "changed"
    SAVED = "saved"
    CLOSED = "closed"


@dataclass(frozen=True)
class DocumentEvent:
    """Something happened to a document; ask the store for its text if needed."""

    kind: DocumentEventKind
    uri: str
    version: int | None
    revision: int
    path: Path | None = None
    """The document's file; None for another scheme."""


Listener = Callable[[DocumentEvent], None]
Predicate = Callable[[Snapshot], bool]


@dataclass
class _Document:
    uri: str
    language_id: str
    version: int | None
    revision: int
    lines: list[str]
    in_sync: bool = True
    path: Path | None = None
    snapshot: Snapshot | None = None
    positions: TextPositions | None = None


_STATES = 8
"""In a message with at most this many changes, `wait_for` sees the state after each."""


@dataclass(eq=False)
class _Waiter:
    uri: str
    predicate: Predicate
    found: asyncio.Future[Snapshot | None] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class DocumentStore:
    """The open documents of one client."""

    def __init__(self, encoding: Encoding = "utf-16", ends: LineEnds = "any") -> None:
        self.encoding: Encoding = encoding
        """The unit of columns; set by `initialize`, before the first document."""
        self.ends: LineEnds = ends
        """What ends a line; set by `initialize`."""
        self.may_be_mixed = False
        """Changes may arrive in another order, which their versions show; set by `initialize`."""
        self._documents: dict[str, _Document] = {}
        self._by_path: dict[Path, str] = {}
        self._listeners: list[Listener] = []
        self._waiters: list[_Waiter] = []
        self._revision = 0

    # Queries.

    def uris(self) -> tuple[str, ...]:
        """URIs of the open documents, in the order they were opened."""
        return tuple(self._documents)

    def get(self, uri: str) -> Snapshot | None:
        """The document's current state, or None when it is not open.

        Other spellings of a file's URI are found, too.
        """
        document = self._find(uri)
        return None if document is None else self._snapshot(document)

    def spelled(self, uri: str) -> str | None:
        """The URI of an open document as the client spells it, or None when it is not open.

        Cheaper than ``get``, which joins the text: a millisecond for a long one.
        """
        document = self._find(uri)
        return None if document is None else document.uri

    def at_path(self, path: Path) -> Snapshot | None:
        """The file's open document, or None; links are not followed."""
        uri = self._by_path.get(path)
        return None if uri is None else self._snapshot(self._documents[uri])

    def lines(self, uri: str) -> Sequence[str] | None:
        """The document's lines without their ends, or None when it is not open.

        Use them at once: they change with the document. Splitting a long text takes far longer.
        """
        document = self._find(uri)
        return None if document is None else WithoutEnds(document.lines, self.ends)

    def positions(self, uri: str) -> TextPositions | None:
        """The mapping of offsets to lines and columns for `get`'s text; None when not open."""
        document = self._find(uri)
        if document is None:
            return None
        if document.positions is None:
            text = self._snapshot(document).text
            document.positions = TextPositions(text, self.encoding, document.lines, self.ends)
        return document.positions

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Calls `listener` after every event, in order; call the result to stop.

        An exception in a listener is only logged.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def wait_for(self, uri: str, predicate: Predicate, timeout_s: float) -> Snapshot | None:
        """The first state of the document, current or later, that satisfies `predicate`.

        A document that is not open yet may still be opened. Of a message with many changes, only
        the states after the first and the last change are seen.
        None on timeout, or when the document was closed. Errors: what `predicate` raises.
        """
        document = self._find(uri)
        if document is not None:
            uri = document.uri
            snapshot = self._snapshot(document)
            if predicate(snapshot):
                return snapshot
        waiter = _Waiter(uri, predicate)
        self._waiters.append(waiter)
        try:
            async with asyncio.timeout(timeout_s):
                return await waiter.found
        except TimeoutError:
            return None
        finally:
            self._waiters.remove(waiter)

    # Updates by the protocol.

    def open(self, uri: str, language_id: str, version: int | None, text: str) -> None:
        """Adds a document, or replaces it if it is open."""
        self._forget(uri)
        document = _Document(uri, language_id, version, 0, [], path=uri_to_path(uri))
        _put_whole(document, text, self.ends)
        self._documents[uri] = document
        if document.path is not None:
            self._by_path[document.path] = uri
        self._touched(document, DocumentEventKind.OPENED)

    def change(self, uri: str, version: int | None, changes: Sequence[Change]) -> None:
        """Applies changes in order; places outside the text are clamped.

        An unknown document is opened if a change holds its whole text, else ignored.
        Errors: `ValueError` for a change that cuts a surrogate pair in two, or that comes after a
        newer one.
        """
        document = self._find(uri)
        if document is None:
            if all(change.start is not None for change in changes):
                logger.warning("Changes to %s ignored: it was never opened", uri)
                return
            self.open(uri, "", version, "")
            document = self._documents[uri]
        if self.may_be_mixed and (version or 0) < (document.version or 0):
            raise ValueError(f"version {version} came after {document.version}")
        for number, change in enumerate(changes):
            # With many changes, the states in between cost more than they are worth.
            if number == 1 or (number and len(changes) <= _STATES):
                document.snapshot = document.positions = None
                self._wake(document)
            if change.start is None:
                _put_whole(document, change.text, self.ends)
            else:
                places = change.start, change.end
                self._replace(document, min(places), max(places), change.text)
        document.version = version
        self._touched(document, DocumentEventKind.CHANGED)

    def lose_sync(self, uri: str) -> None:
        """Marks a document whose last change was invalid."""
        document = self._find(uri)
        if document is not None:
            document.in_sync = False
            self._touched(document, DocumentEventKind.CHANGED)

    def save(self, uri: str, text: str | None = None) -> None:
        """Publishes a save; if the client sent the text, it replaces ours."""
        document = self._find(uri)
        if document is None:
            return
        if text is not None and text != "".join(document.lines):
            _put_whole(document, text, self.ends)
            self._touched(document, DocumentEventKind.CHANGED)
        self._publish(DocumentEventKind.SAVED, document)

    def close(self, uri: str) -> None:
        """Removes a document; its waiters get None."""
        document = self._find(uri)
        if document is None:
            return
        waiters = [waiter for waiter in self._waiters if self._find(waiter.uri) is document]
        self._forget(document.uri)
        self._publish(DocumentEventKind.CLOSED, document)
        for waiter in waiters:
            if not waiter.found.done():
                waiter.found.set_result(None)

    # Internals.

    def _find(self, uri: str) -> _Document | None:
        document = self._documents.get(uri)
        if document is None and (path := uri_to_path(uri)) is not None:
            document = self._documents.get(self._by_path.get(path, ""))
        return document

    def _forget(self, uri: str) -> None:
        document = self._documents.pop(uri, None)
        if document is None or document.path is None:
            return
        if self._by_path.get(document.path) == uri:
            del self._by_path[document.path]
            # It may be open under another spelling, too.
            others = (one.uri for one in self._documents.values() if one.path == document.path)
            if (other := next(others, None)) is not None:
                self._by_path[document.path] = other

    def _replace(
        self, document: _Document, start: tuple[int, int], end: tuple[int, int], text: str
    ) -> None:
        lines, encoding, ends = document.lines, self.encoding, self.ends
        first, head, _ = _cut(lines, start, encoding, ends)
        last, _, tail = _cut(lines, end, encoding, ends)
        if not head and first > 0 and lines[first - 1].endswith("\r"):
            # The new text may begin with LF and form one line end with that CR.
            first -= 1
            head = lines[first]
        if _has_halves(text):
            raise ValueError("a text with half a surrogate pair")
        parts = split_lines(head + text + tail, ends)
        if last + 1 < len(lines) and not parts[-1]:
            parts.pop()
        lines[first : last + 1] = parts

    def _snapshot(self, document: _Document) -> Snapshot:
        if document.snapshot is None:
            text = "".join(document.lines)
            document.snapshot = Snapshot(
                document.uri,
                document.version,
                text,
                document.language_id,
                document.revision,
                document.in_sync,
            )
        return document.snapshot

    def _touched(self, document: _Document, kind: DocumentEventKind) -> None:
        self._revision += 1
        document.revision = self._revision
        document.snapshot = document.positions = None
        self._publish(kind, document)
        self._wake(document)

    def _wake(self, document: _Document) -> None:
        """Offer the document's text to its waiters."""
        for waiter in self._waiters:
            if waiter.found.done() or self._find(waiter.uri) is not document:
                continue
            snapshot = self._snapshot(document)
            try:
                if waiter.predicate(snapshot):
                    waiter.found.set_result(snapshot)
            except Exception as error:
                waiter.found.set_exception(error)

    def _publish(self, kind: DocumentEventKind, document: _Document) -> None:
        event = DocumentEvent(
            kind, document.uri, document.version, document.revision, document.path
        )
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception:
                logger.exception("A listener failed on %s", event)


def _put_whole(document: _Document, text: str, ends: LineEnds) -> None:
    document.in_sync = not _has_halves(text)
    if not document.in_sync:
        text = _SURROGATE.sub("\ufffd", text)
    document.lines = split_lines(text, ends)


def _has_halves(text: str) -> bool:
    try:
        # Far faster than a regex search of a long text.
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _cut(
    lines: list[str], place: tuple[int, int], encoding: Encoding, ends: LineEnds
) -> tuple[int, str, str]:
    """The number of a place's line, and that line's text before and after the place."""
    number, column = place
    if number >= len(lines):
        return len(lines) - 1, lines[-1], ""
    line = lines[number] if number >= 0 else lines[0]
    number, column = (number, column) if number >= 0 else (0, 0)
    index = column_to_index(line, column, encoding, ends)
    head, tail = line[:index], line[index:]
    is_inside = encoding == "utf-16" and not line.isascii() and index < content_length(line, ends)
    if is_inside and column > index_to_column(line, index, encoding):
        raise ValueError("a column inside a character")
    return number, head, tail
