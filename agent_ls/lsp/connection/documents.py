"""The documents that are open in the editor, exactly as the editor sees them.

Owns their text, versions and change notices, and waiting for a text to arrive.
Knows no file system: a document that is not open is not here.
Belongs to the event loop's thread; only snapshots may leave it.

pygls' own store is not used: it takes form feed, NEL and U+2028 for line ends, so that an edit
after one of them lands in the wrong line, and it splits the whole text for every keystroke.
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
    column_to_index,
    content_length,
    index_to_column,
    split_lines,
)
from agent_ls.lsp.connection.uris import uri_to_path

logger = logging.getLogger(__name__)

_SURROGATE: Final = re.compile("[\ud800-\udfff]")

Place = tuple[int, int]
"""Line and column, both from 0; the column in the client's encoding."""


class Change(NamedTuple):
    """One change of a document, as the client tells it."""

    text: str
    start: Place | None = None
    """None: `text` is the whole new document."""
    end: Place = (0, 0)

    @classmethod
    def from_json(cls, raw: Any) -> Change:
        """The change in a `TextDocumentContentChangeEvent`.

        Errors: `ValueError` where the value has another shape.
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
    """One state of an open document; never changes, safe to hand to other threads."""

    uri: str
    """As the client spells it; send this spelling back."""
    version: int | None
    """The client's number: may start at 0, may be missing, may go back."""
    text: str
    """A half surrogate pair, which some editors can hold, reads as U+FFFD."""
    language_id: str
    revision: int
    """Ours: grows with every change to any document, also where the client's version does not."""
    in_sync: bool
    """False after a change that could not be understood, or that cut a surrogate pair in two: the
    editor's text is then another one, and no edit may be computed on this one until the document
    is opened again or sent whole."""


class DocumentEventKind(Enum):
    """What happened to a document."""

    OPENED = "opened"
    CHANGED = "changed"
    SAVED = "saved"
    CLOSED = "closed"


@dataclass(frozen=True)
class DocumentEvent:
    """Something happened to a document; ask the store for the text when you need it."""

    kind: DocumentEventKind
    uri: str
    version: int | None
    revision: int


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
"""Up to so many changes of one message each make a state of their own."""


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
        """What columns count; settled by `initialize`, before the first document arrives."""
        self.ends: LineEnds = ends
        """What ends a line; settled with it."""
        self._documents: dict[str, _Document] = {}
        self._by_path: dict[Path, str] = {}
        self._listeners: list[Listener] = []
        self._waiters: list[_Waiter] = []
        self._revision = 0

    # What others ask.

    def uris(self) -> tuple[str, ...]:
        """The open documents, in the order they were opened."""
        return tuple(self._documents)

    def get(self, uri: str) -> Snapshot | None:
        """The document as it is now, or None when it is not open.

        Another spelling of a file's URI finds it too.
        """
        document = self._find(uri)
        return None if document is None else self._snapshot(document)

    def spelled(self, uri: str) -> str | None:
        """The URI of an open document as the client spells it, or None when it is not open.

        Unlike ``get`` it makes no text, which takes a millisecond where that is long.
        """
        document = self._find(uri)
        return None if document is None else document.uri

    def at_path(self, path: Path) -> Snapshot | None:
        """The open document of that file, or None; links are not followed."""
        uri = self._by_path.get(path)
        return None if uri is None else self._snapshot(self._documents[uri])

    def positions(self, uri: str) -> TextPositions | None:
        """Offsets to lines and columns for the text `get` answers now; None when not open."""
        document = self._find(uri)
        if document is None:
            return None
        if document.positions is None:
            text = self._snapshot(document).text
            document.positions = TextPositions(text, self.encoding, document.lines, self.ends)
        return document.positions

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Calls `listener` after every event, in order; the answer ends that.

        An exception in a listener is logged and reaches nobody else.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def wait_for(self, uri: str, predicate: Predicate, timeout_s: float) -> Snapshot | None:
        """The first state of the document, from now on, of which `predicate` holds.

        Few changes that come together are states one after the other; of many, the state after
        the first counts and the last one.
        A document that is not open may still be opened.
        None when the time is over or the document was closed.
        Errors: what `predicate` raises.
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

    # What the protocol tells.

    def open(self, uri: str, language_id: str, version: int | None, text: str) -> None:
        """Takes a document over; one that is already open is replaced."""
        self._forget(uri)
        document = _Document(uri, language_id, version, 0, [], path=uri_to_path(uri))
        _put_whole(document, text, self.ends)
        self._documents[uri] = document
        if document.path is not None:
            self._by_path[document.path] = uri
        self._touched(document, DocumentEventKind.OPENED)

    def change(self, uri: str, version: int | None, changes: Sequence[Change]) -> None:
        """Applies changes in their order; places outside the text are clamped to it.

        A document that was never opened is taken over if its whole text comes, else left alone.
        Errors: `ValueError` for a change that cuts a surrogate pair in two.
        """
        document = self._find(uri)
        if document is None:
            if all(change.start is not None for change in changes):
                logger.warning("Changes to %s ignored: it was never opened", uri)
                return
            self.open(uri, "", version, "")
            document = self._documents[uri]
        for number, change in enumerate(changes):
            # Of many changes the states between would cost more than anybody learns from them.
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
        """Marks a document whose last change could not be understood."""
        document = self._find(uri)
        if document is not None:
            document.in_sync = False
            self._touched(document, DocumentEventKind.CHANGED)

    def save(self, uri: str, text: str | None = None) -> None:
        """Passes on that the editor saved; a text that comes along replaces what is here."""
        document = self._find(uri)
        if document is None:
            return
        if text is not None and text != "".join(document.lines):
            _put_whole(document, text, self.ends)
            self._touched(document, DocumentEventKind.CHANGED)
        self._publish(DocumentEventKind.SAVED, document)

    def close(self, uri: str) -> None:
        """Forgets a document; whoever waits for it gets None."""
        document = self._find(uri)
        if document is None:
            return
        waiters = [waiter for waiter in self._waiters if self._find(waiter.uri) is document]
        self._forget(document.uri)
        self._publish(DocumentEventKind.CLOSED, document)
        for waiter in waiters:
            if not waiter.found.done():
                waiter.found.set_result(None)

    # How it is done.

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

    def _replace(
        self, document: _Document, start: tuple[int, int], end: tuple[int, int], text: str
    ) -> None:
        lines, encoding, ends = document.lines, self.encoding, self.ends
        first, head, _ = _cut(lines, start, encoding, ends)
        last, _, tail = _cut(lines, end, encoding, ends)
        if not head and first > 0 and lines[first - 1].endswith("\r"):
            # A line feed that comes to stand behind that CR makes one line end of the two.
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
        """Show those who wait for it a document's text."""
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
        event = DocumentEvent(kind, document.uri, document.version, document.revision)
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
        # Far faster than a search of a long text.
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _cut(
    lines: list[str], place: tuple[int, int], encoding: Encoding, ends: LineEnds
) -> tuple[int, str, str]:
    """The line a place is in, and that line's text before and after it."""
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
