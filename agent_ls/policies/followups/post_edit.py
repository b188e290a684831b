"""What do the checkers say right after an edit, or after a command that changed files?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.calls import Effect, ToolResult
from agent_ls.domain.events import CommandChanged, FindingsReported
from agent_ls.domain.findings import CheckReport, Finding
from agent_ls.domain.record import Record
from agent_ls.loop.findings import Looked, check_changes, counting, listed
from agent_ls.loop.ports.checks import CompileChecks
from agent_ls.loop.ports.store import Blobs
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.sockets import FollowUpOutcome, PlannedCall
from agent_ls.loop.view import TurnView


class PostEditOptions(Record):
    """Whether and how much the model is told after an edit."""

    enabled: bool = True
    """Check after every edit, not only when the model says that it is done."""
    max_listed: int = Field(default=20, ge=1)
    """New findings named in one result; the rest is counted."""
    wait_s: float = Field(default=20.0, gt=0)
    """How long the model waits for it; what takes longer is found when it says that it is done."""


@dataclass(frozen=True, slots=True)
class PostEdit:
    """Appends to the result of what changed files what it newly broke, in any file.

    Source: seed 002 post-edit hooks, seed 000 post-edit check.
    """

    name: ClassVar[str] = "post_edit"
    checks: CompileChecks
    workspace: Workspace
    blobs: Blobs
    options: PostEditOptions = PostEditOptions()

    async def follow(
        self, planned: PlannedCall, result: ToolResult, view: TurnView
    ) -> FollowUpOutcome:
        """Answer from what the checkers say now of all files the turn changed."""
        if not self.options.enabled or not _has_changed_files(planned, result, view):
            return FollowUpOutcome(result)
        looked = await check_changes(
            view, self.checks, self.workspace, self.blobs, within_s=self.options.wait_s
        )
        if looked is None:
            return FollowUpOutcome(result)
        what = "edit" if planned.effect is Effect.WRITE else "command"
        return FollowUpOutcome(self._told(result, what, looked, view), _reported(looked, view))

    def _told(self, result: ToolResult, what: str, looked: Looked, view: TurnView) -> ToolResult:
        """Append the findings that nobody was told of yet."""
        known = {one.fingerprint for found in view.session.findings.values() for one in found}
        new = [one for one in counting(looked.report.findings) if one.fingerprint not in known]
        if not new:
            return result
        text = (
            f"{result.text}\n\nThe checkers find {len(new)} new "
            f"{'problem' if len(new) == 1 else 'problems'} after this {what}:\n"
            f"{listed(new, self.options.max_listed)}"
        )
        return result.model_copy(update={"text": text})


def _has_changed_files(planned: PlannedCall, result: ToolResult, view: TurnView) -> bool:
    """Say whether there is something to look at; a command that failed may have changed files."""
    if planned.effect is Effect.WRITE:
        return not result.error
    return any(one.call_id == planned.call.id for one in view.each(CommandChanged))


def _reported(looked: Looked, view: TurnView) -> tuple[FindingsReported, ...]:
    """Return the event that shows the findings, unless everybody knows all of it."""
    told = {problem for event in view.each(FindingsReported) for problem in event.problems}
    shown = view.session.findings
    report = looked.shown
    is_known = all(_of(path, report) == shown.get(path, ()) for path in looked.paths)
    if is_known and told.issuperset(report.problems):
        return ()
    return (
        FindingsReported(paths=looked.paths, findings=report.findings, problems=report.problems),
    )


def _of(path: str, report: CheckReport) -> tuple[Finding, ...]:
    return tuple(one for one in report.findings if one.path == path)
