"""One open document is edited through editors that answer in every way editors do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from lsprotocol import types

from agent_ls.domain.edits import EditOutcome, Replacement
from agent_ls.lsp.connection.clients import StaleEdit
from agent_ls.lsp.connection.documents import Change, DocumentStore, Snapshot
from agent_ls.lsp.connection.saved_texts import version_of
from agent_ls.lsp.workspace.buffer_edits import BufferEdits, Reply

URI = "file:///w/a.py"


@dataclass
class ScriptedEditor:
    """Does with an edit what the test says, as an editor would."""

    documents: DocumentStore
    applies: bool = True
    answers: Reply | None = field(default_factory=lambda: Reply("yes"))
    before: Callable[[], None] | None = None
    """What the person does before the editor gets to the edit."""
    after: Callable[[str], str] | None = None
    """What else the text goes through before the editor tells of it, edit and all, at once."""
    steps: list[Change] = field(default_factory=list[Change])
    """What the person typed before the edit, of which the editor tells together with it."""
    tells: Callable[[list[Change]], list[list[Change]]] = lambda changes: [changes]
    """The messages in which it tells of its changes, which it makes from the last place on."""
    then: Callable[[], None] | None = None
    """What the person does once the editor has told of it."""
    line_end: str = "\n"
    stale_edit: StaleEdit = "unknown"
    edits_unasked: bool = True
    advised: list[str] = field(default_factory=list[str])
    sent: list[list[types.TextEdit]] = field(default_factory=list[list[types.TextEdit]])

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
            version = snapshot.version or 0
            first, *others = self.tells(changes)
            for number, message in enumerate([[*self.steps, *first], *others], 1):
                self.documents.change(URI, version + number, message)
            self.steps = []
        if self.then is not None:
            self.then()
        if self.answers is None:
            await asyncio.Event().wait()
        return self.answers or Reply("nothing")

    def advise_repairing(self, uri: str, lines: str) -> None:
        self.advised.append(lines)

    def advise_looking(self, uri: str, lines: str) -> None:
        self.advised.append(f"look at {lines}")


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
    edits = BufferEdits(editor.documents, editor, version_of, show_s=show_s)
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


@pytest.mark.parametrize(
    "theirs, status",
    [
        pytest.param("a = 1\n# typed\nb = 2\n", "stale", id="typed-right-below"),
        pytest.param("a = 12\nb = 2\n", "stale", id="typed-in-its-line"),
        pytest.param("# typed\na = 1\nb = 2\n", "stale", id="typed-above"),
        pytest.param("a = 7\nb = 2\n", "applied", id="chosen"),
        pytest.param("a = 7\nb = 23\n", "applied", id="chosen-and-typed-on-below"),
    ],
)
async def test_an_edit_that_was_only_offered_is_made_anew_when_something_else_was_typed(
    theirs: str, status: str
) -> None:
    documents = opened("a = 1\nb = 2\n")
    editor = ScriptedEditor(documents, False, Reply("yes", was_sent=False))
    editor.before = lambda: documents.change(URI, 1, [Change(theirs)])
    outcome = await check(editor, base="a = 1\nb = 2\n", start=4, end=5, text="7")
    assert (outcome.status, len(editor.sent), editor.advised) == (status, 1, [])
    assert text_of(documents) == theirs


async def test_an_offer_that_was_taken_from_an_old_list_is_told_to_everybody() -> None:
    """The person typed a line above, and chose the edit as it had been offered before that."""
    documents = opened(BASE)
    editor = ScriptedEditor(
        documents,
        applies=False,
        answers=Reply("yes", was_sent=False),
        stale_edit="applied",
        edits_unasked=False,
    )

    def type_and_choose() -> None:
        documents.change(URI, 1, [Change("# typed\n", (0, 0), (0, 0))])
        documents.change(URI, 2, _changes(editor.sent[0]))

    editor.before = type_and_choose
    at = BASE.index("b = 2")
    outcome = await check(editor, base=BASE, start=at, end=at + 5, text="b = 3")
    assert (outcome.status, len(editor.sent)) == ("unconfirmed", 1)
    assert editor.advised == ["line 3"]


BASE = "def f():\n    a = 1\n    b = 2\n    return a\n\n\ndef g():\n    return 2\n"
EDITS = {
    "line-taken-out": ("    a = 1\n", ""),
    "two-lines-taken-out": ("    b = 2\n    return a\n", ""),
    "blank-line-taken-out": ("\n\n\n", "\n\n"),
    "words-taken-out": ("return a", "a"),
    "line-repeated": ("    b = 2\n", "    b = 2\n    b = 2\n"),
    "line-put-in": ("    b = 2\n", "    b = 2\n    print(b)\n"),
    "blank-line-put-in": ("\n\n\n", "\n\n\n\n"),
    "words-put-in": ("b = 2", "b = 2 + 2"),
    "words-replaced": ("b = 2", "b = 3"),
    "lines-replaced": ("    b = 2\n    return a\n", "    return b\n"),
}
TYPED: dict[str, Callable[[str], str]] = {
    "above": lambda text: "# typed\n" + text,
    "below": lambda text: text + "# typed\n",
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


def blind(*, told: str, typed: str = "# typed\n", **options: Any) -> ScriptedEditor:
    """An editor that looks at no version, and whose person types above before the edit comes."""
    return blind_to(typed + BASE, told, **options)


def blind_to(typed: str, told: str, **options: Any) -> ScriptedEditor:
    """An editor that looks at no version, and whose person makes this text before the edit comes.

    It tells of both ``apart``, ``in-steps`` or ``at-once``.
    """
    documents = opened(BASE)
    editor = ScriptedEditor(documents, answers=Reply("nothing"), **options)

    def type_first() -> None:
        documents.change(URI, 1, [Change(typed)])

    def once(text: str) -> str:
        """Carry the edit out on what was typed, which nobody was told of."""
        editor.after = None
        return _carried_out(typed, _changes(editor.sent[-1]))

    match told:
        case "apart":
            editor.before = type_first
        case "in-steps":
            editor.steps = [Change(typed)]
        case _:
            editor.after = once
    return editor


LINES = "".join(f"typed = {number}\n" for number in range(20))


@pytest.mark.parametrize(
    "typed, told",
    [
        pytest.param("# typed\n", "apart", id="one-line"),
        pytest.param(LINES, "apart", id="many-lines"),
        pytest.param("# typed\n", "in-steps", id="one-line-told-with-the-edit"),
        pytest.param(LINES, "in-steps", id="many-lines-told-with-the-edit"),
    ],
)
@pytest.mark.parametrize("said", ["nothing", "no"])
@pytest.mark.parametrize("old, new", EDITS.values(), ids=EDITS)
async def test_an_edit_in_the_wrong_lines_is_taken_back(
    old: str, new: str, said: Literal["nothing", "no"], typed: str, told: str
) -> None:
    editor = blind(told=told, typed=typed, stale_edit="applied")
    editor.answers = Reply(said)
    at = BASE.index(old)
    outcome = await check(editor, base=BASE, start=at, end=at + len(old), text=new)
    assert (outcome.status, text_of(editor.documents)) == ("stale", typed + BASE)
    assert (len(editor.sent), editor.advised) == (2, [])


def _line_above(old: str) -> tuple[str, str, str]:
    """Cut the text around the line right above an edit."""
    start = BASE.rindex("\n", 0, BASE.index(old)) + 1
    start = start if start < BASE.index(old) else BASE.index(old)
    begin = BASE.rfind("\n", 0, start - 1) + 1
    return BASE[:begin], BASE[begin : start - 1], BASE[start - 1 :]


BESIDE: dict[str, Callable[[str, str, str], str]] = {
    "a-line-far-above": lambda head, line, rest: f"# typed\n{head}{line}{rest}",
    "a-line-right-above": lambda head, line, rest: f"{head}{line}\n    # typed{rest}",
    "the-line-above-cut": lambda head, line, rest: f"{head}{line[:3]}\n    {line[4:]}{rest}",
    "the-line-above-replaced": lambda head, line, rest: f"{head}    c = 1\n    d = 2{rest}",
    "in-two-places": lambda head, line, rest: f"# typed\n{head}{line[:3]}\n{line[4:]}{rest}",
    "two-lines-for-one": lambda head, line, rest: f"{head[4:]}{line}\n{line}\n{rest}",
}


@pytest.mark.parametrize("told", ["apart", "in-steps", "at-once"])
@pytest.mark.parametrize("typed", BESIDE.values(), ids=BESIDE)
@pytest.mark.parametrize("old, new", EDITS.values(), ids=EDITS)
async def test_what_was_typed_beside_a_misplaced_edit_is_never_guessed(
    old: str, new: str, typed: Callable[[str, str, str], str], told: str
) -> None:
    """It comes back as it was, or the person is told where to look."""
    theirs = typed(*_line_above(old))
    editor = blind_to(theirs, told, stale_edit="applied")
    at = BASE.index(old)
    outcome = await check(editor, base=BASE, start=at, end=at + len(old), text=new)
    now = text_of(editor.documents)
    if told == "at-once" and editor.advised:
        assert (outcome.status, len(editor.sent)) == ("unconfirmed", 1)
        assert now == _carried_out(theirs, _changes(editor.sent[0]))
    else:
        assert (outcome.status, now, editor.advised) == ("stale", theirs, [])


def _from_the_first(changes: list[Change]) -> list[Change]:
    """Return changes in lines of their own as an editor makes them that begins above."""
    made: list[Change] = []
    down = 0
    for one in reversed(changes):
        assert one.start is not None
        (first, start), (last, end) = one.start, one.end
        made.append(Change(one.text, (first + down, start), (last + down, end)))
        down += one.text.count("\n") - (last - first)
    return made


def _in_halves(changes: list[Change]) -> list[Change]:
    """Return what takes the old text of each place out before it puts the new one in."""
    made: list[Change] = []
    for one in changes:
        assert one.start is not None
        made += (one._replace(text=""), one._replace(end=one.start))
    return made


TELLS: dict[str, Callable[[list[Change]], list[list[Change]]]] = {
    "from-the-last": lambda changes: [changes],
    "from-the-first": lambda changes: [_from_the_first(changes)],
    "each-apart-from-the-last": lambda changes: [[one] for one in changes],
    "each-apart-from-the-first": lambda changes: [[one] for one in _from_the_first(changes)],
    "first-and-others": lambda changes: [changes[:1], changes[1:]],
    "in-halves": lambda changes: [[one] for one in _in_halves(changes)],
    "in-halves-from-the-first": lambda changes: [
        [one] for one in _in_halves(_from_the_first(changes))
    ],
}
SEVERAL = {
    "of-the-same-length": ("= 10", "= 99"),
    "longer": ("= 10", "= 10 + 1"),
    "shorter": ("let ", ""),
    "begun-anew": ("let ", "let let "),
    "lines-put-in": ("let ", "# new\nlet "),
}
THREE = "top\nlet alpha = 10\nports = 8081\nlet beta = 10\nsame\nlet gamma = 10\nend\n"
TYPED_THERE = {
    "nothing": ("top", "top"),
    "above": ("top\n", "top\n\n"),
    "below-the-first": ("ports", "\nports"),
    "below-the-second": ("same", "typed\nsame"),
    "a-part-of-the-edit": ("let alpha", "# new\nlet alpha"),
    "the-last-part-of-the-edit": ("let gamma", "# new\nlet gamma"),
    "below": ("end", "the end"),
}


@pytest.mark.parametrize("tells", TELLS.values(), ids=TELLS)
@pytest.mark.parametrize("typed", TYPED_THERE.values(), ids=TYPED_THERE)
@pytest.mark.parametrize("old, new", SEVERAL.values(), ids=SEVERAL)
async def test_a_part_of_an_edit_is_not_taken_for_typing(
    old: str,
    new: str,
    typed: tuple[str, str],
    tells: Callable[[list[Change]], list[list[Change]]],
) -> None:
    """Where the editor looks at no version and tells of each place as a change of its own."""
    theirs = THREE.replace(*typed)
    editor = ScriptedEditor(opened(THREE), stale_edit="applied", tells=tells)
    editor.steps = [Change(theirs)]
    places = [at for at in range(len(THREE)) if THREE.startswith(old, at)]
    change = tuple(Replacement(start=at, end=at + len(old), text=new) for at in places)
    edits = BufferEdits(editor.documents, editor, version_of, show_s=0.01)
    outcome = await edits.change(URI, version_of(THREE), change, "test")
    now = text_of(editor.documents)
    if THREE.count("\n") == theirs.count("\n"):
        assert (outcome.status, now, len(editor.sent)) == ("applied", theirs.replace(old, new), 1)
    else:
        assert (outcome.status, now, len(editor.sent)) == ("stale", theirs, 2)
    assert editor.advised == []


SAME = {
    "the-same-change": ("import os\nimport os\nimport sys\n", "import os\nimport sys\n"),
    "in-a-line-taken-out": ("a = 1\nb = 2\nc = 3\n", "a = 1\nimportant b = 2\nc = 3\n"),
    "in-both-lines-taken-out": ("x\na = 1\na = 1\ny\n", "x\na = 11\na = 1\ny\n"),
}


@pytest.mark.parametrize("answers", [Reply("yes"), None], ids=["it-answers", "it-never-answers"])
@pytest.mark.parametrize("told", ["apart", "in-steps"])
@pytest.mark.parametrize("base, theirs", SAME.values(), ids=SAME)
async def test_what_was_typed_where_a_line_is_taken_out_comes_back(
    base: str, theirs: str, told: str, answers: Reply | None
) -> None:
    """Also where it makes the very text that the edit was to make."""
    documents = opened(base)
    editor = ScriptedEditor(documents, answers=answers, stale_edit="applied")
    if told == "apart":
        editor.before = lambda: documents.change(URI, 1, [Change(theirs)])
    else:
        editor.steps = [Change(theirs)]
    start = base.index("\n") + 1
    end = base.index("\n", start) + 1
    outcome = await check(editor, base=base, start=start, end=end, text="", show_s=0.5)
    assert (outcome.status, text_of(documents), editor.advised) == ("stale", theirs, [])


@pytest.mark.parametrize(
    "stale_edit, status, advised",
    [
        pytest.param("skipped", "unconfirmed", [], id="it-was-seen-to-skip-stale-edits"),
        pytest.param("unknown", "unconfirmed", ["look at line 2"], id="nobody-knows"),
    ],
)
async def test_what_looks_like_an_edit_in_the_wrong_lines_may_be_the_persons_own_work(
    stale_edit: StaleEdit, status: str, advised: list[str]
) -> None:
    """The edit is skipped; the person takes out one line, and then the next but one."""
    base = "a = 1\nb = 2\nc = 3\nd = 4\n"
    documents = opened(base)
    editor = ScriptedEditor(documents, applies=False, stale_edit=stale_edit)

    def once_and_again() -> None:
        documents.change(URI, 1, [Change("", (0, 0), (1, 0))])
        documents.change(URI, 2, [Change("", (1, 0), (2, 0))])

    editor.before = once_and_again
    outcome = await check(editor, base=base, start=6, end=12, text="")
    assert (outcome.status, text_of(documents)) == (status, "b = 2\nd = 4\n")
    assert (len(editor.sent), editor.advised) == (1, advised)


async def test_what_was_typed_above_an_old_line_above_the_edit_is_known() -> None:
    editor = blind(told="at-once", stale_edit="applied")
    at = BASE.index("b = 2")
    outcome = await check(editor, base=BASE, start=at, end=at + 5, text="b = 3")
    assert (outcome.status, text_of(editor.documents)) == ("stale", "# typed\n" + BASE)
    assert (len(editor.sent), editor.advised) == (2, [])


@pytest.mark.parametrize(
    "typed, advised",
    [
        pytest.param("# typed\n", "look at line 3", id="below-a-line-that-is-known"),
        pytest.param(LINES, "look at line 3", id="among-what-was-typed"),
    ],
)
async def test_an_editor_that_nobody_knows_may_hide_an_edit_in_what_was_typed(
    typed: str, advised: str
) -> None:
    """It says yes to the version that the edit names, as it told of no typing yet."""
    editor = blind(told="at-once", typed=typed, stale_edit="unknown")
    editor.answers = Reply("yes")
    at = BASE.index("b = 2")
    outcome = await check(editor, base=BASE, start=at, end=at + 5, text="b = 3")
    assert (outcome.status, len(editor.sent), editor.advised) == ("unconfirmed", 1, [advised])
    assert text_of(editor.documents) == _carried_out(typed + BASE, _changes(editor.sent[0]))


async def test_a_line_that_was_typed_and_taken_out_at_once_is_told() -> None:
    """The text is as before: the edit took out the line that had just been typed."""
    old = "    b = 2\n"
    at = BASE.index(old)
    theirs = BASE.replace(old, f"    # typed\n{old}")
    editor = blind_to(theirs, "at-once", stale_edit="applied")
    outcome = await check(editor, base=BASE, start=at, end=at + len(old), text="")
    assert (text_of(editor.documents), outcome.status) == (BASE, "unconfirmed")
    assert editor.advised == ["look at lines 3-4"]


@pytest.mark.parametrize("old, new", EDITS.values(), ids=EDITS)
async def test_an_edit_that_may_be_among_what_was_typed_is_not_made_again(
    old: str, new: str
) -> None:
    editor = blind(told="at-once", typed=LINES, stale_edit="applied")
    at = BASE.index(old)
    outcome = await check(editor, base=BASE, start=at, end=at + len(old), text=new)
    assert (outcome.status, len(editor.sent)) == ("unconfirmed", 1)
    assert [one.startswith("look at line") for one in editor.advised] == [True]


@pytest.mark.parametrize(
    "options, then",
    [
        pytest.param({"edits_unasked": False}, None, id="a-person-would-have-to-repair-it"),
        pytest.param({}, "and on\n", id="the-person-typed-on"),
    ],
)
async def test_an_edit_that_stays_in_the_wrong_lines_is_told_to_everybody(
    options: dict[str, Any], then: str | None
) -> None:
    editor = blind(told="apart", stale_edit="applied", **options)
    if then is not None:
        editor.then = lambda: editor.documents.change(URI, 3, [Change(then, (0, 0), (0, 0))])
    at = BASE.index("b = 2")
    outcome = await check(editor, base=BASE, start=at, end=at + 5, text="b = 3")
    assert (outcome.status, "in other lines than meant, at line 3" in outcome.reason) == (
        "unconfirmed",
        True,
    )
    assert (len(editor.sent), editor.advised) == (1, ["line 3"])


@pytest.mark.parametrize(
    "said, advised", [("no", []), ("nothing", ["look at lines 3-4"])], ids=["no", "nothing"]
)
async def test_an_editor_that_says_no_is_believed_where_the_text_proves_nothing(
    said: Literal["no", "nothing"], advised: list[str]
) -> None:
    old = "    b = 2\n"
    at = BASE.index(old)
    editor = blind_to(BASE.replace(old, f"    # typed\n{old}"), "at-once", stale_edit="applied")
    editor.answers = Reply(said)
    await check(editor, base=BASE, start=at, end=at + len(old), text="")
    assert (text_of(editor.documents), editor.advised) == (BASE, advised)


async def test_what_was_typed_where_a_misplaced_edit_is_taken_back_comes_back() -> None:
    """It stands in the lines that the edit hit, which nobody can tell apart but the person."""
    editor = blind(told="apart", stale_edit="applied")
    documents = editor.documents

    def type_there() -> None:
        editor.then = None
        at = text_of(documents).split("\n").index("    print(b)")
        editor.before = lambda: documents.change(URI, 3, [Change("typed", (at, 4), (at, 4))])

    editor.then = type_there
    at = BASE.index("    b = 2\n")
    outcome = await check(editor, base=BASE, start=at, end=at + 10, text="    print(b)\n")
    assert (outcome.status, len(editor.sent), len(editor.advised)) == ("unconfirmed", 3, 1)
    assert "    typedprint(b)\n" in text_of(documents)


async def test_an_edit_beside_which_a_person_types_is_not_taken_back() -> None:
    """The typing touches the edit, so the text proves nothing; but it moved nothing either."""
    documents = opened("a = b\n")
    editor = ScriptedEditor(documents, stale_edit="applied")
    editor.before = lambda: documents.change(URI, 1, [Change("a = b  # typed\n")])
    outcome = await check(editor, base="a = b\n", start=5, end=5, text=" + 1")
    assert (outcome.status, len(editor.sent)) == ("unconfirmed", 1)
    assert text_of(documents) == "a = b + 1  # typed\n"


async def test_what_a_person_typed_in_an_honest_editor_is_not_taken_back() -> None:
    """A line gone and one put in: the work of an editor that looks at no version, or theirs."""
    editor = blind(told="at-once", stale_edit="unknown")
    at = BASE.index("    a = 1\n")
    outcome = await check(editor, base=BASE, start=at, end=at + 10, text="")
    assert (outcome.status, len(editor.sent)) == ("unconfirmed", 1)
    assert text_of(editor.documents) == "# typed\n" + BASE.removeprefix("def f():\n")


async def test_a_copy_that_looks_like_the_edit_proves_nothing() -> None:
    """The person wrote what the agent was to write; nobody can tell what the editor did."""
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
    edits = BufferEdits(editor.documents, editor, version_of, show_s=0.05)
    insert = (Replacement(start=0, end=0, text="# one\n"),)
    first, second = await asyncio.gather(
        edits.change(URI, version_of("a = 1\n"), insert, "one"),
        edits.change(URI, version_of("a = 1\n"), insert, "two"),
    )
    assert (first.status, second.status) == ("applied", "stale")
    assert text_of(editor.documents) == "# one\na = 1\n"
