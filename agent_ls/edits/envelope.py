"""The ``*** Begin Patch`` format: add, update, delete and move, with ``@@`` anchors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from agent_ls.domain.edits import Replacement
from agent_ls.edits.hunks import place_hunks
from agent_ls.edits.patch_lines import NO_END, hunk_line, patch_lines
from agent_ls.edits.requests import FilePatch, Hunk, HunkLine, Refused

_BEGIN = re.compile(r"^[ \t]*\*\*\* Begin Patch")
_FILE = re.compile(r"^\*\*\* (Add|Update|Delete) File:[ \t]*([`\"']?)(.+?)\2[ \t]*$", re.I)
_MOVE = re.compile(r"^\*\*\* Move to:[ \t]*([`\"']?)(.+?)\1[ \t]*$", re.I)
_HEAD = re.compile(r"^\*\*\* [A-Z][A-Za-z]+(?: [A-Za-z]+)?(?::| *$)")
_DIFF = re.compile(r"^(?:--- \S|\+\+\+ \S|@@ |diff --git )")
_NUMBERS = re.compile(r"^@@ *-(\d+)(?:,\d+)? *\+\d+(?:,\d+)? *@@ ?(.*)$")
_END_OF_FILE = "*** End of File"


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
    lines = patch_lines(patch)
    patches: list[FilePatch] = []
    for part in _parts(lines):
        heads = [number for number, line in enumerate(part) if _FILE.match(line)]
        odd = next((line for line in part[: heads[0] if heads else None] if line.strip()), None)
        if odd is not None:
            return _malformed(f"{odd.strip()[:80]!r} stands before the first file")
        for at, past in pairwise([*heads, len(part)]):
            match = _FILE.match(part[at])
            if match is None:
                continue
            one = _file(match[1].capitalize(), match[3], part[at + 1 : past])
            if isinstance(one, Refused):
                return one
            patches.append(one)
    stray = next((line for line in _around(lines) if _FILE.match(line) or _DIFF.match(line)), None)
    if stray is not None and patches:
        return _malformed(f"{stray.strip()[:80]!r} stands outside of the patch")
    if not patches:
        return _malformed("it names no file with `*** Update File: path` or the like")
    return tuple(patches)


def _parts(lines: Sequence[str]) -> list[list[str]]:
    """Return the lines of each envelope; if none is marked, those from the first file header on."""
    begins = [number for number, line in enumerate(lines) if _BEGIN.match(line)]
    if not begins:
        first = next((n for n, line in enumerate(lines) if _FILE.match(line)), 0)
        begins = [first - 1]
    parts: list[list[str]] = []
    for begin, past in pairwise([*begins, len(lines)]):
        part = list(lines[begin + 1 : past])
        end = next((n for n, line in enumerate(part) if line.startswith("*** End Patch")), None)
        if end is None:
            while part and part[-1].strip() in ("", "```", "EOF"):
                part.pop()
        parts.append(part[:end])
    return parts


def _around(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines outside of all envelopes."""
    is_inside = not any(_BEGIN.match(line) for line in lines)
    for line in lines:
        is_inside = is_inside or bool(_BEGIN.match(line))
        if not is_inside:
            yield line
        is_inside = is_inside and not line.startswith("*** End Patch")


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
            anchors += [one for one in anchor.split(" @@ ") if one not in ("", "...", "…")]
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
