"""Plans the edits of a call once, for the user who looks at them and for the act."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

from agent_ls.domain.approvals import Preview
from agent_ls.domain.edits import FileEdit
from agent_ls.loop.extension_points import EditPlanner, PlannedCall
from agent_ls.loop.ports.workspace import Look, Workspace


async def with_edits(planned: PlannedCall, workspace: Workspace) -> PlannedCall:
    """Return the call with its edits planned on the newest texts; unchanged if it edits nothing.

    A plan that it carries is kept while the files are as they were.
    Errors: ``ToolError`` and ``WorkspaceError`` if the call cannot work.
    """
    if not isinstance(planned.tool, EditPlanner):
        return planned
    if planned.plan is not None:
        looks = [look for edit in planned.plan.edits for look in _looks(edit)]
        if all(holds for _, holds in await workspace.compare(looks)):
            return planned
    return replace(planned, plan=await planned.tool.plan(planned.arguments))


async def preview_of(planned: PlannedCall) -> Preview:
    """Return what the call would do, from its plan if it carries one. Errors: as the tool's."""
    if planned.plan is not None and planned.plan.preview is not None:
        return await asyncio.to_thread(planned.plan.preview)
    return await planned.tool.preview(planned.arguments)


def _looks(edit: FileEdit) -> Iterator[Look]:
    """Yield how the files of an edit were when it was planned."""
    yield Look(edit.path, version=None if edit.kind == "create" else edit.base_version)
    if edit.kind == "move":
        yield Look(edit.new_path)
