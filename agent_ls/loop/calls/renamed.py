"""Follows a file that the user renames while a call that changes it waits for an answer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

from agent_ls.domain.approvals import ApprovalRequest, Preview
from agent_ls.domain.calls import ToolResult
from agent_ls.domain.errors import ToolError, WorkspaceError
from agent_ls.domain.events import ApprovalRequested, FileRenamed
from agent_ls.loop.calls.arguments import changed_call, parse_object
from agent_ls.loop.calls.planning import preview_of, with_edits
from agent_ls.loop.calls.plans import digest
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.state.spelling import canonical
from agent_ls.loop.state.state import renamed_path
from agent_ls.loop.turn import Turn


def under_new_name(
    planned: PlannedCall, request: ApprovalRequest, turn: Turn
) -> PlannedCall | None:
    """Return the call with its file's new name; None if it was not renamed since the request."""
    arguments = parse_object(planned.call.arguments_json)
    path = arguments.get("path")
    if not isinstance(path, str):
        return None
    old = canonical(path, turn.services.workspace)
    new = old
    for event in _renames_since(request, turn):
        new = renamed_path(new, event)
    if new == old:
        return None
    text = json.dumps({**arguments, "path": new}, ensure_ascii=False)
    found = changed_call(planned, text, planned.tool.name, turn.services.tools, turn.specs)
    return None if isinstance(found, ToolResult) else found


async def as_shown(
    planned: PlannedCall, shown: str, request: ApprovalRequest, turn: Turn
) -> PlannedCall | None:
    """Return the approved call, under its file's new name; None if it is another change now.

    ``shown`` is the digest of what the user was shown.
    """
    moved = under_new_name(planned, request, turn)
    try:
        now = await with_edits(moved or planned, turn.services.workspace)
        preview = await preview_of(now)
    except (ToolError, WorkspaceError):
        return None
    was = preview if moved is None else _under(request, planned, preview)
    is_same = digest(planned, was) == shown
    return replace(now, approved=digest(now, preview)) if is_same else None


def _renames_since(request: ApprovalRequest, turn: Turn) -> Iterable[FileRenamed]:
    found: list[FileRenamed] = []
    for stored in reversed(turn.state.events):
        match stored.event:
            case FileRenamed():
                found.append(stored.event)
            case ApprovalRequested(request=asked) if asked.id == request.id:
                break
            case _:
                pass
    return reversed(found)


def _under(request: ApprovalRequest, planned: PlannedCall, preview: Preview) -> Preview:
    """Return the preview as it was under the file's name in the request."""
    paths = {one.call_id: one.path for one in request.covers}
    path = paths.get(planned.call.id, request.preview.path)
    return preview.model_copy(update={"path": path})
