"""What has to happen to a file that was changed as a whole, because a side of it is no text.

Its bytes come back only while it is what the agent left; anything else is a conflict. Bytes that
the store does not hold are never deleted or overwritten: they are moved back, or stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import pairwise

from agent_ls.domain.errors import bug
from agent_ls.domain.images import FileImage, Images, PutImage
from agent_ls.domain.review import HunkState
from agent_ls.loop.calls.edit_recorder import NOT_HELD, look_at
from agent_ls.loop.ports.workspace import Look, Workspace
from agent_ls.review.file_changes import FileLedger, holds_same, joined
from agent_ls.review.steps import Clash, Step

_NOT_KEPT = (
    "it was too large to be kept, alone or with others, so only a copy of yours brings it back"
)
_NOT_LOOKED_AT = "it is too large to tell whether it was changed since"

Wholes = Mapping[str, Images]
"""Of whole files by path: what each is now, and what a decision makes of it."""


def wholes_of(files: Mapping[str, FileLedger], state: HunkState) -> Wholes:
    """Return the whole files of a turn, as they are and as they would be in ``state``."""
    return {
        path: _towards(file.images, state)
        for path, file in files.items()
        if file.images is not None and file.hunks[0].state != "kept"
    }


def _towards(images: Images, state: HunkState) -> Images:
    before, after = images
    return (after, before) if state == "undone" else (before, after)


def homes(path: str, wholes: Wholes) -> list[str]:
    """Return the places where the bytes at a path belong, when the store does not hold them."""
    base = wholes[path][0] if path in wholes else None
    return _those_with(base, path, {name: goal for name, (_, goal) in wholes.items()})


def linked(path: str, wholes: Wholes) -> set[str]:
    """Return the places that the bytes of a file may move to, or come from."""
    return {*homes(path, wholes), *sources(path, wholes)}


def sources(path: str, wholes: Wholes) -> list[str]:
    """Return the places of bytes that the store does not hold and that belong at a path."""
    goal = wholes[path][1] if path in wholes else None
    return _those_with(goal, path, {name: base for name, (base, _) in wholes.items()})


def _those_with(
    image: FileImage | None, path: str, images: Mapping[str, FileImage | None]
) -> list[str]:
    if image is None or image.is_kept:
        return []
    found = [one for one in images if one != path and holds_same(images[one], image)]
    # Of several files with the same bytes each goes back to its own name.
    return sorted(found, key=lambda one: one.rpartition("/")[2] != path.rpartition("/")[2])


async def image_step(
    workspace: Workspace, file: FileLedger, state: HunkState, wholes: Wholes
) -> Step | Clash:
    """Return what brings the file's first hunk, of its whole content, to ``state``."""
    if file.images is None:
        raise bug(f"{file.path} was not changed as a whole")
    wholes = {**wholes, file.path: _towards(file.images, state)}
    edit = await put_back(workspace, file.path, wholes)
    return edit if isinstance(edit, Clash) else Step((file.hunks[0].id,), edit)


async def restored_image(
    workspace: Workspace,
    path: str,
    lineage: Sequence[Images],
    wholes: Wholes,
    *,
    is_moved: bool,
    is_free: bool,
) -> PutImage | Clash | None:
    """Return what brings back the file before a lineage of changes, oldest first.

    Shape: None when it is as it was. Where the path ``is_free`` what stands there now will be gone.
    """
    if is_moved:
        return Clash(path, 0, None, None, "it is no text, and was moved since")
    for older, newer in pairwise(lineage):
        if not holds_same(older[1], newer[0]):
            return Clash(path, 0, None, None, "it was changed by somebody else, too")
    wholes = {**wholes, path: _towards(reduce(joined, lineage), "undone")}
    return await put_back(workspace, path, wholes, is_free=is_free)


async def put_back(
    workspace: Workspace, path: str, wholes: Wholes, *, is_free: bool = False
) -> PutImage | Clash | None:
    """Return the edit that makes of a file what it is to be; None when it is that already."""
    base, goal = wholes[path]
    looks = [look_at(path, goal), look_at(path, base), Look(path)]
    is_goal, is_base, is_gone = goal is None, base is None, True
    if not is_free:
        is_goal, is_base, is_gone = await _holds(workspace, looks)
    if is_goal:
        return None
    if goal is not None and goal.is_missing:
        # Who fetches it tells that it is gone, and from where.
        return PutImage(path=path, base=base, goal=goal)
    if is_gone and await _place_of(workspace, homes(path, wholes), base):
        # What was here is back where it belongs.
        base, is_base = None, True
    if is_base and (edit := await _moved(workspace, path, (base, goal), wholes)):
        return edit
    if reason := _hindrance(base, goal, is_base=is_base):
        return Clash(path, 0, None, None, reason)
    return PutImage(path=path, base=base, goal=goal)


async def _moved(
    workspace: Workspace, path: str, images: Images, wholes: Wholes
) -> PutImage | Clash | None:
    """Return the move of bytes that are nowhere but on disk; None where none are concerned."""
    base, goal = images
    if base is None and goal is not None and not goal.is_kept:
        there = await _place_of(workspace, sources(path, wholes), goal)
        return PutImage(path=path, base=None, goal=goal, by_move=there) if there else None
    if base is None or base.is_kept or base.digest is None:
        return None
    home = await _place_of(workspace, homes(path, wholes), None)
    if home and goal is None:
        return PutImage(path=path, base=base, goal=None, by_move=home)
    return None if base.can_be_kept else Clash(path, 0, None, None, NOT_HELD)


async def _place_of(
    workspace: Workspace, places: Sequence[str], image: FileImage | None
) -> str | None:
    """Return the first place that holds these bytes; None for one that is free."""
    found = await _holds(workspace, [look_at(one, image) for one in places])
    return next((one for one, holds in zip(places, found, strict=True) if holds), None)


async def _holds(workspace: Workspace, looks: Sequence[Look]) -> list[bool]:
    return [holds for _, holds in await workspace.compare(looks)]


def _hindrance(base: FileImage | None, goal: FileImage | None, *, is_base: bool) -> str:
    if goal is not None and not goal.is_kept:
        return _NOT_KEPT
    if base is not None and base.digest is None:
        return _NOT_LOOKED_AT
    if not is_base:
        return "it was changed since" if base is not None else "there is another file now"
    return ""
