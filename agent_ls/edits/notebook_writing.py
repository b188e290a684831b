"""Writes cells into a notebook's JSON as the file writes its own: indentation, escapes, commas."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from agent_ls.domain.edits import Replacement, apply_replacements
from agent_ls.edits.minimal import changes
from agent_ls.edits.notebooks import Cell, Notebook, WantedCell

_ESCAPED = re.compile(r"\\u(?!00[0-7])[0-9a-fA-F]{4}")
_COLON = re.compile(r'"nbformat"[ ]*:([ ]*)')
_OF_CODE: Final = ("execution_count", "outputs")
_OF_TEXT: Final = ("attachments",)


@dataclass(frozen=True, slots=True)
class _Style:
    """How a file writes JSON."""

    newline: str
    unit: str
    """One level of indentation; with ``is_flat``: none."""
    is_flat: bool
    comma: str
    colon: str
    is_ascii: bool

    def dumps(self, value: Any, level: int) -> str:
        """Return a value as JSON at this level of indentation."""
        if self.is_flat:
            separators = self.comma, self.colon
            return json.dumps(value, ensure_ascii=self.is_ascii, separators=separators)
        indent = self.unit or 0
        text = json.dumps(
            value, ensure_ascii=self.is_ascii, indent=indent, separators=(",", self.colon)
        )
        return text.replace("\n", self.newline + self.unit * level)


@lru_cache(maxsize=1)
def _style_of(text: str) -> _Style:
    """Return how a file writes JSON; kept for the next keystroke, as searching takes long."""
    first = re.search(r"\{([ \t]*\r?\n)([ \t]*)", text[:200])
    colon = _COLON.match(text, max(0, text.rfind('"nbformat"')))
    names = ('"nbformat"', '"metadata"', '"source"')
    is_tight = first is None and any(f",{name}" in text for name in names)
    return _Style(
        newline=first[1].lstrip(" \t") if first else "\n",
        unit=first[2] if first else "",
        is_flat=first is None,
        comma="," if is_tight else ", ",
        colon=":" + (colon[1] if colon else " "),
        is_ascii=text.isascii() and _ESCAPED.search(text) is not None,
    )


class CellWriter:
    """Writes cells as a notebook writes them."""

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook
        self._style = style = _style_of(notebook.text)
        self._ids = {str(cell.value.get("id")) for cell in notebook.cells}
        text, cells = notebook.text, notebook.cells
        line = "" if style.is_flat else style.newline
        self._lead = line + style.unit * 2
        self._tail = line + style.unit
        self._comma = style.comma if style.is_flat else "," + self._lead
        if cells:
            self._lead = text[notebook.cells_start + 1 : cells[0].start]
            self._tail = text[cells[-1].end : notebook.cells_end - 1]
        if cells and not style.is_flat:
            self._comma = "," + self._lead
        if len(cells) > 1:
            self._comma = text[cells[0].end : cells[1].start]

    def gap(self, start: int, end: int, new: Sequence[str]) -> str:
        """Return what stands between two cells that stay, or an end of the list, and new ones."""
        is_first = start == self._notebook.cells_start + 1
        is_last = end == self._notebook.cells_end - 1
        if is_first and is_last and not new:
            return ""
        parts = self._comma.join(new)
        before = self._lead if is_first else self._comma if new else ""
        after = self._tail if is_last else self._comma if new or not is_first else ""
        return before + parts + after

    def moved(self, wanted: WantedCell, index: int | None) -> str:
        """Return the JSON of a cell that is new, or stands elsewhere than it did."""
        if index is None:
            return self._new(wanted)
        cell = self._notebook.cells[index]
        text = self._notebook.text[cell.start : cell.end]
        shifted = tuple(
            Replacement(start=one.start - cell.start, end=one.end - cell.start, text=one.text)
            for one in self.changed(cell, wanted)
        )
        return apply_replacements(text, shifted)

    def changed(self, cell: Cell, wanted: WantedCell) -> list[Replacement]:
        """Return the replacements that give a cell another source or kind."""
        source = wanted.source
        if cell.kind != wanted.kind:
            value = _of_kind({**cell.value, "source": _lines_of(source)}, wanted.kind)
            return [Replacement(start=cell.start, end=cell.end, text=self._style.dumps(value, 2))]
        if source == cell.source:
            return []
        old = self._notebook.text[cell.source_start : cell.source_end]
        return [
            Replacement(start=cell.source_start + low, end=cell.source_start + high, text=text)
            for low, high, text in _between(old, self._source(old, source))
        ]

    def _source(self, old: str, source: str) -> str:
        """Return a source's JSON in the form that it had; unchanged lines keep their bytes."""
        style = self._style
        if not old.startswith("["):
            return json.dumps(source, ensure_ascii=style.is_ascii)
        known, lead, comma, tail = _items(old)
        if not known and not style.is_flat:
            line = style.newline + style.unit * 3
            lead, comma, tail = line + style.unit, f",{line}{style.unit}", line
        elif len(known) < 2:
            comma = f",{lead}" if lead else style.comma
        parts = [
            known[line] if line in known else json.dumps(line, ensure_ascii=style.is_ascii)
            for line in _lines_of(source)
        ]
        return f"[{lead}{comma.join(parts)}{tail}]" if parts else "[]"

    def _new(self, wanted: WantedCell) -> str:
        source = wanted.source
        value: dict[str, Any] = {"cell_type": wanted.kind, "source": _lines_of(source)}
        if self._notebook.minor >= 5:
            value["id"] = self._new_id(source)
        return self._style.dumps(_of_kind({**value, "metadata": {}}, wanted.kind), 2)

    def _new_id(self, seed: str) -> str:
        """Return an id that no cell has; the same for the same change, which is planned twice."""
        number = 0
        while True:
            text = f"{number}{seed}{self._notebook.text}"
            found = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
            if found not in self._ids:
                self._ids.add(found)
                return found
            number += 1


def _lines_of(source: str) -> list[str]:
    """Return a source as notebooks hold it: lines with their ends, none of them empty."""
    *lines, last = source.split("\n")
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def _of_kind(value: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return a cell of another kind: only code has outputs, and code has no attachments."""
    others = _OF_TEXT if kind == "code" else _OF_CODE
    value = {key: one for key, one in value.items() if key not in others} | {"cell_type": kind}
    if kind == "code":
        value = {"execution_count": None, "outputs": [], **value}
    return dict(sorted(value.items()))


def _items(old: str) -> tuple[dict[str, str], str, str, str]:
    """Return a list's texts as they are written, and what stands before, between, behind them."""
    decoder = json.JSONDecoder()
    known: dict[str, str] = {}
    spaces: list[str] = []
    at = 1
    while True:
        quote = re.compile(r"[^\"\]]*").match(old, at)
        start = quote.end() if quote else at
        spaces.append(old[at:start])
        if old[start] == "]":
            return known, spaces[0], spaces[1] if len(spaces) > 2 else "", spaces[-1]
        value, at = decoder.raw_decode(old, start)
        known.setdefault(value, old[start:at])


def _between(old: str, new: str) -> list[tuple[int, int, str]]:
    """Return the changes between two texts, also where their line ends are CRLF."""
    if "\r" in old or "\r" in new:
        return [(0, len(old), new)]
    return changes(old, new)
