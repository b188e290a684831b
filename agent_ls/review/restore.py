"""A file brought back to where it was at the beginning of a turn.

Every edit since then is taken back, newest first, each by a three-way merge: what others typed
before, between and after the edits stays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal

from agent_ls.domain.edits import (
    ChangeText,
    CreateFile,
    DeleteFile,
    FileEdit,
    MoveFile,
    TextFile,
    apply_replacements,
)
from agent_ls.domain.errors import BytesDamaged, WorkspaceError
from agent_ls.domain.images import Images, PutImage
from agent_ls.edits.line_ends import with_ends_of
from agent_ls.edits.lines import BOM
from agent_ls.edits.minimal import replacements_between
from agent_ls.edits.modes import FileModes
from agent_ls.loop.calls.edit_recorder import put_hindrance
from agent_ls.loop.ports.store import Blobs
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.review.hunks import flat
from agent_ls.review.images import Wholes, restored_image, sources
from agent_ls.review.lineages import Lineage
from agent_ls.review.losses import kept_as_rest
from agent_ls.review.since import merged_texts
from agent_ls.review.steps import APART, MISSING, Clash, FileResult, places
from agent_ls.review.touches import Touch, both_images, images_of, text_of, texts_of


async def restoring_step(
    workspace: Workspace,
    blobs: Blobs,
    lineage: Lineage,
    path: str,
    *,
    freed: Collection[str] = (),
    wholes: Wholes | None = None,
) -> FileEdit | PutImage | Clash | None:
    """Return the next edit that brings the file at ``path`` back; None when it is as it was.

    Shape: after a move there may be another one, after any other edit it is done. What stands under
    ``freed`` names is going to make room.

    Errors: ``WorkspaceError`` for a file that cannot be read, ``BytesDamaged`` where the store has
    lost what it was.
    """
    touches = lineage.touches
    if (images := await _images(touches, blobs)) is not None:
        is_moved = any(one.path != one.new_path for one in touches)
        is_free = lineage.is_covered and path in freed
        return await restored_image(
            workspace, path, images, wholes or {}, is_moved=is_moved, is_free=is_free
        )
    is_there = not lineage.is_covered and await workspace.exists(path)
    now = await workspace.read(path) if is_there else None
    sides = [await texts_of(one, blobs.get_blob) for one in touches]
    try:
        goal = await _without(sides, now.text if now else None)
        goal = await _beside_mark(workspace, now, goal)
        if now is not None and goal == now.text and (left := await _left_on_disk(sides, now)):
            return left
    except _Contradiction as error:
        wanted = await text_of(touches[0].before_blob, blobs.get_blob)
        return Clash(path, error.line, now.text if now else None, wanted, str(error))
    if goal is None:
        return None if now is None else DeleteFile(path=path, base_version=now.version)
    modes = FileModes()
    for one in touches:
        modes = modes.touched(one.modes, is_gone=one.after_blob is None)
    if now is None or path != lineage.origin:
        if lineage.origin not in freed and await workspace.exists(lineage.origin):
            went = "deleted" if lineage.is_gone else "moved"
            reason = f"it was {went}, and {lineage.origin} exists again"
            return Clash(path, 0, now and now.text, goal, reason)
        if now is None:
            return CreateFile(path=lineage.origin, text=goal, mode=modes.lost)
        return MoveFile(path=path, base_version=now.version, new_path=lineage.origin)
    if replacements := replacements_between(now.text, goal):
        replacements = with_ends_of(sides[0][0] or "", now.text, replacements)
        back = modes.back()
        return ChangeText(path=path, base_version=now.version, replacements=replacements, mode=back)
    return None


async def _images(touches: Sequence[Touch], blobs: Blobs) -> list[Images] | None:
    """Return what each touch made of the whole file; None where all of it was text."""
    found = [await images_of(one, blobs.get_blob) for one in touches]
    if all(one is None for one in found):
        return None
    return [
        known or await both_images(one, blobs.get_blob)
        for known, one in zip(found, touches, strict=True)
    ]


def wholes_since(lineages: Iterable[Lineage]) -> Wholes:
    """Return the whole files that a restore is about, as they are and as they were."""
    found: dict[str, Images] = {}
    for lineage in lineages:
        first, last = lineage.touches[0].images, lineage.touches[-1].images
        if first is not None and last is not None and not lineage.is_covered:
            found[lineage.path] = (last[1], first[0])
    return found


def after_move(turn_id: str, path: str, wholes: Wholes) -> FileResult:
    """Return what a restore would make of a path whose bytes would have moved away before."""
    if wholes[path][1] is None:
        return FileResult(turn_id, path, "nothing")
    source = next(iter(sources(path, wholes)), "")
    edit = "move" if source else "create"
    return FileResult(turn_id, path, "done", edit=edit, new_path=source)


async def foreseen(
    workspace: Workspace,
    blobs: Blobs,
    turn_id: str,
    lineage: Lineage,
    *,
    freed: Collection[str] = (),
    wholes: Wholes | None = None,
    touches: Sequence[Touch] = (),
) -> FileResult:
    """Return what a restore would make of a file as it is now; nothing is changed.

    What stands under ``freed`` names would make room. ``touches`` are all that there were.
    """
    path = lineage.path
    try:
        places(workspace, {path, lineage.origin})
        step = await restoring_step(workspace, blobs, lineage, path, freed=freed, wholes=wholes)
        if isinstance(step, PutImage) and (reason := await put_hindrance(step, blobs)):
            return FileResult(turn_id, path, "refused", reason=reason)
        step = await kept_as_rest(workspace, touches, lineage.touches, step) or step
    except (WorkspaceError, BytesDamaged) as error:
        return FileResult(turn_id, path, "refused", reason=str(error))
    if isinstance(step, Clash):
        return FileResult(turn_id, path, "conflict", 0, step.reason, step)
    if step is None:
        return FileResult(turn_id, path, "nothing")
    new_path = step.by_move if isinstance(step, PutImage) else ""
    return FileResult(
        turn_id, name_after(step, path), "done", edit=effect_of(step), new_path=new_path
    )


def name_after(edit: FileEdit | PutImage, path: str) -> str:
    """Return how a file is called in a result: one that comes back by the name that it gets."""
    return edit.path if effect_of(edit) == "create" else path


def effect_of(edit: FileEdit | PutImage) -> Literal["change", "create", "delete", "move"]:
    """Return what an edit does to its file."""
    return edit.effect if isinstance(edit, PutImage) else edit.kind


class _Contradiction(Exception):
    """Somebody else changed what an edit changed."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.line = line


async def _beside_mark(workspace: Workspace, now: TextFile | None, goal: str | None) -> str | None:
    """Return the goal without the byte order mark that a file has and its text does not show."""
    if now is None or goal is None or not goal.startswith(BOM) or now.text.startswith(BOM):
        return goal
    is_marked = (await workspace.snapshot(now.path) or b"").startswith(BOM.encode())
    return goal.removeprefix(BOM) if is_marked else goal


async def _without(sides: Sequence[tuple[str | None, str | None]], text: str | None) -> str | None:
    """Return a text without edits, each with its own texts before and after, oldest first."""
    for before, after in _joined(sides):
        text = await _taken_back(before, after, text)
    return text


async def _left_on_disk(
    sides: Sequence[tuple[str | None, str | None]], now: TextFile
) -> Clash | None:
    """Return why it is not enough that unsaved text has none of the edits: the disk has some."""
    wanted = await _without(sides, now.on_disk) if now.on_disk is not None else None
    if _bare(wanted) == _bare(now.on_disk):
        return None
    return Clash(now.path, 0, now.on_disk, wanted, APART)


def _joined(
    sides: Sequence[tuple[str | None, str | None]],
) -> Iterator[tuple[str | None, str | None]]:
    """Yield the texts before and after each edit, newest first; as one where they touch."""
    held: tuple[str | None, str | None] | None = None
    for before, after in reversed(sides):
        if held is not None and after is not None and _bare(held[0]) == _bare(after):
            held = (before, held[1])
            continue
        if held is not None:
            yield held
        held = (before, after)
    if held is not None:
        yield held


async def _taken_back(before: str | None, after: str | None, now: str | None) -> str | None:
    """Return the text without an edit that made ``after`` of ``before``."""
    if after is None:
        if now is None or before is None:
            return before if now is None else now
        raise _Contradiction("it was deleted, and there is another file now")
    if now is None:
        if before is None:
            return None
        raise _Contradiction(MISSING)
    if before is None:
        if flat(now) != flat(after):
            raise _Contradiction("it was made by the agent and changed since")
        return None
    text = now.removeprefix(BOM)
    merged = await merged_texts(flat(after), text, flat(before))
    if merged.conflicts:
        raise _Contradiction("these lines were changed since", merged.conflicts[0].line)
    return now[: len(now) - len(text)] + apply_replacements(text, merged.replacements)


def _bare(text: str | None) -> str | None:
    """Return a text without byte order mark: the bytes before an edit have it, its text not."""
    return None if text is None else text.removeprefix(BOM)
