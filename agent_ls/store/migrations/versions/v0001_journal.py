"""The journal, its projections, blobs and leases."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0001"
down_revision = None

_JSON = sa.JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


def upgrade() -> None:
    """Make all tables."""
    _make_journal()
    _make_executions()
    _make_calls()
    op.create_table(
        "blobs",
        sa.Column("digest", sa.String, primary_key=True),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "leases",
        sa.Column("session_id", sa.String, primary_key=True),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("expires_ms", sa.BigInteger, nullable=False),
    )


def _make_journal() -> None:
    op.create_table(
        "sessions",
        sa.Column("session_id", sa.String, primary_key=True),
        sa.Column("roots", sa.Text, nullable=False, server_default="[]"),
        _text("title"),
        _text("mode"),
        _text("model"),
        sa.Column("status", sa.Text, nullable=False, server_default="new"),
        _count("created_ms"),
        _count("updated_ms"),
        _count("turns"),
        *_usage(),
        _count("last_seq"),
        sa.Column("cursor", sa.Text, nullable=False, server_default="{}"),
    )
    op.create_index("ix_sessions_roots", "sessions", ["roots", "updated_ms"])
    op.create_index("ix_sessions_updated", "sessions", ["updated_ms"])
    op.create_table(
        "events",
        _session_id(),
        sa.Column("seq", sa.BigInteger, primary_key=True),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("v", sa.Integer, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )


def _make_executions() -> None:
    op.create_table(
        "executions",
        _session_id(),
        sa.Column("execution_id", sa.String, primary_key=True),
        _text("task"),
        sa.Column("status", sa.Text, nullable=False, server_default="running"),
        sa.Column("stop_reason", sa.Text),
        _text("failure_reason"),
        _text("escalation_reason"),
        _count("started_ms"),
        sa.Column("completed_ms", sa.BigInteger),
        _count("total_steps"),
        _count("total_calls"),
        *_usage(),
        sa.Column("state_snapshot", _JSON),
    )
    op.create_index("ix_executions_started", "executions", ["started_ms"])
    op.create_table(
        "steps",
        _session_id(),
        sa.Column("step_id", sa.String, primary_key=True),
        sa.Column("execution_id", sa.String, nullable=False, server_default=""),
        _count("step_number"),
        _count("at_ms"),
        _count("duration_ms"),
        _count("attempts"),
        _text("model"),
        sa.Column("finish_reason", sa.Text),
        _text("reasoning"),
        sa.Column("action", _JSON),
        sa.Column("result", _JSON),
        sa.Column("validation", _JSON),
        sa.Column("success", sa.Boolean),
        _text("error"),
        *_usage(),
    )
    op.create_index("ix_steps_execution", "steps", ["session_id", "execution_id", "step_number"])


def _make_calls() -> None:
    op.create_table(
        "calls",
        _session_id(),
        sa.Column("call_id", sa.String, primary_key=True),
        sa.Column("execution_id", sa.String, nullable=False, server_default=""),
        sa.Column("step_id", sa.String, nullable=False, server_default=""),
        _text("tool"),
        sa.Column("effect", sa.Text),
        _text("arguments"),
        sa.Column("paths", _JSON),
        sa.Column("decision", sa.Text),
        _text("decided_by"),
        _text("reason"),
        sa.Column("status", sa.Text, nullable=False, server_default="pending"),
        sa.Column("error", sa.Text),
        _text("result"),
        sa.Column("output_id", sa.Text),
        _count("added_lines"),
        _count("removed_lines"),
        sa.Column("started_ms", sa.BigInteger),
        sa.Column("finished_ms", sa.BigInteger),
        _count("duration_ms"),
    )
    op.create_index("ix_calls_execution", "calls", ["session_id", "execution_id"])
    op.create_index("ix_calls_tool", "calls", ["tool", "decision"])
    op.create_table(
        "approvals",
        _session_id(),
        sa.Column("approval_id", sa.String, primary_key=True),
        sa.Column("execution_id", sa.String, nullable=False, server_default=""),
        sa.Column("kind", sa.Text, nullable=False, server_default="call"),
        sa.Column("call_id", sa.Text),
        _text("asked_by"),
        _text("title"),
        _text("reason"),
        _text("payload"),
        _text("digest"),
        sa.Column("choice", sa.Text),
        _text("note"),
        _text("answered_by"),
        sa.Column("rule", sa.Text),
        _count("requested_ms"),
        sa.Column("resolved_ms", sa.BigInteger),
    )


def _session_id() -> sa.Column[str]:
    target = sa.ForeignKey("sessions.session_id", ondelete="CASCADE")
    return sa.Column("session_id", sa.String, target, primary_key=True)


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, server_default="")


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False, server_default="0")


def _usage() -> tuple[sa.Column[int] | sa.Column[float], ...]:
    return (
        _count("input_tokens"),
        _count("output_tokens"),
        _count("cache_read_tokens"),
        _count("cache_write_tokens"),
        _count("reasoning_tokens"),
        sa.Column("cost_usd", sa.Double, nullable=False, server_default="0"),
    )
