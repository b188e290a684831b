"""Files that changed places with each other: each stands where another one goes back to.

One of them makes room first, under a name of its own, and is reviewed there as it was before: what
is broken off between has lost nothing, and is no ring any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count

from agent_ls.domain.edits import MoveFile
from agent_ls.domain.review import HunkState
from agent_ls.edits.review import FileLedger
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.session.review_plans import next_step
from agent_ls.session.review_steps import Clash

Ring = tuple[str, ...]
"""Paths: each file goes where the next one is, the last where the first is."""


def ring_of(files: Mapping[str, FileLedger], path: str, state: HunkState) -> Ring:
    """Return the ring that begins with a file, by moves that stand so; empty: it is in none."""
    found: list[str] = []
    while path not in found:
        file = files.get(path)
        parts = file.those(state) if file is not None and file.images is None else ()
        move = next((one for one in parts if one.kind == "moved"), None)
        if move is None:
            return ()
        found.append(path)
        path = (move.old if state == "open" else move.new)[0]
    return tuple(found) if path == found[0] else ()


async def room_step(
    workspace: Workspace,
    files: Mapping[str, FileLedger],
    ring: Ring,
    wanted: frozenset[str] | None,
    states: tuple[HunkState, HunkState],
) -> MoveFile | Clash | None:
    """Return the move by which the first file of a ring makes room; None: not all is to move.

    ``states`` are those of the changes before and after the decision. Invariant: nothing is moved
    where one of the files cannot go the whole way.

    Errors: ``WorkspaceError`` for a file that cannot be read.
    """
    before, after = states
    for name in ring:
        hunks = files[name].those(before, wanted)
        if not any(one.kind == "moved" for one in hunks):
            return None
        step = await next_step(workspace, files[name], hunks, after, freed=ring)
        if isinstance(step, Clash):
            return step
    path = ring[0]
    version = (await workspace.read(path)).version
    for name in _names_beside(path):
        if name not in files and not await workspace.exists(name):
            return MoveFile(path=path, base_version=version, new_path=name)
    return None


def _names_beside(path: str) -> Iterator[str]:
    folder, slash, name = path.rpartition("/")
    for number in count(1):
        yield f"{folder}{slash}moving-{number}-{name}"
