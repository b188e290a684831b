"""A call that waits for the user as one text that they may change: a file's text, or a command."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from agent_ls.domain.approvals import ApprovalAnswer, ApprovalChoice
from agent_ls.domain.errors import AgentLsError
from agent_ls.loop.calls.arguments import parse_object
from agent_ls.loop.ports.approval import ProposedText
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.state import SessionState

_WRITES = "write_file"
_RUNS = "run_command"
_WAITS = "It still waits for your decision."


@dataclass(frozen=True, slots=True)
class CallText:
    """What one call would write into a file, or the command that it would run."""

    text: str
    path: str | None = None
    """The file; None: the text is a command."""
    before: str | None = None
    """The file's text before; None for a new file and for a command."""


def text_of(
    approval_id: str, proposed: ProposedText | None, state: SessionState
) -> CallText | None:
    """Return a waiting call as one text; None where it is more or something else, or is settled."""
    request = state.approvals.get(approval_id)
    if request is None or ApprovalChoice.AMEND not in request.choices:
        return None
    if request.tool == _RUNS:
        command = _arguments(approval_id, state).get("command")
        return CallText(command) if isinstance(command, str) else None
    return CallText(proposed.text, proposed.path, proposed.before) if proposed else None


async def with_text(
    found: CallText | None, approval_id: str, state: SessionState, workspace: Workspace, text: str
) -> ApprovalAnswer:
    """Return the answer that runs a waiting call with another text.

    Errors: ``AgentLsError`` where it is no single text, or its file has changed since it was asked;
    ``WorkspaceError`` where that cannot be read.
    """
    if found is None:
        raise AgentLsError(f"This call is no single text: change its arguments. {_WAITS}")
    if found.path is None:
        arguments = {**_arguments(approval_id, state), "command": text}
        return _amended(_RUNS, arguments)
    is_there = await workspace.exists(found.path)
    now = (await workspace.read(found.path)).text if is_there else None
    if now != found.before:
        # The text was made from what was there then: it would undo what came since.
        raise AgentLsError(f"{found.path} has changed since you were asked about it. {_WAITS}")
    return _amended(_WRITES, {"path": found.path, "content": text})


def _amended(tool: str, arguments: dict[str, Any]) -> ApprovalAnswer:
    return ApprovalAnswer(
        choice=ApprovalChoice.AMEND, arguments_json=json.dumps(arguments), tool=tool
    )


def _arguments(approval_id: str, state: SessionState) -> dict[str, Any]:
    """Return the call's arguments as the model wrote them; empty when they are not known here."""
    call_id = state.approvals[approval_id].call_id
    calls = state.turn.calls if state.turn else ()
    found = next((one.call for one in calls if one.call.id == call_id), None)
    return parse_object(found.arguments_json) if found else {}
