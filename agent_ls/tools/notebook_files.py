"""Files as the tools read and change them: a notebook as the text of its cells."""

from __future__ import annotations

from dataclasses import dataclass

from agent_ls.domain.edits import ChangeText, CreateFile, Replacement, TextFile, apply_replacements
from agent_ls.domain.errors import ToolError
from agent_ls.edits.notebook_changes import (
    HOW_TO_WRITE,
    change_cells,
    keeps_structure,
    new_notebook,
)
from agent_ls.edits.notebooks import (
    NotANotebook,
    Notebook,
    OtherFormat,
    is_notebook,
    parse_notebook,
    shown_text,
)
from agent_ls.edits.requests import Refused
from agent_ls.loop.off_loop import off_loop

FIXED = (
    "The user has it open as a notebook, where only the text of cells can be changed. Change that, "
    "and ask the user to add, delete or move cells, or to save and close the notebook first."
)


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file's text, and what of it is shown."""

    real: TextFile
    shown: TextFile
    """Offsets of edits count in its text."""
    notebook: Notebook | None = None
    note: str = ""
    """Why a notebook is shown as JSON; else empty."""

    def in_file(self, change: ChangeText) -> ChangeText:
        """Return a change of the shown text as one of the file. Errors: ``ToolError``."""
        if self.notebook is None:
            return change
        found = change_cells(self.notebook, change.replacements)
        if isinstance(found, Refused):
            raise ToolError(f"{change.path} was not changed. {found.reason}")
        if not found:
            raise ToolError(
                f"{change.path} was not changed: only what separates cells would differ. Change "
                "the text of a cell, or its marker line."
            )
        try:
            after = parse_notebook(apply_replacements(self.real.text, found))
        except NotANotebook as error:
            raise ToolError(f"{change.path} was not changed, for {error}.") from None
        if self.real.has_fixed_cells and not keeps_structure(self.notebook, after):
            raise ToolError(f"{change.path} was not changed. {FIXED}")
        return change.model_copy(update={"replacements": found})

    def line_of(self, change: ChangeText) -> int:
        """Return the line of the file, from 0, at which a change of the file begins."""
        start = change.replacements[0].start if change.replacements else 0
        return self.real.text.count("\n", 0, start)

    def in_words(self) -> str:
        """Return what an edit that does not fit should have quoted; empty for other files."""
        if self.notebook is None:
            return ""
        return " This is a notebook: quote the text of its cells as read_file shows it, no JSON."


async def shown_file(file: TextFile) -> ShownFile:
    """Return a file as tools show it."""
    if not is_notebook(file.path):
        return ShownFile(file, file)
    return await off_loop(len(file.text), lambda: _shown(file))


def _shown(file: TextFile) -> ShownFile:
    try:
        notebook = parse_notebook(file.text)
    except NotANotebook as error:
        return ShownFile(file, file, note=f"Shown as JSON, as no cells can be read: {error}.")
    return ShownFile(file, file.model_copy(update={"text": notebook.shown}), notebook)


def as_known(file: ShownFile | None, read: str | None) -> str | None:
    """Return a text that the model knows of a file as it was shown."""
    if read is None or file is None or file.notebook is None:
        return read
    return file.shown.text if read == file.real.text else shown_text(file.real.path, read)


def created(edit: CreateFile) -> CreateFile:
    """Return the creation with a notebook's JSON in place of its cells. Errors: ``ToolError``."""
    if not is_notebook(edit.path):
        return edit
    text = new_notebook(edit.text)
    if isinstance(text, Refused):
        raise ToolError(f"{edit.path} was not created. {text.reason}")
    return edit.model_copy(update={"text": text})


def rewritten(file: ShownFile, content: str) -> ChangeText | None:
    """Return the change that makes a file of no text or of broken JSON a notebook.

    None for all other files. Errors: ``ToolError``.
    """
    path, text = file.real.path, file.real.text
    if not is_notebook(path):
        return None
    if file.notebook is not None:
        if content.lstrip().startswith("{"):
            raise ToolError(f"{path} was not changed. {HOW_TO_WRITE}; outputs and metadata stay.")
        return None
    try:
        parse_notebook(text)
    except OtherFormat as error:
        raise ToolError(f"{path} was not changed: {error}.") from None
    except NotANotebook:
        pass
    new = new_notebook(content)
    if isinstance(new, Refused):
        raise ToolError(f"{path} was not changed. {new.reason}")
    whole = (Replacement(start=0, end=len(text), text=new),)
    return ChangeText(path=path, base_version=file.real.version, replacements=whole)
