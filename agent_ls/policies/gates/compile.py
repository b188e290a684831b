"""Did this turn's changes cause new errors or warnings of compilers and linters?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.record import Record
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import GateVerdict, Nudge, Pass
from agent_ls.loop.evidence.findings import check_changes, counting, listed
from agent_ls.loop.ports.checks import CompileChecks
from agent_ls.loop.ports.store import Blobs
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.view import TurnView


class CompileOptions(Record):
    """How often the model is sent back to its errors."""

    max_nudges: int = Field(default=5, ge=0)
    """In one turn, before it ends as ``unverified``."""
    max_listed: int = Field(default=200, ge=1)
    """Findings named in one nudge; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Compile:
    """Accepts no answer while the turn's changes cause new errors or warnings.

    Checks the texts as the user sees them, unsaved changes included. Ignores findings from before
    the turn first touched the file. Source: S0, type check gate.
    """

    name: ClassVar[str] = "compile"
    stop: ClassVar[StopReason] = StopReason.UNVERIFIED
    checks: CompileChecks
    workspace: Workspace
    blobs: Blobs
    options: CompileOptions = CompileOptions()

    @property
    def cap(self) -> int:
        return self.options.max_nudges

    async def judge(self, answer: AssistantMessage, view: TurnView) -> GateVerdict:
        looked = await check_changes(view, self.checks, self.workspace, self.blobs, anew=True)
        if looked is None:
            return Pass()
        failing = counting(looked.report.findings)
        if not failing or view.is_silenced(self.name):
            return Pass(looked.shown, looked.paths)
        problem = "problem" if len(failing) == 1 else "problems"
        return Nudge(
            f"Your changes introduced {len(failing)} {problem}:\n"
            f"{listed(failing, self.options.max_listed)}\n"
            "Fix all of them, then finish. If one cannot be fixed, say why.",
            report=looked.shown,
            paths=looked.paths,
            shown=f"The agent's changes introduced {len(failing)} {problem}:\n"
            f"{listed(failing, self.options.max_listed)}",
        )
