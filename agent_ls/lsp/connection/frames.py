"""Bytes to JSON values and back: the `Content-Length` framing of the base protocol.

Owns the frame limits. Does no I/O and knows no method; `stdio` feeds it and `protocol` judges what
it returns. A body that is no good costs itself; a header that is no good ends the stream, because
nobody knows where the next message begins.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

MAX_FRAME_BYTES: Final = 64 * 1024 * 1024
"""A longer body is refused from its header, and skipped without being kept."""

MAX_NESTING: Final = 200
"""Deeper JSON is refused: every later step over it would have to recurse as deep."""

_MAX_HEADER_BYTES: Final = 4096
_HEADER: Final = re.compile(rb"(?:[^\r\n]+\r?\n)+\r?\n")
_LENGTH: Final = re.compile(rb"^content-length[ \t]*:[ \t]*([0-9]{1,10})[ \t]*\r?$", re.I | re.M)
# Strings are taken whole, closed or not: a hostile body is read once, not once per quote.
_BRACKETS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\Z|\\\Z)|[\[\]{}]', re.S)


@dataclass(frozen=True)
class Message:
    """One decoded JSON value; whether it is a request, an answer or neither is not known here."""

    value: object


@dataclass(frozen=True)
class Fault:
    """What was wrong with a piece of the stream, in words for the client's log."""

    reason: str
    value: object = None
    """What the body seems to say, read with replacements: good for finding an id, nothing else."""
    is_end: bool = False
    """Nothing after it can be read."""


def encode_frame(body: str) -> bytes:
    """One frame holding `body`, which must be ASCII (as `json.dumps` makes it by default)."""
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body.encode("ascii"))


class FrameDecoder:
    """Cuts a byte stream into JSON values and faults; never raises."""

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._buffer = bytearray()
        self._body_bytes: int | None = None
        """Length of the body that is being read, or None between frames."""
        self._skipped_bytes = 0
        """So much of a body that is too long is still to come."""
        self._is_ended = False

    def feed(self, data: bytes) -> list[Message | Fault]:
        """The values and faults that `data` completes, in the order of the stream."""
        found: list[Message | Fault] = []
        if not self._is_ended:
            self._buffer += data
            while self._step(found):
                pass
        return found

    def _step(self, found: list[Message | Fault]) -> bool:
        """Takes one header block or one body off the buffer; False when more bytes are needed."""
        if self._skipped_bytes:
            taken = min(self._skipped_bytes, len(self._buffer))
            del self._buffer[:taken]
            self._skipped_bytes -= taken
            return taken > 0
        if self._body_bytes is None:
            return self._take_header(found)
        if len(self._buffer) < self._body_bytes:
            return False
        found.append(_parse(bytes(self._buffer[: self._body_bytes])))
        del self._buffer[: self._body_bytes]
        self._body_bytes = None
        return True

    def _take_header(self, found: list[Message | Fault]) -> bool:
        header = _HEADER.match(self._buffer)
        if header is None:
            if len(self._buffer) > _MAX_HEADER_BYTES:
                self._end(found)
            return False
        lengths = _LENGTH.findall(header[0])
        end = header.end()
        if not lengths or end > _MAX_HEADER_BYTES:
            self._end(found)
            return False
        length = int(lengths[-1])
        # The match holds the buffer until it is gone.
        del header, self._buffer[:end]
        if length > self._max_frame_bytes:
            self._skipped_bytes = length
            limit = self._max_frame_bytes
            found.append(Fault(f"a message announced with more than {limit} bytes"))
        else:
            self._body_bytes = length
        return True

    def _end(self, found: list[Message | Fault]) -> None:
        self._is_ended = True
        self._buffer.clear()
        found.append(Fault("a header without a usable Content-Length", is_end=True))


def _parse(body: bytes) -> Message | Fault:
    if _is_too_deep(body):
        return Fault(f"a message nested deeper than {MAX_NESTING} levels")
    try:
        return Message(json.loads(body.decode("utf-8"), parse_constant=_refuse_constant))
    except UnicodeDecodeError as error:
        return Fault(f"a message that is not UTF-8 at byte {error.start}", _guess(body))
    except (ValueError, RecursionError) as error:
        # ValueError covers malformed JSON and integers of thousands of digits.
        return Fault(f"a message that is not JSON: {str(error)[:200]}")


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _guess(body: bytes) -> object:
    try:
        return json.loads(body.decode("utf-8", errors="replace"))
    except (ValueError, RecursionError):
        return None


def _is_too_deep(body: bytes) -> bool:
    """Whether brackets nest deeper than allowed; counts first, so ordinary bodies cost nothing."""
    if body.count(b"[") + body.count(b"{") <= MAX_NESTING:
        return False
    depth = 0
    for match in _BRACKETS.finditer(body):
        token = match[0]
        if token in (b"[", b"{"):
            depth += 1
            if depth > MAX_NESTING:
                return True
        elif token in (b"]", b"}"):
            depth -= 1
    return False
