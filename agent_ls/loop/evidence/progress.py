"""Estimates a turn's progress from 0 to 1 from its events, best evidence first.

Tests first (the goal's commands and printed test results), then artifacts (files created, lines
written, dependencies), then the model's own plan. Source: S4, "Progress Validation".
"""

from __future__ import annotations

import re
from typing import Literal, assert_never

from pydantic import BaseModel, ConfigDict

from agent_ls.domain.calls import Effect
from agent_ls.domain.events import (
    EditApplied,
    EditIntended,
    Event,
    GoalChecked,
    PlanUpdated,
    ToolCallFinished,
    TurnStarted,
)
from agent_ls.domain.plans import PlanStatus

_PASSED = re.compile(r"\b(\d+) (?:passed|passing)\b")
_FAILED = re.compile(r"\b(\d+) (?:failed|failing|errors?)\b")
_TESTS = re.compile(
    r"^(?:[= \t]*|[ \t]*Tests:?[ \t]+)(?:\d+ (?:skipped|todo|pending), )*"
    r"\d+ (?:passed|failed|passing|failing)\b",
    re.MULTILINE,
)
_COVERAGE = re.compile(r"^(?:TOTAL|All files)\b.*?(\d+(?:\.\d+)?) ?%?\s*(?:\|.*)?$", re.MULTILINE)
_DEPENDENCIES = re.compile(
    r"(?:^|/)(?:pyproject\.toml|requirements[^/]*\.txt|package\.json|Cargo\.toml|go\.mod)$"
)
_HALF_DONE_AT_LINES = 50.0
"""This many written lines, or one created file or dependency, halve the remaining distance to 1."""


class Progress(BaseModel):
    """The evidence seen so far in this turn; ``after`` returns the next value."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    wanted: int = 0
    """Number of the goal's commands and criteria."""
    met: tuple[str, ...] = ()
    """Commands and criteria that held at their last check."""
    passed: int | None = None
    failed: int = 0
    """Like ``passed``, of the newest test run; ``passed`` is None before the first."""
    coverage: float | None = None
    """Percent, from the newest run."""
    creating: tuple[str, ...] = ()
    created: int = 0
    lines: int = 0
    dependencies: int = 0
    plan_items: int = 0
    plan_done: int = 0

    @property
    def by(self) -> Literal["tests", "artifacts", "model", "none"]:
        """Return the kind of evidence behind the score."""
        if self.wanted or self.passed is not None:
            return "tests"
        if self.created or self.lines or self.dependencies:
            return "artifacts"
        return "model" if self.plan_items else "none"

    @property
    def score(self) -> float:
        """Return the progress, from 0 to 1."""
        by = self.by
        match by:
            case "tests":
                return round(self._of_tests(), 3)
            case "artifacts":
                units = self.created + self.dependencies + self.lines / _HALF_DONE_AT_LINES
                return round(1 - 0.5**units, 3)
            case "model":
                return round(self.plan_done / self.plan_items, 3)
            case "none":
                return 0.0
            case _:
                assert_never(by)

    @property
    def metrics(self) -> dict[str, float]:
        """Return the numbers behind the score."""
        found: dict[str, float | None] = {
            "goal_wanted": self.wanted or None,
            "goal_met": len(self.met) if self.wanted else None,
            "tests_passed": self.passed,
            "tests_failed": self.failed if self.passed is not None else None,
            "coverage_percent": self.coverage,
            "files_created": self.created or None,
            "lines_written": self.lines or None,
            "dependencies_changed": self.dependencies or None,
            "plan_items": self.plan_items or None,
            "plan_done": self.plan_done if self.plan_items else None,
        }
        return {name: value for name, value in found.items() if value is not None}

    def _of_tests(self) -> float:
        parts: list[float] = []
        if self.wanted:
            parts.append(min(1.0, len(self.met) / self.wanted))
        if self.passed is not None:
            parts.append(self.passed / max(1, self.passed + self.failed))
        return min(parts)

    def after(self, event: Event) -> Progress:
        """Return the progress after one more event."""
        match event:
            case TurnStarted(goal=goal):
                wanted = len(goal.commands) + len(goal.judged) if goal else 0
                # The plan survives the turn.
                return Progress(wanted=wanted, plan_items=self.plan_items, plan_done=self.plan_done)
            case GoalChecked(proofs=proofs):
                looked_at = {one.of for one in proofs}
                kept = tuple(one for one in self.met if one not in looked_at)
                met = tuple(one.of for one in proofs if one.is_met)
                return self._with(met=(*kept, *met))
            case ToolCallFinished(effect=Effect.EXECUTE, result=result):
                return self._with_run(result.text)
            case EditIntended(edit=edit) if edit.kind == "create":
                return self._with(creating=(*self.creating, edit.path))
            case EditApplied(status="applied", path=path, added_lines=added):
                return self._with_edit(path, added)
            case PlanUpdated(items=items):
                done = sum(item.status is PlanStatus.COMPLETED for item in items)
                return self._with(plan_items=len(items), plan_done=done)
            case _:
                return self

    def _with_run(self, output: str) -> Progress:
        changes: dict[str, object] = {}
        if _TESTS.search(output):
            changes["passed"] = sum(int(one) for one in _PASSED.findall(output)[-1:])
            changes["failed"] = sum(int(one) for one in _FAILED.findall(output)[-1:])
        if found := _COVERAGE.findall(output):
            changes["coverage"] = float(found[-1])
        return self._with(**changes) if changes else self

    def _with_edit(self, path: str, added: int) -> Progress:
        is_new = path in self.creating
        return self._with(
            creating=tuple(one for one in self.creating if one != path),
            created=self.created + is_new,
            lines=self.lines + added,
            dependencies=self.dependencies + bool(_DEPENDENCIES.search(path)),
        )

    def _with(self, **changes: object) -> Progress:
        return self.model_copy(update=changes)
