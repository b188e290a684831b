"""Bytes to JSON values and back: the `Content-Length` framing of the base protocol, hardened.

Owns the frame limits, and recovery after a bad frame. Does no I/O and knows no methods; `stdio`
feeds it and `protocol` checks the values.

Recovery rests on one fact: a JSON text has no raw line break inside a string. So a
`Content-Length: n` line before an empty line never occurs in a good body. Where it does occur, a
new frame begins, whatever the previous length said.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

MAX_FRAME_BYTES: Final = 64 * 1024 * 1024
"""A longer body is refused by its header, before anything is buffered."""

MAX_NESTING: Final = 200
"""Deeper JSON is refused, because later steps recurse over it."""

_MAX_HEADER_BYTES: Final = 4096
_KEPT_NOISE_BYTES: Final = 512
"""The tail of noise that may be the start of an incomplete header block."""
_BLANK_LINE: Final = b"\r\n\r\n"
_HEADER_LINE: Final = rb"[A-Za-z0-9-]+[ \t]*:[^\r\n]*\r?\n"
_HEADER_LINES: Final = re.compile(rb"(?:%s|\s)*" % _HEADER_LINE)
_LENGTH: Final = re.compile(rb"content-length[ \t]*:[ \t]*([0-9]+)[ \t]*\r?\n", re.I)
# So few further lines that a flood of them is not searched anew from each.
_HEADER: Final = re.compile(rb"%s(?:%s){0,3}\r?\n" % (_LENGTH.pattern, _HEADER_LINE), re.I)
# Match whole strings, closed or not: so a hostile body is scanned once, not once per quote.
_BRACKETS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\Z|\\\Z)|[\[\]{}]', re.S)


@dataclass(frozen=True)
class Message:
    """One decoded JSON value; it may be a request, an answer or neither."""

    value: object


@dataclass(frozen=True)
class Fault:
    """What was wrong with a piece of the stream, in words for the client's log."""

    reason: str
    value: object = None
    """The body decoded with replacement characters; only good for finding an id."""


def encode_frame(body: str) -> bytes:
    """A frame with `body`, which must be ASCII (`json.dumps`' default)."""
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body.encode("ascii"))


class FrameDecoder:
    """Splits a byte stream into JSON values and faults, and always finds the next good frame.

    Never raises: input becomes a `Message`, a `Fault` or nothing. A run of noise gives one fault.
    """

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._buffer = bytearray()
        self._body_bytes: int | None = None
        """The length of the current body, or None between frames."""
        self._scanned = 0
        """Up to here the unfinished body was searched for another frame's start."""
        self._noisy = False
        """A fault was reported, and no header has come since."""

    def feed(self, data: bytes) -> list[Message | Fault]:
        """The values and faults that `data` completes, in the order of the stream."""
        self._buffer += data
        found: list[Message | Fault] = []
        while self._take_header(found) if self._body_bytes is None else self._take_body(found):
            pass
        return found

    def _take_header(self, found: list[Message | Fault]) -> bool:
        """Takes the next header block and the noise before it; False when more is needed."""
        match = _HEADER.search(self._buffer)
        if match is None:
            if len(self._buffer) > _MAX_HEADER_BYTES:
                self._report(found, Fault("noise between two messages"))
                del self._buffer[:-_KEPT_NOISE_BYTES]
            return False
        if not (self._noisy or _HEADER_LINES.fullmatch(self._buffer[: match.start()])):
            self._report(found, Fault("noise between two messages"))
        digits = _LENGTH.findall(match[0])[-1]
        del self._buffer[: match.end()]
        self._noisy = False
        # More than 18 digits exceed any limit, and int() of thousands of digits raises.
        if len(digits) > 18 or int(digits) > self._max_frame_bytes:
            # The body counts as noise before the next header.
            limit = self._max_frame_bytes
            self._report(found, Fault(f"a message announced with more than {limit} bytes"))
        else:
            self._body_bytes, self._scanned = int(digits), 0
        return True

    def _take_body(self, found: list[Message | Fault]) -> bool:
        """Takes the body; False when more bytes are needed."""
        assert self._body_bytes is not None
        end: int | None = self._body_bytes
        if len(self._buffer) < self._body_bytes:
            end = self._find_frame_start()
        if end is None:
            return False
        parsed = _parse(bytes(self._buffer[:end]))
        self._body_bytes = None
        if isinstance(parsed, Message):
            del self._buffer[:end]
            found.append(parsed)
        else:
            # A wrong length: the next header may be in it, so it stays to be searched.
            self._report(found, parsed)
        return True

    def _find_frame_start(self) -> int | None:
        """Where another frame begins in the unfinished body, or None; scans each byte once."""
        start, self._scanned = self._scanned, max(0, len(self._buffer) - len(_BLANK_LINE) + 1)
        if self._buffer.find(_BLANK_LINE, start) < 0:
            return None
        match = _HEADER.search(self._buffer, max(0, start - _KEPT_NOISE_BYTES))
        return None if match is None else match.start()

    def _report(self, found: list[Message | Fault], fault: Fault) -> None:
        if not self._noisy or fault.value is not None:
            self._noisy = True
            found.append(fault)


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
    """Whether brackets nest too deep; only counts them first, which is fast."""
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
