"""The HTML page about a batch: its numbers, charts, the comparison of variants, and all tasks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from agent_ls.batch.results import TaskResult
from agent_ls.batch.summary import (
    TaskLine,
    cells_of,
    counts_of,
    lines_of,
    spent_usd,
    unpriced_models,
    variants_of,
)
from agent_ls.domain.errors import SettingsError
from agent_ls.observers.report.templates import STYLE, environment
from agent_ls.observers.report.words import duration, moment, money, tokens
from agent_ls.store.batch_queue import FINISHED, Batch, TaskRow, TaskState

_HERE = Path(__file__).parent
_WIDTH = 1000.0
_LEFT = 160.0
_LANE, _BAR = 14.0, 10.0
_MOST_DEAR = 20
_COST_WIDTH = 620.0
_UNPRICED = "not all prices are known"


def page(batch: Batch, rows: Sequence[TaskRow], version: str = "") -> str:
    """Return the page; every text is escaped and shown without hidden characters."""
    made = environment(_HERE, {"duration": duration, "moment": moment, "money": money})
    lines = lines_of(batch, rows)
    lanes, height = _lanes(rows)
    return made.get_template("page.html").render(
        batch=batch,
        version=version,
        style=Markup(STYLE.read_text("utf-8")),
        tiles=list(_tiles(batch, rows, lines)),
        outcome=list(_outcome(rows)),
        variants=[cells_of(one) for one in variants_of(lines)],
        hosts=lanes,
        hosts_height=height,
        span=duration(_span_ms(rows)),
        costs=list(_costs(lines)),
        lines=lines,
    )


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read. Errors: ``SettingsError``."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except OSError as error:
        raise SettingsError(
            f"{path} cannot be written: {error.strerror}. Give --out another place."
        ) from None


def _tiles(
    batch: Batch, rows: Sequence[TaskRow], lines: Sequence[TaskLine]
) -> Iterator[tuple[str, str, str]]:
    found = counts_of(rows)
    yield "done", str(found[TaskState.DONE]), f"of {len(rows)} tasks"
    yield "failed", str(found[TaskState.FAILED]), ""
    cap = "" if batch.cap_usd is None else f"of {money(batch.cap_usd)}"
    if unpriced_models(lines):
        cap = f"{cap}, which cannot hold: {_UNPRICED}" if cap else _UNPRICED
    yield "cost", money(spent_usd(rows)), cap
    yield "tokens", tokens(sum(line.tokens for line in lines)), ""
    yield "time", duration(_span_ms(rows)), "from the first start to the last end"
    again = sum(max(row.attempt - 1, 0) for row in rows)
    yield "tried again", str(again), "after a stop, or a worker's death" if again else ""


def _span_ms(rows: Sequence[TaskRow]) -> int:
    begun = [row.started_ms for row in rows if row.started_ms]
    ended = [row.finished_ms for row in rows if row.finished_ms]
    return max(ended) - min(begun) if begun and ended else 0


def _outcome(rows: Sequence[TaskRow]) -> Iterator[dict[str, Any]]:
    x = 0.0
    for kind, count in counts_of(rows).items():
        if count:
            width = _WIDTH * count / len(rows)
            yield {"kind": kind, "count": count, "x": round(x, 2), "width": round(width, 2)}
            x += width


def _lanes(rows: Sequence[TaskRow]) -> tuple[list[dict[str, Any]], float]:
    """Return a lane for each host with a bar for each task, and the height of all."""
    finished = [row for row in rows if row.state in FINISHED and row.started_ms]
    if not finished:
        return [], 0.0
    begin, span = min(row.started_ms for row in finished), max(_span_ms(finished), 1)
    by_host: dict[str, list[TaskRow]] = {}
    for row in sorted(finished, key=lambda one: one.started_ms):
        host = TaskResult.model_validate_json(row.result or "{}").host
        by_host.setdefault(host or "unknown", []).append(row)
    lanes: list[dict[str, Any]] = []
    y = 0.0
    for host, tasks in sorted(by_host.items()):
        ends: list[int] = []
        bars: list[dict[str, Any]] = []
        for row in tasks:
            # The first line of this host that is free again when the task starts.
            line = next((at for at, end in enumerate(ends) if end <= row.started_ms), len(ends))
            ends[line : line + 1] = [row.finished_ms]
            x = _LEFT + (row.started_ms - begin) / span * (_WIDTH - _LEFT)
            width = max((row.finished_ms - row.started_ms) / span * (_WIDTH - _LEFT), 1.5)
            took = duration(row.finished_ms - row.started_ms)
            bars.append(
                {
                    "kind": row.state.value,
                    "x": round(x, 2),
                    "y": y + line * _BAR,
                    "width": round(width, 2),
                    "title": f"{row.task_id}: {took}",
                }
            )
        lanes.append({"host": host, "y": y, "bars": bars})
        y += max(len(ends) * _BAR, _LANE) + 6
    return lanes, y


def _costs(lines: Sequence[TaskLine]) -> Iterator[dict[str, Any]]:
    dearest = sorted(lines, key=lambda line: -line.cost_usd)[:_MOST_DEAR]
    most = dearest[0].cost_usd if dearest else 0.0
    for line in dearest:
        if line.cost_usd:
            yield {
                "task": line.task,
                "width": round(line.cost_usd / most * _COST_WIDTH, 2),
                "cost": money(line.cost_usd),
            }
