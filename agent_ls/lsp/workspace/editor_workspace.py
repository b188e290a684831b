"""The Workspace port over the editor: open buffers first, then the disk.

Owns the choice between buffer and disk for each thing that is asked; which of the two holds the
newest text is known to ``open_files``. Texts of open documents change only through the editor
(``buffer_edits``, ``saving``, ``taking_away``); everything else is the disk's own workspace, which
knows roots, ignore rules and guarded writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from agent_ls.domain.edits import (
    ChangeText,
    CreateFile,
    DeleteFile,
    EditOutcome,
    FileEdit,
    MoveFile,
    Replacement,
    TextFile,
)
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.images import PutImage
from agent_ls.domain.permissions import ModeChange
from agent_ls.edits.in_place import in_place_of
from agent_ls.edits.requests import Refused
from agent_ls.loop.ports.workspace import DirEntry, Listed, Look, Root, Workspace
from agent_ls.lsp.connection.documents import DocumentStore, Snapshot
from agent_ls.lsp.connection.saved_texts import SavedTexts, as_bytes, digests_of, version_of
from agent_ls.lsp.connection.uris import path_to_uri
from agent_ls.lsp.workspace.buffer_edits import BufferEdits, EditSender
from agent_ls.lsp.workspace.editor_steps import EditorSteps
from agent_ls.lsp.workspace.open_files import OpenFiles
from agent_ls.lsp.workspace.reloading import Reloading, ReloadingEditor
from agent_ls.lsp.workspace.saving import SaveFallback, Saving, SavingEditor
from agent_ls.lsp.workspace.taking_away import TakingAway, TakingEditor, why_it_stays
from agent_ls.workspace.disk import decoded
from agent_ls.workspace.disk_files import version as disk_version


class Editor(EditSender, SavingEditor, TakingEditor, ReloadingEditor, Protocol):
    """What the workspace asks of the editor."""


class EditorWorkspace:
    """The files of one editor's folders."""

    def __init__(
        self,
        disk: Workspace,
        documents: DocumentStore,
        editor: Editor,
        saved: SavedTexts | None = None,
        *,
        save_fallback: SaveFallback = "ask",
    ) -> None:
        """Take the disk's workspace, the open documents, the way to the editor, and what is known
        of the documents' files if somebody followed them from the start."""
        saved = saved or SavedTexts(documents)
        self._saved = saved
        self._open = OpenFiles(disk, documents, saved)
        self.steps = EditorSteps(documents)
        """What the editor does to files."""
        self._buffers = BufferEdits(documents, editor)
        self._saving = Saving(self._open, editor, saved, save_fallback, self.steps.note)
        self.reloading = Reloading(self._open, documents, editor)
        """Hears of what commands take away."""
        self._taking_away = TakingAway(
            self._open, documents, editor, self._saving, self.reloading.on_taken
        )

    def close(self) -> None:
        """Settle the edits under way as they are: the editor leaves."""
        self._buffers.close()
        self.reloading.close()

    def replace_disk(self, disk: Workspace) -> None:
        """Work on other folders from now on."""
        self._open.disk = disk

    def use_save_fallback(self, fallback: SaveFallback) -> None:
        """Change what happens to unsaved files when the editor cannot save them."""
        self._saving.fallback = fallback

    @property
    def roots(self) -> tuple[Root, ...]:
        """Return the folders, in the editor's order."""
        return self._open.disk.roots

    def locate(self, path: str) -> tuple[Root, Path]:
        """Return the root and the absolute, resolved path that ``path`` names."""
        return self._open.disk.locate(path)

    def shown(self, absolute: Path) -> str | None:
        """Return how the model names an absolute path."""
        return self._open.disk.shown(absolute)

    def open_document(self, path: str) -> Snapshot | None:
        """Return the open document of a path; None when it is closed, or its file is gone."""
        return self._open.document(path)

    def closed_places(self, paths: Iterable[str]) -> Iterator[tuple[str, Path]]:
        """Yield those of these paths that are not open, with where they lead."""
        return self._open.closed_places(paths)

    def uri(self, path: str) -> str:
        """Return the URI of a path: as the editor spells it when it is open."""
        document = self.open_document(path)
        return document.uri if document else path_to_uri(self.locate(path)[1])

    async def read(self, path: str) -> TextFile:
        """Return the newest text."""
        opened = await self._open.holding_newest(path)
        if opened is None:
            return await self._open.disk.read(path)
        document = opened.document
        if not document.in_sync:
            raise WorkspaceError(
                f"{path}: the editor sent a change that could not be understood, so its text is "
                "not known. Close the file in the editor and open it again."
            )
        is_apart = opened.standing == "apart"
        may_go = opened.standing == "same" or self._saving.may_save(opened)
        return TextFile(
            path=path,
            text=document.text,
            version=version_of(document.text),
            is_open=True,
            is_dirty=opened.standing != "same",
            is_apart=is_apart,
            on_disk=_text(path, opened.on_disk) if is_apart else None,
            why_it_stays="" if may_go else why_it_stays(opened),
        )

    async def snapshot(self, path: str) -> bytes | None:
        """Return the newest content: a buffer's text in UTF-8, else the disk's exact bytes."""
        opened = await self._open.holding_newest(path)
        if opened is None:
            return await self._open.disk.snapshot(path)
        return as_bytes(opened.document, opened.on_disk)

    async def saved(self, path: str) -> bytes | None:
        """Return the file's bytes; of unsaved text those that the editor is about to write.

        Errors: ``WorkspaceError`` also where these are not certain.
        """
        opened = await self._open.holding_newest(path)
        if opened is None:
            return await self._open.disk.snapshot(path)
        if opened.standing == "same":
            return opened.on_disk
        document, on_disk = opened.document, opened.on_disk
        if on_disk is None:
            return document.text.encode("utf-8", "surrogatepass")
        encodings = self._saved.encodings(document.uri, on_disk)
        data = in_place_of(self._saved.as_saved(document), on_disk, encodings)
        if isinstance(data, Refused):
            raise WorkspaceError(
                f"What the editor will write for {path} is not certain: {data.reason}. Ask the "
                "user to save it as UTF-8."
            )
        return data

    async def mode(self, path: str) -> int | None:
        """Return the permissions of a file on disk; None when none is there."""
        return await self._open.disk.mode(path)

    async def permit(self, path: str, change: ModeChange) -> None:
        """Give a file on disk other permissions, if it still has those of before."""
        await self._open.disk.permit(path, change)

    async def compare(self, looks: Sequence[Look]) -> list[tuple[str, bool]]:
        """Return of each look the file's own name and whether the look still holds."""
        compared = await self._open.disk.compare(looks)
        found = await self._beside_looks(looks)
        return [
            (name, holds if document is None else await self._holds(look, document, holds))
            for look, document, (name, holds) in zip(looks, found, compared, strict=True)
        ]

    async def _holds(self, look: Look, document: Snapshot, on_disk: bool) -> bool:
        """Say whether a document holds what was seen, in it or in the form its file has."""
        if _holds(look, document) or not on_disk:
            return _holds(look, document)
        opened = await self._open.find(look.path)
        return opened is not None and opened.standing == "same"

    async def _beside_looks(self, looks: Sequence[Look]) -> list[Snapshot | None]:
        """Return of each look the document that counts, without reading what nobody touched."""
        by_place = self._open.by_place()
        found: list[Snapshot | None] = [None] * len(looks)
        for at, look in enumerate(looks if by_place else ()):
            with suppress(WorkspaceError):
                found[at] = by_place.get(self.locate(look.path)[1])
        asked = [
            (at, Look(looks[at].path, digest=one_digest))
            for at, one in enumerate(found)
            if one is not None and self._saved.may_be_behind(one)
            for one_digest in digests_of(one.text)
        ]
        there = await self._open.disk.compare([look for _, look in asked])
        same = {at for (at, _), (_, holds) in zip(asked, there, strict=True) if holds}
        for at in {at for at, _ in asked} - same:
            found[at] = None
        return found

    async def exists(self, path: str) -> bool:
        """Say whether anything is there, in a buffer or on disk."""
        return await self._open.exists(path)

    async def list_dir(self, path: str) -> list[DirEntry]:
        """Return a folder's entries."""
        return await self._open.disk.list_dir(path)

    async def files(self, path: str = ".") -> Listed:
        """Return all files below."""
        return await self._open.disk.files(path)

    def follow_editor(self, written: Callable[[Path], None]) -> Callable[[], None]:
        """Tell of the files that the editor changes, until the answer is called."""
        return self.steps.follow(written)

    async def describe(self) -> str:
        """Return a short project tree."""
        return await self._open.disk.describe()

    async def dirty(self) -> list[TextFile]:
        """Return the open files with text that the disk does not hold.

        One that is only behind the disk, as nobody loaded it again, has none.
        """
        return [
            TextFile(
                path=one.path,
                text=one.document.text,
                version=version_of(one.document.text),
                is_open=True,
                is_dirty=True,
            )
            for one in await self._open.unsaved()
        ]

    async def apply(self, edit: FileEdit) -> EditOutcome:
        """Carry out one file edit, in the buffer if there is one, else on disk."""
        opened = await self._open.holding_newest(edit.path)
        if opened is None:
            return await self._apply_on_disk(edit)
        document = opened.document
        match edit:
            case ChangeText():
                outcome = await self._buffers.change(
                    document.uri, edit.base_version, edit.replacements, f"Agent: edit {edit.path}"
                )
                if edit.mode is not None and outcome.status == "applied":
                    # No editor can be asked to; saving keeps what the file has.
                    await self.permit(edit.path, edit.mode)
                return outcome
            case CreateFile():
                return await self._create_in_buffer(edit, document)
            case DeleteFile() | MoveFile():
                return await self._taking_away.take_away(edit, document)

    async def put(self, edit: PutImage, data: bytes | None) -> EditOutcome:
        """Give a closed file these bytes; one that is open is not written behind the editor."""
        for path in filter(None, (edit.path, edit.by_move)):
            if await self._open.holding_newest(path) is not None:
                return EditOutcome(
                    status="refused", reason=f"{path} is open in the editor; close it there first"
                )
        return self._written(edit.path, await self._open.disk.put(edit, data))

    def is_own_move(self, place: Path, new_place: Path) -> bool:
        """Say whether a file was moved by the editor because the agent asked for it; once each."""
        return self._taking_away.is_own_move(place, new_place)

    async def save_dirty(self) -> list[str]:
        """Bring the disk up to the buffers; return the paths where that did not work."""
        return await self._saving.save_all()

    async def _apply_on_disk(self, edit: FileEdit) -> EditOutcome:
        if (
            isinstance(edit, MoveFile)
            and await self._open.holding_newest(edit.new_path) is not None
        ):
            return EditOutcome(
                status="refused", reason=f"{edit.new_path} is open in the editor; choose another"
            )
        found = await self._open.find(edit.path) if isinstance(edit, ChangeText) else None
        if found is not None and found.on_disk is not None:
            self._saved.note_replaced(found.document.uri, found.on_disk)
        path = edit.new_path if isinstance(edit, MoveFile) else edit.path
        return self._written(path, await self._open.disk.apply(edit))

    def _written(self, path: str, outcome: EditOutcome) -> EditOutcome:
        """See to it that the person hears of an open file that does not show what was written."""
        if outcome.status == "applied":
            self.reloading.on_written(path)
        return outcome

    async def _create_in_buffer(self, edit: CreateFile, document: Snapshot) -> EditOutcome:
        """Fill a new, empty buffer that nobody has saved yet; anything else is in the way."""
        if document.text or await self._open.disk.exists(edit.path):
            return EditOutcome(
                status="refused",
                reason=f"{edit.path} already exists in the editor; read it and edit it instead",
            )
        if edit.encoding is not None:
            return EditOutcome(
                status="refused",
                reason=f"{edit.path} is open in the editor as a new file, which cannot be told to "
                f"be saved in another encoding; close it there first",
            )
        whole = (Replacement(start=0, end=0, text=edit.text),)
        label = f"Agent: write {edit.path}"
        return await self._buffers.change(document.uri, None, whole, label)


def _text(path: str, data: bytes | None) -> str | None:
    try:
        return None if data is None else decoded(data, path)
    except WorkspaceError:
        return None


def _holds(look: Look, document: Snapshot) -> bool:
    """Say whether a document holds what was seen, in it or on disk."""
    if not document.in_sync:
        return False
    digests = digests_of(document.text)
    if look.version is None:
        return look.digest in digests
    return look.version in (version_of(document.text), *map(disk_version, digests))
