"""A change with the context that a model would quote, and what its drifts share."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from rapidfuzz.distance import LCSseq

from benchmarks.edit_corpus.truths import Change, Edit, Truth


@dataclass(frozen=True, slots=True)
class Window:
    """A change with the context that a model would quote."""

    low: int
    high: int
    old: list[str]
    new: list[str]


def window_of(truth: Truth, change: Change, text: str, least: int = 0) -> Window | None:
    """Return the smallest window of at least some context whose old text is unique."""
    lines = truth.lines
    for size in range(max(least, 0 if change.low < change.high else 1), 9):
        low, high = max(0, change.low - size), min(len(lines), change.high + size)
        old = lines[low:high]
        joined = "\n".join(old)
        if not joined.strip() or text.count(joined) != 1:
            continue
        if any(low < one.high and one.low < high for one in truth.changes if one is not change):
            return None
        new = lines[low : change.low] + change.new + lines[change.high : high]
        # An empty line as the whole new text is written like no text at all.
        if new in (old, [""]) or (not new and not old[-1].strip()):
            return None
        return Window(low, high, old, new)
    return None


Drift = Callable[[random.Random, Truth, Window, str], tuple[str, Edit, str | None] | None]
"""From text and window to the file's text, the edit and what has to come out."""

APPLY: dict[str, Drift] = {}
REFUSE: dict[str, Drift] = {}


def drifting(table: dict[str, Drift], name: str) -> Callable[[Drift], Drift]:
    def add(one: Drift) -> Drift:
        table[name] = one
        return one

    return add


def after(text: str, window: Window, new: list[str] | None = None) -> str:
    lines = text.split("\n")
    lines[window.low : window.high] = window.new if new is None else new
    return "\n".join(lines)


def both(window: Window, bend: Callable[[list[str]], list[str]]) -> Edit | None:
    old = bend(window.old)
    return None if old == window.old else Edit("\n".join(old), "\n".join(bend(window.new)))


def indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


TOP = re.compile(r"^\s*(?:def|class|func|fn|pub fn|function|async def|public|private|type) ")


def names_a_place(lines: list[str], row: int) -> bool:
    """Tell whether a block begins here: with another name it is another block, for all we know.

    Where no brace or colon says so, what follows does: it is deeper, or a brace of its own.
    """
    line = lines[row]
    below = next((one for one in lines[row + 1 :] if one.strip()), "")
    is_head = len(indent_of(below)) > len(indent_of(line)) or below.strip() == "{"
    return is_head or line.rstrip().endswith(("{", "(", "[", ":")) or bool(TOP.match(line))


def has_rivals(lines: list[str], old: list[str]) -> bool:
    """Tell whether two places have all old lines but one, or all with one more between.

    Then either may be the one that was meant, and changed: no text says which, so that nobody can
    ask for the edit to be placed.
    """
    here = "\n" + "".join(one.strip() + "\n" for one in lines if one.strip())
    solid = [re.escape(one.strip()) + r"\n" for one in old if one.strip()]
    spans: set[tuple[int, int]] = set()
    for at in range(len(solid)):
        above, below = "".join(solid[:at]), "".join(solid[at + 1 :])
        for pattern in (rf"(?:[^\n]*\n)?{below}", rf"[^\n]*\n{solid[at]}{below}"):
            found = re.finditer(rf"(?<=\n)(?={above}({pattern}))", here)
            spans |= {(one.start(), one.end(1)) for one in found}
    ends = sorted(spans)
    return any(high <= low for (_, high), (low, _) in pairwise(ends))


def altered(rng: random.Random, line: str) -> str:
    """Return the line as somebody may have changed it: a word, or something added."""
    words = list(re.finditer(r"[A-Za-z_]\w+", line))
    how = rng.choice(("word", "longer", "remark"))
    if not words or how == "remark":
        return line + rng.choice(("  # noted", " // noted", " changed"))
    word = rng.choice(words)
    other = "other" if how == "word" else "x_" + word.group()
    return line[: word.start()] + other + line[word.end() :]


def kept_of(window: Window) -> dict[int, int]:
    """Return numbers of new lines that are old ones."""
    return {op.dest_start + n: op.src_start + n for op in LCSseq.opcodes(window.old, window.new)
            if op.tag == "equal" for n in range(op.src_end - op.src_start)}  # fmt: skip


def added_lines(window: Window) -> list[str]:
    kept = kept_of(window)
    return [line for n, line in enumerate(window.new) if n not in kept]


def blank_changes(window: Window) -> bool:
    kept = set(kept_of(window).values())
    return any(not line.strip() for n, line in enumerate(window.old) if n not in kept)


def is_anywhere(lines: list[str], old: list[str]) -> bool:
    """Tell whether the old lines stand somewhere in any indentation."""
    return times(lines, old) > 0


def times(lines: list[str], old: list[str]) -> int:
    """Return how often the old lines stand somewhere in any indentation."""
    here = "\n" + "\n".join(one.strip() for one in lines if one.strip()) + "\n"
    return here.count("\n" + "\n".join(one.strip() for one in old if one.strip()) + "\n")
