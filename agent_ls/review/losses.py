"""Whether a file may be all that is left of one that the same command took away.

An archive, say: what the store does not hold of the file that went, only it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent_ls.domain.edits import FileEdit
from agent_ls.domain.images import PutImage
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.review.steps import Clash
from agent_ls.review.touches import Touch


async def kept_as_rest(
    workspace: Workspace,
    touches: Sequence[Touch],
    own: Iterable[Touch],
    edit: FileEdit | PutImage | Clash | None,
) -> Clash | None:
    """Return why an edit that deletes a file is not made, by its ``own`` touches among all."""
    if edit is None or isinstance(edit, Clash):
        return None
    if (edit.effect if isinstance(edit, PutImage) else edit.kind) != "delete":
        return None
    commands = {one.command for one in own if one.command and one.is_new}
    for one in touches:
        if one.command in commands and _is_loss(one) and not await workspace.exists(one.path):
            reason = (
                f"kept: the command that made it took {one.path} away, whose bytes the store does "
                "not hold. This may be all that is left of it; if not, delete it yourself"
            )
            return Clash(edit.path, 0, None, None, reason)
    return None


def _is_loss(touch: Touch) -> bool:
    """Say whether bytes went that are neither stored nor known to be elsewhere."""
    if touch.images is None or not touch.is_gone or touch.decision is not None:
        return False
    before = touch.images[0]
    return before is not None and not before.is_kept and not before.other_path
