"""The ``CodeIntel`` port over a workspace, with a cache of outlines.

Small, flat texts are parsed in this process, others in the worker. Texts come from the workspace
port or the caller. Only the worker reads the disk itself, for files without unsaved changes.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import platformdirs

from agent_ls.codeintel.mentions import files_with
from agent_ls.codeintel.worker_link import WorkerLink
from agent_ls.domain.errors import ToolError
from agent_ls.domain.symbols import (
    Definition,
    Definitions,
    Fault,
    Occurrence,
    Occurrences,
    Symbol,
    TextPair,
)
from agent_ls.loop.ports.approval import Rules
from agent_ls.loop.ports.workspace import Listed, Workspace
from agent_ls.safety.unread import unread_below
from agent_ls.syntax.faults import new_faults
from agent_ls.syntax.languages import language_of
from agent_ls.syntax.outline import has_outline, outline_of
from agent_ls.syntax.parsing import grammar_of

_INLINE_CHARS = 8_000
"""About 1 ms of parsing, which blocks the event loop."""
_INLINE_DEPTH = 60
"""Deeper nesting takes longer than its length suggests; brackets in strings count too."""
_BRACKET = re.compile(r"([(\[{])|[)\]}]")
_MAX_REMEMBERED = 20_000
"""Number of cached symbols, some hundred bytes each; the least recently used go first."""
_LIMIT_S = 60.0
_NAME_LIMIT_S = 2.5
"""The same for a question about one name. The worker goes on reading after its answer."""
_NO_NAME = re.compile(r"::|[.#]")
_INDEX_LIMIT_S = 30.0
"""In a large workspace, the worker answers after this time from the files it has read."""


_Key = tuple[str, bool, bytes]


def tags_folder() -> Path:
    """Return the folder of the tag files."""
    return platformdirs.user_cache_path("agent-ls") / "tags"


class WorkspaceCode:
    """Answers questions about the code of one workspace."""

    def __init__(
        self,
        workspace: Workspace,
        cache: Path | None,
        *,
        rules: Rules | None = None,
        index_limit_s: float = _INDEX_LIMIT_S,
    ) -> None:
        """Take the workspace, the folder of the tag files, and the reading time for one answer.

        Files that one of the ``rules`` keeps from being read are not looked at. Starts no process
        yet.
        """
        self._rules = rules
        self._index_limit_s = index_limit_s
        self._workspace = workspace
        self._worker = WorkerLink(cache, _LIMIT_S)
        self._outlines: OrderedDict[_Key, tuple[Symbol, ...] | None] = OrderedDict()
        self._remembered = 0
        self._loaded = set[str]()
        """The wheels of the grammars that an edit has needed so far."""

    async def symbols(self, path: str, text: str) -> Sequence[Symbol] | None:
        """Return the symbols of a text, outermost first; None if it cannot be parsed."""
        language = language_of("", path)
        if language is None or not has_outline(language):
            return None
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        key = (language.id, language.instead is None, digest)
        if key in self._outlines:
            self._outlines.move_to_end(key)
            return self._outlines[key]
        known: tuple[Symbol, ...] | None = None
        if _is_quick(text):
            found = outline_of(text, language)
            known = None if found is None else tuple(found)
        else:
            rows = await self._worker.ask({"ask": "symbols", "path": path, "text": text})
            known = None if rows is None else tuple(Symbol(*row) for row in rows)
        if key not in self._outlines:
            self._remembered += _size(known)
        self._outlines[key] = known
        while self._remembered > _MAX_REMEMBERED and self._outlines:
            _, oldest = self._outlines.popitem(last=False)
            self._remembered -= _size(oldest)
        return known

    async def faults(self, path: str, before: str, after: str) -> Sequence[Fault]:
        """Return the syntax errors of ``after`` that ``before`` did not have."""
        language = language_of("", path)
        if language is None or not language.wheel:
            return ()
        if len(before) + len(after) <= _INLINE_CHARS and _is_quick(before) and _is_quick(after):
            if language.wheel not in self._loaded:
                # Loading a grammar takes 8 ms: the editor's requests do not wait for it.
                await asyncio.to_thread(grammar_of, language)
                self._loaded.add(language.wheel)
            return new_faults(before, after, language)
        rows = await self._worker.ask(
            {"ask": "faults", "path": path, "before": before, "after": after}
        )
        return [Fault(*row) for row in rows]

    async def find(self, name: str, limit: int) -> Definitions:
        """Return definitions in the workspace by name, best match first."""
        answer, gap = await self._about_name(
            "find", ".", {"name": name, "limit": limit}, ignores_case=True
        )
        return Definitions((Definition(*row) for row in answer["rows"]), gap)

    async def references(self, name: str, below: str, limit: int) -> Occurrences:
        """Return the occurrences of a name in the code below a file or folder."""
        answer, gap = await self._about_name(
            "references", below, {"name": name, "limit": limit}, ignores_case=False
        )
        found = tuple(Occurrence(*row) for row in answer["rows"])
        return Occurrences(found, answer["more"], gap)

    async def renamed(self, name: str, below: str, new_name: str) -> Mapping[str, TextPair]:
        """Refuse: a parser knows names, not what they mean."""
        raise ToolError(
            "No language server works beside agent-ls that could tell which uses mean it. Look at "
            "the lines that use the name, and edit those that do."
        )

    async def repository_map(self, near: Sequence[str], max_tokens: int) -> str:
        """Return the highest-ranked definitions as seen from these files, as text."""
        answer, gap = await self._about_files("map", ".", {"near": [*near], "tokens": max_tokens})
        return f"{answer['text']}\n({gap})" if gap else str(answer["text"])

    async def close(self) -> None:
        """End the worker."""
        await self._worker.close()

    @property
    def worker_pid(self) -> int | None:
        """Return the worker's process id; None if none runs."""
        return self._worker.pid

    async def _about_name(
        self, ask: str, below: str, question: Mapping[str, Any], *, ignores_case: bool
    ) -> tuple[Any, str]:
        """Ask about a name; only files that hold it are read, where that can be told."""
        # Only the longest part has to be in the text as it is.
        word = max(_NO_NAME.split(question["name"].removesuffix("()")), key=len)
        files = await self._files_with(word, below, ignores_case=ignores_case)
        limit_s = min(self._index_limit_s, _NAME_LIMIT_S)
        return await self._ask_about(ask, below, question, files, limit_s)

    async def _about_files(
        self, ask: str, below: str, question: Mapping[str, Any]
    ) -> tuple[Any, str]:
        return await self._ask_about(ask, below, question, None, self._index_limit_s)

    async def _files_with(
        self, word: str, below: str, *, ignores_case: bool
    ) -> Sequence[str] | None:
        """Return the files whose text holds a word, or may; None where all may."""
        workspace, found = self._workspace, list[str]()
        roots = [root.path for root in workspace.roots]
        tops = [below]
        if below == "." and len(roots) > 1:
            # One that is gone does not break the others.
            there = [one for one in workspace.roots if await asyncio.to_thread(one.path.is_dir)]
            tops = [root.name for root in there]
        for top in tops:
            root, place = workspace.locate(top)
            if not await asyncio.to_thread(place.is_dir):
                return None
            path = place.relative_to(root.path).as_posix()
            names = await files_with(word, root.path, roots, path, ignores_case=ignores_case)
            if names is None:
                return None
            front = "" if len(roots) == 1 else f"{root.name}/"
            found += [front + name for name in names]
            found += await workspace.tracked_though_excluded(top)
        return found

    async def _ask_about(
        self,
        ask: str,
        below: str,
        question: Mapping[str, Any],
        some: Sequence[str] | None,
        limit_s: float,
    ) -> tuple[Any, str]:
        """Ask the worker about files, with unsaved texts; return the answer and a note on gaps."""
        workspace = self._workspace
        roots = workspace.roots
        files = Listed() if some is not None else await self._files(below)
        unsaved = {file.path: file.text for file in await workspace.dirty()}
        if some is not None:
            files = Listed(sorted({*some, *self._below(below, unsaved)}))
        unread = await asyncio.to_thread(unread_below, below, workspace, self._rules)
        if kept := await asyncio.to_thread(unread.among, (*files, *unsaved)):
            files = Listed((one for one in files if one not in kept), is_cut=files.is_cut)
            unsaved = {path: text for path, text in unsaved.items() if path not in kept}
        answer = await self._worker.ask(
            {
                "ask": ask,
                "roots": [
                    ["" if len(roots) == 1 else f"{root.name}/", str(root.path)] for root in roots
                ],
                "files": files,
                "texts": unsaved,
                "is_whole": some is None and below == ".",
                "limit_s": limit_s,
                **question,
            }
        )
        gaps = [files.gap] if files.gap else []
        if kept:
            gaps.append("files that a rule of the user is about were left out")
        if left := answer["left"]:
            read = answer["read"]
            which = "files of code" if some is None else "files of code that hold the name"
            gaps.append(f"looked at {read:,} of {read + left:,} {which}; ask again for more")
        return answer, "; ".join(gaps)

    def _below(self, below: str, names: Iterable[str]) -> list[str]:
        """Return those of these files that lie below a folder."""
        top = self._workspace.locate(below)[1] if below != "." else None
        locate = self._workspace.locate
        return [one for one in names if top is None or locate(one)[1].is_relative_to(top)]

    async def _files(self, below: str) -> Listed:
        workspace = self._workspace
        if below == "." and len(workspace.roots) > 1:
            return await workspace.files(below)
        _, place = workspace.locate(below)
        if await asyncio.to_thread(place.is_file):
            return Listed([workspace.shown(place) or below])
        if await asyncio.to_thread(place.is_dir):
            return await workspace.files(below)
        raise ToolError(f"{below} does not exist.")


def _size(outline: Sequence[Symbol] | None) -> int:
    return 1 if outline is None else 1 + len(outline)


def _is_quick(text: str) -> bool:
    """Tell whether a text is short and flat enough to be parsed on the event loop."""
    if len(text) > _INLINE_CHARS:
        return False
    depth = 0
    for bracket in _BRACKET.finditer(text):
        depth = depth + 1 if bracket[1] else max(0, depth - 1)
        if depth > _INLINE_DEPTH:
            return False
    return True
