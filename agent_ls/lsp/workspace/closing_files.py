"""Deletes or moves the file of an open document without losing text.

Unsaved text is saved first. The file is deleted or moved only while it holds the document's text as
the calling tool has seen it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path

from agent_ls.domain.edits import DeleteFile, EditOutcome, MoveFile
from agent_ls.domain.errors import WorkspaceError
from agent_ls.lsp.connection.documents import DocumentStore, Snapshot
from agent_ls.lsp.connection.saved_texts import version_of
from agent_ls.lsp.workspace.editor_port import Editor
from agent_ls.lsp.workspace.open_files import OpenFile, OpenFiles
from agent_ls.lsp.workspace.saving import Saving
from agent_ls.safety.paths import check_no_link
from agent_ls.workspace.disk_files import digest

_MOST_MOVES = 64
_STALE = EditOutcome(status="stale", reason="the text changed meanwhile")


class ClosingFiles:
    """Deletes and moves files of open documents."""

    def __init__(
        self,
        files: OpenFiles,
        documents: DocumentStore,
        editor: Editor,
        saving: Saving,
        uri_of: Callable[[Path], str],
    ) -> None:
        """``uri_of`` returns the editor's URI of a resolved path."""
        self._files, self._documents = files, documents
        self._editor, self._saving, self._uri_of = editor, saving, uri_of
        self._moves: deque[tuple[Path, Path]] = deque(maxlen=_MOST_MOVES)
        """Moves that the editor was asked for and has not reported; some editors never do."""

    def is_own_move(self, place: Path, new_place: Path) -> bool:
        """Say whether the editor was asked for this move; ask once per reported move."""
        if (place, new_place) not in self._moves:
            return False
        self._moves.remove((place, new_place))
        return True

    async def take_away(self, edit: DeleteFile | MoveFile, document: Snapshot) -> EditOutcome:
        """Delete or move the file of this open document."""
        try:
            check_no_link(edit.path, self._files.disk.roots)
        except WorkspaceError as error:
            return _refused(str(error))
        if isinstance(edit, MoveFile) and await self._files.exists(edit.new_path):
            return _refused(f"{edit.new_path} exists; choose another path")
        if version_of(document.text) != edit.base_version:
            return _STALE
        opened = await self._files.holding_newest(edit.path)
        if opened and opened.document.in_sync and opened.standing != "same":
            # The unsaved text may be the agent's own recent edit.
            await self._saving.save([opened])
            opened = await self._files.holding_newest(edit.path)
        if opened is None or version_of(opened.document.text) != edit.base_version:
            return _STALE
        if opened.standing != "same" or opened.on_disk is None:
            return _refused(why_it_stays(opened))
        agreed = edit.model_copy(update={"base_version": digest(opened.on_disk)})
        return await self._take_agreed(agreed, opened.document)

    async def _take_agreed(self, edit: DeleteFile | MoveFile, document: Snapshot) -> EditOutcome:
        """Delete or move a file that holds exactly its document's text."""
        new_path = edit.new_path if isinstance(edit, MoveFile) else None
        refused = await self._ask_editor(edit.path, new_path, document)
        if refused is not None:
            return refused
        now = self._documents.get(document.uri)
        if await self._files.disk.exists(edit.path):
            # The editor could not, or did not.
            if now is not None and now.text != document.text:
                return _STALE
            outcome = await self._files.disk.apply(edit)
        else:
            outcome = EditOutcome(status="applied")
        if outcome.status == "applied" and now is not None and not self._editor.follows_disk:
            how = "deleted" if new_path is None else f"moved to {new_path}"
            self._editor.say(
                "warning",
                f"{edit.path} was {how}, but the editor still has it open. Close it: saving would "
                "write it again.",
            )
        return outcome

    async def _ask_editor(
        self, path: str, new_path: str | None, document: Snapshot
    ) -> EditOutcome | None:
        """Ask the editor to delete or move a file; return the outcome only if it refuses."""
        if new_path is None:
            reply = await self._editor.take_away(document.uri, None)
        else:
            place, new_place = (self._files.disk.locate(one)[1] for one in (path, new_path))
            self._moves.append((place, new_place))
            reply = await self._editor.take_away(document.uri, self._uri_of(new_place))
            if reply.said != "yes":
                # A move that the editor reports later is the user's.
                self.is_own_move(place, new_place)
        if reply.said != "no":
            return None
        return _refused(f"the editor refused{f': {reply.reason}' if reply.reason else ''}")


def why_it_stays(opened: OpenFile) -> str:
    """Return why an open document's file cannot be deleted or moved, and what to do."""
    if opened.standing == "unsaved":
        return (
            f"{opened.path} is open with unsaved changes, which this editor cannot be asked to "
            "save. Ask the user to save it, or to set save_fallback to write"
        )
    return (
        f"{opened.path} is open, and the disk holds neither its text nor what that is known to "
        "have begun with: it has unsaved changes, or an encoding that is not known here. Ask the "
        "user to save or to reload it in the editor, as UTF-8 if it is not"
    )


def _refused(reason: str) -> EditOutcome:
    return EditOutcome(status="refused", reason=reason)
