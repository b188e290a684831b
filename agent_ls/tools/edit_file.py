"""edit_file: replace exact texts in a file; all edits of a call or none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any, ClassVar, cast

from pydantic import Field, model_validator

from agent_ls.domain.edits import ChangeText, TextFile, apply_replacements
from agent_ls.domain.errors import ToolError
from agent_ls.edits.as_read import place_as_read
from agent_ls.edits.requests import Refused, Wish
from agent_ls.edits.search_replace import place
from agent_ls.loop.ports.workspace import SeenTexts, Workspace
from agent_ls.loop.sockets import ToolOutput
from agent_ls.tools.arguments import Arguments, FilePath
from agent_ls.tools.changing import MERGED, check_whole, places_of, preview_of
from agent_ls.tools.edit_tool import EditTool
from agent_ls.tools.nearest import read_file_named


class Edit(Arguments):
    """One replacement."""

    other_names: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "old_string": ("old_str", "old_text", "old", "search"),
        "new_string": ("new_str", "new_text", "new", "replace"),
    }

    old_string: str = Field(description="Text to replace, exactly as in the file.")
    new_string: str = Field(description="Text that takes its place.")
    line: Annotated[int | None, Field(ge=1)] = Field(
        None, description="Line where old_string begins, if it stands there several times."
    )
    replace_all: bool = Field(False, description="Replace it everywhere.")


class EditFileArguments(Arguments):
    """Which file, and what to replace in it."""

    path: FilePath = Field(description="File to change.")
    edits: tuple[Edit, ...] = Field(min_length=1, description="All are made, or none.")

    @model_validator(mode="before")
    @classmethod
    def _listed(cls, data: Any) -> Any:
        """Read a single replacement beside the path as the list that it could have been in."""
        if not isinstance(data, dict) or "edits" in data:
            return cast("Any", data)
        given = cast("dict[str, Any]", data)
        names = {*Edit.model_fields, *chain.from_iterable(Edit.other_names.values())}
        edit = {name: value for name, value in given.items() if name in names}
        rest = {name: value for name, value in given.items() if name not in names}
        return {**rest, "edits": [edit]} if edit else given


@dataclass(frozen=True, slots=True)
class EditFile(EditTool):
    """Changes parts of a file."""

    name: ClassVar[str] = "edit_file"
    description: ClassVar[str] = (
        "Change parts of a file. Copy old_string from what you read, without line numbers, with "
        "enough lines around the change that it stands there once."
    )
    Arguments: ClassVar[type[Arguments]] = EditFileArguments

    workspace: Workspace
    seen: SeenTexts | None = None
    """None: edits are looked for in the newest text only."""

    async def plan(self, arguments: EditFileArguments) -> ToolOutput:
        """Return the change and its diff."""
        file, change, note = await self._change(arguments)
        title, grant = f"Edit {arguments.path}", self.grant(arguments)
        after = apply_replacements(file.text, change.replacements)
        return ToolOutput(
            f"Edited {arguments.path}: {places_of(after, change.replacements)}.{note}",
            data={"path": arguments.path},
            edits=(change,),
            preview=lambda: preview_of(title, self.kind, change, file.text, grant),
        )

    async def _change(self, arguments: EditFileArguments) -> tuple[TextFile, ChangeText, str]:
        """Return the file, its change, and a note for the model."""
        file = await read_file_named(arguments.path, self.workspace)
        check_whole("\n".join(edit.new_string for edit in arguments.edits), file.text)
        wishes = [
            Wish(edit.old_string, edit.new_string, edit.line, edit.replace_all)
            for edit in arguments.edits
        ]
        read = None if self.seen is None else await self.seen.text(arguments.path)
        # ``replace_all`` means all places in the newest text, whatever the model read.
        picking = [wish for wish in wishes if not wish.replace_all]
        found = place_as_read(
            read,
            file.text,
            lambda text: place(text, wishes, is_read=text == read),
            lambda text: place(text, picking, is_read=text == read) if picking else (),
        )
        placed = found.placed
        if isinstance(placed, Refused):
            raise ToolError(f"{arguments.path} was not changed. {placed.reason}")
        change = ChangeText(path=file.path, base_version=file.version, replacements=placed)
        return file, change, MERGED.format(arguments.path) if found.is_merged else ""
