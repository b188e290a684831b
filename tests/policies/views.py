"""Builds what policies look at, from real events through the real fold.

A table row lists what happened; nothing here knows any policy.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from agent_ls.domain.approvals import ApprovalAnswer, ApprovalChoice
from agent_ls.domain.calls import ErrorKind, ToolCall, ToolResult
from agent_ls.domain.commands import TurnLimits
from agent_ls.domain.events import (
    Answered,
    ApprovalResolved,
    AttemptFinished,
    Event,
    RecoveryChosen,
    RequestPrepared,
    SessionCreated,
    StoredEvent,
    ToolCallFinished,
    TurnStarted,
)
from agent_ls.domain.goals import Goal
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.modes import Mode
from agent_ls.domain.stops import StopReason
from agent_ls.domain.usage import Usage
from agent_ls.loop.ports.models import ModelFacts
from agent_ls.loop.state.folding import fold_all
from agent_ls.loop.state.view import TurnView


def view_of(
    *happened: Event,
    prompt: str = "Make the parser faster.",
    mode: Mode = Mode.ASK,
    window_tokens: int = 0,
    elapsed_s: float = 0.0,
    earlier: Iterable[Event] = (),
    goal: Goal | None = None,
    limits: TurnLimits | None = None,
) -> TurnView:
    """Return the view of a turn in which ``happened`` followed the prompt.

    ``earlier`` are events of the session before the prompt.
    """
    journal = (
        SessionCreated(session_id="ses_1", roots=("file:///proj",), mode=mode, model="acme/large"),
        *earlier,
        TurnStarted(turn_id="trn_1", prompt=prompt, goal=goal, limits=limits),
        *happened,
    )
    state = fold_all(
        StoredEvent(session_id="ses_1", seq=seq, at_ms=seq, event=event)
        for seq, event in enumerate(journal, 1)
    )
    assert state.turn is not None
    return TurnView(
        session=state,
        turn=state.turn,
        facts=ModelFacts(window_tokens=window_tokens, max_output_tokens=0),
        elapsed_s=elapsed_s,
    )


def prepared(number: int = 1, *slots: str) -> RequestPrepared:
    """Return the beginning of a step."""
    return RequestPrepared(step_id=f"stp_{number}", number=number, slots=slots)


def spent(
    tokens: int = 0, cost_usd: float = 0.0, *, finish: FinishReason | None = FinishReason.STOP
) -> AttemptFinished:
    """Return an attempt that used so many tokens, four fifths of them input."""
    output = tokens // 5
    usage = Usage(input_tokens=tokens - output, output_tokens=output, cost_usd=cost_usd)
    return AttemptFinished(step_id="stp_1", finish=finish, usage=usage)


def call_of(tool: str, arguments_json: str = "{}", *, id: str = "cal_1") -> ToolCall:
    """Return a call as the model wrote it."""
    return ToolCall(id=id, provider_id=f"p-{id}", tool=tool, arguments_json=arguments_json)


def said(text: str = "", *calls: ToolCall, number: int = 1) -> Answered:
    """Return an accepted answer."""
    message = AssistantMessage(text=text, calls=calls)
    return Answered(step_id=f"stp_{number}", message=message)


def result_of(
    text: str = "ok", *, id: str = "cal_1", error: ErrorKind | None = None
) -> ToolCallFinished:
    """Return the result of a call."""
    return ToolCallFinished(result=ToolResult(call_id=id, text=text, error=error))


def steps(count: int) -> list[Event]:
    """Return that many whole steps, each with one read."""
    happened: list[Event] = []
    for number in range(1, count + 1):
        call = call_of("read_file", '{"path": "a.py"}', id=f"cal_{number}")
        happened += [prepared(number), said("", call, number=number), result_of(id=call.id)]
    return happened


def recovered(origin: str, action: str, **facts: Any) -> RecoveryChosen:
    """Return what a recovery decided."""
    return RecoveryChosen(step_id="stp_1", origin=origin, action=action, **facts)


def granted(grant: str) -> ApprovalResolved:
    """Return a user's yes for the rest of the session."""
    answer = ApprovalAnswer(choice=ApprovalChoice.ALLOW_SESSION)
    return ApprovalResolved(approval_id="apr_1", answer=answer, grant=grant)


@dataclass(frozen=True)
class Expected:
    """What a verdict must be; ``says`` are pieces of any of its texts."""

    kind: type
    stop: StopReason | None = None
    says: tuple[str, ...] = ()
    silent_on: tuple[str, ...] = ()

    def hold(self, verdict: object) -> None:
        """Assert that the verdict is as expected."""
        assert type(verdict) is self.kind, verdict
        if self.stop is not None:
            assert getattr(verdict, "stop", None) is self.stop, verdict
        words = " ".join(
            str(getattr(verdict, name))
            for name in ("text", "why", "reason", "question")
            if hasattr(verdict, name)
        )
        for piece in self.says:
            assert piece in words, f"{piece!r} is not in {words!r}"
        for piece in self.silent_on:
            assert piece not in words, f"{piece!r} is in {words!r}"
