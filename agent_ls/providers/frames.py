"""What goes over the pipes between server and model host: frames, and the words in them.

A frame is four bytes of length, big-endian, and that many bytes. To the host a frame is a line of
JSON (the order) and after it the order's payload; from the host it is a JSON list of reports, each
a list that starts with a request's number and a word.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from typing import BinaryIO, Literal

from pydantic import Field

from agent_ls.domain.model_io import (
    CallClosed,
    CallCut,
    FinishReason,
    ModelEvent,
    ReasoningDelta,
    StreamFinished,
    TextDelta,
)
from agent_ls.domain.record import Record
from agent_ls.domain.usage import Usage

_LENGTH = struct.Struct(">I")
LENGTH_BYTES = _LENGTH.size

Report = Sequence[object]
"""``[number, word, …]``; number 0 concerns the host itself."""

FACTS, GONE, FAILED = "facts", "gone", "failed"
"""Words of reports that are no model events: ``FACTS card``, ``FAILED trouble``."""


class Limits(Record):
    """How long a request may take to connect, to say its first word, and to say the next."""

    connect_s: float = 15.0
    first_chunk_s: float = 180.0
    idle_s: float = 60.0


class Access(Record):
    """How to reach a model, handed over with each request and kept nowhere."""

    api_key: str | None = None
    api_base: str | None = None
    extra: Mapping[str, str] = Field(default_factory=dict[str, str])
    """Further arguments for litellm, such as ``api_version`` or ``aws_region_name``."""


class Order(Record):
    """What the server asks of the host."""

    op: Literal["request", "facts", "cancel"]
    number: int = 0
    model: str = ""
    access: Access = Access()
    limits: Limits = Limits()
    slot: int = 0
    kept: int = 0
    """The conversation begins with that many messages of the slot's last one."""


class Trouble(Record):
    """Why a request failed, as far as the host can tell."""

    failure: str
    detail: str
    """The provider's own words, cleaned and cut."""
    status: int | None = None
    retry_after_s: float | None = None
    endpoint: str = ""
    provider: str = ""
    cause: str = ""


def encode(body: bytes) -> bytes:
    """Return a frame."""
    return _LENGTH.pack(len(body)) + body


def encode_order(order: Order, payload: bytes = b"") -> bytes:
    """Return the frame of an order."""
    return encode(order.model_dump_json(exclude_unset=True).encode() + b"\n" + payload)


def read_order(stream: BinaryIO) -> tuple[Order, bytes] | None:
    """Return the next order and its payload from a blocking stream; None at its end."""
    head = stream.read(LENGTH_BYTES)
    if len(head) < LENGTH_BYTES:
        return None
    body = stream.read(frame_length(head))
    line, _, payload = body.partition(b"\n")
    return Order.model_validate_json(line), payload


def frame_length(head: bytes) -> int:
    """Return the length that a frame's first four bytes announce."""
    return int(_LENGTH.unpack(head)[0])


def encode_reports(reports: Sequence[Report]) -> bytes:
    """Return the frame of a batch of reports."""
    text = json.dumps(reports, ensure_ascii=False, separators=(",", ":"))
    return encode(text.encode("utf-8", "replace"))


def report_event(number: int, event: ModelEvent) -> list[object]:
    """Return the report of a model event."""
    match event:
        case TextDelta(text):
            return [number, "text", text]
        case ReasoningDelta(text):
            return [number, "reasoning", text]
        case CallClosed(call_id, tool, arguments):
            return [number, "closed", call_id, tool, arguments]
        case CallCut(call_id, tool, arguments):
            return [number, "cut", call_id, tool, arguments]
        case StreamFinished(finish, usage, model):
            return [number, "finished", finish.value, usage.model_dump(), model]


def read_event(report: Report) -> ModelEvent | None:
    """Return the model event a report tells of; None when it tells of something else."""
    match report:
        case [_, "text", str(text)]:
            return TextDelta(text)
        case [_, "reasoning", str(text)]:
            return ReasoningDelta(text)
        case [_, "closed", str(call_id), str(tool), str(arguments)]:
            return CallClosed(call_id, tool, arguments)
        case [_, "cut", str(call_id), str(tool), str(arguments)]:
            return CallCut(call_id, tool, arguments)
        case [_, "finished", str(finish), usage, str(model)]:
            return StreamFinished(FinishReason(finish), Usage.model_validate(usage), model)
        case _:
            return None
