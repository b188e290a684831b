"""The worker process that parses for the server; questions and answers are JSON frames over pipes.

Started on first use; ends when its input ends or after some idle time. A frame is a length of four
bytes, then JSON. Errors are sent as answers.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from agent_ls.codeintel.index import Index

HEADER = struct.Struct("!I")
_IDLE_S = 600.0
_NICE = 5
_SLICE_S = 0.05
"""What a question may wait for while files are read ahead of it."""
_MADE_BEFORE_COLLECTION = 200_000


def main() -> int:
    """Answer questions until the input ends."""
    from agent_ls.codeintel.index import Index
    from agent_ls.codeintel.questions import Answers

    with contextlib.suppress(OSError):
        # Give priority to the editor and the model.
        os.nice(_NICE)
    # Objects here are long-lived, so frequent collections would find nothing.
    gc.freeze()
    gc.set_threshold(_MADE_BEFORE_COLLECTION)
    index = Index(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    answers = Answers(index)
    asked, told = open(0, "rb", buffering=0), open(1, "wb", buffering=0)  # noqa: SIM115
    while (question := _next(asked, index)) is not None:
        try:
            answer = {"answer": answers.answer(question)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        data = json.dumps(answer, separators=(",", ":")).encode()
        _write(told, HEADER.pack(len(data)) + data)
        # Save after the answer is sent, so that nobody waits for it.
        index.save()
    return 0


def _next(asked: BinaryIO, index: Index) -> dict[str, Any] | None:
    """Return the next question; None at the end of input or after a long idle time.

    Until it comes, files are read that the last answer did not wait for.
    """
    while index.has_left and not select.select([asked], [], [], 0)[0]:
        index.read_left(_SLICE_S)
        if not index.has_left:
            index.save()
    if not select.select([asked], [], [], _IDLE_S)[0]:
        return None
    header = _read(asked, HEADER.size)
    if header is None:
        return None
    data = _read(asked, HEADER.unpack(header)[0])
    return None if data is None else json.loads(data)


def _read(asked: BinaryIO, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        piece = asked.read(size - len(data))
        if not piece:
            return None
        data += piece
    return bytes(data)


def _write(told: BinaryIO, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[told.write(left) :]


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        sys.exit(main())
