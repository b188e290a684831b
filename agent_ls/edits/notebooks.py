"""Jupyter notebooks as a text of cells: what a model and a user read instead of the JSON.

Each cell is a marker line and its source; outputs and metadata are not part of the text.
``notebook_changes`` carries a change of this text out in the JSON.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from agent_ls.edits.lines import BOM, split_lines

KINDS: Final = ("code", "markdown", "raw")
DEFAULT_SIGN: Final = "# %%"
_KIND = r" \[(code|markdown|md|raw)\](?: cell (\d+))?"
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()
_MAX_OUTPUT_LINES = 8
_MAX_OUTPUT_CHARS = 200
_ITEM = re.compile(r'\s*("(?:[^"\\]|\\.)*"),?\s*')
"""A line of JSON that holds only a text."""


class NotANotebook(ValueError):
    """The text is no notebook whose cells can be edited; the message says why."""


class OtherFormat(NotANotebook):
    """The text is a notebook of another format than 4."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell, and where it is in the file's text."""

    kind: str
    source: str
    start: int
    end: int
    source_start: int
    source_end: int
    """The value of ``source``, a string or a list of strings."""
    value: Mapping[str, Any]
    """The whole cell, as JSON values."""


@dataclass(frozen=True, slots=True)
class Notebook:
    """A notebook of format 4 and its text."""

    text: str
    cells: tuple[Cell, ...]
    cells_start: int
    cells_end: int
    """The list of cells, with its brackets."""
    minor: int
    rest: Mapping[str, Any]
    """All but the cells, as JSON values."""

    @property
    def sign(self) -> str:
        """Return the beginning of its marker lines, with which no line of a cell begins."""
        sign = DEFAULT_SIGN
        while any(_marker(sign).search(cell.source) for cell in self.cells):
            sign += "%"
        return sign

    @property
    def shown(self) -> str:
        """Return the text of its cells."""
        return shown_cells([(cell.kind, cell.source) for cell in self.cells], self.sign)

    def cell_place(self, offset: int) -> tuple[int, int]:
        """Return the index of the cell at an offset of the file, and the line of its source."""
        starts = [cell.start for cell in self.cells]
        index = max(0, bisect_right(starts, offset) - 1)
        lines = self._lines_of(index)
        return index, max(0, bisect_right(lines, offset) - 1)

    def place_of(self, index: int, line: int) -> tuple[int, int]:
        """Return line and column in the file at which a line of a cell's source begins."""
        lines = self._lines_of(index)
        at = lines[min(line, len(lines) - 1)]
        return self.text.count("\n", 0, at), at - self.text.rfind("\n", 0, at)

    def shown_lines(self, first: int, last: int | None) -> tuple[int, int | None]:
        """Return lines of the file as lines of the cells' text, all from 0."""
        ends = [match.start() for match in re.finditer("\n", self.text)]
        past = len(self.text) - 1
        found = [
            self._shown_line(ends[line] if line < len(ends) else past)
            for line in (first, first if last is None else last)
        ]
        return found[0], None if last is None else found[1]

    def _shown_line(self, offset: int) -> int:
        if not self.cells:
            return 0
        index, line = self.cell_place(offset)
        above = (split_lines(f"{cell.source}\n") for cell in self.cells[:index])
        return sum(1 + len(lines) for lines in above) + 1 + line

    def _lines_of(self, index: int) -> list[int]:
        """Return the offsets at which the lines of a cell's source begin; at least one."""
        cell = self.cells[index]
        at, starts = cell.source_start, list[int]()
        if self.text[at : at + 1] == "[":
            at = _past_space(self.text, at + 1)
            while self.text[at] != "]":
                starts.append(at)
                at = _past_space(self.text, _DECODER.raw_decode(self.text, at)[1])
                at = _past_space(self.text, at + 1) if self.text[at] == "," else at
        return starts or [cell.source_start]

    @property
    def is_executed(self) -> bool:
        """Say whether a cell has outputs."""
        return any(cell.value.get("outputs") for cell in self.cells)


@dataclass(frozen=True, slots=True)
class WantedCell:
    """One cell of a text of cells."""

    kind: str
    source: str
    number: int | None
    """The number in its marker line, from 1; None: there is none."""


def is_notebook(path: str) -> bool:
    """Say whether a path names a notebook."""
    return path.lower().endswith(".ipynb")


def parse_notebook(text: str) -> Notebook:
    """Return the notebook in a file's text. Errors: ``NotANotebook``."""
    try:
        whole = json.loads(text.removeprefix(BOM))
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise NotANotebook(f"it is not valid JSON: {error.msg} at {where}") from None
    except (ValueError, RecursionError) as error:
        raise NotANotebook(f"its JSON cannot be read: {error}") from None
    if not isinstance(whole, dict) or "nbformat" not in whole:
        raise NotANotebook("it has no nbformat, so it is no notebook")
    rest = cast("dict[str, Any]", whole)
    cells = rest.pop("cells", None)
    if rest["nbformat"] != 4 or not isinstance(cells, list):
        raise OtherFormat(
            f"it is a notebook of format {rest['nbformat']}, not of format 4 with a list of "
            "cells; `jupyter nbconvert --to notebook --inplace FILE` converts an older one"
        )
    start = 0
    for key, at, _ in _members(text, _past_space(text, len(BOM) if text.startswith(BOM) else 0)):
        if key == "cells":
            start = at
    end = start + 1
    found: list[Cell] = []
    for number, value in enumerate(cast("list[Any]", cells), 1):
        at = _past_space(text, _past_space(text, end) + (number > 1))
        end = _DECODER.raw_decode(text, at)[1]
        found.append(_cell(text, number, value, at, end))
    minor = rest.get("nbformat_minor")
    past = _past_space(text, end) + 1
    return Notebook(text, tuple(found), start, past, minor if isinstance(minor, int) else 0, rest)


def notebook_or_none(path: str, text: str | None) -> Notebook | None:
    """Return the notebook of a path's text; None for another file, or none that can be read."""
    if text is None or not is_notebook(path):
        return None
    try:
        return parse_notebook(text)
    except NotANotebook:
        return None


def shown_text(path: str, text: str) -> str:
    """Return the cells of a notebook, else the text itself."""
    found = notebook_or_none(path, text)
    return text if found is None else found.shown


def shown_cells(cells: Sequence[tuple[str, str]], sign: str) -> str:
    """Return kinds and sources as one text."""
    return "".join(
        f"{sign} [{kind}] cell {number}\n{source}\n"
        for number, (kind, source) in enumerate(cells, 1)
    )


def wanted_cells(text: str, sign: str) -> list[WantedCell] | None:
    """Return the cells of a text of cells; None if text stands above the first marker line."""
    markers = list(_marker(sign).finditer(text))
    above = text[: markers[0].start()] if markers else text
    if above.strip() not in ("", BOM):
        return None
    cells: list[WantedCell] = []
    ends = (*(marker.start() for marker in markers[1:]), len(text))
    for marker, end in zip(markers, ends, strict=bool(markers)):
        source = re.sub(r"\r?\n\Z", "", text[marker.end() : end])
        kind = {None: "code", "md": "markdown"}.get(marker[1], marker[1])
        cells.append(WantedCell(kind, source, int(marker[2]) if marker[2] else None))
    return cells


def outputs_to_read(cell: Cell) -> list[str]:
    """Return what a cell printed and showed, shortened; images only by their type and size."""
    lines: list[str] = []
    outputs: list[Any] = cell.value.get("outputs") or []
    for output in outputs:
        lines += _output_lines(cast("dict[str, Any]", output)) if isinstance(output, dict) else ()
    more = len(lines) - _MAX_OUTPUT_LINES
    if more > 1:
        # The end of an output says how it went.
        half = _MAX_OUTPUT_LINES // 2
        lines = [*lines[:half], f"… {more:,} more lines …", *lines[-half:]]
    return [
        line if len(line) <= _MAX_OUTPUT_CHARS else f"{line[:_MAX_OUTPUT_CHARS]} …"
        for line in lines
    ]


def others_changed(before: Notebook, after: Notebook) -> list[str]:
    """Return in words what changed besides kinds and sources of cells."""
    changed: list[str] = []
    if before.rest != after.rest:
        changed.append("the notebook's metadata")
    if len(before.cells) != len(after.cells):
        return changed
    for number, (old, new) in enumerate(zip(before.cells, after.cells, strict=True), 1):
        names = (old.value.keys() | new.value.keys()) - {"source", "cell_type"}
        different = [name for name in sorted(names) if old.value.get(name) != new.value.get(name)]
        if different and old.kind == new.kind:
            changed.append(f"{', '.join(different)} of cell {number}")
    return changed


def joined(value: Any) -> str:
    """Return a text that a notebook holds whole or as a list of lines; empty for another value."""
    if isinstance(value, list):
        return "".join(one for one in cast("list[Any]", value) if isinstance(one, str))
    return value if isinstance(value, str) else ""


def _members(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    at = _past_space(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _past_space(text, _past_space(text, at) + 1)
        end = _DECODER.raw_decode(text, at)[1]
        yield key, at, end
        at = _past_space(text, end)
        at = _past_space(text, at + 1) if text[at] == "," else at


def _past_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _cell(text: str, number: int, value: Any, start: int, end: int) -> Cell:
    if not isinstance(value, dict):
        raise NotANotebook(f"cell {number} is no object")
    facts = cast("dict[str, Any]", value)
    kind, source = facts.get("cell_type"), facts.get("source")
    if kind not in KINDS:
        raise NotANotebook(f"cell {number} has the unknown cell_type {kind!r}")
    parts = cast("list[Any]", source) if isinstance(source, list) else [source]
    if not all(isinstance(one, str) for one in parts):
        raise NotANotebook(f"the source of cell {number} is neither a text nor a list of texts")
    whole = joined(source)
    try:
        whole.encode()
    except UnicodeEncodeError:
        raise NotANotebook(f"the source of cell {number} holds half of a character") from None
    at = past = start
    for key, low, high in _members(text, start):
        if key == "source":
            at, past = low, high
    return Cell(kind, whole, start, end, at, past, facts)


def _marker(sign: str) -> re.Pattern[str]:
    """Return what finds marker lines: the sign alone, or with a kind."""
    return re.compile(rf"^{re.escape(sign)}(?:{_KIND})?[ \t]*(?:\r?\n|\r?\Z)", re.MULTILINE)


def _output_lines(output: dict[str, Any]) -> list[str]:
    if output.get("output_type") == "error":
        return [f"{output.get('ename')}: {joined(output.get('evalue'))}"]
    if "text" in output:
        return joined(output["text"]).splitlines()
    shown = output.get("data")
    if not isinstance(shown, dict):
        return []
    data = cast("dict[str, Any]", shown)
    images = [
        f"({name}, {len(joined(value)):,} characters)"
        for name, value in data.items()
        if name.startswith("image/")
    ]
    return joined(data.get("text/plain")).splitlines() + images


def lines_to_read(path: str, lines: Sequence[str]) -> list[str]:
    """Return lines of a file for a user: of a notebook's JSON, what its lines of text say."""
    if not is_notebook(path):
        return list(lines)
    return [_item_to_read(line) for line in lines]


def _item_to_read(line: str) -> str:
    item = _ITEM.fullmatch(line)
    try:
        return json.loads(item[1], strict=False).rstrip("\n") if item else line
    except ValueError:
        # A line that was cut within an escape.
        return line


def as_cells(
    before: str | None, after: str | None, path: str, new_path: str | None = None
) -> tuple[str | None, str | None, str]:
    """Return both sides of a change for a diff, and in a line what else changed.

    Two readable notebooks give their cells; all other texts stay as they are.
    """
    old = notebook_or_none(path, before)
    new = notebook_or_none(new_path or path, after)
    if (old is None and before is not None) or (new is None and after is not None):
        return before, after, ""
    if old is None or new is None or before == after:
        return old and old.shown, new and new.shown, ""
    sides = old.shown, new.shown
    others = others_changed(old, new) or (
        ["only how its JSON is written"] if sides[0] == sides[1] else []
    )
    return *sides, f"(Also changed: {', '.join(others)}.)\n" if others else ""
