"""Changes near each other as one hunk, and how both formats write it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.edit_corpus.truths import Change
from benchmarks.edit_corpus.windows import TOP, names_a_place


@dataclass(frozen=True, slots=True)
class Group:
    """Changes near each other with their context, as one hunk."""

    low: int
    high: int
    lines: list[str]
    """With their signs."""
    shift: int


def groups_of(lines: list[str], changes: list[Change], size: int = 3) -> list[Group]:
    groups: list[list[Change]] = []
    for one in changes:
        if groups and one.low - groups[-1][-1].high <= 2 * size:
            groups[-1].append(one)
        else:
            groups.append([one])
    found: list[Group] = []
    shift = 0
    for group in groups:
        low, high = max(0, group[0].low - size), min(len(lines), group[-1].high + size)
        rows: list[str] = []
        at = low
        for one in group:
            rows += [" " + line for line in lines[at : one.low]]
            rows += ["-" + line for line in lines[one.low : one.high]]
            rows += ["+" + line for line in one.new]
            at = one.high
        rows += [" " + line for line in lines[at:high]]
        found.append(Group(low, high, rows, shift))
        shift += sum(len(one.new) - (one.high - one.low) for one in group)
    return found


def header_of(group: Group, number: int | None = None) -> str:
    old = sum(not row.startswith("+") for row in group.lines)
    new = sum(not row.startswith("-") for row in group.lines)
    at = group.low + 1 if number is None else number
    return f"@@ -{at},{old} +{max(1, at + group.shift)},{new} @@"


def as_unified(path: str, groups: list[Group], header: Callable[[Group], str] = header_of) -> str:
    rows = [f"--- a/{path}", f"+++ b/{path}"]
    for group in groups:
        rows += [header(group), *group.lines]
    return "\n".join(rows) + "\n"


def as_envelope(path: str, groups: list[Group], anchors: list[str]) -> str:
    rows = ["*** Begin Patch", f"*** Update File: {path}"]
    for group, anchor in zip(groups, anchors, strict=True):
        rows += [f"@@ {anchor}".rstrip(), *group.lines]
    return "\n".join([*rows, "*** End Patch"]) + "\n"


def anchor_of(lines: list[str], group: Group) -> str:
    for line in reversed(lines[: group.low]):
        if TOP.match(line):
            return line.strip()
    return ""


def old_of(group: Group) -> str:
    return "\n".join(row[1:] for row in group.lines if not row.startswith("+"))


def first_after(lines: list[str], group: Group, anchor: str) -> bool:
    """Tell whether the group is the first such one after its anchor, which stands once."""
    tops = [n for n, line in enumerate(lines) if line.strip() == anchor]
    if len(tops) != 1:
        return False
    old = old_of(group).split("\n")
    hits = [
        n for n in range(len(lines)) if lines[n : n + len(old)] == old and n + len(old) > tops[0]
    ]
    return bool(hits) and hits[0] == group.low


def outdented(groups: list[Group]) -> list[Group] | None:
    rows = [row[1:] for one in groups for row in one.lines if row[1:].strip()]
    step = "\t" if rows[0].startswith("\t") else "    "
    if not all(row.startswith(step) for row in rows):
        return None
    return [
        Group(g.low, g.high, [r[0] + r[1:].removeprefix(step) for r in g.lines], g.shift)
        for g in groups
    ]


def context_row(rng: random.Random, lines: list[str], groups: list[Group]) -> int | None:
    rows: list[int] = []
    free: list[int] = []
    for one in groups:
        at = one.low
        for row in one.lines:
            if row[0] == " " and len(re.sub(r"\W", "", row)) > 6:
                rows.append(at)
                free += [at] if not names_a_place(lines, at) else []
            at += row[0] != "+"
    return rng.choice(free) if len(rows) >= 3 and free else None


def inner_row(rng: random.Random, lines: list[str], groups: list[Group]) -> int | None:
    """Return a line of context that has context on both sides."""
    rows: list[int] = []
    for one in groups:
        at = one.low
        for above, row, below in zip(one.lines, one.lines[1:], one.lines[2:], strict=False):
            at += above[0] != "+"
            if all(each[0] == " " and each[1:].strip() for each in (above, row, below)):
                rows += [] if names_a_place(lines, at) else [at]
    return rng.choice(rows) if rows else None
