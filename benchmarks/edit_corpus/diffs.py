"""The cases of one truth in both formats of diffs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from benchmarks.edit_corpus.groups import (
    Group,
    anchor_of,
    as_envelope,
    as_unified,
    context_row,
    first_after,
    groups_of,
    header_of,
    inner_row,
    old_of,
    outdented,
)
from benchmarks.edit_corpus.refused_diffs import refused
from benchmarks.edit_corpus.truths import Case, Change, Truth, carried_out, whole
from benchmarks.edit_corpus.windows import TOP, altered, has_rivals, indent_of


def patches(truth: Truth) -> Iterator[Case]:
    """Yield the cases in both formats of diffs of one truth."""
    rng = random.Random(truth.seed + 1)
    lines, text = truth.lines, whole(truth.lines)
    expected = carried_out(lines, truth.changes)
    groups = groups_of(lines, truth.changes)
    is_unique = all(text.count(old_of(one)) == 1 for one in groups)
    path = truth.path

    def both(drift: str, there: str, bent: list[Group], goal: str | None) -> Iterator[Case]:
        yield Case("unified", drift, path, there, as_unified(path, bent), goal)
        yield Case("envelope", drift, path, there, as_envelope(path, bent, [""] * len(bent)), goal)

    if all(old_of(one).strip() for one in groups):
        yield Case("unified", "exact", path, text, as_unified(path, groups), expected)
    if not is_unique or not all(old_of(one).strip() for one in groups):
        anchors = [anchor_of(lines, one) for one in groups]
        firsts = [first_after(lines, one, anchor)
                  for one, anchor in zip(groups, anchors, strict=True)]  # fmt: skip
        if all(anchors) and all(firsts):
            yield Case("envelope", "anchored-twins", path, text,
                       as_envelope(path, groups, anchors), expected)  # fmt: skip
        return
    yield Case("envelope", "exact", path, text, as_envelope(path, groups, [""] * len(groups)),
               expected)  # fmt: skip
    anchors = [anchor_of(lines, one) for one in groups]
    yield Case("envelope", "anchored", path, text, as_envelope(path, groups, anchors), expected)
    wrong = {id(one): max(1, one.low + 1 + rng.randint(-60, 60)) for one in groups}
    yield Case(
        "unified",
        "wrong-numbers",
        path,
        text,
        as_unified(path, groups, lambda one: header_of(one, wrong[id(one)])),
        expected,
    )
    yield Case(
        "unified",
        "no-numbers",
        path,
        text,
        as_unified(path, groups, lambda _: "@@ ... @@"),
        expected,
    )
    yield Case(
        "unified",
        "wrong-counts",
        path,
        text,
        as_unified(
            path,
            groups,
            lambda one: (
                f"@@ -{one.low + 1},{rng.randint(1, 9)} +{one.low + 1},{rng.randint(1, 9)} @@"
            ),
        ),
        expected,
    )
    bare = [
        Group(g.low, g.high, [r.rstrip() if r.strip() == "" else r for r in g.lines], g.shift)
        for g in groups
    ]
    yield from both("blank-context-bare", text, bare, expected)
    if not any(row.startswith(" " * 2) or row.startswith(" \t") for g in groups for row in g.lines):
        naked = [
            Group(
                g.low,
                g.high,
                [
                    r[1:] if r[0] == " " and r[1:2] not in ("+", "-", "@", "*") else r
                    for r in g.lines
                ],
                g.shift,
            )
            for g in groups
        ]
        yield from both("context-without-sign", text, naked, expected)
    crlf = text.replace("\n", "\r\n")
    yield from both("crlf-file", crlf, groups, expected.replace("\n", "\r\n"))
    shifted = outdented(groups)
    if shifted:
        yield from both("one-level-less", text, shifted, expected)
    row = context_row(rng, lines, groups)
    if row is not None:
        there = list(lines)
        there[row] = altered(rng, there[row])
        goal = carried_out(there, truth.changes)
        if not _is_doubtful(there, groups):
            yield from both("context-changed", whole(there), groups, goal)
    yield from _moved_context(truth, rng, groups)
    yield from refused(truth, rng, groups, expected)
    yield from _otherwise_written(truth, random.Random(truth.seed + 2), groups, expected)


def _moved_context(truth: Truth, rng: random.Random, groups: list[Group]) -> Iterator[Case]:
    """Yield the cases where a line came or went between lines that the diff shows as neighbours."""
    row = inner_row(rng, truth.lines, groups)
    if row is None:
        return
    # A line that somebody adds stands in the block that it is added to.
    new = indent_of(truth.lines[row]) + "noted()"
    for drift, middle in (("context-new", [truth.lines[row], new]), ("context-gone", [])):
        there = [*truth.lines[:row], *middle, *truth.lines[row + 1 :]]
        if _is_doubtful(there, groups):
            continue
        more = len(middle) - 1
        moved = [
            Change(one.low + more * (one.low > row), one.high + more * (one.low > row), one.new)
            for one in truth.changes
        ]
        goal = carried_out(there, moved)
        yield Case("unified", drift, truth.path, whole(there), as_unified(truth.path, groups), goal)
        patch = as_envelope(truth.path, groups, [""] * len(groups))
        yield Case("envelope", drift, truth.path, whole(there), patch, goal)


def _is_doubtful(there: list[str], groups: list[Group]) -> bool:
    """Tell whether a group that is not there any more has rivals."""
    text = whole(there)
    return any(
        old_of(one) not in text and has_rivals(there, old_of(one).split("\n")) for one in groups
    )


def _otherwise_written(
    truth: Truth, rng: random.Random, groups: list[Group], expected: str
) -> Iterator[Case]:
    """Yield the cases of hunks as models write them: short, with anchors, for moved lines."""
    lines, text, path = truth.lines, whole(truth.lines), truth.path
    short = groups_of(lines, truth.changes, rng.choice((1, 1, 2)))
    bare = [""] * len(short)
    if all(old_of(one).strip() and text.count(old_of(one)) == 1 for one in short):
        yield Case("unified", "short-context", path, text, as_unified(path, short), expected)
        yield Case(
            "envelope", "short-context", path, text, as_envelope(path, short, bare), expected
        )
    nested = [_nested_anchors(lines, one) for one in short]
    if all(nested):
        anchors = ["\n@@ ".join(one) for one in nested]
        patch = as_envelope(path, short, anchors)
        yield Case("envelope", "nested-anchors", path, text, patch, expected)
    anchors = [anchor_of(lines, one) for one in groups]
    bent = [one and altered(rng, one) for one in anchors]
    if bent != anchors:
        yield Case(
            "envelope", "anchor-changed", path, text, as_envelope(path, groups, bent), expected
        )
    crlf = as_envelope(path, groups, [""] * len(groups)).replace("\n", "\r\n")
    yield Case("envelope", "crlf-patch", path, text, crlf, expected)
    yield from _at_end(truth, groups)
    if len(groups) == 1:
        yield from _moved(truth, groups[0])


def _nested_anchors(lines: list[str], group: Group) -> list[str]:
    """Return what encloses the group, outermost first, if the group is the first such one there."""
    first = next((line for line in lines[group.low : group.high] if line.strip()), "")
    width, chain = len(indent_of(first)), list[int]()
    for number in range(group.low - 1, -1, -1):
        line = lines[number]
        if line.strip() and len(indent_of(line)) < width and TOP.match(line):
            chain.insert(0, number)
            width = len(indent_of(line))
    if len(chain) < 2 or sum(line == lines[chain[0]] for line in lines) > 1:
        return []
    at = chain[0]
    for number in chain[1:]:
        at = next(n for n in range(at + 1, len(lines)) if lines[n].strip() == lines[number].strip())
    old = old_of(group).split("\n")
    hits = [n for n in range(at + 1 - len(old), len(lines)) if n >= 0
            and lines[n : n + len(old)] == old]  # fmt: skip
    return [lines[n].strip() for n in chain] if hits[:1] == [group.low] else []


def _at_end(truth: Truth, groups: list[Group]) -> Iterator[Case]:
    """Yield the case where a marker says that a group ends the file, and a copy stands above."""
    last = groups[-1]
    if last.high < len(truth.lines) or len(groups) > 1:
        return
    above = [*old_of(last).split("\n"), "", ""]
    lines = [*above, *truth.lines]
    moved = [Change(c.low + len(above), c.high + len(above), c.new) for c in truth.changes]
    marked = replace(last, lines=[*last.lines, "*** End of File"])
    yield Case("envelope", "end-of-file", truth.path, whole(lines),
               as_envelope(truth.path, [marked], [""]), carried_out(lines, moved))  # fmt: skip


def _moved(truth: Truth, group: Group) -> Iterator[Case]:
    """Yield the cases where the lines of the only group stand elsewhere in the file by now."""
    block, path = truth.lines[group.low : group.high], truth.path
    rest = [*truth.lines[: group.low], *truth.lines[group.high :]]
    old = old_of(group)
    if len(rest) < 20 or not group.low or old in whole(rest):
        return
    lines = [*block, "", *rest] if group.low > len(rest) // 2 else [*rest, "", *block]
    at = 0 if group.low > len(rest) // 2 else len(rest) + 1
    shift = at - group.low
    moved = [Change(c.low + shift, c.high + shift, c.new) for c in truth.changes]
    if whole(lines).count(old) > 1:
        return
    goal = carried_out(lines, moved)
    yield Case("unified", "moved", path, whole(lines), as_unified(path, [group]), goal)
    yield Case("envelope", "moved", path, whole(lines), as_envelope(path, [group], [""]), goal)
