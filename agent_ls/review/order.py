"""Which of a turn's files is decided about before another: moves need their goals to be free."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from agent_ls.review.file_changes import FileLedger
from agent_ls.review.hunks import Hunk
from agent_ls.review.images import Wholes, homes, sources
from agent_ls.review.lineages import Lineage
from agent_ls.review.rings import ring_of
from agent_ls.review.steps import Clash


def in_order(files: Mapping[str, FileLedger], wholes: Wholes) -> list[str]:
    """Return the files' paths, those that changed last first, but each behind the one that stands
    where it goes back to. Of those that changed places with each other one has to come first.
    """
    newest = reversed(list(files.items()))
    return _behind_their_goals(
        {path: {*goals(file.hunks), *homes(path, wholes)} for path, file in newest}
    )


def restored_in_order(lineages: Sequence[Lineage], wholes: Wholes) -> list[Lineage]:
    """Return what happened to each file such that none comes before the one in its old place.

    Files that are gone stand in no other's place, and come back last, but for those whose bytes
    others have.
    """
    of = {
        one.path: one
        for one in lineages
        if one.stands or (not one.is_covered and sources(one.path, wholes))
    }
    order = _behind_their_goals(
        {path: {one.origin, *homes(path, wholes)} for path, one in of.items()}
    )
    return [*(of[path] for path in order), *(one for one in lineages if one not in of.values())]


def _behind_their_goals(goals_of: Mapping[str, set[str]]) -> list[str]:
    found: dict[str, None] = {}
    begun = set[str]()

    def visit(path: str) -> None:
        if path in goals_of and path not in begun:
            begun.add(path)
            for goal in sorted(goals_of[path] - {path}):
                visit(goal)
            found[path] = None

    for path in goals_of:
        visit(path)
    return list(found)


def in_the_way(
    files: Mapping[str, FileLedger], file: FileLedger, hunks: Sequence[Hunk]
) -> Clash | None:
    """Return why these hunks cannot be decided about yet: another file has open changes under the
    name that this one would get, and one of both would be forgotten.
    """
    moves = (one for one in hunks if one.kind == "moved")
    names = {name for one in moves for name in (one.new if one.state == "undone" else one.old)}
    for name in sorted(names - {file.path}):
        other = files.get(name)
        if other is not None and other.open():
            reason = (
                f"it and {name} changed places; undo both of them at once, as with their turn"
                if name in ring_of(files, file.path, "open")
                else f"it was moved, and {name} has open changes of its own; "
                "decide about those first"
            )
            return Clash(file.path, 0, None, None, reason)
    return None


def goals(hunks: Iterable[Hunk]) -> set[str]:
    """Return the paths that moves among the hunks are about."""
    return {name for one in hunks if one.kind == "moved" for name in (*one.old, *one.new)}
