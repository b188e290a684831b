"""COMPACT: can the context shrink enough? Accepted only if it really shrinks."""

from __future__ import annotations

from typing import assert_never

from agent_ls.domain.events import Compacted
from agent_ls.domain.messages import UserMessage
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import Shortened, Unchanged
from agent_ls.loop.turn import Move, Turn
from agent_ls.loop.view import message_tokens

_TARGET_SHARE = 0.5
"""Of the window: what a compaction aims at, so that the next one is not due at once."""
_TARGET_WITHOUT_WINDOW = 0.5
"""Of the present size, when the window is unknown."""


async def compact(turn: Turn) -> Move:
    """Ask the compactors, cheapest first, until the target is met or none can help."""
    before = turn.view.estimated_tokens
    target = int(turn.facts.window_tokens * _TARGET_SHARE or before * _TARGET_WITHOUT_WINDOW)
    for one in turn.kit.compactors:
        view = turn.view
        if view.estimated_tokens <= target:
            break
        verdict = await one.compact(view, target)
        match verdict:
            case Unchanged():
                continue
            case Shortened(drop_before=index, summary=summary):
                summary_tokens = message_tokens(UserMessage(text=summary))
                saved = sum(map(message_tokens, view.messages[:index])) - summary_tokens
                if saved <= 0:
                    continue
                await turn.emit(
                    Compacted(
                        origin=one.name,
                        why=turn.state.why,
                        drop_before=index,
                        summary=summary,
                        before_tokens=view.estimated_tokens,
                        after_tokens=view.estimated_tokens - saved,
                    )
                )
            case _:
                assert_never(verdict)
    if turn.view.estimated_tokens < before:
        return Move(Phase.CHECK)
    return Move(
        Phase.CLOSE,
        StopReason.CONTEXT_FULL,
        "The conversation no longer fits the model and cannot be shortened further. "
        "Start a new session, or choose a model with a larger window.",
    )
