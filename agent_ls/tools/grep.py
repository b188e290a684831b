"""grep: a regular expression over the workspace's newest texts, unsaved ones included."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from agent_ls.domain.approvals import Preview
from agent_ls.domain.calls import Effect, ErrorKind, ToolKind
from agent_ls.domain.errors import ToolError
from agent_ls.domain.record import Record
from agent_ls.loop.ports import Workspace
from agent_ls.loop.sockets import ToolContext, ToolOutput
from agent_ls.safety.control_files import has_secret_name
from agent_ls.tools.arguments import Arguments, FilePath
from agent_ls.tools.glob import matching
from agent_ls.tools.searching import BadPattern, Hit, Query, search_below, search_texts


class GrepArguments(Arguments):
    """What to look for, and where."""

    pattern: Annotated[str, Field(min_length=1, max_length=2_000)]
    path: FilePath = "."
    glob: Annotated[str | None, Field(min_length=1, max_length=500)] = None
    ignore_case: bool = False


class GrepOptions(Record):
    """How much one search shows, and how long it may take."""

    max_hits: int = 200
    """Lines shown; the search stops there."""
    max_line_chars: int = 300
    """Longer lines are cut."""
    limit_s: float = 2.0
    """A search that takes longer is ended and says so."""


@dataclass(frozen=True, slots=True)
class Grep:
    """Searches texts."""

    name: ClassVar[str] = "grep"
    description: ClassVar[str] = (
        "Search files for a regular expression; gives path:line: text. Ignored files are left out."
    )
    effect: ClassVar[Effect] = Effect.READ
    kind: ClassVar[ToolKind] = ToolKind.SEARCH
    Arguments: ClassVar[type[Arguments]] = GrepArguments

    workspace: Workspace
    options: GrepOptions = GrepOptions()

    def paths(self, arguments: GrepArguments) -> tuple[str, ...]:
        """Return the file or folder that is searched."""
        return (arguments.path,)

    async def preview(self, arguments: GrepArguments) -> Preview:
        """Return what would be searched."""
        return Preview(
            title=f"Search {arguments.path}",
            payload=f"{arguments.pattern}\nin {arguments.path}",
            kind=self.kind,
        )

    async def run(self, arguments: GrepArguments, context: ToolContext) -> ToolOutput:
        """Return the lines that match: buffers where there are any, the disk elsewhere."""
        query = Query(
            pattern=arguments.pattern,
            glob=arguments.glob,
            ignore_case=arguments.ignore_case,
            max_hits=self.options.max_hits + 1,
            limit_s=self.options.limit_s,
        )
        try:
            hits, notes = await self._search(query, arguments.path)
        except BadPattern as error:
            raise ToolError(f"The pattern cannot be read: {error}", ErrorKind.STRUCTURAL) from None
        hits.sort(key=lambda hit: (hit.path, hit.line))
        lines = [self._line(hit) for hit in hits[: self.options.max_hits]]
        if len(hits) > self.options.max_hits:
            lines.append(f"(more than {self.options.max_hits} lines; narrow the search)")
        lines += [f"({note})" for note in notes]
        return ToolOutput("\n".join(lines) or "Nothing matches.", data={"hits": len(hits)})

    async def _search(self, query: Query, path: str) -> tuple[list[Hit], tuple[str, ...]]:
        """Search the disk, then put what the buffers say in the place of their files."""
        _, place = self.workspace.locate(path)
        is_file = await asyncio.to_thread(place.is_file)
        names = [path] if is_file else await self._searched(path, query)
        places = {self.workspace.locate(name)[1]: name for name in names}
        dirty = {file.path: file.text for file in await self.workspace.dirty()}
        texts = {name: dirty[name] for name in names if name in dirty}
        on_disk = await search_below(query, place, places)
        hits = [
            Hit(name, hit.line, hit.text)
            for hit in on_disk.hits
            if (name := places.get(Path(hit.path))) is not None and name not in texts
        ]
        in_buffers = await search_texts(query, texts)
        return hits + in_buffers.hits, (*on_disk.notes, *in_buffers.notes)

    async def _searched(self, path: str, query: Query) -> list[str]:
        """Return the files of a folder that a search may show: reading secrets asks first."""
        found = matching(await self.workspace.files(path), query.glob)
        return [name for name in found if not has_secret_name(name.split("/"))]

    def _line(self, hit: Hit) -> str:
        text = hit.text.rstrip()
        if len(text) > self.options.max_line_chars:
            text = text[: self.options.max_line_chars] + "…"
        return f"{hit.path}:{hit.line}: {text}"
