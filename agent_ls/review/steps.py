"""What the review does to a file, the result, and the conflict that prevented it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent_ls.domain.edits import FileEdit
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.images import FileImage, Images, PutImage
from agent_ls.edits.merge import Merged
from agent_ls.edits.reformatted import merge_reformatted
from agent_ls.loop.calls.edit_recorder import NOT_HELD, look_at
from agent_ls.loop.off_loop import off_loop
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.review.ledger import FileChain, Ledger

MISSING = "the workspace has no such file now; put it back under this name, then try again"
"""Why nothing is done to a file that somebody moved or deleted."""

APART = (
    "the file on disk has the change, and the unsaved text in your editor has not; save that text, "
    "or load the file again, then try again"
)
"""Why nothing is done where neither text may be written over the other."""

TAKEN = "another file has its name now; move that file away, then try again"
"""Why nothing is done to a file in whose place another one is."""


@dataclass(frozen=True, slots=True)
class Clash:
    """A conflict: both versions of a file that is left as it is."""

    path: str
    line: int
    """1-based, in the file as it is now; 0: the file as a whole."""
    now: str | None
    """The file as it is; None: it is gone."""
    wanted: str | None
    """The file after the decision, without other changes; None: it would be gone."""
    reason: str

    @property
    def has_texts(self) -> bool:
        """Say whether there are texts to show; a file that is no text has none."""
        return (self.now, self.wanted) != (None, None)


@dataclass(frozen=True, slots=True)
class FileResult:
    """What became of one file."""

    turn_id: str
    path: str
    status: Literal["done", "nothing", "conflict", "refused"]
    hunks: int = 0
    reason: str = ""
    """For a user, unless it is done."""
    clash: Clash | None = None
    """Both versions, for a conflict."""
    edit: Literal["change", "create", "delete", "move"] | None = None
    """What a restore does to the file."""


@dataclass(frozen=True, slots=True)
class Step:
    """One edit, or none where the file is as wanted already, and the hunks it settles."""

    hunks: tuple[str, ...]
    edit: FileEdit | PutImage | None


def conflict(turn_id: str, clash: Clash) -> FileResult:
    """Return the result of a file that is left as it is."""
    return FileResult(turn_id, clash.path, "conflict", 0, clash.reason, clash)


def places(workspace: Workspace, names: Iterable[str]) -> list[Path]:
    """Return where files of the ledger are.

    Errors: ``WorkspaceError`` where a name leads elsewhere than it did: the file behind a link that
    somebody put there is not the one that the agent changed.
    """
    found: list[Path] = []
    for name in names:
        _, place = workspace.locate(name)
        there = workspace.shown(place) or name
        if there != name:
            raise WorkspaceError(
                f"where {name} was, a link stands to {there}; put the file back, then try again"
            )
        found.append(place)
    return found


async def merged_texts(base: str, ours: str, theirs: str) -> Merged:
    """Return the three-way merge, off the event loop where it may take long.

    What only a formatter changed since, as on a save, is in nobody's way.
    """
    size = len(base) + len(ours) + len(theirs)
    return await off_loop(size, lambda: merge_reformatted(base, ours, theirs))


async def put_back(workspace: Workspace, path: str, images: Images) -> PutImage | Clash | None:
    """Return the edit from the first image to the second; None when the file is that already.

    The bytes come back only while the file is the first image: anything else is a conflict.
    """
    base, goal = images
    looks = [look_at(path, goal), look_at(path, base)]
    (_, is_goal), (_, is_base) = await workspace.compare(looks)
    if is_goal:
        return None
    if goal is not None and goal.is_missing:
        # The recorder tells that it is gone, and from where.
        return PutImage(path=path, base=base, goal=goal)
    if is_base and (move := await _moved_back(workspace, path, images)):
        return move
    if reason := _hindrance(base, goal, is_base=is_base):
        return Clash(path, 0, None, None, reason)
    return PutImage(path=path, base=base, goal=goal)


async def _moved_back(workspace: Workspace, path: str, images: Images) -> PutImage | None:
    """Return the move of a file whose bytes exist only on disk; None if no move helps."""
    base, goal = images
    image = goal if base is None else base
    if image is None or image.is_kept or not image.other_path or (base and goal):
        return None
    # It comes back from there, or goes there if nothing else has that name.
    look = look_at(image.other_path, goal if base is None else None)
    [(_, is_so)] = await workspace.compare([look])
    return PutImage(path=path, base=base, goal=goal, by_move=image.other_path) if is_so else None


def _hindrance(base: FileImage | None, goal: FileImage | None, *, is_base: bool) -> str:
    if goal is not None and not goal.is_kept:
        if goal.other_path:
            return f"the command moved it to {goal.other_path}; move it back yourself"
        return (
            "it was too large to be kept, alone or with others, so only a copy of yours brings it "
            "back"
        )
    if base is not None and base.digest is None:
        return "it is too large to tell whether it was changed since"
    if not is_base:
        return "it was changed since" if base is not None else "there is another file now"
    return NOT_HELD if base is not None and not base.can_be_kept else ""


async def only_rest(
    workspace: Workspace, ledger: Ledger, chain: FileChain, edit: FileEdit | PutImage | None
) -> Clash | None:
    """Return why a file is not deleted: it may be the only copy of another one, as an archive is.

    Such a file was made by a command that removed another file whose bytes the store does not hold.
    """
    if edit is None or (edit.effect if isinstance(edit, PutImage) else edit.kind) != "delete":
        return None
    commands = {one.command for one in chain.touches if one.command and one.is_new}
    for other in ledger.touches:
        before = other.images[0] if other.images and other.is_gone else None
        if other.command not in commands or before is None or before.is_kept:
            continue
        places = filter(None, (other.path, before.other_path))
        if not any([await workspace.exists(one) for one in places]):
            reason = (
                f"kept: the command that made it took {other.path} away, whose bytes the store "
                "does not hold. This may be all that is left of it; if not, delete it yourself"
            )
            return Clash(edit.path, 0, None, None, reason)
    return None
