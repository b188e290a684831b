"""Sub-agents: their kinds, their budgets, and the report each ends with.

Source: S0 sub-agents and wrap-up, S2 ``dispatch_subagent``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, cast

from pydantic import BeforeValidator, Field, ValidationError

from agent_ls.domain.json_answers import objects_in
from agent_ls.domain.modes import Mode
from agent_ls.domain.record import Record, Trust
from agent_ls.domain.stops import STATUS, StopReason, TurnStatus
from agent_ls.domain.usage import Usage

_MAX_CHARS = 2_000


class AgentKind(Record):
    """A kind of sub-agent: what it is for, and the most it may do."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")]
    description: str
    """One line for the agent that chooses."""
    role: str
    """What its system prompt begins with."""
    tools: tuple[str, ...]
    """Those it has, as far as they exist, by name or by group: look, change, run."""
    without: tuple[str, ...] = ()
    """Those of them that it has not, likewise."""
    rules: tuple[str, ...] = ()
    """What is left of tools that it has in part, as ``run_command: git add *``; the rest asks."""
    mode: Mode = Mode.AUTO
    """At most; never more than the mode of the agent that starts it."""
    model: str = ""
    """A litellm model name, or a family such as ``sonnet``; empty: that of who starts it."""
    max_steps: Annotated[int, Field(ge=1)] | None = None
    """None: what holds for all."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """A budget; 0: no limit."""

    tokens: int
    cost_usd: float


class AgentLimits(Record):
    """What sub-agents may take."""

    max_steps: Annotated[int, Trust.LOWER] = Field(default=20, ge=1)
    """Accepted model answers of one sub-agent."""
    timeout_s: float = Field(default=600.0, gt=0)
    """How long one may work before it is asked to finish; waiting for a user does not count."""
    grace_s: float = Field(default=60.0, gt=0)
    """How long it then has for its report."""
    kept_share: float = Field(default=0.25, ge=0, lt=1)
    """Part of what is left of the turn's budget that stays with the agent that delegates."""
    largest_share: float = Field(default=0.6, gt=0, le=1)
    """Part of the rest that one sub-agent gets at most."""
    max_tokens: Annotated[int, Trust.LOWER] = Field(default=250_000, ge=0)
    """What one gets at most, whatever the budget; 0: no limit of its own."""
    max_per_turn: Annotated[int, Trust.LOWER] = Field(default=20, ge=0)
    """Sub-agents that one turn may start; 0: no limit."""
    min_tokens: int = Field(default=5_000, ge=0)
    """With less than this nothing is worth delegating."""

    def share(self, limit: Allowance, used: Usage, reserved: Allowance) -> Allowance | None:
        """Return the budget of the next sub-agent; None when too little is left.

        ``reserved`` is the budget of sub-agents that still run.
        """
        part = (1 - self.kept_share) * self.largest_share
        tokens, cost_usd = self.max_tokens, 0.0
        if limit.tokens:
            left = round((limit.tokens - used.total_tokens - reserved.tokens) * part)
            tokens = min(left, tokens) if tokens else left
            if left < max(self.min_tokens, 1):
                return None
        if limit.cost_usd:
            cost_usd = round((limit.cost_usd - used.cost_usd - reserved.cost_usd) * part, 6)
            if cost_usd <= 0:
                return None
        return Allowance(tokens, cost_usd)


def _sentences(value: object) -> object:
    """Turn a single sentence into a list, and any other value into text."""
    if value is None or value == "":
        return ()
    is_many = isinstance(value, list | tuple)
    found = cast("list[object]", value) if is_many else [value]
    return tuple(one if isinstance(one, str) else json.dumps(one) for one in found)


Sentences = Annotated[tuple[str, ...], BeforeValidator(_sentences)]


class AgentReport(Record):
    """A sub-agent's report; the fixed fields keep it from leaving something out."""

    findings: Sentences = ()
    actions: Sentences = ()
    failures: Sentences = ()
    remaining: Sentences = ()
    next: Sentences = ()

    def __str__(self) -> str:
        lines: list[str] = []
        for name in AgentReport.model_fields:
            sentences: tuple[str, ...] = getattr(self, name)
            if len(sentences) == 1:
                lines.append(f"{name}: {sentences[0]}")
            elif sentences:
                lines += [f"{name}:", *(f"- {one}" for one in sentences)]
        return "\n".join(lines)


REPORT_FORMAT = (
    "Your answer is a report to the agent that gave you the task: one JSON object "
    '{"findings": [], "actions": [], "failures": [], "remaining": [], "next": []}, each a list '
    "of short sentences that name files and lines."
)
"""Tells every sub-agent the format of its last answer."""


def report_of(text: str) -> AgentReport:
    """Return the report in an answer; an answer without one becomes a single finding."""
    for candidate in objects_in(text):
        known = {key: candidate[key] for key in AgentReport.model_fields if key in candidate}
        if known:
            try:
                return AgentReport.model_validate(known)
            except ValidationError:
                continue
    return AgentReport(findings=(text.strip(),)) if text.strip() else AgentReport()


@dataclass(frozen=True, slots=True)
class ChildResult:
    """How a sub-agent ended."""

    session_id: str
    kind: str
    stop: StopReason
    why: str
    """For a user; empty on success."""
    report: AgentReport
    usage: Usage
    steps: int
    files: tuple[str, ...]
    """Files it changed."""

    @property
    def is_failed(self) -> bool:
        """Say whether it failed or was cancelled, so that there is no usable result."""
        return STATUS[self.stop] in (TurnStatus.FAILED, TurnStatus.CANCELLED)

    def __str__(self) -> str:
        status = STATUS[self.stop]
        steps = f"{self.steps} step{'' if self.steps == 1 else 's'}"
        lines = [f"{self.kind}: {status} ({self.stop}), {steps}."]
        if self.why:
            # Only the first sentence: the rest is advice for a user who can change settings.
            lines.append(self.why.partition(". ")[0].rstrip(".")[:_MAX_CHARS] + ".")
        if self.files:
            lines.append(f"changed: {', '.join(self.files)}")
        return "\n".join([*lines, str(self.report) or "It reported nothing."])
