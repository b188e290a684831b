"""edit_file: replace exact texts in a file; all edits of a call or none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from agent_ls.domain.edits import ChangeText, CreateFile, Replacement, TextFile, apply_replacements
from agent_ls.domain.errors import ToolError
from agent_ls.edits.lines import BOM, split_lines
from agent_ls.edits.rebase import place_as_read
from agent_ls.edits.requests import EditRequest, Placed, Refused
from agent_ls.edits.search_replace import place
from agent_ls.loop.extension_points import ToolOutput
from agent_ls.loop.off_loop import off_loop
from agent_ls.loop.ports.workspace import SeenTexts, Workspace
from agent_ls.tools.arguments import Arguments, FilePath
from agent_ls.tools.changing import MERGED, check_whole, places_of, preview_of
from agent_ls.tools.edit_tool import EditTool
from agent_ls.tools.nearest import check_new_names, read_file_named
from agent_ls.tools.notebook_files import ShownFile, as_known, created, shown_file

_LINE_END = re.compile(r"\r\n|\n|\r")


class Edit(Arguments):
    """One replacement."""

    words: ClassVar[str] = "edit"

    old_string: str = Field(description="Text to replace, exactly as in the file.")
    new_string: str = Field(description="Text that takes its place.")
    line: Annotated[int | None, Field(ge=1)] = Field(
        None, description="Line where old_string begins, if it stands there several times."
    )
    replace_all: bool = Field(False, description="Replace it everywhere.")

    @property
    def insert_line(self) -> int | None:
        """Return the line below which other agents insert; 0: at the start, below 0: at the end."""
        return self._beside.get("insert_line")

    @property
    def expected(self) -> int | None:
        """Return how many places ``replace_all`` must find, as other agents may say; else None."""
        return self._beside.get("expected")


class EditFileArguments(Arguments):
    """Which file, and what to replace in it."""

    words: ClassVar[str] = "edit_file"

    path: FilePath = Field(description="File to change.")
    edits: tuple[Edit, ...] = Field(min_length=1, description="All are made, or none.")


@dataclass(frozen=True, slots=True)
class EditFile(EditTool):
    """Changes parts of a file."""

    name: ClassVar[str] = "edit_file"
    description: ClassVar[str] = (
        "Change parts of a file. Copy old_string from what you read, without line numbers, with "
        "enough lines around the change that it stands there once. To rewrite a definition, copy "
        "all of it."
    )
    Arguments: ClassVar[type[Arguments]] = EditFileArguments

    workspace: Workspace
    seen: SeenTexts | None = None
    """None: edits are looked for in the newest text only."""

    async def plan(self, arguments: EditFileArguments) -> ToolOutput:
        """Return the change and its diff."""
        if _creates(arguments) and not await self.workspace.exists(arguments.path):
            return await self._created(arguments)
        real, change, note = await self._change(arguments)
        file, title, grant = real.shown, f"Edit {arguments.path}", self.grant(arguments)
        edit = real.in_file(change)
        line = real.line_of(edit)
        after = apply_replacements(file.text, change.replacements)
        where = await off_loop(len(after), lambda: places_of(after, change.replacements))
        return ToolOutput(
            f"Edited {arguments.path}: {where}.{note}",
            data={"path": arguments.path},
            edits=(edit,),
            preview=lambda: preview_of(title, self.kind, change, file.text, grant, line),
        )

    async def _created(self, arguments: EditFileArguments) -> ToolOutput:
        """Return the creation of a file from an edit of nothing, as other agents create files."""
        text = arguments.edits[0].new_string
        check_whole(text, None)
        edit = CreateFile(path=arguments.path, text=text)
        await check_new_names((edit,), self.workspace)
        title, grant = f"Create {arguments.path}", self.grant(arguments)
        return ToolOutput(
            f"Created {arguments.path}.",
            data={"path": arguments.path},
            edits=(created(edit),),
            preview=lambda: preview_of(title, self.kind, edit, None, grant),
            may_plan_again=False,
        )

    async def _change(self, arguments: EditFileArguments) -> tuple[ShownFile, ChangeText, str]:
        """Return the file, the change of what is shown of it, and a note for the model."""
        real = await shown_file(await read_file_named(arguments.path, self.workspace))
        file = real.shown
        _check_expected(file, arguments)
        check_whole("\n".join(edit.new_string for edit in arguments.edits), file.text)
        requests = [
            EditRequest(edit.old_string, edit.new_string, edit.line, edit.replace_all)
            for edit in arguments.edits
        ]
        read = as_known(real, await self.seen.text(arguments.path)) if self.seen else None
        # ``replace_all`` means all places in the newest text, whatever the model read.
        picking = [request for request in requests if not request.replace_all]

        def picked(text: str) -> Placed:
            return _placed(text, arguments, picking, is_read=text == read) if picking else ()

        found = await off_loop(
            len(file.text),
            lambda: place_as_read(
                read,
                file.text,
                lambda text: _placed(text, arguments, requests, is_read=text == read),
                None if len(picking) == len(requests) else picked,
            ),
        )
        placed = found.placed
        if isinstance(placed, Refused):
            reason = placed.reason + real.in_words()
            raise ToolError(f"{arguments.path} was not changed. {reason}")
        change = ChangeText(path=file.path, base_version=file.version, replacements=placed)
        return real, change, MERGED.format(arguments.path) if found.is_merged else ""


def _creates(arguments: EditFileArguments) -> bool:
    edit = arguments.edits[0]
    return len(arguments.edits) == 1 and not edit.old_string and (edit.insert_line or 0) <= 0


def _check_expected(file: TextFile, arguments: EditFileArguments) -> None:
    """Refuse an edit that is wrong about the number of its places. Errors: ``ToolError``."""
    for edit in arguments.edits:
        found = file.text.count(edit.old_string)
        if edit.expected is not None and found != edit.expected:
            raise ToolError(
                f"{arguments.path} was not changed. The old text stands there {found} times, not "
                f"{edit.expected}. Read the file, and give replace_all or more lines around it."
            )


def _placed(
    text: str, arguments: EditFileArguments, requests: list[EditRequest], *, is_read: bool
) -> Placed:
    """Return the replacements of the wishes, or of an insertion below a line."""
    edit = arguments.edits[0]
    if edit.insert_line is None:
        return place(text, requests, is_read=is_read)
    if len(arguments.edits) > 1:
        return Refused("An insertion by its line is the only edit of a call.", "malformed")
    return _inserted(text, edit.insert_line, edit.new_string)


def _inserted(text: str, line: int, new: str) -> Placed:
    """Return the insertion of whole lines below a line; a negative one means the last."""
    count = len(split_lines(text))
    if line > count:
        return Refused(f"There is no line {line}: the file has {count}.", "not-found")
    starts = [len(BOM) if text.startswith(BOM) else 0]
    starts += [match.end() for match in _LINE_END.finditer(text)]
    at = starts[line] if 0 <= line < len(starts) else len(text)
    end = "\r\n" if "\r\n" in text else "\n"
    whole = new.removesuffix("\n").replace("\r\n", "\n").replace("\n", end)
    if at == len(text) and text and not text.endswith(("\n", "\r")):
        return (Replacement(start=at, end=at, text=end + whole),)
    return (Replacement(start=at, end=at, text=whole + end),)
