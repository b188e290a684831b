"""One open document is edited through editors that answer in every way editors do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from lsprotocol import types

from agent_ls.domain.edits import EditOutcome, Replacement
from agent_ls.lsp.buffer_edits import BufferEdits, Reply
from agent_ls.lsp.documents import Change, DocumentStore, Snapshot
from agent_ls.lsp.saved_texts import version_of

URI = "file:///w/a.py"


@dataclass
class ScriptedEditor:
    """Does with an edit what the test says, as an editor would."""

    documents: DocumentStore
    applies: bool = True
    answers: Reply | None = field(default_factory=lambda: Reply("yes"))
    before: Callable[[], None] | None = None
    """What the person does before the editor gets to the edit."""
    line_end: str = "\n"
    sent: list[list[types.TextEdit]] = field(default_factory=list)

    async def apply_text(
        self, snapshot: Snapshot, edits: list[types.TextEdit], label: str
    ) -> Reply:
        self.sent.append(edits)
        await asyncio.sleep(0)
        if self.before is not None:
            self.before()
        if self.applies:
            changes = [
                Change(
                    one.new_text.replace("\n", self.line_end),
                    (one.range.start.line, one.range.start.character),
                    (one.range.end.line, one.range.end.character),
                )
                for one in reversed(edits)
            ]
            self.documents.change(URI, (snapshot.version or 0) + 1, changes)
        if self.answers is None:
            await asyncio.Event().wait()
        return self.answers or Reply("nothing")


async def check(
    editor: ScriptedEditor, *, base: str, start: int, end: int, text: str
) -> EditOutcome:
    edits = BufferEdits(editor.documents, editor, version_of, show_s=0.05)
    change = (Replacement(start=start, end=end, text=text),)
    async with asyncio.timeout(10):
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


async def test_typing_before_a_refusal_makes_the_edit_stale() -> None:
    documents = opened("a = 1\n")
    editor = ScriptedEditor(
        documents,
        applies=False,
        answers=Reply("no", "stale version"),
        before=lambda: documents.change(URI, 1, [Change("x", (0, 0), (0, 0))]),
    )
    outcome = await check(editor, base="a = 1\n", start=4, end=5, text="2")
    assert outcome.status == "stale"


@pytest.mark.parametrize(
    "applies, at, status",
    [
        pytest.param(False, (2, 0), "stale", id="typed-beside-a-skipped-edit"),
        pytest.param(False, (0, 0), "stale", id="typed-before-a-skipped-edit"),
        pytest.param(True, (2, 0), "applied", id="typed-beside-an-applied-edit"),
        pytest.param(False, (0, 4), "unconfirmed", id="typed-where-the-edit-is"),
    ],
)
async def test_typing_apart_from_the_edit_hides_nothing(
    applies: bool, at: tuple[int, int], status: str
) -> None:
    documents = opened("a = 1\nb = 2\n")

    def type_first() -> None:
        documents.change(URI, 1, [Change("# typed\n", at, at)])

    editor = ScriptedEditor(documents, applies, Reply("yes"), before=type_first)
    outcome = await check(editor, base="a = 1\nb = 2\n", start=0, end=5, text="a = 7")
    assert outcome.status == status
    if applies:
        assert outcome.text == "a = 7\nb = 2\n# typed\n"


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
    edits = BufferEdits(editor.documents, editor, version_of, show_s=0.05)
    insert = (Replacement(start=0, end=0, text="# one\n"),)
    first, second = await asyncio.gather(
        edits.change(URI, version_of("a = 1\n"), insert, "one"),
        edits.change(URI, version_of("a = 1\n"), insert, "two"),
    )
    assert (first.status, second.status) == ("applied", "stale")
    assert text_of(editor.documents) == "# one\na = 1\n"
