"""What turns and model requests have cost, without counting anything twice.

A sub-agent's turns are part of the turn that started it, and a fork repeats the turns of its
source: both are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from agent_ls.store.schema import batch_tasks, executions, sessions, steps


@dataclass(frozen=True, slots=True)
class TurnCost:
    """One turn of a user's session."""

    started_ms: int
    cost_usd: float
    tokens: int
    roots: str
    user: str
    labels: str
    """Of the batch's task, as a JSON list; empty for any other turn."""
    task: str
    """The batch's task as JSON; empty for any other turn."""


@dataclass(frozen=True, slots=True)
class ModelCost:
    """The steps of one model; turns cost more, as they ask other models for advice, too."""

    model: str
    cost_usd: float
    tokens: int


def turn_costs(db: sa.Connection, since_ms: int) -> list[TurnCost]:
    """Return the turns since a time, oldest first."""
    table = executions.c
    in_batch = sa.and_(batch_tasks.c.session_id == table.session_id, table.session_id != "")
    query = (
        sa.select(
            table.execution_id,
            table.session_id,
            table.started_ms,
            table.cost_usd,
            table.total_tokens,
            table.project,
            sessions.c.user_name,
            batch_tasks.c.labels,
            batch_tasks.c.spec,
        )
        .join_from(executions, sessions, sessions.c.session_id == table.session_id)
        .outerjoin(batch_tasks, in_batch)
        .where(table.started_ms >= since_ms)
        .where(sessions.c.parent_id == "")
        # Ids sort by time, so the source of a fork comes before it.
        .order_by(table.started_ms, table.session_id)
    )
    earlier = _earlier_plays(db)
    found: dict[str, TurnCost] = {}
    for row in db.execute(query):
        labels, spec = earlier.get(row.session_id, (row.labels or "", row.spec or ""))
        cost = TurnCost(
            row.started_ms,
            row.cost_usd,
            row.total_tokens,
            row.project,
            row.user_name,
            labels,
            spec,
        )
        found.setdefault(row.execution_id, cost)
    return list(found.values())


def _earlier_plays(db: sa.Connection) -> dict[str, tuple[str, str]]:
    """Return labels and spec of tasks that were played again, by each earlier session."""
    table = batch_tasks.c
    query = sa.select(table.labels, table.spec, table.earlier_sessions)
    return {
        session_id: (row.labels, row.spec)
        for row in db.execute(query.where(table.earlier_sessions != ""))
        for session_id in row.earlier_sessions.split()
    }


def model_costs(db: sa.Connection, since_ms: int) -> list[ModelCost]:
    """Return what the steps since a time have cost, by model; a fork's steps count once."""
    table = steps.c
    once = (
        sa.select(
            table.step_id,
            sa.func.max(table.model).label("model"),
            sa.func.max(table.cost_usd).label("cost_usd"),
            sa.func.max(table.tokens_used).label("tokens"),
        )
        .where(table.at_ms >= since_ms)
        .group_by(table.step_id)
        .subquery()
    )
    total = (
        sa.select(once.c.model, sa.func.sum(once.c.cost_usd), sa.func.sum(once.c.tokens))
        .where(once.c.model != "")
        .group_by(once.c.model)
    )
    return [ModelCost(model, float(cost), int(count)) for model, cost, count in db.execute(total)]
