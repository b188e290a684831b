"""What a benchmark answers: figures with their goals, and how they are printed.

Owns statistics and tables; knows nothing of what is measured.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TextIO


@dataclass(frozen=True)
class Figure:
    """One measured number, and the most it may be; a goal of None only informs."""

    name: str
    value: float
    unit: str = ""
    goal: float | None = None
    at_least: bool = False
    """The goal is the least it may be."""
    against: str = ""
    """What it is a ratio to, or how it was taken."""

    @property
    def is_met(self) -> bool:
        """Whether the goal holds; without a goal it does."""
        if self.goal is None:
            return True
        return self.value >= self.goal if self.at_least else self.value <= self.goal


def median(values: Iterable[float]) -> float:
    return statistics.median(values)


def quantile(values: Iterable[float], share: float) -> float:
    """Return the value below which that share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def print_table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], out: TextIO | None = None
) -> None:
    """Print a Markdown table whose columns line up."""
    cells = [list(headings), *(list(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headings))]
    for number, row in enumerate(cells):
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print(f"| {' | '.join(padded)} |", file=out)
        if number == 0:
            print(f"|{'|'.join('-' * (width + 2) for width in widths)}|", file=out)


def print_figures(title: str, figures: Sequence[Figure]) -> None:
    """Print figures with their goals."""
    print(f"\n{title}\n")
    print_table(("figure", "measured", "goal", "met", "against"), map(_row, figures))
    sys.stdout.flush()


def finish(title: str, figures: Sequence[Figure], *, as_json: bool) -> int:
    """Print figures as a program's whole answer, and return its exit code: 1 for a missed goal."""
    if as_json:
        print(json.dumps({"figures": to_json(figures), "load": os.getloadavg()[0]}, indent=1))
    else:
        print_figures(title, figures)
    return 0 if all(figure.is_met for figure in figures) else 1


def to_json(figures: Sequence[Figure]) -> list[dict[str, object]]:
    return [{**asdict(figure), "is_met": figure.is_met} for figure in figures]


def shown(value: float) -> str:
    """Return a number with as many digits as matter."""
    if value == int(value) and abs(value) < 1e9:
        return str(int(value))
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def _row(figure: Figure) -> tuple[str, str, str, str, str]:
    unit = f" {figure.unit}" if figure.unit else ""
    sign = "≥" if figure.at_least else "≤"
    goal = "" if figure.goal is None else f"{sign} {shown(figure.goal)}{unit}"
    met = "" if figure.goal is None else "yes" if figure.is_met else "NO"
    return figure.name, f"{shown(figure.value)}{unit}", goal, met, figure.against
