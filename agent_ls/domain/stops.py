"""Stop reasons of turns, their statuses, and process exit codes.

Source: S0, S2, S3 and S4, termination reasons; one table for all of them.
"""

from __future__ import annotations

from enum import StrEnum


class StopReason(StrEnum):
    """Why a turn ended."""

    COMPLETED = "completed"
    FINAL_OUTPUT = "final_output"
    MAX_STEPS = "max_steps"
    BUDGET_LIMIT = "budget_limit"
    RESOURCE_LIMIT = "resource_limit"
    CONTEXT_FULL = "context_full"
    INCOMPLETE_ACTION = "incomplete_action"
    UNVERIFIED = "unverified"
    OPEN_TASKS = "open_tasks"
    TIMEOUT = "timeout"
    LOOP_DETECTED = "loop_detected"
    LOW_CONFIDENCE = "low_confidence"
    REFUSAL = "refusal"
    BLOCKED = "blocked"
    ERROR = "error"
    CANCELLED = "cancelled"


class TurnStatus(StrEnum):
    """How a turn counts."""

    RUNNING = "running"
    WAITING = "waiting"
    SUCCESS = "success"
    PARTIAL = "partial"
    ESCALATED = "escalated"
    FAILED = "failed"
    CANCELLED = "cancelled"


STATUS: dict[StopReason, TurnStatus] = {
    StopReason.COMPLETED: TurnStatus.SUCCESS,
    StopReason.FINAL_OUTPUT: TurnStatus.SUCCESS,
    StopReason.MAX_STEPS: TurnStatus.PARTIAL,
    StopReason.BUDGET_LIMIT: TurnStatus.PARTIAL,
    StopReason.RESOURCE_LIMIT: TurnStatus.PARTIAL,
    StopReason.CONTEXT_FULL: TurnStatus.PARTIAL,
    StopReason.INCOMPLETE_ACTION: TurnStatus.PARTIAL,
    StopReason.UNVERIFIED: TurnStatus.PARTIAL,
    StopReason.OPEN_TASKS: TurnStatus.PARTIAL,
    StopReason.TIMEOUT: TurnStatus.PARTIAL,
    StopReason.LOOP_DETECTED: TurnStatus.ESCALATED,
    StopReason.LOW_CONFIDENCE: TurnStatus.ESCALATED,
    StopReason.REFUSAL: TurnStatus.FAILED,
    StopReason.BLOCKED: TurnStatus.FAILED,
    StopReason.ERROR: TurnStatus.FAILED,
    StopReason.CANCELLED: TurnStatus.CANCELLED,
}

STATUS_WORDS: dict[str, str] = {
    TurnStatus.SUCCESS: "Done",
    TurnStatus.PARTIAL: "Partly done",
    TurnStatus.FAILED: "Failed",
    TurnStatus.ESCALATED: "Needs you",
    TurnStatus.CANCELLED: "Cancelled",
}
"""How a turn ended, for a user."""

PLAIN = frozenset({StopReason.COMPLETED, StopReason.ERROR, StopReason.CANCELLED})
"""Stop reasons that say no more than the status."""

EXIT_PARTIAL = 2
EXIT_CONFIGURATION = 3
EXIT_AUTHENTICATION = 4
EXIT_USAGE = 64
"""For an invalid command line; the usual 2 already means partial."""
EXIT_TIMEOUT = 5
EXIT_CANCELLED = 130


HEADLESS_TIMEOUT_S = 1_800.0
"""The time limit of a turn that nobody watches, unless the user set another."""


def exit_code(
    stop: StopReason, *, is_authentication: bool = False, count_partial: bool = True
) -> int:
    """Return the process exit code for ``stop``.

    Without ``count_partial``, partial and escalated turns exit 0.
    """
    status = STATUS[stop]
    if status is TurnStatus.SUCCESS:
        return 0
    if status is TurnStatus.CANCELLED:
        return EXIT_CANCELLED
    if status is TurnStatus.FAILED:
        return EXIT_AUTHENTICATION if is_authentication else 1
    if not count_partial:
        return 0
    return EXIT_TIMEOUT if stop is StopReason.TIMEOUT else EXIT_PARTIAL
