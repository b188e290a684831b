"""The answers of the worker process: one method per question, JSON values in and out.

Blocking. Questions about workspaces carry a time limit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent_ls.codeintel.index import Index, Scope, Tagged
from agent_ls.codeintel.ranking import Graph, rendered
from agent_ls.codeintel.tags import MAX_TAGGED_BYTES, Tag
from agent_ls.syntax.faults import new_faults
from agent_ls.syntax.languages import language_of
from agent_ls.syntax.outline import outline_of
from agent_ls.syntax.words import occurrences

MAX_BYTES = 8_000_000
"""Larger texts are not parsed."""
_CHARS_PER_TOKEN = 4
_MAX_LINE_CHARS = 200
_MIN_ENTRY_CHARS = 12

Question = Mapping[str, Any]


class Answers:
    """Answers questions about texts and workspaces."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._graph: Graph | None = None
        self._by_name: dict[str, Callable[[Question], Any]] = {
            "symbols": self._symbols,
            "faults": self._faults,
            "find": self._find,
            "references": self._references,
            "map": self._map,
        }

    def answer(self, question: Question) -> Any:
        """Return the answer. Errors are not caught here."""
        return self._by_name[question["ask"]](question)

    def _symbols(self, question: Question) -> Any:
        language = language_of("", question["path"])
        if language is None:
            return None
        found = outline_of(question["text"], language, max_bytes=MAX_BYTES)
        return None if found is None else [dataclasses.astuple(one) for one in found]

    def _faults(self, question: Question) -> Any:
        language = language_of("", question["path"])
        if language is None:
            return []
        found = new_faults(question["before"], question["after"], language, max_bytes=MAX_BYTES)
        return [dataclasses.astuple(one) for one in found]

    def _find(self, question: Question) -> Any:
        tagged = self._tagged(question)
        wanted = question["name"].replace("::", ".").replace("#", ".").removesuffix("()")
        found: list[tuple[int, int, str, Tag]] = []
        for path, tags in tagged.tags.items():
            for tag in tags.defined:
                if (place := _fit(tag, wanted)) is not None:
                    found.append((place, len(tag.qualified), path, tag))
        found.sort(key=lambda one: (*one[:3], one[3].line))
        rows = [
            (path, tag.qualified, tag.kind, tag.line, tag.signature)
            for _, _, path, tag in found[: question["limit"]]
        ]
        more = max(0, len(found) - len(rows))
        return {"rows": rows, "more": more, **_reach(tagged)}

    def _references(self, question: Question) -> Any:
        name, limit = question["name"], question["limit"]
        scope, tagged = _scope(question), self._tagged(question)
        rows: list[tuple[str, int, str, bool]] = []
        more = 0
        for path, tags in tagged.tags.items():
            if not tags.may_use(name):
                continue
            text, language = self._index.read(scope, path), self._index.language(path)
            if text is None or language is None:
                continue
            found = occurrences(text, name, language, max_bytes=MAX_TAGGED_BYTES) or []
            for row in _lines_of(text, path, found):
                if len(rows) < limit:
                    rows.append(row)
                else:
                    more += 1
        return {"rows": rows, "more": more, **_reach(tagged)}

    def _map(self, question: Question) -> Any:
        tagged = self._tagged(question)
        self._graph = Graph(tagged.tags, self._graph)
        room = question["tokens"] * _CHARS_PER_TOKEN
        ranked = self._graph.ranked(question["near"], room // _MIN_ENTRY_CHARS)
        text = rendered(ranked, tagged.tags, room)
        return {"text": text, "files": len(tagged.tags), **_reach(tagged)}

    def _tagged(self, question: Question) -> Tagged:
        return self._index.update(_scope(question), question["limit_s"])


def _reach(tagged: Tagged) -> dict[str, int]:
    """Return how many files were read, and how many were skipped for lack of time."""
    return {"read": len(tagged.tags), "left": tagged.left}


def _scope(question: Question) -> Scope:
    roots = tuple((front, folder) for front, folder in question["roots"])
    return Scope(roots, question["files"], question["texts"], question.get("is_whole", True))


def _fit(tag: Tag, wanted: str) -> int | None:
    """Return how well a definition matches the name, 0 is best; None if it does not."""
    qualified = tag.qualified
    if qualified == wanted:
        return 0
    if tag.name == wanted or qualified.endswith(f".{wanted}"):
        return 1
    low, own = wanted.lower(), tag.name.lower()
    if own == low or qualified.lower().endswith(f".{low}"):
        return 2
    if own.startswith(low):
        return 3
    if low in own:
        return 4
    return 5 if low in qualified.lower() and "." in low else None


def _lines_of(
    text: str, path: str, found: Sequence[tuple[int, bool]]
) -> list[tuple[str, int, str, bool]]:
    """Return one row for each line with an occurrence."""
    rows: dict[int, tuple[str, int, str, bool]] = {}
    line, at = 1, 0
    for place, is_definition in found:
        line += text.count("\n", at, place)
        at = place
        end = text.find("\n", place)
        begin = text.rfind("\n", 0, place) + 1
        whole = text[begin : end if end >= 0 else len(text)].strip()[:_MAX_LINE_CHARS]
        was = rows.get(line)
        rows[line] = (path, line, whole, is_definition or bool(was and was[3]))
    return list(rows.values())
