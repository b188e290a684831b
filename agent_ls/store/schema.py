"""The tables, once for SQLite and PostgreSQL.

``events`` is the truth. ``sessions``, ``executions``, ``steps``, ``calls`` and ``approvals`` are
projections of it (``projections.py``), for lists, audits and cost queries. ``batches`` and
``batch_tasks`` are the queue of ``agent-ls batch`` (``batch_queue.py``).
Source: S4, "Database Schema": its two tables are ``executions`` and ``steps`` here.
A change here needs a migration; a test compares the two.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

metadata = sa.MetaData()

_JSON = sa.JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


def _session_id() -> sa.Column[str]:
    # Deleting a session deletes its rows.
    target = sa.ForeignKey("sessions.session_id", ondelete="CASCADE")
    return sa.Column("session_id", sa.String, target, primary_key=True)


def _key(name: str) -> tuple[sa.Column[str], sa.Column[str]]:
    return _session_id(), sa.Column(name, sa.String, primary_key=True)


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, server_default="")


def _texts(*names: str) -> tuple[sa.Column[str], ...]:
    return tuple(map(_text, names))


def _counts(*names: str) -> tuple[sa.Column[int], ...]:
    """Return integer columns, for counts and times in milliseconds."""
    return tuple(
        sa.Column(name, sa.BigInteger, nullable=False, server_default="0") for name in names
    )


def _usage() -> tuple[sa.Column[int] | sa.Column[float], ...]:
    names = ("input", "output", "cache_read", "cache_write", "reasoning")
    cost: sa.Column[float] = sa.Column("cost_usd", sa.Double, nullable=False, server_default="0")
    return (*_counts(*(f"{name}_tokens" for name in names)), cost)


sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("session_id", sa.String, primary_key=True),
    # A sorted, compact JSON list, so that the same roots give the same text.
    sa.Column("roots", sa.Text, nullable=False, server_default="[]"),
    *_texts("title", "mode", "model"),
    sa.Column("status", sa.Text, nullable=False, server_default="new"),
    *_counts("created_ms", "updated_ms", "turns"),
    *_usage(),
    *_counts("last_seq"),
    # State for projecting the next event: a ``projections.Cursor`` as JSON.
    sa.Column("cursor", sa.Text, nullable=False, server_default="{}"),
    # For a sub-agent: the session that started it, and its kind.
    *_texts("parent_id", "agent"),
    # The session it was forked from; empty if it is not a fork.
    _text("forked_from"),
    sa.Column("is_dry_run", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("is_archived", sa.Boolean, nullable=False, server_default=sa.false()),
    # The account's name; empty for sub-agents, and for sessions of an older agent-ls.
    _text("user_name"),
    sa.Index("ix_sessions_roots", "roots", "updated_ms"),
    sa.Index("ix_sessions_updated", "updated_ms"),
    sa.Index("ix_sessions_parent", "parent_id"),
)

events = sa.Table(
    "events",
    metadata,
    _session_id(),
    sa.Column("seq", sa.BigInteger, primary_key=True),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("v", sa.Integer, nullable=False),
    # Text and not JSONB: it must come back byte for byte, escaped zero characters included.
    sa.Column("body", sa.Text, nullable=False),
    # SHA-256 over all of the above; null in a row that an older agent-ls wrote.
    sa.Column("checksum", sa.Text),
)

executions = sa.Table(
    "executions",
    metadata,
    *_key("execution_id"),
    _text("task"),
    sa.Column("status", sa.Text, nullable=False, server_default="running"),
    sa.Column("stop_reason", sa.Text),
    *_texts("failure_reason", "escalation_reason"),
    *_counts("started_ms"),
    sa.Column("completed_ms", sa.BigInteger),
    *_counts("total_steps", "total_calls"),
    *_usage(),
    # Written at the turn's end; ``projections.py`` defines the fields.
    sa.Column("state_snapshot", _JSON),
    # The kind of sub-agent, and the roots as in ``sessions``.
    *_texts("agent", "project"),
    *_counts("total_tokens"),
    sa.Index("ix_executions_started", "started_ms"),
)

steps = sa.Table(
    "steps",
    metadata,
    *_key("step_id"),
    sa.Column("execution_id", sa.String, nullable=False, server_default=""),
    *_counts("step_number", "at_ms", "duration_ms", "attempts"),
    _text("model"),
    sa.Column("finish_reason", sa.Text),
    _text("reasoning"),
    sa.Column("action", _JSON),
    sa.Column("result", _JSON),
    sa.Column("validation", _JSON),
    sa.Column("success", sa.Boolean),
    _text("error"),
    *_usage(),
    # From 0 to 1, and its source: ``tests``, ``artifacts``, ``model`` or ``none``.
    sa.Column("acceptance_progress", sa.Double, nullable=False, server_default="0"),
    _text("progress_by"),
    *_counts("tokens_used"),
    sa.Index("ix_steps_execution", "session_id", "execution_id", "step_number"),
)

blobs = sa.Table(
    "blobs",
    metadata,
    # SHA-256 of the bytes, as hexadecimal digits.
    sa.Column("digest", sa.String, primary_key=True),
    sa.Column("data", sa.LargeBinary, nullable=False),
    # Last stored, by the database's clock. The event that mentions a new blob may come later.
    *_counts("stored_ms"),
)

leases = sa.Table(
    "leases",
    metadata,
    # No reference to ``sessions``: a lease may be taken before the first event.
    sa.Column("session_id", sa.String, primary_key=True),
    sa.Column("owner", sa.Text, nullable=False),
    # By the database's clock, which all processes share.
    sa.Column("expires_ms", sa.BigInteger, nullable=False),
)

batches = sa.Table(
    "batches",
    metadata,
    sa.Column("batch_id", sa.String, primary_key=True),
    *_texts("name", "state"),
    *_counts("created_ms"),
    # Null: no cap.
    sa.Column("cap_usd", sa.Double),
    # What all tasks have in common; ``batch.tasks.BatchOptions`` as JSON.
    _text("options"),
)

batch_tasks = sa.Table(
    "batch_tasks",
    metadata,
    sa.Column(
        "batch_id",
        sa.String,
        sa.ForeignKey("batches.batch_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("task_id", sa.String, primary_key=True),
    *_counts("position"),
    # The task as JSON, and labels for costs: a sorted, compact JSON list.
    *_texts("spec", "labels"),
    sa.Column("state", sa.Text, nullable=False, server_default="waiting"),
    # The claim: whoever holds this attempt may run the task until the lease is over.
    *_counts("attempt"),
    _text("owner"),
    *_counts("lease_ms"),
    # Reserved from the cap while the task runs.
    sa.Column("budget_usd", sa.Double, nullable=False, server_default="0"),
    sa.Column("cost_usd", sa.Double, nullable=False, server_default="0"),
    # Where the newest attempt works, for finding its session; then the session itself.
    *_texts("folder_uri", "session_id", "base_commit"),
    *_counts("started_ms", "finished_ms"),
    # Attempts that neither ended nor were given back.
    *_counts("deaths"),
    # How often the task was put back after it had failed, what that had cost, and its sessions,
    # each with a space after it.
    *_counts("plays"),
    _text("earlier_sessions"),
    sa.Column("earlier_usd", sa.Double, nullable=False, server_default="0"),
    # What came of it, as JSON, and the changes as a patch of git.
    _text("result"),
    sa.Column("patch", sa.LargeBinary),
    sa.Index("ix_batch_tasks_session", "session_id"),
)
