"""The Workspace port over the editor: open buffers first, then the disk.

A buffer that the editor has not loaded again since its file was written counts as closed.

Owns the choice between buffer and disk, and bringing the disk up to the buffers. Texts of open
documents change only through the editor (``buffer_edits``); everything else is the disk's own
workspace, which knows roots, ignore rules and guarded writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

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
from agent_ls.loop.ports.workspace import DirEntry, Look, Root, Workspace
from agent_ls.lsp.buffer_edits import BufferEdits, EditSender, Reply
from agent_ls.lsp.documents import DocumentEvent, DocumentEventKind, DocumentStore, Snapshot
from agent_ls.lsp.saved_texts import SavedTexts, Standing, as_saved, digests_of, version_of
from agent_ls.lsp.uris import path_to_uri, uri_to_path
from agent_ls.safety.paths import check_no_link
from agent_ls.workspace.disk_files import digest
from agent_ls.workspace.disk_files import version as disk_version

_STALE = EditOutcome(status="stale", reason="the text changed meanwhile")

SaveFallback = Literal["ask", "write", "never"]


class Editor(EditSender, Protocol):
    """What the workspace asks of the editor."""

    async def save(self, uris: list[str]) -> bool:
        """Ask the editor to save documents; False when it cannot be asked."""
        ...

    async def take_away(self, uri: str, new_uri: str | None) -> Reply:
        """Let the editor delete a document's file, or move it; ``nothing`` when it cannot."""
        ...

    def advise_saving(self, paths: list[str]) -> None:
        """Tell the person which files to save."""
        ...

    def advise_settling(self, paths: list[str]) -> None:
        """Tell the person in which files the unsaved text and the disk's went apart."""
        ...


@dataclass(frozen=True, slots=True)
class _Opened:
    """An open document beside its file."""

    path: str
    document: Snapshot
    on_disk: bytes | None
    standing: Standing


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
        self._disk = disk
        self._documents = documents
        self._editor = editor
        self._save_fallback: SaveFallback = save_fallback
        self._buffers = BufferEdits(documents, editor, version_of)
        self._gone: dict[str, int] = {}
        """Documents whose file the agent took away, by URI, with their revision then: they count
        as closed until the person does something with them."""
        self._saved = saved or SavedTexts(documents)
        documents.listen(self._on_document)

    def close(self) -> None:
        """Settle the edits under way as they are: the editor leaves."""
        self._buffers.close()

    def replace_disk(self, disk: Workspace) -> None:
        """Work on other folders from now on."""
        self._disk = disk

    def use_save_fallback(self, fallback: SaveFallback) -> None:
        """Change what happens to unsaved files when the editor cannot save them."""
        self._save_fallback = fallback

    @property
    def roots(self) -> tuple[Root, ...]:
        """Return the folders, in the editor's order."""
        return self._disk.roots

    def locate(self, path: str) -> tuple[Root, Path]:
        """Return the root and the absolute, resolved path that ``path`` names."""
        return self._disk.locate(path)

    def shown(self, absolute: Path) -> str | None:
        """Return how the model names an absolute path."""
        return self._disk.shown(absolute)

    def open_document(self, path: str) -> Snapshot | None:
        """Return the open document of a path; None when it is closed, or its file is gone."""
        _, absolute = self.locate(path)
        found = self._documents.at_path(absolute)
        if found is None:
            return self._by_place().get(absolute)
        return None if found.uri in self._gone else found

    def uri(self, path: str) -> str:
        """Return the URI of a path: as the editor spells it when it is open."""
        document = self.open_document(path)
        return document.uri if document else path_to_uri(self.locate(path)[1])

    async def read(self, path: str) -> TextFile:
        """Return the newest text."""
        opened = await self._counted(path)
        if opened is None:
            return await self._disk.read(path)
        document = opened.document
        if not document.in_sync:
            raise WorkspaceError(
                f"{path}: the editor sent a change that could not be understood, so its text is "
                "not known. Close the file in the editor and open it again."
            )
        return TextFile(
            path=path,
            text=document.text,
            version=version_of(document.text),
            is_open=True,
            is_dirty=opened.standing != "same",
        )

    async def snapshot(self, path: str) -> bytes | None:
        """Return the exact newest content: a buffer as it would be saved, else the disk's."""
        opened = await self._counted(path)
        if opened is None:
            return await self._disk.snapshot(path)
        return as_saved(opened.document, opened.on_disk)

    async def compare(self, looks: Sequence[Look]) -> list[tuple[str, bool]]:
        """Return of each look the file's own name and whether the look still holds."""
        compared = await self._disk.compare(looks)
        found = await self._beside_looks(looks)
        return [
            (name, holds if document is None else _holds(look, document))
            for look, document, (name, holds) in zip(looks, found, compared, strict=True)
        ]

    async def _beside_looks(self, looks: Sequence[Look]) -> list[Snapshot | None]:
        """Return of each look the document that counts, without reading what nobody touched."""
        by_place = self._by_place()
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
        there = await self._disk.compare([look for _, look in asked])
        same = {at for (at, _), (_, holds) in zip(asked, there, strict=True) if holds}
        for at in {at for at, _ in asked} - same:
            found[at] = None
        return found

    async def exists(self, path: str) -> bool:
        """Say whether anything is there, in a buffer or on disk."""
        if self.open_document(path) is not None:
            try:
                if await self._counted(path) is not None:
                    return True
            except WorkspaceError:
                return True
        return await self._disk.exists(path)

    async def list_dir(self, path: str) -> list[DirEntry]:
        """Return a folder's entries."""
        return await self._disk.list_dir(path)

    async def files(self, path: str = ".") -> list[str]:
        """Return all files below."""
        return await self._disk.files(path)

    def saved_since(self, at_ns: int) -> Mapping[Path, str]:
        """Return the texts that the editor has saved since that time, by place."""
        return self._saved.saved_since(at_ns)

    async def describe(self) -> str:
        """Return a short project tree."""
        return await self._disk.describe()

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
            for one in await self._unsaved()
        ]

    async def apply(self, edit: FileEdit) -> EditOutcome:
        """Carry out one file edit, in the buffer if there is one, else on disk."""
        opened = await self._counted(edit.path)
        if opened is None:
            return await self._apply_on_disk(edit)
        document = opened.document
        match edit:
            case ChangeText():
                return await self._buffers.change(
                    document.uri, edit.base_version, edit.replacements, f"Agent: edit {edit.path}"
                )
            case CreateFile():
                return await self._create_in_buffer(edit, document)
            case DeleteFile() | MoveFile():
                return await self._take_away(edit, document)

    async def put(self, edit: PutImage, data: bytes | None) -> EditOutcome:
        """Give a closed file these bytes; one that is open is not written behind the editor."""
        if await self._counted(edit.path) is not None:
            return EditOutcome(
                status="refused", reason=f"{edit.path} is open in the editor; close it there first"
            )
        return await self._disk.put(edit, data)

    async def save_dirty(self) -> list[str]:
        """Bring the disk up to the buffers; return the paths where that did not work."""
        unsaved = await self._unsaved()
        if not unsaved:
            return []
        await self._save([one.path for one in unsaved])
        unsaved = await self._unsaved()
        older = [one.path for one in unsaved if one.standing == "unsaved"]
        apart = [one.path for one in unsaved if one.standing == "apart"]
        if older and self._save_fallback == "ask":
            self._editor.advise_saving(older)
        if apart and self._save_fallback != "never":
            self._editor.advise_settling(apart)
        return [one.path for one in unsaved]

    async def _apply_on_disk(self, edit: FileEdit) -> EditOutcome:
        if isinstance(edit, MoveFile) and await self._counted(edit.new_path) is not None:
            return EditOutcome(
                status="refused", reason=f"{edit.new_path} is open in the editor; choose another"
            )
        return await self._disk.apply(edit)

    async def _create_in_buffer(self, edit: CreateFile, document: Snapshot) -> EditOutcome:
        """Fill a new, empty buffer that nobody has saved yet; anything else is in the way."""
        if document.text or await self._disk.exists(edit.path):
            return EditOutcome(
                status="refused",
                reason=f"{edit.path} already exists in the editor; read it and edit it instead",
            )
        whole = (Replacement(start=0, end=0, text=edit.text),)
        label = f"Agent: write {edit.path}"
        return await self._buffers.change(document.uri, None, whole, label)

    async def _take_away(self, edit: DeleteFile | MoveFile, document: Snapshot) -> EditOutcome:
        """Delete or move the file of an open document; unsaved text is never lost."""
        try:
            check_no_link(edit.path, self.roots)
        except WorkspaceError as error:
            return EditOutcome(status="refused", reason=str(error))
        new_path = edit.new_path if isinstance(edit, MoveFile) else None
        if new_path is not None and await self.exists(new_path):
            return EditOutcome(status="refused", reason=f"{new_path} exists; choose another path")
        if version_of(document.text) != edit.base_version:
            return _STALE
        opened = await self._counted(edit.path)
        if opened and opened.document.in_sync and opened.standing != "same":
            # What is not saved may be the agent's own edit of a moment ago.
            await self._save([edit.path])
            opened = await self._counted(edit.path)
        if opened is None or version_of(opened.document.text) != edit.base_version:
            return _STALE
        if opened.standing != "same" or opened.on_disk is None:
            return EditOutcome(status="refused", reason=_why_it_stays(opened))
        agreed = edit.model_copy(update={"base_version": digest(opened.on_disk)})
        return await self._take_agreed(agreed, opened.document)

    async def _take_agreed(self, edit: DeleteFile | MoveFile, document: Snapshot) -> EditOutcome:
        """Delete or move a file that holds its document's text, and nothing newer than that."""
        new_uri = path_to_uri(self.locate(edit.new_path)[1]) if edit.kind == "move" else None
        reply = await self._editor.take_away(document.uri, new_uri)
        if reply.said == "no":
            why = f": {reply.reason}" if reply.reason else ""
            return EditOutcome(status="refused", reason=f"the editor refused{why}")
        if await self._disk.exists(edit.path):
            # The editor cannot, or did not.
            now = self._documents.get(document.uri)
            if now is not None and now.text != document.text:
                return _STALE
            outcome = await self._disk.apply(edit)
            if outcome.status != "applied":
                return outcome
        now = self._documents.get(document.uri)
        if now is not None:
            self._saved.note(now.uri, None)
            if now.text == document.text:
                self._gone[now.uri] = now.revision
        return EditOutcome(status="applied")

    async def _save(self, paths: Sequence[str]) -> None:
        """Have the editor save these buffers, or write them if that is what is to be done then."""
        is_saved = await self._editor.save([self.uri(path) for path in paths])
        if not is_saved and self._save_fallback == "write":
            for path in paths:
                await self._write_buffer(path)

    async def _write_buffer(self, path: str) -> None:
        """Write a buffer's text to its file, if the file is still what the editor last saved."""
        opened = await self._opened(path)
        if opened is None or opened.standing != "unsaved":
            return
        text = opened.document.text
        edit: FileEdit = CreateFile(path=path, text=text)
        if opened.on_disk is not None:
            try:
                on_disk = await self._disk.read(path)
            except WorkspaceError:
                return
            whole = Replacement(start=0, end=len(on_disk.text), text=text)
            base = digest(opened.on_disk)
            edit = ChangeText(path=path, base_version=base, replacements=(whole,))
        outcome = await self._disk.apply(edit)
        if outcome.status == "applied":
            self._saved.note(opened.document.uri, text)

    async def _unsaved(self) -> list[_Opened]:
        """Return the open files that are not as their files are, but those only behind them."""
        found = [await self._beside(path, document) for path, document in self._open_files()]
        return [
            one
            for one in found
            if one and one.document.in_sync and one.standing in ("unsaved", "apart")
        ]

    async def _counted(self, path: str) -> _Opened | None:
        """Return the open document of a path whose text counts.

        None as well where the editor shows a text that is behind the disk's: nobody typed there,
        so the disk has the newest text, and an edit of the older one would be lost on one side.
        """
        opened = await self._opened(path)
        return None if opened is None or opened.standing == "behind" else opened

    async def _opened(self, path: str) -> _Opened | None:
        """Return the open document of a path as it stands; None when there is none."""
        document = self.open_document(path)
        return None if document is None else await self._beside(path, document)

    async def _beside(self, path: str, document: Snapshot) -> _Opened | None:
        """Look at a document beside its file; None when it was closed meanwhile."""
        on_disk = await self._disk.snapshot(path)
        now = self._documents.get(document.uri)
        if now is None:
            return None
        return _Opened(path, now, on_disk, self._saved.standing(now, on_disk))

    def _open_files(self) -> list[tuple[str, Snapshot]]:
        """Return the open documents that are files below the roots, in the order of opening.

        One that no tool may name, by a control character or a link that leads out, is none.
        """
        found: list[tuple[str, Snapshot]] = []
        for uri in self._documents.uris():
            document = self._documents.get(uri)
            path = uri_to_path(uri)
            shown = None if path is None else self.shown(path)
            if document is None or shown is None or uri in self._gone:
                continue
            try:
                self.locate(shown)
            except WorkspaceError:
                continue
            found.append((shown, document))
        return found

    def _by_place(self) -> dict[Path, Snapshot]:
        """Return the open documents by where their paths lead, over links as well."""
        found: dict[Path, Snapshot] = {}
        for uri in self._documents.uris():
            path, document = uri_to_path(uri), self._documents.get(uri)
            if path is not None and document is not None and uri not in self._gone:
                found.setdefault(path.resolve(), document)
        return found

    def _on_document(self, event: DocumentEvent) -> None:
        """A document that is opened, changed, saved or closed is what it says it is again."""
        if event.uri in self._gone and (
            event.kind is not DocumentEventKind.CHANGED or event.revision != self._gone[event.uri]
        ):
            del self._gone[event.uri]


def _holds(look: Look, document: Snapshot) -> bool:
    """Say whether a document holds what was seen, in it or on disk."""
    if not document.in_sync:
        return False
    digests = digests_of(document.text)
    if look.version is None:
        return look.digest in digests
    return look.version in (version_of(document.text), *map(disk_version, digests))


def _why_it_stays(opened: _Opened) -> str:
    """Return why the file of an open document is not taken away, and what to do."""
    if opened.standing == "unsaved":
        return (
            f"{opened.path} is open with unsaved changes, which this editor cannot be asked to "
            "save. Ask the user to save it, or to set save_fallback to write"
        )
    return (
        f"{opened.path} is open with unsaved changes, and what the disk holds is not what they "
        "are known to have begun with. Ask the user to save or to reload it in the editor"
    )
