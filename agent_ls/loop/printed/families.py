"""The table of formats, compiled.

Read on import, as it takes milliseconds for which a turn would hold the event loop.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Family:
    """A format of calls, as its row in the table has it."""

    name: str
    opening: re.Pattern[str]
    reads: str
    closing: re.Pattern[str] | None


def _family(row: Mapping[str, str]) -> Family:
    closing = re.compile(row["closing"]) if "closing" in row else None
    opening = re.compile(row["opening"], re.MULTILINE)
    return Family(row["name"], opening, row["reads"], closing)


def _anywhere(rows: list[Mapping[str, str]], marks: str) -> re.Pattern[str]:
    """Return what finds the next code, opening or mark; the group's name says which it is."""
    openings = (
        f"(?P<f{number}>{row['opening'].replace('(?P<name>', '(?:')})"
        for number, row in enumerate(rows)
    )
    code = r"(?P<fence>^[ ]{0,3}(?:`{3,}|~{3,})[^`\n]*$)|(?P<code>`[^`\n]+`)"
    found = "|".join((code, *openings, f"(?P<mark>{marks})"))
    # The first characters of all of them: tried alone at first, as most places have none.
    return re.compile(rf"(?=[ `~<>\[cft])(?:{found})", re.MULTILINE)


_DATA: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("call_marks.toml").read_text("utf-8")
)
_MARKS = "|".join(_DATA["text"]["marks"])
_TURN_ENDS = "|".join(_DATA["text"]["turn_ends"])

FAMILIES = tuple(_family(row) for row in _DATA["family"])
NEXT = _anywhere(_DATA["family"], _MARKS)
"""Groups: ``fence`` and ``code``; ``f`` and a family's number; ``mark``."""
AROUND = re.compile(rf"\s+|{_MARKS}|{_TURN_ENDS}")
"""What may stand before, between and after calls."""
TURN_END = re.compile(rf"(?:{_TURN_ENDS})\s*\Z")
PARAMETER = re.compile(_DATA["parameters"]["opening"])
PARAMETER_END = re.compile(_DATA["parameters"]["closing"])
NAME_PREFIXES: tuple[str, ...] = tuple(_DATA["names"]["prefixes"])
NAME_ENDS = tuple(re.compile(one) for one in _DATA["names"]["cut_from"])
