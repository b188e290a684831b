"""What came of a task, as the store keeps it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from agent_ls.domain.results import TurnResult
from agent_ls.loop.ports.commands import CommandOutcome

_OUTPUT_CHARS = 4_000


class TaskResult(BaseModel):
    """The result of a task; what an older or a newer agent-ls wrote is read as far as known."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    status: str = ""
    """Of the run's turn; empty if there was no turn."""
    stop_reason: str = ""
    failure_reason: str = ""
    output: str = ""
    model: str = ""
    steps: int = 0
    tokens: int = 0
    duration_s: float = 0.0
    """Of the turn."""
    is_priced: bool = True
    """False if the model's price is not known, so that the cost is not either."""
    check: str = ""
    """``passed`` or ``failed``; empty if there was none."""
    check_output: str = ""
    files: tuple[str, ...] = ()
    host: str = ""
    branch: str = ""

    @classmethod
    def of_turn(cls, turn: TurnResult, host: str) -> TaskResult:
        """Return the result of a run without its check."""
        return cls(
            status=turn.status,
            stop_reason=turn.stop_reason,
            failure_reason=turn.failure_reason or _refused(turn),
            output=turn.output[:_OUTPUT_CHARS],
            model=turn.model,
            steps=turn.steps,
            tokens=turn.usage.total_tokens,
            duration_s=turn.duration_ms / 1000,
            is_priced=turn.cost_usd is not None,
            files=turn.files,
            host=host,
        )

    def with_check(self, outcome: CommandOutcome) -> TaskResult:
        """Return the result with the check's verdict."""
        ends = {"timed_out": "the check took too long", "cancelled": "the check was stopped"}
        has_passed = outcome.exit_code == 0
        why = ends.get(outcome.end, f"the check ended with exit code {outcome.exit_code}")
        return self.model_copy(
            update={
                "check": "passed" if has_passed else "failed",
                "check_output": outcome.output[-_OUTPUT_CHARS:],
                "failure_reason": self.failure_reason or ("" if has_passed else why),
            }
        )

    def with_broken_check(self, why: str) -> TaskResult:
        """Return the result when the check could not be run."""
        words = f"the check could not be run: {why}"
        return self.model_copy(
            update={
                "check": "failed",
                "check_output": why,
                "failure_reason": self.failure_reason or words,
            }
        )


def _refused(turn: TurnResult) -> str:
    if not turn.refused:
        return ""
    first = turn.refused[0]
    return f"nobody could approve {first.tool} {first.target}: {first.reason}"
