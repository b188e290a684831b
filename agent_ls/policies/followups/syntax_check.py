"""Does the edited file still parse?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.calls import Effect, ToolResult
from agent_ls.domain.code_review import REVIEWER
from agent_ls.domain.edits import text_of
from agent_ls.domain.errors import ToolError
from agent_ls.domain.events import EditApplied, EditIntended
from agent_ls.domain.findings import Finding, Severity
from agent_ls.domain.record import Record
from agent_ls.domain.symbols import Fault
from agent_ls.edits.notebooks import is_notebook
from agent_ls.loop.extension_points import FollowUpOutcome, PlannedCall
from agent_ls.loop.ports.codeintel import CodeIntel
from agent_ls.loop.ports.store import Blobs
from agent_ls.loop.state.view import TurnView

_NEAR_LINES = 2


class SyntaxCheckOptions(Record):
    """Whether and how much the model is told."""

    enabled: bool = True
    """Parse every edited file, before and after."""
    max_listed: int = Field(default=5, ge=1)
    """Syntax errors named for one file."""
    max_bytes: int = Field(default=2_000_000, ge=0)
    """Larger files are not parsed after every edit."""


@dataclass(frozen=True, slots=True)
class SyntaxCheck:
    """Appends new syntax errors to the result of a successful edit.

    Leaves out errors from before the edit, and errors that a checker has just reported there.
    Source: S0 post-edit check.
    """

    name: ClassVar[str] = "syntax_check"
    code: CodeIntel
    blobs: Blobs
    options: SyntaxCheckOptions = SyntaxCheckOptions()

    async def follow(
        self, planned: PlannedCall, result: ToolResult, view: TurnView
    ) -> FollowUpOutcome:
        if not self.options.enabled or planned.effect is not Effect.WRITE or result.error:
            return FollowUpOutcome(result)
        told: list[str] = []
        for path, (before, after) in _edited(planned.call.id, view).items():
            if is_notebook(path):
                # No write breaks one, and Python's NaN in its JSON is no fault.
                continue
            faults = await self._faults(path, before, after)
            known = view.session.findings.get(path, ())
            if new := [one for one in faults if not _is_reported(one, known)]:
                told.append(self._said(path, new))
        if told:
            result = result.model_copy(update={"text": "\n\n".join([result.text, *told])})
        return FollowUpOutcome(result)

    async def _faults(self, path: str, before: str | None, after: str) -> list[Fault]:
        texts: list[str] = []
        for blob in (before, after):
            data = b"" if blob is None else await self.blobs.get_blob(blob)
            if data is None or len(data) > self.options.max_bytes:
                return []
            texts.append(text_of(data)[0])
        try:
            return list(await self.code.faults(path, *texts))
        except ToolError:
            # The edit was made, so a failing parser must not fail it.
            return []

    def _said(self, path: str, faults: list[Fault]) -> str:
        most = self.options.max_listed
        lines = [f"  {one.line}: {one.text}" for one in faults[:most]]
        if len(faults) > most:
            lines.append(f"  … and {len(faults) - most} more.")
        return "\n".join([f"Since this edit {path} has syntax errors at line", *lines])


def _edited(call_id: str, view: TurnView) -> dict[str, tuple[str | None, str]]:
    """Return the digests of each changed file before the call's first and after its last edit."""
    before: dict[str, str | None] = {}
    for intended in view.each(EditIntended):
        if intended.call_id == call_id and intended.edit.kind in ("change", "create"):
            before.setdefault(intended.edit.path, intended.before_blob)
    after = {
        applied.path: applied.after_blob
        for applied in view.each(EditApplied)
        if applied.call_id == call_id and applied.status == "applied"
    }
    return {
        path: (before[path], blob)
        for path, blob in after.items()
        if path in before and blob is not None
    }


def _is_reported(fault: Fault, findings: tuple[Finding, ...]) -> bool:
    return any(
        one.severity is Severity.ERROR
        and one.checker != REVIEWER
        and abs(one.start_line + 1 - fault.line) <= _NEAR_LINES
        for one in findings
    )
