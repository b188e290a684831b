"""What has to happen to a file that was changed as a whole, because a side of it is no text.

Its bytes come back only while it is what the agent left; anything else is a conflict.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise

from agent_ls.domain.errors import bug
from agent_ls.domain.images import FileImage, Images, PutImage
from agent_ls.domain.review import HunkState
from agent_ls.edits.review import FileLedger, holds_same, joined
from agent_ls.loop.edit_recorder import look_at
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.session.review_steps import Clash, Step

_NOT_KEPT = (
    "it was too large to be kept, alone or with others, so only a copy of yours brings it back"
)
_NOT_LOOKED_AT = "it is too large to tell whether it was changed since"


async def image_step(workspace: Workspace, file: FileLedger, state: HunkState) -> Step | Clash:
    """Return what brings the file's first hunk, of its whole content, to ``state``."""
    if file.images is None:
        raise bug(f"{file.path} was not changed as a whole")
    base, goal = reversed(file.images) if state == "undone" else file.images
    edit = await put_back(workspace, file.path, (base, goal))
    return edit if isinstance(edit, Clash) else Step((file.hunks[0].id,), edit)


async def restored_image(
    workspace: Workspace, path: str, lineage: Sequence[Images], *, is_moved: bool, is_free: bool
) -> PutImage | Clash | None:
    """Return what brings back the file before a lineage of changes, oldest first.

    Shape: None when it is as it was. Where the path ``is_free`` what stands there now will be gone.
    """
    if is_moved:
        return Clash(path, 0, None, None, "it is no text, and was moved since")
    for older, newer in pairwise(lineage):
        if not holds_same(older[1], newer[0]):
            return Clash(path, 0, None, None, "it was changed by somebody else, too")
    base, goal = reversed(reduce(joined, lineage))
    return await put_back(workspace, path, (base, goal), is_free=is_free)


async def put_back(
    workspace: Workspace, path: str, images: Images, *, is_free: bool = False
) -> PutImage | Clash | None:
    """Return the edit that makes the second of the first; None when the file is that already."""
    base, goal = images
    looks = [look_at(path, goal), look_at(path, base)]
    is_goal, is_base = goal is None, base is None
    if not is_free:
        (_, is_goal), (_, is_base) = await workspace.compare(looks)
    if is_goal:
        return None
    if goal is not None and goal.is_missing:
        # Who fetches it tells that it is gone, and from where.
        return PutImage(path=path, base=base, goal=goal)
    if reason := _hindrance(base, goal, is_base=is_base):
        return Clash(path, 0, None, None, reason)
    return PutImage(path=path, base=base, goal=goal)


def _hindrance(base: FileImage | None, goal: FileImage | None, *, is_base: bool) -> str:
    if goal is not None and not goal.is_kept:
        return _NOT_KEPT
    if base is not None and base.digest is None:
        return _NOT_LOOKED_AT
    if not is_base:
        return "it was changed since" if base is not None else "there is another file now"
    return ""
