"""Parse SEARCH/REPLACE blocks, as aider, Cline and Roo Code have their models write them.

Where the blocks go is decided in ``search_replace`` and ``hunks``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_ls.edits.requests import FilePatch, Hunk, HunkLine, Refused

_HEAD = re.compile(r"^[<-]{5,9} ?(?:SEARCH|ORIGINAL)\b>?[ \t]*$")
_TAIL = re.compile(r"^[>+]{5,9} ?(?:REPLACE|UPDATED)\b[ \t]*$")
_MIDDLE = re.compile(r"^={5,9}[ \t]*$")
_EXACT_MIDDLE = re.compile(r"^={7}[ \t]*$")
_HINT = re.compile(r"^:(start|end)_line: *(\d+)[ \t]*$")
_HINTS_END = re.compile(r"^-{5,9}[ \t]*$")
_ESCAPED = re.compile(r"^\\(?=[<=>+-]{7}|:(?:start|end)_line:)")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)")


@dataclass(frozen=True, slots=True)
class Block:
    """One block: replace ``old`` by ``new``."""

    old: str
    new: str
    line: int | None = None
    """1-based line where ``old`` begins, if the block says so."""
    path: str = ""
    """The file that is named above the block, or above an earlier one."""


def parse_blocks(text: str) -> tuple[Block, ...] | Refused | None:
    """Return the blocks of a text, in order; None if it has none."""
    lines = text.replace("\r\n", "\n").split("\n")
    blocks: list[Block] = []
    path, at, above = "", 0, 0
    while at < len(lines):
        if not _HEAD.match(lines[at]):
            at += 1
            continue
        path = _path_above(lines[above:at]) or path
        past = next((n for n in range(at + 1, len(lines)) if _TAIL.match(lines[n])), None)
        if past is None:
            return _malformed(len(blocks), "it has no `>>>>>>> REPLACE` line")
        block = read_block(lines[at + 1 : past], path)
        if isinstance(block, str):
            return _malformed(len(blocks), block)
        blocks.append(block)
        at = above = past + 1
    return tuple(blocks) or None


def patches_of(blocks: Sequence[Block]) -> tuple[FilePatch, ...] | Refused:
    """Return the blocks as a patch, by file; refused if one names no file."""
    found: dict[str, list[Block]] = {}
    for block in blocks:
        if not block.path:
            return Refused(
                "A SEARCH/REPLACE block names no file. Write the file's path on the line above it.",
                "malformed",
            )
        found.setdefault(block.path, []).append(block)
    return tuple(_patch(path, own) for path, own in found.items())


def _patch(path: str, blocks: Sequence[Block]) -> FilePatch:
    if all(not block.old.strip() for block in blocks):
        text = "".join(f"{block.new}\n" for block in blocks)
        return FilePatch("create", path, text=text)
    return FilePatch("change", path, tuple(map(_hunk, blocks)))


def _hunk(block: Block) -> Hunk:
    old = [HunkLine("-", line) for line in block.old.split("\n")] if block.old else []
    new = [HunkLine("+", line) for line in block.new.split("\n")] if block.new else []
    return Hunk((*old, *new), block.line)


def read_block(lines: list[str], path: str) -> Block | str:
    """Return the block between its first and its last line, or what is wrong with it."""
    hints: dict[str, int] = {}
    while lines and (hint := _HINT.match(lines[0])):
        hints[hint[1]] = int(hint[2])
        lines = lines[1:]
    if hints and lines and _HINTS_END.match(lines[0]):
        lines = lines[1:]
    middles = [number for number, line in enumerate(lines) if _EXACT_MIDDLE.match(line)]
    if not middles:
        middles = [number for number, line in enumerate(lines) if _MIDDLE.match(line)]
    if len(middles) != 1:
        many = "several lines" if middles else "no line"
        return f"it has {many} `=======` between SEARCH and REPLACE"
    old, new = lines[: middles[0]], lines[middles[0] + 1 :]
    return Block(_text(old), _text(new), hints.get("start") or None, path)


def _text(lines: Sequence[str]) -> str:
    return "\n".join(_ESCAPED.sub("", line) for line in lines)


def _path_above(lines: Sequence[str]) -> str:
    """Return the path that is written above a block, fenced or not; empty without one."""
    near = [line for line in lines if line.strip() and not _FENCE.match(line)][-1:]
    path = near[0].strip().strip("`*#:").strip() if near else ""
    is_path = bool(path) and " " not in path and ("." in path or "/" in path)
    return path if is_path else ""


def _malformed(number: int, what: str) -> Refused:
    return Refused(f"SEARCH/REPLACE block {number + 1} cannot be read: {what}.", "malformed")
