"""Diffs that nobody may carry out."""

from __future__ import annotations

import random
from collections.abc import Iterator

from benchmarks.edit_corpus.groups import Group, as_envelope, as_unified, old_of
from benchmarks.edit_corpus.truths import Case, Truth, whole
from benchmarks.edit_corpus.windows import altered


def refused(truth: Truth, rng: random.Random, groups: list[Group], expected: str) -> Iterator[Case]:
    """Yield the cases of diffs that nobody may carry out."""
    lines, text, path = truth.lines, whole(truth.lines), truth.path

    def both(drift: str, there: str) -> Iterator[Case]:
        yield Case("unified", drift, path, there, as_unified(path, groups), None)
        yield Case(
            "envelope", drift, path, there, as_envelope(path, groups, [""] * len(groups)), None
        )

    gone = [n for one in truth.changes for n in range(one.low, one.high) if lines[n].strip()]
    if gone:
        there = list(lines)
        row = rng.choice(gone)
        there[row] = altered(rng, there[row])
        if whole(there) != text:
            yield from both("replaced-line-changed", whole(there))
    added = sum(c.isalnum() for one in truth.changes for line in one.new for c in line)
    if (
        added > 12
        and len(groups) == 1
        and expected.count("\n".join(r[1:] for r in groups[0].lines if r[0] != "-")) == 1
    ):
        yield from both("applied", expected)
    one = rng.choice(groups)
    doubled = text + "\n" + old_of(one) + "\n"
    yield Case("envelope", "twice", path, doubled, as_envelope(path, [one], [""]), None)
    yield Case(
        "unified",
        "twice-no-numbers",
        path,
        doubled,
        as_unified(path, [one], lambda _: "@@ @@"),
        None,
    )
    there = list(lines)
    del there[one.low : one.high]
    if old_of(one) not in whole(there):
        yield from both("target-gone", whole(there))
    twin = _twin(truth, random.Random(truth.seed + 3), one)
    if twin is not None:
        yield Case("envelope", "twin-changed", path, twin, as_envelope(path, [one], [""]), None)
        no_numbers = as_unified(path, [one], lambda _: "@@ @@")
        yield Case("unified", "twin-changed", path, twin, no_numbers, None)


def _twin(truth: Truth, rng: random.Random, group: Group) -> str | None:
    """Return the text with a removed line changed, and a copy elsewhere with other context."""
    old = old_of(group).split("\n")
    signs = [row[0] for row in group.lines if row[0] != "+"]
    cores = [n for n, sign in enumerate(signs) if sign == "-" and old[n].strip()]
    sides = [n for n, sign in enumerate(signs) if sign == " " and len(old[n].strip()) > 6]
    if not cores or not sides:
        return None
    lines, copy = list(truth.lines), list(old)
    lines[group.low + cores[0]] = altered(rng, lines[group.low + cores[0]])
    side = rng.choice(sides)
    copy[side] = altered(rng, copy[side])
    text = whole(lines) + "\n" + whole(copy)
    return None if copy == old or old_of(group) in text else text
