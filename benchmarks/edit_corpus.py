"""Genuine edits out of version histories, and the ways in which models get them wrong.

Each change of a file in a history is a truth: text before, lines that went, lines that came. A
drift bends what a model would have written, or the file it meets, and says what has to come out:
a text, or a refusal.
"""

from __future__ import annotations

import html
import random
import re
import subprocess
import unicodedata
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from rapidfuzz.distance import LCSseq

_KINDS = (".py", ".js", ".ts", ".tsx", ".go", ".rs", ".java", ".c", ".h", ".cc", ".md", ".css",
          ".html", ".json", ".yml", ".toml", ".sh", ".rst", ".txt")  # fmt: skip
_MAX_BYTES = 150_000
_MAX_CHANGED = 60


@dataclass(frozen=True, slots=True)
class Change:
    """Lines ``low:high`` of a text become ``new``."""

    low: int
    high: int
    new: list[str]


@dataclass(frozen=True, slots=True)
class Truth:
    """One file before one commit, and what the commit changed in it."""

    path: str
    lines: list[str]
    changes: list[Change]

    @property
    def seed(self) -> int:
        return zlib.crc32(("\n".join(self.lines) + self.path).encode())


@dataclass(frozen=True, slots=True)
class Edit:
    """What a model asks for, still free of any format."""

    old: str
    new: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One question to the engine, and its answer."""

    kind: str
    """search-replace, unified or envelope."""
    drift: str
    path: str
    text: str
    request: object
    expected: str | None
    """The text afterwards; None when it has to be refused."""


def truths(git_dir: Path, most: int, seed: int = 7) -> Iterator[Truth]:
    """Yield changes of files that a history holds, a fair sample of it."""
    log = _git(git_dir, "log", "--no-merges", "--raw", "--no-renames", "--diff-filter=M",
               "--abbrev=40", "--format=")  # fmt: skip
    rows = [line.split() for line in log.splitlines() if line.startswith(":")]
    rows = [row for row in rows if row[5].endswith(_KINDS)]
    random.Random(seed).shuffle(rows)
    found = 0
    for row in rows:
        if found >= most:
            return
        before, after = (_text(git_dir, blob) for blob in row[2:4])
        if before is None or after is None or before == after:
            continue
        truth = _truth(row[5], before, after)
        if truth is not None:
            found += 1
            yield truth


def _truth(path: str, before: str, after: str) -> Truth | None:
    old, new = before.splitlines(), after.splitlines()
    if "\n".join(old) + "\n" != before or "\n".join(new) + "\n" != after:
        return None
    changes: list[Change] = []
    for op in LCSseq.opcodes(old, new):
        if op.tag == "equal":
            continue
        more = new[op.dest_start : op.dest_end]
        if changes and changes[-1].high == op.src_start:
            last = changes.pop()
            changes.append(Change(last.low, op.src_end, last.new + more))
        else:
            changes.append(Change(op.src_start, op.src_end, more))
    size = sum(one.high - one.low + len(one.new) for one in changes)
    return Truth(path, old, changes) if 0 < size <= _MAX_CHANGED and len(old) > 8 else None


def _git(git_dir: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", f"--git-dir={git_dir}", *arguments], capture_output=True, check=True
    )
    return done.stdout.decode(errors="replace")


def _text(git_dir: Path, blob: str) -> str | None:
    done = subprocess.run(
        ["git", f"--git-dir={git_dir}", "cat-file", "blob", blob], capture_output=True, check=False
    )
    if done.returncode or len(done.stdout) > _MAX_BYTES:
        return None
    try:
        return done.stdout.decode()
    except UnicodeDecodeError:
        return None


def whole(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def carried_out(lines: list[str], changes: list[Change]) -> str:
    """Return the text after some of the changes."""
    result = list(lines)
    for one in reversed(changes):
        result[one.low : one.high] = one.new
    return whole(result)


# ---------------------------------------------------------------- search and replace


@dataclass(frozen=True, slots=True)
class _Window:
    """A change with the context that a model would quote."""

    low: int
    high: int
    old: list[str]
    new: list[str]


def _window(truth: Truth, change: Change, text: str, least: int = 0) -> _Window | None:
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
        return _Window(low, high, old, new)
    return None


Drift = Callable[[random.Random, Truth, _Window, str], tuple[str, Edit, str | None] | None]
"""From text and window to the file's text, the edit and what has to come out."""

_APPLY: dict[str, Drift] = {}
_REFUSE: dict[str, Drift] = {}


def _drift(table: dict[str, Drift], name: str) -> Callable[[Drift], Drift]:
    def add(one: Drift) -> Drift:
        table[name] = one
        return one

    return add


def _after(text: str, window: _Window, new: list[str] | None = None) -> str:
    lines = text.split("\n")
    lines[window.low : window.high] = window.new if new is None else new
    return "\n".join(lines)


def _both(window: _Window, bend: Callable[[list[str]], list[str]]) -> Edit | None:
    old = bend(window.old)
    return None if old == window.old else Edit("\n".join(old), "\n".join(bend(window.new)))


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


@_drift(_APPLY, "exact")
def _(rng: random.Random, truth: Truth, window: _Window, text: str):
    return text, Edit("\n".join(window.old), "\n".join(window.new)), _after(text, window)


@_drift(_APPLY, "exact-with-end")
def _(rng, truth, window, text):
    edit = Edit("\n".join(window.old) + "\n", "\n".join(window.new) + "\n" if window.new else "")
    return text, edit, _after(text, window)


@_drift(_APPLY, "trailing-blanks-lost")
def _(rng, truth, window, text):
    lines = text.split("\n")
    rows = [n for n in range(window.low, window.high) if lines[n].strip()]
    if not rows:
        return None
    for row in rng.sample(rows, max(1, len(rows) // 2)):
        lines[row] += rng.choice([" ", "  ", "\t"])
    bent = "\n".join(lines)
    # Kept lines keep their blanks; changed ones are the model's.
    kept = _kept_of(window)
    new = [lines[window.low + kept[n]] if n in kept else line for n, line in enumerate(window.new)]
    return bent, Edit("\n".join(window.old), "\n".join(window.new)), _after(bent, window, new)


@_drift(_APPLY, "trailing-blanks-added")
def _(rng, truth, window, text):
    rows = {line for line in window.old if line.strip() and rng.random() < 0.5}
    edit = _both(window, lambda lines: [one + "  " if one in rows and one in window.old else one
                                        for one in lines])  # fmt: skip
    return edit and (text, edit, _after(text, window))


@_drift(_APPLY, "dedented")
def _(rng, truth, window, text):
    solid = [one for one in window.old + window.new if one.strip()]
    common = min((len(_indent(one)) for one in solid), default=0)
    edit = _both(window, lambda lines: [one[common:] if one.strip() else one for one in lines])
    return edit and (text, edit, _after(text, window))


@_drift(_APPLY, "one-level-less")
def _(rng, truth, window, text):
    solid = [one for one in window.old + window.new if one.strip()]
    step = "\t" if any(one.startswith("\t") for one in solid) else "    "
    if not all(one.startswith(step) for one in solid):
        return None
    edit = _both(window, lambda lines: [one.removeprefix(step) for one in lines])
    return edit and (text, edit, _after(text, window))


@_drift(_APPLY, "one-level-more")
def _(rng, truth, window, text):
    step = "\t" if any(one.startswith("\t") for one in window.old) else "    "
    edit = _both(window, lambda lines: [step + one if one.strip() else one for one in lines])
    return edit and (text, edit, _after(text, window))


@_drift(_APPLY, "first-line-stripped")
def _(rng, truth, window, text):
    if (
        not window.new
        or not window.new[0].strip()
        or _indent(window.old[0]) != _indent(window.new[0])
    ):
        return None
    edit = _both(window, lambda lines: [lines[0].lstrip(" \t"), *lines[1:]])
    return edit and (text, edit, _after(text, window))


@_drift(_APPLY, "tabs-to-spaces")
def _(rng, truth, window, text):
    def bend(lines: list[str]) -> list[str]:
        return [_indent(one).replace("\t", "    ") + one.lstrip(" \t") if one.strip() else one
                for one in lines]  # fmt: skip

    edit = _both(window, bend)
    return edit and (text, edit, _after(text, window))


@_drift(_APPLY, "spaces-to-tabs")
def _(rng, truth, window, text):
    solid = [one for one in window.old + window.new if one.strip()]
    if any(len(_indent(one)) % 4 or "\t" in _indent(one) for one in solid):
        return None
    edit = _both(window, lambda lines: [_indent(one).replace("    ", "\t") + one.lstrip(" \t")
                                        if one.strip() else one for one in lines])  # fmt: skip
    return edit and (text, edit, _after(text, window))


@_drift(_APPLY, "half-indents")
def _(rng, truth, window, text):
    solid = [one for one in window.old + window.new if one.strip()]
    if any(len(_indent(one)) % 4 or "\t" in _indent(one) for one in solid):
        return None
    if len({len(_indent(one)) for one in window.old if one.strip()}) < 2:
        return None
    edit = _both(window, lambda lines: [_indent(one)[::2] + one.lstrip(" ") if one.strip() else one
                                        for one in lines])  # fmt: skip
    return edit and (text, edit, _after(text, window))


@_drift(_APPLY, "only-old-dedented")
def _(rng, truth, window, text):
    solid = [one for one in window.old if one.strip()]
    common = min((len(_indent(one)) for one in solid), default=0)
    if not common or not window.new or not _kept_of(window):
        return None
    old = [one[common:] if one.strip() else one for one in window.old]
    return text, Edit("\n".join(old), "\n".join(window.new)), _after(text, window)


@_drift(_APPLY, "crlf-file")
def _(rng, truth, window, text):
    edit = Edit("\n".join(window.old), "\n".join(window.new))
    return text.replace("\n", "\r\n"), edit, _after(text, window).replace("\n", "\r\n")


@_drift(_APPLY, "crlf-edit")
def _(rng, truth, window, text):
    edit = Edit("\r\n".join(window.old), "\r\n".join(window.new))
    return (text, edit, _after(text, window)) if "\r" in edit.old else None


@_drift(_APPLY, "bom")
def _(rng, truth, window, text):
    edit = Edit("\n".join(window.old), "\n".join(window.new))
    return "\ufeff" + text, edit, "\ufeff" + _after(text, window)


@_drift(_APPLY, "no-final-end")
def _(rng, truth, window, text):
    if window.high < len(truth.lines) or not window.new or not window.new[-1].strip():
        return None
    edit = Edit("\n".join(window.old) + "\n", "\n".join(window.new) + "\n")
    return text[:-1], edit, _after(text, window)[:-1]


def _curly(line: str) -> str:
    return re.sub(r"'([^']*)'", "\u2018\\1\u2019", re.sub(r'"([^"]*)"', "\u201c\\1\u201d", line))


@_drift(_APPLY, "curly-quotes")
def _(rng, truth, window, text):
    if any(one in text for one in "\u201c\u201d\u2018\u2019"):
        return None
    edit = _both(window, lambda lines: [_curly(one) for one in lines])
    return edit and (text, edit, _after(text, window))


@_drift(_APPLY, "file-has-curly-quotes")
def _(rng, truth, window, text):
    kept = _kept_of(window)
    lines = text.split("\n")
    rows = [window.low + n for n in kept.values() if _curly(window.old[n]) != window.old[n]]
    if not rows:
        return None
    for row in rows:
        lines[row] = _curly(lines[row])
    new = [lines[window.low + kept[n]] if n in kept else line for n, line in enumerate(window.new)]
    bent = "\n".join(lines)
    return bent, Edit("\n".join(window.old), "\n".join(window.new)), _after(bent, window, new)


@_drift(_APPLY, "other-normal-form")
def _(rng, truth, window, text):
    edit = _both(window, lambda lines: [unicodedata.normalize("NFD", one) for one in lines])
    if text != unicodedata.normalize("NFC", text) or edit is None:
        return None
    return text, edit, _after(text, window)


@_drift(_APPLY, "entities")
def _(rng, truth, window, text):
    if re.search(r"&\w+;|&#", text):
        return None
    edit = _both(window, lambda lines: [html.escape(one, quote=False) for one in lines])
    return edit and (text, edit, _after(text, window))


@_drift(_APPLY, "quotes-escaped")
def _(rng, truth, window, text):
    if '\\"' in text:
        return None
    edit = _both(window, lambda lines: [one.replace('"', '\\"') for one in lines])
    if edit is None or any("\\" in one for one in window.old + window.new):
        return None
    return text, edit, _after(text, window)


@_drift(_APPLY, "all-escaped")
def _(rng, truth, window, text):
    if "\\" in text or len(window.old) < 2 or "\t" in "".join(window.old + window.new):
        return None
    old, new = ("\n".join(one).replace('"', '\\"').replace("\n", "\\n")
                for one in (window.old, window.new))  # fmt: skip
    return text, Edit(old, new), _after(text, window)


@_drift(_APPLY, "numbered")
def _(rng, truth, window, text):
    form = rng.choice(["{:>5}\t{}", "{:>6}\t{}", "{}: {}", "{:>4} | {}", "{}→{}", "{}|{}"])

    def bend(lines: list[str]) -> list[str]:
        return [form.format(window.low + 1 + n, one) for n, one in enumerate(lines)]

    if re.search(r"^\s*\d+[:|→\t]", text, re.M):
        return None
    edit = _both(window, bend)
    return edit and (text, edit, _after(text, window))


@_drift(_APPLY, "numbered-old-only")
def _(rng, truth, window, text):
    if re.search(r"^\s*\d+[:|→\t]", text, re.M) or not window.new:
        return None
    old = [f"{window.low + 1 + n:>5}\t{one}" for n, one in enumerate(window.old)]
    return text, Edit("\n".join(old), "\n".join(window.new)), _after(text, window)


@_drift(_APPLY, "blank-lines-lost")
def _(rng, truth, window, text):
    kept = _kept_of(window)
    inner = {window.old[n] for n in kept.values()}
    if "" not in inner or _blank_changes(window):
        return None
    edit = _both(window, lambda lines: [one for one in lines if one.strip()])
    if edit is None or any(not one.strip() for one in _added(window)):
        return None
    return text, edit, _after(text, window)


@_drift(_APPLY, "blank-lines-more")
def _(rng, truth, window, text):
    kept = {n: m for m, n in _kept_of(window).items()}
    rows = [n for n in kept if n + 1 in kept and kept[n + 1] == kept[n] + 1]
    if not rows:
        return None
    row = rng.choice(rows)
    old = [*window.old[: row + 1], "", *window.old[row + 1 :]]
    new = [*window.new[: kept[row] + 1], "", *window.new[kept[row] + 1 :]]
    return text, Edit("\n".join(old), "\n".join(new)), _after(text, window)


def _elided(window: _Window, *, in_old: bool) -> tuple[list[str], list[str]] | None:
    kept = _kept_of(window)
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
    lead = _indent(window.new[low])
    mark = [lead + "# ... existing code ..."]
    new = window.new[:low] + mark + window.new[high:]
    old = window.old[: kept[low]] + mark + window.old[kept[high - 1] + 1 :]
    return (old if in_old else window.old), new


def _marks_off(window: _Window, kept: dict[int, int], row: int) -> bool:
    """Tell whether a line says for sure where the lines end that a mark stands for."""
    line = window.new[row]
    return row in kept and bool(line.strip()) and window.old.count(line) == 1


@_drift(_APPLY, "elided-in-both")
def _(rng, truth, window, text):
    parts = _elided(window, in_old=True)
    if parts is None:
        return None
    return text, Edit("\n".join(parts[0]), "\n".join(parts[1])), _after(text, window)


@_drift(_APPLY, "elided-in-new")
def _(rng, truth, window, text):
    parts = _elided(window, in_old=False)
    if parts is None:
        return None
    return text, Edit("\n".join(parts[0]), "\n".join(parts[1])), _after(text, window)


@_drift(_APPLY, "context-changed")
def _(rng, truth, window, text):
    kept = _kept_of(window)
    rows = [n for n, m in kept.items() if len(re.sub(r"\W", "", window.old[m])) > 6]
    free = [n for n in rows if not _names_a_place(truth.lines, window.low + kept[n])]
    if len(rows) < 3 or not free:
        return None
    row = rng.choice(free)
    lines = text.split("\n")
    lines[window.low + kept[row]] = _altered(rng, lines[window.low + kept[row]])
    if _has_rivals(lines, window.old):
        return None
    bent = "\n".join(lines)
    new = [lines[window.low + kept[n]] if n in kept else line for n, line in enumerate(window.new)]
    return bent, Edit("\n".join(window.old), "\n".join(window.new)), _after(bent, window, new)


@_drift(_APPLY, "twice-with-hint")
def _(rng, truth, window, text):
    bent = text + "\n" * 3 + "\n".join(window.old) + "\n"
    edit = Edit("\n".join(window.old), "\n".join(window.new), window.low + 1 + rng.randint(-2, 2))
    return (bent, edit, _after(bent, window)) if len(truth.lines) - window.low > 9 else None


def _names_a_place(lines: list[str], row: int) -> bool:
    """Tell whether a block begins here: with another name it is another block, for all we know.

    Where no brace or colon says so, what follows does: it is deeper, or a brace of its own.
    """
    line = lines[row]
    below = next((one for one in lines[row + 1 :] if one.strip()), "")
    is_head = len(_indent(below)) > len(_indent(line)) or below.strip() == "{"
    return is_head or line.rstrip().endswith(("{", "(", "[", ":")) or bool(_TOP.match(line))


def _has_rivals(lines: list[str], old: list[str]) -> bool:
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


def _altered(rng: random.Random, line: str) -> str:
    """Return the line as somebody may have changed it: a word, or something added."""
    words = list(re.finditer(r"[A-Za-z_]\w+", line))
    how = rng.choice(("word", "longer", "remark"))
    if not words or how == "remark":
        return line + rng.choice(("  # noted", " // noted", " changed"))
    word = rng.choice(words)
    other = "other" if how == "word" else "x_" + word.group()
    return line[: word.start()] + other + line[word.end() :]


def _kept_of(window: _Window) -> dict[int, int]:
    """Return numbers of new lines that are old ones."""
    return {op.dest_start + n: op.src_start + n for op in LCSseq.opcodes(window.old, window.new)
            if op.tag == "equal" for n in range(op.src_end - op.src_start)}  # fmt: skip


def _added(window: _Window) -> list[str]:
    kept = _kept_of(window)
    return [line for n, line in enumerate(window.new) if n not in kept]


def _blank_changes(window: _Window) -> bool:
    kept = set(_kept_of(window).values())
    return any(not line.strip() for n, line in enumerate(window.old) if n not in kept)


@_drift(_REFUSE, "replaced-line-changed")
def _(rng, truth, window, text):
    kept = set(_kept_of(window).values())
    rows = [n for n in range(len(window.old)) if n not in kept and window.old[n].strip()]
    if not rows:
        return None
    row = rng.choice(rows)
    lines = text.split("\n")
    lines[window.low + row] = _altered(rng, lines[window.low + row])
    bent = "\n".join(lines)
    edit = Edit("\n".join(window.old), "\n".join(window.new))
    return None if edit.old in bent or _is_anywhere(lines, window.old) else (bent, edit, None)


def _is_anywhere(lines: list[str], old: list[str]) -> bool:
    """Tell whether the old lines stand somewhere in any indentation."""
    return _times(lines, old) > 0


def _times(lines: list[str], old: list[str]) -> int:
    """Return how often the old lines stand somewhere in any indentation."""
    here = "\n" + "\n".join(one.strip() for one in lines if one.strip()) + "\n"
    return here.count("\n" + "\n".join(one.strip() for one in old if one.strip()) + "\n")


@_drift(_REFUSE, "target-gone")
def _(rng, truth, window, text):
    lines = text.split("\n")
    del lines[window.low : window.high]
    bent = "\n".join(lines)
    edit = Edit("\n".join(window.old), "\n".join(window.new))
    return None if _is_anywhere(lines, window.old) else (bent, edit, None)


@_drift(_REFUSE, "removed-lines-gone")
def _(rng, truth, window, text):
    kept = set(_kept_of(window).values())
    lines = text.split("\n")
    rows = [n for n in range(len(window.old)) if n not in kept and window.old[n].strip()]
    if not rows:
        return None
    for row in reversed(rows):
        del lines[window.low + row]
    bent = "\n".join(lines)
    edit = Edit("\n".join(window.old), "\n".join(window.new))
    return None if _is_anywhere(lines, window.old) else (bent, edit, None)


@_drift(_REFUSE, "twice")
def _(rng, truth, window, text):
    bent = text + "\n" + "\n".join(window.old) + "\n"
    return bent, Edit("\n".join(window.old), "\n".join(window.new)), None


@_drift(_REFUSE, "twice-and-dedented")
def _(rng, truth, window, text):
    solid = [one for one in window.old + window.new if one.strip()]
    common = min((len(_indent(one)) for one in solid), default=0)
    edit = _both(window, lambda lines: [one[common:] if one.strip() else one for one in lines])
    bent = text + "\n" + "\n".join(window.old) + "\n"
    return None if edit is None or edit.old in bent else (bent, edit, None)


@_drift(_REFUSE, "applied")
def _(rng, truth, window, text):
    bent = _after(text, window)
    edit = Edit("\n".join(window.old), "\n".join(window.new))
    added = sum(char.isalnum() for line in _added(window) for char in line)
    is_there = added > 12 and edit.new in bent and edit.old not in bent
    return (bent, edit, None) if is_there else None


@_drift(_REFUSE, "twin-changed")
def _(rng, truth, window, text):
    """The target was changed, and something much like it stands elsewhere."""
    kept = set(_kept_of(window).values())
    cores = [n for n in range(len(window.old)) if n not in kept and window.old[n].strip()]
    sides = [n for n in kept if len(re.sub(r"\W", "", window.old[n])) > 6]
    if not cores or not sides:
        return None
    lines = text.split("\n")
    lines[window.low + cores[0]] = _altered(rng, lines[window.low + cores[0]])
    twin = list(window.old)
    twin[rng.choice(sides)] = _altered(rng, twin[rng.choice(sides)])
    if twin == window.old:
        return None
    bent = "\n".join(lines) + "\n" + "\n".join(twin) + "\n"
    edit = Edit("\n".join(window.old), "\n".join(window.new))
    return None if edit.old in bent else (bent, edit, None)


_CERTAIN = ("exact", "twice", "numbered", "elided", "crlf", "bom", "no-final", "blank", "trailing")


def edits(truth: Truth) -> Iterator[Case]:
    """Yield the search-and-replace cases of one truth."""
    rng = random.Random(truth.seed)
    text = whole(truth.lines)
    change = rng.choice(truth.changes)
    for table in (_APPLY, _REFUSE):
        for name, bend in table.items():
            least = (
                3
                if name.startswith(("context", "elided", "blank", "twin"))
                else rng.choice((0, 1, 2, 3))
            )
            if name.startswith("elided"):
                least = 6
            window = _window(truth, change, text, least)
            if window is None or not "".join(window.old).strip():
                continue
            found = bend(rng, truth, window, text)
            if found and table is _APPLY and not name.startswith(_CERTAIN) and (
                _times(truth.lines, window.old) > 1 or found[1].old in found[0]
            ):  # fmt: skip
                # What is unique only by what the drift takes away is not certain any more.
                continue
            if found:
                yield Case("search-replace", name, truth.path, *found)


# ---------------------------------------------------------------- diffs


@dataclass(frozen=True, slots=True)
class _Group:
    """Changes near each other with their context, as one hunk."""

    low: int
    high: int
    lines: list[str]
    """With their signs."""
    shift: int


def _groups(lines: list[str], changes: list[Change], size: int = 3) -> list[_Group]:
    groups: list[list[Change]] = []
    for one in changes:
        if groups and one.low - groups[-1][-1].high <= 2 * size:
            groups[-1].append(one)
        else:
            groups.append([one])
    found: list[_Group] = []
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
        found.append(_Group(low, high, rows, shift))
        shift += sum(len(one.new) - (one.high - one.low) for one in group)
    return found


def _header(group: _Group, number: int | None = None) -> str:
    old = sum(not row.startswith("+") for row in group.lines)
    new = sum(not row.startswith("-") for row in group.lines)
    at = group.low + 1 if number is None else number
    return f"@@ -{at},{old} +{max(1, at + group.shift)},{new} @@"


def _unified(path: str, groups: list[_Group], header: Callable[[_Group], str] = _header) -> str:
    rows = [f"--- a/{path}", f"+++ b/{path}"]
    for group in groups:
        rows += [header(group), *group.lines]
    return "\n".join(rows) + "\n"


def _envelope(path: str, groups: list[_Group], anchors: list[str]) -> str:
    rows = ["*** Begin Patch", f"*** Update File: {path}"]
    for group, anchor in zip(groups, anchors, strict=True):
        rows += [f"@@ {anchor}".rstrip(), *group.lines]
    return "\n".join([*rows, "*** End Patch"]) + "\n"


_TOP = re.compile(r"^\s*(?:def|class|func|fn|pub fn|function|async def|public|private|type) ")


def _anchor(lines: list[str], group: _Group) -> str:
    for line in reversed(lines[: group.low]):
        if _TOP.match(line):
            return line.strip()
    return ""


def _old_of(group: _Group) -> str:
    return "\n".join(row[1:] for row in group.lines if not row.startswith("+"))


def patches(truth: Truth) -> Iterator[Case]:
    """Yield the cases in both formats of diffs of one truth."""
    rng = random.Random(truth.seed + 1)
    lines, text = truth.lines, whole(truth.lines)
    expected = carried_out(lines, truth.changes)
    groups = _groups(lines, truth.changes)
    is_unique = all(text.count(_old_of(one)) == 1 for one in groups)
    path = truth.path

    def both(drift: str, there: str, bent: list[_Group], goal: str | None) -> Iterator[Case]:
        yield Case("unified", drift, path, there, _unified(path, bent), goal)
        yield Case("envelope", drift, path, there, _envelope(path, bent, [""] * len(bent)), goal)

    if all(_old_of(one).strip() for one in groups):
        yield Case("unified", "exact", path, text, _unified(path, groups), expected)
    if not is_unique or not all(_old_of(one).strip() for one in groups):
        anchors = [_anchor(lines, one) for one in groups]
        firsts = [_first_after(lines, one, anchor)
                  for one, anchor in zip(groups, anchors, strict=True)]  # fmt: skip
        if all(anchors) and all(firsts):
            yield Case("envelope", "anchored-twins", path, text,
                       _envelope(path, groups, anchors), expected)  # fmt: skip
        return
    yield Case("envelope", "exact", path, text, _envelope(path, groups, [""] * len(groups)),
               expected)  # fmt: skip
    anchors = [_anchor(lines, one) for one in groups]
    yield Case("envelope", "anchored", path, text, _envelope(path, groups, anchors), expected)
    wrong = {id(one): max(1, one.low + 1 + rng.randint(-60, 60)) for one in groups}
    yield Case(
        "unified",
        "wrong-numbers",
        path,
        text,
        _unified(path, groups, lambda one: _header(one, wrong[id(one)])),
        expected,
    )
    yield Case(
        "unified", "no-numbers", path, text, _unified(path, groups, lambda _: "@@ ... @@"), expected
    )
    yield Case(
        "unified",
        "wrong-counts",
        path,
        text,
        _unified(
            path,
            groups,
            lambda one: (
                f"@@ -{one.low + 1},{rng.randint(1, 9)} +{one.low + 1},{rng.randint(1, 9)} @@"
            ),
        ),
        expected,
    )
    bare = [
        _Group(g.low, g.high, [r.rstrip() if r.strip() == "" else r for r in g.lines], g.shift)
        for g in groups
    ]
    yield from both("blank-context-bare", text, bare, expected)
    if not any(row.startswith(" " * 2) or row.startswith(" \t") for g in groups for row in g.lines):
        naked = [
            _Group(
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
    shifted = _shifted_groups(groups)
    if shifted:
        yield from both("one-level-less", text, shifted, expected)
    row = _context_row(rng, lines, groups)
    if row is not None:
        there = list(lines)
        there[row] = _altered(rng, there[row])
        goal = carried_out(there, truth.changes)
        if not _is_doubtful(there, groups):
            yield from both("context-changed", whole(there), groups, goal)
    yield from _moved_context(truth, rng, groups)
    yield from _refused_patches(truth, rng, groups, expected)
    yield from _otherwise_written(truth, random.Random(truth.seed + 2), groups, expected)


def _moved_context(truth: Truth, rng: random.Random, groups: list[_Group]) -> Iterator[Case]:
    """Yield the cases where a line came or went between lines that the diff shows as neighbours."""
    row = _inner_row(rng, truth.lines, groups)
    if row is None:
        return
    # A line that somebody adds stands in the block that it is added to.
    new = _indent(truth.lines[row]) + "noted()"
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
        yield Case("unified", drift, truth.path, whole(there), _unified(truth.path, groups), goal)
        patch = _envelope(truth.path, groups, [""] * len(groups))
        yield Case("envelope", drift, truth.path, whole(there), patch, goal)


def _is_doubtful(there: list[str], groups: list[_Group]) -> bool:
    """Tell whether a group that is not there any more has rivals."""
    text = whole(there)
    return any(
        _old_of(one) not in text and _has_rivals(there, _old_of(one).split("\n")) for one in groups
    )


def _otherwise_written(
    truth: Truth, rng: random.Random, groups: list[_Group], expected: str
) -> Iterator[Case]:
    """Yield the cases of hunks as models write them: short, with anchors, for moved lines."""
    lines, text, path = truth.lines, whole(truth.lines), truth.path
    short = _groups(lines, truth.changes, rng.choice((1, 1, 2)))
    bare = [""] * len(short)
    if all(_old_of(one).strip() and text.count(_old_of(one)) == 1 for one in short):
        yield Case("unified", "short-context", path, text, _unified(path, short), expected)
        yield Case("envelope", "short-context", path, text, _envelope(path, short, bare), expected)
    nested = [_nested_anchors(lines, one) for one in short]
    if all(nested):
        anchors = ["\n@@ ".join(one) for one in nested]
        patch = _envelope(path, short, anchors)
        yield Case("envelope", "nested-anchors", path, text, patch, expected)
    anchors = [_anchor(lines, one) for one in groups]
    bent = [one and _altered(rng, one) for one in anchors]
    if bent != anchors:
        yield Case(
            "envelope", "anchor-changed", path, text, _envelope(path, groups, bent), expected
        )
    crlf = _envelope(path, groups, [""] * len(groups)).replace("\n", "\r\n")
    yield Case("envelope", "crlf-patch", path, text, crlf, expected)
    yield from _at_end(truth, groups)
    if len(groups) == 1:
        yield from _moved(truth, groups[0])


def _nested_anchors(lines: list[str], group: _Group) -> list[str]:
    """Return what encloses the group, outermost first, if the group is the first such one there."""
    first = next((line for line in lines[group.low : group.high] if line.strip()), "")
    width, chain = len(_indent(first)), list[int]()
    for number in range(group.low - 1, -1, -1):
        line = lines[number]
        if line.strip() and len(_indent(line)) < width and _TOP.match(line):
            chain.insert(0, number)
            width = len(_indent(line))
    if len(chain) < 2 or sum(line == lines[chain[0]] for line in lines) > 1:
        return []
    at = chain[0]
    for number in chain[1:]:
        at = next(n for n in range(at + 1, len(lines)) if lines[n].strip() == lines[number].strip())
    old = _old_of(group).split("\n")
    hits = [n for n in range(at + 1 - len(old), len(lines)) if n >= 0
            and lines[n : n + len(old)] == old]  # fmt: skip
    return [lines[n].strip() for n in chain] if hits[:1] == [group.low] else []


def _at_end(truth: Truth, groups: list[_Group]) -> Iterator[Case]:
    """Yield the case where a marker says that a group ends the file, and a copy stands above."""
    last = groups[-1]
    if last.high < len(truth.lines) or len(groups) > 1:
        return
    above = [*_old_of(last).split("\n"), "", ""]
    lines = [*above, *truth.lines]
    moved = [Change(c.low + len(above), c.high + len(above), c.new) for c in truth.changes]
    marked = replace(last, lines=[*last.lines, "*** End of File"])
    yield Case("envelope", "end-of-file", truth.path, whole(lines),
               _envelope(truth.path, [marked], [""]), carried_out(lines, moved))  # fmt: skip


def _moved(truth: Truth, group: _Group) -> Iterator[Case]:
    """Yield the cases where the lines of the only group stand elsewhere in the file by now."""
    block, path = truth.lines[group.low : group.high], truth.path
    rest = [*truth.lines[: group.low], *truth.lines[group.high :]]
    old = _old_of(group)
    if len(rest) < 20 or not group.low or old in whole(rest):
        return
    lines = [*block, "", *rest] if group.low > len(rest) // 2 else [*rest, "", *block]
    at = 0 if group.low > len(rest) // 2 else len(rest) + 1
    shift = at - group.low
    moved = [Change(c.low + shift, c.high + shift, c.new) for c in truth.changes]
    if whole(lines).count(old) > 1:
        return
    goal = carried_out(lines, moved)
    yield Case("unified", "moved", path, whole(lines), _unified(path, [group]), goal)
    yield Case("envelope", "moved", path, whole(lines), _envelope(path, [group], [""]), goal)


def _inner_row(rng: random.Random, lines: list[str], groups: list[_Group]) -> int | None:
    """Return a line of context that has context on both sides."""
    rows: list[int] = []
    for one in groups:
        at = one.low
        for above, row, below in zip(one.lines, one.lines[1:], one.lines[2:], strict=False):
            at += above[0] != "+"
            if all(each[0] == " " and each[1:].strip() for each in (above, row, below)):
                rows += [] if _names_a_place(lines, at) else [at]
    return rng.choice(rows) if rows else None


def _refused_patches(
    truth: Truth, rng: random.Random, groups: list[_Group], expected: str
) -> Iterator[Case]:
    """Yield the cases of diffs that nobody may carry out."""
    lines, text, path = truth.lines, whole(truth.lines), truth.path

    def both(drift: str, there: str) -> Iterator[Case]:
        yield Case("unified", drift, path, there, _unified(path, groups), None)
        yield Case(
            "envelope", drift, path, there, _envelope(path, groups, [""] * len(groups)), None
        )

    gone = [n for one in truth.changes for n in range(one.low, one.high) if lines[n].strip()]
    if gone:
        there = list(lines)
        row = rng.choice(gone)
        there[row] = _altered(rng, there[row])
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
    doubled = text + "\n" + _old_of(one) + "\n"
    yield Case("envelope", "twice", path, doubled, _envelope(path, [one], [""]), None)
    yield Case(
        "unified", "twice-no-numbers", path, doubled, _unified(path, [one], lambda _: "@@ @@"), None
    )
    there = list(lines)
    del there[one.low : one.high]
    if _old_of(one) not in whole(there):
        yield from both("target-gone", whole(there))
    twin = _twin(truth, random.Random(truth.seed + 3), one)
    if twin is not None:
        yield Case("envelope", "twin-changed", path, twin, _envelope(path, [one], [""]), None)
        no_numbers = _unified(path, [one], lambda _: "@@ @@")
        yield Case("unified", "twin-changed", path, twin, no_numbers, None)


def _twin(truth: Truth, rng: random.Random, group: _Group) -> str | None:
    """Return the text with a removed line changed, and a copy elsewhere with other context."""
    old = _old_of(group).split("\n")
    signs = [row[0] for row in group.lines if row[0] != "+"]
    cores = [n for n, sign in enumerate(signs) if sign == "-" and old[n].strip()]
    sides = [n for n, sign in enumerate(signs) if sign == " " and len(old[n].strip()) > 6]
    if not cores or not sides:
        return None
    lines, copy = list(truth.lines), list(old)
    lines[group.low + cores[0]] = _altered(rng, lines[group.low + cores[0]])
    side = rng.choice(sides)
    copy[side] = _altered(rng, copy[side])
    text = whole(lines) + "\n" + whole(copy)
    return None if copy == old or _old_of(group) in text else text


def _first_after(lines: list[str], group: _Group, anchor: str) -> bool:
    """Tell whether the group is the first such one after its anchor, which stands once."""
    tops = [n for n, line in enumerate(lines) if line.strip() == anchor]
    if len(tops) != 1:
        return False
    old = _old_of(group).split("\n")
    hits = [
        n for n in range(len(lines)) if lines[n : n + len(old)] == old and n + len(old) > tops[0]
    ]
    return bool(hits) and hits[0] == group.low


def _shifted_groups(groups: list[_Group]) -> list[_Group] | None:
    rows = [row[1:] for one in groups for row in one.lines if row[1:].strip()]
    step = "\t" if rows[0].startswith("\t") else "    "
    if not all(row.startswith(step) for row in rows):
        return None
    return [
        _Group(g.low, g.high, [r[0] + r[1:].removeprefix(step) for r in g.lines], g.shift)
        for g in groups
    ]


def _context_row(rng: random.Random, lines: list[str], groups: list[_Group]) -> int | None:
    rows: list[int] = []
    free: list[int] = []
    for one in groups:
        at = one.low
        for row in one.lines:
            if row[0] == " " and len(re.sub(r"\W", "", row)) > 6:
                rows.append(at)
                free += [at] if not _names_a_place(lines, at) else []
            at += row[0] != "+"
    return rng.choice(free) if len(rows) >= 3 and free else None
