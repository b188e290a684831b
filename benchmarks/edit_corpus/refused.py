"""Quotes that nobody may carry out."""

from __future__ import annotations

import re

from benchmarks.edit_corpus.truths import Edit
from benchmarks.edit_corpus.windows import (
    REFUSE,
    added_lines,
    after,
    altered,
    both,
    drifting,
    indent_of,
    is_anywhere,
    kept_of,
)


@drifting(REFUSE, "replaced-line-changed")
def _(rng, truth, window, text):
    kept = set(kept_of(window).values())
    rows = [n for n in range(len(window.old)) if n not in kept and window.old[n].strip()]
    if not rows:
        return None
    row = rng.choice(rows)
    lines = text.split("\n")
    lines[window.low + row] = altered(rng, lines[window.low + row])
    bent = "\n".join(lines)
    edit = Edit("\n".join(window.old), "\n".join(window.new))
    return None if edit.old in bent or is_anywhere(lines, window.old) else (bent, edit, None)


@drifting(REFUSE, "target-gone")
def _(rng, truth, window, text):
    lines = text.split("\n")
    del lines[window.low : window.high]
    bent = "\n".join(lines)
    edit = Edit("\n".join(window.old), "\n".join(window.new))
    return None if is_anywhere(lines, window.old) else (bent, edit, None)


@drifting(REFUSE, "removed-lines-gone")
def _(rng, truth, window, text):
    kept = set(kept_of(window).values())
    lines = text.split("\n")
    rows = [n for n in range(len(window.old)) if n not in kept and window.old[n].strip()]
    if not rows:
        return None
    for row in reversed(rows):
        del lines[window.low + row]
    bent = "\n".join(lines)
    edit = Edit("\n".join(window.old), "\n".join(window.new))
    return None if is_anywhere(lines, window.old) else (bent, edit, None)


@drifting(REFUSE, "twice")
def _(rng, truth, window, text):
    bent = text + "\n" + "\n".join(window.old) + "\n"
    return bent, Edit("\n".join(window.old), "\n".join(window.new)), None


@drifting(REFUSE, "twice-and-dedented")
def _(rng, truth, window, text):
    solid = [one for one in window.old + window.new if one.strip()]
    common = min((len(indent_of(one)) for one in solid), default=0)
    edit = both(window, lambda lines: [one[common:] if one.strip() else one for one in lines])
    bent = text + "\n" + "\n".join(window.old) + "\n"
    return None if edit is None or edit.old in bent else (bent, edit, None)


@drifting(REFUSE, "applied")
def _(rng, truth, window, text):
    bent = after(text, window)
    edit = Edit("\n".join(window.old), "\n".join(window.new))
    added = sum(char.isalnum() for line in added_lines(window) for char in line)
    is_there = added > 12 and edit.new in bent and edit.old not in bent
    return (bent, edit, None) if is_there else None


@drifting(REFUSE, "twin-changed")
def _(rng, truth, window, text):
    """The target was changed, and something much like it stands elsewhere."""
    kept = set(kept_of(window).values())
    cores = [n for n in range(len(window.old)) if n not in kept and window.old[n].strip()]
    sides = [n for n in kept if len(re.sub(r"\W", "", window.old[n])) > 6]
    if not cores or not sides:
        return None
    lines = text.split("\n")
    lines[window.low + cores[0]] = altered(rng, lines[window.low + cores[0]])
    twin = list(window.old)
    twin[rng.choice(sides)] = altered(rng, twin[rng.choice(sides)])
    if twin == window.old:
        return None
    bent = "\n".join(lines) + "\n" + "\n".join(twin) + "\n"
    edit = Edit("\n".join(window.old), "\n".join(window.new))
    return None if edit.old in bent else (bent, edit, None)
