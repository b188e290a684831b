"""``costs`` over a store with a fork, a sub-agent, two users and a batch."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import datetime

import pytest

from agent_ls.cli.main import main
from agent_ls.domain import events as ev
from agent_ls.domain.modes import Mode
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.domain.usage import Usage
from agent_ls.session.forking import fork_journal
from agent_ls.store.batch_queue import Batch, BatchQueue, Claim, NewTask, TaskState
from agent_ls.store.sql_store import SqlStore

Told = Callable[..., dict[str, dict[str, float]]]
_DAY_1 = int(datetime(2026, 3, 1, 12).timestamp() * 1000)
_DAY_2 = int(datetime(2026, 3, 2, 12).timestamp() * 1000)


def journal(
    name: str, user: str, folder: str, at_ms: int, model: str, usd: float, **more: str
) -> list[ev.StoredEvent]:
    """Return a session of one turn with one request."""
    turn, step = f"trn_{name}", f"stp_{name}"
    usage = Usage(input_tokens=90, output_tokens=10, cost_usd=usd)
    events: list[ev.Event] = [
        ev.SessionCreated(
            session_id=name, roots=(f"file://{folder}",), mode=Mode.ASK, model=model, user=user,
            **more,
        ),
        ev.TurnStarted(turn_id=turn, prompt="x"),
        ev.RequestPrepared.model_construct(step_id=step, number=1),
        ev.AttemptFinished.model_construct(step_id=step, model=model, usage=usage),
        ev.TurnEnded(
            turn_id=turn, stop=StopReason.COMPLETED, status=TurnStatus.SUCCESS, output="",
            failure_reason="",
        ),
    ]  # fmt: skip
    return [
        ev.StoredEvent(session_id=name, seq=seq, at_ms=at_ms, event=event)
        for seq, event in enumerate(events, start=1)
    ]


@pytest.fixture
async def place_with_costs(store: SqlStore, place: str) -> str:
    first = journal("ses_1", "ann", "/srv/shop", _DAY_1, "openai/a", 1.0)
    await store.append(first, durable=True)
    await store.append(fork_journal(first, "ses_2", len(first)), durable=True)
    await store.append(
        journal("ses_3", "bob", "/srv/some place", _DAY_2, "openai/b", 0.25), durable=True
    )
    child = journal("ses_4", "", "/srv/shop", _DAY_1, "openai/b", 0.5, parent_id="ses_1")
    await store.append(child, durable=True)
    await store.append(journal("ses_5", "ci", "/tmp/x", _DAY_2, "openai/a", 0.125), durable=True)
    queue = BatchQueue(store)
    spec = json.dumps({"repository": "https://token@example.com/shop"})
    await queue.add(
        Batch("bat_1", "b", False, 0, None, "{}"),
        [NewTask("t", spec, json.dumps(["nightly", "team a"]), 1.0)],
    )
    claim = await queue.claim("bat_1", "t", "o", 60)
    assert isinstance(claim, Claim)
    await queue.renew(claim, 60, session_id="ses_5")
    return place


@pytest.fixture
def told(place_with_costs: str, capsys: pytest.CaptureFixture[str]) -> Told:
    def run(*words: str) -> dict[str, dict[str, float]]:
        assert main(["costs", "--store", place_with_costs, "--json", *words]) == 0
        said = json.loads(capsys.readouterr().out)
        return {row["name"]: row for row in [*said["rows"], said["total"]]}

    return run


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("day", {"2026-03-01": 1.0, "2026-03-02": 0.375}),
        ("user", {"ann": 1.0, "bob": 0.25, "ci": 0.125}),
        (
            "folder",
            {"/srv/shop": 1.0, "/srv/some place": 0.25, "https://example.com/shop": 0.125},
        ),
        ("label", {"(none)": 1.25, "nightly": 0.125, "team a": 0.125}),
        ("model", {"openai/a": 1.125, "openai/b": 0.75}),
    ],
)
def test_costs_add_up_by(told: Told, by: str, expected: dict[str, float]) -> None:
    found = told("--by", by)
    total = found.pop("total")
    assert {name: row["cost_usd"] for name, row in found.items()} == expected
    # The sub-agent's half dollar is told to its parent by an event that is not in this story.
    assert total["cost_usd"] == 1.375
    assert total["turns"] == 3


async def test_a_task_that_is_played_again_keeps_the_labels_of_what_it_has_cost(
    place_with_costs: str, store: SqlStore, capsys: pytest.CaptureFixture[str]
) -> None:
    queue = BatchQueue(store)
    [row] = await queue.tasks("bat_1")
    claim = Claim("bat_1", "t", row.attempt, row.owner, row, "{}")
    await queue.finish(claim, TaskState.FAILED, "{}", cost_usd=0.125, patch=b"")
    assert await queue.replay("bat_1") == 1
    command = ["costs", "--store", place_with_costs, "--json", "--by", "label"]
    assert await asyncio.to_thread(main, command) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {one["name"]: one["cost_usd"] for one in rows} == {
        "(none)": 1.25, "nightly": 0.125, "team a": 0.125,
    }  # fmt: skip


def test_what_is_older_is_left_out(told: Told) -> None:
    assert set(told("--since", "2026-03-02")) == {"2026-03-02", "total"}
    assert told("--since", "2030-01-01")["total"]["turns"] == 0


def test_the_table_and_csv_are_for_people_and_spreadsheets(
    place_with_costs: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["costs", "--store", place_with_costs, "--by", "user"]) == 0
    head, first, *_, last = capsys.readouterr().out.splitlines()
    assert head.split() == ["user", "turns", "tokens", "cost"]
    assert first.split() == ["ann", "1", "100", "$1.00"]
    assert last.split()[:2] == ["total", "3"]
    assert main(["costs", "--store", place_with_costs, "--by", "user", "--csv"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        "user,turns,tokens,cost_usd",
        "ann,1,100,1.0",
    ]


async def test_what_is_not_known_is_no_zero_for_programs(
    store: SqlStore, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    await store.append(journal("ses_1", "ann", "/srv", _DAY_1, "my/own", 0.0), durable=True)
    command = ["costs", "--store", place, "--by", "model"]
    assert await asyncio.to_thread(main, [*command, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row == {"name": "my/own", "turns": None, "tokens": 100, "cost_usd": None}
    assert await asyncio.to_thread(main, [*command, "--csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "my/own,,100,"


def test_a_day_that_is_none_is_refused(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    for day in ("yesterday", "2026-13-01", ""):
        assert main(["costs", "--store", place, "--since", day]) == 3
        assert "YYYY-MM-DD" in capsys.readouterr().err
