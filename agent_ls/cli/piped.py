"""Reads what is piped into ``run`` beside its prompt, such as ``git diff | agent-ls run "…"``.

Whoever starts a program may hand on an open pipe that never says anything. So silence is waited for
3 seconds, like ``claude -p`` does; after the first bytes the end is waited for.
"""

from __future__ import annotations

import os
import queue
import re
import select
import stat
import sys
import threading
from collections.abc import Callable

from agent_ls.domain.errors import SettingsError

MAX_BYTES = 400_000
"""About 100,000 tokens: more than most models take beside the work itself."""
_FIRST_S = 3.0
_SILENCE_S = 60.0
_CHUNK_BYTES = 65_536


def with_piped(prompt: str, tell: Callable[[str], None]) -> str:
    """Return the prompt followed by what stands on standard input, named and fenced.

    Nothing is read from a terminal. Errors: ``SettingsError`` if it is too long, is no text or does
    not end.
    """
    data = _piped(tell)
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise SettingsError(
            "Standard input is no UTF-8 text, so it cannot go with the prompt. Give the file's "
            "name in the prompt instead, or run with </dev/null."
        )
    if not text.strip():
        return prompt
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    end = "" if text.endswith("\n") else "\n"
    before = f"{prompt}\n\n" if prompt else ""
    return f"{before}Standard input:\n{fence}\n{text}{end}{fence}"


def _piped(tell: Callable[[str], None]) -> bytes:
    try:
        source = sys.stdin.fileno()
        kind = os.fstat(source).st_mode
    except (AttributeError, OSError, ValueError):
        # It is closed, or no file at all.
        return b""
    if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)):
        return b""
    chunks: queue.Queue[bytes | OSError] = queue.Queue()
    # A thread, because nothing else can end the wait for a pipe on every system.
    threading.Thread(target=_read, args=(source, chunks), daemon=True).start()
    found = b""
    while True:
        try:
            chunk = chunks.get(timeout=_SILENCE_S if found else _FIRST_S)
        except queue.Empty:
            if found:
                raise SettingsError(
                    f"Standard input did not end: nothing came for {_SILENCE_S:g} s after "
                    f"{len(found):,} bytes. Write it to a file and name the file in the prompt."
                ) from None
            tell(
                f"standard input said nothing within {_FIRST_S:g} s, so the prompt goes without "
                "it; </dev/null saves the wait"
            )
            return b""
        if isinstance(chunk, OSError):
            tell(f"standard input could not be read, so the prompt goes without it: {chunk}")
            return b""
        if not chunk:
            return found
        found += chunk
        if len(found) > MAX_BYTES:
            raise SettingsError(
                f"Standard input holds over {MAX_BYTES:,} bytes, which is too much for a prompt. "
                "Write it to a file in the folder and name the file in the prompt."
            )


def _read(source: int, chunks: queue.Queue[bytes | OSError]) -> None:
    size = 0
    while size <= MAX_BYTES:
        try:
            chunk = os.read(source, _CHUNK_BYTES)
        except BlockingIOError:
            # Some programs hand on a pipe that does not wait.
            select.select([source], [], [])
            continue
        except OSError as error:
            chunks.put(error)
            return
        chunks.put(chunk)
        if not chunk:
            return
        size += len(chunk)
