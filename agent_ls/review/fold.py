"""The ledger of a session's journal, in which its sub-agents' edits stand where they happened.

A sub-agent's journal is read when the parent's tells of its end. Others may have edited its files
since, and to take an older edit in behind theirs would look as if somebody had taken theirs back:
then everything since the first of those began that worked at the same time is taken in anew.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from agent_ls.domain import events as e
from agent_ls.review.ledger import Ledger
from agent_ls.review.touches import Fetch, Load

COUNTS = (
    e.TurnStarted,
    e.Answered,
    e.EditIntended,
    e.EditApplied,
    e.CommandChanged,
    e.CommandChangesLeftOut,
    e.ChildStarted,
    e.ChildEnded,
    e.ReviewDecided,
    e.ReviewApplied,
    e.FileRenamed,
)
"""What a ledger is made of."""


@dataclass(frozen=True, slots=True)
class _Happening:
    """One event with its place among those of other journals."""

    at_ms: int
    """When it happened; never before what its own journal has before it."""
    stored: e.StoredEvent
    at: str = ""
    """What its journal's numbers are told apart by; none for the session's own."""
    call_id: str = ""
    """The call that a sub-agent's edits count as."""


class LedgerFold:
    """A session's events taken in, one after the other."""

    def __init__(self, load: Load, fetch: Fetch) -> None:
        """Take how a sub-agent's journal and stored bytes are got."""
        self._load = load
        self.ledger = Ledger(fetch)
        """With everything that was taken in; another one when older edits were heard of late."""
        self._now_ms = 0
        self._running: dict[str, tuple[int, str]] = {}
        """When the sub-agents began of whose end nothing is known, and their calls, by session."""
        self._before = self.ledger
        """As it was when the first of those began that worked at the same time; never changed."""
        self._since: list[_Happening] = []
        """What happened since, while one works."""

    async def feed(self, stored: e.StoredEvent) -> None:
        """Take the session's next event in.

        Errors: ``StoreError`` when a sub-agent's journal or bytes cannot be read; half of the event
        may be taken in then.
        """
        self._now_ms = max(self._now_ms, stored.at_ms)
        match stored.event:
            case e.ChildStarted(child_id=child_id, call_id=call_id):
                if not self._running:
                    self._before, self._since = self.ledger.copied(), []
                self._running[child_id] = self._now_ms, call_id
            case e.ChildEnded():
                await self._ended(stored.event, stored.seq)
            case _:
                happening = _Happening(self._now_ms, stored)
                if self._running:
                    self._since.append(happening)
                await _take_in(self.ledger, [happening])

    async def foreseen(self) -> Ledger:
        """Return the ledger as it were if all that work at the moment ended now.

        Shape: the ids of what they did are none that it will have. Errors: as ``feed``.
        """
        if not self._running:
            return self.ledger
        ledger, happened = self._before.copied(), self._since
        for child_id, (began_ms, call_id) in list(self._running.items()):
            those = await self._done_by(child_id, began_ms, f"{child_id}.", call_id, ledger)
            happened = _merged(happened, those)
        await _take_in(ledger, happened)
        return ledger

    async def _ended(self, event: e.ChildEnded, seq: int) -> None:
        began_ms, _ = self._running.pop(event.child_id, (self._now_ms, ""))
        at, ledger = f"{seq}.", self.ledger
        those = await self._done_by(event.child_id, began_ms, at, event.call_id, ledger)
        if not those:
            # Each file that it had changed is an event at least, where its whole journal is gone.
            ledger.lost_events += len(event.files)
        if those and self._since and those[0].at_ms < self._since[-1].at_ms:
            happened = _merged(self._since, those)
            anew = self._before.copied()
            anew.lost_events = ledger.lost_events
            await _take_in(anew, happened)
            self.ledger = anew
        else:
            happened = [*self._since, *those]
            await _take_in(ledger, those)
        # The clock may have been set back: what follows is later all the same.
        self._now_ms = max([self._now_ms, *(one.at_ms for one in those)])
        self._since = happened if self._running else []

    async def _done_by(
        self, child_id: str, began_ms: int, at: str, call_id: str, ledger: Ledger
    ) -> list[_Happening]:
        """Return what a sub-agent did that counts, with all that its own ones did; tell the ledger
        what is missing of it.

        Shape: in the order of time, nothing before it began.
        """
        journal = await self._load(child_id)
        ledger.lost_events += lost_of(journal)
        found: list[_Happening] = []
        now_ms = began_ms
        for one in journal:
            now_ms = max(now_ms, one.at_ms)
            if isinstance(one.event, e.ChildEnded):
                inner, within = one.event.child_id, f"{at}{one.seq}."
                found += await self._done_by(inner, began_ms, within, call_id, ledger)
            elif isinstance(one.event, COUNTS):
                found.append(_Happening(now_ms, one, at, call_id))
        return sorted(found, key=attrgetter("at_ms"))


def lost_of(journal: Sequence[e.StoredEvent]) -> int:
    """Return how many events are missing from a journal before its last one."""
    return journal[-1].seq - len(journal) if journal else 0


def _merged(known: Iterable[_Happening], those: Iterable[_Happening]) -> list[_Happening]:
    """Return both in the order of time; of one moment what was known goes first."""
    return list(heapq.merge(known, those, key=attrgetter("at_ms")))


async def _take_in(ledger: Ledger, happened: Iterable[_Happening]) -> None:
    for one in happened:
        await ledger.feed(one.stored, one.at, one.call_id)
