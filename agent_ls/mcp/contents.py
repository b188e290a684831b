"""Turns the contents of a server's results into text, values for references, and images."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import mcp_types as types

from agent_ls.mcp.frames import MAX_IMAGES_BYTES, Reply

_MAX_IMAGES = 20
"""Of one result, as of one prompt."""
_Resource = types.TextResourceContents | types.BlobResourceContents


def read_result(number: int, result: types.CallToolResult, max_bytes: int) -> Reply:
    """Return what a tool answered as the reply to an order; texts are cut to ``max_bytes``."""
    images, is_complete = _kept(result.content, MAX_IMAGES_BYTES - 2 * max_bytes)
    parts = [block_text(one) for one in result.content]
    if not is_complete:
        parts.append("[not all images are kept: they are too large or too many]")
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False, indent=1)]
    text, is_cut = cut("\n".join(parts), max_bytes)
    values = [value for one in result.content if (value := _value(one)) is not None]
    value, is_value_cut = cut("\n".join(values), max_bytes)
    return Reply(
        number=number,
        text=text,
        value=None if value == text or not values else value,
        is_cut=is_cut or is_value_cut,
        images=images,
        is_error=result.is_error,
    )


def resource_text(contents: Sequence[_Resource]) -> str:
    """Return a resource's text alone; of several contents each begins with its address."""
    match contents:
        case [types.TextResourceContents(text=text)]:
            return text
        case _:
            return "\n".join(map(_named, contents))


def block_text(block: types.ContentBlock) -> str:
    """Return a part of a result or a prompt as text; what is no text is only named."""
    match block:
        case types.TextContent(text=text):
            return text
        case types.ImageContent() | types.AudioContent():
            return f"[{block.type} {block.mime_type}, {len(block.data) * 3 // 4:,} bytes]"
        case types.ResourceLink():
            return f"[resource {block.uri}: {block.name}]"
        case types.EmbeddedResource(resource=resource):
            return _named(resource)


def cut(text: str, max_bytes: int) -> tuple[str, bool]:
    """Return the text cut to ``max_bytes``, and whether something was left out."""
    data = text.encode(errors="replace")
    if len(data) <= max_bytes:
        return data.decode(), False
    kept = data[:max_bytes].decode(errors="ignore")
    return f"{kept}\n… ({len(data) - max_bytes:,} bytes left out)", True


def _value(block: types.ContentBlock) -> str | None:
    """Return what a reference to this part stands for; None for what is no text."""
    match block:
        case types.TextContent(text=text):
            return text
        case types.EmbeddedResource(resource=types.TextResourceContents(text=text)):
            return text
        case types.ResourceLink():
            return str(block.uri)
        case _:
            return None


def _named(resource: _Resource) -> str:
    if isinstance(resource, types.TextResourceContents):
        return f"[resource {resource.uri}]\n{resource.text}"
    return f"[resource {resource.uri}, which is no text]"


def _kept(content: Sequence[types.ContentBlock], room: int) -> tuple[tuple[str, ...], bool]:
    """Return the first images that fit into a reply, and whether these are all."""
    found = list(_images(content))
    kept: list[str] = []
    for data in found:
        room -= len(data)
        if room < 0 or len(kept) == _MAX_IMAGES:
            break
        kept.append(data)
    return tuple(kept), len(kept) == len(found)


def _images(content: Sequence[types.ContentBlock]) -> Iterator[str]:
    """Yield the images of a result, in base64."""
    for block in content:
        match block:
            case types.ImageContent(data=data):
                yield data
            case types.EmbeddedResource(
                resource=types.BlobResourceContents(mime_type=str(mime_type), blob=data)
            ) if mime_type.startswith("image/"):
                yield data
            case _:
                pass
