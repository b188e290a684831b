"""grep: search the newest texts of the workspace, unsaved ones included."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from agent_ls.domain.calls import ErrorKind, ToolKind
from agent_ls.domain.errors import ToolError, WorkspaceError
from agent_ls.domain.record import Record
from agent_ls.domain.verdicts import Allow
from agent_ls.edits.notebooks import is_notebook
from agent_ls.edits.shown_marks import cut_around
from agent_ls.loop.extension_points import ToolContext, ToolOutput
from agent_ls.loop.ports.approval import Rules
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.processes.reading import read_beginning
from agent_ls.safety.control_files import has_secret_name, judge_read
from agent_ls.safety.path_patterns import PathPattern, is_plain
from agent_ls.safety.ripgrep import RULES_FILES, find_ripgrep, has_rules_between
from agent_ls.safety.text import cleaned, visible_line
from agent_ls.safety.unread import Unread, unread_below
from agent_ls.tools.arguments import Arguments, FilePath
from agent_ls.tools.notebook_search import OTHER_FILES, InCells, notebooks_below, search_cells
from agent_ls.tools.patterns import read_pattern, why_nothing
from agent_ls.tools.plain_tool import PlainTool
from agent_ls.tools.search_messages import Hit
from agent_ls.tools.searching import (
    BadPattern,
    Found,
    Query,
    SearchFailed,
    files_in_other_encodings,
    search_below,
    search_texts,
)

_MAX_TRACKED = 2_000
"""Files searched although a rule excludes them, since git tracks them."""
_IN_PATTERNS = (
    "Put a backslash before ( [ { . and the like to find these characters themselves. Look-around, "
    "back-references and line ends cannot be in a pattern."
)
_LEAST_PART = 0.3
"""Of the time limit: for notebooks, and for other files whatever went before took."""
_MANY_RULES = 2_000
_MAX_RULES_BYTES = 2**20
_MAX_OTHERS = 100
"""Files that are not UTF-8 and are read to be searched for other than plain characters."""
_MANY_OTHERS = (
    f"partial: more than {_MAX_OTHERS} files are not UTF-8; give a path or a glob to see all"
)


@dataclass(frozen=True, slots=True)
class _Walk:
    """The files on disk to search; their paths are relative to ``root``."""

    root: Path
    below: str
    is_file: bool
    wanted: Callable[[str], bool]
    more: tuple[str, ...]
    """Files below it to search although a rule excludes them."""


class GrepArguments(Arguments):
    """What to look for, and where."""

    words: ClassVar[str] = "grep"

    pattern: str = Field(
        min_length=1, max_length=2_000, description="Regular expression, as for ripgrep."
    )
    path: FilePath = Field(".", description="Where to search.")
    glob: Annotated[str | None, Field(min_length=1, max_length=500)] = Field(
        None, description="Only files like this, such as *.py."
    )
    ignore_case: bool = Field(False, description="Treat A and a alike.")


class GrepOptions(Record):
    """How much one search shows, and how long it may take."""

    max_hits: int = 200
    """Lines shown; the search stops there."""
    max_line_chars: int = 300
    """Longer lines are cut."""
    limit_s: float = 10.0
    """A search that takes longer is ended, hands over what it found and says so."""


@dataclass(frozen=True, slots=True)
class Grep(PlainTool):
    """Searches texts."""

    name: ClassVar[str] = "grep"
    description: ClassVar[str] = (
        "Search the contents of files; answers with path:line: text. Ignored files are left out."
    )
    title: ClassVar[str] = "Search for {pattern} in {path}"
    kind: ClassVar[ToolKind] = ToolKind.SEARCH
    Arguments: ClassVar[type[Arguments]] = GrepArguments

    workspace: Workspace
    options: GrepOptions = GrepOptions()
    rules: Rules | None = None

    async def run(self, arguments: GrepArguments, context: ToolContext) -> ToolOutput:
        """Return the matching lines, of unsaved buffers and of all other files on disk."""
        names = arguments.glob and await read_pattern(
            arguments.glob, arguments.path, self.workspace
        )
        query = Query(
            pattern=arguments.pattern,
            names=names or None,
            ignore_case=arguments.ignore_case,
            max_hits=self.options.max_hits + 1,
            limit_s=self.options.limit_s,
        )
        try:
            hits, notes = await self._search(query, arguments.path)
        except BadPattern as error:
            raise ToolError(
                f"The pattern cannot be read: {error}\n{_IN_PATTERNS}", ErrorKind.STRUCTURAL
            ) from None
        except SearchFailed as error:
            raise ToolError(
                f"ripgrep cannot search: {error}. Tell the user, who sees with agent-ls doctor "
                "which ripgrep is used."
            ) from None
        hits.sort(key=lambda hit: (hit.path, hit.line))
        lines = [await self._line(hit) for hit in hits[: self.options.max_hits]]
        if len(hits) > self.options.max_hits:
            lines.append(f"(more than {self.options.max_hits} lines; narrow the search)")
        if not lines:
            lines.append("Nothing found so far." if notes else "Nothing matches.")
            if names and not notes and not await self._has_files(names, arguments.path):
                lines.append(f"No file fits the glob. {await why_nothing(names, self.workspace)}")
        lines += [f"({note})" for note in notes]
        return ToolOutput("\n".join(lines), data={"hits": len(hits)})

    async def _search(self, query: Query, path: str) -> tuple[list[Hit], list[str]]:
        """Search the disk; hits in unsaved buffers replace those in their files."""
        roots = self.workspace.roots
        program = await asyncio.to_thread(find_ripgrep, [root.path for root in roots])
        if program is None:
            raise ToolError("grep needs ripgrep (rg), which is not installed. Tell the user.")
        buffers = {file.path: file.text for file in await self.workspace.dirty()}
        hits: list[Hit] = []
        notes: dict[str, None] = {}
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        tops = [path]
        if path == "." and len(roots) > 1:
            # With several folders, the top means all that exist.
            tops = [one.name for one in roots if await asyncio.to_thread(one.path.is_dir)]
        for top in tops:
            unread = await asyncio.to_thread(unread_below, top, self.workspace, self.rules)
            walk = await self._walk(query, top, unread)
            texts = self._buffers_below(query, top, buffers)
            others = texts.keys() - {top}
            asked = await asyncio.to_thread(self._asked_about, others)
            for name in unread.among(others).union(asked):
                del texts[name]
            # One limit for all walks: where rules are many, each walk takes seconds to read them.
            least_s = query.limit_s * _LEAST_PART
            cells = replace(query, limit_s=least_s)
            in_cells = await self._search_notebooks(cells, program, walk, texts)
            left_s = max(query.limit_s - (loop.time() - began_s), least_s)
            files = replace(query, limit_s=left_s)
            on_disk = await self._search_disk(files, program, walk, in_cells.left)
            texts = {
                name: text
                for name, text in texts.items()
                if name in in_cells.left or not is_notebook(name)
            }
            in_buffers = await search_texts(query, program, texts)
            hits += [hit for hit in on_disk.hits if hit.path not in buffers]
            hits += in_buffers.hits + in_cells.hits
            notes |= dict.fromkeys((*on_disk.notes, *in_buffers.notes, *in_cells.notes))
            notes |= dict.fromkeys(_left_out(sorted(unread.met)))
            if on_disk.is_late or in_cells.is_late:
                notes |= dict.fromkeys(await asyncio.to_thread(_many_rules, walk.root))
        return hits, list(notes)

    async def _walk(self, query: Query, top: str, unread: Unread) -> _Walk:
        """Return the files to search below a path, without secrets. Errors: ``ToolError``."""
        root, place = self.workspace.locate(top)
        if not await asyncio.to_thread(place.exists):
            hint = "" if is_plain(top) else " A pattern for names goes into glob."
            raise ToolError(f"{top} does not exist.{hint}")
        is_file = await asyncio.to_thread(place.is_file)
        if not is_file and not await asyncio.to_thread(place.is_dir):
            raise ToolError(f"{top} is no ordinary file, so there is no text to search.")
        names = None if is_file else query.names
        below = place.relative_to(root.path).as_posix()
        listed: set[str] | None = None
        if not is_file and await asyncio.to_thread(has_rules_between, root.path, below):
            listed = set(await self.workspace.files(top))

        def wanted(path: str) -> bool:
            name = self.workspace.shown(root.path / path)
            if name is None or (names is not None and not names.matches(name)):
                return False
            if listed is not None and name not in listed:
                return False
            # Reading a file of secrets needs approval, so a search over many files skips it.
            return is_file or not (has_secret_name(path.split("/")) or name in unread)

        tracked = [] if is_file else await self.workspace.tracked_though_excluded(top)
        # A folder that is named is walked though a rule excludes it, with the tracked files in it.
        more = tuple(one for one in map(self._place, tracked[:_MAX_TRACKED]) if one)
        return _Walk(root.path, below, is_file, wanted, more)

    async def _search_notebooks(
        self, query: Query, program: str, walk: _Walk, buffers: Iterable[str]
    ) -> InCells:
        """Search the cells of notebooks, on disk and in the editor."""
        names = {name for name in buffers if is_notebook(name)}
        found = Found([])
        if not walk.is_file or is_notebook(walk.below):

            def wanted(path: str) -> bool:
                return is_notebook(path) and walk.wanted(path)

            found = await notebooks_below(
                *(query, program, walk.root, walk.below, wanted), more=walk.more
            )
            names |= {self._named(hit, walk.root).path for hit in found.hits}
        asked = [] if walk.is_file else await asyncio.to_thread(self._asked_about, names)
        cells = await search_cells(query, program, sorted(names.difference(asked)), self.workspace)
        notes = (*found.notes, *cells.notes, *_left_out(asked))
        return replace(cells, notes=notes, is_late=found.is_late)

    async def _search_disk(
        self, query: Query, program: str, walk: _Walk, notebooks: Iterable[str]
    ) -> Found:
        """Return the hits on disk, with paths as the model knows them.

        Shape: of notebooks only in these, which cannot be read as cells.
        """
        left = {one for one in map(self._place, notebooks) if one}
        more = (*walk.more, *left)

        def wanted(path: str) -> bool:
            return walk.wanted(path) and (not is_notebook(path) or path in left)

        if walk.is_file and not wanted(walk.below):
            return Found([])
        found = await search_below(
            *(query, program, walk.root, walk.below, wanted, *OTHER_FILES), more=more
        )
        hits = [self._named(hit, walk.root) for hit in dict.fromkeys(found.hits)]
        if not query.pattern.isascii() and not found.is_late:
            looking = replace(query, max_hits=_MAX_OTHERS + 1)
            others = await files_in_other_encodings(
                *(looking, program, walk.root, walk.below, wanted), more=more
            )
            hits += await self._search_others(query, program, walk.root, others)
            if len(others) > _MAX_OTHERS:
                found = replace(found, notes=(*found.notes, _MANY_OTHERS))
        if walk.is_file:
            return replace(found, hits=hits)
        asked = await asyncio.to_thread(self._asked_about, {hit.path for hit in hits})
        hits = [hit for hit in hits if hit.path not in asked]
        return replace(found, hits=hits, notes=(*found.notes, *_left_out(asked)))

    def _place(self, name: str) -> str:
        """Return a file's path below its root; empty for a link, which is not followed."""
        root, place = self.workspace.locate(name)
        is_own = self.workspace.shown(place) == name
        return place.relative_to(root.path).as_posix() if is_own else ""

    def _named(self, hit: Hit, root: Path) -> Hit:
        return replace(hit, path=self.workspace.shown(root / hit.path) or hit.path)

    async def _search_others(
        self, query: Query, program: str, root: Path, paths: Sequence[str]
    ) -> list[Hit]:
        """Return the hits in files that are not UTF-8, as far as their encoding is known."""
        texts: dict[str, str] = {}
        for path in paths[:_MAX_OTHERS]:
            name = self.workspace.shown(root / path) or path
            if await asyncio.to_thread(self._asked_about, (name,)):
                continue
            with suppress(WorkspaceError):
                texts[name] = (await self.workspace.read(name)).text
        return (await search_texts(query, program, texts)).hits

    async def _has_files(self, names: PathPattern, path: str) -> bool:
        try:
            files = await self.workspace.files(path)
        except WorkspaceError:
            # A single file is searched whatever the glob says.
            return True
        return bool(await asyncio.to_thread(names.filter, files))

    def _asked_about(self, names: Iterable[str]) -> list[str]:
        """Return the files that need approval to be read, such as hard links."""
        roots = self.workspace.roots
        return sorted(one for one in names if not isinstance(judge_read(one, roots), Allow))

    def _buffers_below(self, query: Query, top: str, buffers: Mapping[str, str]) -> dict[str, str]:
        """Return the unsaved texts to search, by path."""
        _, place = self.workspace.locate(top)
        inside = [name for name in buffers if self.workspace.locate(name)[1].is_relative_to(place)]
        is_all = inside == [top] or query.names is None
        wanted = inside if is_all or query.names is None else query.names.filter(inside)
        return {
            name: buffers[name]
            for name in wanted
            if name == top or not has_secret_name(name.split("/"))
        }

    async def _line(self, hit: Hit) -> str:
        """Return a hit as it is shown: the match is always in what is shown of its line."""
        encoding = "utf-8"
        if not hit.is_utf8:
            with suppress(WorkspaceError):
                encoding = (await self.workspace.read(hit.path)).encoding or encoding

        def decoded(data: bytes) -> str:
            return data.decode(encoding, "replace")

        text = decoded(hit.data).rstrip()
        spans = [(len(decoded(hit.data[:a])), len(decoded(hit.data[:b]))) for a, b in hit.spans]
        shown = cut_around(text, spans, self.options.max_line_chars, hit.skipped, hit.left)
        more = " (the line is very long; read_file shows more with start_column)"
        place = f"{visible_line(hit.path)}:{hit.line}"
        return f"{place}: {cleaned(shown).rstrip()}{'' if hit.offset is None else more}"


def _many_rules(root: Path) -> Iterator[str]:
    """Yield a note on each file of a folder with so many rules that walks are slow."""
    for name in RULES_FILES:
        with suppress(OSError):
            place = root / name
            if not place.is_symlink() and place.is_file():
                count = read_beginning(place, max_bytes=_MAX_RULES_BYTES)[0].count(b"\n")
                if count >= _MANY_RULES:
                    yield f"{name} has {count:,} rules or more, which makes each search slow"


def _left_out(names: list[str]) -> list[str]:
    """Return the note on files that were left out because reading them needs approval."""
    if not names:
        return []
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return [
        f"{visible_line(names[0])}{more} left out: such a file, for example a hard link or one "
        "that a rule of the user is about, is read only by its own name"
    ]
