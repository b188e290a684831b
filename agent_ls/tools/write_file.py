"""write_file: create a file, or replace all of its text.

Changes that others made since the model read the file are kept. If the new text changes the same
lines, nothing is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.edits import ChangeText, CreateFile, Replacement, TextFile
from agent_ls.domain.errors import ToolError
from agent_ls.domain.sentences import counted
from agent_ls.edits.elision import leaves_out, unclear_marker
from agent_ls.edits.merge import rebase
from agent_ls.edits.minimal import replacements_between
from agent_ls.edits.requests import Refused
from agent_ls.loop.extension_points import ToolOutput
from agent_ls.loop.off_loop import off_loop
from agent_ls.loop.ports.workspace import SeenTexts, Workspace
from agent_ls.tools.arguments import Arguments, FilePath
from agent_ls.tools.changing import MERGED, change_of, check_whole, marked_as, preview_of
from agent_ls.tools.edit_tool import EditTool
from agent_ls.tools.nearest import check_new_names
from agent_ls.tools.notebook_files import as_known, created, rewritten, shown_file


class WriteFileArguments(Arguments):
    """Which file, and its whole text."""

    words: ClassVar[str] = "write_file"

    path: FilePath = Field(description="File to write.")
    content: str = Field(description="Its whole text.")


@dataclass(frozen=True, slots=True)
class WriteFile(EditTool):
    """Writes a whole file."""

    name: ClassVar[str] = "write_file"
    description: ClassVar[str] = (
        "Create a file, or replace its whole text. Do not use it to change parts of a file."
    )
    Arguments: ClassVar[type[Arguments]] = WriteFileArguments

    workspace: Workspace
    seen: SeenTexts | None = None
    """None: the text is replaced even if it changed since the model read it."""

    async def plan(self, arguments: WriteFileArguments) -> ToolOutput:
        """Return the change and its diff against the file's text."""
        edit, before, shown, line, note = await self._change(arguments)
        verb, grant = "Create" if before is None else "Replace", self.grant(arguments)
        title = f"{verb} {arguments.path}"
        text = arguments.content
        lines = counted(text.count("\n") + (text != "" and not text.endswith("\n")), "line")
        return ToolOutput(
            f"{verb}d {arguments.path} ({lines}).{note}",
            data={"path": arguments.path},
            edits=(edit,),
            preview=lambda: preview_of(title, self.kind, shown, before, grant, line),
            may_plan_again=False,
        )

    async def _change(
        self, arguments: WriteFileArguments
    ) -> tuple[ChangeText | CreateFile, str | None, ChangeText | CreateFile, int | None, str]:
        """Return the change, the text that is shown before it, its change, its line, a note."""
        if not await self.workspace.exists(arguments.path):
            check_whole(arguments.content, None)
            new = CreateFile(path=arguments.path, text=arguments.content)
            await check_new_names((new,), self.workspace)
            return created(new), None, new, None, ""
        real = await shown_file(await self.workspace.read(arguments.path))
        if (whole := rewritten(real, arguments.content)) is not None:
            return whole, real.real.text, whole, None, ""
        file = real.shown
        read = as_known(real, await self.seen.text(arguments.path)) if self.seen else None
        size = len(file.text) + len(arguments.content)
        change, is_merged = await off_loop(size, lambda: _replaced(arguments, file, read))
        note = MERGED.format(arguments.path) if is_merged else ""
        edit = real.in_file(change)
        return edit, file.text, change, real.line_of(edit), note


def _replaced(
    arguments: WriteFileArguments, file: TextFile, read: str | None
) -> tuple[ChangeText, bool]:
    """Return the change to the new text, and whether it is merged with changes of others.

    ``read`` is the text that the model read. Errors: ``ToolError``.
    """
    # Unchanged lines keep their bytes, and the editor keeps its marks in them.
    content = marked_as(file.text, arguments.content)
    check_whole(content, file.text)
    change = change_of(file, content)
    if leaves_out(file.text, content):
        raise ToolError(unclear_marker().reason)
    read = None if read is None else marked_as(file.text, read)
    if read is None or read == file.text:
        return change, False
    merged = _beside_others(arguments.path, content, read, file.text)
    return change.model_copy(update={"replacements": merged}), True


def _beside_others(path: str, content: str, read: str, now: str) -> tuple[Replacement, ...]:
    """Return the model's changes to the text it read, as changes to the newest text.

    Errors: ``ToolError`` if others changed the same lines, or the model changed nothing.
    """
    wanted = replacements_between(read, content)
    merged = rebase(read, wanted, now)
    if not isinstance(merged, Refused):
        return merged
    same = "It changed since you read it, and your text is the one you read. Read it again."
    reason = merged.reason if wanted else same
    raise ToolError(f"{path} was not changed. {reason}")
