"""Drifts of what stands in the lines, which lines there are, and in which context."""

from __future__ import annotations

import html
import re
import unicodedata

from benchmarks.edit_corpus.truths import Edit
from benchmarks.edit_corpus.windows import (
    APPLY,
    Window,
    added_lines,
    after,
    altered,
    blank_changes,
    both,
    drifting,
    has_rivals,
    indent_of,
    kept_of,
    names_a_place,
)


def _curly(line: str) -> str:
    return re.sub(r"'([^']*)'", "\u2018\\1\u2019", re.sub(r'"([^"]*)"', "\u201c\\1\u201d", line))


@drifting(APPLY, "curly-quotes")
def _(rng, truth, window, text):
    if any(one in text for one in "\u201c\u201d\u2018\u2019"):
        return None
    edit = both(window, lambda lines: [_curly(one) for one in lines])
    return edit and (text, edit, after(text, window))


@drifting(APPLY, "file-has-curly-quotes")
def _(rng, truth, window, text):
    kept = kept_of(window)
    lines = text.split("\n")
    rows = [window.low + n for n in kept.values() if _curly(window.old[n]) != window.old[n]]
    if not rows:
        return None
    for row in rows:
        lines[row] = _curly(lines[row])
    new = [lines[window.low + kept[n]] if n in kept else line for n, line in enumerate(window.new)]
    bent = "\n".join(lines)
    return bent, Edit("\n".join(window.old), "\n".join(window.new)), after(bent, window, new)


@drifting(APPLY, "other-normal-form")
def _(rng, truth, window, text):
    edit = both(window, lambda lines: [unicodedata.normalize("NFD", one) for one in lines])
    if text != unicodedata.normalize("NFC", text) or edit is None:
        return None
    return text, edit, after(text, window)


@drifting(APPLY, "entities")
def _(rng, truth, window, text):
    if re.search(r"&\w+;|&#", text):
        return None
    edit = both(window, lambda lines: [html.escape(one, quote=False) for one in lines])
    return edit and (text, edit, after(text, window))


@drifting(APPLY, "quotes-escaped")
def _(rng, truth, window, text):
    if '\\"' in text:
        return None
    edit = both(window, lambda lines: [one.replace('"', '\\"') for one in lines])
    if edit is None or any("\\" in one for one in window.old + window.new):
        return None
    return text, edit, after(text, window)


@drifting(APPLY, "all-escaped")
def _(rng, truth, window, text):
    if (
        "\\" in text + "".join(window.new)
        or len(window.old) < 2
        or "\t" in "".join(window.old + window.new)
    ):
        return None
    old, new = ("\n".join(one).replace('"', '\\"').replace("\n", "\\n")
                for one in (window.old, window.new))  # fmt: skip
    return text, Edit(old, new), after(text, window)


@drifting(APPLY, "numbered")
def _(rng, truth, window, text):
    form = rng.choice(["{:>5}\t{}", "{:>6}\t{}", "{}: {}", "{:>4} | {}", "{}→{}", "{}|{}"])

    def bend(lines: list[str]) -> list[str]:
        return [form.format(window.low + 1 + n, one) for n, one in enumerate(lines)]

    if re.search(r"^\s*\d+[:|→\t]", text, re.M):
        return None
    edit = both(window, bend)
    return edit and (text, edit, after(text, window))


@drifting(APPLY, "numbered-old-only")
def _(rng, truth, window, text):
    if re.search(r"^\s*\d+[:|→\t]", text, re.M) or not window.new:
        return None
    old = [f"{window.low + 1 + n:>5}\t{one}" for n, one in enumerate(window.old)]
    return text, Edit("\n".join(old), "\n".join(window.new)), after(text, window)


@drifting(APPLY, "blank-lines-lost")
def _(rng, truth, window, text):
    kept = kept_of(window)
    inner = {window.old[n] for n in kept.values()}
    if "" not in inner or blank_changes(window):
        return None
    edit = both(window, lambda lines: [one for one in lines if one.strip()])
    if edit is None or any(not one.strip() for one in added_lines(window)):
        return None
    return text, edit, after(text, window)


@drifting(APPLY, "blank-lines-more")
def _(rng, truth, window, text):
    kept = {n: m for m, n in kept_of(window).items()}
    rows = [n for n in kept if n + 1 in kept and kept[n + 1] == kept[n] + 1]
    if not rows:
        return None
    row = rng.choice(rows)
    old = [*window.old[: row + 1], "", *window.old[row + 1 :]]
    new = [*window.new[: kept[row] + 1], "", *window.new[kept[row] + 1 :]]
    return text, Edit("\n".join(old), "\n".join(new)), after(text, window)


def _elided(window: Window, *, in_old: bool) -> tuple[list[str], list[str]] | None:
    kept = kept_of(window)
    runs: list[list[int]] = [[]]
    for n in range(len(window.new)):
        if n in kept and (not runs[-1] or kept[n] == kept[n - 1] + 1):
            runs[-1].append(n)
        else:
            runs.append([n] if n in kept else [])
    run = max(runs, key=len)
    if len(run) < 4:
        return None
    low, high = run[1], run[-2] + 1
    if not in_old and not all(_marks_off(window, kept, n) for n in (low - 1, high)):
        return None
    lead = indent_of(window.new[low])
    mark = [lead + "# ... existing code ..."]
    new = window.new[:low] + mark + window.new[high:]
    old = window.old[: kept[low]] + mark + window.old[kept[high - 1] + 1 :]
    return (old if in_old else window.old), new


def _marks_off(window: Window, kept: dict[int, int], row: int) -> bool:
    """Tell whether a line says for sure where the lines end that a mark stands for."""
    line = window.new[row]
    return row in kept and bool(line.strip()) and window.old.count(line) == 1


@drifting(APPLY, "elided-in-both")
def _(rng, truth, window, text):
    parts = _elided(window, in_old=True)
    if parts is None:
        return None
    return text, Edit("\n".join(parts[0]), "\n".join(parts[1])), after(text, window)


@drifting(APPLY, "elided-in-new")
def _(rng, truth, window, text):
    parts = _elided(window, in_old=False)
    if parts is None:
        return None
    return text, Edit("\n".join(parts[0]), "\n".join(parts[1])), after(text, window)


@drifting(APPLY, "context-changed")
def _(rng, truth, window, text):
    kept = kept_of(window)
    rows = [n for n, m in kept.items() if len(re.sub(r"\W", "", window.old[m])) > 6]
    free = [n for n in rows if not names_a_place(truth.lines, window.low + kept[n])]
    if len(rows) < 3 or not free:
        return None
    row = rng.choice(free)
    lines = text.split("\n")
    lines[window.low + kept[row]] = altered(rng, lines[window.low + kept[row]])
    if has_rivals(lines, window.old):
        return None
    bent = "\n".join(lines)
    new = [lines[window.low + kept[n]] if n in kept else line for n, line in enumerate(window.new)]
    return bent, Edit("\n".join(window.old), "\n".join(window.new)), after(bent, window, new)


@drifting(APPLY, "twice-with-hint")
def _(rng, truth, window, text):
    bent = text + "\n" * 3 + "\n".join(window.old) + "\n"
    edit = Edit("\n".join(window.old), "\n".join(window.new), window.low + 1 + rng.randint(-2, 2))
    return (bent, edit, after(bent, window)) if len(truth.lines) - window.low > 9 else None
