"""Searches for a regular expression with ripgrep, for a limited time."""

from __future__ import annotations

import asyncio
import codecs
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path, PurePosixPath

from agent_ls.processes.launching import start_piped
from agent_ls.safety.beneath import open_beneath
from agent_ls.safety.path_patterns import PathPattern
from agent_ls.safety.ripgrep import walk_environment, walk_flags
from agent_ls.tools.search_messages import Hit, messages

_STREAM_LIMIT_BYTES = 2**18
_MAX_FILE_SIZE = "64M"
_NEAR_BYTES = 1_000
"""What is read around a match in a line that is too long to keep."""
_BLOCK = 2**20
_MAX_WHOLE_BYTES = 64 * 2**20
_FOREIGN = (
    r"(?-u:(?:^|[\x00-\x7f])[\x80-\xbf]|[\xc0-\xff](?:[\x00-\x7f\xc0-\xff]|$)"
    r"|[\xe0-\xff][\x80-\xbf](?:[\x00-\x7f\xc0-\xff]|$))"
)
"""Bytes that are no UTF-8: they follow in an order that it does not have."""


class BadPattern(Exception):
    """The pattern is not a regular expression; the text says why."""


class SearchFailed(Exception):
    """ripgrep failed for another cause; the text is the first line of what it says."""


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for, and when to stop."""

    pattern: str
    names: PathPattern | None
    """Only files like these; None: all."""
    ignore_case: bool
    max_hits: int
    limit_s: float


@dataclass(frozen=True, slots=True)
class Found:
    """The hits of a search, and notes on what is missing."""

    hits: list[Hit]
    notes: tuple[str, ...] = ()
    is_late: bool = False
    """The search was ended at its time limit."""


async def search_below(
    query: Query,
    program: str,
    root: Path,
    below: str,
    wanted: Callable[[str], bool] = lambda path: True,
    *options: str,
    more: Iterable[str] = (),
) -> Found:
    """Search ``root/below`` with ripgrep; all paths are relative to ``root``.

    Shape: only files that are ``wanted``, and lines that stand in a file below ``root``, not behind
    a link. ``more`` are files to search although a rule excludes
    them. No pattern for names is given to ripgrep as ``--glob``, which would also search ignored
    files.
    """
    walk = await asyncio.to_thread(walk_flags, root, below)
    flags = [*_flags(query), *walk, *_types(query.names), *options]
    if not await asyncio.to_thread((root / below).is_file):
        # A large file is searched when it is named.
        flags.append(f"--max-filesize={_MAX_FILE_SIZE}")
    places = (f"./{one}" for one in (below, *more))
    found = await _run([program, *flags, "--", *places], query, root, wanted=wanted)
    return replace(found, hits=await asyncio.to_thread(_below, found.hits, root))


async def files_in_other_encodings(
    query: Query,
    program: str,
    root: Path,
    below: str,
    wanted: Callable[[str], bool],
    more: Iterable[str],
) -> list[str]:
    """Return the files that are not UTF-8, up to the query's hits; its pattern is not used.

    ripgrep searches such files byte by byte, so it finds only plain characters in them.
    """
    looking = replace(query, pattern=_FOREIGN, ignore_case=False)
    found = await search_below(looking, program, root, below, wanted, "--max-count=1", more=more)
    return sorted({hit.path for hit in found.hits if not hit.is_utf8})


async def search_texts(query: Query, program: str, texts: Mapping[str, str]) -> Found:
    """Search texts in memory, given by name; hits have the name as their path."""
    hits: list[Hit] = []
    notes: tuple[str, ...] = ()
    for name, text in texts.items():
        data = text.encode(errors="replace")
        # A text may not be in the encoding that a mark at its beginning says.
        found = await _run([program, *_flags(query), "--encoding=utf-8", "-"], query, None, data)
        hits += [replace(_near(hit, data), path=name) for hit in found.hits]
        notes = notes or found.notes
    return Found(hits, notes)


def _below(hits: Iterable[Hit], root: Path) -> list[Hit]:
    """Return the hits whose line stands in a file below ``root``.

    ripgrep opens files by their paths, so a command that runs at the same time could have it read
    what is outside: by a link in the place of a folder.
    """
    groups = groupby(hits, key=lambda hit: hit.path)
    return [hit for path, some in groups for hit in _in_file(path, list(some), root)]


def _in_file(path: str, hits: Iterable[Hit], root: Path) -> Iterator[Hit]:
    """Yield the hits that stand in a file; those in very long lines with what is around them."""
    try:
        descriptor = open_beneath(root, PurePosixPath(path), os.O_RDONLY)
    except (OSError, ValueError):
        # Of a very long line, nothing was read so far.
        yield from (hit for hit in hits if hit.offset is not None)
        return
    whole = b""
    try:
        for hit in hits:
            if hit.offset is not None:
                yield _surrounded(hit, hit.offset, descriptor)
                continue
            if hit.start is None or os.pread(descriptor, len(hit.data), hit.start) != hit.data:
                # Offsets are others in some encodings, or in a file that has changed.
                whole = whole or _as_utf8(os.pread(descriptor, _MAX_WHOLE_BYTES, 0))
                if hit.data not in whole:
                    continue
            yield hit
    except OSError:
        return
    finally:
        os.close(descriptor)


def _as_utf8(data: bytes) -> bytes:
    """Return the bytes of a file as ripgrep shows them."""
    is_wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16", "replace").encode() if is_wide else data


def _surrounded(hit: Hit, offset: int, descriptor: int) -> Hit:
    try:
        mark = os.pread(descriptor, 3, 0)
        if mark.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            # The offset counts in another encoding.
            return hit
        # ripgrep does not count a mark at the beginning.
        at = offset + 3 * (mark == codecs.BOM_UTF8)
        before = min(hit.skipped, _NEAR_BYTES)
        near = _placed(hit, os.pread(descriptor, before + _NEAR_BYTES, at - before), before)
        return replace(near, left=_bytes_to_line_end(descriptor, at + _NEAR_BYTES))
    except OSError:
        return hit


def _bytes_to_line_end(descriptor: int, at: int) -> int:
    start = at
    while block := os.pread(descriptor, _BLOCK, at):
        if (end := block.find(b"\n")) >= 0:
            return at + end - start
        at += len(block)
    return at - start


def _near(hit: Hit, data: bytes) -> Hit:
    """Return a hit in a text; one in a very long line with what stands around it."""
    if hit.offset is None:
        return hit
    before = min(hit.skipped, _NEAR_BYTES)
    start, end = hit.offset - before, hit.offset + _NEAR_BYTES
    line_end = data.find(b"\n", hit.offset)
    left = (len(data) if line_end < 0 else line_end) - end
    return replace(_placed(hit, data[start:end], before), left=max(left, 0))


def _placed(hit: Hit, data: bytes, at: int) -> Hit:
    """Return a hit in a very long line with the bytes around it, ``at`` of them before it."""
    line = data[: at + len(data[at:].split(b"\n", 1)[0])]
    # The cut may have divided a character.
    lead = next((n for n, byte in enumerate(line[:4]) if byte & 0xC0 != 0x80), 0) if at else 0
    size = hit.spans[0][1]
    spans = ((at - lead, min(at + size, len(line)) - lead),)
    return replace(hit, data=line[lead:], spans=spans, skipped=hit.skipped - at + lead)


def _types(names: PathPattern | None) -> list[str]:
    """Return flags by which ripgrep skips files with other names; the result may still have some.

    A file type of ripgrep's is looked for in names alone, and does not touch what is ignored.
    """
    endings = names.endings if names else ()
    if not endings or any(":" in one for one in endings):
        return []
    return [*(f"--type-add=wanted:{one}" for one in endings), "--type=wanted"]


def _flags(query: Query) -> list[str]:
    """Return ripgrep's flags for a search.

    No ``--sort``: with it, ripgrep uses one thread and prints nothing before its end.
    """
    flags = [
        "--json",
        "--no-config",
        "--no-messages",
        f"--regexp={query.pattern}",
    ]
    return [*flags, "--ignore-case"] if query.ignore_case else flags


async def _run(
    command: list[str],
    query: Query,
    cwd: Path | None,
    data: bytes = b"",
    wanted: Callable[[str], bool] = lambda path: True,
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
    is_late = False
    errors = b""
    feeding = asyncio.create_task(piped.feed(data))
    try:
        async with asyncio.timeout(query.limit_s):
            if await _take(piped.stdout, hits, query.max_hits, wanted):
                errors = await piped.stderr.read(4_096)
                await piped.program.wait()
    except TimeoutError:
        ended = f"partial: the search was ended after {query.limit_s:.2g} s"
        notes = (f"{ended}; give a path or a glob to see all",)
        is_late = True
    finally:
        feeding.cancel()
        await asyncio.shield(asyncio.ensure_future(piped.end()))
    code = piped.program.returncode
    # It ends with 2 and says nothing if there are files that it may not read.
    if not hits and not notes and (errors if code == 2 else code not in (0, 1)):
        said = errors.decode(errors="replace").strip().removeprefix("rg: ")
        if "regex" in said.lower():
            raise BadPattern(said)
        raise SearchFailed(said.partition("\n")[0] or f"it ended with {code}")
    return Found(hits, notes, is_late)


async def _take(
    stdout: asyncio.StreamReader, hits: list[Hit], max_hits: int, wanted: Callable[[str], bool]
) -> bool:
    """Collect the hits in wanted files as they come; False if it stopped at ``max_hits``."""
    is_wanted = True
    async for message in messages(stdout):
        if isinstance(message, str):
            is_wanted = wanted(message)
        elif is_wanted:
            hits.append(message)
            if len(hits) >= max_hits:
                return False
    return True
