"""Have checkers found something since an edit's result was returned?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.events import AdvisoryRaised, FindingsReported
from agent_ls.domain.record import Record
from agent_ls.domain.verdicts import CheckVerdict, Nudge, Proceed
from agent_ls.loop.evidence.findings import check_changes, findings_message, not_yet_shown
from agent_ls.loop.ports.checks import CompileChecks
from agent_ls.loop.ports.store import Blobs
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.view import TurnView


class LateFindingsOptions(Record):
    """How much the model is told."""

    max_listed: int = Field(default=20, ge=1)
    """New findings named in one request; the rest is counted."""


@dataclass(frozen=True, slots=True)
class LateFindings:
    """Reports findings that came too late for an edit's result, to the model and the user.

    Never waits for a checker. Checks the newest texts, because findings about older ones are stale.
    Source: S2 post-edit hooks.
    """

    name: ClassVar[str] = "late_findings"
    checks: CompileChecks
    workspace: Workspace
    blobs: Blobs
    options: LateFindingsOptions = LateFindingsOptions()

    async def check(self, view: TurnView) -> CheckVerdict:
        if not view.unanswered:
            return Proceed()
        looked = await check_changes(
            view, self.checks, self.workspace, self.blobs, only=(), within_s=0.0
        )
        if looked is None:
            return Proceed()
        new = not_yet_shown(looked.report.findings, view)
        text = findings_message(new, "after your edits", self.options.max_listed) if new else ""
        if not text or self._has_been_told(text, view):
            return Proceed(looked.shown, looked.paths)
        return Nudge(text, report=looked.shown, paths=looked.paths)

    def _has_been_told(self, text: str, view: TurnView) -> bool:
        """Say whether the text was raised but not shown, because the process died in between."""
        said = view.each_since(AdvisoryRaised, FindingsReported)
        return any(one.origin == self.name and one.text == text for one in said)
