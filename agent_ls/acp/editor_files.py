"""The Workspace port over a client that has files open: its unsaved text first, then the disk.

A client answers for one file at a time and does not say which files are open. So searches and
lists see the disk, and a file counts as open while its text differs from the disk's.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Final, TypeVar

from acp import Client, RequestError
from acp.schema import FileSystemCapabilities

from agent_ls.domain.edits import (
    ChangeText,
    CreateFile,
    EditOutcome,
    FileEdit,
    TextFile,
    apply_replacements,
)
from agent_ls.domain.errors import WorkspaceError
from agent_ls.loop.ports.workspace import Look, Root, Unsaved
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.disk_files import version

SESSION: ContextVar[str] = ContextVar("acp_session", default="")
"""The session whose turn runs: a client wants it with each request, the Workspace port has none.

Set by the prompt; tasks that the turn starts inherit it.
"""

T = TypeVar("T")

_ANSWER_S: Final = 10.0
_RELOAD_S: Final = 0.3
"""How long an editor may take to show what another program wrote."""
_BOM = b"\xef\xbb\xbf"
_STAYS = "it has unsaved text in the editor: save it first"


class EditorFiles(DiskWorkspace):
    """The files of the folders as one client has them."""

    def __init__(self, roots: Sequence[Root], client: Client, can: FileSystemCapabilities) -> None:
        super().__init__(roots)
        self._client = client
        self._reads = bool(can.read_text_file)
        # Who cannot see unsaved text must not write over it.
        self._writes = self._reads and bool(can.write_text_file)
        self._agreed: dict[Path, str] = {}
        """Digest of the last text that the editor and the disk had in common, by place."""
        self._unsaved_paths: dict[Path, str] = {}
        self._applying: set[asyncio.Task[EditOutcome]] = set()

    async def read(self, path: str) -> TextFile:
        """Return the newest text, from the editor or the disk."""
        text = await self._unsaved(path)
        if text is None:
            return await super().read(path)
        return TextFile(
            path=path,
            text=text,
            version=version(_digest(text)),
            is_open=True,
            is_dirty=True,
            why_it_stays=_STAYS,
        )

    async def snapshot(self, path: str) -> bytes | None:
        """Return the newest content: unsaved text in UTF-8, else as the disk's workspace."""
        text = await self._unsaved(path)
        return await super().snapshot(path) if text is None else _encoded(text)

    async def saved(self, path: str) -> bytes | None:
        """Return unsaved text in UTF-8, else the disk's exact bytes."""
        text = await self._unsaved(path)
        return await super().saved(path) if text is None else _encoded(text)

    async def compare(self, looks: Sequence[Look]) -> list[tuple[str, bool]]:
        """Return for each look the file's name and whether it holds, also of unsaved text."""
        found = await super().compare(looks)
        if not self._unsaved_paths:
            return found
        return [
            (name, await self._holds(look, holds))
            for look, (name, holds) in zip(looks, found, strict=True)
        ]

    async def _holds(self, look: Look, holds: bool) -> bool:
        try:
            is_known = self.locate(look.path)[1] in self._unsaved_paths
            text = await self._unsaved(look.path) if is_known else None
        except WorkspaceError:
            return False
        if text is None:
            return holds
        digest = _digest(text)
        return digest == look.digest if look.version is None else look.version == version(digest)

    async def dirty(self) -> list[TextFile]:
        """Return the files that had unsaved text when they were read, and still have."""
        files: list[TextFile] = []
        for path in list(self._unsaved_paths.values()):
            with suppress(WorkspaceError):
                files.append(await self.read(path))
        return [one for one in files if one.is_dirty]

    async def save_dirty(self, *, can_show: bool = False) -> Unsaved:
        """Save nothing, since the protocol cannot; return the files with unsaved text."""
        return Unsaved(tuple(one.path for one in await self.dirty()))

    def begin_turn(self) -> None:
        """Forget what the editor and the disk had in common: the user has worked meanwhile."""
        self._agreed.clear()

    async def apply(self, edit: FileEdit) -> EditOutcome:
        """Carry out one file edit: of text through the editor where it takes edits."""
        task = asyncio.create_task(self._apply_in_words(edit))
        self._applying.add(task)
        task.add_done_callback(self._applying.discard)
        return await asyncio.shield(task)

    async def _apply_in_words(self, edit: FileEdit) -> EditOutcome:
        try:
            return await self._apply_newest(edit)
        except WorkspaceError as error:
            return EditOutcome(status="refused", reason=str(error))

    async def _apply_newest(self, edit: FileEdit) -> EditOutcome:
        if isinstance(edit, CreateFile):
            place = self.locate(edit.path)[1]
            is_plain = edit.encoding is None and edit.mode is None and place.parent.is_dir()
            if not self._writes or not is_plain or await self.exists(edit.path):
                return await super().apply(edit)
            if await self._never_saved(edit.path):
                return EditOutcome(status="refused", reason=f"{edit.path}: {_STAYS}.")
            return await self._write_in_editor(edit.path, None, edit.text)
        text = await self._unsaved(edit.path)
        if text is None and not await self._may_change_in_editor(edit):
            return await super().apply(edit)
        if not isinstance(edit, ChangeText) or not self._writes:
            return EditOutcome(status="refused", reason=f"{edit.path}: {_STAYS}.")
        return await self._change_in_editor(edit)

    async def _never_saved(self, path: str) -> str:
        """Return the editor's text of a file that is not on the disk; empty: it has none."""
        place, session = str(self.locate(path)[1]), SESSION.get()
        try:
            request = self._client.read_text_file(path=place, session_id=session)
            return (await self._asked(request, path)).content
        except RequestError:
            return ""

    async def _may_change_in_editor(self, edit: FileEdit) -> bool:
        if not self._writes or not isinstance(edit, ChangeText):
            return False
        with suppress(WorkspaceError):
            if (await super().read(edit.path)).encoding:
                # The protocol cannot say in which encoding the editor is to write.
                return False
        # An editor may lose the mark at the beginning of a file.
        return not (await super().snapshot(edit.path) or b"").startswith(_BOM)

    async def _change_in_editor(self, edit: ChangeText) -> EditOutcome:
        file = await self.read(edit.path)
        if file.version != edit.base_version:
            return EditOutcome(status="stale", reason="the file has changed since it was read.")
        text = apply_replacements(file.text, edit.replacements)
        outcome = await self._write_in_editor(edit.path, file.text, text)
        if edit.mode is not None and outcome.status == "applied":
            await self.permit(edit.path, edit.mode)
        return outcome

    async def _write_in_editor(self, path: str, before: str | None, text: str) -> EditOutcome:
        """Let the editor write a text, and return what the file then holds."""
        try:
            session, place = SESSION.get(), str(self.locate(path)[1])
            writing = self._client.write_text_file(content=text, path=place, session_id=session)
            await self._asked(writing, path)
        except RequestError as error:
            return EditOutcome(status="refused", reason=f"{path}: the editor refused it: {error}.")
        except WorkspaceError as error:
            return EditOutcome(status="unconfirmed", reason=str(error))
        try:
            after = await self.read(path)
        except WorkspaceError as error:
            return EditOutcome(status="unconfirmed", reason=str(error))
        if after.text == before:
            reason = f"{path}: the editor took the edit, but the text is still the old one."
            return EditOutcome(status="unconfirmed", reason=reason)
        # Editors may format what they save.
        return EditOutcome(status="applied", version=after.version, text=after.text)

    async def _unsaved(self, path: str) -> str | None:
        """Return the editor's text where it is newer than the disk's; None: the disk has it.

        Errors: ``WorkspaceError`` when the editor does not answer, or both were changed.
        """
        if not self._reads:
            return None
        place = self.locate(path)[1]
        found = await self._both(path, place)
        if found is not None and place not in self._agreed:
            # The editor may not have seen yet what a command has just written.
            await asyncio.sleep(_RELOAD_S)
            found = await self._both(path, place)
        if found is None:
            self._unsaved_paths.pop(place, None)
            return None
        said, on_disk = found
        agreed = self._agreed.setdefault(place, _plain_digest(on_disk))
        if _plain_digest(said) == agreed:
            # The editor still shows an older text, which nobody has typed in.
            return None
        if _plain_digest(on_disk) != agreed:
            raise WorkspaceError(
                f"{path} was changed on disk while the editor has unsaved text of it. The user has "
                "to save or reload it in the editor first."
            )
        self._unsaved_paths[place] = path
        return said

    async def _both(self, path: str, place: Path) -> tuple[str, str] | None:
        """Return the texts of the editor and the disk; None if they are one, or not both there."""
        try:
            file = await super().read(path)
        except WorkspaceError:
            # Missing, binary, too large: the disk's reader says so.
            return None
        request = self._client.read_text_file(path=str(place), session_id=SESSION.get())
        try:
            said = (await self._asked(request, path)).content
        except RequestError:
            # The editor does not show files outside of its project, or has none of this name.
            return None
        if _plain_digest(said) == _plain_digest(file.text):
            self._agreed[place] = _plain_digest(said)
            return None
        if file.encoding:
            # The editor may have unsaved text, or have read the file in another encoding.
            raise WorkspaceError(
                f"{path} is in {file.encoding}, and the editor shows another text of it. The user "
                "has to save and close it in the editor first."
            )
        return said, file.text

    async def _asked(self, request: Awaitable[T], path: str) -> T:
        try:
            return await asyncio.wait_for(request, _ANSWER_S)
        except (TimeoutError, ConnectionError):
            raise WorkspaceError(
                f"{path}: the editor has not answered for {_ANSWER_S:g} s, so its text is not "
                "known. Look at the file before you go on."
            ) from None


def _plain_digest(text: str) -> str:
    """Return the digest of a text as editors keep it: with LF, and without a byte order mark."""
    return _digest(text.removeprefix("\ufeff").replace("\r\n", "\n"))


def _digest(text: str) -> str:
    return hashlib.sha256(_encoded(text)).hexdigest()


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
