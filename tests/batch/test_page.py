"""What a batch shows: its page, its CSV, its table of variants. Names and texts are hostile."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser

from agent_ls.batch.page import page
from agent_ls.batch.results import TaskResult
from agent_ls.batch.summary import (
    as_csv,
    as_json,
    cells_of,
    headline,
    headline_of_whole,
    lines_of,
    table,
    unpriced_models,
    variants_of,
)
from agent_ls.batch.tasks import BatchOptions, Task
from agent_ls.store.batch_queue import Batch, TaskRow, TaskState

_EVIL = '<script>alert(1)</script>"\u202e'


def row(name: str, state: TaskState, cost_usd: float = 0.0, **more: str) -> TaskRow:
    labels = tuple(f"{key}={value}" for key, value in more.items())
    task = Task(id=name, prompt="x", labels=labels)
    result = TaskResult(
        status="success", model="openai/a", steps=4, tokens=100, duration_s=2.5, host=_EVIL,
        failure_reason=_EVIL if state is TaskState.FAILED else "", check="passed",
    )  # fmt: skip
    is_over = state in (TaskState.DONE, TaskState.FAILED)
    return TaskRow(
        task_id=name, spec=task.model_dump_json(), state=state, attempt=1, owner="", lease_ms=0,
        budget_usd=1.0, cost_usd=cost_usd, folder_uri="", session_id="ses_1", base_commit="",
        started_ms=1_000 if is_over else 0, finished_ms=4_000 if is_over else 0,
        result=result.model_dump_json() if is_over else "",
    )  # fmt: skip


BATCH = Batch("bat_1", _EVIL, False, 1_000, 2.0, BatchOptions().model_dump_json())
ROWS = [
    row("a", TaskState.DONE, 0.5, variant="small"),
    row("b", TaskState.FAILED, 0.25, variant="small"),
    row("c", TaskState.DONE, 0.125, variant="large"),
    row("d", TaskState.RUNNING, 0.0625),
    row("e", TaskState.WAITING),
]


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)


def test_the_page_shows_each_task_and_runs_nothing() -> None:
    text = page(BATCH, ROWS, "1.0")
    parser = _Tags()
    parser.feed(text)
    assert "script" not in parser.tags
    assert "\u202e" not in text
    assert parser.tags.count("svg") == 3
    assert "default-src 'none'" in text
    for task in ROWS:
        assert f"<td>{task.task_id}</td>" in text
    assert "$0.9375" in text
    assert "of $2.00" in text


def test_what_a_check_printed_is_shown_but_not_in_csv() -> None:
    bad = row("a", TaskState.FAILED)
    result = TaskResult(check="failed", check_output=f"1 failed\n{_EVIL}\n").model_dump_json()
    task = TaskRow(**{**{name: getattr(bad, name) for name in bad.__slots__}, "result": result})
    text = page(BATCH, [task])
    assert '<pre class="output" tabindex="0">1 failed\n&lt;script&gt;' in text
    assert "\u202e" not in text
    assert as_json(BATCH, [task])["tasks"][0]["check_output"].startswith("1 failed")
    assert "1 failed" not in as_csv(BATCH, [task])
    assert "<pre" not in page(BATCH, ROWS)


def test_an_empty_and_an_unstarted_batch_have_a_page() -> None:
    for rows in ([], [row("e", TaskState.WAITING)]):
        assert "<h1>" in page(BATCH, rows)


def test_json_and_csv_say_the_same() -> None:
    told = json.loads(json.dumps(as_json(BATCH, ROWS)))
    assert told["counts"] == {"waiting": 1, "running": 1, "done": 2, "failed": 1}
    assert told["cost_usd"] == 0.9375
    read = list(csv.DictReader(io.StringIO(as_csv(BATCH, ROWS))))
    assert [one["task"] for one in read] == [one["task"] for one in told["tasks"]]
    assert float(read[0]["cost_usd"]) == told["tasks"][0]["cost_usd"] == 0.5


def test_no_cell_of_the_csv_is_computed_by_a_spreadsheet() -> None:
    task = row("a", TaskState.DONE)
    result = TaskResult(failure_reason="=1+1", model="@x").model_dump_json()
    evil = TaskRow(**{**{name: getattr(task, name) for name in task.__slots__}, "result": result})
    (read,) = csv.DictReader(io.StringIO(as_csv(BATCH, [evil])))
    assert (read["failure_reason"], read["model"]) == ("'=1+1", "'@x")


def test_variants_are_compared_by_what_has_ended() -> None:
    found = {one.name: one for one in variants_of(lines_of(BATCH, ROWS))}
    assert list(found) == ["small", "large"]
    assert (found["small"].tasks, found["small"].solved.value) == (2, 0.5)
    assert found["small"].cost_usd.value == 0.375
    head, small, _ = table(list(found.values())).splitlines()
    assert head.split() == ["variant", "tasks", "solved", "cost", "steps", "time"]
    assert re.match(r"small +2 +50 % \(9 % to 91 %\) ", small)
    assert table([]) == ""


def test_the_headline_tells_states_and_money() -> None:
    said = headline(BATCH, ROWS)
    assert said == "1 waiting, 1 running, 2 done, 1 failed  $0.9375 of $2.00"


def test_a_price_that_is_not_known_is_never_told_as_nothing() -> None:
    task = row("a", TaskState.DONE, variant="small")
    values = {name: getattr(task, name) for name in task.__slots__}
    free = TaskRow(**{**values, "result": '{"tokens": 9, "model": "my/own", "is_priced": false}'})
    assert headline_of_whole(BATCH, [free]) == "1 done  $0 of $2.00  no price is known for my/own"
    assert headline_of_whole(BATCH, ROWS) == headline(BATCH, ROWS)
    (variant,) = variants_of(lines_of(BATCH, [free]))
    assert cells_of(variant)[3] == "price unknown"
    assert as_json(BATCH, [free])["variants"][0]["is_priced"] is False
    assert unpriced_models(lines_of(BATCH, [free, *ROWS])) == "my/own"
    assert "of $2.00, which cannot hold: not all prices are known" in page(BATCH, [free])


def test_a_result_of_another_version_is_read_as_far_as_it_is_known() -> None:
    task = row("a", TaskState.DONE)
    values = {name: getattr(task, name) for name in task.__slots__}
    later = TaskRow(**{**values, "result": '{"steps": 3, "mood": "fine"}'})
    assert lines_of(BATCH, [later])[0].steps == 3
