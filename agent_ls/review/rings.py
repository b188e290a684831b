"""Files that changed places with each other: each stands where another one goes back to.

One of them makes room first, under a name of its own, and is reviewed there as it was before: what
is broken off between has lost nothing, and is no ring any more.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import count

from agent_ls.domain.edits import MoveFile
from agent_ls.domain.review import HunkState
from agent_ls.loop.ports.store import Blobs
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.review.file_changes import FileLedger
from agent_ls.review.lineages import Lineage
from agent_ls.review.plans import next_step
from agent_ls.review.restore import foreseen
from agent_ls.review.since import Newer
from agent_ls.review.steps import Clash, Step

Ring = tuple[str, ...]
"""Paths: each file goes where the next one is, the last where the first is."""


def ring_of(files: Mapping[str, FileLedger], path: str, state: HunkState) -> Ring:
    """Return the ring that begins with a file, by moves that stand so; empty: it is in none."""

    def goal(path: str) -> str | None:
        file = files.get(path)
        parts = file.those(state) if file is not None and file.images is None else ()
        moves = (one for one in parts if one.kind == "moved")
        return next(((one.old if state == "open" else one.new)[0] for one in moves), None)

    return _followed(goal, path)


def _followed(goal: Callable[[str], str | None], path: str) -> Ring:
    found: list[str] = []
    now: str | None = path
    while now is not None and now not in found:
        found.append(now)
        now = goal(now)
    return tuple(found) if now == path else ()


async def room_step(
    workspace: Workspace,
    files: Mapping[str, FileLedger],
    ring: Ring,
    wanted: frozenset[str] | None,
    states: tuple[HunkState, HunkState],
    newer: Callable[[FileLedger], Sequence[Newer]],
) -> Step | Clash | None:
    """Return the step by which one file of a ring makes room; None: not all is to move.

    Shape: a file that is gone has no room to make; where all are, the first comes back for it.
    ``states`` are those of the changes before and after the decision. Invariant: nothing is moved
    where one of the files cannot go the whole way.

    Errors: ``WorkspaceError`` for a file that cannot be read.
    """
    before, after = states
    steps: list[Step] = []
    for name in ring:
        hunks = files[name].those(before, wanted)
        if not any(one.kind == "moved" for one in hunks):
            return None
        step = await next_step(
            workspace, files[name], hunks, after, newer=newer(files[name]), freed=ring
        )
        if isinstance(step, Clash):
            return step
        steps.append(step)
    standing = next((name for name in ring if files[name].has_place), None)
    if standing is None:
        return steps[0]
    return Step((), await aside(workspace, files, standing))


async def aside(workspace: Workspace, known: Container[str], path: str) -> MoveFile:
    """Return the move by which a file makes room, to a name that is free and not ``known``.

    Errors: ``WorkspaceError`` for a file that cannot be read.
    """
    version = (await workspace.read(path)).version
    numbers = count(1)
    while (name := _beside(path, next(numbers))) in known or await workspace.exists(name):
        pass
    return MoveFile(path=path, base_version=version, new_path=name)


async def restorable_rings(
    workspace: Workspace, blobs: Blobs, turn_id: str, lineages: Iterable[Lineage]
) -> list[Ring]:
    """Return the rings of files each of which can be restored once one of them makes room."""
    of = {one.path: one for one in lineages if one.stands}
    goals = {path: lineage.origin for path, lineage in of.items()}
    found: list[Ring] = []
    for path in of:
        ring = _followed(goals.get, path)
        if len(ring) < 2 or any(path in one for one in found):
            continue
        each = [await foreseen(workspace, blobs, turn_id, of[one], freed=ring) for one in ring]
        if all(one.status == "done" for one in each):
            found.append(ring)
    return found


def _beside(path: str, number: int) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}moving-{number}-{name}"
