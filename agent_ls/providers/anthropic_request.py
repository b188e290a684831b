"""Converts a model request to Anthropic's Messages format: messages, tools, thinking, markers.

Pure: the same request and dialect give the same body, so that prompt caches hit.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from agent_ls.domain.calls import ToolCall
from agent_ls.domain.messages import AssistantMessage, Message, ToolMessage, UserMessage
from agent_ls.domain.model_io import ModelRequest, ToolSpec
from agent_ls.providers.chat_request import (
    EPHEMERAL,
    MARKED_MESSAGES,
    call_arguments,
    most_tokens,
    sent_image,
    wire_ids,
    wire_name,
)
from agent_ls.providers.dialects import Dialect
from agent_ls.providers.opening_calls import opening_in_words
from agent_ls.providers.shapes import Object, as_count, as_list, as_object

BLOCKS: Final = "blocks"
"""The field of a message's provider data that holds its blocks in their order."""
_MOST_TOKENS: Final = 32_000
"""Longest answer of a model that is in no table; each Claude since 4 gives as much."""
_BUDGETS: Final = {"low": 2_048, "medium": 4_096, "high": 16_384}
"""Tokens of thinking by effort; at most the room that ``most_tokens`` makes for it."""
_LEAST_BUDGET: Final = 1_024
_EMPTY: Final = "(empty)"
_THINKING: Final = frozenset({"thinking", "redacted_thinking"})


def messages_body(request: ModelRequest, dialect: Dialect, origin: str, most: int) -> Object:
    """Return the body of a request.

    ``origin`` is the endpoint: only its own thinking goes back. ``most`` is the model's longest
    answer in tokens, 0 if unknown.
    """
    if {"thinking", "blocks"} & dialect.leave_out:
        # Without thinking, that of earlier answers is refused, too.
        origin = ""
    if dialect.thinking == "budget" and request.reasoning_effort in _BUDGETS:
        request = opening_in_words(request)
    effort = _effort(request, dialect, origin)
    max_tokens = most_tokens(request, effort, most) or most or _MOST_TOKENS
    optional = {
        "temperature": None if effort else request.temperature,
        "tools": _tools(request.tools, dialect) or None,
        "tool_choice": {"type": request.tool_choice} if request.tools else None,
        **_thinking(effort, dialect, max_tokens - (request.max_output_tokens or 0)),
    }
    mark: Object = {} if "cache_control" in dialect.leave_out else {**EPHEMERAL}
    system = [{"type": "text", "text": request.system, **mark}] if request.system else None
    return {
        "model": request.model.removeprefix("anthropic/"),
        "max_tokens": max_tokens,
        "stream": True,
        **({"system": system} if system else {}),
        **{
            name: value
            for name, value in optional.items()
            if value is not None and name not in dialect.leave_out
        },
        "messages": _marked(_messages(request, dialect, origin), mark),
    }


def _effort(request: ModelRequest, dialect: Dialect, origin: str) -> str | None:
    """Return the effort of thinking; None: the model is not asked to think.

    With a budget, Claude refuses to think in a turn whose first calls lack their thinking.
    """
    effort = request.reasoning_effort
    if effort not in _BUDGETS or "thinking" in dialect.leave_out:
        return None
    if dialect.thinking == "adaptive":
        return effort
    first = next((one for one in _of_last_turn(request.messages) if one.calls), None)
    return effort if first is None or _kept(first, origin) else None


def _of_last_turn(messages: Sequence[Message]) -> list[AssistantMessage]:
    """Return the answers since the user last spoke."""
    said = (
        number
        for number, one in enumerate(messages)
        if isinstance(one, UserMessage) and one.origin in ("user", "steer", "summary")
    )
    begin = max(said, default=0)
    return [one for one in messages[begin:] if isinstance(one, AssistantMessage)]


def _thinking(effort: str | None, dialect: Dialect, room_tokens: int) -> Object:
    """Return the fields that ask for thinking; with a budget it takes no more than the room."""
    if effort is None:
        return {}
    if dialect.thinking == "budget":
        budget = max(_LEAST_BUDGET, min(_BUDGETS[effort], room_tokens))
        return {"thinking": {"type": "enabled", "budget_tokens": budget}}
    # Without a display, newer models send thinking without its text.
    thinking = {"type": "adaptive", "display": "summarized"}
    return {"thinking": thinking, "output_config": {"effort": effort}}


def _tools(tools: Sequence[ToolSpec], dialect: Dialect) -> list[Object]:
    # Without it, a long argument comes at once when it is whole.
    eager: Object = {"eager_input_streaming": True}
    if "eager_input_streaming" in dialect.leave_out:
        eager = {}
    return [
        {
            "name": wire_name(tool.name),
            "description": tool.description,
            "input_schema": tool.parameters,
            **eager,
        }
        for tool in tools
    ]


def _messages(request: ModelRequest, dialect: Dialect, origin: str) -> list[Object]:
    """Return the messages; those of one role in a row are one."""
    ids = wire_ids(request.messages, dialect)
    found: list[Object] = []
    for message in request.messages:
        role, blocks = "user", []
        match message:
            case UserMessage():
                blocks = [_text(message.text), *_images(message, request, dialect)]
            case AssistantMessage():
                role, blocks = "assistant", _answer(message, ids, origin)
            case ToolMessage():
                blocks = [_result(message, ids, _images(message, request, dialect))]
        if found and found[-1]["role"] == role:
            blocks = [*as_list(found.pop()["content"]), *blocks]
        found.append({"role": role, "content": blocks})
    return found


def _text(text: str) -> Object:
    return {"type": "text", "text": text if text.strip() else _EMPTY}


def _images(
    message: UserMessage | ToolMessage, request: ModelRequest, dialect: Dialect
) -> list[Object]:
    """Return the blocks of a message's images, each after its name."""
    found: list[Object] = []
    for image in message.images:
        if image.words() not in message.text:
            found.append(_text(image.words()))
        kind, encoded = sent_image(image, request.images, dialect)
        source = {"type": "base64", "media_type": kind, "data": encoded}
        found.append({"type": "image", "source": source})
    return found


def _result(message: ToolMessage, ids: dict[str, str], images: list[Object]) -> Object:
    call_id = ids.get(message.call_id, message.provider_id or message.call_id)
    # A result marked as an error may hold text alone; the text says that the call failed.
    failed: Object = {"is_error": True} if message.error and not images else {}
    content = [_text(message.text), *images] if images else message.text
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **failed}


def _answer(message: AssistantMessage, ids: dict[str, str], origin: str) -> list[Object]:
    """Return the blocks of an answer: thinking has to stand where it stood."""
    kept = _kept(message, origin)
    texts = _texts(message.text, [one for one in kept if one.get("type") == "text"])
    calls = [(call.provider_id, _call(call, ids)) for call in message.calls]
    found: list[Object] = []
    for block in kept:
        match block.get("type"):
            case "text":
                found.append(_text(texts.pop(0)))
            case "tool_use":
                at = next((n for n, one in enumerate(calls) if one[0] == block.get("id")), None)
                found += [calls.pop(at)[1]] if at is not None else []
            case _:
                found.append(block)
    found += [*map(_text, texts), *(call for _, call in calls)]
    # A text of blanks is refused, and a message without blocks, too.
    return [one for one in found if one.get("text") != _EMPTY] or [_text("")]


def _texts(text: str, blocks: Sequence[Object]) -> list[str]:
    """Return the parts of a text that stood in these blocks; all in the first, if it changed."""
    sizes = [as_count(one.get("characters")) for one in blocks]
    if sum(sizes) != len(text):
        return [text, *[""] * (len(sizes) - 1)]
    ends = list(accumulate(sizes))
    return [text[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def _call(call: ToolCall, ids: dict[str, str]) -> Object:
    name = wire_name(call.tool) or "unknown"
    arguments: object = json.loads(call_arguments(call))
    return {"type": "tool_use", "id": ids[call.id], "name": name, "input": arguments}


def _kept(message: AssistantMessage, origin: str) -> list[Object]:
    """Return the blocks as they came, in their order; of texts and calls only their size and id."""
    data = message.provider_data
    if data is None or not origin or data.origin != origin:
        return []
    return [as_object(one) for one in as_list(data.message.get(BLOCKS))]


def _marked(messages: list[Object], mark: Object) -> list[Object]:
    """Return the messages with cache markers on the newest, up to which the prompt is cached."""
    marked = list(messages)
    for number in range(max(0, len(marked) - MARKED_MESSAGES), len(marked)):
        blocks = [as_object(one) for one in as_list(marked[number]["content"])]
        if blocks and blocks[-1]["type"] not in _THINKING:
            blocks[-1] = {**blocks[-1], **mark}
            marked[number] = {**marked[number], "content": blocks}
    return marked
