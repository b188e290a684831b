"""What do the checkers say right after an edit?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.calls import Effect, ToolResult
from agent_ls.domain.events import FindingsReported
from agent_ls.domain.findings import Finding
from agent_ls.domain.record import Record
from agent_ls.loop.findings import Looked, check_changes, counting, listed
from agent_ls.loop.ports import CompileChecks, Store, Workspace
from agent_ls.loop.sockets import FollowUpOutcome, PlannedCall
from agent_ls.loop.view import TurnView


class PostEditOptions(Record):
    """Whether and how much the model is told after an edit."""

    enabled: bool = True
    """Check after every edit, not only when the model says that it is done."""
    max_listed: int = Field(default=20, ge=1)
    """New findings named in one result; the rest is counted."""


@dataclass(frozen=True, slots=True)
class PostEdit:
    """Appends to a successful edit's result what it newly broke, in any file.

    Source: seed 002 post-edit hooks, seed 000 post-edit check.
    """

    name: ClassVar[str] = "post_edit"
    checks: CompileChecks
    workspace: Workspace
    store: Store
    options: PostEditOptions = PostEditOptions()

    async def follow(
        self, planned: PlannedCall, result: ToolResult, view: TurnView
    ) -> FollowUpOutcome:
        """Answer from what the checkers say now of all files the turn changed."""
        if not self.options.enabled or planned.effect is not Effect.WRITE or result.error:
            return FollowUpOutcome(result)
        looked = await check_changes(view, self.checks, self.workspace, self.store)
        if looked is None:
            return FollowUpOutcome(result)
        return FollowUpOutcome(self._told(result, looked, view), _reported(looked, view))

    def _told(self, result: ToolResult, looked: Looked, view: TurnView) -> ToolResult:
        """Append the findings that nobody was told of yet."""
        known = {one.fingerprint for found in view.session.findings.values() for one in found}
        new = [one for one in counting(looked.report.findings) if one.fingerprint not in known]
        if not new:
            return result
        text = (
            f"{result.text}\n\nThe checkers find {len(new)} new "
            f"{'problem' if len(new) == 1 else 'problems'} after this edit:\n"
            f"{listed(new, self.options.max_listed)}"
        )
        return result.model_copy(update={"text": text})


def _reported(looked: Looked, view: TurnView) -> tuple[FindingsReported, ...]:
    """Return the event that shows the findings, unless everybody knows all of it."""
    told = {problem for event in view.each(FindingsReported) for problem in event.problems}
    shown = view.session.findings
    is_known = all(_of(path, looked) == shown.get(path, ()) for path in looked.paths)
    if is_known and told.issuperset(looked.report.problems):
        return ()
    return (
        FindingsReported(
            paths=looked.paths, findings=looked.report.findings, problems=looked.report.problems
        ),
    )


def _of(path: str, looked: Looked) -> tuple[Finding, ...]:
    return tuple(one for one in looked.report.findings if one.path == path)
