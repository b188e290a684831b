"""Carries a change of a notebook's cells out in its JSON.

All bytes outside of the changed lines stay: outputs, metadata, ids, indentation, line ends, the
way non-ASCII characters are written. New cells are written as the file writes its own.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any, Final

from agent_ls.domain.edits import Replacement, apply_replacements
from agent_ls.edits.notebook_writing import CellWriter
from agent_ls.edits.notebooks import (
    DEFAULT_SIGN,
    Cell,
    NotANotebook,
    Notebook,
    WantedCell,
    is_notebook,
    others_changed,
    parse_notebook,
    wanted_cells,
)
from agent_ls.edits.requests import Refused

_NEW: Final[dict[str, Any]] = {
    "cells": [],
    "metadata": {"language_info": {"name": "python"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}
_MAX_PAIRS = 400
_COMPARED_CHARS = 1_000
_ALIKE = 0.6
"""``difflib`` calls texts with this ratio close."""
HOW_TO_WRITE = (
    f"A notebook is written as its cells: each begins with a line `{DEFAULT_SIGN} [code]` or "
    f"`{DEFAULT_SIGN} [markdown]`, as read_file shows it"
)


def change_cells(
    notebook: Notebook, replacements: Sequence[Replacement]
) -> tuple[Replacement, ...] | Refused:
    """Return replacements of the cells' text as replacements of the file's text."""
    after = apply_replacements(notebook.shown, tuple(replacements))
    wanted = wanted_cells(after, notebook.sign)
    if wanted is None:
        how = HOW_TO_WRITE.replace(DEFAULT_SIGN, notebook.sign)
        return Refused(f"{how}. Text stands above the first cell.", "malformed")
    matched = match_cells(notebook.cells, wanted)
    wanted = [
        _without_gap(None if index is None else notebook.cells[index], cell)
        for cell, index in zip(wanted, matched, strict=True)
    ]
    return with_cells(notebook, wanted, matched)


def with_cells(
    notebook: Notebook, wanted: Sequence[WantedCell], matched: Sequence[int | None]
) -> tuple[Replacement, ...]:
    """Return the replacements after which the file has exactly these cells.

    ``matched`` says of each which cell it was, as ``match_cells`` does.
    """
    writer = CellWriter(notebook)
    kept = _in_place(matched)
    found: list[Replacement] = []
    past, previous = notebook.cells_start + 1, -1
    new: list[str] = []
    for at, (cell, index) in enumerate(zip(wanted, matched, strict=True)):
        if index is None or at not in kept:
            new.append(writer.moved(cell, index))
            continue
        old = notebook.cells[index]
        if new or index != previous + 1:
            text = writer.gap(past, old.start, new)
            found.append(Replacement(start=past, end=old.start, text=text))
        found += writer.changed(old, cell)
        past, previous, new = old.end, index, []
    if new or previous + 1 != len(notebook.cells):
        end = notebook.cells_end - 1
        found.append(Replacement(start=past, end=end, text=writer.gap(past, end, new)))
    return tuple(found)


def new_notebook(text: str) -> str | Refused:
    """Return the JSON of a new notebook from a text of cells, or from its whole JSON."""
    if text.lstrip().startswith("{"):
        try:
            parse_notebook(text)
        except NotANotebook as error:
            return Refused(f"This is no valid notebook: {error}. {HOW_TO_WRITE}.", "malformed")
        return text
    wanted = wanted_cells(text, DEFAULT_SIGN)
    if wanted is None:
        return Refused(f"{HOW_TO_WRITE}.", "malformed")
    empty = parse_notebook(json.dumps(_NEW, indent=1) + "\n")
    wanted = [_without_gap(None, cell) for cell in wanted]
    return apply_replacements(empty.text, with_cells(empty, wanted, [None] * len(wanted)))


def why_it_breaks(path: str, before: str | None, after: str | None) -> str | None:
    """Return why a change would leave a notebook that is none; None if it does not.

    One that was broken before may stay so: mending it may take several changes.
    """
    if after is None or before is None or not is_notebook(path):
        return None
    try:
        parse_notebook(after)
    except NotANotebook as error:
        try:
            parse_notebook(before)
        except NotANotebook:
            return None
        return f"{path} would no longer be a notebook that can be opened: {error}"
    return None


def keeps_structure(before: Notebook, after: Notebook) -> bool:
    """Say whether only sources of cells differ."""
    kinds = ([cell.kind for cell in one.cells] for one in (before, after))
    return next(kinds) == next(kinds) and not others_changed(before, after)


def match_cells(before: Sequence[Cell], wanted: Sequence[WantedCell]) -> list[int | None]:
    """Return for each wanted cell the index of the cell that it was; None: it is new.

    A cell's text tells more than its number: models number anew. A cell of another kind is the
    same one only if their texts are alike, since markdown has no outputs.
    """
    matched: list[int | None] = [None] * len(wanted)
    free = set(range(len(before)))

    def claim(at: int, index: int) -> None:
        matched[at] = index
        free.discard(index)

    numbered = [(at, cell, (cell.number or 0) - 1) for at, cell in enumerate(wanted)]
    for at, cell, index in numbered:
        if index in free and _is_same(before[index], cell):
            claim(at, index)
    by_content: dict[tuple[str, str], list[int]] = {}
    for index in sorted(free, reverse=True):
        key = before[index].kind, _plain(before[index].source)
        by_content.setdefault(key, []).append(index)
    for at, cell in enumerate(wanted):
        indices = by_content.get((cell.kind, _plain(cell.source)))
        if matched[at] is None and indices:
            claim(at, indices.pop())
    under_number = [
        (at, index)
        for at, cell, index in numbered
        if index in free and before[index].kind == cell.kind
    ]
    for at, index in (*_most_alike(before, wanted, matched, free), *under_number):
        if matched[at] is None and index in free:
            claim(at, index)
    _match_between(before, wanted, matched, free)
    return matched


def _most_alike(
    before: Sequence[Cell], wanted: Sequence[WantedCell], matched: list[int | None], free: set[int]
) -> list[tuple[int, int]]:
    """Return pairs of a wanted cell and one that it may have been, the most alike first.

    Of cells as alike as others, those with the number come first. None for very many cells.
    """
    unknown = [at for at, index in enumerate(matched) if index is None]
    if len(unknown) * len(free) > _MAX_PAIRS:
        return []
    found: list[tuple[float, bool, int, int]] = []
    for index in free:
        compared = SequenceMatcher(b=_plain(before[index].source)[:_COMPARED_CHARS], autojunk=False)
        for at in unknown:
            compared.set_seq1(_plain(wanted[at].source)[:_COMPARED_CHARS])
            # The first two are quick, and never below the third.
            limits = compared.real_quick_ratio, compared.quick_ratio, compared.ratio
            if all(limit() >= _ALIKE for limit in limits):
                is_other = (wanted[at].number or 0) - 1 != index
                found.append((-compared.ratio(), is_other, at, index))
    return [(at, index) for _, _, at, index in sorted(found)]


def _match_between(
    before: Sequence[Cell],
    wanted: Sequence[WantedCell],
    matched: list[int | None],
    free: set[int],
) -> None:
    """Match changed cells without a number, where as many are left on both sides of a gap."""
    for is_known, group in groupby(range(len(wanted)), lambda at: matched[at] is not None):
        if is_known:
            continue
        run = list(group)
        above = matched[run[0] - 1] if run[0] else -1
        below = matched[run[-1] + 1] if run[-1] + 1 < len(wanted) else len(before)
        assert above is not None
        assert below is not None
        left = [index for index in range(above + 1, below) if index in free]
        if [before[index].kind for index in left] == [wanted[at].kind for at in run]:
            for at, index in zip(run, left, strict=True):
                matched[at] = index


def _is_same(before: Cell, wanted: WantedCell) -> bool:
    return before.kind == wanted.kind and _plain(before.source) == _plain(wanted.source)


def _without_gap(before: Cell | None, wanted: WantedCell) -> WantedCell:
    """Return a cell without the empty lines that only separate it from the next."""
    if before is None:
        return replace(wanted, source=wanted.source.strip("\r\n"))
    if _is_same(before, wanted):
        return replace(wanted, source=before.source)
    if before.source.endswith("\n"):
        return wanted
    return replace(wanted, source=wanted.source.rstrip("\r\n"))


def _plain(source: str) -> str:
    """Return a source up to line ends, and empty lines at its end, which separate cells."""
    return source.replace("\r\n", "\n").rstrip("\n")


def _in_place(matched: Sequence[int | None]) -> set[int]:
    """Return the most wanted cells that need not move: a longest increasing subsequence."""
    tails: list[int] = []
    ends: list[int] = []
    previous: dict[int, int | None] = {}
    for at, index in enumerate(matched):
        if index is None:
            continue
        place = bisect_left(tails, index)
        previous[at] = ends[place - 1] if place else None
        tails[place : place + 1] = [index]
        ends[place : place + 1] = [at]
    kept: set[int] = set()
    at = ends[-1] if ends else None
    while at is not None:
        kept.add(at)
        at = previous[at]
    return kept
