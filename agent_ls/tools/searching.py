"""Searching for a regular expression: ripgrep where it is found, else a Python process that can
be killed. Either way a pattern that never ends is ended.
"""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_STREAM_LIMIT_BYTES = 4 * 2**20
_MAX_FILE_SIZE = "2M"
_NO_RIPGREP_FACTOR = 5
"""Python is slower: it gets so many times the limit."""


class BadPattern(Exception):
    """The pattern is not a regular expression; the text says why."""


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for, and when to stop."""

    pattern: str
    glob: str | None
    ignore_case: bool
    max_hits: int
    limit_s: float


@dataclass(frozen=True, slots=True)
class Hit:
    """One line that matches."""

    path: str
    """As the search was told: an absolute path, or the name of a text."""
    line: int
    """1-based."""
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """What a search brought, and what a reader must know of it."""

    hits: list[Hit]
    notes: tuple[str, ...] = ()


@cache
def ripgrep() -> str | None:
    """Return ripgrep's executable: on the PATH, or beside the interpreter."""
    beside = Path(sys.executable).with_name("rg")
    return shutil.which("rg") or (str(beside) if beside.exists() else None)


async def search_below(query: Query, place: Path, files: Iterable[Path]) -> Found:
    """Search a file or folder on disk; ``files`` are used where there is no ripgrep."""
    program = ripgrep()
    if program is None:
        request = {"files": [str(file) for file in files]}
        return await _run_worker(query, request)
    globs = [f"--glob={query.glob}"] if query.glob else []
    command = [program, *_flags(query), *globs, "--glob=!.git", "--", str(place)]
    return await _run(command, query, query.limit_s, b"")


async def search_texts(query: Query, texts: Mapping[str, str]) -> Found:
    """Search texts that are in memory, by their names."""
    hits: list[Hit] = []
    notes: tuple[str, ...] = ()
    program = ripgrep()
    for name, text in texts.items():
        if program is None:
            found = await _run_worker(query, {"texts": {name: text}})
        else:
            command = [program, *_flags(query), "-"]
            found = await _run(command, query, query.limit_s, text.encode(errors="replace"))
        hits += [Hit(name, hit.line, hit.text) for hit in found.hits]
        notes = notes or found.notes
    return Found(hits, notes)


def _flags(query: Query) -> list[str]:
    """Return ripgrep's flags; no file of the workspace configures it."""
    flags = [
        "--json",
        "--no-config",
        "--no-messages",
        "--hidden",
        "--no-require-git",
        "--sort=path",
        f"--max-filesize={_MAX_FILE_SIZE}",
        f"--regexp={query.pattern}",
    ]
    return [*flags, "--ignore-case"] if query.ignore_case else flags


async def _run_worker(query: Query, request: dict[str, Any]) -> Found:
    request |= {
        "pattern": query.pattern,
        "ignore_case": query.ignore_case,
        "max_hits": query.max_hits,
    }
    # -P and -I: nothing of the folder we happen to be in is imported.
    command = [sys.executable, "-I", "-P", str(Path(__file__).with_name("search_worker.py"))]
    data = json.dumps(request).encode()
    return await _run(command, query, query.limit_s * _NO_RIPGREP_FACTOR, data)


async def _run(command: list[str], query: Query, limit_s: float, data: bytes) -> Found:
    """Run a search process that prints ripgrep's JSON lines, until it ends or has to."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=_STREAM_LIMIT_BYTES,
    )
    hits: list[Hit] = []
    notes: tuple[str, ...] = ()
    feeding = asyncio.create_task(_feed(process, data))
    try:
        async with asyncio.timeout(limit_s):
            await _take(process, hits, query.max_hits)
    except TimeoutError:
        notes = (f"the search was ended after {limit_s:g} s; narrow it",)
    except ValueError:
        notes = ("a matching line is too long to show; the search ended there",)
    finally:
        is_full = len(hits) >= query.max_hits or bool(notes)
        if is_full and process.returncode is None:
            process.kill()
        feeding.cancel()
        errors = b"" if process.stderr is None else await process.stderr.read(4_096)
        await process.wait()
    if process.returncode == 2 and not hits:
        raise BadPattern(errors.decode(errors="replace").strip() or "it is not valid")
    return Found(hits, notes)


async def _feed(process: asyncio.subprocess.Process, data: bytes) -> None:
    if process.stdin is None:
        return
    try:
        process.stdin.write(data)
        await process.stdin.drain()
        process.stdin.close()
    except (BrokenPipeError, ConnectionResetError):
        return


async def _take(process: asyncio.subprocess.Process, hits: list[Hit], max_hits: int) -> None:
    if process.stdout is None:
        return
    while line := await process.stdout.readline():
        message = json.loads(line)
        if message["type"] != "match":
            continue
        data = message["data"]
        hits.append(Hit(_text(data["path"]), data["line_number"], _text(data["lines"])))
        if len(hits) >= max_hits:
            return


def _text(value: dict[str, str]) -> str:
    """Return ripgrep's text, which it gives in base64 when it is no UTF-8."""
    if "text" in value:
        return value["text"]
    return base64.b64decode(value["bytes"]).decode(errors="replace")
