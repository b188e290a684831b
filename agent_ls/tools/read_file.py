"""read_file: a file's newest text, unsaved changes included, with line numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, ClassVar

from pydantic import Field

from agent_ls.domain.approvals import Preview
from agent_ls.domain.errors import FileTooLarge, NotText, ToolError
from agent_ls.domain.record import Record
from agent_ls.edits.lines import split_lines
from agent_ls.edits.notebooks import outputs_to_read
from agent_ls.edits.shown_marks import cut_line
from agent_ls.loop.extension_points import ToolContext, ToolOutput
from agent_ls.loop.ports.workspace import SeenTexts, Workspace
from agent_ls.pictures.reading import UnusableImage, read_image
from agent_ls.safety.text import cleaned, has_hidden
from agent_ls.tools.arguments import Arguments, FilePath
from agent_ls.tools.nearest import read_file_named
from agent_ls.tools.notebook_files import ShownFile, shown_file
from agent_ls.tools.plain_tool import PlainTool
from agent_ls.tools.showing import preview


class ReadFileArguments(Arguments):
    """Which file, and which lines of it."""

    words: ClassVar[str] = "read_file"

    path: FilePath = Field(description="File to read.")
    start_line: Annotated[int, Field(ge=1, description="First line, from 1.")] = 1
    lines: Annotated[int | None, Field(ge=1, description="How many lines.")] = None
    start_column: Annotated[
        int | None, Field(ge=1, description="Only that line, from this character.")
    ] = None


class ReadFileOptions(Record):
    """How much one read shows."""

    max_lines: int = 1_000
    """Lines of one read when the call does not say."""
    max_chars: int = 32_000
    """Characters of one read, whole lines; less than results are cut to, so that none is."""
    max_line_chars: int = 500
    """Longer lines are cut, and say so."""


@dataclass(frozen=True, slots=True)
class ReadFile(PlainTool):
    """Shows a file: its text, or the image that it is."""

    name: ClassVar[str] = "read_file"
    description: ClassVar[str] = (
        "Read a text as the user sees it, unsaved changes included, or an image. Number and tab "
        "before each line are no part of it. Read large files in ranges."
    )
    Arguments: ClassVar[type[Arguments]] = ReadFileArguments

    workspace: Workspace
    options: ReadFileOptions = ReadFileOptions()
    seen: SeenTexts | None = None
    """None: what was read is not recorded."""

    async def preview(self, arguments: ReadFileArguments) -> Preview:
        """Return which file would be read."""
        return preview(
            f"Read {arguments.path}",
            arguments.path,
            self.kind,
            path=arguments.path,
            line=arguments.start_line - 1,
        )

    async def run(self, arguments: ReadFileArguments, context: ToolContext) -> ToolOutput:
        """Return the numbered lines of the range."""
        try:
            real = await shown_file(await read_file_named(arguments.path, self.workspace))
        except (FileTooLarge, NotText) as error:
            return await self._no_text(arguments, error)
        file = real.shown
        lines = split_lines(file.text)
        first = arguments.start_line
        if first > max(len(lines), 1):
            return ToolOutput(f"{arguments.path} has only {len(lines)} lines.")
        if arguments.start_column is not None:
            return self._part(real, arguments, cleaned(lines[first - 1]) if lines else "")
        count = arguments.lines or self.options.max_lines
        wanted = lines[first - 1 : first - 1 + count]
        shown = self._numbered(wanted, first, outputs=_outputs(real))
        last = first - 1 + len(shown)
        text = "\n".join(shown)
        notes = _notes(real)
        if hidden := [n for n, line in enumerate(wanted[: len(shown)], first) if has_hidden(line)]:
            where = ", ".join(map(str, hidden[:10]))
            notes.append(f"Invisible characters are left out in line {where}.")
        if cut := [n for n, line in enumerate(wanted[: len(shown)], first) if self._is_cut(line)]:
            column = self.options.max_line_chars + 1
            where = f"start_line={cut[0]}, start_column={column}"
            notes.append(f"Cut: line {', '.join(map(str, cut[:10]))}; {where} shows the rest.")
        if not lines:
            notes.append("The file is empty.")
        if last < len(lines):
            notes.append(f"Lines {first}-{last} of {len(lines)}; go on with start_line={last + 1}.")
        if file.encoding:
            notes.append(f"In {file.encoding}, which edits keep.")
        if file.is_dirty:
            notes.append("This is the editor's text; it is not saved yet.")
        note = "".join(f"\n({one})" for one in notes)
        return ToolOutput(
            (text + note).lstrip("\n"),
            data={
                "path": arguments.path,
                "lines": len(lines),
                "version": file.version,
                "text_blob": self.seen.keep(file.path, real.real.text) if self.seen else None,
            },
            value=file.text if len(shown) == len(lines) else "\n".join(wanted[: len(shown)]),
            value_is_cut=len(shown) < len(wanted),
        )

    async def _no_text(
        self, arguments: ReadFileArguments, error: FileTooLarge | NotText
    ) -> ToolOutput:
        """Return what a file shows that is not read as a text, or raise why it shows nothing."""
        path = arguments.path
        data = await self.workspace.image_bytes(path)
        if data is None:
            if isinstance(error, NotText):
                raise error
            return await self._part_of_large(arguments)
        try:
            image = await read_image(data, path)
        except UnusableImage as unusable:
            raise ToolError(str(unusable)) from None
        note = f"; {image.note}" if image.note else ""
        text = f"{image.words} ({image.media_type}, {len(data):,} bytes{note})"
        return ToolOutput(text, data={"path": path}, value=text, images=(image,))

    async def _part_of_large(self, arguments: ReadFileArguments) -> ToolOutput:
        """Return lines of a file of which the text is not read as a whole."""
        path, first = arguments.path, arguments.start_line
        start = (arguments.start_column or 1) - 1
        is_part = arguments.start_column is not None
        count = 1 if is_part else arguments.lines or self.options.max_lines
        part = await self.workspace.read_part(
            path, first, count, start=start, max_chars=self.options.max_chars
        )
        if not part.lines:
            return ToolOutput(f"{path} has only {part.count} lines.")
        size = f"{part.size_bytes / 2**20:.1f} MB"
        if is_part:
            if start >= part.lengths[0]:
                return ToolOutput(f"Line {first} has only {part.lengths[0]} characters.")
            shown, note = self._rest(cleaned(part.lines[0]), first, start, part.lengths[0])
            return ToolOutput(
                f"{shown}\n({note}.)", data={"path": path}, value=shown, value_is_cut=True
            )
        shown = self._numbered(list(part.lines), first, lengths=part.lengths)
        last = first + len(shown) - 1
        is_end = part.is_end and len(shown) == len(part.lines)
        notes = [f"Lines {first}-{last} of a file of {size}"]
        notes[0] += ", to its end." if is_end else f"; go on with start_line={last + 1}."
        limit = self.options.max_line_chars
        if cut := [
            n for n, length in enumerate(part.lengths[: len(shown)], first) if length > limit
        ]:
            where = f"start_line={cut[0]}, start_column={limit + 1}"
            notes.append(f"Cut: line {', '.join(map(str, cut[:10]))}; {where} shows the rest.")
        if part.encoding:
            notes.append(f"In {part.encoding}.")
        notes.append("It is too large for edit_file; a command can change it.")
        text = "\n".join([*shown, *(f"({one})" for one in notes)])
        return ToolOutput(text, data={"path": path}, value="\n".join(part.lines), value_is_cut=True)

    def _numbered(
        self,
        lines: list[str],
        first: int,
        *,
        lengths: Sequence[int] = (),
        outputs: Mapping[int, list[str]] = MappingProxyType({}),
    ) -> list[str]:
        """Return the numbered lines that fit, at least one, with the outputs below them.

        Shape: ``lengths`` are those of the whole lines, if the lines are cut.
        """
        shown: list[str] = []
        room = self.options.max_chars
        for number, line in enumerate(lines, first):
            length = lengths[number - first] if lengths else 0
            line = cut_line(cleaned(line), self.options.max_line_chars, length)
            text = f"{number:>5}\t{line}"
            for output in outputs.get(number, ()):
                text += f"\n  out\t{cleaned(output)}"
            room -= len(text) + 1
            if room < 0 and shown:
                break
            shown.append(text)
        return shown

    def _is_cut(self, line: str) -> bool:
        return len(cleaned(line)) > self.options.max_line_chars

    def _part(self, real: ShownFile, arguments: ReadFileArguments, line: str) -> ToolOutput:
        """Return what fits of one line, from ``start_column`` on."""
        file = real.real
        number, start = arguments.start_line, (arguments.start_column or 1) - 1
        if start >= max(len(line), 1):
            return ToolOutput(f"Line {number} has only {len(line)} characters.")
        shown, note = self._rest(line[start:], number, start, len(line))
        return ToolOutput(
            f"{shown}\n({note}.)",
            data={
                "path": arguments.path,
                "version": file.version,
                "text_blob": self.seen.keep(file.path, file.text) if self.seen else None,
            },
            value=shown,
            value_is_cut=len(shown) < len(line),
        )

    def _rest(self, text: str, number: int, start: int, length: int) -> tuple[str, str]:
        """Return what fits of a line's text from ``start`` on, and a note on where it goes on."""
        shown = text[: self.options.max_chars]
        end = start + len(shown)
        note = f"Characters {start + 1}-{end} of {length} of line {number}"
        if end < length:
            note += f"; go on with start_line={number}, start_column={end + 1}"
        return shown, note


def _outputs(file: ShownFile) -> dict[int, list[str]]:
    """Return the outputs of a notebook's cells by the last line of each."""
    found: dict[int, list[str]] = {}
    past = 0
    for cell in file.notebook.cells if file.notebook else ():
        past += 1 + len(split_lines(f"{cell.source}\n"))
        if outputs := outputs_to_read(cell):
            found[past] = outputs
    return found


def _notes(file: ShownFile) -> list[str]:
    if file.notebook is None:
        return [file.note] if file.note else []
    notes = ["A notebook, shown by its cells: edit their text; new cells begin with such a line."]
    if file.notebook.is_executed:
        notes.append("Lines with out are outputs; they are no part of the text and stay as is.")
    return notes
