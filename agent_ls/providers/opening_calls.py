"""Says a custom command's own calls as the user's words, for models that think before each call.

Anthropic, with thinking on, refuses a turn whose first call has no signed thinking before it. No
model made these calls, so they have none; sent as calls, they would switch thinking off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_ls.domain.messages import AssistantMessage, Message, ToolMessage, UserMessage
from agent_ls.domain.model_io import ModelRequest


def opening_in_words(request: ModelRequest) -> ModelRequest:
    """Return the request with the calls that commands made first, and their results, as texts."""
    return request.model_copy(update={"messages": tuple(_said(request.messages))})


def _said(messages: Sequence[Message]) -> Iterator[Message]:
    made: dict[str, str] = {}
    for message in messages:
        match message:
            case AssistantMessage(is_opening=True, calls=calls):
                made.update((one.id, f"{one.tool} {one.arguments_json}") for one in calls)
            case ToolMessage(call_id=call_id) if call_id in made:
                text = f"(The command called {made[call_id]}. The result:)\n{message.text}"
                yield UserMessage(text=text, origin="command", images=message.images)
            case _:
                yield message
