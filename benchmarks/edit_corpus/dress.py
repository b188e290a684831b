"""Drifts of dress: blanks, indentation, line ends. Their order is part of every case's chance."""

from __future__ import annotations

import random

from benchmarks.edit_corpus.truths import Edit, Truth
from benchmarks.edit_corpus.windows import APPLY, Window, after, both, drifting, indent_of, kept_of


@drifting(APPLY, "exact")
def _(rng: random.Random, truth: Truth, window: Window, text: str):
    return text, Edit("\n".join(window.old), "\n".join(window.new)), after(text, window)


@drifting(APPLY, "exact-with-end")
def _(rng, truth, window, text):
    edit = Edit("\n".join(window.old) + "\n", "\n".join(window.new) + "\n" if window.new else "")
    return text, edit, after(text, window)


@drifting(APPLY, "trailing-blanks-lost")
def _(rng, truth, window, text):
    lines = text.split("\n")
    rows = [n for n in range(window.low, window.high) if lines[n].strip()]
    if not rows:
        return None
    for row in rng.sample(rows, max(1, len(rows) // 2)):
        lines[row] += rng.choice([" ", "  ", "\t"])
    bent = "\n".join(lines)
    # Kept lines keep their blanks; changed ones are the model's.
    kept = kept_of(window)
    new = [lines[window.low + kept[n]] if n in kept else line for n, line in enumerate(window.new)]
    return bent, Edit("\n".join(window.old), "\n".join(window.new)), after(bent, window, new)


@drifting(APPLY, "trailing-blanks-added")
def _(rng, truth, window, text):
    rows = {line for line in window.old if line.strip() and rng.random() < 0.5}
    edit = both(window, lambda lines: [one + "  " if one in rows and one in window.old else one
                                        for one in lines])  # fmt: skip
    return edit and (text, edit, after(text, window))


@drifting(APPLY, "dedented")
def _(rng, truth, window, text):
    solid = [one for one in window.old + window.new if one.strip()]
    common = min((len(indent_of(one)) for one in solid), default=0)
    edit = both(window, lambda lines: [one[common:] if one.strip() else one for one in lines])
    return edit and (text, edit, after(text, window))


@drifting(APPLY, "one-level-less")
def _(rng, truth, window, text):
    solid = [one for one in window.old + window.new if one.strip()]
    step = "\t" if any(one.startswith("\t") for one in solid) else "    "
    if not all(one.startswith(step) for one in solid):
        return None
    edit = both(window, lambda lines: [one.removeprefix(step) for one in lines])
    return edit and (text, edit, after(text, window))


@drifting(APPLY, "one-level-more")
def _(rng, truth, window, text):
    step = "\t" if any(one.startswith("\t") for one in window.old) else "    "
    edit = both(window, lambda lines: [step + one if one.strip() else one for one in lines])
    return edit and (text, edit, after(text, window))


@drifting(APPLY, "first-line-stripped")
def _(rng, truth, window, text):
    if (
        not window.new
        or not window.new[0].strip()
        or indent_of(window.old[0]) != indent_of(window.new[0])
    ):
        return None
    edit = both(window, lambda lines: [lines[0].lstrip(" \t"), *lines[1:]])
    return edit and (text, edit, after(text, window))


@drifting(APPLY, "tabs-to-spaces")
def _(rng, truth, window, text):
    def bend(lines: list[str]) -> list[str]:
        return [indent_of(one).replace("\t", "    ") + one.lstrip(" \t") if one.strip() else one
                for one in lines]  # fmt: skip

    edit = both(window, bend)
    return edit and (text, edit, after(text, window))


@drifting(APPLY, "spaces-to-tabs")
def _(rng, truth, window, text):
    solid = [one for one in window.old + window.new if one.strip()]
    if any(len(indent_of(one)) % 4 or "\t" in indent_of(one) for one in solid):
        return None
    edit = both(window, lambda lines: [indent_of(one).replace("    ", "\t") + one.lstrip(" \t")
                                        if one.strip() else one for one in lines])  # fmt: skip
    return edit and (text, edit, after(text, window))


@drifting(APPLY, "half-indents")
def _(rng, truth, window, text):
    solid = [one for one in window.old + window.new if one.strip()]
    if any(len(indent_of(one)) % 4 or "\t" in indent_of(one) for one in solid):
        return None
    if len({len(indent_of(one)) for one in window.old if one.strip()}) < 2:
        return None
    edit = both(window, lambda lines: [indent_of(one)[::2] + one.lstrip(" ") if one.strip() else one
                                        for one in lines])  # fmt: skip
    return edit and (text, edit, after(text, window))


@drifting(APPLY, "only-old-dedented")
def _(rng, truth, window, text):
    solid = [one for one in window.old if one.strip()]
    common = min((len(indent_of(one)) for one in solid), default=0)
    if not common or not window.new or not kept_of(window):
        return None
    old = [one[common:] if one.strip() else one for one in window.old]
    return text, Edit("\n".join(old), "\n".join(window.new)), after(text, window)


@drifting(APPLY, "crlf-file")
def _(rng, truth, window, text):
    edit = Edit("\n".join(window.old), "\n".join(window.new))
    return text.replace("\n", "\r\n"), edit, after(text, window).replace("\n", "\r\n")


@drifting(APPLY, "crlf-edit")
def _(rng, truth, window, text):
    edit = Edit("\r\n".join(window.old), "\r\n".join(window.new))
    return (text, edit, after(text, window)) if "\r" in edit.old else None


@drifting(APPLY, "bom")
def _(rng, truth, window, text):
    edit = Edit("\n".join(window.old), "\n".join(window.new))
    return "\ufeff" + text, edit, "\ufeff" + after(text, window)


@drifting(APPLY, "no-final-end")
def _(rng, truth, window, text):
    if window.high < len(truth.lines) or not window.new or not window.new[-1].strip():
        return None
    edit = Edit("\n".join(window.old) + "\n", "\n".join(window.new) + "\n")
    return text[:-1], edit, after(text, window)[:-1]
