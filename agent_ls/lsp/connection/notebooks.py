"""Notebooks that the editor has open by their cells (``notebookDocument/*``).

To all else such a notebook is a document: the JSON on disk with the sources of the open cells. LSP
sends no outputs, and has no way to add, delete or move cells. Places are translated both ways.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from lsprotocol import types

from agent_ls.domain.edits import apply_replacements, text_of
from agent_ls.edits.minimal import replacements_between
from agent_ls.edits.notebook_changes import keeps_structure, match_cells, with_cells
from agent_ls.edits.notebooks import NotANotebook, Notebook, WantedCell, parse_notebook
from agent_ls.lsp.connection.convert import text_edits
from agent_ls.lsp.connection.documents import CELLS, Change, DocumentStore, Snapshot
from agent_ls.lsp.connection.uris import uri_to_path
from agent_ls.processes.reading import read_file

FIXED = (
    "it is open as a notebook in the editor, where only the text of cells can be changed; ask the "
    "user to add, delete or move cells there, or to save and close the notebook first"
)
_LINES = ("line", "last_line", "end_line", "lastLine", "endLine")
_MAX_BYTES = 32 * 2**20


@dataclass
class _OpenNotebook:
    uri: str
    path: Path
    version: int | None
    cells: list[tuple[str, int]]
    """The URI and LSP's kind of each cell."""
    base: Notebook | None = None
    """The file as it was last readable; None: it never was."""
    entry: tuple[int, ...] = ()
    """The file's stat values when it was read."""
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    """By URI of a cell, its number in the file, from 1."""


class OpenNotebooks:
    """The open notebooks of one client, as documents of a store."""

    def __init__(self, documents: DocumentStore) -> None:
        self._documents = documents
        self._cells = DocumentStore(documents.encoding, documents.ends)
        self._cells.may_be_mixed = documents.may_be_mixed
        self._open: dict[str, _OpenNotebook] = {}

    def follow(self, method: str, raw: dict[str, Any]) -> None:
        """Take in one of the client's notifications.

        Errors: ``KeyError``, ``TypeError`` and ``ValueError`` for one that cannot be followed.
        """
        document = raw["notebookDocument"]
        uri = str(document["uri"])
        match method:
            case types.NOTEBOOK_DOCUMENT_DID_OPEN:
                self._opened(uri, document, raw["cellTextDocuments"])
            case types.NOTEBOOK_DOCUMENT_DID_CHANGE:
                if (one := self._open.get(uri)) is not None:
                    one.version = document.get("version")
                    self._changed(one, raw["change"].get("cells") or {})
            case types.NOTEBOOK_DOCUMENT_DID_SAVE:
                if (one := self._open.get(uri)) is not None:
                    self._read(one)
                    self._show(one)
                    self._documents.save(uri)
            case _:
                if (one := self._open.pop(uri, None)) is not None:
                    for cell, _ in one.cells:
                        self._cells.close(cell)
                    self._documents.close(uri)

    def edits(self, uri: str, expected: str) -> list[tuple[Snapshot, list[types.TextEdit]]] | str:
        """Return the edits of cells after which a notebook has the expected text, or why not."""
        one, now = self._open.get(uri), self._documents.get(uri)
        if one is None or now is None:
            return "the notebook was closed meanwhile"
        try:
            before, after = parse_notebook(now.text), parse_notebook(expected)
        except NotANotebook as error:
            return str(error)
        if not keeps_structure(before, after) or len(one.cells) != len(before.cells):
            return FIXED
        found: list[tuple[Snapshot, list[types.TextEdit]]] = []
        for (cell, _), old, new in zip(one.cells, before.cells, after.cells, strict=True):
            snapshot, positions = self._cells.get(cell), self._cells.positions(cell)
            if old.source == new.source or snapshot is None or positions is None:
                continue
            replacements = replacements_between(snapshot.text, new.source)
            if replacements:
                found.append((snapshot, text_edits(positions, replacements)))
        return found

    def in_notebook(self, raw: Any) -> Any:
        """Return a request's parameters with places in cells as places in their notebook."""
        if isinstance(raw, list):
            return [self.in_notebook(one) for one in cast("list[Any]", raw)]
        if not isinstance(raw, dict):
            return raw
        asked = cast("dict[str, Any]", raw)
        if "arguments" in asked:
            return {**asked, "arguments": self.in_notebook(asked["arguments"])}
        document: Any = asked.get("textDocument", asked)
        named = cast("dict[str, Any]", document).get("uri") if isinstance(document, dict) else None
        cell = named if isinstance(named, str) else ""
        uri = self.of_cell(cell)
        found = None if uri is None else self._parsed(self._open[uri])
        if uri is None or found is None:
            return asked
        index = self.cells_of(uri).index(cell)
        moved = _moved(asked, lambda line: found.place_of(index, line))
        if "textDocument" not in asked:
            return {**moved, "uri": uri}
        return {**moved, "textDocument": {**moved["textDocument"], "uri": uri}}

    def cell_ranges(self, uri: str, ranges: Sequence[types.Range]) -> list[tuple[str, types.Range]]:
        """Return for each range of lines of an open notebook the cell, and the lines there."""
        one = self._open[uri]
        found = self._parsed(one)
        starts = [0]
        for line in (found.text if found else "").split("\n"):
            starts.append(starts[-1] + len(line) + 1)
        shown: list[tuple[str, types.Range]] = []
        for where in ranges:
            first, last = (
                (0, 0) if found is None else found.cell_place(_end_of(starts, place.line))
                for place in (where.start, where.end)
            )
            index = min(first[0], len(one.cells) - 1)
            last_line = last[1] if last[0] == first[0] else first[1]
            cell = self._cells.get(one.cells[index][0]) if one.cells else None
            lines = cell.text.split("\n") if cell else [""]
            end = len(lines[min(last_line, len(lines) - 1)].encode("utf-16-le")) // 2
            shown.append(
                (
                    cell.uri if cell else uri,
                    types.Range(types.Position(first[1], 0), types.Position(last_line, end)),
                )
            )
        return shown

    def of_cell(self, cell: str) -> str | None:
        """Return the notebook of a cell; None for another document."""
        return next(
            (one.uri for one in self._open.values() if cell in self.cells_of(one.uri)), None
        )

    def cells_of(self, uri: str) -> list[str]:
        """Return the URIs of a notebook's cells; none when it is not open by cells."""
        one = self._open.get(uri)
        return [] if one is None else [cell for cell, _ in one.cells]

    def _opened(self, uri: str, document: dict[str, Any], texts: list[dict[str, Any]]) -> None:
        path = uri_to_path(uri)
        if path is None:
            return
        for text in texts:
            self._open_cell(text)
        cells = [(str(cell["document"]), int(cell["kind"])) for cell in document.get("cells") or ()]
        one = _OpenNotebook(uri, path, document.get("version"), cells)
        self._open[uri] = one
        self._read(one)
        self._show(one)

    def _open_cell(self, text: dict[str, Any]) -> None:
        language = str(text.get("languageId") or "")
        self._cells.open(str(text["uri"]), language, text.get("version"), str(text["text"]))

    def _changed(self, one: _OpenNotebook, change: dict[str, Any]) -> None:
        if structure := change.get("structure"):
            array = structure["array"]
            start, count = int(array["start"]), int(array["deleteCount"])
            new = [(str(cell["document"]), int(cell["kind"])) for cell in array.get("cells") or ()]
            one.cells[start : start + count] = new
            for text in structure.get("didOpen") or ():
                self._open_cell(text)
            for text in structure.get("didClose") or ():
                self._cells.close(str(text["uri"]))
        for cell in change.get("data") or ():
            uri, kind = str(cell["document"]), int(cell["kind"])
            one.cells = [(known, kind if known == uri else old) for known, old in one.cells]
        for text in change.get("textContent") or ():
            document = text["document"]
            try:
                changes = [Change.from_json(change) for change in text["changes"]]
                self._cells.change(str(document["uri"]), document.get("version"), changes)
            except (KeyError, ValueError):
                # The notebook stays out of step until this cell is sent whole again.
                self._cells.lose_sync(str(document["uri"]))
                raise
        if one.entry != _entry(one.path):
            # The editor may show the file that another program wrote.
            self._read(one)
        self._show(one)

    def _read(self, one: _OpenNotebook) -> None:
        """Read the file of a notebook, whose cells are those of the editor in this order."""
        one.entry = _entry(one.path)
        try:
            text, _ = text_of(read_file(one.path, max_bytes=_MAX_BYTES))
            one.base = parse_notebook(text.removeprefix("\ufeff"))
        except (OSError, NotANotebook):
            # It may be half written, or another branch may not have it; the editor still shows it.
            return
        is_same = len(one.base.cells) == len(one.cells)
        one.numbers = {cell: n for n, (cell, _) in enumerate(one.cells, 1)} if is_same else {}

    def _show(self, one: _OpenNotebook) -> None:
        """Give the notebook's document the text that its cells make."""
        if one.base is None:
            return
        wanted: list[WantedCell] = []
        for cell, kind in one.cells:
            document = self._cells.get(cell)
            if document is None or not document.in_sync:
                raise ValueError(f"the text of {cell} is not known")
            number, text = one.numbers.get(cell), document.text
            if number is not None:
                # The editor may show other line ends than the file has.
                source = one.base.cells[number - 1].source
                text = source if _flat(source) == _flat(text) else text
            code = "raw" if document.language_id == "raw" else "code"
            wanted.append(WantedCell("markdown" if kind == 1 else code, text, number))
        matched = match_cells(one.base.cells, wanted)
        text = apply_replacements(one.base.text, with_cells(one.base, wanted, matched))
        known = self._documents.get(one.uri)
        if known is None:
            self._documents.open(one.uri, CELLS, one.version, text)
        elif known.text != text or not known.in_sync:
            self._documents.change(one.uri, one.version, [Change(text)])

    def _parsed(self, one: _OpenNotebook) -> Notebook | None:
        document = self._documents.get(one.uri)
        try:
            return None if document is None else parse_notebook(document.text)
        except NotANotebook:
            return None


def _moved(value: Any, line_of: Callable[[int], tuple[int, int]], key: str = "") -> Any:
    """Return a value of a request with the lines of a cell as those of its notebook."""
    if key in _LINES and type(value) is int:
        return line_of(value)[0]
    if isinstance(value, list):
        return [_moved(one, line_of) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    place = cast("dict[str, Any]", value)
    if place.keys() >= {"line", "character"}:
        line, column = line_of(int(place["line"]))
        return {**place, "line": line, "character": column + int(place["character"])}
    return {name: _moved(one, line_of, name) for name, one in place.items()}


def _flat(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _end_of(starts: Sequence[int], line: int) -> int:
    """Return the offset of a line's last character."""
    return max(0, starts[min(line + 1, len(starts) - 1)] - 1)


def _entry(path: Path) -> tuple[int, ...]:
    try:
        facts = path.stat()
    except OSError:
        return ()
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns
