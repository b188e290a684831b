"""The pipes: nobody else reaches them, nothing is lost, and no reader is waited for."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from agent_ls.lsp.connection.frames import Fault, Message, encode_frame
from agent_ls.lsp.connection.stdio import FrameReader, FrameWriter

WAIT_S = 60.0


@dataclass
class Line:
    """One way from a writer to a test."""

    writing: int
    reading: int
    lost: list[str] = field(default_factory=list)
    happened: threading.Condition = field(default_factory=threading.Condition)

    def writer(self, **limits: int) -> FrameWriter:
        return FrameWriter(
            self.writing,
            lost=lambda reason: self.note(self.lost, reason),
            **limits,
        )

    def note(self, into: list[Any], what: Any) -> None:
        with self.happened:
            into.append(what)
            self.happened.notify_all()

    def wait(self, what: Callable[[], object]) -> None:
        with self.happened:
            assert self.happened.wait_for(what, WAIT_S)

    def read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = os.read(self.reading, min(1 << 16, count - len(data)))
            assert piece
            data += piece
        return data

    def read_all(self) -> bytes:
        """Everything until the writing end is closed."""
        return b"".join(iter(lambda: os.read(self.reading, 1 << 16), b""))


@pytest.fixture(params=["pipe", "socket"])
def line(request: pytest.FixtureRequest) -> Iterator[Line]:
    if request.param == "pipe":
        reading, writing = os.pipe()
    else:
        one, other = socket.socketpair()
        reading, writing = one.detach(), other.detach()
    line = Line(writing, reading)
    yield line
    for descriptor in (reading, writing):
        with contextlib.suppress(OSError):
            os.close(descriptor)


def check(line: Line, writer: FrameWriter) -> bytes:
    """Everything the writer wrote, read while it finishes."""
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(line.read_all()))
    reader.start()
    assert writer.close(WAIT_S)
    os.close(line.writing)
    reader.join(WAIT_S)
    return read[0]


def test_frames_arrive_whole_and_in_order(line: Line) -> None:
    writer = line.writer()
    frames = [encode_frame(json.dumps([number, "x" * (number % 7000)])) for number in range(300)]
    for frame in frames:
        writer.send(frame)
    assert check(line, writer) == b"".join(frames)


def test_sending_does_not_wait_for_a_reader(line: Line) -> None:
    writer = line.writer()
    frames = [b"%d " % number * 100_000 for number in range(20)]
    for frame in frames:
        writer.send(frame)
    assert check(line, writer) == b"".join(frames)


def test_frames_of_many_threads_do_not_mix(line: Line) -> None:
    writer = line.writer()

    def send(thread: int) -> None:
        for number in range(200):
            writer.send(encode_frame(json.dumps([thread, number, "x" * 500])))

    threads = [threading.Thread(target=send, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    data: list[bytes] = []
    reader = threading.Thread(target=lambda: data.append(line.read_all()))
    reader.start()
    for thread in threads:
        thread.join()
    assert writer.close(WAIT_S)
    os.close(line.writing)
    reader.join(WAIT_S)
    found = [json.loads(part.partition(b"\r\n\r\n")[2]) for part in data[0].split(b"Content")[1:]]
    for thread_number in range(5):
        assert [n for t, n, _ in found if t == thread_number] == list(range(200))


def blocked(line: Line, **limits: int) -> FrameWriter:
    """A writer whose reader does not read, with one frame on its way that does not fit."""
    writer = line.writer(**limits)
    writer.send(b"#" * 2_000_000)
    return writer


def delta(writer: FrameWriter, text: str, key: str = "a", merge: bool = True) -> None:
    writer.send_droppable(
        key,
        text,
        size=len(text),
        encode=lambda payload: f"<{key}:{payload}>".encode(),
        merge=(lambda older, newer: older + newer) if merge else None,
    )


def test_neighbours_merge_while_the_client_is_slow_and_the_order_stays(line: Line) -> None:
    writer = blocked(line)
    for text in "12":
        delta(writer, text)
    writer.send(b"[tool]")
    for text in "34":
        delta(writer, text)
    delta(writer, "5", key="b")
    delta(writer, "6")
    delta(writer, "7", key="c", merge=False)
    delta(writer, "8", key="c", merge=False)
    data = check(line, writer).lstrip(b"#")
    assert data == b"<a:12>[tool]<a:34><b:5><a:6><c:7><c:8>"


def test_what_is_too_much_is_dropped(line: Line) -> None:
    writer = blocked(line, max_droppable=10)
    delta(writer, "12345", key="a")
    delta(writer, "12345", key="b")
    delta(writer, "too much", key="c")
    writer.send(b"[kept]")
    delta(writer, "too much", key="d")
    line.read(2_000_000)
    line.read(len(b"<a:12345><b:12345>[kept]"))
    delta(writer, "more than the limit, but nothing else waits", key="e")
    assert check(line, writer) == b"<e:more than the limit, but nothing else waits>"


def test_a_droppable_message_that_cannot_be_encoded_costs_only_itself(line: Line) -> None:
    writer = line.writer()

    def fail(_: Any) -> bytes:
        raise ValueError("cannot")

    writer.send_droppable("a", None, size=1, encode=fail)
    writer.send(b"after")
    assert check(line, writer) == b"after"


def test_a_client_that_is_gone_is_noticed_once_and_later_frames_go_nowhere(line: Line) -> None:
    writer = line.writer()
    os.close(line.reading)
    writer.send(b"x")
    line.wait(lambda: line.lost)
    writer.send(b"y")
    delta(writer, "z")
    assert writer.close(WAIT_S)
    assert len(line.lost) == 1


def test_a_client_that_never_reads_counts_as_lost_beyond_the_limit(line: Line) -> None:
    writer = blocked(line, max_queued_bytes=5_000_000)
    for _ in range(8):
        writer.send(b"x" * 1_000_000)
    assert len(line.lost) == 1
    assert "stopped reading" in line.lost[0]
    os.close(line.reading)
    assert writer.close(WAIT_S)


def test_closing_does_not_wait_longer_than_it_may(line: Line) -> None:
    writer = blocked(line)
    assert not writer.close(0.01)
    os.close(line.reading)
    assert writer.close(WAIT_S)


async def read_until_end(descriptor: int) -> list[Message | Fault]:
    found: list[Message | Fault] = []
    ended = asyncio.Event()
    FrameReader(descriptor, found.append, ended.set).start()
    await asyncio.wait_for(ended.wait(), WAIT_S)
    return found


async def test_what_is_read_arrives_in_order_and_then_the_end(line: Line) -> None:
    values = [{"n": number, "pad": "x" * (number * 10)} for number in range(300)]
    data = b"".join(encode_frame(json.dumps(value)) for value in values)

    def write() -> None:
        os.write(line.writing, b"noise\n")
        for start in range(0, len(data), 999):
            os.write(line.writing, data[start : start + 999])
        os.close(line.writing)

    writing = threading.Thread(target=write)
    writing.start()
    found = await read_until_end(line.reading)
    writing.join()
    assert isinstance(found[0], Fault)
    assert found[1:] == [Message(value) for value in values]


async def test_a_message_whose_handler_fails_does_not_stop_the_next(line: Line) -> None:
    found: list[object] = []
    ended = asyncio.Event()

    def deliver(item: Message | Fault) -> None:
        found.append(item)
        raise RuntimeError("a handler that fails")

    os.write(line.writing, encode_frame("1") + encode_frame("2"))
    os.close(line.writing)
    FrameReader(line.reading, deliver, ended.set).start()
    await asyncio.wait_for(ended.wait(), WAIT_S)
    assert found == [Message(1), Message(2)]


async def test_a_client_that_floods_has_to_wait_for_the_event_loop(line: Line) -> None:
    frame = encode_frame(json.dumps("x" * 60_000))
    seen: list[object] = []
    ended = asyncio.Event()
    FrameReader(line.reading, seen.append, ended.set).start()
    # The event loop does not run while this writes, so at some point nothing is taken any more.
    os.set_blocking(line.writing, False)
    sent, rest = 0, b""
    while sent < 200_000_000 and select.select([], [line.writing], [], 1.0)[1]:
        rest = rest or frame
        written = os.write(line.writing, rest)
        rest, sent = rest[written:], sent + written
    assert sent < 100_000_000
    os.set_blocking(line.writing, True)

    def finish() -> None:
        view = rest
        while view:
            view = view[os.write(line.writing, view) :]
        os.close(line.writing)

    finishing = threading.Thread(target=finish)
    finishing.start()
    await asyncio.wait_for(ended.wait(), WAIT_S)
    finishing.join()
    assert len(seen) == (sent + len(rest)) // len(frame)


TAKEN = """
import os, subprocess, sys
from agent_ls.processes.stdio import take_stdio
pipes = take_stdio()
assert take_stdio() is pipes
print("from print", flush=True)
os.write(1, b"from C\\n")
subprocess.run([sys.executable, "-c", "import sys; print('from a child', [sys.stdin.read()])"])
assert sys.stdin.read() == ""
os.write(pipes.outgoing, b"heard " + os.read(pipes.incoming, 100))
"""


@pytest.mark.e2e
def test_the_real_pipes_are_for_the_protocol_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-c", TAKEN], input=b"hello", capture_output=True, timeout=60, check=True
    )
    assert done.stdout == b"heard hello"
    assert done.stderr.split(b"\n") == [b"from print", b"from C", b"from a child ['']", b""]


@pytest.mark.e2e
def test_without_stderr_stray_output_still_does_not_reach_the_client() -> None:
    script = TAKEN.replace("import os", "import os; os.close(2); import os", 1)
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=b"hello",
        stdout=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    assert done.stdout == b"heard hello"


@pytest.mark.e2e
def test_taking_the_pipes_needs_nothing_but_the_standard_library() -> None:
    script = (
        "import sys; from agent_ls.lsp.connection import stdio;"
        "found = {n.partition('.')[0] for n in sys.modules};"
        "print(sorted(found - set(sys.stdlib_module_names) - {'agent_ls', '__main__'}))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", script],
        capture_output=True,
        timeout=60,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p) or "."},
    )
    assert done.stdout == b"[]\n"
