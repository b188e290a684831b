"""The only thread that uses the database: takes jobs in order and commits them in groups.

A job with a reply runs at once, together with all jobs before it. A job without one waits briefly
for more jobs, because every commit flushes the disk. The thread starts, and imports SQLAlchemy,
at the first job.

Invariant: acknowledged events are committed. If the store is unavailable (disk full, locked,
server away), events are kept and retried before any later events, so that a journal has no gap.
Meanwhile their callers get an error.
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
"""How long to retry after a lost connection before reporting it."""
_RECONNECT_S = 0.25
_GROUP_JOBS = 256
_FULL_JOBS = 10_000


class Reply:
    """A future of the caller's event loop that the writer's thread can settle."""

    def __init__(self) -> None:
        """Create the future on the running event loop."""
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self._loop.create_future()

    def give(self, value: object) -> None:
        """Set the result, from any thread."""
        self._settle(lambda: self.future.set_result(value))

    def refuse(self, error: StoreError) -> None:
        """Set the error, from any thread."""
        # One error may refuse several jobs, and each caller needs an exception of its own.
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

        # The caller's event loop may be closed by now.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(unless_cancelled)


@dataclass(frozen=True, slots=True, eq=False)
class Append:
    """Events of one session to store; without a reply, no caller waits."""

    session_id: str
    events: tuple[StoredEvent, ...]
    reply: Reply | None


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """Any other job in a transaction."""

    run: Callable[[sa.Connection], object]
    reply: Reply
    is_write: bool = True
    reloads: str | None = None
    """The session that this job loads or deletes; afterwards it takes events again."""


@dataclass(frozen=True, slots=True, eq=False)
class _Close:
    reply: Reply


Job = Append | Work


class Writer:
    """Takes jobs from any event loop and runs them group by group."""

    def __init__(self, location: Location) -> None:
        self._location = location
        self._queue: queue.SimpleQueue[Job | _Close] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._door = threading.Lock()
        # Only the thread changes the attributes below.
        self._database: Database | None = None
        self._kept: list[Append] = []
        self._kept_for = ""
        """Why the kept events could not be stored."""
        self._halted: dict[str, JournalHalted] = {}

    @property
    def is_full(self) -> bool:
        """Say whether the queue is so long that callers should wait."""
        return self._queue.qsize() + len(self._kept) >= _FULL_JOBS

    def take(self, job: Job) -> None:
        """Queue a job and return at once. Errors: ``StoreError`` after ``close``."""
        with self._door:
            if self._is_closed:
                raise StoreError(f"The store {self._location.shown} is closed already.")
            self._queue.put(job)
            if self._thread is None:
                # A daemon, so that a process that forgets to close can still end.
                self._thread = threading.Thread(target=self._work, name="store", daemon=True)
                self._thread.start()

    async def close(self) -> None:
        """Run all queued jobs, then close the database.

        Errors: ``StoreError`` with the number of events that could not be stored.
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
        """Wait for a group of jobs; empty when it is time to retry the kept events."""
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
            # Give up the jobs queued meanwhile too: they have waited for the same server.
            jobs += self._waiting()
        if fault.is_shared or len(jobs) == 1:
            self._give_up(jobs, fault)
            return
        # One job is at fault. Run each by itself, so that only that job fails.
        for index, job in enumerate(jobs):
            alone = self._without_halted([job])
            fault = self._attempt(alone) if alone else None
            if fault is not None:
                self._give_up(jobs[index:] if fault.is_shared else alone, fault)
                if fault.is_shared:
                    return

    def _waiting(self) -> list[Job]:
        """Take all queued jobs except the close."""
        jobs: list[Job] = []
        with contextlib.suppress(queue.Empty):
            while True:
                job = self._queue.get_nowait()
                if isinstance(job, _Close):
                    # Putting it back keeps the order: no job is queued after the close.
                    self._queue.put(job)
                    break
                jobs.append(job)
        return self._without_halted(jobs)

    def _without_halted(self, jobs: Iterable[Job]) -> list[Job]:
        """Refuse events of halted sessions, whose journals have a gap; return the other jobs."""
        good: list[Job] = []
        for job in jobs:
            halted = self._halted.get(job.session_id) if isinstance(job, Append) else None
            if halted is None:
                good.append(job)
            elif job.reply is not None:
                job.reply.refuse(halted)
        return good

    def _attempt(self, jobs: Sequence[Job]) -> Fault | None:
        """Run jobs in one transaction and reply to them; return the fault, None on success."""
        was_open = self._database is not None
        until, pause_s = time.monotonic() + _AWAY_S, 0.0
        while fault := self._attempt_once(jobs):
            if not was_open or not fault.is_lost or fault.is_silent or time.monotonic() >= until:
                return fault
            # Nothing reports that a server is back, so try again after a pause. A repeat is safe:
            # appending the same events again changes nothing.
            time.sleep(pause_s)  # noqa: TID251 - so a pause is the only way to wait here
            pause_s = _RECONNECT_S
        return None

    def _attempt_once(self, jobs: Sequence[Job]) -> Fault | None:
        is_open = False
        try:
            database = self._opened()
            is_open = True
            answers = self._in_transaction(database, jobs)
        except BaseException as error:  # If the thread died, callers would wait for ever.
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
                # The job must see the events appended before it.
                journal.append(connection, events)
                events = []
                answers.append(job.run(connection))
            journal.append(connection, events)
        return answers

    def _give_up(self, jobs: Sequence[Job], fault: Fault) -> None:
        for job in jobs:
            refusal = fault.error
            # One without events only waited for those before it.
            if isinstance(job, Append) and job.events:
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
