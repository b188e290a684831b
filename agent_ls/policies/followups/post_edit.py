"""What do the checkers say right after an edit, or after a command that changed files?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.calls import Effect, ToolResult
from agent_ls.domain.events import CommandChanged, EditIntended, RequestPrepared
from agent_ls.domain.record import Record
from agent_ls.loop.evidence.findings import check_changes, findings_message, not_yet_shown, reported
from agent_ls.loop.extension_points import FollowUpOutcome, PlannedCall
from agent_ls.loop.ports.checks import CompileChecks
from agent_ls.loop.ports.store import Blobs
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.spelling import canonical
from agent_ls.loop.state.view import TurnView


class PostEditOptions(Record):
    """Whether and how much the model is told after an edit."""

    enabled: bool = True
    """Check after every edit, not only when the model says that it is done."""
    max_listed: int = Field(default=20, ge=1)
    """New findings named in one result; the rest is counted."""
    wait_s: float = Field(default=0.0, ge=0)
    """How long the model waits for checkers of whole projects, such as tsc; what takes longer is
    told with the next request after it is found."""


@dataclass(frozen=True, slots=True)
class PostEdit:
    """Appends the new findings to the result of an edit, or of a command that changed files.

    Leaves out files that parallel calls change. Source: S2 post-edit hooks, S0 post-
    edit check.
    """

    name: ClassVar[str] = "post_edit"
    checks: CompileChecks
    workspace: Workspace
    blobs: Blobs
    options: PostEditOptions = PostEditOptions()

    async def follow(
        self, planned: PlannedCall, result: ToolResult, view: TurnView
    ) -> FollowUpOutcome:
        if not self.options.enabled or not _has_changed_files(planned, result, view):
            return FollowUpOutcome(result)
        mine, theirs = _changed_files(planned, view, self.workspace)
        looked = await check_changes(
            view,
            self.checks,
            self.workspace,
            self.blobs,
            only=mine or None,
            within_s=self.options.wait_s,
        )
        if looked is None:
            return FollowUpOutcome(result)
        found = [one for one in looked.report.findings if one.path not in theirs]
        if new := not_yet_shown(found, view):
            what = "edit" if planned.effect is Effect.WRITE else "command"
            more = findings_message(new, f"after this {what}", self.options.max_listed)
            result = result.model_copy(update={"text": f"{result.text}\n\n{more}"})
        if looked.report.checkers and isinstance(result.data, dict | None):
            # The record of what checked this step; the model is not told.
            checked = {"checkers": list(looked.report.checkers), "new_findings": len(new)}
            result = result.model_copy(update={"data": {**(result.data or {}), **checked}})
        shown = tuple(one for one in looked.shown.findings if one.path not in theirs)
        report = looked.shown.model_copy(update={"findings": shown})
        paths = [path for path in looked.paths if path not in theirs]
        return FollowUpOutcome(result, reported(report, paths, view))


def _changed_files(
    planned: PlannedCall, view: TurnView, workspace: Workspace
) -> tuple[set[str], set[str]]:
    """Return the files that this call has changed, and those that only parallel calls change.

    The parallel calls report on theirs.
    """
    beside = {one.call.id for one in view.turn.open_calls} - {planned.call.id}
    mine: set[str] = set()
    theirs: set[str] = set()
    for event in view.each_since(EditIntended, RequestPrepared):
        edit = event.edit
        names = (edit.path, edit.new_path) if edit.kind == "move" else (edit.path,)
        files = theirs if event.call_id in beside else mine
        files.update(canonical(name, workspace) for name in names)
    for changed in view.each_since(CommandChanged, RequestPrepared):
        if changed.call_id == planned.call.id:
            mine.add(canonical(changed.path, workspace))
    return mine, theirs - mine


def _has_changed_files(planned: PlannedCall, result: ToolResult, view: TurnView) -> bool:
    if planned.effect is Effect.WRITE:
        return not result.error
    return any(one.call_id == planned.call.id for one in view.each(CommandChanged))
