"""The ``CodeIntel`` port with what the other server knows better than the parser.

Its references tell scopes and types apart. Its definitions count where the parser finds none, as in
a language without a grammar here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from agent_ls.domain.edits import Replacement, apply_replacements
from agent_ls.domain.errors import ToolError, WorkspaceError
from agent_ls.domain.symbols import (
    Definition,
    Definitions,
    Fault,
    Occurrence,
    Occurrences,
    Symbol,
    TextPair,
)
from agent_ls.loop.ports.codeintel import CodeIntel
from agent_ls.lsp.connection.documents import DocumentStore
from agent_ls.lsp.connection.positions import TextPositions, index_to_column, split_lines
from agent_ls.lsp.connection.uris import uri_to_path
from agent_ls.lsp.proxy.multiplexer import Multiplexer
from agent_ls.lsp.workspace.editor_workspace import EditorWorkspace
from agent_ls.syntax.languages import language_of

_MOST_DEFINITIONS = 4
"""Of more, the parser's answer by name alone is taken."""
_MOST_TOLD = 200
_LIMIT_S = 2.0
"""Then the parser's answer counts."""
_RENAME_LIMIT_S = 10.0
"""Nothing else answers then."""


class CodeBeside:
    """Answers as ``inner`` does, but takes references from the other server where it has some."""

    def __init__(
        self,
        inner: CodeIntel,
        other: Multiplexer,
        workspace: EditorWorkspace,
        documents: DocumentStore,
    ) -> None:
        self._inner, self._other = inner, other
        self._workspace, self._documents = workspace, documents

    async def symbols(self, path: str, text: str) -> Sequence[Symbol] | None:
        """Return the symbols of a text."""
        return await self._inner.symbols(path, text)

    async def faults(self, path: str, before: str, after: str) -> Sequence[Fault]:
        """Return the new syntax errors of a text."""
        return await self._inner.faults(path, before, after)

    async def find(self, name: str, limit: int) -> Definitions:
        """Return definitions by name: the parser's, else those of the other server."""
        by_name = await self._inner.find(name, limit)
        if by_name or not self._offers("workspaceSymbolProvider"):
            return by_name
        query = re.split(r"::|[.#]", name)[-1]
        told = await self._other.ask("workspace/symbol", {"query": query}, _LIMIT_S)
        found: list[Definition] = []
        for one in cast(list[Any], told)[:_MOST_TOLD] if isinstance(told, list) else ():
            with suppress(KeyError, TypeError):
                place = await self._use(one["location"])
                qualified = ".".join(filter(None, (one.get("containerName"), one["name"])))
                if place is not None and query in qualified:
                    text = place.text.strip()
                    found.append(Definition(place.path, qualified, "symbol", place.line, text))
        return Definitions(found[:limit], by_name.gap)

    def _offers(self, provider: str) -> bool:
        return self._other.is_alive and bool(self._other.theirs.get(provider))

    async def repository_map(self, near: Sequence[str], max_tokens: int) -> str:
        """Return the most relevant definitions as text."""
        return await self._inner.repository_map(near, max_tokens)

    async def references(self, name: str, below: str, limit: int) -> Occurrences:
        """Return uses of a name: those of its definitions that the other server knows."""
        by_name = await self._inner.references(name, below, limit)
        defined = [one for one in by_name.found if one.is_definition]
        if by_name.more or not 0 < len(defined) <= _MOST_DEFINITIONS:
            return by_name
        if not self._offers("referencesProvider"):
            return by_name
        known = {(one.path, one.line): one for one in defined}
        for one in defined:
            found = await self._uses(one, name)
            if not found:
                return by_name
            for use in found:
                known.setdefault((use.path, use.line), use)
        base = None if below == "." else self._workspace.locate(below)[1]
        inside = [one for _, one in sorted(known.items()) if base is None or self._is_in(one, base)]
        others = {(one.path, one.line) for one in by_name.found} - known.keys()
        gap = f"{len(others)} more lines have the same name; {self._other.name} says it is another"
        return Occurrences(
            tuple(inside[:limit]), max(0, len(inside) - limit), gap if others else by_name.gap
        )

    async def renamed(self, name: str, below: str, new_name: str) -> Mapping[str, TextPair]:
        """Return what the other server would change to rename a name with one definition."""
        if not self._offers("renameProvider"):
            return await self._inner.renamed(name, below, new_name)
        by_name = await self._inner.references(name, below, _MOST_TOLD)
        defined = [one for one in by_name.found if one.is_definition]
        if len(defined) != 1:
            places = ", ".join(f"{one.path}:{one.line}" for one in defined) or "nowhere"
            raise ToolError(f"{name} is defined {places}; give a path with one definition.")
        wanted = {"newName": new_name}
        found = await self._asked("textDocument/rename", defined[0], name, wanted, _RENAME_LIMIT_S)
        by_path: dict[str, list[Any]] = {}
        for path, edits in self._edits_in(found):
            by_path.setdefault(path, []).extend(edits)
        changes = {path: await self._changed(path, edits) for path, edits in by_path.items()}
        if not changes:
            raise ToolError(f"{self._other.name} does not rename {name} to {new_name}.")
        return changes

    def _edits_in(self, found: Any) -> Iterator[tuple[str, list[Any]]]:
        """Yield each file's edits of a ``WorkspaceEdit``. Errors: ``ToolError`` for any other."""
        edit = cast(dict[str, Any], found) if isinstance(found, dict) else {}
        files: list[tuple[str, list[Any]]]
        try:
            files = [(one["textDocument"]["uri"], one["edits"]) for one in edit["documentChanges"]]
        except (KeyError, TypeError):
            if edit.get("documentChanges"):
                raise ToolError(f"{self._other.name} would rename files as well.") from None
            files = list(cast(dict[str, list[Any]], edit.get("changes") or {}).items())
        for uri, edits in files:
            shown = self._shown(uri)
            if shown is None:
                raise ToolError(f"{self._other.name} would change {uri}, outside the workspace.")
            yield shown, edits

    async def _changed(self, path: str, edits: list[Any]) -> TextPair:
        text = (await self._workspace.read(path)).text
        positions = TextPositions(text, self._documents.encoding)
        replacements = [
            Replacement(
                start=positions.offset(*_place(one["range"]["start"])),
                end=positions.offset(*_place(one["range"]["end"])),
                text=one["newText"],
            )
            for one in edits
        ]
        replacements.sort(key=lambda one: one.start)
        return TextPair(text, apply_replacements(text, tuple(replacements)))

    def _is_in(self, use: Occurrence, base: Path) -> bool:
        return self._workspace.locate(use.path)[1].is_relative_to(base)

    async def _uses(self, definition: Occurrence, name: str) -> list[Occurrence]:
        """Return where the other server says that a definition is used; empty: it does not know."""
        context = {"context": {"includeDeclaration": True}}
        found = await self._asked("textDocument/references", definition, name, context)
        places = cast(list[Any], found) if isinstance(found, list) else []
        uses = [await self._use(one) for one in places]
        return [one for one in uses if one is not None]

    async def _asked(
        self,
        method: str,
        definition: Occurrence,
        name: str,
        more: Mapping[str, Any],
        limit_s: float = _LIMIT_S,
    ) -> Any:
        """Return what the other server says of a definition; None: nothing."""
        text = (await self._workspace.read(definition.path)).text
        line = split_lines(text)[definition.line - 1 : definition.line]
        named = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", line[0]) if line else None
        if named is None:
            return None
        column = index_to_column(line[0], named.start(), self._documents.encoding)
        uri = self._workspace.uri(definition.path)
        params = {
            "textDocument": {"uri": uri},
            "position": {"line": definition.line - 1, "character": column},
            **more,
        }
        language = language_of("", definition.path)
        async with self._other.shown(uri, language.id if language else "", text):
            return await self._other.ask(method, params, limit_s)

    def _shown(self, uri: str) -> str | None:
        """Return the agent's name for a file; None outside the workspace."""
        path = uri_to_path(uri)
        return None if path is None else self._workspace.shown(path.resolve())

    async def _use(self, place: Any) -> Occurrence | None:
        """Return an LSP location as an occurrence; None outside the workspace."""
        with suppress(WorkspaceError, KeyError, TypeError, ValueError):
            shown = self._shown(place["uri"])
            if shown is not None:
                number = int(place["range"]["start"]["line"])
                lines = split_lines((await self._workspace.read(shown)).text)
                if 0 <= number < len(lines):
                    text = lines[number].rstrip("\r\n")
                    return Occurrence(shown, number + 1, text, is_definition=False)
        return None


def _place(position: Mapping[str, int]) -> tuple[int, int]:
    return position["line"], position["character"]
