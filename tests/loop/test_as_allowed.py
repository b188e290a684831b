"""What a person allowed is what is done: not another change, because a file moved on meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.domain.calls import ToolCall
from agent_ls.domain.events import (
    Answered,
    EditIntended,
    Ephemeral,
    PlanResolved,
    StoredEvent,
    ToolCallFinished,
)
from agent_ls.domain.messages import AssistantMessage
from agent_ls.loop.calls.plans import digest, is_as_approved
from agent_ls.loop.ports.workspace import Root
from agent_ls.loop.sockets import PlannedCall
from agent_ls.tools.edit_file import EditFile
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
    """Let the person answer and the file change right after it; return the text and the result."""
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
