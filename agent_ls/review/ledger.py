"""The agent's changes of one session, turn by turn and file by file: a fold of its stored events.

A *chain* is one file with every edit of it, whatever its name is meanwhile; each turn that edited
the file has a ``FileLedger`` of it. What is not an event did not happen: a restarted server folds
the same.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from agent_ls.domain import events as e
from agent_ls.domain.edits import FileEdit
from agent_ls.domain.images import PutImage
from agent_ls.domain.permissions import Modes
from agent_ls.domain.review import HunkState
from agent_ls.loop.off_loop import off_loop
from agent_ls.review.file_changes import FileLedger
from agent_ls.review.hunks import Hunk
from agent_ls.review.touches import (
    Fetch,
    Touch,
    both_images,
    image_of,
    images_of,
    modes_of,
    texts_of,
    unless_damaged,
)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which changes are meant: those that fit every given field."""

    turn_id: str | None = None
    path: str | None = None
    hunks: frozenset[str] | None = None


@dataclass(slots=True)
class FileChain:
    """One file, with every edit of it."""

    number: int
    path: str
    """Where it is, or was last."""
    touches: list[Touch] = field(default_factory=list[Touch])
    """Oldest first."""
    is_gone: bool = False
    arrived: int = 0
    """Larger than that of every file that got a name earlier."""


@dataclass(slots=True)
class TurnLedger:
    """What one turn changed."""

    turn_id: str
    prompt: str
    files: dict[int, FileLedger] = field(default_factory=dict[int, FileLedger])
    """By the number of the chain, the file that changed last at the end; another dict after each
    change, so that a reader which waits in between has one state of it.
    """
    left_files: int = 0
    """Files that commands changed as well and that are not under review."""

    lost: list[e.FilesLost] = field(default_factory=list[e.FilesLost])
    """What commands deleted and nobody can bring back."""
    background: list[e.BackgroundStarted] = field(default_factory=list[e.BackgroundStarted])
    """Programs that went on and may have changed files unseen."""

    def at(self, path: str) -> list[FileLedger]:
        """Return the files of a path: several where a file is gone and another got its name."""
        return [one for one in self.files.values() if one.path == path]

    def put(self, number: int, file: FileLedger | None) -> None:
        """Replace what is known of a file; None: nothing of it was changed."""
        files = {key: value for key, value in self.files.items() if key != number}
        if file is not None and (file.hunks or file.base is not None or file.text is not None):
            files[number] = file
        self.files = files


class Ledger:
    """The turns of one session with their files."""

    def __init__(self, fetch: Fetch) -> None:
        """Begin empty; ``fetch`` gets stored bytes."""
        self.turns: dict[str, TurnLedger] = {}
        """By id, oldest first."""
        self.chains: list[FileChain] = []
        self.touches: list[Touch] = []
        """Every edit that happened, oldest first."""
        self.turn_of: dict[str, str] = {}
        """By call, in the order of the answers; a stopped call may end in the next turn."""
        self.lost_events = 0
        """How many events the journals lack, as far as their numbers tell; each may be a change."""
        self._fetch = partial(unless_damaged, fetch)
        self._turn_id = ""
        self._arrivals = 0
        self._intents: dict[tuple[str, str], e.EditIntended] = {}
        self._decisions: dict[str, tuple[FileEdit | PutImage, e.ReviewDecided]] = {}
        self._children: dict[str, tuple[str, str]] = {}
        """What the names of a sub-agent's edits begin with, and the session's call, by session."""

    def at(self, path: str) -> FileChain | None:
        """Return the file that has a name now, else the one that had it last."""
        found = [one for one in self.chains if one.path == path]
        return max(found, key=lambda one: (not one.is_gone, one.arrived), default=None)

    def is_taken(self, chain: FileChain) -> bool:
        """Say whether another file has the name of this one now."""
        there = self.at(chain.path)
        return there is not None and there is not chain and not there.is_gone

    def hunks(self, chosen: Selection, state: HunkState) -> list[Hunk]:
        """Return the chosen hunks in this state, newest turn first."""
        return [
            one
            for turn in reversed(list(self.turns.values()))
            for file in turn.files.values()
            if chosen.turn_id in (None, turn.turn_id) and chosen.path in (None, file.path)
            for one in file.those(state, chosen.hunks)
        ]

    def of_chain(self, number: int, since: str = "") -> Iterator[tuple[TurnLedger, FileLedger]]:
        """Yield the turns that changed a file, newest first, down to the turn ``since``."""
        for turn in reversed(list(self.turns.values())):
            if (file := turn.files.get(number)) is not None:
                yield turn, file
            if turn.turn_id == since:
                break

    def unsettled(self) -> list[tuple[FileEdit | PutImage, e.ReviewDecided]]:
        """Return the edits that have no outcome, each with its decision."""
        return list(self._decisions.values())

    async def feed(self, stored: e.StoredEvent) -> None:
        """Take in the next event, of the session or of one of its sub-agents."""
        event = stored.event
        prefix, call_id = self._children.get(stored.session_id, ("", ""))
        at = f"{prefix}{stored.seq}"
        match event:
            case e.TurnStarted() | e.Answered():
                if not prefix:
                    self._began(event)
            case e.ChildStarted():
                self._children[event.child_id] = f"{at}.", call_id or event.call_id
            case e.EditIntended() | e.EditApplied() | e.CommandChanged():
                if (touch := self._touch_of(event)) is not None:
                    await self._edited(touch, call_id or event.call_id, at)
            case e.CommandChangesLeftOut() | e.FilesLost():
                self._left(event, call_id or event.call_id)
            case e.BackgroundStarted(reads_only=False):
                if (turn := self.turns.get(self._turn(call_id or event.call_id))) is not None:
                    turn.background.append(event)
            case e.FileRenamed() | e.ReviewDecided() | e.ReviewApplied():
                await self._reviewed(event, at)
            case _:
                pass

    def _left(self, event: e.CommandChangesLeftOut | e.FilesLost, call_id: str) -> None:
        turn = self.turns.get(self._turn(call_id))
        if turn is None:
            return
        if isinstance(event, e.FilesLost):
            turn.lost.append(event)
        else:
            turn.left_files += event.left_files

    def _touch_of(self, event: e.EditIntended | e.EditApplied | e.CommandChanged) -> Touch | None:
        """Return the edit that happened by an event; None: none did."""
        if isinstance(event, e.EditIntended):
            self._intents[event.call_id, event.edit.path] = event
            return None
        if isinstance(event, e.CommandChanged):
            return _command_touch(event) if event.is_before_known or event.images else None
        intent = self._intents.pop((event.call_id, event.path), None)
        if intent is None or event.status != "applied":
            return None
        modes = modes_of(intent.edit, intent.before_mode, event.after_mode)
        places = intent.place, intent.new_place
        return _touch(intent.edit, (intent.before_blob, event.after_blob), modes, places)

    async def _reviewed(
        self, event: e.FileRenamed | e.ReviewDecided | e.ReviewApplied, at: str
    ) -> None:
        if isinstance(event, e.FileRenamed):
            for chain in self.renamed(event.path):
                new_path = event.new_path + chain.path.removeprefix(event.path)
                for turn, file in self.of_chain(chain.number):
                    if any(one.kind == "moved" for one in file.hunks):
                        turn.files = {**turn.files, chain.number: file.renamed(new_path)}
                        break
                self._arrive(chain, new_path)
        elif isinstance(event, e.ReviewApplied):
            edit, decision = self._decisions.pop(event.review_id, (None, None))
            if edit is not None and decision is not None and event.status == "applied":
                await self._carried_out(decision, edit, event.after_blob, at)
        elif event.edit is not None:
            self._decisions[event.review_id] = event.edit, event
        else:
            self._decided(event)

    def renamed(self, path: str) -> list[FileChain]:
        """Return the files that have another name when this file or folder gets one."""
        return [
            one
            for one in self.chains
            if not one.is_gone and (one.path == path or one.path.startswith(f"{path}/"))
        ]

    def _began(self, event: e.TurnStarted | e.Answered) -> None:
        if isinstance(event, e.Answered):
            self.turn_of.update((one.id, self._turn_id) for one in event.message.calls)
            return
        self._turn_id = event.turn_id
        self.turns[event.turn_id] = TurnLedger(event.turn_id, event.prompt)

    def _turn(self, call_id: str) -> str:
        return self.turn_of.setdefault(call_id, self._turn_id) if call_id else self._turn_id

    async def _edited(self, touch: Touch, call_id: str, at: str) -> None:
        """Take in an edit of the agent's."""
        touch = replace(touch, turn_id=self._turn(call_id), call_id=call_id, at=at)
        images = None
        if touch.path != touch.new_path:
            chain, turn = self.at(touch.path), self.turns.get(touch.turn_id)
            known = turn.files.get(chain.number) if turn and chain else None
            images = await images_of(touch, self._fetch)
            if known is not None and known.is_opaque:
                images = await both_images(touch, self._fetch)
        if images is not None:
            # A file that is no text is put back by its bytes, at both places.
            before, after = images
            touch = replace(touch, edit=None)
            await self._followed(
                replace(touch, new_path=touch.path, after_blob=None, images=(before, None))
            )
            await self._followed(
                replace(
                    touch,
                    path=touch.new_path,
                    before_blob=None,
                    images=(None, after),
                    at=f"{touch.at}.to",
                )
            )
        else:
            await self._followed(touch)

    async def _followed(self, touch: Touch) -> None:
        chain = self.at(touch.path) or self._new_chain(touch.path)
        self._keep(chain, touch)
        await self._follow(chain, touch)

    def _new_chain(self, path: str) -> FileChain:
        self.chains.append(FileChain(len(self.chains), path))
        return self.chains[-1]

    def _keep(self, chain: FileChain, touch: Touch) -> None:
        self.touches.append(touch)
        chain.touches.append(touch)
        is_here = not chain.is_gone and len(chain.touches) > 1 and chain.path == touch.new_path
        chain.is_gone = touch.is_gone
        if not is_here:
            self._arrive(chain, touch.new_path)

    def _arrive(self, chain: FileChain, path: str) -> None:
        self._arrivals += 1
        chain.path, chain.arrived = path, self._arrivals
        for turn, file in self.of_chain(chain.number):
            # Not at the end: the turn did not change it now.
            turn.files = {**turn.files, chain.number: replace(file, path=path)}

    async def _follow(self, chain: FileChain, touch: Touch) -> None:
        """Let the turn's ledger of the file follow an edit."""
        turn = self.turns.get(touch.turn_id)
        if turn is not None:
            known = turn.files.get(chain.number)
            turn.put(chain.number, await _followed(known, chain.number, touch, self._fetch))

    def _decided(self, event: e.ReviewDecided) -> None:
        """Take in a decision that needed no edit."""
        if (chain := self._chain_of(event)) is None:
            return
        if event.decision != "restore":
            self._mark(event, chain, chain.touches[-1].after_blob)
        elif not event.call_id:
            self._restored(event, chain)

    async def _carried_out(
        self,
        decision: e.ReviewDecided,
        edit: FileEdit | PutImage,
        after_blob: str | None,
        at: str,
    ) -> None:
        """Take in a decision whose edit was applied."""
        if (chain := self._chain_of(decision)) is None:
            return
        touch = _review_touch(decision, edit, after_blob, at)
        touch = replace(touch, turn_id=self._turn_id)
        if decision.decision != "restore":
            self._mark(decision, chain, after_blob)
        self._keep(chain, touch)
        if decision.decision == "restore" and decision.call_id:
            # What the turn did before that call stays a change of its.
            await self._went_back(chain, replace(touch, turn_id=decision.turn_id))
        elif decision.decision == "restore":
            self._restored(decision, chain)

    def _chain_of(self, decision: e.ReviewDecided) -> FileChain | None:
        """Return the file that a decision is about; that of its path where no hunk is known."""
        ids = set(decision.hunks)
        for turn in reversed(list(self.turns.values())):
            if decision.decision == "restore" or turn.turn_id == decision.turn_id:
                for number, file in turn.files.items():
                    if any(one.id in ids for one in file.hunks):
                        return self.chains[number]
        return self.at(decision.path)

    def _mark(self, event: e.ReviewDecided, chain: FileChain, left: str | None) -> None:
        turn = self.turns.get(event.turn_id)
        file = turn.files.get(chain.number) if turn else None
        if turn is not None and file is not None:
            states: dict[str, HunkState] = {"keep": "kept", "undo": "undone", "redo": "open"}
            after = file.decided(event.hunks, states[event.decision], event.before_mode)
            turn.put(chain.number, replace(after, blobs=(left, left)))

    async def _went_back(self, chain: FileChain, touch: Touch) -> None:
        """Follow a restore to before a call, which takes back kept changes too.

        What is left of kept changes stays kept.
        """
        turn = self.turns.get(touch.turn_id)
        if turn is None:
            # The store lost the event that began the turn; its changes are not reviewed.
            return
        file = turn.files.get(chain.number)
        kept = {one.id for one in file.parts if one.state == "kept"} if file else set[str]()
        if file is not None:
            turn.put(chain.number, file.marked(kept, "open"))
        await self._follow(chain, touch)
        if (after := turn.files.get(chain.number)) is not None:
            turn.put(chain.number, after.marked(kept, "kept"))

    def _restored(self, event: e.ReviewDecided, chain: FileChain) -> None:
        """Mark all changes of this turn and later ones in the file as undone."""
        for turn, file in self.of_chain(chain.number, event.turn_id):
            undone = file.decided([one.id for one in file.hunks], "undone", event.before_mode)
            turn.put(chain.number, undone)


async def _followed(
    known: FileLedger | None, number: int, touch: Touch, fetch: Fetch
) -> FileLedger | None:
    """Return what an edit makes of a turn's ledger of the file."""
    path, at = touch.new_path, touch.at
    images = await images_of(touch, fetch)
    if images is not None or (known is not None and known.is_opaque):
        images = images or await both_images(touch, fetch)
        known = known or FileLedger(path, None, None, number=number)
        digest = known.blobs[0]
        earlier = await image_of(digest, known.modes.base, fetch)
        return known.replaced(images, earlier, at)
    before, after = await texts_of(touch, fetch)
    if known is None:
        known = FileLedger(touch.path, before, before, number=number)
    if touch.edit is not None and touch.edit.kind == "move":
        changed = replace(known, path=touch.path).with_outside_change(before, at).moved(path, at)
    else:
        size = len(before or "") + len(after or "")
        changed = await off_loop(size, partial(known.edited, before, after, at))
    is_one = bool(known.hunks) and known.blobs[1] == touch.before_blob
    first = known.blobs[0] if is_one else touch.before_blob
    changed = replace(changed.with_modes(touch.modes), path=path, blobs=(first, touch.after_blob))
    # What was made and taken away in one turn never was.
    return None if changed.base is None and changed.text is None else changed


def _command_touch(event: e.CommandChanged) -> Touch:
    # No link stood there when it was seen; where one stands now is another file.
    return Touch(
        "",
        event.path,
        event.path,
        event.before_blob,
        event.after_blob,
        images=event.images,
        modes=(event.before_mode, event.after_mode),
        command=event.call_id,
    )


def _review_touch(
    decision: e.ReviewDecided, edit: FileEdit | PutImage, after_blob: str | None, at: str
) -> Touch:
    if isinstance(edit, PutImage):
        images = edit.base, edit.goal
        touch = Touch("", edit.path, edit.path, None, after_blob, images=images)
    else:
        modes = modes_of(edit, decision.before_mode)
        touch = _touch(edit, (decision.before_blob, after_blob), modes)
        if touch.is_new and not touch.is_gone:
            # A file that was moved and then deleted comes back at once where it was before.
            touch = replace(touch, path=decision.path)
    return replace(touch, at=at, decision=decision)


def _touch(
    edit: FileEdit,
    blobs: tuple[str | None, str | None],
    modes: Modes,
    places: tuple[str, str] = ("", ""),
) -> Touch:
    # No link is followed now: what a path of the journal led to then, the journal says.
    path = places[0] or posixpath.normpath(edit.path)
    new_path = path
    if edit.kind == "move":
        new_path = places[1] or posixpath.normpath(edit.new_path)
    return Touch("", path, new_path, *blobs, edit, modes=modes)


def names_in(hunk_ids: Iterable[str]) -> set[str]:
    """Return the names of edits that these ids may begin with."""
    found = set[str]()
    for one in hunk_ids:
        while one:
            found.add(one)
            one = one.rpartition(".")[0]
    return found
