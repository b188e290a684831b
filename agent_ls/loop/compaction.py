"""What a compaction makes of a conversation. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.domain.events import Compacted
from agent_ls.domain.messages import Message, ToolMessage, UserMessage


def compacted(messages: Sequence[Message], event: Compacted) -> tuple[Message, ...]:
    """Return the conversation after a compaction."""
    kept = messages[event.drop_before :]
    if event.max_result_chars:
        kept = [_with_short_result(one, event.max_result_chars) for one in kept]
    if not event.summary:
        return tuple(kept)
    return (UserMessage(text=event.summary, origin="summary"), *kept)


def _with_short_result(message: Message, chars: int) -> Message:
    if not isinstance(message, ToolMessage) or len(message.text) <= chars:
        return message
    left_out = len(message.text) - chars
    marker = f"[… {left_out:,} characters left out to save room; call it again if you need them]"
    return message.model_copy(update={"text": f"{message.text[:chars]}\n{marker}"})
