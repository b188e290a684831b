"""The tasks of a batch as rows for people and programs, and evaluations side by side."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from agent_ls.batch import statistics
from agent_ls.batch.results import TaskResult
from agent_ls.batch.statistics import Interval
from agent_ls.batch.tasks import BatchOptions, Task
from agent_ls.observers.report.words import duration, money
from agent_ls.store.batch_queue import FINISHED, Batch, TaskRow, TaskState

VARIANT = "variant="
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of cells that a spreadsheet would compute."""


@dataclass(frozen=True, slots=True)
class TaskLine:
    """One task, for tables."""

    task: str
    state: str
    model: str
    check: str
    cost_usd: float
    """Only what is known: see ``is_priced``."""
    is_priced: bool
    steps: int
    tokens: int
    duration_ms: int
    attempts: int
    host: str
    session: str
    branch: str
    labels: tuple[str, ...]
    status: str
    stop_reason: str
    failure_reason: str
    check_output: str
    """Its end; not in CSV, since it has many lines."""


@dataclass(frozen=True, slots=True)
class Variant:
    """The tasks of one model or setting, together."""

    name: str
    tasks: int
    solved: Interval
    cost_usd: Interval
    """Only what is known: see ``is_priced``."""
    is_priced: bool
    steps: Interval
    duration_ms: Interval


def line_of(row: TaskRow, options: BatchOptions) -> TaskLine:
    """Return a task's line; what is not known yet is empty."""
    task = Task.model_validate_json(row.spec)
    result = TaskResult.model_validate_json(row.result or "{}")
    return TaskLine(
        task=row.task_id,
        state=row.state.value,
        model=result.model or task.model or options.model,
        check=result.check,
        cost_usd=row.cost_usd,
        is_priced=result.is_priced,
        steps=result.steps,
        tokens=result.tokens,
        duration_ms=round(result.duration_s * 1000),
        attempts=row.attempt,
        host=result.host,
        session=row.session_id,
        branch=result.branch,
        labels=task.labels,
        status=result.status,
        stop_reason=result.stop_reason,
        failure_reason=result.failure_reason,
        check_output=result.check_output,
    )


def lines_of(batch: Batch, rows: Sequence[TaskRow]) -> list[TaskLine]:
    """Return the lines of all tasks, in order."""
    options = BatchOptions.model_validate_json(batch.options)
    return [line_of(row, options) for row in rows]


def variants_of(lines: Sequence[TaskLine]) -> list[Variant]:
    """Return the finished tasks by variant, in the order of the batch; none without variants."""
    groups: dict[str, list[TaskLine]] = {}
    for line in lines:
        for label in line.labels:
            if label.startswith(VARIANT):
                groups.setdefault(label.removeprefix(VARIANT), []).append(line)
    return [_variant(name, _finished(group)) for name, group in groups.items()]


def _finished(lines: Sequence[TaskLine]) -> list[TaskLine]:
    return [one for one in lines if one.state in FINISHED]


def _variant(name: str, lines: Sequence[TaskLine]) -> Variant:
    return Variant(
        name,
        len(lines),
        statistics.share(sum(one.state == TaskState.DONE for one in lines), len(lines)),
        statistics.mean([one.cost_usd for one in lines]),
        all(one.is_priced for one in lines),
        statistics.mean([float(one.steps) for one in lines]),
        statistics.mean([float(one.duration_ms) for one in lines]),
    )


def table(variants: Sequence[Variant]) -> str:
    """Return the evaluation's table as text, with 95 % intervals; empty without variants."""
    if not variants:
        return ""
    head = ("variant", "tasks", "solved", "cost", "steps", "time")
    rows = [head, *(cells_of(one) for one in variants)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(head))]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        + "\n"
        for row in rows
    )


def cells_of(one: Variant) -> tuple[str, ...]:
    """Return a variant's row, in words."""
    return (
        one.name,
        str(one.tasks),
        _with_interval(one.solved, lambda value: f"{value * 100:.0f} %"),
        _with_interval(one.cost_usd, money) if one.is_priced else "price unknown",
        _with_interval(one.steps, lambda value: f"{value:.1f}"),
        _with_interval(one.duration_ms, lambda value: duration(round(value))),
    )


def _with_interval(found: Interval, shown: Callable[[float], str]) -> str:
    return f"{shown(found.value)} ({shown(found.low)} to {shown(found.high)})"


def spent_usd(rows: Sequence[TaskRow]) -> float:
    """Return what all tasks have cost so far, in exact sum."""
    return math.fsum(row.cost_usd for row in rows)


def unpriced_models(lines: Sequence[TaskLine]) -> str:
    """Return the models whose prices are not known, so that no cap can hold; empty if none is."""
    return ", ".join(sorted({one.model for one in lines if not one.is_priced}))


def counts_of(rows: Sequence[TaskRow]) -> dict[str, int]:
    """Return how many tasks are in each state."""
    found = Counter(row.state for row in rows)
    return {state.value: found[state] for state in TaskState}


def headline(batch: Batch, rows: Sequence[TaskRow]) -> str:
    """Return one line on how far a batch is; the cost is what is known of it."""
    found = counts_of(rows)
    words = [f"{found[state]} {state}" for state in TaskState if found[state]]
    cap = "" if batch.cap_usd is None else f" of {money(batch.cap_usd)}"
    stopped = "  stopped" if batch.is_stopped else ""
    return f"{', '.join(words)}  {money(spent_usd(rows))}{cap}{stopped}"


def headline_of_whole(batch: Batch, rows: Sequence[TaskRow]) -> str:
    """Return the same of rows that have their results, which say whether all prices are known."""
    unpriced = unpriced_models(lines_of(batch, rows))
    return headline(batch, rows) + (f"  no price is known for {unpriced}" if unpriced else "")


def as_json(batch: Batch, rows: Sequence[TaskRow]) -> dict[str, Any]:
    """Return a batch for programs."""
    lines = lines_of(batch, rows)
    return {
        "batch": batch.batch_id,
        "name": batch.name,
        "stopped": batch.is_stopped,
        "created_ms": batch.created_ms,
        "cap_usd": batch.cap_usd,
        "cost_usd": spent_usd(rows),
        "counts": counts_of(rows),
        "variants": [asdict(one) for one in variants_of(lines)],
        "tasks": [asdict(one) for one in lines],
    }


def as_csv(batch: Batch, rows: Sequence[TaskRow]) -> str:
    """Return the tasks as CSV, whose cells no spreadsheet computes."""
    text = io.StringIO()
    names = [name for name in TaskLine.__dataclass_fields__ if name != "check_output"]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for line in lines_of(batch, rows):
        values = asdict(line)
        writer.writerow([_cell(values[name]) for name in names])
    return text.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, tuple):
        value = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value
