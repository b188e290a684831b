"""Parse unified diffs as models write them: numbers are hints, signs may be missing.

Where the hunks go is decided in ``hunks``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agent_ls.domain.edits import Replacement
from agent_ls.edits.hunks import place_hunks
from agent_ls.edits.patch_lines import NO_END, hunk_line, patch_lines
from agent_ls.edits.requests import FilePatch, Hunk, Refused
from agent_ls.edits.shell_call import folder_of_call, path_below

_NUMBERS = re.compile(r"^@@+ *-(\d+)(?:,(\d+))? *\+(\d+)(?:,(\d+))? *@@+ ?(.*)$")
_FROM_NOTHING = re.compile(r"^@@+ *-0,0 ")
_HEADER = re.compile(r"^@@")
_NAME = re.compile(
    r"^(?:---|\+\+\+) +(\"(?:[^\"\\]|\\.)*\"|.+?)"
    r"(?:\t.*| +\d{4}-\d\d-\d\d[ T]\d.*| +\((?:original|modified|old|new|updated|before|after)\))?$"
)
_GIT = re.compile(r'^diff --git "?a/(.+?)"? "?b/(.+?)"?$')
_EXTENDED = re.compile(
    r"^(?:index [0-9a-f]+\.\.|new file mode|deleted file mode|old mode|new mode|similarity index|"
    r"dissimilarity index|rename from |rename to |copy from |copy to |Binary files |diff --git )"
)


_NULL = "/dev/null"


@dataclass(slots=True)
class _Draft:
    """One file of the patch during parsing."""

    old: str | None = None
    new: str | None = None
    renamed: tuple[str, str] | None = None
    hunks: list[Hunk] = field(default_factory=list[Hunk])
    is_new: bool = False
    is_deleted: bool = False
    is_copy: bool = False
    is_from_nothing: bool = False
    """The header says that the file was empty or missing."""


_NO_DIFF = Refused(
    "This is no unified diff: there is no `@@` line with hunk lines after it. Each line of a hunk "
    "begins with a space, `-` or `+`.",
    "malformed",
)

_CUT_OFF = Refused(
    "The diff is cut off: its last hunk ends with a removed line, and its header counts more lines "
    "before and after. Send it whole, or count the lines right.",
    "malformed",
)


def place_unified(text: str, diff: str) -> tuple[Replacement, ...] | Refused:
    """Return the replacements of a unified diff of one file, or why it is refused."""
    parsed = parse_unified(diff)
    if isinstance(parsed, Refused):
        return parsed
    hunks = [hunk for one in parsed for hunk in one.hunks]
    if len({one.path for one in parsed}) > 1 or not hunks:
        return Refused("The diff is not one of changes to one file.", "malformed")
    return place_hunks(text, tuple(hunks))


def parse_unified(diff: str) -> tuple[FilePatch, ...] | Refused:
    """Parse the diff, file by file; without file names the path is ''."""
    lines = patch_lines(diff)
    drafts: list[_Draft] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if _starts_file(lines, at) or (not drafts and _is_named(lines, at)):
            at = _names(lines, at, drafts)
        elif _HEADER.match(line) or (drafts and not drafts[-1].hunks and line[:1] in tuple("+- ")):
            if not drafts:
                drafts.append(_Draft())
            # Some models omit the header of the only hunk.
            first = at + 1 if _HEADER.match(line) else at
            past = _end_of_hunk(lines, first - 1)
            hunk = _hunk(lines[at] if first > at else "@@", lines[first:past])
            match = _NUMBERS.match(line)
            if match and past == len(lines) and _is_cut_off(hunk, _counts(match), lines[first:]):
                return _CUT_OFF
            if hunk.lines and (drafts[-1].is_new or any(line.sign != " " for line in hunk.lines)):
                drafts[-1].hunks.append(hunk)
                drafts[-1].is_from_nothing = bool(_FROM_NOTHING.match(line)) and not hunk.old
            at = past
        else:
            at += 1
    first = next((n for n in range(len(lines)) if _begins(lines, n)), 0)
    folder = folder_of_call(lines[:first])
    if isinstance(folder, Refused):
        return folder
    patches: list[FilePatch] = []
    for one in drafts:
        patch = _patch(one)
        if isinstance(patch, Refused):
            return patch
        new_path = patch.new_path and path_below(folder, patch.new_path)
        patches.append(replace(patch, path=path_below(folder, patch.path), new_path=new_path))
    return tuple(patches) or _NO_DIFF


def _begins(lines: Sequence[str], at: int) -> bool:
    """Tell whether the first file or hunk begins here."""
    return bool(_HEADER.match(lines[at])) or _starts_file(lines, at) or _is_named(lines, at)


def _starts_file(lines: Sequence[str], at: int) -> bool:
    if lines[at].startswith("diff --git "):
        return True
    if not _is_named(lines, at):
        return False
    # A removed line may begin with dashes too; but only file names are followed by a hunk.
    rest = (lines[number] for number in range(at + 2, len(lines)))
    return next((line for line in rest if line.strip()), "@@").startswith(("@@", "diff "))


def _is_named(lines: Sequence[str], at: int) -> bool:
    """Tell whether the two lines here look like the names of a file."""
    return at + 1 < len(lines) and (
        (lines[at].startswith("--- ") and lines[at + 1].startswith("+++ "))
        or (lines[at].startswith("+++ ") and lines[at + 1].startswith("@@"))
    )


def _names(lines: Sequence[str], at: int, drafts: list[_Draft]) -> int:
    """Append a draft for a file; return the line after its names."""
    draft = _Draft()
    drafts.append(draft)
    if lines[at].startswith("diff --git"):
        at = _of_git(lines, at, draft)
        # A pure rename has no names after it: if names follow, they begin the next file.
        if at + 1 >= len(lines) or not lines[at].startswith("--- "):
            return at
        if draft.old is not None and _name(lines[at]).removeprefix("a/") not in (_NULL, draft.old):
            return at
    if lines[at].startswith("+++ "):
        # Some models name the file only once.
        draft.old = draft.new = _name(lines[at]).removeprefix("b/")
        return at + 1
    old, new = _name(lines[at]), _name(lines[at + 1])
    if new.startswith("b/") or _NULL in (old, new):
        # Without these the prefix may be a real folder.
        old, new = old.removeprefix("a/"), new.removeprefix("b/")
    draft.old, draft.new = (None if one == _NULL else one for one in (old, new))
    draft.is_new = draft.is_new or draft.old is None
    draft.is_deleted = draft.is_deleted or draft.new is None
    return at + 2


def _of_git(lines: Sequence[str], at: int, draft: _Draft) -> int:
    """Parse git's extended header; return the line after it."""
    match = _GIT.match(lines[at])
    if match:
        draft.old, draft.new = match.group(1), match.group(2)
    at += 1
    moved: list[str] = []
    while at < len(lines) and _EXTENDED.match(lines[at]) and not _GIT.match(lines[at]):
        line = lines[at]
        draft.is_new = draft.is_new or line.startswith("new file")
        draft.is_deleted = draft.is_deleted or line.startswith("deleted file")
        draft.is_copy = draft.is_copy or line.startswith("copy from ")
        if line.startswith(("rename from ", "rename to ")):
            moved.append(line.split(" ", 2)[2].strip())
        at += 1
    if len(moved) == 2:
        draft.renamed = (moved[0], moved[1])
    return at


def _name(line: str) -> str:
    """Return the path on a ``---`` or ``+++`` line, with its a/ or b/ prefix."""
    match = _NAME.match(line)
    name = match[1].strip().strip('"') if match else ""
    return name.removeprefix("./")


def _end_of_hunk(lines: Sequence[str], at: int) -> int:
    """Return the line after the hunk that begins with the header at ``at``."""
    past = at + 1
    match = _NUMBERS.match(lines[at])
    left = [int(match.group(n)) if match.group(n) else 1 for n in (2, 4)] if match else [0, 0]
    while past < len(lines):
        line = lines[past]
        # While the counts require removed lines, a line like a header may be a removed line.
        is_owed = left[0] > 0 and left[1] >= 0 and line.startswith("-")
        if not is_owed and (_HEADER.match(line) or _starts_file(lines, past)):
            break
        if is_owed and _starts_file(lines, past) and left[0] < 2:
            break
        left[0] -= not line.startswith("+")
        left[1] -= not line.startswith("-")
        past += 1
    return past


def _hunk(header: str, body: Sequence[str]) -> Hunk:
    match = _NUMBERS.match(header)
    section = match.group(5).strip() if match else _section(header)
    body = _without_prose(list(body))
    while body and not body[-1].strip():
        # Blank lines after the last hunk end the message; they are no context.
        body.pop()
    lines = [hunk_line(raw) for raw in body if not raw.startswith(NO_END)]
    number = int(match.group(1)) if match else None
    return Hunk(tuple(lines), number or None, (section,) if section else (), is_diff=True)


def _without_prose(body: list[str]) -> list[str]:
    """Drop prose that follows the hunk after a blank line."""
    for number, line in enumerate(body):
        rest = [one for one in body[number:] if one]
        if not line and not any(one[0] in " \t+-\\" for one in rest):
            return body[:number]
    return body


def _counts(match: re.Match[str]) -> list[int]:
    return [int(match.group(n)) if match.group(n) else 1 for n in (2, 4)]


def _section(header: str) -> str:
    """Return the section in a header without line numbers."""
    parts = [part.strip() for part in header.split("@@")]
    named = [part for part in parts if part and not set(part) <= set(".…+-, 0123456789")]
    return named[-1] if named else ""


def _patch(draft: _Draft) -> FilePatch | Refused:
    hunks = tuple(draft.hunks)
    path = draft.old or draft.new or ""
    if draft.is_copy:
        return Refused(
            f"The diff copies {path}, which no patch can do here. Add the new file with all of its "
            "lines.",
            "malformed",
        )
    if draft.renamed:
        return FilePatch("move", draft.renamed[0], hunks, draft.renamed[1])
    if draft.is_deleted:
        return FilePatch("delete", path, hunks)
    if draft.is_new:
        return _created(draft.new or path, hunks)
    if not hunks:
        return _NO_DIFF
    if draft.old and draft.new and draft.old != draft.new:
        return FilePatch("move", draft.old, hunks, draft.new)
    return FilePatch("change", path, hunks, text=_text(hunks) if draft.is_from_nothing else "")


def _created(path: str, hunks: Sequence[Hunk]) -> FilePatch | Refused:
    """Return the patch of a new file; refused if a non-blank line lacks its ``+``."""
    lines = [line for hunk in hunks for line in hunk.lines]
    odd = next((line for line in lines if line.sign != "+" and line.text.strip()), None)
    if odd is not None:
        return Refused(
            f"The diff adds the file {path}, but its line {odd.text.strip()[:80]!r} does not begin "
            "with `+`. Begin each line of a new file with `+`.",
            "malformed",
        )
    return FilePatch("create", path, text=_text(hunks))


def _text(hunks: Sequence[Hunk]) -> str:
    """Return the hunks' lines as the text of a file."""
    return "".join(f"{line.text}\n" for hunk in hunks for line in hunk.lines)


def _is_cut_off(hunk: Hunk, counts: Sequence[int], body: Sequence[str]) -> bool:
    """Tell whether the last hunk only removes, ends so, and has fewer lines than both counts."""
    if not hunk.lines or hunk.lines[-1].sign != "-":
        return False
    last = max(number for number, line in enumerate(body) if line.strip())
    # Blank lines below may be context, except the one that ends the message.
    blanks = max(0, len(body) - last - 2)
    shown = (len(hunk.old), len(hunk.new))
    is_short = all(said > have + blanks for said, have in zip(counts, shown, strict=True))
    return is_short and all(line.sign != "+" for line in hunk.lines)
