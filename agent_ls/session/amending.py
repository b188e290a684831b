"""A call that waits for the user as one text that they may change: a file's text, or a command."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from agent_ls.domain.approvals import ApprovalAnswer, ApprovalChoice, ApprovalRequest
from agent_ls.domain.edits import ChangeText, CreateFile, FileEdit, apply_replacements
from agent_ls.domain.errors import AgentLsError, WorkspaceError
from agent_ls.loop.calls.arguments import parse_object
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.state import SessionState

_WRITES = "write_file"
_RUNS = "run_command"
_CELLS = ".ipynb"


@dataclass(frozen=True, slots=True)
class CallText:
    """What one call would write into a file, or the command that it would run."""

    text: str
    path: str | None = None
    """The file; None: the text is a command."""
    before: str | None = None
    """The file's text now; None for a new file and for a command."""


async def text_of(
    approval_id: str, edit: FileEdit | None, state: SessionState, workspace: Workspace
) -> CallText | None:
    """Return a waiting call as one text; None where it is more or something else.

    ``edit`` is all that it would do to files, if that is one edit.
    """
    request = state.approvals.get(approval_id)
    if request is None or ApprovalChoice.AMEND not in request.choices:
        return None
    if request.tool == _RUNS:
        command = _arguments(request, state).get("command")
        return CallText(command) if isinstance(command, str) else None
    # A notebook's text is its JSON, which the tools show and write by cells.
    if edit is None or edit.path.endswith(_CELLS):
        return None
    match edit:
        case CreateFile(mode=None, encoding=None, text=text):
            return CallText(text, edit.path)
        case ChangeText(mode=None):
            try:
                file = await workspace.read(edit.path)
            except WorkspaceError:
                return None
            # A file that changed meanwhile would be planned again after a yes.
            if file.version != edit.base_version:
                return None
            return CallText(apply_replacements(file.text, edit.replacements), edit.path, file.text)
        case _:
            return None


def with_text(
    found: CallText | None, approval_id: str, state: SessionState, text: str
) -> ApprovalAnswer:
    """Return the answer that runs a waiting call with another text.

    Errors: ``AgentLsError`` where it is no single text.
    """
    request = state.approvals.get(approval_id)
    if found is None or request is None:
        raise AgentLsError(
            "This call is no single text, or its file changed meanwhile. Change its arguments. "
            "It still waits for your decision."
        )
    arguments, tool = {"path": found.path, "content": text}, _WRITES
    if found.path is None:
        arguments, tool = {**_arguments(request, state), "command": text}, _RUNS
    return ApprovalAnswer(
        choice=ApprovalChoice.AMEND, arguments_json=json.dumps(arguments), tool=tool
    )


def _arguments(request: ApprovalRequest, state: SessionState) -> dict[str, Any]:
    """Return the call's arguments as the model wrote them; empty when they are not known here."""
    calls = state.turn.calls if state.turn else ()
    found = next((one.call for one in calls if one.call.id == request.call_id), None)
    return parse_object(found.arguments_json) if found else {}
