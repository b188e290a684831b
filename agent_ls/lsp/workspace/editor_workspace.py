"""The Workspace port over the editor: open buffers first, then the disk.

Owns the choice between buffer and disk; ``open_files`` knows which holds the newest text. Open
documents change only through the editor (``buffer_edits``, ``saving``, ``closing_files``). All else
is the disk workspace's part: roots, ignore rules, guarded writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from agent_ls.domain.edits import (
    ChangeText,
    CreateFile,
    DeleteFile,
    EditOutcome,
    FileEdit,
    MoveFile,
    Replacement,
    TextFile,
    apply_replacements,
)
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.images import PutImage
from agent_ls.domain.permissions import ModeChange
from agent_ls.edits.notebook_changes import why_it_breaks
from agent_ls.loop.ports.workspace import DirEntry, FilePart, Listed, Look, Root, Unsaved, Workspace
from agent_ls.lsp.connection.documents import (
    CELLS,
    DocumentEvent,
    DocumentEventKind,
    DocumentStore,
    Snapshot,
)
from agent_ls.lsp.connection.saved_texts import SavedTexts, as_bytes, digests_of, version_of
from agent_ls.lsp.connection.uris import uri_to_path
from agent_ls.lsp.workspace.buffer_edits import BufferEdits
from agent_ls.lsp.workspace.closing_files import ClosingFiles, why_it_stays
from agent_ls.lsp.workspace.editor_names import EditorNames
from agent_ls.lsp.workspace.editor_port import Editor
from agent_ls.lsp.workspace.open_files import OpenFiles
from agent_ls.lsp.workspace.saving import SaveFallback, Saving
from agent_ls.workspace.disk_files import version as disk_version
from agent_ls.workspace.disk_texts import decoded


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
        folders: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        """``saved`` has followed the documents from the start, if given.

        ``folders`` returns the URIs of the editor's folders.
        """
        self._editor = editor
        self._saved = saved or SavedTexts(documents)
        self._open = OpenFiles(disk, documents, self._saved)
        self._buffers = BufferEdits(documents, editor)
        self._saving = Saving(self._open, editor, self._saved, save_fallback, self.note_step)
        self._names = EditorNames(documents, folders)
        self._closing_files = ClosingFiles(
            self._open, documents, editor, self._saving, self._names.uri
        )
        self._followers: list[Callable[[Path], None]] = []
        """Called with each path that the user or the editor writes, creates, moves or deletes."""
        self._told_older: set[str] = set()
        """URIs whose user was told that the disk is newer; cleared by any document event."""
        documents.listen(self._on_document)

    def replace_disk(self, disk: Workspace) -> None:
        """Use other folders from now on."""
        self._open.disk = disk

    def use_save_fallback(self, fallback: SaveFallback) -> None:
        """Set what happens to unsaved files when the editor cannot save them."""
        self._saving.fallback = fallback

    @property
    def roots(self) -> tuple[Root, ...]:
        """Return the folders, in the editor's order."""
        return self._open.disk.roots

    def locate(self, path: str) -> tuple[Root, Path]:
        """Return the root and the absolute, resolved path that ``path`` names."""
        return self._open.disk.locate(path)

    def shown(self, absolute: Path) -> str | None:
        """Return the model's name for an absolute path."""
        return self._open.disk.shown(absolute)

    def open_document(self, path: str) -> Snapshot | None:
        """Return the open document of a path; None when it is not open or its file is gone."""
        return self._open.document(path)

    def closed_places(self, paths: Iterable[str]) -> Iterator[tuple[str, Path]]:
        """Yield the paths that are not open, with their resolved places."""
        return self._open.closed_places(paths)

    def uri(self, path: str) -> str:
        """Return the URI of a path in the editor's spelling."""
        document = self.open_document(path)
        return document.uri if document else self.uri_at(self.locate(path)[1])

    def uri_at(self, place: Path) -> str:
        """Return the editor's URI of a resolved path, as if it were closed."""
        return self._names.uri(place)

    async def read(self, path: str) -> TextFile:
        """Return the newest text, from the buffer or the disk."""
        opened = await self._open.holding_newest(path)
        if opened is None:
            return await self._open.disk.read(path)
        document = opened.document
        if not document.in_sync:
            raise WorkspaceError(
                f"{path}: the editor sent changes that could not be followed, so its text is "
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
            has_fixed_cells=document.language_id == CELLS,
            on_disk=_text(path, opened.on_disk) if is_apart else None,
            why_it_stays="" if may_go else why_it_stays(opened),
        )

    async def read_part(
        self, path: str, first: int, count: int, *, start: int = 0, max_chars: int
    ) -> FilePart:
        """Return lines of a file on disk."""
        disk = self._open.disk
        return await disk.read_part(path, first, count, start=start, max_chars=max_chars)

    async def image_bytes(self, path: str) -> bytes | None:
        """Return the bytes of an image on disk; None for any other file."""
        return await self._open.disk.image_bytes(path)

    async def snapshot(self, path: str) -> bytes | None:
        """Return the newest content: a buffer's text in UTF-8, else as the disk's workspace."""
        opened = await self._open.holding_newest(path)
        if opened is None:
            return await self._open.disk.snapshot(path)
        return as_bytes(opened.document, opened.on_disk)

    async def saved(self, path: str) -> bytes | None:
        """Return the file's bytes; for unsaved text, the bytes that the editor would save.

        Errors: ``WorkspaceError``, also where those are uncertain.
        """
        opened = await self._open.holding_newest(path)
        if opened is None:
            return await self._open.disk.saved(path)
        return opened.on_disk if opened.standing == "same" else self._saving.bytes_of(opened)

    async def mode(self, path: str) -> int | None:
        """Return the permissions of a file on disk; None when there is no file."""
        return await self._open.disk.mode(path)

    async def permit(self, path: str, change: ModeChange) -> None:
        """Change a file's permissions on disk, if they are still the old ones."""
        await self._open.disk.permit(path, change)

    async def compare(self, looks: Sequence[Look]) -> list[tuple[str, bool]]:
        """Return for each look the file's resolved name and whether the look still holds."""
        compared = await self._open.disk.compare(looks)
        if not (by_place := self._open.by_place()):
            return compared
        found: list[tuple[str, bool]] = []
        for look, (name, holds) in zip(looks, compared, strict=True):
            with suppress(WorkspaceError):
                if self.locate(look.path)[1] in by_place:
                    holds = await self._holds(look, holds)
            found.append((name, holds))
        return found

    async def _holds(self, look: Look, on_disk: bool) -> bool:
        """Say whether a look matches the newest text, as a buffer's or a file's version."""
        opened = await self._open.holding_newest(look.path)
        if opened is None:
            return on_disk
        return (on_disk and opened.standing == "same") or _holds(look, opened.document)

    async def exists(self, path: str) -> bool:
        """Say whether the path exists, as a buffer or on disk."""
        return await self._open.exists(path)

    async def list_dir(self, path: str) -> list[DirEntry]:
        """Return a folder's entries."""
        return await self._open.disk.list_dir(path)

    async def files(self, path: str = ".") -> Listed:
        """Return all files below a path."""
        return await self._open.disk.files(path)

    async def tracked_though_excluded(self, path: str) -> list[str]:
        """Return the files below a folder that only a rule ignores."""
        return await self._open.disk.tracked_though_excluded(path)

    def follow_editor(self, written: Callable[[Path], None]) -> Callable[[], None]:
        """Call ``written`` for each file that the editor changes; call the result to stop."""
        self._followers.append(written)
        return lambda: self._followers.remove(written)

    def note_step(self, uri: str) -> None:
        """Record that the user, or agent-ls for the editor, changed this file."""
        path = uri_to_path(uri) if self._followers else None
        if path is not None:
            for written in self._followers:
                written(path.resolve())

    def _on_document(self, event: DocumentEvent) -> None:
        self._told_older.discard(event.uri)
        if event.kind is DocumentEventKind.SAVED:
            self.note_step(event.uri)

    async def describe(self) -> str:
        """Return a short project tree."""
        return await self._open.disk.describe()

    async def dirty(self) -> list[TextFile]:
        """Return the open files with unsaved text.

        A buffer that is only behind the disk is not unsaved.
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
                with suppress(ValueError):
                    after = apply_replacements(document.text, edit.replacements)
                    if why := why_it_breaks(edit.path, document.text, after):
                        return EditOutcome(status="refused", reason=why)
                outcome = await self._buffers.change(
                    document.uri, edit.base_version, edit.replacements, f"Agent: edit {edit.path}"
                )
                if edit.mode is not None and outcome.status == "applied":
                    # LSP cannot set permissions; editors keep a file's permissions on saving.
                    await self.permit(edit.path, edit.mode)
                return outcome
            case CreateFile():
                return await self._create_in_buffer(edit, document)
            case DeleteFile() | MoveFile():
                return await self._closing_files.take_away(edit, document)

    async def put(self, edit: PutImage, data: bytes | None) -> EditOutcome:
        """Write bytes to a closed file; an open file is refused, to keep its buffer consistent."""
        for path in filter(None, (edit.path, edit.by_move)):
            if await self._open.holding_newest(path) is not None:
                return EditOutcome(
                    status="refused", reason=f"{path} is open in the editor; close it there first"
                )
        outcome = await self._open.disk.put(edit, data)
        return outcome if data is None else self._written(edit.path, outcome)

    def is_own_move(self, place: Path, new_place: Path) -> bool:
        """Say whether the agent asked the editor for this move; true once per move."""
        return self._closing_files.is_own_move(place, new_place)

    async def save_dirty(self, *, can_show: bool = False) -> Unsaved:
        """Save all buffers; return what remains unsaved."""
        return await self._saving.save_all(can_show=can_show)

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
        outcome = await self._open.disk.apply(edit)
        match edit:
            case DeleteFile():
                return outcome
            case MoveFile(new_path=path) | ChangeText(path=path) | CreateFile(path=path):
                return self._written(path, outcome)

    def _written(self, path: str, outcome: EditOutcome) -> EditOutcome:
        """Warn once if the editor still shows an open file's older text."""
        document = self._open.document(path)
        if outcome.status == "applied" and document and not self._editor.follows_disk:
            if document.uri not in self._told_older:
                words = f"{path} is shown in an older text; reload it to see the agent's change."
                self._editor.say("warning", words)
            self._told_older.add(document.uri)
        return outcome

    async def _create_in_buffer(self, edit: CreateFile, document: Snapshot) -> EditOutcome:
        """Fill a new buffer that is empty and unsaved; refuse any other."""
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
    """Say whether a look matches a document, by buffer or disk version."""
    if not document.in_sync:
        return False
    digests = digests_of(document.text)
    if look.version is None:
        return look.digest in digests
    return look.version in (version_of(document.text), *map(disk_version, digests))
