"""Unified diffs: one to read, with long lines cut, and one to apply, which is exact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from agent_ls.domain.edits import changed_lines
from agent_ls.edits.lines import split_lines
from agent_ls.edits.long_lines import MAX_CHANGED, cut_hunk, cut_unchanged
from agent_ls.edits.notebooks import as_cells

_MAX_LINES = 20_000
_AROUND_LINES = 3
_NO_END = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class DiffStatistics:
    """How many lines a change adds and removes."""

    added: int
    removed: int

    def __str__(self) -> str:
        """Return for example ``+3 -1``."""
        return f"+{self.added} -{self.removed}"


def statistics(before: str | None, after: str | None) -> DiffStatistics:
    """Return the size of a change; a None side is a file that does not exist."""
    return DiffStatistics(*changed_lines(before or "", after or ""))


def diff_to_read(
    before: str | None,
    after: str | None,
    path: str,
    new_path: str | None = None,
    *,
    most: int = MAX_CHANGED,
) -> str:
    """Return a unified diff for a user; a None side is a file that does not exist.

    Shape: line ends are not shown, but a missing one at the end of the file is. Long lines are cut
    to the surroundings of their changes, with at most ``most`` changed characters of each.
    Of notebooks it shows the cells, and says what else changed.
    """
    before, after, more = as_cells(before, after, path, new_path)
    shown = _diff(before, after, path, new_path, most)
    if more and not shown:
        shown = f"--- a/{path}\n+++ b/{new_path or path}\n"
    return shown + more


def patch_to_apply(before: str | None, after: str | None, path: str) -> str:
    """Return a unified diff that a program or a model can apply, with whole lines."""
    return _diff(before, after, path, None, None)


def hunks_to_read(
    old: Sequence[str], new: Sequence[str], *, around: int = _AROUND_LINES
) -> Iterator[str]:
    """Yield the hunks of a diff of lines for a user; ``around`` unchanged lines are shown."""
    return _hunks(old, new, MAX_CHANGED, 0, around)


def _diff(
    before: str | None, after: str | None, path: str, new_path: str | None, most: int | None
) -> str:
    old, new = _lines(before or ""), _lines(after or "")
    old_name = "/dev/null" if before is None else f"a/{path}"
    new_name = "/dev/null" if after is None else f"b/{new_path or path}"
    names = f"--- {old_name}\n+++ {new_name}\n"
    first = 0
    if len(old) + len(new) > _MAX_LINES:
        first, end = _alike(old, new)
        counts = f"({len(old)} lines become {len(new)})\n"
        old, new = old[first : len(old) - end], new[first : len(new) - end]
        if len(old) + len(new) > _MAX_LINES:
            return names + counts
    text = "".join(f"{line}\n" for line in _hunks(old, new, most, first, _AROUND_LINES))
    is_named = before is None or after is None or new_path not in (None, path)
    return names + text if text or is_named else ""


def _alike(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Return how many lines at both ends are the same and not shown."""
    most = min(len(old), len(new))
    start = end = 0
    while start < most and old[start] == new[start]:
        start += 1
    while end < most - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return max(0, start - _AROUND_LINES), max(0, end - _AROUND_LINES)


def _hunks(
    old: Sequence[str], new: Sequence[str], most: int | None, first: int, around: int
) -> Iterator[str]:
    """Yield the hunks; ``first`` lines come before, and with ``most`` None no line is cut."""
    for group in SequenceMatcher(None, old, new).get_grouped_opcodes(around):
        begin, past = group[0], group[-1]
        removed = _range(first + begin[1], first + past[2])
        added = _range(first + begin[3], first + past[4])
        yield f"@@ -{removed} +{added} @@"
        for kind, low, high, new_low, new_high in group:
            lines, others = old[low:high], new[new_low:new_high]
            is_same = kind == "equal"
            if most is not None:
                lines, others = _cut(lines, [] if is_same else others, most, is_same=is_same)
            yield from (f"{' ' if is_same else '-'}{line}" for line in lines)
            yield from (f"+{line}" for line in others if not is_same)


def _range(start: int, past: int) -> str:
    """Return lines as a hunk's header names them; an empty range is named by the line before it."""
    count = past - start
    return f"{start + 1}" if count == 1 else f"{start + bool(count)},{count}"


def _cut(
    removed: Sequence[str], added: Sequence[str], most: int, *, is_same: bool
) -> tuple[list[str], list[str]]:
    """Cut the long lines, and keep the mark of a missing line end."""
    olds, news = ([line.partition("\n")[0] for line in lines] for lines in (removed, added))
    cut = ([*map(cut_unchanged, olds)], news) if is_same else cut_hunk(olds, news, most=most)
    return _ended(cut[0], olds, removed), _ended(cut[1], news, added)


def _ended(cut: Sequence[str], bare: Sequence[str], lines: Sequence[str]) -> list[str]:
    return [shown + line[len(text) :] for shown, text, line in zip(cut, bare, lines, strict=True)]


def _lines(text: str) -> list[str]:
    """Return the lines; mark the last one if it has no line end."""
    lines = split_lines(text)
    if lines and text[-1] not in "\r\n":
        lines[-1] += f"\n{_NO_END}"
    return lines
