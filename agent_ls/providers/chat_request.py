"""Converts a model request to OpenAI's chat format: messages, tools, cache markers.

Pure: the same request and dialect give the same messages, so that prompt caches hit.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Protocol
from urllib.parse import urlsplit

from agent_ls.domain.calls import ToolCall
from agent_ls.domain.messages import (
    AssistantMessage,
    Message,
    ProviderData,
    ToolMessage,
    UserMessage,
)
from agent_ls.domain.model_io import ModelRequest, ToolSpec
from agent_ls.domain.pictures import MediaType, Picture
from agent_ls.pictures.reading import as_png
from agent_ls.providers.dialects import Dialect
from agent_ls.providers.shapes import Object, as_list, as_object

MARKED_MESSAGES = 3
"""Number of newest messages that get a cache marker. With the system prompt's marker that makes
four, Anthropic's maximum."""

# Thinking counts as output, so it needs room on top of the answer. These values exceed litellm's
# own budgets for the efforts.
_THINKING_TOKENS = {"low": 4_096, "medium": 8_192, "high": 16_384}
_FAMILY = re.compile("[a-z]+")
EPHEMERAL = {"cache_control": {"type": "ephemeral"}}
_BRIDGE = "(The images follow.)"


def chat_messages(request: ModelRequest, dialect: Dialect, origin: str = "") -> list[Object]:
    """Return the system prompt and the conversation as chat messages.

    Shape: in order, one per message, after one for a non-empty system prompt, unless the dialect
    joins messages. The images of results follow them as a user's message, since a tool's message
    holds text alone. ``origin`` is the endpoint: only what it sent goes back.
    """
    found: list[Object] = []
    role = "user" if dialect.system_as_user else "system"
    system: Object = {"role": role, "content": request.system}
    for message in ([system] if request.system else []) + [*_said(request, dialect, origin)]:
        last = found[-1] if found else {}
        if not _is_joined(last, message, dialect):
            found.append(message)
        elif last["role"] == "tool" and not isinstance(message["content"], str):
            # Images fit into no tool's message, and no user may speak after one here.
            found.append({"role": "assistant", "content": _BRIDGE})
            found.append(message)
        else:
            found[-1] = {**last, "content": _joined(last["content"], message["content"])}
    return found


def _said(request: ModelRequest, dialect: Dialect, origin: str) -> Iterator[Object]:
    """Yield the messages; the images of an answer's results come after all of these."""
    names = wire_ids(request.messages, dialect)
    seen: list[ToolMessage] = []
    for message in request.messages:
        if seen and not isinstance(message, ToolMessage):
            yield _images_of(seen, request.images, dialect)
            seen = []
        match message:
            case UserMessage():
                text = message.text or "(empty)"
                content = _with_images(text, message.images, request.images, dialect)
                yield {"role": "user", "content": content}
            case AssistantMessage():
                yield _assistant(message, names, dialect, origin)
            case ToolMessage():
                call_id = names.get(message.call_id, message.provider_id or message.call_id)
                yield {"role": "tool", "tool_call_id": call_id, "content": message.text}
                seen += [message] if message.images else []
    if seen:
        yield _images_of(seen, request.images, dialect)


def _images_of(results: Sequence[ToolMessage], data: Mapping[str, str], dialect: Dialect) -> Object:
    tools = ", ".join(one.tool for one in results)
    images = [image for one in results for image in one.images]
    text = f"(Images in the result of {tools}; not the user's words.)"
    return {"role": "user", "content": _with_images(text, images, data, dialect)}


def _with_images(
    text: str, images: Sequence[Picture], data: Mapping[str, str], dialect: Dialect
) -> str | list[Object]:
    """Return a text alone, or as parts with the images behind it, each after its name."""
    parts: list[Object] = [{"type": "text", "text": text}]
    for image in images:
        if image.words() not in text:
            parts.append({"type": "text", "text": image.words()})
        kind, encoded = sent_image(image, data, dialect)
        url = f"data:{kind};base64,{encoded}"
        parts.append({"type": "image_url", "image_url": {"url": url}})
    return parts if images else text


def sent_image(image: Picture, data: Mapping[str, str], dialect: Dialect) -> tuple[MediaType, str]:
    """Return an image's format and its bytes in base64, as the endpoint takes them."""
    encoded = data[image.digest]
    if image.media_type in dialect.image_types:
        return image.media_type, encoded
    return "image/png", as_png(encoded)


def with_content(messages: Sequence[Object], dialect: Dialect) -> list[Object]:
    """Give each message a content, which many servers and templates need beside calls, too."""
    no_text = None if dialect.no_text == "null" else ""
    return [{**message, "content": message.get("content", no_text)} for message in messages]


def _is_joined(last: Object, message: Object, dialect: Dialect) -> bool:
    roles = last.get("role"), message["role"]
    if roles == ("tool", "user"):
        return dialect.user_after_tool == "join"
    return roles == ("user", "user") and (dialect.alternates or dialect.system_as_user)


def _joined(one: object, other: object) -> object:
    """Return two contents as one, each a text or a list of parts."""
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}\n\n{other}"
    return [*_parts(one), *_parts(other)]


def _parts(content: object) -> list[object]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)


class Endpoint(Protocol):
    """Where a request goes."""

    provider: str
    endpoint: str


def origin_of(endpoint: Endpoint, model: str) -> str:
    """Return the name under which the fields of a model's answers are kept.

    It has the host, but no port, which changes when a local server starts again, and the first
    word of the model's name, because a gateway has models of several makers.
    """
    host = urlsplit(endpoint.endpoint).hostname or ""
    family = _FAMILY.match(model.rpartition("/")[2].lower())
    return f"{endpoint.provider} {host} {family[0] if family else ''}".strip()


def optional_fields(
    optional: Iterable[str], messages: Sequence[Object], dialect: Dialect
) -> frozenset[str]:
    """Return the names of the fields that a request can do without, in it and in its messages."""
    kept = dialect.message_fields | dialect.call_fields
    calls = [call for message in messages for call in as_list(message.get("tool_calls"))]
    sent = {name for one in [*messages, *map(as_object, calls)] for name in kept & {*one}}
    return frozenset(sent | set(optional) - {"tools"})


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
        wanted = request.max_output_tokens
        return min(wanted, most) if wanted and most else wanted
    if request.max_output_tokens is None:
        return most or None
    wanted = request.max_output_tokens + room
    return min(wanted, most) if most else wanted


def _is_markable(message: Object) -> bool:
    return bool(message.get("content"))


def _marked(message: Object) -> Object:
    if message["role"] == "tool":
        # Parts of a tool result cannot be marked, only the whole message.
        return {**message, **EPHEMERAL}
    parts = _parts(message["content"])
    at = max(n for n, one in enumerate(parts) if as_object(one).get("type") == "text")
    parts[at] = {**as_object(parts[at]), **EPHEMERAL}
    return {**message, "content": parts}


def _assistant(
    message: AssistantMessage, names: Mapping[str, str], dialect: Dialect, origin: str
) -> Object:
    if not message.calls:
        return {"role": "assistant", "content": message.text or "(empty)"}
    data = message.provider_data
    if data is None or data.origin != origin:
        data = ProviderData(origin=origin)
    message_fields = dialect.message_fields - dialect.leave_out
    call_fields = dialect.call_fields - dialect.leave_out
    own = {name: one for name, one in data.message.items() if name in message_fields}
    calls = [
        {
            "id": names[call.id],
            "type": "function",
            "function": {
                "name": wire_name(call.tool) or "unknown",
                "arguments": call_arguments(call),
            },
            **{
                name: one
                for name, one in data.calls.get(call.provider_id, {}).items()
                if name in call_fields
            },
        }
        for call in message.calls
    ]
    if not data.calls:
        calls[0] = {**calls[0], **dialect.fill_call}
    text: Object = {"content": message.text} if message.text else {}
    return {"role": "assistant", **text, "tool_calls": calls, **dialect.fill_message, **own}


def wire_ids(messages: Sequence[Message], dialect: Dialect) -> dict[str, str]:
    """Map our call ids to the provider's, or to ours if theirs is missing or already used."""
    names: dict[str, str] = {}
    used: set[str] = set()
    for message in messages:
        if isinstance(message, AssistantMessage):
            for call in message.calls:
                known = call.provider_id and call.provider_id not in used
                used.add(call.provider_id if known else call.id)
                names[call.id] = _wire_id(call.provider_id if known else call.id, dialect)
    return names


def _wire_id(call_id: str, dialect: Dialect) -> str:
    if not dialect.call_ids or re.fullmatch(dialect.call_ids, call_id):
        return call_id
    return hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:9]


def call_arguments(call: ToolCall) -> str:
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
