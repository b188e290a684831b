"""Searches the cells of notebooks, as their JSON hides quotes, line ends and other letters."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from agent_ls.domain.errors import WorkspaceError
from agent_ls.edits.lines import split_lines
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.tools.notebook_files import shown_file
from agent_ls.tools.search_messages import Hit
from agent_ls.tools.searching import Found, Query, search_below, search_texts

_MAX_NOTEBOOKS = 1_000
_MAX_CHARACTERS = 50_000_000
_LEFT_OUT = "more notebooks were not searched; name a folder or a file"
_TYPE = "--type-add=notebooks:*.[iI][pP][yY][nN][bB]"
OTHER_FILES = (_TYPE, "--type-not=notebooks")
"""ripgrep's flags to search no notebooks but those that are named."""
_SAME_IN_JSON = re.compile(r"(?:[A-Za-z0-9_ ,:;=|@-]|\\[().\[\]{}]|\.[*+])+")
"""Patterns that match the JSON of each line that they match in a cell."""
_OTHER_KIND = re.compile(r"\.(?!ipynb$)\w+$", re.IGNORECASE)
"""The end of a pattern for other files than notebooks."""


@dataclass(frozen=True, slots=True)
class InCells:
    """What a search of cells found."""

    hits: list[Hit]
    left: frozenset[str]
    """Notebooks that cannot be read as cells, so that their text is to be searched."""
    notes: tuple[str, ...] = ()
    is_late: bool = False
    """The walk was ended before it had seen all files."""


async def notebooks_below(
    query: Query,
    program: str,
    root: Path,
    below: str,
    wanted: Callable[[str], bool],
    more: Iterable[str],
) -> Found:
    """Return notebooks whose cells may match, as one hit in each: most are not to be parsed."""
    if query.names and query.names.endings and all(map(_OTHER_KIND.search, query.names.endings)):
        return Found([])
    pattern = query.pattern if _SAME_IN_JSON.fullmatch(query.pattern) else ""
    looking = replace(query, pattern=pattern, names=None, max_hits=_MAX_NOTEBOOKS)
    options = (_TYPE, "--type=notebooks", "--max-count=1")
    found = await search_below(looking, program, root, below, wanted, *options, more=more)
    is_cut = len(found.hits) == _MAX_NOTEBOOKS
    return replace(found, notes=(*found.notes, *([_LEFT_OUT] if is_cut else [])))


async def search_cells(
    query: Query, program: str, names: Iterable[str], workspace: Workspace
) -> InCells:
    """Return the hits in notebooks, with lines as ``read_file`` counts; none in marker lines."""
    starts: list[tuple[int, str, int]] = []
    lines: list[str] = []
    left: set[str] = set()
    room = _MAX_CHARACTERS
    notes: tuple[str, ...] = ()
    for name in names:
        if room < 0:
            notes = (_LEFT_OUT,)
            break
        found = None
        with suppress(WorkspaceError):
            found = (await shown_file(await workspace.read(name))).notebook
        if found is None:
            left.add(name)
            continue
        past = 0
        for cell in found.cells:
            starts.append((len(lines), name, past + 2))
            inside = split_lines(f"{cell.source}\n")
            lines += inside
            past += 1 + len(inside)
            room -= len(cell.source)
    text = "".join(f"{line}\n" for line in lines)
    in_text = await search_texts(query, program, {"": text} if text else {})
    hits: list[Hit] = []
    for hit in in_text.hits:
        first, name, line = starts[bisect_right(starts, hit.line - 1, key=lambda one: one[0]) - 1]
        hits.append(replace(hit, path=name, line=line + hit.line - 1 - first))
    return InCells(hits, frozenset(left), (*in_text.notes, *notes))
