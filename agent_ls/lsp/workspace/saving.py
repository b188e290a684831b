"""Brings the disk up to the buffers, before something reads the disk.

Owns who saves: the editor if it can be asked, else what ``save_fallback`` says. No file is written
that holds anything but what the editor last had there.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from agent_ls.domain.edits import ChangeText, CreateFile, FileEdit, Replacement
from agent_ls.domain.errors import WorkspaceError
from agent_ls.lsp.connection.saved_texts import SavedTexts
from agent_ls.lsp.workspace.open_files import OpenFile, OpenFiles
from agent_ls.workspace.disk_files import digest

SaveFallback = Literal["ask", "write", "never"]


class SavingEditor(Protocol):
    """What saving asks of the editor."""

    @property
    def saves(self) -> bool:
        """Whether the editor can be asked to save."""
        ...

    async def save(self, uris: list[str]) -> bool:
        """Ask the editor to save documents; False when it cannot be asked."""
        ...

    def advise_saving(self, paths: list[str]) -> None:
        """Tell the person which files to save."""
        ...

    def advise_saving_refused(self, paths: list[str]) -> None:
        """Tell the person which files could not be written for them."""
        ...

    def advise_settling(self, paths: list[str]) -> None:
        """Tell the person in which files the unsaved text and the disk's went apart."""
        ...


class Saving:
    """Saves the open files of one editor."""

    def __init__(
        self,
        files: OpenFiles,
        editor: SavingEditor,
        saved: SavedTexts,
        fallback: SaveFallback,
        note_saved: Callable[[str], None],
    ) -> None:
        """Take the open files, the way to the editor, where to note what was written, what
        happens where the editor cannot be asked, and whom to tell of a URI that is saved then.
        """
        self._note_saved = note_saved
        self._files, self._editor, self._saved = files, editor, saved
        self.fallback: SaveFallback = fallback

    def may_save(self, opened: OpenFile) -> bool:
        """Say whether this can be saved without the person, so far as is known before."""
        is_written = self.fallback == "write" and opened.standing == "unsaved"
        return self._editor.saves or is_written

    async def save_all(self) -> list[str]:
        """Save what is not saved; return the paths where that did not work, which are told."""
        unsaved = await self._files.unsaved()
        if not unsaved:
            return []
        refused = await self.save(unsaved)
        unsaved = await self._files.unsaved()
        older = [one.path for one in unsaved if one.standing == "unsaved"]
        apart = [one.path for one in unsaved if one.standing == "apart"]
        if older and self.fallback == "ask":
            self._editor.advise_saving(older)
        if left := [path for path in older if path in refused]:
            self._editor.advise_saving_refused(left)
        if apart and self.fallback != "never":
            self._editor.advise_settling(apart)
        return [one.path for one in unsaved]

    async def save(self, files: Sequence[OpenFile]) -> list[str]:
        """Have the editor save these, or write them if that is what is to be done then; return
        the paths where that was tried and cannot be.

        Whether the others are saved is to be looked at afterwards.
        """
        is_saved = await self._editor.save([one.document.uri for one in files])
        if is_saved or self.fallback != "write":
            return []
        return [one.path for one in files if not await self._write(one.path)]

    async def _write(self, path: str) -> bool:
        """Write a buffer's text to its file, if the file is still what the editor last saved;
        False where it is, and cannot be written."""
        opened = await self._files.find(path)
        if opened is None or opened.standing != "unsaved":
            return True
        text = self._saved.as_saved(opened.document)
        edit: FileEdit = CreateFile(path=path, text=text)
        if opened.on_disk is not None:
            try:
                on_disk = await self._files.disk.read(path)
            except WorkspaceError:
                return False
            if "\r\n" in on_disk.text and "\r" not in text:
                # The editor shows no line ends of the file's own.
                if "\n" in on_disk.text.replace("\r\n", ""):
                    return False
                text = text.replace("\n", "\r\n")
            if opened.on_disk.startswith(codecs.BOM_UTF8):
                # The disk keeps its byte order mark by itself; some editors show it in the text.
                text = text.removeprefix("\ufeff")
            whole = Replacement(start=0, end=len(on_disk.text), text=text)
            base = digest(opened.on_disk)
            edit = ChangeText(path=path, base_version=base, replacements=(whole,))
        outcome = await self._files.disk.apply(edit)
        if outcome.status == "applied":
            self._saved.note(opened.document.uri, opened.document.text, text)
            self._note_saved(opened.document.uri)
        return outcome.status != "refused"
