"""The ``*** Begin Patch`` format: add, update, delete and move, with ``@@`` anchors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from agent_ls.domain.edits import Replacement
from agent_ls.edits.hunks import place_hunks
from agent_ls.edits.patch_lines import NO_END, hunk_line, patch_lines
from agent_ls.edits.requests import FilePatch, Hunk, HunkLine, Refused
from agent_ls.edits.shell_call import folder_of_call, path_below

_BEGINS = "*** Begin Patch"
_BEGIN = re.compile(r"^[ \t]*\*\*\* Begin Patch")
_FILE = re.compile(r"^\*\*\* (Add|Update|Delete) File:[ \t]*([`\"']?)(.+?)\2[ \t]*$", re.I)
_MOVE = re.compile(r"^\*\*\* Move to:[ \t]*([`\"']?)(.+?)\1[ \t]*$", re.I)
_HEAD = re.compile(r"^\*\*\* [A-Z][A-Za-z]+(?: [A-Za-z]+)?(?::| *$)")
_DIFF = re.compile(r"^(?:--- \S|\+\+\+ \S|@@ |diff --git )")
_NUMBERS = re.compile(r"^@@ *-(\d+)(?:,\d+)? *\+\d+(?:,\d+)? *@@ ?(.*)$")
_END_OF_FILE = "*** End of File"
_END = "*** End Patch"
_NO_ANCHOR = re.compile(r"[-+.…, \d]*")
"""What may stand behind ``@@`` without naming a line."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One envelope of a patch."""

    above: Sequence[str]
    """The lines between it and the envelope before."""
    lines: Sequence[str]


def is_envelope(text: str) -> bool:
    """Tell whether a patch is written in this format."""
    return any(_BEGIN.match(line) or _FILE.match(line) for line in patch_lines(text))


def place_envelope(text: str, patch: str) -> tuple[Replacement, ...] | Refused:
    """Return the replacements of a patch that updates one file, or why it is refused."""
    parsed = parse_envelope(patch)
    if isinstance(parsed, Refused):
        return parsed
    if len(parsed) != 1 or parsed[0].kind in ("create", "delete"):
        return Refused("The patch is not one that updates one file.", "malformed")
    return place_hunks(text, parsed[0].hunks)


def parse_envelope(patch: str) -> tuple[FilePatch, ...] | Refused:
    """Parse the patch, file by file."""
    found = _parts(patch_lines(patch))
    if isinstance(found, Refused):
        return found
    parts, below = found
    patches: list[FilePatch] = []
    for part in parts:
        files = _files(part)
        if isinstance(files, Refused):
            return files
        patches += files
    around = [line for part in parts for line in part.above] + list(below)
    stray = next((line for line in around if _FILE.match(line) or _DIFF.match(line)), None)
    if stray is not None and patches:
        return _malformed(f"{stray.strip()[:80]!r} stands outside of the patch")
    if not patches:
        return _malformed("it names no file with `*** Update File: path` or the like")
    return tuple(patches)


def _parts(lines: Sequence[str]) -> tuple[list[_Part], Sequence[str]] | Refused:
    """Return the envelopes and the lines below the last one; refused if one has no end.

    If none is marked, the lines from the first file header on are one.
    """
    parts: list[_Part] = []
    at = 0
    while (begin := _next(lines, at, _BEGIN)) is not None:
        past = next((n for n in range(begin + 1, len(lines)) if lines[n].startswith(_BEGINS)),
                    len(lines))  # fmt: skip
        end = _end(lines, begin + 1, past)
        if end is None:
            return Refused(
                "The patch is cut off: it has `*** Begin Patch`, but no `*** End Patch` behind "
                "its last line. Send it whole; if it is too long, as several smaller patches.",
                "malformed",
            )
        parts.append(_Part(lines[at:begin], lines[begin + 1 : end]))
        at = end + 1
    if parts:
        return parts, lines[at:]
    first = _next(lines, 0, _FILE) or 0
    end = _end(lines, first, len(lines))
    if end is not None:
        return [_Part(lines[:first], lines[first:end])], lines[end + 1 :]
    body = list(lines[first:])
    while body and body[-1].strip() in ("", "```", "EOF"):
        body.pop()
    return [_Part(lines[:first], body)], ()


def _next(lines: Sequence[str], at: int, mark: re.Pattern[str]) -> int | None:
    return next((n for n in range(at, len(lines)) if mark.match(lines[n])), None)


def _end(lines: Sequence[str], at: int, past: int) -> int | None:
    """Return the line that ends the envelope; an indented one may also be a line of a hunk."""
    ends = [n for n in range(at, past) if lines[n].strip().startswith(_END)]
    return next((n for n in ends if lines[n].startswith(_END)), ends[-1] if ends else None)


def _files(part: _Part) -> list[FilePatch] | Refused:
    """Parse one envelope, file by file."""
    folder = folder_of_call(part.above)
    if isinstance(folder, Refused):
        return folder
    lines, heads = list(part.lines), list[int]()
    for number, line in enumerate(lines):
        # In an update, an indented line is a line of the file.
        is_update = bool(heads) and lines[heads[-1]].lower().startswith("*** update")
        if _FILE.match(line if is_update else line.strip()):
            heads.append(number)
            lines[number] = line.strip()
    odd = next((line for line in lines[: heads[0] if heads else None] if line.strip()), None)
    if odd is not None:
        return _malformed(f"{odd.strip()[:80]!r} stands before the first file")
    patches: list[FilePatch] = []
    for at, past in pairwise([*heads, len(lines)]):
        match = _FILE.match(lines[at])
        if match is None:
            continue
        one = _file(match[1].capitalize(), match[3], lines[at + 1 : past])
        if isinstance(one, Refused):
            return one
        new_path = one.new_path and path_below(folder, one.new_path)
        patches.append(replace(one, path=path_below(folder, one.path), new_path=new_path))
    return patches


def _malformed(what: str) -> Refused:
    return Refused(f"The patch cannot be read: {what}.", "malformed")


def _file(verb: str, path: str, body: Sequence[str]) -> FilePatch | Refused:
    if verb == "Delete":
        return FilePatch("delete", path)
    if verb == "Add":
        return _added(path, body)
    new_path = None
    if body and (match := _MOVE.match(body[0])):
        new_path, body = match.group(2), body[1:]
        new_path = None if new_path == path else new_path
    if len(body) > 1 and body[0].startswith("--- ") and body[1].startswith("+++ "):
        # Some models name the file once more, as unified diffs do.
        body = body[2:]
    odd = next((line for line in body if _HEAD.match(line) and _END_OF_FILE not in line), None)
    if odd is not None:
        return _malformed(f"{odd.strip()[:80]!r} in the update of {path} is no part of the format")
    hunks = _hunks(body)
    if not hunks and new_path is None:
        return _malformed(f"the update of {path} changes nothing; begin its lines with - and +")
    return FilePatch("move" if new_path else "change", path, tuple(hunks), new_path)


def _added(path: str, body: Sequence[str]) -> FilePatch | Refused:
    lines = [line for line in body if not line.startswith(("@@", _END_OF_FILE, "--- /dev/null"))]
    while lines and not lines[-1].strip():
        lines.pop()
    if any(line.startswith("+") for line in lines):
        if not all(line.startswith("+") or not line.strip() for line in lines):
            return _malformed(f"a line of the added file {path} does not begin with +")
        lines = [line[1:] for line in lines]
    return FilePatch("create", path, text="\n".join(lines) + ("\n" if lines else ""))


def _hunks(body: Sequence[str]) -> list[Hunk]:
    found: list[Hunk] = []
    anchors: list[str] = []
    line_hint: int | None = None
    lines: list[HunkLine] = []
    at_end = False

    def close() -> None:
        nonlocal anchors, lines, at_end, line_hint
        if any(line.sign != " " for line in lines):
            found.append(
                Hunk(
                    tuple(_without_end(lines)), line_hint, tuple(anchors),
                    is_diff=True, is_anchor_sure=line_hint is None, at_end=at_end,
                )
            )  # fmt: skip
        if lines:
            anchors, line_hint = [], None
        lines, at_end = [], False

    for raw in body:
        if raw.startswith("@@"):
            close()
            match = _NUMBERS.match(raw)
            if match:
                line_hint = int(match.group(1)) or None
            anchor = (match.group(2) if match else raw[2:].removesuffix("@@")).strip()
            anchors += [one for one in anchor.split(" @@ ") if not _NO_ANCHOR.fullmatch(one)]
        elif raw.startswith(_END_OF_FILE):
            at_end = True
        elif raw.startswith(NO_END):
            continue
        else:
            lines.append(hunk_line(raw))
    close()
    return found


def _without_end(lines: list[HunkLine]) -> list[HunkLine]:
    """Drop trailing blank lines: they only end the message."""
    kept = list(lines)
    while kept and kept[-1].sign == " " and not kept[-1].text.strip():
        kept.pop()
    return kept
