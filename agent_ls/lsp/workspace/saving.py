"""Saves buffers to disk before something reads the disk.

Owns who saves: the editor if it can be asked, else ``save_fallback`` decides. A file is written
only while it holds what the editor last had there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Literal

from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.images import FileImage, PutImage
from agent_ls.edits.in_place import in_place_of
from agent_ls.edits.requests import Refused
from agent_ls.loop.ports.workspace import Unsaved
from agent_ls.lsp.connection.saved_texts import SavedTexts
from agent_ls.lsp.workspace.editor_port import Editor
from agent_ls.lsp.workspace.open_files import OpenFile, OpenFiles

SaveFallback = Literal["ask", "write", "never"]

_OLDER = "A command reads the files on disk, where these are older"


class Saving:
    """Saves the open files of one editor."""

    def __init__(
        self,
        files: OpenFiles,
        editor: Editor,
        saved: SavedTexts,
        fallback: SaveFallback,
        note_saved: Callable[[str], None],
    ) -> None:
        """``fallback`` applies if the editor cannot save; ``note_saved`` then gets each URI."""
        self._note_saved = note_saved
        self._files, self._editor, self._saved = files, editor, saved
        self.fallback: SaveFallback = fallback

    def may_save(self, opened: OpenFile) -> bool:
        """Say whether the file can be saved without the user."""
        is_written = self.fallback == "write" and opened.standing == "unsaved"
        return self._editor.saves or is_written

    def bytes_of(self, opened: OpenFile) -> bytes:
        """Return the bytes the editor would save. Errors: ``WorkspaceError`` if uncertain."""
        if opened.on_disk is None:
            return opened.document.text.encode("utf-8", "surrogatepass")
        encodings = self._saved.encodings(opened.document.uri, opened.on_disk)
        text = self._saved.as_saved(opened.document)
        data = in_place_of(text, opened.on_disk, encodings)
        if isinstance(data, Refused):
            raise WorkspaceError(
                f"What the editor will write for {opened.path} is not certain: {data.reason}. Ask "
                "the user to save it as UTF-8."
            )
        return data

    async def save_all(self, *, can_show: bool = False) -> Unsaved:
        """Save all unsaved files; return those that remain unsaved, see ``Workspace.save_dirty``.

        With ``can_show`` the caller lays the unsaved texts over the disk for the program that
        reads it; the user is warned of the files for which that is impossible.
        """
        if unsaved := await self._files.unsaved():
            await self.save(unsaved)
            unsaved = await self._files.unsaved()
        texts = self._texts(unsaved) if can_show else {}
        unsaved = [one for one in unsaved if one.path not in texts]
        older = [one.path for one in unsaved if one.standing == "unsaved"]
        apart = [one.path for one in unsaved if one.standing == "apart"]
        if older and self.fallback == "ask":
            self._warn(f"{_OLDER}: {', '.join(older)}. Save them, or set save_fallback to write.")
        if older and self.fallback == "write":
            self._warn(
                f"{_OLDER} and could not be written: {', '.join(older)}. Save them in the editor."
            )
        if apart and self.fallback != "never":
            self._warn(
                f"Not saved, as the file on disk may have changed as well: {', '.join(apart)}. "
                "In the editor, save each to keep its text, or reload it to take that of the disk."
            )
        return Unsaved(
            tuple(one.path for one in unsaved),
            {self._files.disk.locate(path)[1]: data for path, data in texts.items()},
        )

    def _texts(self, unsaved: Sequence[OpenFile]) -> dict[str, bytes]:
        """Return by path what saving would write, where that is certain and there is a file."""
        texts: dict[str, bytes] = {}
        for one in unsaved:
            if one.standing == "unsaved" and one.on_disk is not None:
                with suppress(WorkspaceError):
                    texts[one.path] = self.bytes_of(one)
        return texts

    async def save(self, files: Sequence[OpenFile]) -> None:
        """Ask the editor to save these files; if it cannot, write them if ``fallback`` says so.

        The caller checks afterwards whether they are saved.
        """
        is_saved = await self._editor.save([one.document.uri for one in files])
        for one in files if not is_saved and self.fallback == "write" else ():
            await self._write(one.path)

    async def _write(self, path: str) -> None:
        """Write a buffer to its file, if the file is still what the editor last saved."""
        opened = await self._files.find(path)
        if opened is None or opened.standing != "unsaved":
            return
        try:
            data = self.bytes_of(opened)
        except WorkspaceError:
            return
        base = None if opened.on_disk is None else _image(opened.on_disk)
        outcome = await self._files.disk.put(
            PutImage(path=path, base=base, goal=_image(data)), data
        )
        if outcome.status == "applied":
            self._saved.note(opened.document.uri, opened.document.text, data)
            self._note_saved(opened.document.uri)

    def _warn(self, text: str) -> None:
        self._editor.say("warning", text)


def _image(data: bytes) -> FileImage:
    return FileImage(size_bytes=len(data), digest=hashlib.sha256(data).hexdigest())
