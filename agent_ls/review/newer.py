"""What newer turns made of a file that an older turn's changes are decided about.

A name may be another file's by now, and what is to be taken back may be gone already: by a newer
turn's change, whose own undo would bring it back. Such a change is to be undone first. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent_ls.review.file_changes import FileLedger
from agent_ls.review.hunks import Hunk
from agent_ls.review.ledger import Ledger
from agent_ls.review.lineages import Lineage
from agent_ls.review.since import Newer
from agent_ls.review.steps import Clash
from agent_ls.review.touches import Touch


@dataclass(frozen=True, slots=True)
class _Turns:
    """The turns since an older one."""

    ledger: Ledger
    ids: Sequence[str]
    """Newest first."""

    def of(self, lineage: Lineage | None) -> list[Newer]:
        """Return what is in effect of what they changed in one file, newest first."""
        if lineage is None:
            return []
        return [
            Newer(one, file)
            for one in self.ids
            for file in self.ledger.turns[one].files.values()
            if lineage.those_that_made(hunk.id for hunk in file.hunks if hunk.state != "undone")
        ]

    def by(self, lineage: Lineage | None, is_meant: Callable[[Touch], bool]) -> list[Newer]:
        """Return the same of those turns alone that touched the file so."""
        touches = lineage.touches if lineage is not None else ()
        turns = {one.turn_id for one in touches if is_meant(one)}
        return [one for one in self.of(lineage) if one.turn_id in turns]


def newer_changes(ledger: Ledger, turn_id: str, file: FileLedger) -> list[Newer]:
    """Return what newer turns changed in a turn's file and is in effect, newest first."""
    since = _since(ledger, turn_id)
    return since.of(ledger.lineages.that_made(_ids(file))) if since.ids else []


def overtaken(
    ledger: Ledger, turn_id: str, file: FileLedger, hunks: Sequence[Hunk]
) -> Clash | None:
    """Return why hunks of a turn's file cannot be decided about yet: by what a newer turn did, and
    is not undone, the file is elsewhere, is gone, or is another one; or these moved it, and what
    that turn changed would not be where it knows it.
    """
    since = _since(ledger, turn_id)
    if not since.ids:
        return None
    if (reason := _elsewhere(since, file) or _moved_beneath(since, file, hunks)) is not None:
        return Clash(file.path, 0, None, None, reason)
    return None


def _since(ledger: Ledger, turn_id: str) -> _Turns:
    turns = list(ledger.turns)
    return _Turns(ledger, turns[: turns.index(turn_id) : -1])


def _elsewhere(since: _Turns, file: FileLedger) -> str | None:
    """Return by what the file of today under this path is not the one with these changes."""
    lineages = since.ledger.lineages
    ids, today = _ids(file), lineages.today(file.path)
    if today is not None and (today.those_that_made(ids) or today.decided_about(ids)):
        return None
    own = lineages.that_made(ids)
    if own is not None and not file.has_place and not _ended_there(own, file, ids):
        # It went on as another file, in whose place it is not.
        own = None
    found = [*since.by(today, _comes), *since.by(own, _goes)]
    if not found:
        return None
    newest = min(found, key=lambda one: since.ids.index(one.turn_id))
    if own is not None and own.stands and own.path != file.path:
        return newest.reason(f"moved it to {own.path}")
    return newest.reason("let another file have its name" if today is not None else "deleted it")


def _moved_beneath(since: _Turns, file: FileLedger, hunks: Sequence[Hunk]) -> str | None:
    if not any(one.kind == "moved" and one.state == "open" for one in hunks):
        return None
    for turn_id in since.ids:
        for other in since.ledger.turns[turn_id].files.values():
            if file.path in (other.path, other.moved_from) and other.open():
                return "it was moved, and a newer turn changed it since; decide about that first"
    return None


def _ids(file: FileLedger) -> set[str]:
    return {one.id for one in file.hunks}


def _ended_there(lineage: Lineage, file: FileLedger, ids: set[str]) -> bool:
    """Say whether what took the file away moved no other one, nor it, under another name."""
    return all(one.new_path == file.path for one in lineage.those_that_made(ids))


def _comes(touch: Touch) -> bool:
    """Say whether a file got its name by what the agent did."""
    return touch.decision is None and (touch.is_new or touch.path != touch.new_path)


def _goes(touch: Touch) -> bool:
    """Say whether a file lost its name by what the agent did."""
    return touch.decision is None and (touch.is_gone or touch.path != touch.new_path)
