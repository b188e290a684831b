"""What projecting events works with: where a session stands, and changes of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from agent_ls.loop.evidence.progress import Progress

Table = Literal["sessions", "executions", "steps", "calls", "approvals"]

_TEXT_CHARACTERS = 4_000
SUMMARY_CHARACTERS = 500


class TurnTally(BaseModel):
    """What a turn adds up to. Source: seed 004, "TaskState"."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    goal: str = ""
    acceptance_criteria: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    current_step: int = 0
    failure_count: int = 0
    consecutive_failures: int = 0
    last_errors: tuple[str, ...] = ()
    llm_calls: int = 0
    tool_executions: int = 0
    total_tokens: int = 0
    total_cost_usd: float = 0.0
    decision_reasoning: tuple[str, ...] = ()
    last_confidence_check_step: int = 0
    last_confidence_score: float | None = None


class Cursor(BaseModel):
    """Where a session stands; stored with its row."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    turns: int = 0
    execution_id: str = ""
    step_id: str = ""
    step_started_ms: int = 0
    results: tuple[dict[str, JsonValue], ...] = ()
    """Of the current step's calls so far."""
    validation: tuple[dict[str, JsonValue], ...] = ()
    """What gates and checkers said of the current step so far."""
    files: tuple[str, ...] = ()
    """Changed in the current turn, each once."""
    plan: tuple[dict[str, JsonValue], ...] = ()
    agent: str = ""
    """The kind of sub-agent; empty for a person's session."""
    project: str = ""
    """The session's roots, as one text."""
    turn: TurnTally = TurnTally()
    """What a snapshot of the current turn will say."""
    progress: Progress = Progress()

    @property
    def owner(self) -> dict[str, JsonValue]:
        """Return whose work it is, as every audit row says it."""
        return {"agent": self.agent, "project": self.project}


@dataclass(frozen=True, slots=True)
class Write:
    """Set some columns of one row, and add to others; the row comes to be when it is not there."""

    table: Table
    row: str
    """Its id within the session; empty for the session's own row."""
    values: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    add: Mapping[str, int | float] = field(default_factory=dict[str, "int | float"])


@dataclass(frozen=True, slots=True)
class AbandonCalls:
    """Mark the calls of an execution that never got a result."""

    execution_id: str
    at_ms: int


Change = Write | AbandonCalls
Projected = tuple[Cursor, tuple[Change, ...]]


def of_turn(cursor: Cursor, *changes: Change) -> tuple[Change, ...]:
    """Return the changes while a turn runs, none outside of one."""
    return changes if cursor.execution_id else ()


def cut(text: str, limit: int = _TEXT_CHARACTERS) -> str:
    """Return a text as rows keep it: the whole one is in the journal."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
