"""Converts a model request to OpenAI's chat format: messages, tools, cache markers.

Pure: the same request and thinking blocks give the same messages, so that prompt caches hit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice

from agent_ls.domain.calls import ToolCall
from agent_ls.domain.messages import AssistantMessage, Message, ToolMessage, UserMessage
from agent_ls.domain.model_io import ModelRequest, ToolSpec
from agent_ls.providers.shapes import Object

MARKED_MESSAGES = 3
"""Number of newest messages that get a cache marker. With the system prompt's marker that makes
four, Anthropic's maximum."""

# Thinking counts as output, so it needs room on top of the answer. These values exceed litellm's
# own budgets for the efforts.
_THINKING_TOKENS = {"low": 4_096, "medium": 8_192, "high": 16_384}
_EPHEMERAL = {"cache_control": {"type": "ephemeral"}}

ThinkingBlocks = Mapping[str, Sequence[Object]]
"""Signed or encrypted thinking, keyed by the provider's id of the first call after it."""


def chat_messages(request: ModelRequest, thinking: ThinkingBlocks | None = None) -> list[Object]:
    """Return the system prompt and the conversation as chat messages.

    Shape: in order, one per message, after one for a non-empty system prompt.
    """
    names = _wire_ids(request.messages)
    found: list[Object] = [{"role": "system", "content": request.system}] if request.system else []
    for message in request.messages:
        match message:
            case UserMessage():
                found.append({"role": "user", "content": message.text or "(empty)"})
            case AssistantMessage():
                found.append(_assistant(message, names, thinking or {}))
            case ToolMessage():
                call_id = names.get(message.call_id, message.provider_id or message.call_id)
                found.append({"role": "tool", "tool_call_id": call_id, "content": message.text})
    return found


def chat_tools(tools: Sequence[ToolSpec]) -> list[Object]:
    """Return the tools as chat functions, in order."""
    return [
        {
            "type": "function",
            "function": {
                "name": wire_name(tool.name),
                "description": tool.description,
                "parameters": tool.parameters,
            },
        }
        for tool in tools
    ]


def wire_name(tool: str) -> str:
    """Return a tool's name for a provider: most refuse the ``/`` of ``server/tool``."""
    return tool.replace("/", "__", 1)


def tool_name(wire: str) -> str:
    """Return our name of a tool that a provider's answer names."""
    return wire if "/" in wire else wire.replace("__", "/", 1)


def mark_for_cache(messages: Sequence[Object]) -> list[Object]:
    """Return the messages with cache markers on the system prompt and the newest messages.

    For models that cache only marked messages.
    """
    marked = list(messages)
    places = [index for index, message in enumerate(marked) if message["role"] == "system"]
    newest = (
        i for i in range(len(marked) - 1, -1, -1) if i not in places and _is_markable(marked[i])
    )
    for index in (*places, *islice(newest, MARKED_MESSAGES)):
        marked[index] = _marked(marked[index])
    return marked


def needs_cache_markers(model: str) -> bool:
    """Say whether a model caches only marked messages; Anthropic's do, on every provider."""
    return "claude" in model.lower() or model.startswith("anthropic/")


def most_tokens(request: ModelRequest, effort: str | None, most: int = 0) -> int | None:
    """Return the ``max_tokens`` to send; None leaves the limit to the provider.

    ``most`` is the model's own maximum, 0 if unknown. With an effort, the limit includes room for
    thinking, which would otherwise use up the answer's tokens. litellm's own limit for Claude
    leaves only 4,096 tokens for the answer.
    """
    room = _THINKING_TOKENS.get(effort or "")
    if room is None:
        return request.max_output_tokens
    if request.max_output_tokens is None:
        return most or None
    wanted = request.max_output_tokens + room
    return min(wanted, most) if most else wanted


def _is_markable(message: Object) -> bool:
    return bool(message.get("content"))


def _marked(message: Object) -> Object:
    if message["role"] == "tool":
        # Parts of a tool result cannot be marked, only the whole message.
        return {**message, **_EPHEMERAL}
    return {**message, "content": [{"type": "text", "text": message["content"], **_EPHEMERAL}]}


def _assistant(
    message: AssistantMessage, names: Mapping[str, str], thinking: ThinkingBlocks
) -> Object:
    if not message.calls:
        return {"role": "assistant", "content": message.text or "(empty)"}
    text: Object = {"content": message.text} if message.text else {}
    found: Object = {
        "role": "assistant",
        **text,
        "tool_calls": [
            {
                "id": names[call.id],
                "type": "function",
                "function": {
                    "name": wire_name(call.tool) or "unknown",
                    "arguments": _arguments(call),
                },
            }
            for call in message.calls
        ],
    }
    blocks = thinking.get(message.calls[0].provider_id)
    if not blocks:
        return found
    is_encrypted = blocks[0].get("type") == "reasoning"
    return {**found, "reasoning_items" if is_encrypted else "thinking_blocks": list(blocks)}


def _wire_ids(messages: Sequence[Message]) -> dict[str, str]:
    """Map our call ids to the provider's, or to ours if theirs is missing or already used."""
    names: dict[str, str] = {}
    used: set[str] = set()
    for message in messages:
        if isinstance(message, AssistantMessage):
            for call in message.calls:
                known = call.provider_id and call.provider_id not in used
                names[call.id] = call.provider_id if known else call.id
                used.add(names[call.id])
    return names


def _arguments(call: ToolCall) -> str:
    """Return the model's arguments, wrapped in an object if they are not a JSON object."""
    if _is_object(call.arguments_json):
        return call.arguments_json
    return json.dumps({"unparsable_arguments": call.arguments_json}, ensure_ascii=False)


@lru_cache(maxsize=4096)
def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
