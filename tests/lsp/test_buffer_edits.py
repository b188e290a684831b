"""One open document is edited through editors that answer in every way editors do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import pytest
from lsprotocol import types

from agent_ls.domain.edits import EditOutcome, Replacement
from agent_ls.lsp.connection.clients import StaleEdit
from agent_ls.lsp.connection.documents import Change, DocumentStore, Snapshot
from agent_ls.lsp.connection.saved_texts import version_of
from agent_ls.lsp.workspace.buffer_edits import BufferEdits
from agent_ls.lsp.workspace.editor_port import Level, Reply

URI = "file:///w/a.py"


@dataclass
class ScriptedEditor:
    """Does with an edit what the test says, as an editor would."""

    documents: DocumentStore
    applies: bool = True
    answers: Reply | None = field(default_factory=lambda: Reply("yes"))
    before: Callable[[], None] | None = None
    """What the user does before the editor gets to the edit."""
    after: Callable[[str], str] | None = None
    """What else the text goes through before the editor tells of it, edit and all, at once."""
    then: Callable[[], None] | None = None
    """What the user does once the editor has told of it."""
    line_end: str = "\n"
    stale_edit: StaleEdit = "skipped"
    advised: list[str] = field(default_factory=list[str])
    saves: bool = False
    follows_disk: bool = False
    sent: list[list[types.TextEdit]] = field(default_factory=list[list[types.TextEdit]])

    async def apply_cells(self, uri: str, expected: str, label: str) -> Reply:
        raise AssertionError("no notebook is open")

    async def apply_text(
        self, snapshot: Snapshot, edits: list[types.TextEdit], label: str
    ) -> Reply:
        self.sent.append(edits)
        await asyncio.sleep(0)
        before, self.before = self.before, None
        if before is not None:
            before()
        if self.applies:
            changes = _changes(edits, self.line_end)
            if self.after is not None:
                changes = [Change(self.after(_carried_out(snapshot.text, changes)))]
            self.documents.change(URI, (snapshot.version or 0) + 1, changes)
        if self.then is not None:
            self.then()
        if self.answers is None:
            await asyncio.Event().wait()
        return self.answers or Reply("nothing")

    def say(self, level: Level, text: str) -> None:
        self.advised.append(text.rpartition("Look at ")[2].rstrip("."))

    async def take_away(self, uri: str, new_uri: str | None) -> Reply:
        raise AssertionError("only texts are edited here")

    async def save(self, uris: list[str]) -> bool:
        raise AssertionError("nothing is saved here")


def _changes(edits: list[types.TextEdit], line_end: str = "\n") -> list[Change]:
    return [
        Change(
            one.new_text.replace("\n", line_end),
            (one.range.start.line, one.range.start.character),
            (one.range.end.line, one.range.end.character),
        )
        for one in reversed(edits)
    ]


def _carried_out(text: str, changes: list[Change]) -> str:
    buffer = opened(text)
    buffer.change(URI, 1, changes)
    return text_of(buffer)


async def check(
    editor: ScriptedEditor, *, base: str, start: int, end: int, text: str, show_s: float = 0.01
) -> EditOutcome:
    edits = BufferEdits(editor.documents, editor, show_s=show_s)
    change = (Replacement(start=start, end=end, text=text),)
    async with asyncio.timeout(60):
        return await edits.change(URI, version_of(base), change, "test")


def opened(text: str) -> DocumentStore:
    documents = DocumentStore("utf-16")
    documents.open(URI, "python", 0, text)
    return documents


def text_of(documents: DocumentStore) -> str:
    found = documents.get(URI)
    assert found is not None
    return found.text


@pytest.mark.parametrize(
    "applies, answers, status, reason",
    [
        pytest.param(True, Reply("yes"), "applied", "", id="applied-and-told"),
        pytest.param(True, None, "applied", "", id="applied-and-never-answered"),
        pytest.param(True, Reply("no", "busy"), "applied", "", id="applied-and-denied"),
        pytest.param(True, Reply("nothing"), "applied", "", id="applied-with-an-unclear-answer"),
        pytest.param(
            False, Reply("yes"), "unconfirmed", "still shows the old", id="yes-and-skipped"
        ),
        pytest.param(False, Reply("no", "busy"), "refused", "refused the edit: busy", id="refused"),
        pytest.param(False, Reply("nothing"), "unconfirmed", "never answered", id="silence"),
    ],
)
async def test_the_text_that_comes_back_decides(
    applies: bool, answers: Reply | None, status: str, reason: str
) -> None:
    editor = ScriptedEditor(opened("a = 1\n"), applies, answers)
    outcome = await check(editor, base="a = 1\n", start=4, end=5, text="2")
    assert outcome.status == status
    assert reason in outcome.reason
    assert text_of(editor.documents) == ("a = 2\n" if applies else "a = 1\n")
    assert (outcome.text == "a = 2\n") is applies


async def test_an_edit_on_an_older_text_is_stale_and_never_sent() -> None:
    editor = ScriptedEditor(opened("a = 1\nb = 2\n"))
    outcome = await check(editor, base="a = 1\n", start=4, end=5, text="2")
    assert outcome.status == "stale"
    assert editor.sent == []


@pytest.mark.parametrize("told", ["before-it-says-no", "after-it-said-no"])
async def test_a_refusal_for_good_is_waited_for_no_longer_than_for_what_was_typed(
    told: str,
) -> None:
    documents = opened("a = 1\n")
    editor = ScriptedEditor(
        documents, applies=False, answers=Reply("no", "stale version"), stale_edit="refused"
    )

    def typed() -> None:
        documents.change(URI, 1, [Change("x", (0, 0), (0, 0))])

    def typed_soon() -> None:
        asyncio.get_running_loop().call_later(0.01, typed)

    editor.before = typed if told == "before-it-says-no" else typed_soon
    outcome = await check(editor, base="a = 1\n", start=4, end=5, text="2", show_s=3600)
    assert outcome.status == "stale"


BASE = "def f():\n    a = 1\n    b = 2\n    return a\n\n\ndef g():\n    return 2\n"
EDITS = {
    "line-taken-out": ("    a = 1\n", ""),
    "blank-line-taken-out": ("\n\n\n", "\n\n"),
    "line-repeated": ("    b = 2\n", "    b = 2\n    b = 2\n"),
    "line-put-in": ("    b = 2\n", "    b = 2\n    print(b)\n"),
    "words-put-in": ("b = 2", "b = 2 + 2"),
    "words-replaced": ("b = 2", "b = 3"),
}
TYPED: dict[str, Callable[[str], str]] = {
    "above": lambda text: "# typed\n" + text,
    "in-a-line-above": lambda text: text.replace("def f()", "def f(x)"),
    "a-line-less-below": lambda text: text.removesuffix("    return 2\n"),
    "a-copy-of-a-line": lambda text: text + "    a = 1\n    b = 2\n",
}
EDITORS = {
    "refuses": (False, Reply("no", "the text changed"), "stale"),
    "skips-and-says-yes": (False, Reply("yes"), "stale"),
    "skips-without-a-word": (False, Reply("nothing"), "stale"),
    "applies": (True, Reply("yes"), "applied"),
    "applies-without-a-word": (True, Reply("nothing"), "applied"),
    "applies-and-says-no": (True, Reply("no"), "unconfirmed"),
}


@pytest.mark.parametrize("applies, answers, status", EDITORS.values(), ids=EDITORS)
@pytest.mark.parametrize("typed", TYPED.values(), ids=TYPED)
@pytest.mark.parametrize("old, new", EDITS.values(), ids=EDITS)
async def test_typing_beside_any_edit_is_told_from_the_edit(
    old: str, new: str, typed: Callable[[str], str], applies: bool, answers: Reply, status: str
) -> None:
    documents = opened(BASE)
    editor = ScriptedEditor(documents, applies, answers, after=typed)
    if not applies:
        editor.before = lambda: documents.change(URI, 1, [Change(typed(BASE))])
    at = BASE.index(old)
    outcome = await check(editor, base=BASE, start=at, end=at + len(old), text=new)
    assert outcome.status == status
    assert text_of(documents) == typed(BASE.replace(old, new, 1) if applies else BASE)


@pytest.mark.parametrize(
    "old, new, changed",
    [
        pytest.param("a = 1\n", "a = 1\n    print(a)\n", ("(a)", "(a, b)"), id="in-a-new-line"),
        pytest.param("a = 1\n", "a = 1\n    p('x')\n", ("'x'", '"x"'), id="quotes-of-a-new-line"),
        pytest.param("b = 2", "b = 2 + 2", ("+ 2", "+ two"), id="in-new-words"),
        pytest.param("    a = 1\n", "", ("f():\n", "f():\n    # gone\n"), id="where-a-line-was"),
        pytest.param("    b = 2\n", "    c = 3\n", ("c = 3", "c = 3.0"), id="in-a-replaced-line"),
    ],
)
@pytest.mark.parametrize("said", ["yes", "nothing"])
async def test_an_edit_that_is_changed_as_it_arrives_is_not_made_again(
    old: str, new: str, changed: tuple[str, str], said: Literal["yes", "nothing"]
) -> None:
    editor = ScriptedEditor(
        opened(BASE), answers=Reply(said), after=lambda text: text.replace(*changed)
    )
    at = BASE.index(old)
    outcome = await check(editor, base=BASE, start=at, end=at + len(old), text=new)
    assert (outcome.status, "another text" in outcome.reason) == ("unconfirmed", True)


def blind(typed: str, *, stale_edit: StaleEdit = "applied") -> ScriptedEditor:
    """An editor that looks at no version, and whose user makes this text before the edit comes.

    It carries the edit out in the lines that it was told.
    """
    documents = opened(BASE)
    editor = ScriptedEditor(documents, answers=Reply("yes"), stale_edit=stale_edit)
    editor.before = lambda: documents.change(URI, 1, [Change(typed)])
    return editor


@pytest.mark.parametrize("stale_edit", ["applied", "unknown"])
@pytest.mark.parametrize("lines", [1, 20], ids=["one-line", "many-lines"])
@pytest.mark.parametrize("old, new", EDITS.values(), ids=EDITS)
async def test_an_edit_in_the_wrong_lines_is_told_to_everybody(
    old: str, new: str, lines: int, stale_edit: StaleEdit
) -> None:
    typed = "# typed\n" * lines + BASE
    editor = blind(typed, stale_edit=stale_edit)
    at = BASE.index(old)
    outcome = await check(editor, base=BASE, start=at, end=at + len(old), text=new)
    assert (outcome.status, len(editor.sent)) == ("unconfirmed", 1)
    assert [one in outcome.reason for one in editor.advised] == [True]
    assert text_of(editor.documents) == _carried_out(typed, _changes(editor.sent[0]))


@pytest.mark.parametrize(
    "said, status, advised",
    [("no", "refused", []), ("nothing", "unconfirmed", ["lines 3-4"])],
    ids=["no", "nothing"],
)
async def test_a_line_that_was_typed_and_taken_out_at_once_is_told(
    said: Literal["no", "nothing"], status: str, advised: list[str]
) -> None:
    """The text is as before, so an editor that says no is believed."""
    old = "    b = 2\n"
    at = BASE.index(old)
    editor = blind(BASE.replace(old, f"    # typed\n{old}"))
    editor.answers = Reply(said)
    outcome = await check(editor, base=BASE, start=at, end=at + len(old), text="")
    assert (text_of(editor.documents), outcome.status) == (BASE, status)
    assert editor.advised == advised


async def test_of_an_editor_that_skips_late_edits_nothing_is_told() -> None:
    """The user takes out one line, and then the next but one."""
    base = "a = 1\nb = 2\nc = 3\nd = 4\n"
    documents = opened(base)
    editor = ScriptedEditor(documents, applies=False, stale_edit="skipped")

    def once_and_again() -> None:
        documents.change(URI, 1, [Change("", (0, 0), (1, 0))])
        documents.change(URI, 2, [Change("", (1, 0), (2, 0))])

    editor.before = once_and_again
    outcome = await check(editor, base=base, start=6, end=12, text="")
    assert (outcome.status, text_of(documents)) == ("unconfirmed", "b = 2\nd = 4\n")
    assert (len(editor.sent), editor.advised) == (1, [])


async def test_an_edit_beside_which_a_user_types_is_not_made_again() -> None:
    """The typing touches the edit, so the text proves nothing."""
    documents = opened("a = b\n")
    editor = ScriptedEditor(documents, stale_edit="applied")
    editor.before = lambda: documents.change(URI, 1, [Change("a = b  # typed\n")])
    outcome = await check(editor, base="a = b\n", start=5, end=5, text=" + 1")
    assert (outcome.status, len(editor.sent)) == ("unconfirmed", 1)
    assert text_of(documents) == "a = b + 1  # typed\n"


async def test_a_copy_that_looks_like_the_edit_proves_nothing() -> None:
    """The user wrote what the agent was to write; nobody can tell what the editor did."""
    base, now = "a\nb\n", "a\nx\nb\na\nb\n"
    for answers, status in ((Reply("yes"), "unconfirmed"), (Reply("no"), "stale")):
        documents = opened(base)
        editor = ScriptedEditor(documents, applies=False, answers=answers)
        editor.before = lambda of=documents: of.change(URI, 1, [Change(now)])
        outcome = await check(editor, base=base, start=2, end=2, text="x\n")
        assert outcome.status == status


@pytest.mark.parametrize(
    "applies, answers, status",
    [
        pytest.param(True, Reply("yes"), "applied", id="applied"),
        pytest.param(False, Reply("no"), "refused", id="refused"),
        pytest.param(False, Reply("yes"), "unconfirmed", id="skipped"),
    ],
)
async def test_an_edit_of_line_ends_alone_is_judged_by_them(
    applies: bool, answers: Reply, status: str
) -> None:
    editor = ScriptedEditor(opened("a\r\nb\r\n"), applies, answers)
    outcome = await check(editor, base="a\r\nb\r\n", start=1, end=3, text="\n")
    assert outcome.status == status


async def test_an_edit_that_was_shown_is_applied_whatever_is_typed_next() -> None:
    documents = opened("a = 1\n")
    editor = ScriptedEditor(documents)
    editor.then = lambda: documents.change(URI, 2, [Change("a = 23\n")])
    outcome = await check(editor, base="a = 1\n", start=4, end=5, text="2")
    assert (outcome.status, outcome.text) == ("applied", "a = 23\n")


async def test_an_editor_that_makes_line_ends_uniform_has_applied_the_edit() -> None:
    editor = ScriptedEditor(opened("a\r\nb\r\n"), line_end="\r\n")
    outcome = await check(editor, base="a\r\nb\r\n", start=3, end=3, text="new\n")
    assert outcome.status == "applied"
    assert outcome.text == "a\r\nnew\r\nb\r\n"


async def test_places_are_sent_in_the_clients_columns() -> None:
    editor = ScriptedEditor(opened("s = '😀'\n"))
    outcome = await check(editor, base="s = '😀'\n", start=6, end=7, text='"')
    assert outcome.status == "applied"
    assert editor.sent[0][0].range.start.character == 7


async def test_a_document_closed_while_it_is_edited_is_unconfirmed() -> None:
    documents = opened("a = 1\n")
    editor = ScriptedEditor(
        documents, applies=False, answers=Reply("yes"), before=lambda: documents.close(URI)
    )
    outcome = await check(editor, base="a = 1\n", start=4, end=5, text="2")
    assert outcome.status == "unconfirmed"


async def test_a_document_out_of_step_is_refused_with_what_to_do() -> None:
    documents = opened("a = 1\n")
    documents.lose_sync(URI)
    editor = ScriptedEditor(documents)
    outcome = await check(editor, base="a = 1\n", start=4, end=5, text="2")
    assert outcome.status == "refused"
    assert "open it again" in outcome.reason


async def test_two_edits_of_one_document_wait_for_each_other() -> None:
    editor = ScriptedEditor(opened("a = 1\n"))
    edits = BufferEdits(editor.documents, editor, show_s=0.05)
    insert = (Replacement(start=0, end=0, text="# one\n"),)
    first, second = await asyncio.gather(
        edits.change(URI, version_of("a = 1\n"), insert, "one"),
        edits.change(URI, version_of("a = 1\n"), insert, "two"),
    )
    assert (first.status, second.status) == ("applied", "stale")
    assert text_of(editor.documents) == "# one\na = 1\n"
