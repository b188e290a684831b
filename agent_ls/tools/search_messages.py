"""Reads what ripgrep prints with ``--json``, whatever the length of a line.

A message holds a whole line of a file. One that is too long to keep is read by its beginning, which
names the file, and by what follows the text, which says where the match is.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

MAX_MESSAGE_BYTES = 4 * 2**20
_BLOCK = 2**16
_HEAD_BYTES = 2**15
_AFTER_TEXT = b'},"line_number":'
"""Stands once in a message: quotes in texts are escaped."""
_AFTER_BYTES = 2**13
_MAX_SPANS = 1_000
_PATH = re.compile(rb'"path":(\{.*?\}),"lines":')
_FACTS = re.compile(rb'(\d+),"absolute_offset":(\d+),"submatches":\[')
_FIRST = re.compile(rb'\{"match":\{.*?\},"start":(\d+),"end":(\d+)\}')


@dataclass(frozen=True, slots=True)
class Hit:
    """One line that matches."""

    path: str
    """Relative to the folder that was searched from, or the name of a text."""
    line: int
    """1-based."""
    data: bytes
    """The line, or what is known of a very long one."""
    start: int | None = None
    """Where the line begins in the file, in bytes."""
    spans: tuple[tuple[int, int], ...] = ()
    """The matches, as offsets in ``data``."""
    is_utf8: bool = True
    """False: the bytes are as the file has them."""
    offset: int | None = None
    """Of a line that is too long to keep: where its first match begins in the file, in bytes."""
    skipped: int = 0
    """Bytes of the line before ``data``."""
    left: int = 0
    """Bytes of the line after ``data``."""


async def messages(stdout: asyncio.StreamReader) -> AsyncIterator[Hit | str]:
    """Yield the hits, and before those of each file its path."""
    async for line in _lines(stdout):
        if isinstance(line, _Long):
            if (hit := _long_hit(line)) is not None:
                yield hit
            continue
        message = json.loads(line)
        if message["type"] == "begin":
            yield path_of(message["data"]["path"])
        elif message["type"] == "match":
            yield _hit(message["data"])


def path_of(value: dict[str, str]) -> str:
    """Return a path relative to the folder that was searched from."""
    return _bytes(value).decode(errors="replace").removeprefix("./")


def _bytes(value: dict[str, str]) -> bytes:
    """Return a text of ripgrep's, which is in base64 if it is not UTF-8."""
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])


def _hit(data: dict[str, Any]) -> Hit:
    spans = tuple((one["start"], one["end"]) for one in data["submatches"][:_MAX_SPANS])
    lines, start = data["lines"], data["absolute_offset"]
    return Hit(
        path_of(data["path"]), data["line_number"], _bytes(lines), start, spans, "text" in lines
    )


def _long_hit(message: _Long) -> Hit | None:
    """Return the hit in a line that was not kept; None for a message of another kind."""
    path, facts = _PATH.search(message.head), _FACTS.match(message.tail)
    if path is None or facts is None:
        return None
    first = _FIRST.match(message.tail, facts.end())
    start, end = (int(first[1]), int(first[2])) if first else (0, 0)
    return Hit(
        path_of(json.loads(path[1])),
        int(facts[1]),
        b"",
        spans=((0, end - start),),
        offset=int(facts[2]) + start,
        skipped=start,
    )


@dataclass(slots=True)
class _Long:
    """A message that is too long to keep."""

    head: bytes
    tail: bytes = b""
    """What follows the text of the line."""


async def _lines(stdout: asyncio.StreamReader) -> AsyncIterator[bytes | _Long]:
    """Yield the lines as bytes; one that is too long as ``_Long``."""
    kept = bytearray()
    long: _Long | None = None
    while block := await stdout.read(_BLOCK):
        pieces = block.split(b"\n")
        for number, piece in enumerate(pieces):
            kept += piece
            if long is None and len(kept) > MAX_MESSAGE_BYTES:
                long = _Long(bytes(kept[:_HEAD_BYTES]))
            if long is not None:
                _keep_tail(long, kept)
            if number < len(pieces) - 1:
                yield bytes(kept) if long is None else long
                kept, long = bytearray(), None


def _keep_tail(long: _Long, kept: bytearray) -> None:
    """Look for the end of the text in the newest bytes of a long message, and drop the others."""
    if long.tail:
        long.tail += bytes(kept[: max(0, _AFTER_BYTES - len(long.tail))])
        kept.clear()
    elif (at := kept.find(_AFTER_TEXT)) >= 0:
        long.tail = bytes(kept[at + len(_AFTER_TEXT) :][:_AFTER_BYTES])
        kept.clear()
    else:
        del kept[: -len(_AFTER_TEXT)]
