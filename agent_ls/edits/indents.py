"""Map the model's indentation to the file's.

The map is learned from lines that both have. If it does not follow from them it is None, never a
guess.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from agent_ls.edits.keys import stripped

_LEAD = re.compile(r"[ \t]*")
_TAB = 4
_SAMPLE = 2_000

Indent = Callable[[str], str | None]
"""Maps the model's indentation to the file's; returns None when that is not certain."""


def indent_of(line: str) -> str:
    """Return the leading blanks of a line."""
    match = _LEAD.match(line)
    return match.group() if match else ""


def width(indent: str) -> int:
    """Return the width of the indentation in columns."""
    return len(indent.expandtabs(_TAB))


def kept(indent: str) -> str:
    """Return the indentation unchanged."""
    return indent


@dataclass(frozen=True, slots=True)
class Style:
    """How a file indents."""

    unit: str
    """One level: a tab or some spaces; empty if nothing is indented."""
    is_mixed: bool = False


def style_of(lines: Sequence[str]) -> Style:
    """Return the indentation style of these lines."""
    steps: Counter[int] = Counter()
    tabs = spaces = before = 0
    for line in lines[:_SAMPLE] if len(lines) > _SAMPLE else lines:
        if not line or line.isspace():
            continue
        lead = indent_of(line)
        if lead.startswith("\t"):
            tabs += 1
        elif len(lead) > 1:
            spaces += 1
            if len(lead) > before:
                steps[len(lead) - before] += 1
        before = len(lead) if "\t" not in lead else 0
    if tabs and tabs >= spaces:
        return Style("\t", is_mixed=spaces > 0)
    if not spaces:
        return Style("")
    steps.pop(1, None)
    size = min(steps, key=lambda one: (-steps[one], one)) if steps else 4
    return Style(" " * size, is_mixed=tabs > 0)


def learned(
    pairs: Sequence[tuple[str, str]], model_lines: Sequence[str], style: Style
) -> Indent | None:
    """Learn the map from pairs of model's and file's indentation; None if they contradict."""
    table: dict[str, str] = {}
    for ours, theirs in pairs:
        if table.setdefault(ours, theirs) != theirs:
            return None
    if all(ours == theirs for ours, theirs in table.items()):
        return kept
    shift = _shift(table)
    if shift is not None and (len(table) > 1 or _same_units(table, model_lines, style)):
        return lambda indent: table.get(indent, shift(indent))
    # If some indented lines agree, the step is the same: the others, mostly braces, differ for
    # another reason, so do not scale.
    is_alike = any(ours and ours == theirs for ours, theirs in table.items())
    scale = None if is_alike else _scale(table, model_lines, style)
    if scale is not None:
        return lambda indent: table.get(indent, scale(indent))
    return table.get


def _shift(table: dict[str, str]) -> Indent | None:
    """Return the map if all pairs differ by the same leading blanks."""
    ours, theirs = next(iter(table.items()))
    if theirs.endswith(ours):
        more = theirs[: len(theirs) - len(ours)]
        if all(more + one == other for one, other in table.items()):
            return lambda indent: more + indent
    if ours.endswith(theirs):
        less = ours[: len(ours) - len(theirs)]
        if all(less + other == one for one, other in table.items()):
            return lambda indent: indent[len(less) :] if indent.startswith(less) else None
    return None


def _same_units(table: dict[str, str], model_lines: Sequence[str], style: Style) -> bool:
    """Tell whether the model and the file seem to indent by the same step."""
    tabs = [any("\t" in lead for lead in leads) for leads in (table.keys(), table.values())]
    if tabs[0] != tabs[1] and all(table.keys()) and all(table.values()):
        return False
    unit = _unit(model_lines)
    if not unit or not style.unit:
        return True
    return (unit == "\t") == (style.unit == "\t") and (unit == "\t" or unit == style.unit)


def _unit(lines: Sequence[str]) -> str:
    """Return the commonest indentation step after block openers; empty if there is none."""
    steps: Counter[str] = Counter()
    solid = [line for line in lines if line.strip()]
    for one, other in pairwise(solid):
        lead, deeper = indent_of(one), indent_of(other)
        step = deeper.removeprefix(lead) if deeper.startswith(lead) else ""
        if stripped(one).endswith((":", "{")) and (step == "\t" or len(step) > 1):
            steps[step] += 1
    return min(steps, key=lambda one: (-steps[one], len(one))) if steps else ""


def _scale(table: dict[str, str], model_lines: Sequence[str], style: Style) -> Indent | None:
    """Return the map if the levels agree and only their size or character differs."""
    to_tabs = any("\t" in theirs for theirs in table.values()) or style.unit == "\t"
    points = sorted({(width(ours), width(theirs)) for ours, theirs in table.items()})
    (base, goal), *others = points
    if others:
        far, far_goal = others[-1]
        step, size = far - base, far_goal - goal
        if (
            not step
            or size <= 0
            or any((ours - base) * size != (theirs - goal) * step for ours, theirs in points)
        ):
            return None
    else:
        size = _TAB if to_tabs else len(style.unit)
        step = width(_unit(model_lines))
        if not step and base and goal and base * size % goal == 0:
            step = base * size // goal
    if not step or not size:
        return None
    unit = _TAB if to_tabs else len(style.unit)
    if unit and size % unit == 0 and step % (size // unit) == 0:
        # The points may be several levels apart: reduce to one level.
        step, size = step // (size // unit), unit

    def scaled(indent: str) -> str | None:
        # Lines aligned to something above keep their distance from their level.
        deep, odd = divmod(width(indent) - base, step)
        total = goal + deep * size
        return None if total < 0 else _built(total, odd, to_tabs=to_tabs)

    return scaled


def _built(total: int, odd: int, *, to_tabs: bool) -> str:
    if not to_tabs:
        return " " * (total + odd)
    tabs, spaces = divmod(total, _TAB)
    return "\t" * tabs + " " * (spaces + odd)


_OPENERS = (":", "{", "(", "[", "=>", "->", "then", "do", "else", "=", ",", "\\", "&&", "||", "+")
_CLOSERS = (
    *"})].#*?&|+-<:",
    *("else", "elif", "except", "finally", "case", "default", "end", "//", "when", "catch"),
    *("public", "private"),
)


def is_flat(lines: Sequence[str]) -> bool:
    """Tell whether the lines have lost all indentation: blocks open but nothing is indented."""
    solid = [line for line in lines if line.strip()]
    return not any(map(indent_of, solid)) and any(
        stripped(one).endswith((":", "{")) and not stripped(other).startswith(_CLOSERS)
        for one, other in pairwise(solid)
    )


def roughness(lines: Sequence[str], style: Style) -> int:
    """Score how implausible the indentation is: 0 if every step follows from the code."""
    found = 0
    step = width(style.unit) or _TAB
    solid = [line for line in lines if line.strip()]
    for one, other in pairwise(solid):
        change = width(indent_of(other)) - width(indent_of(one))
        body = stripped(one)
        opens = body.endswith(_OPENERS)
        block = body.endswith((":", "{")) and not stripped(other).startswith(_CLOSERS)
        if (change > 0 and not opens) or (change <= 0 and block):
            found += 2
        elif change > 0 and block and change != step:
            found += 1
    return found
