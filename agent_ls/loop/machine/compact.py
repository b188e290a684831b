"""COMPACT: can the context shrink enough? Only accepted if it really shrinks.

Source: S2 levels 2 and 3, S3 compaction, S0 auto-compaction and budget recovery.
"""

from __future__ import annotations

from typing import assert_never

from agent_ls.domain.events import Answered, Compacted, CompactionSettled, Moved
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import Shortened, Unchanged
from agent_ls.loop.extension_points import Compactor
from agent_ls.loop.machine.summaries import tokens_of
from agent_ls.loop.machine.turn_hooks import ask_at_compaction
from agent_ls.loop.state.compaction import MAX_SENT_SHARE, compacted
from agent_ls.loop.turn import Move, Turn

_FULL = (
    "The conversation no longer fits the model and cannot be shortened further. "
    "Start a new session, or choose a model with a larger window."
)


_ASKED = "The user asked for it."


async def compact(turn: Turn) -> Move:
    """Ask the compactors, cheapest first, until the target is met or none can help."""
    if turn.view.each_since(Compacted, Moved):
        # The process died between the compaction and the move; the compaction counts.
        await compact_as_asked(turn)
        return Move(Phase.CHECK)
    await ask_at_compaction(turn)
    if turn.state.recovers:
        await _ask(turn, turn.services.budget_compactors, 0, 0)
        return Move(Phase.CHECK)
    options = turn.services.options
    is_forced = turn.view.is_compaction_forced
    moves = turn.view.each_since(Moved, Answered)
    in_a_row = sum(one.to is Phase.COMPACT for one in moves)
    if is_forced and in_a_row > options.max_compactions:
        return Move(Phase.CLOSE, StopReason.CONTEXT_FULL, _FULL)
    before = turn.view.estimated_tokens
    target = _target(turn, options.compact_to_share)
    # A provider that rejected the request leaves less room than our table says.
    has_room = turn.facts.window_tokens and not turn.view.is_overflown
    fit = _target(turn, max(MAX_SENT_SHARE, options.compact_to_share)) if has_room else target
    await _ask(turn, turn.services.compactors, target, fit)
    await compact_as_asked(turn)
    if is_forced and turn.view.estimated_tokens >= before:
        return Move(Phase.CLOSE, StopReason.CONTEXT_FULL, _FULL)
    return Move(Phase.CHECK)


async def compact_as_asked(turn: Turn) -> None:
    """Shorten the conversation if the user asked for it, however much room there is.

    The first compactor that can shorten it is enough: those behind it lose more. Between turns this
    is all that happens, and the last turn is the one whose conversation is shortened.
    """
    if not turn.session.is_compaction_asked:
        return
    is_shorter = not turn.state.ended and bool(turn.view.each_since(Compacted, Moved))
    target = int(turn.view.estimated_tokens * turn.services.options.compact_to_share)
    for one in turn.services.compactors:
        if is_shorter:
            break
        verdict = await turn.consult(one.name, one.compact(turn.view, target), Unchanged())
        if isinstance(verdict, Shortened):
            is_shorter = await _shorten(turn, one.name, verdict, why=_ASKED)
    await turn.emit(CompactionSettled(is_shorter=is_shorter))


def _target(turn: Turn, share: float) -> int:
    """Return the estimated tokens that fill this share of the window."""
    view = turn.view
    window, size = turn.facts.window_tokens, view.estimated_tokens
    # A provider that rejects the request knows its limit better than our table.
    room = min(window or size, size) if view.is_overflown else window or size
    # Scale by the provider's count: an estimate that is too low would promise room.
    return int(room * share * size / max(view.context_tokens, size, 1))


async def _ask(turn: Turn, compactors: tuple[Compactor, ...], target: int, fit: int) -> None:
    """Let each compactor shorten what the previous one left, until the target is met.

    Those after the first lose more, so they are asked only when the conversation must fit. The last
    one cuts what the model has not seen yet, so it only makes it ``fit``.
    """
    limit = turn.facts.window_tokens * turn.services.options.compact_hard_share
    is_over = limit > 0 and turn.view.context_tokens >= limit
    must_fit = is_over or turn.view.is_compaction_forced
    for number, one in enumerate(compactors):
        view = turn.view
        is_last = number == len(compactors) - 1
        most = fit if is_last else target
        if view.estimated_tokens <= most or (number and not must_fit):
            continue
        verdict = await one.compact(view, most)
        match verdict:
            case Unchanged():
                continue
            case Shortened():
                await _shorten(turn, one.name, verdict)
            case _:
                assert_never(verdict)


async def _shorten(turn: Turn, origin: str, verdict: Shortened, *, why: str = "") -> bool:
    """Record the compaction unless it saves nothing; say whether it was recorded."""
    view = turn.view
    event = Compacted(
        origin=origin,
        why=why or turn.state.why,
        drop_before=verdict.drop_before,
        summary=verdict.summary,
        before_tokens=view.estimated_tokens,
        after_tokens=0,
        max_result_chars=verdict.max_result_chars,
        short_from=verdict.short_from,
        elapsed_s=view.elapsed_s,
    )
    saved = tokens_of(view.messages) - tokens_of(compacted(view.messages, event))
    if saved <= 0:
        return False
    after = view.estimated_tokens - saved
    await turn.emit(event.model_copy(update={"after_tokens": after}))
    return True
