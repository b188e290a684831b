"""Unified diffs as models write them: line numbers and counts are hints, prefixes may be missing.

Owns the reading of the format alone; where hunks go is decided elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_ls.domain.edits import Replacement
from agent_ls.edits.hunks import place_hunks
from agent_ls.edits.lines import flattened
from agent_ls.edits.patches import FilePatch
from agent_ls.edits.requests import Hunk, HunkLine, Refused

_NUMBERS = re.compile(r"^@@+ *-(\d+)(?:,(\d+))? *\+(\d+)(?:,(\d+))? *@@+ ?(.*)$")
_HEADER = re.compile(r"^@@")
_NAME = re.compile(r"^(?:---|\+\+\+) +(.+?)(?:\t.*)?$")
_GIT = re.compile(r'^diff --git "?a/(.+?)"? "?b/(.+?)"?$')
_EXTENDED = re.compile(
    r"^(?:index [0-9a-f]+\.\.|new file mode|deleted file mode|old mode|new mode|similarity index|"
    r"dissimilarity index|rename from |rename to |copy from |copy to |Binary files |diff --git )"
)
_FENCE = re.compile(r"^(```|~~~)[\w.+-]*\s*$")
_STARTS = re.compile(r"^(?:@@|--- |diff --git )")
_NO_END = "\\ No newline"


@dataclass(slots=True)
class _Draft:
    """One file of the patch while it is read."""

    old: str | None = None
    new: str | None = None
    renamed: tuple[str, str] | None = None
    hunks: list[Hunk] = field(default_factory=list[Hunk])
    is_new: bool = False
    is_deleted: bool = False


def place_unified(text: str, diff: str) -> tuple[Replacement, ...] | Refused:
    """Return the replacements that carry out a unified diff of one file, or why none is."""
    parsed = parse_unified(diff)
    if isinstance(parsed, Refused):
        return parsed
    hunks = [hunk for one in parsed for hunk in one.hunks]
    if len({one.path for one in parsed}) > 1 or not hunks:
        return Refused("The diff is not one of changes to one file.", "malformed")
    return place_hunks(text, tuple(hunks))


def parse_unified(diff: str) -> tuple[FilePatch, ...] | Refused:
    """Return what the diff says, file by file; a diff without names is of the file ''."""
    lines = _unfenced(flattened(diff, alone=False).split("\n"))
    drafts: list[_Draft] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if _starts_file(lines, at) or (not drafts and _is_named(lines, at)):
            at = _names(lines, at, drafts)
        elif _HEADER.match(line) or (drafts and not drafts[-1].hunks and line[:1] in tuple("+- ")):
            if not drafts:
                drafts.append(_Draft())
            # Some leave the header of the only hunk out.
            first = at + 1 if _HEADER.match(line) else at
            past = _end_of_hunk(lines, first - 1)
            hunk = _hunk(lines[first - 1] if first > at else "@@", lines[first:past])
            if isinstance(hunk, Refused):
                return hunk
            if hunk.lines:
                drafts[-1].hunks.append(hunk)
            at = past
        else:
            at += 1
    patches = [_patch(one) for one in drafts]
    if not patches or any(one is None for one in patches):
        return Refused(
            "This is no unified diff: there is no `@@` line with hunk lines after it. Each line "
            "of a hunk begins with a space, `-` or `+`.",
            "malformed",
        )
    return tuple(one for one in patches if one is not None)


def _unfenced(lines: list[str]) -> list[str]:
    fences = [number for number, line in enumerate(lines) if _FENCE.match(line)]
    if len(fences) >= 2 and not any(_STARTS.match(line) for line in lines[: fences[0]]):
        return lines[fences[0] + 1 : fences[-1]]
    return lines


def _starts_file(lines: Sequence[str], at: int) -> bool:
    if lines[at].startswith("diff --git "):
        return True
    # A removed line may itself begin with dashes; only a name is followed by a hunk.
    after = next((line for line in lines[at + 2 :] if line.strip()), "@@")
    return _is_named(lines, at) and after.startswith(("@@", "diff "))


def _is_named(lines: Sequence[str], at: int) -> bool:
    """Tell whether two lines here look like those that name a file."""
    is_pair = lines[at].startswith("--- ") and at + 1 < len(lines)
    return is_pair and lines[at + 1].startswith("+++ ")


def _names(lines: Sequence[str], at: int, drafts: list[_Draft]) -> int:
    """Begin a file, and return where the lines that name it end."""
    draft = _Draft()
    drafts.append(draft)
    if lines[at].startswith("diff --git"):
        at = _of_git(lines, at, draft)
        # A rename alone is not followed by names: such as there are begin the next file.
        if at + 1 >= len(lines) or not lines[at].startswith("--- "):
            return at
        if draft.old is not None and _name(lines[at], "a/") not in (None, draft.old):
            return at
    draft.old, draft.new = _name(lines[at], "a/"), _name(lines[at + 1], "b/")
    draft.is_new = draft.is_new or draft.old is None
    draft.is_deleted = draft.is_deleted or draft.new is None
    return at + 2


def _of_git(lines: Sequence[str], at: int, draft: _Draft) -> int:
    """Read what git says before the names, and return where it ends."""
    match = _GIT.match(lines[at])
    if match:
        draft.old, draft.new = match.group(1), match.group(2)
    at += 1
    moved: list[str] = []
    while at < len(lines) and _EXTENDED.match(lines[at]) and not _GIT.match(lines[at]):
        line = lines[at]
        draft.is_new = draft.is_new or line.startswith("new file")
        draft.is_deleted = draft.is_deleted or line.startswith("deleted file")
        if line.startswith(("rename from ", "rename to ")):
            moved.append(line.split(" ", 2)[2].strip())
        at += 1
    if len(moved) == 2:
        draft.renamed = (moved[0], moved[1])
    return at


def _name(line: str, prefix: str) -> str | None:
    """Return the path that a line names; None for a file that does not exist."""
    match = _NAME.match(line)
    name = match.group(1).strip().strip('"') if match else ""
    return None if name == "/dev/null" else name.removeprefix(prefix).removeprefix("./")


def _end_of_hunk(lines: Sequence[str], at: int) -> int:
    """Return where the hunk that begins at a header ends."""
    past = at + 1
    match = _NUMBERS.match(lines[at])
    left = [int(match.group(n)) if match.group(n) else 1 for n in (2, 4)] if match else [0, 0]
    while past < len(lines):
        line = lines[past]
        # As long as the counts ask for lines, what looks like a header may be one of them.
        is_owed = left[0] > 0 and left[1] >= 0 and line.startswith("-")
        if not is_owed and (_HEADER.match(line) or _starts_file(lines, past)):
            break
        if is_owed and _starts_file(lines, past) and left[0] < 2:
            break
        left[0] -= not line.startswith("+")
        left[1] -= not line.startswith("-")
        past += 1
    return past


def _hunk(header: str, body: Sequence[str]) -> Hunk | Refused:
    match = _NUMBERS.match(header)
    section = match.group(5).strip() if match else _section(header)
    lines: list[HunkLine] = []
    ends: dict[str, bool] = {}
    body = _without_prose(list(body), match)
    while body and not body[-1].strip():
        # What is left after the last hunk is the end of the message, not blank context.
        body.pop()
    for raw in body:
        if raw.startswith(_NO_END):
            if lines:
                ends[lines[-1].sign] = False
            continue
        lines.append(_line(raw))
    if not any(line.sign != " " for line in lines):
        return Hunk(())
    number = int(match.group(1)) if match else None
    return Hunk(
        tuple(lines),
        number or None,
        (section,) if section else (),
        is_diff=True,
        final_end=_final_end(lines, ends),
    )


def _without_prose(body: list[str], match: re.Match[str] | None) -> list[str]:
    """Return the lines without words that follow a hunk which has all lines that it counts."""
    if match is None:
        return body
    left = [int(match.group(n)) if match.group(n) else 1 for n in (2, 4)]
    for number, line in enumerate(body):
        if max(left) <= 0:
            rest = [one for one in body[number:] if one]
            is_prose = not line and not any(one[0] in " +-\\" for one in rest)
            return body[:number] if is_prose else body
        left[0] -= not line.startswith(("+", "\\"))
        left[1] -= not line.startswith(("-", "\\"))
    return body


def _section(header: str) -> str:
    """Return the line that a header without numbers names."""
    parts = [part.strip() for part in header.split("@@")]
    named = [part for part in parts if part and not set(part) <= set(".…+-, 0123456789")]
    return named[-1] if named else ""


def _line(raw: str) -> HunkLine:
    match raw[:1]:
        case "+":
            return HunkLine("+", raw[1:])
        case "-":
            return HunkLine("-", raw[1:])
        case " ":
            return HunkLine(" ", raw[1:])
        case _:
            # Models leave the space out before a blank line or one that is not indented.
            return HunkLine(" ", raw)


def _final_end(lines: Sequence[HunkLine], ends: dict[str, bool]) -> bool | None:
    """Return whether the file is to end with a line end, when the diff says so."""
    if not ends or " " in ends:
        return None
    if "+" in ends and "-" in ends:
        return None
    if "+" in ends:
        return False
    return True if any(line.sign == "+" for line in lines) else None


def _patch(draft: _Draft) -> FilePatch | None:
    hunks = tuple(draft.hunks)
    path = draft.old or draft.new or ""
    if draft.renamed:
        return FilePatch("move", draft.renamed[0], hunks, draft.renamed[1])
    if draft.is_deleted:
        return FilePatch("delete", path, hunks)
    if draft.is_new:
        new = [line.text for hunk in hunks for line in hunk.lines if line.sign == "+"]
        has_end = all(hunk.final_end is not False for hunk in hunks)
        text = "\n".join(new) + ("\n" if new and has_end else "")
        return FilePatch("create", draft.new or path, text=text)
    if not hunks:
        return None
    if draft.old and draft.new and draft.old != draft.new:
        return FilePatch("move", draft.old, hunks, draft.new)
    return FilePatch("change", path, hunks)
