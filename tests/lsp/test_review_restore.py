"""``agent/review/decide`` with ``restore``: what the panel asks for, and what it is told; and what
the command ``agent-ls.restore`` refuses.

One real server for all rows; each row has a session, a folder and a story of its own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.archive import Archive
from tests.support.client_editors import ClientEditor
from tests.support.lsp_connection import ServerError
from tests.support.markers import Story
from tests.support.scripted import scripted
from tests.support.storyteller import Storyteller

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.e2e]

_TEXT = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"
_REFUSING = "refusing"
_BRANCHED = "branched"
_AFTER = "one\n2\nthree\nfour\nfive\nsix\nseven\n8\nnine\n"


def _answer(name: str, path: str = "", text: str = "", old: str = "") -> str:
    """The next answer in a row's session, as TOML: an edit, a new file, or the last words."""
    head = f'[[answer]]\nwhen = {{ first = "First {name}." }}\n'
    if not path:
        return f'{head}text = "Done."'
    call = f"{head}[[answer.call]]\ntool = "
    if not old:
        return f'{call}"write_file"\narguments = {{ path = "{path}", content = "{text}" }}'
    edits = f'[{{ old_string = "{old}", new_string = "{text}" }}]'
    return f'{call}"edit_file"\narguments = {{ path = "{path}", edits = {edits} }}'


def _scenario() -> str:
    answers: list[str] = []
    for name in (*ROWS, _REFUSING, _BRANCHED):
        path = f"{name}/a.py"
        answers += [
            _answer(name, path, "2", "two"),
            _answer(name, path, "8", "eight"),
            _answer(name, f"{name}/new.py", "n = 1\\n"),
            _answer(name),
            _answer(name, path, "5", "five"),
            _answer(name),
        ]
    return "\n\n".join(answers)


@dataclass
class Panel:
    """A user with our panel, in one session whose files are in one folder."""

    editor: ClientEditor
    name: str
    turns: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """As ``agent/review/list`` told them last, oldest first."""

    @property
    def uri(self) -> str:
        return self.editor.uri(f"{self.name}/a.py")

    async def begin(self) -> None:
        place = self.editor.path_of(self.uri)
        place.parent.mkdir()
        place.write_text(_TEXT)
        self.session = (await self.editor.request("agent/sessions/new", {}))["session"]["sessionId"]
        await self.editor.open(f"{self.name}/a.py")

    async def prompt(self, words: str) -> None:
        """Let the agent work on a prompt."""
        params = {"text": f"{words} {self.name}.", "sessionId": self.session}
        turn_id = (await self.editor.request("agent/prompt", params))["turnId"]
        await self.editor.until(lambda: self._has_ended(turn_id) or None, 60, "the turn's end")
        asked = {"sessionId": self.session, "withText": True}
        self.turns = (await self.editor.request("agent/review/list", asked))["turns"]

    def _has_ended(self, turn_id: str) -> bool:
        return any(
            one["sessionUpdate"] == "turn_ended" and one["turnId"] == turn_id
            for one in self.editor.shown.updates
        )

    async def type(self, old: str, new: str) -> None:
        text = self.editor.buffers[self.uri].text
        assert old in text
        await self.editor.change(self.uri, text.replace(old, new, 1))

    async def decide(self, decision: str, **more: Any) -> list[dict[str, Any]]:
        """Decide about this session's changes."""
        params = {"decision": decision, "sessionId": self.session, **more}
        files: list[dict[str, Any]] = (await self.editor.request("agent/review/decide", params))[
            "files"
        ]
        return files

    def hunks(self, *olds: str) -> list[str]:
        """Name the changes of the first turn whose old lines are these."""
        files = self.turns[0]["files"]
        return [one["hunkId"] for file in files for one in file["hunks"] if one["old"] in olds]

    def call(self, turn: int, number: int) -> dict[str, str]:
        """Name a call of a turn that changed a file."""
        found = self.turns[turn]
        return {"turnId": found["turnId"], "toolCallId": found["toolCallIds"][number]}

    def restored(self, call_id: str | None) -> set[str]:
        """Return the files that updates said were restored to before a call."""
        return {
            one["location"]["path"]
            for one in self.editor.shown.updates
            if one["sessionUpdate"] == "review_update"
            and (one["decision"], one["toolCallId"]) == ("restore", call_id)
        }

    def texts(self) -> dict[str, str]:
        """Return what the user has: the buffer, and the other files on disk."""
        folder = self.editor.path_of(self.uri).parent
        found = {one.name: one.read_text() for one in folder.iterdir()}
        return found | {"a.py": self.editor.buffers[self.uri].text}


Told = list[tuple[str, str, str | None]]
"""Of each file: its name, what became of it, and what the restore does to it."""


@dataclass
class Row:
    """A story: what is there, what is restored, and what is told."""

    moment: Callable[[Panel], dict[str, str]]
    told: Told | str
    """The files in the answer, or what the error says."""
    a_py: str
    has_new: bool = False
    meanwhile: Callable[[Panel], Awaitable[Any]] | None = None
    """What happens between the agent's turn and the restore."""


def _of_turn(panel: Panel) -> dict[str, str]:
    return {"turnId": panel.turns[0]["turnId"]}


_WHOLE: Told = [("a.py", "done", "change"), ("new.py", "done", "delete")]
ROWS = {
    "known": Row(lambda one: one.call(0, 1), _WHOLE, _TEXT.replace("two", "2")),
    "last_call": Row(lambda one: one.call(0, 2), [("new.py", "done", "delete")], _AFTER),
    "whole_turn": Row(_of_turn, _WHOLE, _TEXT),
    "unknown_call": Row(
        lambda one: {**_of_turn(one), "toolCallId": "cal_unknown"},
        "no call cal_unknown",
        _AFTER,
        has_new=True,
    ),
    "unknown_turn": Row(
        lambda _: {"turnId": "trn_9"}, "known of a turn trn_9", _AFTER, has_new=True
    ),
    "no_turn": Row(lambda _: {}, "Name the turn", _AFTER, has_new=True),
    "call_of_a_later_turn": Row(
        lambda one: {**one.call(1, 0), **_of_turn(one)},
        "no call",
        _AFTER.replace("five", "5"),
        has_new=True,
        meanwhile=lambda one: one.prompt("Second"),
    ),
    "call_of_an_earlier_turn": Row(
        lambda one: {**one.call(0, 1), "turnId": one.turns[1]["turnId"]},
        "no call",
        _AFTER.replace("five", "5"),
        has_new=True,
        meanwhile=lambda one: one.prompt("Second"),
    ),
    "a_later_turn_goes_too": Row(
        lambda one: one.call(0, 1),
        _WHOLE,
        _TEXT.replace("two", "2"),
        meanwhile=lambda one: one.prompt("Second"),
    ),
    "typing_in_between": Row(
        lambda one: one.call(0, 1),
        _WHOLE,
        _TEXT.replace("two", "2").replace("five", "five, mine"),
        meanwhile=lambda one: one.type("five", "five, mine"),
    ),
    "undone_already": Row(
        lambda one: one.call(0, 1),
        [],
        _TEXT.replace("two", "2"),
        meanwhile=lambda one: one.decide("undo", hunkIds=one.hunks("eight", "")),
    ),
    "undone_what_came_before_it": Row(
        lambda one: one.call(0, 1),
        [],
        _TEXT,
        meanwhile=lambda one: one.decide("undo"),
    ),
    "restored_already": Row(
        lambda one: one.call(0, 1),
        [],
        _TEXT.replace("two", "2"),
        meanwhile=lambda one: one.decide("restore", **one.call(0, 1)),
    ),
    "conflict": Row(
        lambda one: one.call(0, 1),
        [("a.py", "conflict", None), ("new.py", "done", "delete")],
        _AFTER.replace("8\n", "8, mine\n"),
        meanwhile=lambda one: one.type("8\n", "8, mine\n"),
    ),
}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def editor(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ClientEditor]:
    """One editor with our panel; edits need no answer."""
    folder: Path = tmp_path_factory.mktemp("restore")
    archive = Archive("", {"steps": "", "settings": 'mode = "accept-edits"\n'})
    # Only the rows that were chosen ask for their answers.
    async with scripted(_scenario(), is_strict=False) as model:
        teller = Storyteller(Story("restore", archive, (), {}), "panel", folder, model)
        teller.prepare()
        await teller.start()
        yield teller.editor
        assert await teller.editor.stop() == 0
        assert model.problems == []
        assert "Traceback" not in teller.log.read_text()


async def check(panel: Panel, row: Row, **more: Any) -> list[dict[str, Any]]:
    """Restore, and prove what is told."""
    if isinstance(row.told, str):
        with pytest.raises(ServerError, match=row.told):
            await panel.decide("restore", **row.moment(panel), **more)
        return []
    files = await panel.decide("restore", **row.moment(panel), **more)
    told = [
        (one["location"]["path"].removeprefix(f"{panel.name}/"), one["status"], one["edit"])
        for one in files
    ]
    assert sorted(told) == row.told
    for one in files:
        assert bool(one["reason"]) == (one["status"] != "done")
    return files


@pytest.mark.parametrize("name", ROWS)
async def test_files_are_restored_by_message_and_a_dry_run_tells_it_before(
    editor: ClientEditor, name: str
) -> None:
    row, panel = ROWS[name], Panel(editor, name)
    await panel.begin()
    await panel.prompt("First")
    if row.meanwhile is not None:
        await row.meanwhile(panel)
    before = panel.texts()
    foreseen = await check(panel, row, dryRun=True)
    assert panel.texts() == before
    files = await check(panel, row)
    assert panel.texts() == {"a.py": row.a_py} | ({"new.py": "n = 1\n"} if row.has_new else {})
    for one in (*foreseen, *files):
        if one["status"] == "conflict":
            assert one["conflict"] == {"now": row.a_py, "wanted": _TEXT.replace("two", "2")}
    # Every file that went back is told to whoever follows the session, with the moment.
    done = {one["location"]["path"] for one in files if one["status"] == "done"}
    call_id = row.moment(panel).get("toolCallId")
    await editor.until(lambda: done <= panel.restored(call_id) or None, 60, "the updates")


async def test_only_a_restore_is_tried_without_doing_it(editor: ClientEditor) -> None:
    with pytest.raises(ServerError, match="Only a restore"):
        await editor.request("agent/review/decide", {"decision": "undo", "dryRun": True})


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def refusing(editor: ClientEditor) -> Panel:
    """One session with a turn that changed files, which no row may change."""
    panel = Panel(editor, _REFUSING)
    await panel.begin()
    await panel.prompt("First")
    return panel


Argument = Callable[[Panel], Any]


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        pytest.param(lambda _: {"line": 4}, "line is not understood here", id="a-line"),
        pytest.param(
            lambda one: {**_of_turn(one), "line": 4, "lastLine": 5},
            "line, lastLine is not understood here",
            id="lines-of-a-turn",
        ),
        pytest.param(
            lambda one: {**_of_turn(one), "uri": one.uri},
            "uri is not understood here: a restore is about all files",
            id="a-file-of-a-turn",
        ),
        pytest.param(lambda one: one.uri, "uri is not understood here", id="a-file"),
        pytest.param(
            lambda one: {"hunkIds": one.hunks("two"), **_of_turn(one)},
            "turnId is not understood here: hunkIds says which moment",
            id="a-change-and-a-turn",
        ),
        pytest.param(
            lambda one: {"hunkIds": one.hunks("two"), "callId": "cal_1"},
            "callId is not understood here",
            id="a-change-and-a-call",
        ),
        pytest.param(lambda _: {"hunkIds": []}, "hunkIds: must not be empty", id="no-change"),
        pytest.param(
            lambda one: {"hunkIds": one.hunks("two", "eight")}, "one of hunkIds", id="two-changes"
        ),
        pytest.param(lambda _: {"hunkIds": ["9.9"]}, "no such change", id="an-unknown-change"),
        pytest.param(
            lambda one: {"hunkIds": one.hunks("two"), "sessionId": "ses_9"},
            "No changes are known of a session ses_9",
            id="a-change-of-another-session",
        ),
        pytest.param(lambda _: "trn_9", "known of a turn trn_9", id="an-unknown-turn"),
        pytest.param(
            lambda one: {**_of_turn(one), "sessionId": "ses_9"},
            "No changes are known of a session ses_9",
            id="a-turn-of-another-session",
        ),
        pytest.param(
            lambda one: {**_of_turn(one), "callId": "cal_9"}, "no call cal_9", id="an-unknown-call"
        ),
        pytest.param(lambda _: {"callId": "cal_9"}, "without turnId", id="a-call-alone"),
        pytest.param(
            lambda one: {"sessionId": one.session}, "needs a turn's id", id="a-session-alone"
        ),
        pytest.param(lambda _: {"turn": "trn_1"}, "not understood.*turn", id="an-unknown-key"),
        pytest.param(lambda _: {"turnId": 3}, "not understood.*turnId", id="no-text"),
        pytest.param(lambda _: {"hunkIds": "9.9"}, "not understood.*hunkIds", id="no-list"),
        pytest.param(lambda _: ["trn_9"], "must be a table", id="a-list"),
        pytest.param(lambda _: 4, "must be a table", id="a-number"),
        pytest.param(lambda _: False, "must be a table", id="a-yes-or-no"),
    ],
)
async def test_the_command_restores_nothing_where_it_would_leave_something_unheard(
    refusing: Panel, argument: Argument, words: str
) -> None:
    with pytest.raises(ServerError, match=words):
        await refusing.editor.execute("agent-ls.restore", argument(refusing))
    assert refusing.texts() == {"a.py": _AFTER, "new.py": "n = 1\n"}


async def test_a_turn_of_two_sessions_is_not_restored_before_one_is_named(
    editor: ClientEditor,
) -> None:
    """A branch has the turns of its source, under the same ids and with the same calls."""
    panel = Panel(editor, _BRANCHED)
    await panel.begin()
    await panel.prompt("First")
    branch = (await editor.execute("agent-ls.session.fork", panel.session))["sessionId"]
    turn, call = _of_turn(panel), panel.call(0, 1)
    # A list of all sessions has such a turn once, of the one used last.
    for of, told in ({}, branch), ({"sessionId": panel.session}, panel.session):
        listed = (await editor.request("agent/review/list", of))["turns"]
        assert [one["sessionId"] for one in listed if one["turnId"] == turn["turnId"]] == [told]
    asked: list[tuple[str, dict[str, Any]]] = [
        *(("agent/review/decide", {"decision": "restore", **one}) for one in (turn, call)),
        ("agent/review/diff", {**turn, "path": f"{_BRANCHED}/a.py"}),
    ]
    commands = [
        ("agent-ls.restore", turn),
        ("agent-ls.restore", {**turn, "callId": call["toolCallId"]}),
        ("agent-ls.review.diff", turn),
    ]
    asked += [
        ("workspace/executeCommand", {"command": name, "arguments": [argument]})
        for name, argument in commands
    ]
    for method, params in asked:
        with pytest.raises(ServerError) as caught:
            await editor.request(method, params)
        for words in ("More than one session has a turn", "sessionId", panel.session, branch):
            assert words in str(caught.value), (method, params)
    assert panel.texts() == {"a.py": _AFTER, "new.py": "n = 1\n"}
    for session in (panel.session, branch):
        named = {"sessionId": session, **turn, "path": f"{_BRANCHED}/a.py"}
        sides = await editor.request("agent/review/diff", named)
        assert (sides["before"], sides["after"]) == (_TEXT, _AFTER)
    argument = {"sessionId": branch, **turn}
    assert "+8" in await editor.execute("agent-ls.review.diff", argument)
    files = await editor.request("agent/review/decide", {"decision": "restore", **argument})
    assert [one["status"] for one in files["files"]] == ["done", "done"]
    assert panel.texts() == {"a.py": _TEXT}
    assert await editor.execute("agent-ls.restore", {"sessionId": panel.session, **turn}) is True
