"""Searches for a regular expression with ripgrep, for a limited time."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_ls.processes.launching import start_piped
from agent_ls.safety.ripgrep import walk_environment, walk_flags

_STREAM_LIMIT_BYTES = 4 * 2**20
_MAX_FILE_SIZE = "64M"


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
    """Relative to the folder that was searched from, or the name of a text."""
    line: int
    """1-based."""
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """The hits of a search, and notes on what is missing."""

    hits: list[Hit]
    notes: tuple[str, ...] = ()


async def search_below(
    query: Query,
    program: str,
    root: Path,
    below: str,
    *,
    more: Iterable[str] = (),
    counts: Callable[[str], bool] = lambda path: True,
) -> Found:
    """Search ``root/below`` with ripgrep; all paths are relative to ``root``.

    ``more`` are files to search although a rule excludes them. A hit is left out unless its path
    ``counts``.
    """
    globs = [query.glob] if query.glob else []
    if query.glob and "/" in query.glob and below != ".":
        # The model may mean the pattern from the top or from the folder it named.
        globs.append(f"{below}/{query.glob}")
    # The last glob that matches wins: what is never listed comes after the query's own.
    walk = [*(f"--glob={one}" for one in globs), *await asyncio.to_thread(walk_flags, root, below)]
    places = ("." if below == "." else f"./{below}", *(f"./{one}" for one in more))
    return await _run([program, *_flags(query), *walk, "--", *places], query, root, counts=counts)


async def search_texts(query: Query, program: str, texts: Mapping[str, str]) -> Found:
    """Search texts in memory, given by name; hits have the name as their path."""
    hits: list[Hit] = []
    notes: tuple[str, ...] = ()
    for name, text in texts.items():
        data = text.encode(errors="replace")
        found = await _run([program, *_flags(query), "-"], query, None, data)
        hits += [Hit(name, hit.line, hit.text) for hit in found.hits]
        notes = notes or found.notes
    return Found(hits, notes)


def _flags(query: Query) -> list[str]:
    """Return ripgrep's flags for a search.

    No ``--sort``: with it, ripgrep uses one thread and prints nothing before its end.
    """
    flags = [
        "--json",
        "--no-config",
        "--no-messages",
        f"--max-filesize={_MAX_FILE_SIZE}",
        f"--regexp={query.pattern}",
    ]
    return [*flags, "--ignore-case"] if query.ignore_case else flags


async def _run(
    command: list[str],
    query: Query,
    cwd: Path | None,
    data: bytes = b"",
    counts: Callable[[str], bool] = lambda path: True,
) -> Found:
    """Run ripgrep until it ends, has enough hits or reaches its time limit."""
    piped = await start_piped(
        command,
        cwd=cwd,
        env=walk_environment(),
        limit=_STREAM_LIMIT_BYTES,
    )
    hits: list[Hit] = []
    notes: tuple[str, ...] = ()
    errors = b""
    feeding = asyncio.create_task(piped.feed(data))
    try:
        async with asyncio.timeout(query.limit_s):
            if await _take(piped.stdout, hits, query.max_hits, counts):
                errors = await piped.stderr.read(4_096)
                await piped.program.wait()
    except TimeoutError:
        ended = f"partial: the search was ended after {query.limit_s:g} s"
        notes = (f"{ended}; give a path or a glob to see all",)
    except ValueError:
        notes = ("a matching line is too long to show; the search ended there",)
    finally:
        feeding.cancel()
        await asyncio.shield(asyncio.ensure_future(piped.end()))
    if piped.program.returncode == 2 and errors and not hits:
        raise BadPattern(errors.decode(errors="replace").strip())
    return Found(hits, notes)


async def _take(
    stdout: asyncio.StreamReader, hits: list[Hit], max_hits: int, counts: Callable[[str], bool]
) -> bool:
    """Collect hits as they come; False if it stopped at ``max_hits``."""
    while line := await stdout.readline():
        message = json.loads(line)
        if message["type"] != "match":
            continue
        data = message["data"]
        path = _text(data["path"]).removeprefix("./")
        if counts(path):
            hits.append(Hit(path, data["line_number"], _text(data["lines"])))
        if len(hits) >= max_hits:
            return False
    return True


def _text(value: dict[str, str]) -> str:
    """Return a text of ripgrep's, which is in base64 if it is not UTF-8."""
    if "text" in value:
        return value["text"]
    return base64.b64decode(value["bytes"]).decode(errors="replace")
