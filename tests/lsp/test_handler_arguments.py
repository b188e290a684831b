"""No command and no request means more than was said: what is not understood changes nothing.

One real server for all rows, with two sessions whose changes have the same ids, one of which waits
for a permission. Each row is refused, and leaves every journal, file and folder as it was.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agent_ls.lsp import wire
from agent_ls.lsp.handlers.verbs import VERBS
from agent_ls.lsp.server import COMMANDS
from agent_ls.providers.scripted import ScriptedModel
from agent_ls.store.sql_store import open_store
from tests.support.archive import Archive
from tests.support.client_editors import ClientEditor
from tests.support.lsp_connection import ServerError
from tests.support.markers import Story
from tests.support.scripted import scripted
from tests.support.storyteller import Storyteller

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.e2e]

_SCENARIO = """
[[answer]]
when = { first = "Change b." }
[[answer.call]]
tool = "write_file"
arguments = { path = "b.py", content = "b = 2" }
[[answer]]
when = { first = "Change b." }
text = "Done."

[[answer]]
when = { first = "Ask too." }
[[answer.call]]
tool = "run_command"
arguments = { command = "touch later" }

[[answer]]
when = { first = "Change a." }
[[answer.call]]
tool = "write_file"
arguments = { path = "a.py", content = "a = 2" }
[[answer]]
when = { first = "Change a." }
[[answer.call]]
tool = "run_command"
arguments = { command = "touch made" }
[[answer]]
when = { first = "Change a." }
text = "As you say."
"""


@dataclass
class Stage:
    """The user's editor, and what rows speak of."""

    editor: ClientEditor
    model: ScriptedModel
    folder: Path
    ids: dict[str, str]

    def fill(self, value: Any) -> Any:
        """Return a row's value with the ids that only the stage knows: ``<session>``."""
        match value:
            case str():
                return self.ids.get(value, value)
            case list():
                return [self.fill(one) for one in value]  # pyright: ignore[reportUnknownVariableType]
            case dict():
                return {key: self.fill(one) for key, one in value.items()}  # pyright: ignore[reportUnknownVariableType]
            case _:
                return value

    async def everything(self) -> dict[str, object]:
        """Return what a command could have changed."""
        store = open_store(str(self.folder / "data/agent-ls/store.db"))
        sessions = await store.sessions()
        journals = {one.session_id: await store.load(one.session_id) for one in sessions}
        await store.close()
        trusted = self.folder / "data/agent-ls/trusted.json"
        return {
            "journals": {name: [one.seq for one in events] for name, events in journals.items()},
            "files": {one.name: one.read_bytes() for one in self.editor.root.iterdir()},
            "buffers": {uri: one.text for uri, one in self.editor.buffers.items()},
            "trusted": trusted.read_text() if trusted.exists() else "",
            "requests": len(self.model.requests),
            "opened": list(self.editor.opened),
        }

    async def refuses(self, method: str, params: Any) -> str:
        """Return the words with which something is refused that must change nothing."""
        before = await self.everything()
        with pytest.raises(ServerError) as caught:
            await self.editor.request(method, self.fill(params))
        assert await self.everything() == before
        words = str(caught.value)
        assert "agent-ls failed in" not in words
        return words


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """Two sessions with a change each, of which the current one asks before a command."""
    folder: Path = tmp_path_factory.mktemp("arguments")
    texts = {"file o.py": "", "file a.py": "a = 1", "file b.py": "b = 1"}
    files = {"steps": "", "settings": 'mode = "accept-edits"\n', **texts}
    # What only one test asks for may be asked by another worker.
    async with scripted(_SCENARIO, is_strict=False) as model:
        story = Story("arguments", Archive("", files), (), {})
        teller = Storyteller(story, "panel", folder, model)
        teller.prepare()
        await teller.start()
        editor = teller.editor
        await editor.open("o.py")
        older = (await editor.execute("agent-ls.prompt", "Change b."))["sessionId"]
        await teller.step_wait("end", "completed")
        session = (await editor.execute("agent-ls.session.new"))["sessionId"]
        turn = (await editor.execute("agent-ls.prompt", "Change a."))["turnId"]
        approval = await editor.until(lambda: _asked(editor), 60, "a permission request")
        turns = (await editor.request("agent/review/list", {}))["turns"]
        hunks = [file["hunks"][0]["hunkId"] for one in turns for file in one["files"]]
        # Ids of changes are numbers in a journal, so two sessions often have the same.
        assert len(hunks) == 2
        assert len(set(hunks)) == 1
        ids = {
            "<session>": session,
            "<older>": older,
            "<turn>": turn,
            "<hunk>": hunks[0],
            "<approval>": approval,
            "<a.py>": editor.uri("a.py"),
        }
        yield Stage(editor, model, folder, ids)
        assert await editor.stop() == 0
        assert model.problems == []
        assert "Traceback" not in teller.log.read_text()


def _asked(editor: ClientEditor, number: int = 0) -> str | None:
    asked = [one for one in editor.shown.updates if one["sessionUpdate"] == "permission_request"]
    return asked[number]["approvalId"] if len(asked) > number else None


# What no command takes, but for those that take words or a place.

_WRONG: dict[str, Any] = {
    "a number": 5,
    "yes": True,
    "no": False,
    "a list": [],
    "a list of one": ["<a.py>"],
    "an unknown key": {"bogus": 1},
    "nothing in words": "",
    "half a character": "\ud800",
    "an unknown id": "ses_nope",
}
_WORDS = {"an unknown id"}
"""What is words to those that take them."""
_TAKES = {
    "agent-ls.prompt": _WORDS,
    "agent-ls.steer": _WORDS,
    "agent-ls.model": _WORDS,
    # Nothing is what the setting says.
    "agent-ls.effort": {"an unknown id", "nothing in words"},
    # Nobody asks: the words find nothing to answer.
    "agent-ls.question.resolve": _WORDS,
    # From a place that is not there it goes to the first one.
    "agent-ls.review.next": _WORDS,
    "agent-ls.review.previous": _WORDS,
}


_TAKEN_BY_NONE = [
    pytest.param(command, value, id=f"{command.removeprefix('agent-ls.')}-{name}")
    for command in COMMANDS
    for name, value in _WRONG.items()
    if name not in _TAKES.get(command, ())
]


@pytest.mark.parametrize(("command", "argument"), _TAKEN_BY_NONE)
async def test_no_command_takes_what_it_does_not_understand(
    stage: Stage, command: str, argument: Any
) -> None:
    params = {"command": command, "arguments": [argument]}
    await stage.refuses("workspace/executeCommand", params)


_COMMANDS: list[tuple[str, list[Any], str]] = [
    ("review.undo", [{"hunkIds": ["<hunk>"]}], "More than one session has a change"),
    ("review.keep", [{"hunkIds": ["<hunk>"]}], "say with sessionId which is meant"),
    ("restore", [{"hunkIds": ["<hunk>"]}], "More than one session has a change"),
    ("review.undo", [{"hunkIds": ["<hunk>", "9"], "sessionId": "<session>"}], "no such change"),
    ("review.undo", [{"turnId": "<turn>", "sessionId": "<older>"}], "known of a turn"),
    ("review.undo", [{"turnId": "<turn>", "hunkIds": ["9"]}], "no such change any more: 9"),
    ("review.undo", [{"uri": "<a.py>", "sessionId": "ses_9"}], "known of a session ses_9"),
    ("review.undo", [{"uri": "http://x/a.py"}], "is no file of the open folders"),
    ("review.undo", [{"uri": "file:///elsewhere/a.py"}], "is no file of the open folders"),
    ("review.undo", [{"uri": "<a.py>", "line": "0"}], "line: must be a whole number"),
    ("review.undo", [{"uri": "<a.py>", "line": True}], "line: must be a whole number"),
    ("review.diff", [{"uri": "file:///elsewhere/a.py"}], "is no file of the open folders"),
    ("review.diff", [{"sessionId": "ses_9"}], "known of a session ses_9"),
    ("review.diff", [{"turnId": "trn_9"}], "known of a turn trn_9"),
    ("review.diff", [{"turnId": "<turn>", "sessionId": "<older>"}], "known of a turn"),
    ("review.diff", [{"hunkIds": ["<hunk>"]}], "hunkIds is not understood here"),
    ("review.diff", [{"uri": "<a.py>", "line": 0}], "line is not understood here"),
    ("review.next", [{"hunkIds": ["<hunk>"]}], "hunkIds is not understood here"),
    ("review.previous", [{"turnId": "<turn>"}], "turnId is not understood here"),
    ("approval.resolve", ["", "allow_once"], "approvalId: must not be empty"),
    ("approval.resolve", ["apr_9", "allow_once"], "no permission request apr_9 in the open"),
    ("approval.resolve", ["<approval>", "nope"], "choice: must be 'allow_once', "),
    ("approval.resolve", ["<approval>", "amend"], "give its changed arguments"),
    ("approval.resolve", ["<approval>", "cancelled"], "not offered here, only allow_once, "),
    (
        "approval.resolve",
        [{"approvalId": "<approval>", "choice": "allow_once", "argumentsJson": "{}"}],
        "Only amend changes",
    ),
    ("approval.resolve", [{"choice": "allow_once", "sessionId": "ses_9"}], "not open here"),
    ("approval.resolve", [], "needs an id and a choice. Waiting: apr_"),
    ("approval.resolve", [None], "needs an id and a choice. Waiting: apr_"),
    ("approval.resolve", ["allow_once"], "needs an id and a choice. Waiting: apr_"),
    ("approval.resolve", [None, "allow_once"], "needs an id and a choice. Waiting: apr_"),
    ("approval.resolve", [{"choice": "allow_once"}], "needs an id and a choice. Waiting: apr_"),
    ("approval.resolve", [{"approvalId": "<approval>"}], "needs an id and a choice"),
    ("approval.resolve", ["<approval>"], "needs an id and a choice"),
    (
        "approval.resolve",
        [{"approvalId": "<approval>", "choice": "allow_once", "sessionId": "<older>"}],
        "no permission request",
    ),
    ("approval.show", ["apr_9"], "no permission request apr_9"),
    ("question.resolve", ["qst_9", "red"], "no question qst_9"),
    ("question.resolve", ["<approval>", "red"], "no question apr_"),
    ("question.resolve", ["", "red"], "questionId: must not be empty"),
    ("question.resolve", [], "text: is missing"),
    ("edit.discard", ["edit-1"], "No edit edit-1 was offered"),
    ("edit.discard", [], "edit: is missing"),
    ("nudge.continue", ["ses_9"], "not open here"),
    ("nudge.continue", [], "sessionId: is missing"),
    ("nudge.leave", [], "sessionId: is missing"),
    ("nudge.silence", [], "sessionId: is missing"),
    ("nudge.leave", [{"sessionId": "ses_9"}], "not open here"),
    ("finding.hide", [], "sessionId: is missing"),
    (
        "finding.hide",
        [{"sessionId": "ses_9", "uri": "file:///a.py", "line": 0, "message": "m"}],
        "not shown here",
    ),
    ("stop", ["ses_9"], "not open here"),
    ("finish", ["ses_9"], "not open here"),
    ("session.fork", ["<older>", 0], "greater than or equal to 1"),
    ("session.fork", ["<older>", True], "must be"),
    ("session.fork", ["<older>", []], "turn: must be a whole number, or must be text"),
    ("session.fork", ["<older>", "trn_9"], "trn_9"),
    ("session.resume", ["ses_9"], "ses_9"),
    ("trust", ["/nowhere/at/all"], "needs a folder that is there"),
    ("trust", ["relative"], "needs a folder that is there"),
    ("trust", [{"uri": "file:///tmp"}], "uri: is not known"),
    ("mode", ["careless"], "mode: must be 'plan', 'ask-all', 'ask', "),
    ("model", ["  "], "model: must not be empty"),
    ("prompt", [{"text": "Do it.", "session": "<older>"}], "session: is not known"),
    ("prompt", [{"text": "Do it.", "anchor": {"line": 3}}], "anchor.uri: is missing"),
    ("prompt", [{"text": "Do it.", "anchor": {"uri": "<a.py>", "line": -1}}], "greater than or"),
    ("prompt", [{"text": "x", "anchor": {"uri": "u", "line": 2, "lastLine": 1}}], "before line"),
    ("prompt", [], "the prompt is empty"),
    ("steer", ["  "], "text: must not be empty"),
    ("question.resolve", ["  "], "text: must not be empty"),
]


@pytest.mark.parametrize(("command", "arguments", "words"), _COMMANDS)
async def test_a_command_says_what_it_does_not_understand(
    stage: Stage, command: str, arguments: list[Any], words: str
) -> None:
    params = {"command": f"agent-ls.{command}", "arguments": arguments}
    said = await stage.refuses("workspace/executeCommand", params)
    assert re.search(words, said), said


# Requests of a client with our panel.

_EVERY: dict[str, Any] = {
    "a session that is not open": {"sessionId": "ses_nope"},
    "no name": {"sessionId": ""},
    "a number for a name": {"sessionId": 5},
    "half a character": {"sessionId": "\ud800"},
}
_NEEDS: dict[str, dict[str, Any]] = {
    "agent/prompt": {"text": "Do it."},
    "agent/steer": {"text": "Do it."},
    "agent/approval/resolve": {"choice": "allow_once"},
    "agent/question/resolve": {"text": "red"},
    "agent/review/decide": {"decision": "undo"},
    "agent/review/diff": {"turnId": "<turn>", "path": "a.py"},
    "agent/sessions/resume": {"sessionId": "<older>"},
    "agent/sessions/rename": {"sessionId": "<older>", "title": "Other"},
    "agent/sessions/archive": {"sessionId": "<older>"},
    "agent/sessions/delete": {"sessionId": "<older>"},
    "agent/sessions/export": {"sessionId": "<older>"},
}
_WITH_A_SESSION = [
    one.method for one in VERBS if one.method and "session_id" in one.params.model_fields
]
_DECIDING = [one.method for one in VERBS if one.method and issubclass(one.params, wire.Deciding)]


@pytest.mark.parametrize("method", _WITH_A_SESSION)
@pytest.mark.parametrize("name", _EVERY)
async def test_no_request_takes_another_session_for_the_current_one(
    stage: Stage, method: str, name: str
) -> None:
    await stage.refuses(method, {**_NEEDS.get(method, {}), **_EVERY[name]})


@pytest.mark.parametrize("method", _DECIDING)
async def test_no_request_that_decides_leaves_a_key_unheard(stage: Stage, method: str) -> None:
    said = await stage.refuses(method, {**_NEEDS.get(method, {}), "bogus": 1})
    assert "bogus: is not known" in said


_REQUESTS: list[tuple[str, dict[str, Any], str]] = [
    ("prompt", {"text": " "}, "the prompt is empty"),
    ("prompt", {"text": "\ud800"}, "text"),
    ("prompt", {"text": "Do it.", "anchor": {"uri": "<a.py>", "line": True}}, "anchor.line"),
    ("prompt", {"text": "Do it.", "outputSchema": {"type": "nope"}}, "outputSchema"),
    ("prompt", {"text": "", "goal": {"nope": 1}}, "goal"),
    ("steer", {"text": " "}, "text: must not be empty"),
    ("sessions/new", {"model": " "}, "model"),
    ("sessions/new", {"mode": "careless"}, "mode"),
    ("sessions/resume", {"sessionId": "<older>", "continueTurn": "no"}, "continueTurn"),
    ("sessions/list", {"query": 5}, "query"),
    ("sessions/list", {"everywhere": "yes"}, "everywhere"),
    ("sessions/rename", {"sessionId": "<older>", "title": " "}, "title: must not be empty"),
    ("sessions/rename", {"title": "Other"}, "sessionId: is missing"),
    ("sessions/archive", {"sessionId": "<older>", "isArchived": "yes"}, "isArchived"),
    ("sessions/delete", {}, "sessionId: is missing"),
    ("sessions/delete", {"sessionId": "<session>"}, "works right now; stop it, then delete it"),
    ("sessions/fork", {"sessionId": "<older>", "turn": 0}, "greater than or equal to 1"),
    ("approval/resolve", {"choice": "allow_once", "approvalId": ""}, "approvalId"),
    ("approval/resolve", {"choice": "allow_once", "approvalId": "apr_9"}, "no permission"),
    ("approval/resolve", {"choice": "allow_once"}, "needs an id and a choice. Waiting: apr_"),
    ("approval/resolve", {"approvalId": "<approval>", "choice": "amend"}, "its changed arguments"),
    ("approval/resolve", {"choice": "reject_once", "note": "\ud800"}, "note"),
    ("question/resolve", {"text": "red", "questionId": "qst_9"}, "no question qst_9"),
    ("question/resolve", {"text": "red", "questionId": "<approval>"}, "no question apr_"),
    ("question/resolve", {"text": "red", "questionId": ""}, "questionId"),
    ("question/resolve", {"text": "\ud800"}, "text: .*half a character"),
    ("config", {"model": ""}, "model: must not be empty"),
    ("config", {"model": "\ud800"}, "model"),
    ("config", {"silence": ""}, "silence"),
    ("config", {"silence": "nope"}, "no policy nope, only .*incomplete_action"),
    ("config", {"mode": "careless"}, "mode"),
    ("config", {"mode": "auto", "silence": "nope"}, "no policy nope"),
    ("review/list", {"withText": "yes"}, "withText"),
    ("review/diff", {"turnId": "trn_9", "path": "a.py"}, "turn trn_9"),
    ("review/diff", {"turnId": "<turn>", "path": "b.py"}, "changed no b.py"),
    ("review/decide", {"decision": "undo", "turnId": "trn_9"}, "known of a turn trn_9"),
    ("review/decide", {"decision": "undo", "path": "nope.py"}, "changed no nope.py there"),
    ("review/decide", {"decision": "undo", "path": ""}, "path"),
    ("review/decide", {"decision": "undo", "hunkIds": []}, "hunkIds: must not be empty"),
    ("review/decide", {"decision": "undo", "hunkIds": ["9"]}, "no such change any more: 9"),
    ("review/decide", {"decision": "undo", "hunkIds": ["<hunk>"]}, "More than one session"),
    ("review/decide", {"decision": "undo", "toolCallId": "call_9"}, "Only a restore"),
    ("review/decide", {"decision": "undo", "dryRun": True}, "Only a restore"),
    ("review/decide", {"decision": "restore", "turnId": "<turn>", "dryRun": "no"}, "dryRun"),
    ("review/decide", {"decision": "restore", "turnId": "<turn>", "path": "a.py"}, "all files"),
    (
        "review/decide",
        {"decision": "restore", "turnId": "<turn>", "hunkIds": ["<hunk>"]},
        "all files",
    ),
]


@pytest.mark.parametrize(("method", "params", "words"), _REQUESTS)
async def test_a_request_says_what_it_does_not_understand(
    stage: Stage, method: str, params: dict[str, Any], words: str
) -> None:
    said = await stage.refuses(f"agent/{method}", params)
    assert re.search(words, said), said


async def test_what_is_refused_begins_no_session(tmp_path: Path) -> None:
    """In a server to which nothing was said yet, where the current session is made on first use."""
    asked: list[tuple[str, dict[str, Any]]] = [
        ("workspace/executeCommand", {"command": command, "arguments": [value]})
        for command, value in (row.values for row in _TAKEN_BY_NONE)
    ]
    asked += [
        ("workspace/executeCommand", {"command": f"agent-ls.{command}", "arguments": arguments})
        for command, arguments, _ in _COMMANDS
    ]
    asked += [(f"agent/{method}", params) for method, params, _ in _REQUESTS]
    asked += [
        ("workspace/executeCommand", {"command": "agent-ls.session.fork", "arguments": arguments})
        for arguments in ([], [None, 1], [None, "trn_9"])
    ]
    story = Story("nothing", Archive("", {"steps": "", "file a.py": "a = 1"}), (), {})
    async with ScriptedModel("") as model:
        teller = Storyteller(story, "panel", tmp_path, model)
        teller.prepare()
        await teller.start()
        store = open_store(str(tmp_path / "data/agent-ls/store.db"))
        for method, params in asked:
            # Some of it is no error here: where nothing waits, nothing is answered.
            with contextlib.suppress(ServerError):
                await teller.editor.request(method, params)
            assert await store.sessions() == [], (method, params)
        await store.close()
        assert await teller.editor.stop() == 0


async def test_the_permission_that_is_named_is_shown(stage: Stage) -> None:
    editor = stage.editor
    other = (await editor.execute("agent-ls.session.new"))["sessionId"]
    await editor.execute("agent-ls.prompt", "Ask too.")
    later = await editor.until(lambda: _asked(editor, 1), 60, "another permission request")
    for named, command in ((later, "later"), (stage.ids["<approval>"], "made"), (None, "made")):
        assert await editor.execute("agent-ls.approval.show", named) is True
        assert f"touch {command}" in str(editor.shown.messages[-1]), named
    assert await editor.execute("agent-ls.stop", other) is True


async def test_what_is_said_wholly_is_done(stage: Stage) -> None:
    """The rows above are refused for what is wrong with them: this is after them, and is not."""
    editor = stage.editor
    params = {"decision": "undo", "hunkIds": ["<hunk>"], "sessionId": "<older>"}
    done = await editor.request("agent/review/decide", stage.fill(params))
    assert [(one["location"]["path"], one["status"]) for one in done["files"]] == [("b.py", "done")]
    argument = stage.fill({"hunkIds": ["<hunk>"], "sessionId": "<session>"})
    assert await editor.execute("agent-ls.review.keep", argument) == {"changes": 1}
    assert await editor.execute("agent-ls.approval.show") is True
    asked = stage.fill(["<approval>", "reject_once"])
    assert await editor.execute("agent-ls.approval.resolve", *asked) is True
    assert await editor.execute("agent-ls.stop", stage.ids["<session>"]) in (True, False)
    # Now it is known, and settled.
    assert await editor.execute("agent-ls.approval.resolve", *asked) is False
