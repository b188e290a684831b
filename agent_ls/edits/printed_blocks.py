"""Reads the edits in a model's prose: SEARCH/REPLACE blocks, unified diffs and patches.

Each block has to be whole and to name its file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_ls.edits.blocks import read_block
from agent_ls.edits.envelope import parse_envelope
from agent_ls.edits.requests import EditRequest, FilePatch, Refused
from agent_ls.edits.unified import parse_unified

_SEARCH = re.compile(r"^(?:<{5,9}|-{5,9}) ?SEARCH\b[ >]*$")
_REPLACE = re.compile(r"^(?:>{5,9}|\+{5,9}) ?REPLACE\b[ >]*$")
_FENCE = re.compile(r"^(?:```|~~~)")
_NAMED_TAG = re.compile(r"^<path>(.+)</path>$")
_PATH = re.compile(r"^(?:[\w.@+()\[\]-]+/)*[\w.@+()\[\]-]*[\w)\]]$")
_DIFF = re.compile(r"^(?:diff --git |--- (?:\S|$))")
_DIFF_LINE = re.compile(
    r"^(?:[ +\-@\\]|diff --git |index |(?:new|deleted) file|rename |similarity |$)"
)
_MAX_BLOCKS = 200
"""Each block reads the text before it again."""
_BEGIN, _END = "*** Begin Patch", "*** End Patch"


@dataclass(frozen=True, slots=True)
class Blocks:
    """Edits of one file, in order."""

    path: str
    requests: tuple[EditRequest, ...]

    @property
    def is_creation(self) -> bool:
        """Say whether the file may be missing: nothing in it is searched for."""
        return len(self.requests) == 1 and not self.requests[0].old.strip()


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch as written, and what it changes."""

    source: str
    files: tuple[FilePatch, ...]


@dataclass(frozen=True, slots=True)
class PrintedBlocks:
    """The edits in a text, and the text without them."""

    text: str
    edits: tuple[Blocks | Patch, ...]
    is_broken: bool
    """A block has no end, or its file is not named."""


@dataclass(slots=True)
class _Reading:
    lines: Sequence[str]
    edits: list[Blocks | Patch] = field(default_factory=list["Blocks | Patch"])
    kept: list[str] = field(default_factory=list[str])
    path: str = ""
    """The file of the last block."""
    blocks: list[EditRequest] = field(default_factory=list[EditRequest])


def printed_blocks(text: str) -> PrintedBlocks | None:
    """Return the edits in a text; None if there are none."""
    if len(text) > _MAX_CHARS:
        return None
    reading = _Reading([line.rstrip("\r") for line in text.split("\n")])
    at = 0
    while at < len(reading.lines):
        past = _edit_at(reading, at)
        if past is None:
            return PrintedBlocks("\n".join(reading.kept).strip(), (), is_broken=True)
        if past == at:
            reading.kept.append(reading.lines[at])
            past = at + 1
        at = past
    if not reading.edits:
        return None
    return PrintedBlocks("\n".join(reading.kept).strip(), tuple(reading.edits), is_broken=False)


def _edit_at(reading: _Reading, at: int) -> int | None:
    """Read an edit that begins at this line; return the line after it, None if it is broken."""
    line = reading.lines[at].rstrip()
    if _SEARCH.match(line):
        return _block(reading, at)
    if line == _BEGIN:
        return _envelope(reading, at)
    is_diff = _DIFF.match(line) and any(
        one.startswith("+++ ") for one in reading.lines[at + 1 : at + 8]
    )
    return _diff(reading, at) if is_diff else at


def _block(reading: _Reading, at: int) -> int | None:
    """Read one SEARCH/REPLACE block."""
    lines = reading.lines
    end = _next(lines, at + 1, _REPLACE)
    path = _take_path(reading.kept) or reading.path
    if end is None or not path or len(reading.blocks) >= _MAX_BLOCKS:
        return None
    block = read_block(list(lines[at + 1 : end]), path)
    if isinstance(block, str):
        return None
    request = EditRequest(block.old, block.new, block.line)
    reading.blocks.append(request)
    last = reading.edits[-1] if reading.edits else None
    if isinstance(last, Blocks) and last.path == path:
        reading.edits[-1] = Blocks(path, (*last.requests, request))
    else:
        reading.edits.append(Blocks(path, (request,)))
    reading.path = path
    return _past_fence(reading, end + 1)


def _next(lines: Sequence[str], at: int, mark: re.Pattern[str]) -> int | None:
    """Return the next line with a mark; None if another block begins before it."""
    for number in range(at, len(lines)):
        if mark.match(lines[number].rstrip()):
            return number
        if _SEARCH.match(lines[number].rstrip()):
            return None
    return None


def _take_path(kept: list[str]) -> str:
    """Take the name of a block's file, and its code fence, off the text before the block."""
    at = len(kept) - 1
    while at >= 0 and (not kept[at].strip() or _FENCE.match(kept[at].strip())):
        at -= 1
    path = _path_in(kept[at]) if at >= 0 and len(kept) - at <= _MAX_LINES_BETWEEN else ""
    if path:
        del kept[at:]
    # The block's own fence may stand above its name or below it.
    if kept and _FENCE.match(kept[-1].strip()) and _is_in_fence(kept):
        kept.pop()
    return path


def _is_in_fence(lines: Sequence[str]) -> bool:
    return sum(1 for line in lines if _FENCE.match(line.strip())) % 2 == 1


def _path_in(line: str) -> str:
    """Return the path that is all of a line, without what models put around it."""
    plain = line.strip()
    if tag := _NAMED_TAG.match(plain):
        return tag[1].strip()
    plain = re.sub(r"^(?:#+|//|[-*]|\d+\.) +|^(?:file|path): *", "", plain, flags=re.IGNORECASE)
    plain = plain.strip("*`\"' ").removesuffix(":").strip("*`\"' ").removeprefix("./")
    looks_like_path = _PATH.match(plain) and ("/" in plain or "." in plain or plain in _BARE_NAMES)
    return plain if looks_like_path else ""


def _envelope(reading: _Reading, at: int) -> int | None:
    end = next(
        (n for n in range(at, len(reading.lines)) if reading.lines[n].rstrip() == _END), None
    )
    if end is None:
        return None
    source = "\n".join(reading.lines[at : end + 1])
    files = parse_envelope(source)
    if isinstance(files, Refused):
        return None
    return _add_patch(reading, Patch(source, files), end + 1)


def _diff(reading: _Reading, at: int) -> int:
    """Read a unified diff; what cannot be read as one is text."""
    lines = reading.lines
    past = at
    while past < len(lines) and _DIFF_LINE.match(lines[past]):
        past += 1
    source = "\n".join(lines[at:past]).rstrip("\n") + "\n"
    files = parse_unified(source)
    if isinstance(files, Refused) or not all(one.path for one in files):
        reading.kept += lines[at:past]
        return past
    return _add_patch(reading, Patch(source, files), past)


def _add_patch(reading: _Reading, patch: Patch, past: int) -> int:
    reading.edits.append(patch)
    if reading.kept and _FENCE.match(reading.kept[-1].strip()):
        reading.kept.pop()
        return _past_fence(reading, past)
    return past


def _past_fence(reading: _Reading, at: int) -> int:
    """Return the line after the fence that closes a block here, if one does."""
    is_fence = at < len(reading.lines) and reading.lines[at].strip() in ("```", "~~~")
    return at + 1 if is_fence else at


_MAX_CHARS = 1_000_000
_MAX_LINES_BETWEEN = 4
_BARE_NAMES = ("Makefile", "Dockerfile", "LICENSE", "README", "Gemfile", "Rakefile", "Procfile")
