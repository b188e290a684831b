"""The agent's changes of one session, turn by turn: a fold of its stored events.

Owns pairing intents with outcomes; in which order the events of several journals are taken in is
``fold.py``'s, what an edit means to a turn's files ``following.py``'s, and to a
file's hunks ``file_changes.py``'s. What is not an event did not happen: a restarted server folds
the same.
"""

from __future__ import annotations

import copy
import posixpath
from dataclasses import dataclass, replace
from functools import partial

from agent_ls.domain import events as e
from agent_ls.domain.edits import FileEdit, MoveFile
from agent_ls.domain.images import PutImage, is_text
from agent_ls.domain.permissions import Modes
from agent_ls.domain.review import HunkState
from agent_ls.review.file_changes import FileLedger
from agent_ls.review.following import follow_edit, went_back
from agent_ls.review.hunks import Hunk
from agent_ls.review.lineages import Lineages
from agent_ls.review.renames import follow, renames
from agent_ls.review.touches import Fetch, Touch, modes_of, unless_damaged
from agent_ls.review.turns import TurnLedger


@dataclass(frozen=True, slots=True)
class RestorePoint:
    """A moment that files can be brought back to: before a turn, or before a call of it."""

    turn_id: str
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which changes are meant; the more is said, the fewer."""

    turn_id: str | None = None
    path: str | None = None
    hunks: frozenset[str] | None = None


class Ledger:
    """The turns of one session with their files."""

    def __init__(self, fetch: Fetch) -> None:
        """Take how stored bytes are got."""
        self.turns: dict[str, TurnLedger] = {}
        """By id, oldest first."""
        self.lineages = Lineages()
        """What happened to each file."""
        self.turn_of: dict[str, str] = {}
        """By call, in the order of the answers; what a stopped one did may be heard of when the
        next turn has begun.
        """
        self.lost_events = 0
        """How many events the journals lack, as far as their numbers tell; each may be a change."""
        self._fetch = partial(unless_damaged, fetch)
        self._turn_id = ""
        self._intents: dict[tuple[str, str], e.EditIntended] = {}
        self._decisions: dict[str, tuple[FileEdit | PutImage, e.ReviewDecided]] = {}
        self._rooms: dict[str, str] = {}
        """What the files that make room are called again once they have left it."""
        self._seen: dict[str, dict[str, Hunk]] = {}
        """The hunks that a decision was about, by id, as they were when it was taken in first."""

    def copied(self) -> Ledger:
        """Return one that goes on from here by itself, and knows as well what decisions saw."""
        other = copy.copy(self)
        other.turns = {one: replace(turn) for one, turn in self.turns.items()}
        other.lineages = self.lineages.copied()
        other.turn_of, other._rooms = dict(self.turn_of), dict(self._rooms)
        other._intents, other._decisions = dict(self._intents), dict(self._decisions)
        return other

    @property
    def touches(self) -> list[Touch]:
        """Return every edit that happened, oldest first."""
        return self.lineages.touches

    def file(self, turn_id: str, path: str) -> FileLedger | None:
        """Return a file's ledger."""
        turn = self.turns.get(turn_id)
        return turn.files.get(path) if turn else None

    def called(self, path: str) -> str:
        """Return what a file is called once it has left the room that it made for others."""
        return self._rooms.get(path, path)

    def hunks(self, chosen: Selection, state: HunkState) -> list[Hunk]:
        """Return the chosen hunks that stand so, newest turn first."""
        return [
            one
            for turn in reversed(list(self.turns.values()))
            for file in turn.files.values()
            if chosen.turn_id in (None, turn.turn_id) and chosen.path in (None, file.path)
            for one in file.those(state, chosen.hunks)
        ]

    def unsettled(self) -> list[tuple[FileEdit | PutImage, e.ReviewDecided]]:
        """Return the edits that have no outcome, each with its decision."""
        return list(self._decisions.values())

    async def feed(self, stored: e.StoredEvent, at: str = "", call_id: str = "") -> None:
        """Take the next event in; the rest is set for those of a sub-agent: what its journal's
        numbers are told apart by, and the call of its parent's that its edits count as.
        """
        event, at = stored.event, f"{at}{stored.seq}"
        match event:
            case e.TurnStarted() | e.Answered():
                if not at.count("."):
                    self._begun(event)
            case e.ReviewDecided() | e.ReviewApplied() | e.FileRenamed():
                await self._reviewed(event, at)
            case e.EditIntended():
                self._intents[event.call_id, event.edit.path] = event
            case e.EditApplied():
                intent = self._intents.pop((event.call_id, event.path), None)
                if intent is not None and event.status == "applied":
                    blobs = intent.before_blob, event.after_blob
                    modes = modes_of(intent.edit, intent.before_mode, event.after_mode)
                    call_id = call_id or event.call_id
                    places = intent.place, intent.new_place
                    touch = self._touched(intent.edit, blobs, modes, call_id, at, places=places)
                    await follow_edit(self.turns, touch, self._fetch)
            case e.CommandChanged() | e.CommandChangesLeftOut():
                await self._commanded(event, at, call_id or event.call_id)
            case _:
                pass

    async def _commanded(
        self, event: e.CommandChanged | e.CommandChangesLeftOut, at: str, call_id: str
    ) -> None:
        if isinstance(event, e.CommandChangesLeftOut):
            turn = self.turns.get(self._turn(call_id))
            if turn is not None:
                turn.left_files += event.left_files
        elif event.is_before_known or event.images:
            # No link stood there when it was seen; where one stands now is another file.
            path, blobs = event.path, (event.before_blob, event.after_blob)
            touch = Touch(
                self._turn(call_id),
                path,
                path,
                *blobs,
                None,
                call_id,
                at,
                images=event.images,
                modes=(event.before_mode, event.after_mode),
                command=event.call_id,
            )
            self.lineages.keep(touch)
            await follow_edit(self.turns, touch, self._fetch)

    def _begun(self, event: e.TurnStarted | e.Answered) -> None:
        if isinstance(event, e.Answered):
            self.turn_of.update((one.id, self._turn_id) for one in event.message.calls)
            return
        self._turn_id = event.turn_id
        self.turns[event.turn_id] = TurnLedger(event.turn_id, event.prompt)

    async def _reviewed(
        self, event: e.ReviewDecided | e.ReviewApplied | e.FileRenamed, at: str
    ) -> None:
        if isinstance(event, e.FileRenamed):
            for path, new_path in renames(self, event.path, event.new_path).items():
                follow(self, path, new_path)
            return
        if isinstance(event, e.ReviewDecided):
            self._seen.setdefault(event.review_id, self._hunks_of(event))
            if event.edit is None:
                self._decided(event)
            else:
                self._decisions[event.review_id] = event.edit, event
            return
        edit, decision = self._decisions.pop(event.review_id, (None, None))
        if edit is not None and decision is not None and event.status == "applied":
            await self._carried_out(decision, edit, event.after_blob, at)

    async def _carried_out(
        self,
        decision: e.ReviewDecided,
        edit: FileEdit | PutImage,
        after_blob: str | None,
        at: str,
    ) -> None:
        if decision.decision != "restore":
            if not self._decided(decision):
                await self._left(decision, edit, after_blob, at)
            if not decision.hunks and edit.kind == "move":
                self._made_room(decision.turn_id, edit)
        if isinstance(edit, PutImage):
            blobs, images = (None, after_blob), (edit.base, edit.goal)
            places = edit.path, edit.path
            touch = Touch(self._turn(""), *places, *blobs, None, "", at, decision, images)
            self.lineages.keep(touch)
        else:
            blobs = decision.before_blob, after_blob
            modes = modes_of(edit, decision.before_mode)
            touch = self._touched(edit, blobs, modes, "", at, decision)
        if decision.call_id:
            # What the turn did before that call stays a change of its.
            await went_back(self.turns, replace(touch, turn_id=decision.turn_id), self._fetch)
        elif decision.decision == "restore":
            self._restored(decision, touch.new_path)
        if touch.path in self._rooms and (touch.new_path != touch.path or touch.is_gone):
            self._left_room(touch.path)

    def _touched(
        self,
        edit: FileEdit,
        blobs: tuple[str | None, str | None],
        modes: Modes,
        call_id: str,
        at: str,
        decision: e.ReviewDecided | None = None,
        places: tuple[str, str] = ("", ""),
    ) -> Touch:
        # No link is followed now: what a path of the journal led to then, the journal says.
        path = places[0] or posixpath.normpath(edit.path)
        new_path = path
        if edit.kind == "move":
            new_path = places[1] or posixpath.normpath(edit.new_path)
        turn_id = self._turn(call_id)
        touch = Touch(turn_id, path, new_path, *blobs, edit, call_id, at, decision, modes=modes)
        # A file that was moved and then deleted comes back at once where it was before.
        origin = decision.path if decision is not None and touch.brings_back else path
        self.lineages.keep(replace(touch, path=origin))
        return touch

    def _turn(self, call_id: str) -> str:
        return self.turn_of.setdefault(call_id, self._turn_id) if call_id else self._turn_id

    def _decided(self, event: e.ReviewDecided) -> bool:
        """Let changes stand as was decided; say whether all of them are as the person saw them.

        Not so where a sub-agent that still worked then had changed the same lines before: what it
        did was not decided about, and now it is one change with what was.
        """
        if event.decision == "restore":
            if not event.call_id:
                self._restored(event, event.path)
            return True
        turn, seen = self.turns.get(event.turn_id), self._seen[event.review_id]
        file = turn.files.get(event.path) if turn else None
        if turn is None or file is None:
            return not seen
        there = self._hunks_of(event)
        meant = [one for one in seen if one in there and _is_same(seen[one], there[one])]
        state: dict[str, HunkState] = {"keep": "kept", "undo": "undone", "redo": "open"}
        after = file.decided(meant, state[event.decision], event.before_mode)
        turn.put([after], gone=[event.path])
        return len(meant) == len(seen)

    async def _left(
        self,
        decision: e.ReviewDecided,
        edit: FileEdit | PutImage,
        after_blob: str | None,
        at: str,
    ) -> None:
        """Let a file be as a decision left it, though not all that it named stands so."""
        turn = self.turns.get(decision.turn_id)
        file = turn.files.get(decision.path) if turn else None
        if turn is None or file is None:
            return
        if edit.kind == "move":
            turn.put([file.renamed(edit.new_path)], gone=[decision.path])
            return
        data = None if after_blob is None else await self._fetch(after_blob)
        if data is None or not is_text(data):
            return
        if edit.kind == "create" and file.text is None:
            # A deleted file came back with more than it had before the turn.
            turn.put([file.edited(None, data.decode(), at)], gone=[decision.path])
        elif edit.kind == "change" and file.text is not None:
            after = file.drifted(data.decode(), at)
            # Nobody else has written in the changes: the text of before one of them is back.
            mixed = {one.id for one in file.hunks if one.is_mixed}
            hunks = tuple(replace(one, is_mixed=one.id in mixed) for one in after.hunks)
            turn.put([replace(after, hunks=hunks)], gone=[decision.path])

    def _hunks_of(self, event: e.ReviewDecided) -> dict[str, Hunk]:
        """Return the hunks that a decision names, by id."""
        file = self.file(event.turn_id, event.path)
        return {one.id: one for one in file.hunks if one.id in event.hunks} if file else {}

    def _made_room(self, turn_id: str, edit: MoveFile) -> None:
        """Let a file be reviewed under another name, none of its changes being decided about.

        A turn knows it by the name that it had then, and by that again when it leaves the room.
        """
        those = self.lineages.of(edit.path)
        self._rooms[edit.new_path] = edit.path
        for turn in self.turns.values():
            file = turn.files.get(edit.path)
            hunks = () if file is None else file.hunks
            is_known = any(those is not None and those.made(one.id) for one in hunks)
            # The files of a ring go by their names, whatever brought them there.
            is_known |= turn.turn_id == turn_id and any(one.kind == "moved" for one in hunks)
            if file and is_known:
                turn.put([replace(file, path=edit.new_path)], gone=[edit.path])

    def _left_room(self, room: str) -> None:
        path = self._rooms.pop(room)
        for turn in self.turns.values():
            if file := turn.files.get(room):
                turn.put([replace(file, path=path)], gone=[room])

    def _restored(self, event: e.ReviewDecided, path: str) -> None:
        """Let everything that this turn and later ones changed in the file be undone."""
        those = self.lineages.of(path)
        for turn in reversed(list(self.turns.values())):
            turn.undo(lambda one: those is not None and those.made(one.id), event.before_mode)
            if turn.turn_id == event.turn_id:
                break


def _is_same(one: Hunk, other: Hunk) -> bool:
    return (one.old, one.new) == (other.old, other.new)
