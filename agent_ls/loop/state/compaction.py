"""Applies a compaction to a conversation. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.domain.events import Compacted
from agent_ls.domain.messages import Message, ToolMessage, UserMessage
from agent_ls.loop.state.pictures import all_in_words

CHARS_PER_TOKEN = 4
MAX_SENT_SHARE = 0.8
"""Share of the window that is filled: the answer needs room, and sizes are estimates."""
_HANDLE_CHARS = 12
_MARKER_CHARS = 150
"""Room for the marker text and a message's overhead."""
_MIN_RESULT_CHARS = 200


def compacted(messages: Sequence[Message], event: Compacted) -> tuple[Message, ...]:
    """Return the conversation after a compaction; only new images are kept."""
    kept = _with_new_images(messages[event.drop_before :])
    if event.max_result_chars:
        whole = max(event.short_from - event.drop_before, 0)
        kept = (*kept[:whole], *with_short_results(kept[whole:], event.max_result_chars))
    if not event.summary:
        return tuple(kept)
    return (UserMessage(text=event.summary, origin="summary"), *kept)


def _with_new_images(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages with words in the place of images that the model has answered to."""
    new = max((at for at, one in enumerate(messages) if one.role == "assistant"), default=0)
    return (*all_in_words(messages[:new], "left out to save room"), *messages[new:])


def with_short_results(messages: Sequence[Message], chars: int) -> tuple[Message, ...]:
    """Return the messages with results cut to ``chars``; a marker tells how to read the rest."""
    return tuple(_with_short_result(one, chars) for one in messages)


def result_chars_for(sizes: Sequence[int], room_chars: int) -> int:
    """Return the length to cut results of these sizes to, so that they fit together."""
    left = room_chars
    for number, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - number) - _MARKER_CHARS
        if size > share:
            return max(share, _MIN_RESULT_CHARS)
        left -= size + _MARKER_CHARS
    return max(sizes, default=0)


def _with_short_result(message: Message, chars: int) -> Message:
    if not isinstance(message, ToolMessage) or len(message.text) <= chars + _MARKER_CHARS:
        return message
    left_out = len(message.text) - chars
    how = "call it again for a smaller part"
    if message.output_id is not None:
        how = f'read_output(handle="{message.output_id[:_HANDLE_CHARS]}") shows the whole in parts'
    marker = f"[… {left_out:,} characters left out to save room; {how}]"
    return message.model_copy(update={"text": f"{message.text[:chars]}\n{marker}"})
