"""The queue of ``agent-ls batch``: batches, their tasks, claims with leases, and one cap of money.

A task runs only under a claim. A claim is an attempt's number with an owner and a lease by the
database's clock; every write of a worker names it, so that a worker that was cut off changes
nothing once another has taken over. What a running task may spend is reserved from the cap.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import sqlalchemy as sa

from agent_ls.domain.errors import StoreError
from agent_ls.store.queries import now_ms
from agent_ls.store.schema import batch_tasks, batches
from agent_ls.store.schema import sessions as sessions_table
from agent_ls.store.sql_store import SqlStore

_CENT_PART = 1e-9
"""Sums of floating-point numbers may differ by less than this."""
MAX_DEATHS = 20
"""A task whose workers died as often probably kills them."""
_DIED = json.dumps(
    {
        "failure_reason": f"{MAX_DEATHS} workers or runs were killed while they worked on it; it "
        "may be what kills them"
    }
)


class TaskState(StrEnum):
    """How far a task is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    """The run was a success, and so was the check if there is one."""
    FAILED = "failed"
    """The run or its check was no success, or the task could not be run."""


FINISHED = (TaskState.DONE, TaskState.FAILED)


@dataclass(frozen=True, slots=True)
class NewTask:
    """A task to put into the queue."""

    task_id: str
    spec: str
    labels: str
    budget_usd: float


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch."""

    batch_id: str
    name: str
    is_stopped: bool
    created_ms: int
    cap_usd: float | None
    options: str


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One task of a batch, with what came of it; the patch is read by itself."""

    task_id: str
    spec: str
    state: TaskState
    attempt: int
    owner: str
    lease_ms: int
    budget_usd: float
    cost_usd: float
    """So far, with what it cost before it was played again."""
    folder_uri: str
    session_id: str
    base_commit: str
    started_ms: int
    finished_ms: int
    result: str
    plays: int = 0
    """How often it was put back after it had failed."""
    reserved_usd: float = 0.0
    """What it counts for in the cap while it runs."""


@dataclass(frozen=True, slots=True)
class Look:
    """A batch at one moment, without its tasks' texts."""

    batch: Batch
    tasks: list[TaskRow]
    """In order; ``spec`` and ``result`` are empty."""
    now_ms: int
    """By the database's clock."""

    def affordable(self) -> set[str]:
        """Return which unfinished tasks the cap covers together, in order, beside the others."""
        cap_usd = math.inf if self.batch.cap_usd is None else self.batch.cap_usd + _CENT_PART
        spent_usd = math.fsum(map(_counted_usd, self.tasks))
        found = set[str]()
        for task in self.tasks:
            more_usd = task.reserved_usd - _counted_usd(task)
            if task.state not in FINISHED and spent_usd + more_usd <= cap_usd:
                spent_usd += more_usd
                found.add(task.task_id)
        return found


def _counted_usd(task: TaskRow) -> float:
    return task.reserved_usd if task.state is TaskState.RUNNING else task.cost_usd


Refused = Literal["held", "finished", "stopped", "no money", "unknown"]


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to run a task, and what earlier attempts left."""

    batch_id: str
    task_id: str
    attempt: int
    owner: str
    row: TaskRow
    options: str


class BatchQueue:
    """The batches in a store. Errors: ``StoreError`` from every method."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store

    async def add(self, batch: Batch, tasks: Sequence[NewTask]) -> None:
        """Store a batch with its tasks, in order."""
        await self._store.run(lambda db: _add(db, batch, tasks))

    async def batches(self) -> list[Batch]:
        """Return all batches, newest first."""
        return await self._store.run(_batches, is_write=False)

    async def tasks(self, batch_id: str, only: Sequence[str] = ()) -> list[TaskRow]:
        """Return a batch's tasks in order, or of these names alone."""
        return await self._store.run(lambda db: _tasks(db, batch_id, only), is_write=False)

    async def look(self, batch_id: str) -> Look:
        """Return how far a batch is, for those who ask again and again."""
        return await self._store.run(lambda db: _look(db, batch_id), is_write=False)

    async def patch(self, batch_id: str, task_id: str) -> bytes:
        """Return a task's patch; empty if it changed nothing."""
        return await self._store.run(lambda db: _patch(db, batch_id, task_id), is_write=False)

    async def set_stopped(self, batch_id: str, *, is_stopped: bool) -> None:
        """Stop a batch, or let it go on: no claim of a stopped one is given or renewed."""
        await self._store.run(lambda db: _change(db, batch_id, state="stopped" * is_stopped))

    async def set_cap(self, batch_id: str, cap_usd: float) -> None:
        """Change what the whole batch may cost."""
        await self._store.run(lambda db: _change(db, batch_id, cap_usd=cap_usd))

    async def replay(self, batch_id: str) -> int:
        """Let failed tasks begin anew and return how many; what they have cost stays counted."""
        return await self._store.run(lambda db: _replay(db, batch_id))

    async def claim(
        self,
        batch_id: str,
        task_id: str,
        owner: str,
        lease_s: float,
        *,
        dead: str = "",
    ) -> Claim | Refused:
        """Take the right to run a task and reserve its money, or say why not.

        ``dead`` names an owner known to be gone, whose lease need not end first.
        """

        def claim(db: sa.Connection) -> Claim | Refused:
            return _claim(db, batch_id, task_id, owner, lease_s, dead)

        return await self._store.run(claim)

    async def owner(self, batch_id: str, task_id: str) -> str:
        """Return who holds or held a task's newest claim; empty if nobody."""
        query = sa.select(batch_tasks.c.owner).where(_is(batch_id, task_id))
        return await self._store.run(lambda db: db.scalar(query) or "", is_write=False)

    async def renew(
        self, claim: Claim, lease_s: float, *, session_id: str = ""
    ) -> Literal["held", "lost", "stopped"]:
        """Extend a claim's lease, and note the session of its run once that is known."""
        return await self._store.run(lambda db: _renew(db, claim, lease_s, session_id))

    async def note_checkout(self, claim: Claim, folder_uri: str, base_commit: str) -> bool:
        """Note where the task is worked on, by which its session is found; False if it is lost."""
        values = {"folder_uri": folder_uri, "base_commit": base_commit}
        return await self._store.run(lambda db: _write(db, claim, values))

    async def finish(
        self,
        claim: Claim,
        state: TaskState,
        result: str,
        *,
        cost_usd: float,
        patch: bytes,
        session_id: str = "",
    ) -> bool:
        """Store what came of a task and free its money; False if the claim is lost."""
        values = {"state": state, "result": result, "cost_usd": cost_usd, "patch": patch}
        values |= {"session_id": session_id} if session_id else {}
        return await self._store.run(lambda db: _finish(db, claim, values))

    async def give_back(
        self,
        claim: Claim,
        *,
        cost_usd: float,
        session_id: str = "",
        result: str = "",
        is_death: bool = False,
    ) -> bool:
        """Put a task back into the queue, with what it has cost; False if the claim is lost.

        ``result`` may say why, until the task ends. ``is_death`` counts as a worker's death does.
        """
        values: dict[str, Any] = {
            "state": TaskState.WAITING,
            "cost_usd": cost_usd,
            "owner": "",
            "lease_ms": 0,
            "deaths": batch_tasks.c.deaths + int(is_death),
        }
        values |= {"session_id": session_id} if session_id else {}
        values["result"] = result
        return await self._store.run(lambda db: _write(db, claim, values))


def _add(db: sa.Connection, batch: Batch, tasks: Sequence[NewTask]) -> None:
    db.execute(
        sa.insert(batches).values(
            batch_id=batch.batch_id,
            name=batch.name,
            state="",
            created_ms=now_ms(db),
            cap_usd=batch.cap_usd,
            options=batch.options,
        )
    )
    rows = [
        {
            "batch_id": batch.batch_id,
            "task_id": task.task_id,
            "position": position,
            "spec": task.spec,
            "labels": task.labels,
            "budget_usd": task.budget_usd,
        }
        for position, task in enumerate(tasks)
    ]
    db.execute(sa.insert(batch_tasks), rows)


def _batches(db: sa.Connection) -> list[Batch]:
    query = sa.select(batches).order_by(batches.c.batch_id.desc())
    return [_batch(row) for row in db.execute(query)]


def _batch(row: Any) -> Batch:
    is_stopped = row.state == "stopped"
    return Batch(row.batch_id, row.name, is_stopped, row.created_ms, row.cap_usd, row.options)


def _tasks(db: sa.Connection, batch_id: str, only: Sequence[str]) -> list[TaskRow]:
    query = _with_costs().where(batch_tasks.c.batch_id == batch_id)
    query = query.where(batch_tasks.c.task_id.in_(only)) if only else query
    return [_row(row) for row in db.execute(query.order_by(batch_tasks.c.position))]


def _look(db: sa.Connection, batch_id: str) -> Look:
    batch = db.execute(sa.select(batches).where(batches.c.batch_id == batch_id)).one_or_none()
    if batch is None:
        raise _unknown(batch_id)
    query = _with_costs(is_brief=True).where(batch_tasks.c.batch_id == batch_id)
    rows = db.execute(query.order_by(batch_tasks.c.position))
    return Look(_batch(batch), [_row(row) for row in rows], now_ms(db))


def _unknown(batch_id: str) -> StoreError:
    return StoreError(f"there is no batch {batch_id}; `agent-ls batch status` lists them")


def _session_usd() -> sa.ColumnElement[float]:
    """Return what a task's newest session has cost, of a query with ``_WITH_SESSIONS``."""
    table = batch_tasks.c
    # A finished task's own number stays although its session may be deleted.
    return sa.case(
        (
            sa.and_(
                table.state == TaskState.RUNNING,
                sa.func.coalesce(sessions_table.c.cost_usd, 0.0) > table.cost_usd,
            ),
            sessions_table.c.cost_usd,
        ),
        else_=table.cost_usd,
    )


def _reserved_usd() -> sa.ColumnElement[float]:
    """Return what one play of a task may cost: its budget, or more if it has exceeded that."""
    budget_usd, session_usd = batch_tasks.c.budget_usd, _session_usd()
    return sa.case((session_usd > budget_usd, session_usd), else_=budget_usd)


_WITH_SESSIONS = batch_tasks.outerjoin(
    sessions_table,
    sa.and_(
        sessions_table.c.session_id == batch_tasks.c.session_id, batch_tasks.c.session_id != ""
    ),
)


def _with_costs(*, is_brief: bool = False) -> sa.Select[Any]:
    texts = ("spec", "labels", "result") if is_brief else ()
    without = ("patch", "cost_usd", "earlier_sessions", *texts)
    return sa.select(
        *(column for column in batch_tasks.c if column.name not in without),
        *(sa.literal("").label(name) for name in texts),
        (batch_tasks.c.earlier_usd + _session_usd()).label("cost_usd"),
        (batch_tasks.c.earlier_usd + _reserved_usd()).label("reserved_usd"),
    ).select_from(_WITH_SESSIONS)


def _row(row: Any) -> TaskRow:
    return TaskRow(
        task_id=row.task_id,
        spec=row.spec,
        state=TaskState(row.state),
        attempt=row.attempt,
        owner=row.owner,
        lease_ms=row.lease_ms,
        budget_usd=row.budget_usd,
        cost_usd=row.cost_usd,
        folder_uri=row.folder_uri,
        session_id=row.session_id,
        base_commit=row.base_commit,
        started_ms=row.started_ms,
        finished_ms=row.finished_ms,
        result=row.result,
        plays=row.plays,
        reserved_usd=row.reserved_usd,
    )


def _patch(db: sa.Connection, batch_id: str, task_id: str) -> bytes:
    query = sa.select(batch_tasks.c.patch).where(_is(batch_id, task_id))
    return bytes(db.scalar(query) or b"")


def _is(batch_id: str, task_id: str) -> sa.ColumnElement[bool]:
    return sa.and_(batch_tasks.c.batch_id == batch_id, batch_tasks.c.task_id == task_id)


def _change(db: sa.Connection, batch_id: str, **values: object) -> None:
    changed = db.execute(
        sa.update(batches)
        .where(batches.c.batch_id == batch_id)
        .values(**values)
        .returning(batches.c.batch_id)
    )
    if changed.one_or_none() is None:
        raise _unknown(batch_id)


def _replay(db: sa.Connection, batch_id: str) -> int:
    table = batch_tasks.c
    values = {
        "state": TaskState.WAITING,
        "plays": table.plays + 1,
        "earlier_usd": table.earlier_usd + table.cost_usd,
        "earlier_sessions": table.earlier_sessions + table.session_id + " ",
        "cost_usd": 0.0,
        "deaths": 0,
        "patch": None,
        **dict.fromkeys(("session_id", "folder_uri", "base_commit", "result"), ""),
        **dict.fromkeys(("started_ms", "finished_ms"), 0),
    }
    changed = db.execute(
        sa.update(batch_tasks)
        .where(table.batch_id == batch_id)
        .where(table.state == TaskState.FAILED)
        .values(values)
        .returning(table.task_id)
    )
    return len(changed.all())


def _claim(
    db: sa.Connection,
    batch_id: str,
    task_id: str,
    owner: str,
    lease_s: float,
    dead: str,
) -> Claim | Refused:
    # The lock on the batch serialises claims, so that two never reserve the same money.
    locked = sa.select(batches).where(batches.c.batch_id == batch_id).with_for_update()
    batch = db.execute(locked).one_or_none()
    row = db.execute(_with_costs().where(_is(batch_id, task_id))).one_or_none()
    if batch is None or row is None:
        return "unknown"
    if row.state in FINISHED:
        return "finished"
    if batch.state == "stopped":
        return "stopped"
    now = now_ms(db)
    if row.state == TaskState.RUNNING and row.lease_ms > now and row.owner != dead:
        return "held"
    # Whoever stopped in order, or gave the task back, did not leave it running.
    deaths = row.deaths + (row.state == TaskState.RUNNING)
    if deaths >= MAX_DEATHS:
        words = {"state": TaskState.FAILED, "result": _DIED, "finished_ms": now, "deaths": deaths}
        words["cost_usd"] = row.cost_usd - row.earlier_usd
        db.execute(sa.update(batch_tasks).where(_is(batch_id, task_id)).values(words))
        return "finished"
    if batch.cap_usd is not None:
        others = _spent(db, batch_id, task_id)
        if others + row.reserved_usd > batch.cap_usd + _CENT_PART:
            return "no money"
    values = {
        "state": TaskState.RUNNING,
        "attempt": row.attempt + 1,
        "deaths": deaths,
        "owner": owner,
        "lease_ms": now + round(lease_s * 1000),
        "started_ms": row.started_ms or now,
    }
    db.execute(sa.update(batch_tasks).where(_is(batch_id, task_id)).values(values))
    return Claim(batch_id, task_id, row.attempt + 1, owner, _row(row), batch.options)


def _spent(db: sa.Connection, batch_id: str, without: str) -> float:
    """Return what the other tasks have cost, those that run counted with their reservation."""
    table = batch_tasks.c
    running = table.state == TaskState.RUNNING
    spent = table.earlier_usd + sa.case((running, _reserved_usd()), else_=table.cost_usd)
    query = sa.select(sa.func.coalesce(sa.func.sum(spent), 0.0)).select_from(_WITH_SESSIONS)
    return float(
        db.execute(
            query.where(table.batch_id == batch_id).where(table.task_id != without)
        ).scalar_one()
    )


def _write(db: sa.Connection, claim: Claim, values: dict[str, Any]) -> bool:
    """Change a task's row if the claim is the newest; say whether it is."""
    table = batch_tasks.c
    written = db.execute(
        sa.update(batch_tasks)
        .where(_is(claim.batch_id, claim.task_id))
        .where(table.state == TaskState.RUNNING)
        .where(table.attempt == claim.attempt)
        .where(table.owner == claim.owner)
        .values(values)
        .returning(table.task_id)
    )
    return written.one_or_none() is not None


def _finish(db: sa.Connection, claim: Claim, values: dict[str, Any]) -> bool:
    return _write(db, claim, {**values, "finished_ms": now_ms(db), "owner": "", "lease_ms": 0})


def _renew(
    db: sa.Connection, claim: Claim, lease_s: float, session_id: str
) -> Literal["held", "lost", "stopped"]:
    values: dict[str, Any] = {"lease_ms": now_ms(db) + round(lease_s * 1000)}
    if session_id:
        values["session_id"] = session_id
    if not _write(db, claim, values):
        return "lost"
    state = db.scalar(sa.select(batches.c.state).where(batches.c.batch_id == claim.batch_id))
    return "stopped" if state == "stopped" else "held"
