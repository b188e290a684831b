"""A keyboard and a pair of eyes for a program that paints into memory: a small RFB (VNC) client.

Qt programs show themselves so without any display server. Only what tests need: keys, pictures,
and whether the picture has changed.
"""

from __future__ import annotations

import socket
import struct
import zlib
from operator import ne
from pathlib import Path

NAMED = {
    "Return": 0xFF0D,
    "Escape": 0xFF1B,
    "Home": 0xFF50,
    "End": 0xFF57,
    "Up": 0xFF52,
    "Down": 0xFF54,
    "Right": 0xFF53,
    "F5": 0xFFC2,
    "Shift": 0xFFE1,
    "Control": 0xFFE3,
    "Alt": 0xFFE9,
}
_LIMIT_S = 60.0
_PIXEL_BYTES = 4
_SAMPLE = 7


class Screen:
    """One connection to a program that serves its screen on a port of this machine."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), _LIMIT_S)
        self._read(12)
        self._socket.sendall(b"RFB 003.003\n")
        (security,) = struct.unpack(">I", self._read(4))
        assert security == 1, "the screen wants a password"
        self._socket.sendall(b"\1")
        self.width, self.height = struct.unpack(">HH", self._read(4))
        self._read(16)
        self._read(struct.unpack(">I", self._read(4))[0])
        pixels = struct.pack(">BBBBHHHBBBxxx", 32, 24, 0, 1, 255, 255, 255, 16, 8, 0)
        self._socket.sendall(b"\0\0\0\0" + pixels)
        raw_only = struct.pack(">BxHi", 2, 1, 0)
        self._socket.sendall(raw_only)

    def close(self) -> None:
        self._socket.close()

    def press(self, keys: str) -> None:
        """Press a key or several at once, as in ``Control+s``."""
        codes = [NAMED.get(one) or ord(one) for one in keys.split("+")]
        for code in codes:
            self._socket.sendall(struct.pack(">BBxxI", 4, 1, code))
        for code in reversed(codes):
            self._socket.sendall(struct.pack(">BBxxI", 4, 0, code))

    def type(self, words: str) -> None:
        """Type characters that need no other keys held down."""
        for one in words:
            self._socket.sendall(struct.pack(">BBxxI", 4, 1, ord(one)))
            self._socket.sendall(struct.pack(">BBxxI", 4, 0, ord(one)))

    def look(self) -> bytes:
        """Return what is shown now: rows of pixels, each of them blue, green, red and nothing."""
        everything = struct.pack(">BBHHHH", 3, 0, 0, 0, self.width, self.height)
        self._socket.sendall(everything)
        picture = bytearray(self.width * self.height * _PIXEL_BYTES)
        _, count = struct.unpack(">BxH", self._read(4))
        for _ in range(count):
            left, top, width, height, encoding = struct.unpack(">HHHHi", self._read(12))
            assert encoding == 0, "the screen was asked for raw pixels"
            row = width * _PIXEL_BYTES
            pixels = self._read(row * height)
            for number in range(height):
                at = ((top + number) * self.width + left) * _PIXEL_BYTES
                picture[at : at + row] = pixels[number * row : (number + 1) * row]
        return bytes(picture)

    def shot(self, place: Path) -> None:
        """Write what is shown as a PNG file."""
        picture = self.look()
        rows = bytearray()
        for number in range(self.height):
            start = number * self.width * _PIXEL_BYTES
            row = picture[start : start + self.width * _PIXEL_BYTES]
            pixels = bytearray(self.width * 3)
            pixels[0::3], pixels[1::3], pixels[2::3] = row[2::4], row[1::4], row[0::4]
            rows += b"\0" + pixels
        head = struct.pack(">IIBBBBB", self.width, self.height, 8, 2, 0, 0, 0)
        parts = ((b"IHDR", head), (b"IDAT", zlib.compress(bytes(rows))), (b"IEND", b""))
        place.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*one) for one in parts))

    def _read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = self._socket.recv(count - len(data))
            if not piece:
                raise ConnectionError("the program whose screen this is has ended")
            data += piece
        return data


def differing(before: bytes, after: bytes) -> int:
    """Return about how many pixels differ."""
    one, other = (memoryview(picture).cast("I")[::_SAMPLE] for picture in (before, after))
    return _SAMPLE * sum(map(ne, one, other))


def _chunk(kind: bytes, data: bytes) -> bytes:
    checked = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checked)
