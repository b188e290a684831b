"""The pipes to the client, read and written on their own threads.

Knows frames but no messages.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import select
import socket
import stat
import threading
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from agent_ls.lsp.connection.frames import Fault, FrameDecoder, Message

logger = logging.getLogger(__name__)

_READ_BYTES: Final = 64 * 1024
_WRITE_BYTES: Final = 256 * 1024
_MESSAGES_PER_TURN: Final = 16
"""Messages handled in a row before the event loop does other work."""
_CHUNKS_AHEAD: Final = 256
"""Chunks read ahead of the event loop; beyond that the client has to wait."""

MAX_QUEUED_BYTES: Final = 64 * 1024 * 1024
"""With more than this unsent, the client counts as lost."""
_MUCH_BYTES: Final = 4 * 1024 * 1024
MAX_DROPPABLE: Final = 256 * 1024
"""Limit of queued droppable payload, in characters; more is dropped."""


class Outbox(Protocol):
    """Where a connection's frames go; see `FrameWriter`."""

    def send(self, frame: bytes) -> None:
        """Sends a frame."""
        ...

    def send_droppable(
        self,
        key: Hashable,
        payload: Any,
        *,
        size: int,
        encode: Callable[[Any], bytes],
        merge: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        """Sends a payload that may be dropped."""
        ...


class FrameReader:
    """Reads frames on its own thread and hands them to the event loop in order.

    Reading ahead is limited, so the pipe slows a flooding client down.
    """

    def __init__(
        self,
        descriptor: int,
        deliver: Callable[[Message | Fault], None],
        ended: Callable[[], None],
        *,
        ahead: int = _CHUNKS_AHEAD,
        wait_for_room: Callable[[], None] = lambda: None,
    ) -> None:
        """`wait_for_room` runs on the reader's thread, and may block to slow the sender down."""
        self._descriptor = descriptor
        self._deliver = deliver
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._wait_for_room = wait_for_room
        self._ahead = threading.BoundedSemaphore(ahead)

    def start(self) -> None:
        """Starts reading; `deliver` and `ended` are called on the event loop."""
        threading.Thread(target=self._run, name="lsp-reader", daemon=True).start()

    def _run(self) -> None:
        decoder = FrameDecoder()
        # RuntimeError: the event loop was closed meanwhile.
        with contextlib.suppress(RuntimeError):
            while data := self._read():
                found = decoder.feed(data)
                for start in range(0, len(found), _MESSAGES_PER_TURN):
                    self._wait_for_room()
                    self._ahead.acquire()
                    turn = found[start : start + _MESSAGES_PER_TURN]
                    self._loop.call_soon_threadsafe(self._hand_over, turn)
            self._loop.call_soon_threadsafe(self._ended)

    def _read(self) -> bytes:
        try:
            return os.read(self._descriptor, _READ_BYTES)
        except OSError:
            return b""

    def _hand_over(self, found: list[Message | Fault]) -> None:
        self._ahead.release()
        for item in found:
            try:
                self._deliver(item)
            except Exception:
                logger.exception("A message could not be handled")


@dataclass(eq=False)
class _Droppable:
    key: Hashable
    payload: Any
    encode: Callable[[Any], bytes]


class FrameWriter:
    """Writes frames in order on its own thread; sending never blocks. Safe to call from any thread.

    A frame is never dropped or changed, except those of `send_droppable`: while the client is slow,
    they are merged with their neighbour in the queue, and dropped beyond a limit.
    """

    def __init__(
        self,
        descriptor: int,
        *,
        lost: Callable[[str], None],
        max_queued_bytes: int = MAX_QUEUED_BYTES,
        max_droppable: int = MAX_DROPPABLE,
    ) -> None:
        """`lost` is called once, on any thread, when the client can no longer be reached."""
        self._descriptor = descriptor
        self._lost = lost
        self._max_queued_bytes = max_queued_bytes
        self._max_droppable = max_droppable
        self._direct = _DirectWrite(descriptor)
        self._changed = threading.Condition()
        self._queue: deque[bytes | _Droppable] = deque()
        self._queued_bytes = 0
        self._queued_droppable = 0
        self._is_writing = False
        self._is_closed = False
        threading.Thread(target=self._run, name="lsp-writer", daemon=True).start()

    def send(self, frame: bytes) -> None:
        """Sends a frame: at once if the pipe takes it, else from the queue."""
        with self._changed:
            if self._is_closed:
                return
            if not self._queue and not self._is_writing:
                frame = frame[self._direct.write(frame) :]
            if not frame:
                return
            self._queue.append(frame)
            self._queued_bytes += len(frame)
            if self._queued_bytes > self._max_queued_bytes:
                self._give_up("the client has stopped reading, and too much waits for it")
            self._changed.notify_all()

    def send_droppable(
        self,
        key: Hashable,
        payload: Any,
        *,
        size: int,
        encode: Callable[[Any], bytes],
        merge: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        """Sends a payload that may be dropped; `encode` runs on the writer's thread.

        `merge(older, newer)` may join it with the queue's last entry if that has the same key, so
        the order of messages never changes.
        """
        with self._changed:
            if self._is_closed:
                return
            if self._queued_droppable and self._queued_droppable + size > self._max_droppable:
                return
            self._queued_droppable += size
            newest = self._queue[-1] if self._queue else None
            if merge and isinstance(newest, _Droppable) and newest.key == key:
                newest.payload = merge(newest.payload, payload)
            else:
                self._queue.append(_Droppable(key, payload, encode))
            self._changed.notify_all()

    def wait_for_room(self) -> None:
        """Blocks while much is unsent; for a thread that passes on what another process sends."""
        with self._changed:
            self._changed.wait_for(lambda: self._queued_bytes <= _MUCH_BYTES or self._is_closed)

    def close(self, timeout_s: float) -> bool:
        """Accepts no more and waits until all is written; False on timeout."""
        with self._changed:
            self._is_closed = True
            self._direct.close()
            self._changed.notify_all()
            return self._changed.wait_for(
                lambda: not self._queue and not self._is_writing, timeout_s
            )

    def _run(self) -> None:
        while (data := self._take()) is not None:
            try:
                while data:
                    data = data[os.write(self._descriptor, data) :]
            except OSError as error:
                with self._changed:
                    self._give_up(f"the client has closed the pipe: {error.strerror}")
            self._wrote()

    def _take(self) -> bytes | None:
        """Waits for the next bytes to write; None when closed and empty."""
        with self._changed:
            while not self._queue:
                if self._is_closed:
                    return None
                self._changed.wait()
            self._is_writing = True
            taken: list[bytes | _Droppable] = []
            taken_bytes = 0
            while self._queue and taken_bytes < _WRITE_BYTES:
                entry = self._queue.popleft()
                taken.append(entry)
                taken_bytes += len(entry) if isinstance(entry, bytes) else _READ_BYTES
            self._queued_bytes -= sum(len(entry) for entry in taken if isinstance(entry, bytes))
            if not any(isinstance(entry, _Droppable) for entry in self._queue):
                self._queued_droppable = 0
        return b"".join(map(_encoded, taken))

    def _wrote(self) -> None:
        with self._changed:
            self._is_writing = False
            self._changed.notify_all()

    def _give_up(self, reason: str) -> None:
        """Drops the queue and reports the client as lost. The condition must be held."""
        self._queue.clear()
        self._direct.close()
        self._queued_bytes = self._queued_droppable = 0
        if not self._is_closed:
            self._is_closed = True
            self._lost(reason)


def _encoded(entry: bytes | _Droppable) -> bytes:
    if isinstance(entry, bytes):
        return entry
    try:
        return entry.encode(entry.payload)
    except Exception:
        logger.exception("A droppable message could not be written")
        return b""


class _DirectWrite:
    """Writes to a socket or pipe without blocking, where the system supports that.

    An answer then leaves at once, not only when the event loop lets the writer's thread run.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._socket: socket.socket | None = None
        self._poll: select.poll | None = None
        try:
            mode = os.fstat(descriptor).st_mode
        except OSError:
            return
        if stat.S_ISSOCK(mode) and hasattr(socket, "MSG_DONTWAIT"):
            self._socket = socket.socket(fileno=os.dup(descriptor))
        elif stat.S_ISFIFO(mode) and hasattr(select, "poll"):
            self._poll = select.poll()
            self._poll.register(descriptor, select.POLLOUT)

    def write(self, data: bytes) -> int:
        """Returns the bytes written; on 0 the writer's thread tries, and meets any error."""
        # OSError: the pipe is full, or the other side is gone.
        with contextlib.suppress(OSError):
            if self._socket:
                return self._socket.send(data, socket.MSG_DONTWAIT)
            # A pipe that is ready takes up to PIPE_BUF bytes whole and without blocking.
            if self._poll and len(data) <= select.PIPE_BUF and self._poll.poll(0):
                return os.write(self._descriptor, data)
        return 0

    def close(self) -> None:
        if self._socket:
            self._socket.close()
        self._socket = self._poll = None
