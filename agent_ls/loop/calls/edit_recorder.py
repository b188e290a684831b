"""Applies one edit and records it: intent, effect, outcome, in this order.

It also settles edits whose process died before the outcome, by looking at the file. Callers choose
the edits and keep others off the file (``EditOrder``).
"""

from __future__ import annotations

import contextlib
import posixpath
from dataclasses import dataclass

from agent_ls.domain.edits import EditOutcome, FileEdit, changed_lines, text_after, text_of
from agent_ls.domain.errors import BytesDamaged, WorkspaceError
from agent_ls.domain.events import EditApplied, EditIntended, ReviewApplied, ReviewDecided
from agent_ls.domain.images import FileImage, PutImage
from agent_ls.loop.extension_points import CommandWatch
from agent_ls.loop.ports.store import Blobs
from agent_ls.loop.ports.workspace import Look, Workspace
from agent_ls.loop.state.recorder import Recorder
from agent_ls.loop.state.spelling import canonical

Intent = EditIntended | ReviewDecided

_BOM = "\ufeff"
_NOT_APPLIED = "The process died before this edit; the file shows that it was not applied."
_UNCLEAR = "The process died during this edit, and the file does not show whether it was applied."

NOT_HELD = (
    "kept: the store does not hold its bytes, so nothing deletes or overwrites them; move or "
    "delete the file yourself if you do not need it"
)
"""Why a file stays whose bytes exist only on disk."""


@dataclass(frozen=True, slots=True)
class EditRecorder:
    """Applies edits; the journal has the intent before and the outcome after each effect."""

    recorder: Recorder
    workspace: Workspace
    blobs: Blobs
    watch: CommandWatch | None

    async def apply(self, edit: FileEdit, intent: Intent) -> EditOutcome:
        """Record the intent with the bytes before, apply the edit, record the outcome.

        Errors: ``WorkspaceError`` when the file cannot be read; then nothing was recorded.
        """
        before = await self._content(edit, edit.path)
        mode = await self._mode(edit.path) if edit.kind in ("delete", "move") else None
        blob = await self._stored(before)
        stored: dict[str, object] = {"edit": edit, "before_blob": blob, "before_mode": mode}
        if isinstance(intent, EditIntended):
            stored["place"] = self._place(edit.path)
            stored["new_place"] = self._place(edit.new_path) if edit.kind == "move" else ""
        await self.recorder.emit(intent.model_copy(update=stored))
        try:
            with self._watched(edit):
                outcome = await self.workspace.apply(edit)
        except WorkspaceError as error:
            outcome = EditOutcome(status="refused", reason=str(error))
        after = await self._after(edit, outcome, before) if outcome.status == "applied" else None
        await self._end(edit, intent, outcome, before, after)
        return outcome

    def _place(self, path: str) -> str:
        """Return the file that a path (a link) leads to; empty when it is the path itself."""
        place = canonical(path, self.workspace)
        return place if place != posixpath.normpath(path) else ""

    async def put(self, edit: PutImage, intent: ReviewDecided) -> EditOutcome:
        """Replace, delete or move a whole file, with intent and outcome recorded as in ``apply``.

        Refused, with nothing recorded, where bytes would be lost that the store does not hold.
        Errors: ``BytesDamaged`` when the store lost them; then nothing was recorded.
        """
        reason = await put_hindrance(edit, self.blobs)
        if reason is None and not await self._is_held(edit):
            reason = NOT_HELD
        if reason is not None:
            return EditOutcome(status="refused", reason=reason)
        is_stored = edit.goal is not None and not edit.by_move
        data = (
            await self.blobs.get_blob(edit.goal.digest or "") if edit.goal and is_stored else None
        )
        await self.recorder.emit(intent.model_copy(update={"edit": edit}))
        try:
            with self._watched(edit):
                outcome = await self.workspace.put(edit, data)
        except WorkspaceError as error:
            outcome = EditOutcome(status="refused", reason=str(error))
        await self._put_ended(edit, intent, outcome)
        return outcome

    async def _is_held(self, edit: PutImage) -> bool:
        """Say whether the store holds the bytes this edit removes; small ones are stored now.

        Invariant: no bytes are deleted or overwritten that the store does not hold.
        """
        if edit.base is None or edit.by_move:
            return True
        with contextlib.suppress(BytesDamaged):
            if await self.blobs.get_blob(edit.base.digest or "") is not None:
                return True
            data = await self.workspace.saved(edit.path) if edit.base.can_be_kept else None
            return data is not None and await self.blobs.put_blob(data) == edit.base.digest
        return False

    async def _put_ended(self, edit: PutImage, intent: ReviewDecided, outcome: EditOutcome) -> None:
        await self.recorder.emit(
            ReviewApplied(
                review_id=intent.review_id,
                path=edit.path,
                status=outcome.status,
                reason=outcome.reason,
                after_blob=edit.goal.digest
                if edit.goal is not None and not edit.by_move and outcome.status == "applied"
                else None,
            )
        )

    async def _settle_put(self, edit: PutImage, intent: ReviewDecided) -> EditOutcome:
        is_goal, is_base = [
            holds
            for _, holds in await self.workspace.compare(
                [look_at(edit.path, edit.goal), look_at(edit.path, edit.base)]
            )
        ]
        if is_goal:
            outcome = EditOutcome(status="applied")
        elif is_base:
            outcome = EditOutcome(status="refused", reason=_NOT_APPLIED)
        else:
            outcome = EditOutcome(status="unconfirmed", reason=_UNCLEAR)
        await self._put_ended(edit, intent, outcome)
        return outcome

    async def settle(self, edit: FileEdit | PutImage, intent: Intent) -> EditOutcome:
        """Record and return an interrupted edit's outcome, judged by the file."""
        if isinstance(edit, PutImage):
            assert isinstance(intent, ReviewDecided)
            return await self._settle_put(edit, intent)
        blob = intent.before_blob
        before: bytes | None = None
        after: bytes | None = None
        try:
            before = None if blob is None else await self.blobs.get_blob(blob)
            now = await self._content(edit, _place_after(edit))
        except (WorkspaceError, BytesDamaged):
            outcome = EditOutcome(status="unconfirmed", reason=_UNCLEAR)
        else:
            outcome = _proven(edit, before, now)
            after = now if outcome.status == "applied" else None
        await self._end(edit, intent, outcome, before, after)
        return outcome

    async def _after(
        self, edit: FileEdit, outcome: EditOutcome, before: bytes | None
    ) -> bytes | None:
        """Return the content that an applied edit left.

        An applied edit must get its outcome even if the file cannot be read.
        """
        try:
            after = await self._content(edit, _place_after(edit))
        except (WorkspaceError, OSError):
            if edit.kind == "move":
                return before
            return None if outcome.text is None else outcome.text.encode("utf-8", "surrogatepass")
        # A moved file may be closed at its new path, and then read in another encoding.
        is_hidden = edit.kind == "move" and text_of(after or b"")[1] is not None
        return before if is_hidden else after

    async def _content(self, edit: FileEdit, path: str) -> bytes | None:
        """Return the text the edit was planned on; the disk's bytes if they are what it is about.

        These are a deletion, and a new file in a given encoding.
        """
        if edit.kind == "delete" or (edit.kind == "create" and edit.encoding is not None):
            return await self.workspace.saved(path)
        return await self.workspace.snapshot(path)

    async def _end(
        self,
        edit: FileEdit,
        intent: Intent,
        outcome: EditOutcome,
        before: bytes | None,
        after: bytes | None,
    ) -> None:
        """Record the outcome: ``ReviewApplied`` for a review decision, else ``EditApplied``."""
        after_blob = await self._stored(after)
        if isinstance(intent, ReviewDecided):
            ended = ReviewApplied(
                review_id=intent.review_id,
                path=edit.path,
                status=outcome.status,
                reason=outcome.reason,
                after_blob=after_blob,
            )
        else:
            is_applied = outcome.status == "applied"
            added, removed = _line_changes(edit, before, after) if is_applied else (0, 0)
            ended = EditApplied(
                call_id=intent.call_id,
                path=edit.path,
                status=outcome.status,
                reason=outcome.reason,
                after_blob=after_blob,
                after_mode=await self._mode(edit.path)
                if is_applied and edit.kind == "create"
                else None,
                added_lines=added,
                removed_lines=removed,
            )
        await self.recorder.emit(ended)

    async def _mode(self, path: str) -> int | None:
        """Return a file's permissions on disk; None when unknown."""
        try:
            return await self.workspace.mode(path)
        except (WorkspaceError, OSError):
            return None

    async def _stored(self, data: bytes | None) -> str | None:
        return None if data is None else await self.blobs.put_blob(data)

    def _watched(self, edit: FileEdit | PutImage) -> contextlib.AbstractContextManager[None]:
        """Keep a concurrently running command from being blamed for this edit."""
        if self.watch is None:
            return contextlib.nullcontext()
        return self.watch.editing({edit.path, _place_after(edit)})


async def put_hindrance(edit: PutImage, blobs: Blobs) -> str | None:
    """Return why a whole-file edit would lose bytes and so cannot happen; None when it may.

    Errors: ``BytesDamaged`` when the store lost the bytes to write.
    """
    if edit.by_move:
        return None
    if edit.goal is not None and await blobs.get_blob(edit.goal.digest or "") is None:
        return missing_words(blobs)
    if edit.base is None or edit.base.can_be_kept:
        return None
    return NOT_HELD


def missing_words(blobs: Blobs) -> str:
    """Return why a file cannot get its old content back, and what the user can do."""
    return (
        f"as what the file is to hold is no longer in the agent's store, {blobs.shown}; only a "
        "backup of that, or a copy of yours such as a commit, has it, and keep settles the change "
        "as it is"
    )


def look_at(path: str, image: FileImage | None) -> Look:
    """Return a look that holds while the file equals the image; None: while there is no file.

    An image too large to be hashed gives a look that never holds.
    """
    return Look(path, digest=None if image is None else image.digest or "unknown")


def _place_after(edit: FileEdit | PutImage) -> str:
    if isinstance(edit, PutImage):
        return edit.by_move or edit.path
    return edit.new_path if edit.kind == "move" else edit.path


def _proven(edit: FileEdit, before: bytes | None, now: bytes | None) -> EditOutcome:
    # Replacements that do not fit were not applied.
    with contextlib.suppress(ValueError):
        if now == _left_by(edit, before):
            return EditOutcome(status="applied")
    was_there = None if edit.kind == "move" else before
    if now == was_there:
        return EditOutcome(status="refused", reason=_NOT_APPLIED)
    return EditOutcome(status="unconfirmed", reason=_UNCLEAR)


def _left_by(edit: FileEdit, before: bytes | None) -> bytes | None:
    """Return the content that an edit leaves at its target; None: no file.

    Errors: ``ValueError`` when its replacements do not fit ``before``.
    """
    if edit.kind == "create" and edit.encoding is not None:
        return edit.text.encode(edit.encoding)
    text = (before or b"").decode(errors="surrogateescape")
    mark = _BOM if text.startswith(_BOM) else ""
    after = text_after(edit, text.removeprefix(mark))
    return None if after is None else (mark + after).encode(errors="surrogateescape")


def _line_changes(edit: FileEdit, before: bytes | None, after: bytes | None) -> tuple[int, int]:
    """Return how many lines an edit added and removed, not counting what was typed meanwhile."""
    with contextlib.suppress(ValueError):
        after = _left_by(edit, before)
    return changed_lines(
        (before or b"").decode(errors="replace"), (after or b"").decode(errors="replace")
    )
