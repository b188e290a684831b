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
_LENGTH_LINE: Final = re.compile(rb"content-length[ \t]*:([^\r\n:]*)\r?\n", re.I)
_HEADER_LINE: Final = re.compile(rb"[A-Za-z0-9-]+[ \t]*:")
_BLANK_LINE: Final = b"\r\n\r\n"
_NAME: Final = b"content-length"
_LOOK_BACK_BYTES: Final = 256
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
        self._length: int | None = None
        """The length announced in the current header block; the last one wins."""
        self._seen_header = False
        self._body_bytes: int | None = None
        """The length of the current body, or None between frames."""
        self._too_long = False
        self._scanned = 0
        """Up to here the unfinished body was searched for another frame's start."""
        self._noisy = False
        """A fault was reported, and no good frame has come since."""

    def feed(self, data: bytes) -> list[Message | Fault]:
        """The values and faults that `data` completes, in the order of the stream."""
        self._buffer += data
        found: list[Message | Fault] = []
        while self._step(found):
            pass
        return found

    def _step(self, found: list[Message | Fault]) -> bool:
        """Consumes one header line or one body; False when more bytes are needed."""
        if self._body_bytes is None:
            return self._take_line(found)
        if self._too_long:
            return self._skip_body()
        return self._take_body(found)

    def _take_line(self, found: list[Message | Fault]) -> bool:
        end = self._buffer.find(b"\n") + 1
        if end == 0:
            if len(self._buffer) > _MAX_HEADER_BYTES:
                self._report(found, "noise between two messages")
                # The tail may be the start of an incomplete header.
                del self._buffer[:-64]
            return False
        line = bytes(self._buffer[:end])
        del self._buffer[:end]
        if not line.strip():
            self._end_headers(found)
        elif match := _LENGTH_LINE.search(line):
            self._take_length(match, line, found)
        elif _HEADER_LINE.match(line):
            self._seen_header = True
        else:
            self._report(found, "noise between two messages")
        return True

    def _take_length(
        self, match: re.Match[bytes], line: bytes, found: list[Message | Fault]
    ) -> None:
        self._seen_header = True
        if line[: match.start()].strip():
            self._report(found, "noise before a Content-Length header")
        digits = match[1].strip()
        if not digits.isdigit():
            self._length = None
            self._report(found, "a Content-Length that is not a number")
        else:
            # More than 18 digits exceed any limit, and int() of thousands of digits raises.
            self._length = int(digits) if len(digits) <= 18 else self._max_frame_bytes + 1

    def _end_headers(self, found: list[Message | Fault]) -> None:
        length, seen = self._length, self._seen_header
        self._length, self._seen_header = None, False
        if length is None:
            if seen:
                self._report(found, "a header block without a usable Content-Length")
            return
        self._noisy = False
        self._body_bytes, self._scanned = length, 0
        self._too_long = length > self._max_frame_bytes
        if self._too_long:
            limit = self._max_frame_bytes
            self._report(found, f"a message announced with more than {limit} bytes")

    def _take_body(self, found: list[Message | Fault]) -> bool:
        assert self._body_bytes is not None
        if len(self._buffer) >= self._body_bytes:
            parsed, end = _parse(bytes(self._buffer[: self._body_bytes]))
            if isinstance(parsed, Fault):
                start = self._find_frame_start()
                if start is not None:
                    parsed, _ = _parse(bytes(self._buffer[:start]))
                end = self._body_end() if start is None else start
            self._end_body(end)
            self._deliver(found, parsed)
            return True
        start = self._find_frame_start()
        if start is None:
            return False
        parsed, _ = _parse(bytes(self._buffer[:start]))
        self._end_body(start)
        self._deliver(found, parsed)
        return True

    def _skip_body(self) -> bool:
        """Discards an oversized body as it arrives."""
        assert self._body_bytes is not None
        start = self._find_frame_start()
        if start is not None:
            self._end_body(start)
            return True
        if len(self._buffer) >= self._body_bytes:
            self._end_body(self._body_end())
            return True
        surplus = max(0, len(self._buffer) - _LOOK_BACK_BYTES)
        del self._buffer[:surplus]
        self._body_bytes -= surplus
        self._scanned = max(0, self._scanned - surplus)
        return False

    def _end_body(self, end: int) -> None:
        del self._buffer[:end]
        self._body_bytes = None

    def _body_end(self) -> int:
        """Where a bad body ends; a header begun in its last bytes belongs to the next frame."""
        assert self._body_bytes is not None
        start = max(0, self._body_bytes - _LOOK_BACK_BYTES)
        tail = bytes(self._buffer[start : self._body_bytes]).lower()
        whole = tail.rfind(_NAME)
        if whole >= 0:
            return start + whole
        partial = (n for n in range(len(_NAME) - 1, 0, -1) if tail.endswith(_NAME[:n]))
        return self._body_bytes - next(partial, 0)

    def _find_frame_start(self) -> int | None:
        """Where another frame begins in the current body, or None; scans each byte once."""
        assert self._body_bytes is not None
        limit = min(len(self._buffer), self._body_bytes + _LOOK_BACK_BYTES)
        floor = 0
        while True:
            blank = self._buffer.find(_BLANK_LINE, self._scanned, limit)
            if blank < 0:
                self._scanned = max(self._scanned, limit - len(_BLANK_LINE) + 1)
                return None
            window = max(floor, blank - _LOOK_BACK_BYTES)
            for match in _LENGTH_LINE.finditer(self._buffer, window, blank + 2):
                if match[1].strip().isdigit() and match.start() < self._body_bytes:
                    return match.start()
            # A header block has no empty line, so the next block begins after this one.
            floor, self._scanned = blank + 2, blank + 1

    def _deliver(self, found: list[Message | Fault], parsed: Message | Fault) -> None:
        if isinstance(parsed, Message):
            self._noisy = False
            found.append(parsed)
        elif not self._noisy or parsed.value is not None:
            self._noisy = True
            found.append(parsed)

    def _report(self, found: list[Message | Fault], reason: str) -> None:
        self._deliver(found, Fault(reason))


def _parse(body: bytes) -> tuple[Message | Fault, int]:
    """The value of a body and the number of bytes it took."""
    if _is_too_deep(body):
        return Fault(f"a message nested deeper than {MAX_NESTING} levels"), len(body)
    try:
        return _loads(body.decode("utf-8"), len(body))
    except UnicodeDecodeError as error:
        return Fault(f"a message that is not UTF-8 at byte {error.start}", _guess(body)), len(body)
    except (ValueError, RecursionError) as error:
        # ValueError covers malformed JSON and integers of thousands of digits.
        return Fault(f"a message that is not JSON: {str(error)[:200]}"), len(body)


def _loads(text: str, size: int) -> tuple[Message, int]:
    try:
        return Message(json.loads(text, parse_constant=_refuse_constant)), size
    except json.JSONDecodeError as error:
        value, rest = text[: error.pos], text[error.pos :].encode()
        if error.msg != "Extra data" or not _may_be_header(rest.lower()):
            raise
        # The announced length is too long and includes the start of the next header.
        return Message(json.loads(value, parse_constant=_refuse_constant)), size - len(rest)


def _may_be_header(text: bytes) -> bool:
    return text.startswith(_NAME) or _NAME.startswith(text)


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
