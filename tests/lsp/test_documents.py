"""Documents: the text here is the text in the editor, after whatever the editor sends."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_ls.lsp.connection.documents import (
    Change,
    DocumentEvent,
    DocumentEventKind,
    DocumentStore,
    Snapshot,
)
from agent_ls.lsp.connection.positions import ENCODINGS, Encoding, TextPositions

URI = "file:///home/me/a%20b.py"


def partial(start: tuple[int, int], end: tuple[int, int], text: str) -> dict[str, Any]:
    places = [{"line": line, "character": column} for line, column in (start, end)]
    return {"range": {"start": places[0], "end": places[1]}, "text": text}


def check(
    before: str, *changes: dict[str, Any], encoding: Encoding = "utf-16"
) -> tuple[str, TextPositions]:
    """The text after the changes, and its positions as the store knows them."""
    store = DocumentStore(encoding)
    store.open(URI, "python", 1, before)
    store.change(URI, 2, [Change.from_json(change) for change in changes])
    snapshot, positions = store.get(URI), store.positions(URI)
    assert snapshot is not None
    assert positions is not None
    return snapshot.text, positions


@pytest.mark.parametrize(
    "before, changes, after",
    [
        pytest.param("a\rb\nc\n", [partial((1, 0), (1, 1), "X")], "a\rb\nX\n", id="below"),
        pytest.param("a\rb\nc", [partial((0, 2), (0, 3), "X")], "a\rX\nc", id="behind"),
        pytest.param("a\nb\r", [partial((1, 2), (1, 2), "X")], "a\nb\rX", id="at-the-end"),
        pytest.param("ab\nc", [partial((0, 1), (0, 1), "\r"), partial((1, 0), (1, 1), "X")],
                     "a\rb\nX", id="typed"),
        pytest.param("a\rb", [partial((0, 2), (0, 2), "\n"), partial((1, 0), (1, 1), "X")],
                     "a\r\nX", id="lf-behind-it"),
        pytest.param("x\n", [{"text": "a\rb\nc"}, partial((1, 0), (1, 1), "X")], "a\rb\nX",
                     id="whole-text"),
        pytest.param("a\r\nb", [partial((1, 0), (1, 1), "X")], "a\r\nX", id="crlf"),
    ],
)  # fmt: skip
def test_a_cr_alone_ends_no_line_where_the_client_says_so(
    before: str, changes: list[dict[str, Any]], after: str
) -> None:
    store = DocumentStore("utf-16", "lf")
    store.open(URI, "python", 1, before)
    store.change(URI, 2, [Change.from_json(change) for change in changes])
    snapshot, positions = store.get(URI), store.positions(URI)
    assert snapshot is not None
    assert positions is not None
    assert snapshot.text == after
    for offset in range(len(after)):
        line = after.count("\n", 0, offset)
        begin = after.rfind("\n", 0, offset) + 1
        is_inside = after[offset - 1 : offset + 1] == "\r\n"
        assert positions.position(offset) == (line, offset - begin - is_inside)
        assert positions.offset(line, offset - begin) == offset - is_inside


CHANGES = {
    "insert": ("abc", [partial((0, 1), (0, 1), "X")], "aXbc"),
    "delete": ("abc", [partial((0, 1), (0, 2), "")], "ac"),
    "join-lines": ("a\nb", [partial((0, 1), (1, 0), "")], "ab"),
    "join-crlf-lines": ("a\r\nb", [partial((0, 1), (1, 0), "")], "ab"),
    "split-a-line": ("ab", [partial((0, 1), (0, 1), "\r\n")], "a\r\nb"),
    "whole-text": ("abc", [{"text": "new\n"}], "new\n"),
    "whole-text-with-null-range": ("abc", [{"range": None, "text": "new"}], "new"),
    "whole-text-then-part": ("abc", [{"text": "x\ny"}, partial((1, 0), (1, 1), "z")], "x\nz"),
    "in-order": ("ab", [partial((0, 0), (0, 0), "1"), partial((0, 1), (0, 1), "2")], "12ab"),
    "append-after-the-last-line-end": ("a\n", [partial((1, 0), (1, 0), "b")], "a\nb"),
    "end-one-line-too-far": ("a\nb", [partial((1, 0), (2, 0), "")], "a\n"),
    "everything-by-huge-numbers": ("a\nb", [partial((0, 0), (2**31, 2**31), "z")], "z"),
    "negative": ("a\nb", [partial((-1, -1), (0, -5), "z")], "za\nb"),
    "column-behind-the-line": ("a\r\nb", [partial((0, 99), (0, 99), "z")], "az\r\nb"),
    "ends-exchanged": ("abcd", [partial((0, 3), (0, 1), "X")], "aXd"),
    "form-feed-is-no-line-end": ("a\x0cb\nc", [partial((1, 0), (1, 1), "X")], "a\x0cb\nX"),
    "nel-is-no-line-end": ("a\x85b\nc", [partial((1, 0), (1, 1), "X")], "a\x85b\nX"),
    "line-separator-is-no-line-end": ("a\u2028b\nc", [partial((1, 0), (1, 1), "X")], "a\u2028b\nX"),
    "lf-meets-cr": ("a\rb", [partial((1, 0), (1, 0), "\n")], "a\r\nb"),
    "lf-meets-cr-then-edit": (
        "a\rb",
        [partial((1, 0), (1, 0), "\n"), partial((1, 0), (1, 1), "c")],
        "a\r\nc",
    ),
    "cr-meets-lf-by-deletion": (
        "a\rX\nb",
        [partial((1, 0), (1, 1), ""), partial((1, 0), (1, 1), "c")],
        "a\r\nc",
    ),
    "cr-inserted-before-lf": (
        "a\nb",
        [partial((0, 1), (0, 1), "\r"), partial((1, 0), (1, 1), "c")],
        "a\r\nc",
    ),
    "no-change-at-all": ("abc", [], "abc"),
}


@pytest.mark.parametrize("before, changes, after", CHANGES.values(), ids=CHANGES.keys())
def test_a_change_lands_where_the_editor_meant_it(
    before: str, changes: list[dict[str, Any]], after: str
) -> None:
    assert check(before, *changes)[0] == after


@pytest.mark.parametrize(
    "raw",
    [
        None,
        "text",
        {},
        {"text": 5},
        {"text": "a", "range": []},
        {"text": "a", "range": {"start": {"line": 0, "character": 0}}},
        partial((0, 0), ("x", 0), "a"),  # type: ignore[arg-type]
        partial((0, 0), (0, 1.5), "a"),  # type: ignore[arg-type]
    ],
)
def test_a_change_of_another_shape_is_refused(raw: Any) -> None:
    with pytest.raises(ValueError, match="not a content change"):
        Change.from_json(raw)


# A second implementation, as plain as possible: the text as a list of units of the encoding.

CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


@dataclass
class PlainText:
    units: list[bytes]
    encoding: Encoding

    @classmethod
    def of(cls, text: str, encoding: Encoding) -> PlainText:
        codec, width = CODECS[encoding]
        data = text.encode(codec, "surrogatepass")
        return cls([data[i : i + width] for i in range(0, len(data), width)], encoding)

    def text(self) -> str:
        return b"".join(self.units).decode(CODECS[self.encoding][0], "surrogatepass")

    def lines(self) -> list[tuple[int, int]]:
        """First unit and number of content units of every line."""
        plain = "".join(chr(u[0]) if not any(u[1:]) and u[0] < 128 else "." for u in self.units)
        ends = [*re.finditer(r"\r\n|\r|\n", plain)]
        starts = [0, *(end.end() for end in ends)]
        stops = [*(end.start() for end in ends), len(plain)]
        return [(a, b - a) for a, b in zip(starts, stops, strict=True)]

    def unit(self, line: int, column: int) -> int:
        lines = self.lines()
        if line >= len(lines):
            return len(self.units)
        start, length = lines[line]
        at = start + min(column, length)
        while (
            self.encoding == "utf-8" and at < len(self.units) and self.units[at][0] & 0xC0 == 0x80
        ):
            at -= 1
        return at

    def change(self, start: tuple[int, int], end: tuple[int, int], text: str) -> None:
        first, last = sorted((start, end))
        new = PlainText.of(text, self.encoding).units
        self.units[self.unit(*first) : self.unit(*last)] = new


places = st.tuples(st.integers(0, 7), st.integers(0, 12))
pieces = st.text(alphabet=st.sampled_from(list("ab\r\n\r\n\x0c\x85\u2028é€😀𐐷")), max_size=12)
edits = st.lists(st.tuples(places, places, pieces), max_size=8)


@settings(max_examples=600, deadline=None)
@given(before=pieces, changes=edits, encoding=st.sampled_from(ENCODINGS))
def test_random_changes_give_the_same_text_as_a_plain_implementation(
    before: str, changes: list[tuple[Any, Any, str]], encoding: Encoding
) -> None:
    plain = PlainText.of(before, encoding)
    for start, end, text in changes:
        plain.change(start, end, text)
    try:
        after, positions = check(before, *(partial(*c) for c in changes), encoding=encoding)
    except ValueError:
        assert encoding == "utf-16"
        return
    assert after == plain.text()
    fresh = TextPositions(after, encoding)
    for offset in range(len(after) + 1):
        assert positions.position(offset) == fresh.position(offset)


# The store as others see it.


@pytest.fixture
def store() -> DocumentStore:
    return DocumentStore()


def text_of(store: DocumentStore, uri: str = URI) -> str | None:
    snapshot = store.get(uri)
    return None if snapshot is None else snapshot.text


def test_a_snapshot_keeps_its_text_while_the_document_goes_on(store: DocumentStore) -> None:
    store.open(URI, "python", 0, "one")
    first = store.get(URI)
    store.change(URI, 1, [Change("two")])
    assert first == Snapshot(URI, 0, "one", "python", 1, True)
    assert store.get(URI) == Snapshot(URI, 1, "two", "python", 2, True)


@pytest.mark.parametrize("versions", [(0, 1), (5, 5), (7, 3), (None, None), (1, None), (-1, 0)])
def test_any_version_is_kept_as_it_came_and_the_revision_always_grows(
    store: DocumentStore, versions: tuple[int | None, int | None]
) -> None:
    store.open(URI, "python", versions[0], "a")
    before = store.get(URI)
    store.change(URI, versions[1], [Change("b")])
    after = store.get(URI)
    assert before is not None
    assert after is not None
    assert (before.version, after.version) == versions
    assert after.revision > before.revision


@pytest.mark.parametrize(
    "spelling", [URI, "file:///home/me/a b.py", "file://localhost/home/me/a%20b.py"]
)
def test_another_spelling_of_the_uri_finds_the_document(
    store: DocumentStore, spelling: str
) -> None:
    store.open(URI, "python", 1, "a")
    store.change(spelling, 2, [Change("b")])
    assert text_of(store, spelling) == "b"
    snapshot = store.at_path(Path("/home/me/a b.py"))
    assert snapshot is not None
    assert snapshot.uri == URI
    store.close(spelling)
    assert store.uris() == ()
    assert store.at_path(Path("/home/me/a b.py")) is None


@pytest.mark.parametrize(
    "change", [Change("", (0, 2), (0, 3)), Change("\ude01", (0, 2), (0, 3)), Change("x\ud83d")]
)
def test_a_surrogate_pair_that_is_cut_in_two_puts_the_document_out_of_sync(change: Change) -> None:
    store = DocumentStore("utf-16")
    store.open(URI, "python", 1, "x😀y")
    try:
        store.change(URI, 2, [change])
    except ValueError:
        store.lose_sync(URI)
    found = store.get(URI)
    assert found is not None
    assert (found.in_sync, found.text) == (False, "x\ufffd" if change.start is None else "x😀y")


def test_a_document_without_a_path_is_kept_by_its_uri(store: DocumentStore) -> None:
    store.open("untitled:Untitled-1", "python", 1, "a")
    assert text_of(store, "untitled:Untitled-1") == "a"


def test_opening_twice_replaces_and_closing_twice_is_harmless(store: DocumentStore) -> None:
    store.open(URI, "python", 1, "a")
    store.open(URI, "python", 1, "b")
    assert (store.uris(), text_of(store)) == ((URI,), "b")
    store.close(URI)
    store.close(URI)
    assert text_of(store) is None


def test_changes_to_a_document_that_was_never_opened_invent_nothing(store: DocumentStore) -> None:
    store.change(URI, 2, [Change("x", (0, 0), (0, 0))])
    assert store.get(URI) is None
    store.change(URI, 3, [Change("whole")])
    assert text_of(store) == "whole"


def test_a_change_that_was_not_understood_shows_until_the_whole_text_comes(
    store: DocumentStore,
) -> None:
    def in_sync() -> bool | None:
        snapshot = store.get(URI)
        return None if snapshot is None else snapshot.in_sync

    store.open(URI, "python", 1, "a")
    store.lose_sync(URI)
    assert in_sync() is False
    store.change(URI, 2, [Change("x", (0, 0), (0, 0))])
    assert in_sync() is False
    store.change(URI, 3, [Change("whole")])
    assert in_sync() is True


def test_changes_in_another_order_put_the_document_out_of_sync_where_the_client_mixes_them(
    store: DocumentStore,
) -> None:
    store.may_be_mixed = True
    store.open(URI, "python", 0, "abc")
    store.change(URI, 3, [Change("d", (0, 3), (0, 3))])
    with pytest.raises(ValueError, match="version 2 came after 3"):
        store.change(URI, 2, [Change("x", (0, 0), (0, 0))])
    assert text_of(store) == "abcd"
    store.change(URI, 3, [Change("e", (0, 4), (0, 4))])
    assert text_of(store) == "abcde"


def test_listeners_hear_everything_in_order_until_they_leave(store: DocumentStore) -> None:
    heard: list[DocumentEvent] = []

    def broken(_: DocumentEvent) -> None:
        raise RuntimeError("a listener that fails")

    store.listen(broken)
    leave = store.listen(heard.append)
    store.open(URI, "python", 1, "a")
    store.change(URI, 2, [Change("b")])
    store.save(URI)
    store.save(URI, "as saved")
    store.close(URI)
    leave()
    store.open(URI, "python", 1, "a")
    kind = DocumentEventKind
    assert [event.kind for event in heard] == [
        kind.OPENED,
        kind.CHANGED,
        kind.SAVED,
        kind.CHANGED,
        kind.SAVED,
        kind.CLOSED,
    ]
    assert [event.revision for event in heard] == [1, 2, 2, 3, 3, 3]


async def test_waiting_ends_with_the_first_state_that_fits(store: DocumentStore) -> None:
    store.open(URI, "python", 1, "a")
    waiting = asyncio.create_task(store.wait_for(URI, lambda s: s.text == "c", 10))
    await asyncio.sleep(0)
    store.change(URI, 2, [Change("b")])
    store.change(URI, 3, [Change("c")])
    store.change(URI, 4, [Change("d")])
    found = await waiting
    assert found is not None
    assert (found.text, found.version) == ("c", 3)


async def test_waiting_for_what_is_already_so_ends_at_once(store: DocumentStore) -> None:
    store.open(URI, "python", 1, "a")
    assert await store.wait_for(URI, lambda s: s.text == "a", 0) == store.get(URI)


async def test_waiting_for_a_document_that_is_yet_to_be_opened_works(store: DocumentStore) -> None:
    waiting = asyncio.create_task(
        store.wait_for("file:///home/me/a b.py", lambda s: s.text == "b", 10)
    )
    await asyncio.sleep(0)
    store.open(URI, "python", 1, "a")
    store.change(URI, 2, [Change("b")])
    assert await waiting == store.get(URI)


async def test_waiting_ends_with_nothing_when_the_document_is_closed(store: DocumentStore) -> None:
    store.open(URI, "python", 1, "a")
    waiting = asyncio.create_task(store.wait_for(URI, lambda s: s.text == "b", 10))
    await asyncio.sleep(0)
    store.close(URI)
    assert await waiting is None


async def test_waiting_ends_with_nothing_when_the_time_is_over(store: DocumentStore) -> None:
    store.open(URI, "python", 1, "a")
    assert await store.wait_for(URI, lambda s: s.text == "b", 0.01) is None
    store.change(URI, 2, [Change("b")])


async def test_a_failing_condition_fails_its_own_waiter_only(store: DocumentStore) -> None:
    store.open(URI, "python", 1, "a")

    def broken(snapshot: Snapshot) -> bool:
        if snapshot.text == "b":
            raise KeyError("condition")
        return False

    failing = asyncio.create_task(store.wait_for(URI, broken, 10))
    good = asyncio.create_task(store.wait_for(URI, lambda s: s.text == "b", 10))
    await asyncio.sleep(0)
    store.change(URI, 2, [Change("b")])
    assert await good == store.get(URI)
    with pytest.raises(KeyError):
        await failing


@pytest.mark.parametrize("changes, states", [(1, 1), (5, 5), (8, 8), (400, 2)])
async def test_few_changes_of_one_message_are_states_of_their_own_and_many_are_not(
    changes: int, states: int
) -> None:
    documents = DocumentStore("utf-16")
    documents.open("file:///w/a.py", "python", 0, "")
    seen: list[str] = []

    def look(now: Snapshot) -> bool:
        seen.append(now.text)
        return False

    waiting = asyncio.ensure_future(documents.wait_for("file:///w/a.py", look, timeout_s=60))
    await asyncio.sleep(0)
    documents.change("file:///w/a.py", 1, [Change("x", (0, 0), (0, 0))] * changes)
    waiting.cancel()
    assert (seen[1], seen[-1], len(seen) - 1) == ("x", "x" * changes, states)
