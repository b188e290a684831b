"""The ``*** Begin Patch`` format: add, update, delete and move, with ``@@`` anchors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from agent_ls.domain.edits import Replacement
from agent_ls.edits.hunks import place_hunks
from agent_ls.edits.lines import flattened
from agent_ls.edits.patches import FilePatch
from agent_ls.edits.requests import Hunk, HunkLine, Refused

_BEGIN = re.compile(r"^([ \t]*)\*\*\* Begin Patch")
_FILE = re.compile(r"^\*\*\* (Add|Update|Delete) File:[ \t]*(.+?)[ \t]*$")
_MOVE = re.compile(r"^\*\*\* Move to:[ \t]*(.+?)[ \t]*$")
_NUMBERS = re.compile(r"^@@ *-(\d+)(?:,\d+)? *\+\d+(?:,\d+)? *@@ ?(.*)$")
_END_OF_FILE = "*** End of File"
_NO_END = "\\ No newline"


def is_envelope(text: str) -> bool:
    """Tell whether a patch is written in this format."""
    return any(_BEGIN.match(line) or _FILE.match(line) for line in text.splitlines())


def place_envelope(text: str, patch: str) -> tuple[Replacement, ...] | Refused:
    """Return the replacements that carry out a patch that updates one file, or why none is."""
    parsed = parse_envelope(patch)
    if isinstance(parsed, Refused):
        return parsed
    if len(parsed) != 1 or parsed[0].kind in ("create", "delete"):
        return Refused("The patch is not one that updates one file.", "malformed")
    return place_hunks(text, parsed[0].hunks)


def parse_envelope(patch: str) -> tuple[FilePatch, ...] | Refused:
    """Return what the patch says, file by file."""
    lines = _outdented(flattened(patch, alone=False).split("\n"))
    begin = next((n for n, line in enumerate(lines) if line.startswith("*** Begin Patch")), -1)
    end = next((n for n, line in enumerate(lines) if line.startswith("*** End Patch")), len(lines))
    while end == len(lines) and lines and lines[-1].strip() in ("", "```", "EOF"):
        lines.pop()
        end = len(lines)
    heads = [n for n in range(begin + 1, end) if _FILE.match(lines[n])]
    patches: list[FilePatch] = []
    for at, past in pairwise([*heads, end]):
        match = _FILE.match(lines[at])
        if match is None:
            continue
        one = _file(match.group(1), match.group(2), lines[at + 1 : past])
        if isinstance(one, Refused):
            return one
        patches.append(one)
    if not patches:
        return _malformed("it names no file with `*** Update File: path` or the like")
    return tuple(patches)


def _outdented(lines: list[str]) -> list[str]:
    """Return the lines without the indentation that the whole patch has."""
    lead = next((match.group(1) for line in lines if (match := _BEGIN.match(line))), "")
    return [line.removeprefix(lead) for line in lines] if lead else lines


def _malformed(what: str) -> Refused:
    return Refused(f"The patch cannot be read: {what}.", "malformed")


def _file(verb: str, path: str, body: Sequence[str]) -> FilePatch | Refused:
    if verb == "Delete":
        return FilePatch("delete", path)
    if verb == "Add":
        return _added(path, body)
    new_path = None
    if body and (match := _MOVE.match(body[0])):
        new_path, body = match.group(1), body[1:]
        new_path = None if new_path == path else new_path
    hunks = _hunks(body)
    if not hunks and new_path is None:
        return _malformed(f"the update of {path} changes nothing; begin its lines with - and +")
    return FilePatch("move" if new_path else "change", path, tuple(hunks), new_path)


def _added(path: str, body: Sequence[str]) -> FilePatch | Refused:
    lines = list(body)
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
                    is_diff=True, is_anchor_sure=True, at_end=at_end,
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
        elif raw.startswith(_NO_END):
            continue
        else:
            lines.append(_line(raw))
    close()
    return found


def _without_end(lines: list[HunkLine]) -> list[HunkLine]:
    """Return the lines without the blank ones that only end the message."""
    kept = list(lines)
    while kept and kept[-1].sign == " " and not kept[-1].text.strip():
        kept.pop()
    return kept


def _line(raw: str) -> HunkLine:
    match raw[:1]:
        case "+":
            return HunkLine("+", raw[1:])
        case "-":
            return HunkLine("-", raw[1:])
        case " ":
            return HunkLine(" ", raw[1:])
        case _:
            return HunkLine(" ", raw)
