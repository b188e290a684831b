"""What a user allowed is what is done: not another change, because a file moved on meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.domain.approvals import ApprovalChoice, ApprovalRequest
from agent_ls.domain.calls import ToolCall
from agent_ls.domain.events import (
    Answered,
    ApprovalRequested,
    EditIntended,
    Ephemeral,
    PlanResolved,
    StoredEvent,
    ToolCallFinished,
)
from agent_ls.domain.messages import AssistantMessage
from agent_ls.loop.calls.plans import digest, is_as_approved
from agent_ls.loop.extension_points import PlannedCall, ToolOutput
from agent_ls.loop.ports.workspace import Root
from agent_ls.tools.edit_file import EditFile, EditFileArguments
from agent_ls.workspace.disk import DiskWorkspace
from tests.loop.conftest import Stage
from tests.policies.views import view_of
from tests.support.turns import run_turn_of

_BEFORE = "a = 1\n\n\n\n\n\nlimit = 1\n"
_SCENARIO = """
[[answer]]
[[answer.call]]
tool = "edit_file"
arguments = { path = "a.py", edits = [{ old_string = "limit = 1", new_string = "limit = 2" }] }

[[answer]]
text = "Done."
"""


class WritesBeside:
    """Writes the file when the journal says for the first time that it is about to be changed."""

    def __init__(self, file: Path, text: str) -> None:
        self._file, self._text = file, text
        self.results: list[str] = []

    def on_event(self, stored: StoredEvent) -> None:
        match stored.event:
            case EditIntended() if self._text:
                self._file.write_text(self._text)
                self._text = ""
            case ToolCallFinished(result=result):
                self.results.append(result.text)
            case _:
                pass

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        """Nothing to see."""


async def check(folder: Path, stage: Stage, answer: str, beside: str) -> tuple[str, str]:
    """Let the user answer and the file change right after it; return the text and the result."""
    folder.mkdir()
    file = folder / "a.py"
    file.write_text(_BEFORE)
    async with stage.opened(folder, _SCENARIO, settings_toml="mode = 'ask'") as sessions:
        session = await sessions.create()
        writer = WritesBeside(file, beside)
        session.follow(writer)
        await run_turn_of(session, "Raise the limit.", [answer])
    [result] = writer.results
    return file.read_text(), result


@pytest.mark.parametrize(
    ("answer", "beside", "after", "words"),
    [
        pytest.param(
            "allow_once",
            "if prod:\n    limit = 1\n",
            "if prod:\n    limit = 1\n",
            "after the user had approved this edit",
            id="another-change-is-not-made",
        ),
        pytest.param(
            "allow_once",
            _BEFORE.replace("a = 1", "a = 3"),
            _BEFORE.replace("a = 1", "a = 3").replace("limit = 1", "limit = 2"),
            "Edited a.py",
            id="the-same-change-elsewhere-is",
        ),
        pytest.param(
            "allow_session",
            "if prod:\n    limit = 1\n",
            "if prod:\n    limit = 1\n",
            "after the user had approved this edit",
            id="a-yes-to-all-edits-is-for-this-change-first",
        ),
    ],
)
@pytest.mark.asyncio(loop_scope="session")
async def test_a_yes_is_for_the_change_that_was_shown(
    tmp_path: Path, stage: Stage, answer: str, beside: str, after: str, words: str
) -> None:
    text, result = await check(tmp_path / "project", stage, answer, beside)
    assert text == after
    assert words in result


async def test_nobody_is_asked_about_a_step_of_a_plan_that_cannot_work_any_more(
    tmp_path: Path,
) -> None:
    tool = EditFile(DiskWorkspace([Root("proj", tmp_path.resolve(), True)]))
    arguments = tool.Arguments.model_validate(
        {"path": "gone.py", "edits": [{"old_string": "a", "new_string": "b"}]}
    )
    call = ToolCall(
        id="cal_1", provider_id="p", tool="edit_file", arguments_json=arguments.model_dump_json()
    )
    answered = Answered(step_id="stp_1", message=AssistantMessage(calls=(call,)))
    resolved = PlanResolved(plan_id="trn_1", approved=("cal_1",), digests=("0" * 64,))
    assert await is_as_approved(PlannedCall(call, tool, arguments), view_of(answered, resolved))


@pytest.mark.parametrize(
    ("before", "now", "old", "new", "line", "is_same"),
    [
        pytest.param("x\ny\n", "#\nx\ny\n", "x", "z", None, True, id="typed-above"),
        pytest.param("x\r\ny\r\n", "#\r\nx\r\ny\r\n", "x", "z", None, True, id="crlf"),
        pytest.param("x = 1\n", "x = 1 #\n", "x = 1", "z = 1", None, False, id="typed-in-the-line"),
        pytest.param("x\n", "if y:\n    x\n", "x", "z", None, False, id="indented-meanwhile"),
        pytest.param(
            "a\nx\nb\nx\nc\n", "#\n#\na\nx\nb\nx\nc\n", "x", "z", 4, False, id="the-other-one-now"
        ),
    ],
)
async def test_a_yes_covers_the_same_lines_wherever_they_stand(
    tmp_path: Path, before: str, now: str, old: str, new: str, line: int | None, is_same: bool
) -> None:
    tool = EditFile(DiskWorkspace([Root("proj", tmp_path.resolve(), True)]))
    arguments = tool.Arguments.model_validate(
        {"path": "a.py", "edits": [{"old_string": old, "new_string": new, "line": line}]}
    )
    call = ToolCall(
        id="cal_1", provider_id="p", tool="edit_file", arguments_json=arguments.model_dump_json()
    )
    planned = PlannedCall(call, tool, arguments)
    digests: list[str] = []
    for text in (before, now):
        (tmp_path / "a.py").write_bytes(text.encode())
        digests.append(digest(planned, await tool.preview(arguments)))
    assert (digests[0] == digests[1]) is is_same


class ChangesOnceAsked:
    """Writes a file when the user is first asked, and counts what is asked."""

    def __init__(self, file: Path, text: str | None) -> None:
        self._file, self._text = file, text
        self.requests: list[ApprovalRequest] = []

    def on_event(self, stored: StoredEvent) -> None:
        if not isinstance(stored.event, ApprovalRequested):
            return
        if self._text is not None and not self.requests:
            self._file.write_text(self._text)
        self.requests.append(stored.event.request)

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        """Nothing to see."""


_TWO_EDITS = """
[[answer]]
[[answer.call]]
tool = "edit_file"
arguments = { path = "a.py", edits = [{ old_string = "limit = 1", new_string = "limit = 2" }] }
[[answer.call]]
tool = "edit_file"
arguments = { path = "b.py", edits = [{ old_string = "limit = 1", new_string = "limit = 2" }] }

[[answer]]
text = "Done."
"""


@pytest.mark.parametrize(
    ("beside", "answers", "after", "choices"),
    [
        pytest.param(None, ["allow_once"], "limit = 2", [False], id="one-yes-for-both"),
        pytest.param(
            "#\n\nlimit = 1\n", ["allow_once"], "limit = 2", [False], id="moved-lines-are-the-same"
        ),
        pytest.param(
            "if prod:\n    limit = 1\n",
            ["allow_once", "reject_once"],
            "    limit = 1",
            [False, True],
            id="what-would-be-another-change-asks-alone",
        ),
    ],
)
@pytest.mark.asyncio(loop_scope="session")
async def test_a_yes_to_several_edits_is_for_the_changes_that_were_shown(
    tmp_path: Path,
    stage: Stage,
    beside: str | None,
    answers: list[str],
    after: str,
    choices: list[bool],
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    for name in ("a.py", "b.py"):
        (folder / name).write_text("limit = 1\n")
    async with stage.opened(folder, _TWO_EDITS, settings_toml="mode = 'ask'") as sessions:
        session = await sessions.create()
        asked = ChangesOnceAsked(folder / "b.py", beside)
        session.follow(asked)
        await run_turn_of(session, "Raise the limits.", answers)
    assert (folder / "a.py").read_text() == "limit = 2\n"
    assert after in (folder / "b.py").read_text()
    # Arguments can be changed only where one call is asked about.
    assert [ApprovalChoice.AMEND in one.choices for one in asked.requests] == choices


@pytest.mark.parametrize(
    ("beside", "plans"),
    [
        pytest.param(None, 1, id="what-was-shown-is-done"),
        pytest.param(_BEFORE.replace("a = 1", "a = 3"), 2, id="again-for-a-newer-text"),
    ],
)
@pytest.mark.asyncio(loop_scope="session")
async def test_an_edit_is_planned_once(
    tmp_path: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch, beside: str | None, plans: int
) -> None:
    made: list[str] = []
    plan = EditFile.plan

    async def counted(tool: EditFile, arguments: EditFileArguments) -> ToolOutput:
        made.append(arguments.path)
        return await plan(tool, arguments)

    monkeypatch.setattr(EditFile, "plan", counted)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text(_BEFORE)
    async with stage.opened(folder, _SCENARIO, settings_toml="mode = 'ask'") as sessions:
        session = await sessions.create()
        session.follow(ChangesOnceAsked(folder / "a.py", beside))
        await run_turn_of(session, "Raise the limit.", ["allow_once"])
    assert "limit = 2" in (folder / "a.py").read_text()
    assert len(made) == plans
