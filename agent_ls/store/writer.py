"""The thread that alone uses the database: takes jobs in order and commits them in groups.

A job that somebody waits for is carried out at once, with all that came before it; jobs nobody
waits for linger a moment for company, because every commit costs a flush of the disk.
Creating a ``Writer`` costs nothing: SQLAlchemy is imported by the thread, at the first job.

Invariant: what was acknowledged is committed. Events that cannot be stored because the store is
out of order (disk full, locked, server away) are kept and tried again before any later ones, so
that a journal has no gap; who waited for them is told that they are not safe yet.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agent_ls.domain.errors import BytesDamaged, JournalHalted, StoreError
from agent_ls.store.faults import Fault, explain
from agent_ls.store.location import Location

if TYPE_CHECKING:
    import sqlalchemy as sa

    from agent_ls.domain.events import StoredEvent
    from agent_ls.store.database import Database

_LINGER_S = 0.05
_RETRY_S = 5.0
_AWAY_S = 3.0
"""A server that was there may be away this long before somebody is told."""
_RECONNECT_S = 0.25
_GROUP_JOBS = 256
_FULL_JOBS = 10_000


class Reply:
    """Where an answer goes: a future of the event loop that asked."""

    def __init__(self) -> None:
        """Belong to the running event loop."""
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self._loop.create_future()

    def give(self, value: object) -> None:
        """Answer, from any thread."""
        self._settle(lambda: self.future.set_result(value))

    def refuse(self, error: StoreError) -> None:
        """Answer with an error, from any thread."""
        # Several may be refused for one reason, and each raises its own exception.
        kind = next(
            (one for one in (JournalHalted, BytesDamaged) if isinstance(error, one)), StoreError
        )
        raised = kind(str(error))
        raised.__cause__ = error
        self._settle(lambda: self.future.set_exception(raised))

    def _settle(self, settle: Callable[[], None]) -> None:
        def unless_cancelled() -> None:
            if not self.future.done():
                settle()

        # The loop may be gone by now, and with it the one who asked.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(unless_cancelled)


@dataclass(frozen=True, slots=True, eq=False)
class Append:
    """Events of one session to store; without a reply nobody waits for it."""

    session_id: str
    events: tuple[StoredEvent, ...]
    reply: Reply | None


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """Anything else to do in a transaction."""

    run: Callable[[sa.Connection], object]
    reply: Reply
    is_write: bool = True
    reloads: str | None = None
    """The session that is read anew by this, after which it may be appended to again."""


@dataclass(frozen=True, slots=True, eq=False)
class _Close:
    reply: Reply


Job = Append | Work


class Writer:
    """Takes jobs from any event loop; carries them out one group after the other."""

    def __init__(self, location: Location) -> None:
        """Remember where; open nothing yet."""
        self._location = location
        self._queue: queue.SimpleQueue[Job | _Close] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._door = threading.Lock()
        # From here on used by the thread alone.
        self._database: Database | None = None
        self._kept: list[Append] = []
        self._kept_for = ""
        """Why what is kept could not be stored."""
        self._halted: dict[str, JournalHalted] = {}

    @property
    def is_full(self) -> bool:
        """Say whether so much waits that who brings more should wait too."""
        return self._queue.qsize() + len(self._kept) >= _FULL_JOBS

    def take(self, job: Job) -> None:
        """Queue a job and return at once.

        Errors: ``StoreError`` after ``close``.
        """
        with self._door:
            if self._is_closed:
                raise StoreError(f"The store {self._location.shown} is closed already.")
            self._queue.put(job)
            if self._thread is None:
                # A daemon, so that a process which forgets to close can still end.
                self._thread = threading.Thread(target=self._work, name="store", daemon=True)
                self._thread.start()

    async def close(self) -> None:
        """Carry out everything that was taken, then close the database.

        Errors: ``StoreError`` when some of it cannot be stored, saying how much.
        """
        with self._door:
            was_closed, self._is_closed = self._is_closed, True
            if was_closed or self._thread is None:
                return
            reply = Reply()
            self._queue.put(_Close(reply))
        try:
            await reply.future
        finally:
            await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        while True:
            jobs, closing = self._gather()
            self._carry_out(jobs)
            if closing:
                self._end(closing)
                return

    def _gather(self) -> tuple[list[Job], _Close | None]:
        """Wait for a group of jobs; empty when it is time to try again what is kept."""
        jobs: list[Job] = []
        wait_s = _RETRY_S if self._kept else None
        linger_until = 0.0
        while len(jobs) < _GROUP_JOBS:
            try:
                job = self._queue.get(timeout=wait_s)
            except queue.Empty:
                break
            if isinstance(job, _Close):
                return jobs, job
            jobs.append(job)
            if job.reply is not None:
                wait_s = linger_until = 0.0
            elif len(jobs) == 1:
                wait_s, linger_until = _LINGER_S, time.monotonic() + _LINGER_S
            else:
                wait_s = max(0.0, linger_until - time.monotonic())
        return jobs, None

    def _carry_out(self, new: list[Job]) -> None:
        jobs = self._without_halted([*self._kept, *new])
        self._kept = []
        if not jobs:
            return
        fault = self._attempt(jobs)
        if fault is None:
            return
        if fault.is_silent:
            # Who asked meanwhile has waited as long for the same.
            jobs += self._waiting()
        if fault.is_shared or len(jobs) == 1:
            self._give_up(jobs, fault)
            return
        # One of them is at fault: each by itself, so that only that one fails.
        for index, job in enumerate(jobs):
            alone = self._without_halted([job])
            fault = self._attempt(alone) if alone else None
            if fault is not None:
                self._give_up(jobs[index:] if fault.is_shared else alone, fault)
                if fault.is_shared:
                    return

    def _waiting(self) -> list[Job]:
        """Take what has come by now, but for the close."""
        jobs: list[Job] = []
        with contextlib.suppress(queue.Empty):
            while True:
                job = self._queue.get_nowait()
                if isinstance(job, _Close):
                    # Nothing comes after it.
                    self._queue.put(job)
                    break
                jobs.append(job)
        return self._without_halted(jobs)

    def _without_halted(self, jobs: Iterable[Job]) -> list[Job]:
        """Refuse what would come after a gap; return the others."""
        good: list[Job] = []
        for job in jobs:
            halted = self._halted.get(job.session_id) if isinstance(job, Append) else None
            if halted is None:
                good.append(job)
            elif job.reply is not None:
                job.reply.refuse(halted)
        return good

    def _attempt(self, jobs: Sequence[Job]) -> Fault | None:
        """Carry out jobs in one transaction and answer them; return why it did not work."""
        was_open = self._database is not None
        until, pause_s = time.monotonic() + _AWAY_S, 0.0
        while fault := self._attempt_once(jobs):
            if not was_open or not fault.is_lost or fault.is_silent or time.monotonic() >= until:
                return fault
            # This thread has no event loop, and nothing tells when a server is back. Repeating is
            # safe: appending the same events again changes nothing.
            time.sleep(pause_s)  # noqa: TID251 - so a pause is the only way to wait here
            pause_s = _RECONNECT_S
        return None

    def _attempt_once(self, jobs: Sequence[Job]) -> Fault | None:
        is_open = False
        try:
            database = self._opened()
            is_open = True
            answers = self._in_transaction(database, jobs)
        except BaseException as error:  # A dead thread would let everybody wait for ever.
            fault = explain(error, self._location)
            if fault.is_lost:
                self._drop_database()
            return fault if is_open else replace(fault, is_shared=True)
        for job, answer in zip(jobs, answers, strict=True):
            if isinstance(job, Work) and job.reloads:
                self._halted.pop(job.reloads, None)
            if job.reply is not None:
                job.reply.give(answer)
        return None

    def _opened(self) -> Database:
        from agent_ls.store.database import Database

        if self._database is None:
            self._database = Database(self._location)
        return self._database

    def _in_transaction(self, database: Database, jobs: Sequence[Job]) -> list[object]:
        from agent_ls.store import journal

        answers: list[object] = []
        events: list[StoredEvent] = []
        is_write = any(isinstance(job, Append) or job.is_write for job in jobs)
        with database.transaction(is_write=is_write) as connection:
            for job in jobs:
                if isinstance(job, Append):
                    events += job.events
                    answers.append(None)
                    continue
                # It must see what was appended before it.
                journal.append(connection, events)
                events = []
                answers.append(job.run(connection))
            journal.append(connection, events)
        return answers

    def _give_up(self, jobs: Sequence[Job], fault: Fault) -> None:
        for job in jobs:
            refusal = fault.error
            if isinstance(job, Append):
                if fault.is_shared and len(self._kept) < _FULL_JOBS:
                    self._kept.append(replace(job, reply=None))
                    self._kept_for = str(refusal)
                else:
                    refusal = self._halted[job.session_id] = JournalHalted(str(refusal))
            if job.reply is not None:
                job.reply.refuse(refusal)

    def _end(self, closing: _Close) -> None:
        self._drop_database()
        if self._kept:
            lost = sum(len(job.events) for job in self._kept)
            closing.reply.refuse(
                StoreError(
                    f"The store {self._location.shown} could not take the last {lost} events; "
                    f"what was acknowledged before is there. {self._kept_for}"
                )
            )
        closing.reply.give(None)

    def _drop_database(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            with contextlib.suppress(Exception):
                database.close()
