"""Tells what each turn took: time, steps, tokens and money; and what fills the model's window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_ls.domain import events as e
from agent_ls.domain.usage import Usage
from agent_ls.lsp import wire
from agent_ls.lsp.editor_context import EditorContext

_ENDS_WAITING = (e.ApprovalResolved, e.QuestionResolved, e.SessionResumed)
"""The time before these is the user's, or nobody's."""


async def list_turns(context: EditorContext, asked: wire.TurnsParams) -> wire.TurnsResult:
    """Return what each turn of a session that is over took, oldest first."""
    journal = await context.sessions.stored.journal(asked.session_id)
    return wire.TurnsResult(turns=taken(journal))


async def window(context: EditorContext, asked: wire.ContextParams) -> wire.ContextResult:
    """Return what fills the model's window; nothing before the first turn."""
    session = await context.sessions.session(asked.session_id)
    use = await session.window()
    if use is None:
        return wire.ContextResult(used_tokens=0, window_tokens=None, parts=[])
    return wire.ContextResult(
        used_tokens=use.used_tokens,
        window_tokens=use.window_tokens or None,
        parts=[wire.ContextPart(kind=kind, tokens=count) for kind, count in use.parts.items()],
    )


@dataclass(slots=True)
class _Taken:
    turn_id: str
    before_ms: int
    """When the newest event happened."""
    duration_ms: int = 0
    steps: int = 0
    usage: Usage = field(default_factory=Usage)

    def row(self) -> wire.TurnTaken:
        usage = self.usage
        return wire.TurnTaken(
            turn_id=self.turn_id,
            duration_ms=self.duration_ms,
            steps=self.steps,
            cost=wire.Cost(amount=usage.cost_usd),
            tokens=wire.TokenUsage(
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cache_read_tokens=usage.cache_read_tokens,
                cache_write_tokens=usage.cache_write_tokens,
                reasoning_tokens=usage.reasoning_tokens,
            ),
        )


def taken(journal: Sequence[e.StoredEvent]) -> list[wire.TurnTaken]:
    """Return what each turn took that is over."""
    rows: list[wire.TurnTaken] = []
    turn: _Taken | None = None
    for stored in journal:
        event = stored.event
        if isinstance(event, e.TurnStarted):
            turn = _Taken(event.turn_id, stored.at_ms)
        if turn is None:
            continue
        if not isinstance(event, _ENDS_WAITING):
            # A clock may be set back.
            turn.duration_ms += max(0, stored.at_ms - turn.before_ms)
        turn.before_ms = stored.at_ms
        match event:
            case e.RequestPrepared():
                turn.steps = max(turn.steps, event.number)
            case e.AttemptFinished() | e.AdviceGiven() | e.ChildEnded():
                turn.usage += event.usage
            case e.TurnEnded():
                rows.append(turn.row())
                turn = None
            case _:
                pass
    return rows
