"""The agent's changes of one session, turn by turn: a fold of its stored events.

Owns pairing intents with outcomes and following sub-agents; what an edit means to a file's hunks
is ``edits/review.py``'s. What is not an event did not happen: a restarted server folds the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from agent_ls.domain import events as e
from agent_ls.domain.edits import ChangeText, CreateFile, DeleteFile, FileEdit, apply_replacements
from agent_ls.domain.review import HunkState
from agent_ls.edits.lines import BOM
from agent_ls.edits.review import FileLedger, Hunk

Load = Callable[[str], Awaitable[list[e.StoredEvent]]]
Fetch = Callable[[str], Awaitable[bytes | None]]
Name = Callable[[str], str]

_INLINE_CHARACTERS = 200_000
"""Edits of larger texts are compared by a thread."""


@dataclass(frozen=True, slots=True)
class Touch:
    """One edit that happened, whoever's decision it was."""

    turn_id: str
    """The turn in which, or after which, it happened."""
    path: str
    new_path: str
    """Another one only for a move."""
    before_blob: str | None
    after_blob: str | None
    edit: FileEdit | None = None
    """What exactly was done; None for what a command did."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which changes are meant; the more is said, the fewer."""

    turn_id: str | None = None
    path: str | None = None
    hunks: frozenset[str] | None = None


@dataclass(slots=True)
class TurnLedger:
    """What one turn changed."""

    turn_id: str
    prompt: str
    files: dict[str, FileLedger] = field(default_factory=dict[str, FileLedger])
    """By the path the agent left the file under."""


class Ledger:
    """The turns of one session with their files."""

    def __init__(self, load: Load, fetch: Fetch, name: Name) -> None:
        """Take how a sub-agent's journal and stored bytes are got, and a path's one spelling."""
        self.turns: dict[str, TurnLedger] = {}
        """By id, oldest first."""
        self.touches: list[Touch] = []
        """Oldest first."""
        self._load, self._fetch, self._name = load, fetch, name
        self._turn_id = ""
        self._intents: dict[tuple[str, str], e.EditIntended] = {}
        self._decisions: dict[str, e.ReviewDecided] = {}

    def file(self, turn_id: str, path: str) -> FileLedger | None:
        """Return a file's ledger."""
        turn = self.turns.get(turn_id)
        return turn.files.get(path) if turn else None

    def hunks(self, chosen: Selection, state: HunkState) -> list[Hunk]:
        """Return the chosen hunks that stand so, newest turn first."""
        return [
            one
            for turn in reversed(list(self.turns.values()))
            for file in turn.files.values()
            if chosen.turn_id in (None, turn.turn_id) and chosen.path in (None, file.path)
            for one in file.those(state, chosen.hunks)
        ]

    def unsettled(self) -> list[e.ReviewDecided]:
        """Return the decisions whose edit has no outcome."""
        return list(self._decisions.values())

    def lineages(self, turn_id: str) -> list[list[Touch]]:
        """Return every edit since a turn began: those of one file together, oldest first.

        Shape: the file that was touched last comes first.
        """
        order = list(self.turns)
        later = set(order[order.index(turn_id) :])
        found: dict[str, list[Touch]] = {}
        for one in self.touches:
            if one.turn_id in later:
                found[one.new_path] = [*found.pop(one.path, []), one]
        return list(reversed(found.values()))

    async def feed(self, stored: e.StoredEvent, at: str = "") -> None:
        """Take the next event in; ``at`` is set for those of a sub-agent."""
        event, at = stored.event, f"{at}{stored.seq}"
        match event:
            case e.TurnStarted():
                if not at.count("."):
                    self._turn_id = event.turn_id
                    self.turns[event.turn_id] = TurnLedger(event.turn_id, event.prompt)
            case e.ChildEnded():
                for one in await self._load(event.child_id):
                    await self.feed(one, f"{at}.")
            case e.ReviewDecided() | e.ReviewApplied():
                self._reviewed(event)
            case e.EditIntended():
                self._intents[event.call_id, event.edit.path] = event
            case e.EditApplied():
                intent = self._intents.pop((event.call_id, event.path), None)
                if intent is not None and event.status == "applied":
                    await self._edited(intent.edit, intent.before_blob, event.after_blob, at)
            case e.CommandChanged(path=path) if event.is_before_known:
                change = _change_of(path, event.before_blob, event.after_blob)
                await self._edited(change, event.before_blob, event.after_blob, at, is_exact=False)
            case _:
                pass

    def _reviewed(self, event: e.ReviewDecided | e.ReviewApplied) -> None:
        if isinstance(event, e.ReviewDecided):
            if event.edit is None:
                self._decided(event)
            else:
                self._decisions[event.review_id] = event
            return
        decision = self._decisions.pop(event.review_id, None)
        if decision is not None and event.status == "applied":
            if decision.edit is not None:
                edit = decision.edit
                self._touched(edit, edit, decision.before_blob, event.after_blob)
            self._decided(decision)

    async def _edited(
        self,
        edit: FileEdit,
        before_blob: str | None,
        after_blob: str | None,
        at: str,
        *,
        is_exact: bool = True,
    ) -> None:
        turn = self.turns.get(self._turn_id)
        if turn is None:
            return
        self._touched(edit if is_exact else None, edit, before_blob, after_blob)
        path = self._name(edit.path)
        before, after = await self._text(before_blob), await self._text(after_blob)
        if is_exact and before is not _OPAQUE and after is not _OPAQUE:
            after = text_after(edit, before, after)
        known = turn.files.pop(path, None)
        if known is None:
            base = None if before is _OPAQUE else before
            known = FileLedger(path, base, base, before_blob=before_blob)
        if before is _OPAQUE or after is _OPAQUE or _is_opaque(known):
            turn.files[path] = replace(known, hunks=(Hunk(at, "opaque", 0, (), ()),))
        elif edit.kind == "move":
            new_path = self._name(edit.new_path)
            turn.files[new_path] = known.drifted(before, at).moved(new_path, at)
        else:
            known = await _edited(known, before, after, at)
            # What was made and taken away in one turn never was.
            if known.base is not None or known.text is not None:
                turn.files[path] = known

    def _touched(
        self,
        exact: FileEdit | None,
        edit: FileEdit,
        before_blob: str | None,
        after_blob: str | None,
    ) -> None:
        path = self._name(edit.path)
        new_path = self._name(edit.new_path) if edit.kind == "move" else path
        self.touches.append(Touch(self._turn_id, path, new_path, before_blob, after_blob, exact))

    def _decided(self, event: e.ReviewDecided) -> None:
        if event.decision == "restore":
            self._restored(event)
            return
        turn = self.turns.get(event.turn_id)
        file = turn.files.pop(event.path, None) if turn else None
        if turn is not None and file is not None:
            state: dict[str, HunkState] = {"keep": "kept", "undo": "undone", "redo": "open"}
            file = file.decided(event.hunks, state[event.decision])
            turn.files[file.path] = file

    def _restored(self, event: e.ReviewDecided) -> None:
        """Let everything that this turn and later ones changed in the file be undone."""
        is_meant = False
        for turn in self.turns.values():
            is_meant = is_meant or turn.turn_id == event.turn_id
            for path, file in list(turn.files.items()) if is_meant else ():
                if event.path in (path, file.moved_from):
                    del turn.files[path]
                    file = file.decided([one.id for one in file.hunks], "undone")
                    turn.files[file.path] = file

    async def _text(self, digest: str | None) -> str | None:
        if digest is None:
            return None
        data = await self._fetch(digest)
        try:
            return _OPAQUE if data is None else data.decode()
        except UnicodeDecodeError:
            return _OPAQUE


async def _edited(known: FileLedger, before: str | None, after: str | None, at: str) -> FileLedger:
    if len(before or "") + len(after or "") <= _INLINE_CHARACTERS:
        return known.edited(before, after, at)
    return await asyncio.to_thread(known.edited, before, after, at)


def text_after(edit: FileEdit, before: str | None, seen: str | None) -> str | None:
    """Return what an edit alone made of a text.

    What was ``seen`` right after it may hold what a quick person typed meanwhile.
    """
    if edit.kind == "create":
        return edit.text
    if edit.kind != "change" or before is None:
        return seen
    try:
        return apply_replacements(before.removeprefix(BOM), edit.replacements)
    except ValueError:
        return seen


def _change_of(path: str, before_blob: str | None, after_blob: str | None) -> FileEdit:
    """Return a command's change as the edit it amounts to; the ledger reads the blobs."""
    if before_blob is None:
        return CreateFile(path=path, text="")
    if after_blob is None:
        return DeleteFile(path=path, base_version="")
    return ChangeText(path=path, base_version="", replacements=())


_OPAQUE = "\0no text"
"""Compared by identity: bytes that are no text, or are not kept any more."""


def _is_opaque(file: FileLedger) -> bool:
    return any(one.kind == "opaque" for one in file.hunks)
