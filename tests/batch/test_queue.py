"""The queue: claims with leases, fencing, and one cap, held by SQLite and PostgreSQL alike."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import sqlalchemy as sa

from agent_ls.domain.errors import StoreError
from agent_ls.store.batch_queue import (
    MAX_DEATHS,
    Batch,
    BatchQueue,
    Claim,
    NewTask,
    Refused,
    TaskState,
)
from agent_ls.store.sql_store import SqlStore, open_store

B = "bat_1"


@pytest.fixture
def queue(store: SqlStore) -> BatchQueue:
    return BatchQueue(store)


async def fill(queue: BatchQueue, *budgets: float, cap_usd: float | None = None) -> None:
    tasks = [NewTask(f"t{at}", "{}", "[]", usd) for at, usd in enumerate(budgets)]
    await queue.add(Batch(B, "name", False, 0, cap_usd, "{}"), tasks)


async def take(
    queue: BatchQueue, task: str = "t0", owner: str = "a", lease_s: float = 60, **more: Any
) -> Claim | Refused:
    return await queue.claim(B, task, owner, lease_s, **more)


async def taken(queue: BatchQueue, task: str = "t0", owner: str = "a", **more: Any) -> Claim:
    claim = await take(queue, task, owner, **more)
    assert isinstance(claim, Claim)
    return claim


async def done(queue: BatchQueue, claim: Claim, cost_usd: float = 0.0) -> bool:
    return await queue.finish(claim, TaskState.DONE, "{}", cost_usd=cost_usd, patch=b"p")


async def test_a_task_has_one_claim_and_one_end(queue: BatchQueue) -> None:
    await fill(queue, 1.0)
    claim = await taken(queue)
    assert await take(queue, owner="b") == "held"
    assert await queue.owner(B, "t0") == "a"
    assert await queue.renew(claim, 60, session_id="ses_1") == "held"
    assert await done(queue, claim, 0.25)
    assert await take(queue, owner="b") == "finished"
    assert not await done(queue, claim)
    assert await queue.renew(claim, 60) == "lost"
    (row,) = await queue.tasks(B)
    assert (row.state, row.cost_usd, row.session_id, row.attempt) == ("done", 0.25, "ses_1", 1)
    assert row.finished_ms >= row.started_ms > 0
    assert await queue.patch(B, "t0") == b"p"


async def test_who_was_cut_off_changes_nothing_once_another_took_over(queue: BatchQueue) -> None:
    await fill(queue, 1.0)
    old = await taken(queue, lease_s=0)
    assert await queue.note_checkout(old, "file:///a", "c0ffee")
    new = await taken(queue, owner="b")
    assert (new.attempt, new.row.folder_uri) == (2, "file:///a")
    assert await queue.renew(old, 60, session_id="ses_old") == "lost"
    assert not await queue.note_checkout(old, "file:///old", "0ld")
    assert not await queue.give_back(old, cost_usd=9)
    assert not await queue.finish(old, TaskState.FAILED, "{}", cost_usd=9, patch=b"old")
    (row,) = await queue.tasks(B)
    assert (row.state, row.session_id, row.base_commit) == ("running", "", "c0ffee")
    assert (row.folder_uri, row.cost_usd) == ("file:///a", 0)
    assert await done(queue, new)


async def test_the_same_process_that_takes_again_does_not_pass_for_its_older_claim(
    queue: BatchQueue,
) -> None:
    await fill(queue, 1.0)
    old = await taken(queue, lease_s=0)
    await taken(queue)
    assert not await done(queue, old)


async def test_a_dead_owners_lease_need_not_end(queue: BatchQueue) -> None:
    await fill(queue, 1.0)
    await taken(queue)
    assert await take(queue, owner="b", dead="somebody else") == "held"
    assert isinstance(await take(queue, owner="b", dead="a"), Claim)


async def test_of_many_that_ask_at_once_one_gets_it(place: str) -> None:
    stores = [open_store(place) for _ in range(4)]
    try:
        await fill(BatchQueue(stores[0]), 1.0)
        asked = [take(BatchQueue(store), owner=f"o{at}") for at, store in enumerate(stores)]
        found = await asyncio.gather(*asked)
    finally:
        for store in stores:
            await store.close()
    assert sorted("claim" if isinstance(one, Claim) else one for one in found) == [
        "claim", "held", "held", "held",
    ]  # fmt: skip


async def test_what_runs_is_reserved_and_what_is_left_is_free_again(queue: BatchQueue) -> None:
    await fill(queue, 0.5, 0.5, 0.5, cap_usd=1.0)
    first, second = await taken(queue, "t0"), await taken(queue, "t1")
    assert await take(queue, "t2") == "no money"
    await done(queue, first, 0.3)
    assert await take(queue, "t2") == "no money"
    await done(queue, second, 0.2)
    assert isinstance(await take(queue, "t2"), Claim)


async def test_a_cap_is_kept_by_many_that_claim_at_once(place: str) -> None:
    stores = [open_store(place) for _ in range(4)]
    try:
        await fill(BatchQueue(stores[0]), *[0.3] * 12, cap_usd=1.0)
        asked = [take(BatchQueue(stores[at % 4]), f"t{at}") for at in range(12)]
        found = await asyncio.gather(*asked)
    finally:
        for store in stores:
            await store.close()
    assert sum(isinstance(one, Claim) for one in found) == 3


async def test_a_look_says_which_tasks_the_cap_covers_together(queue: BatchQueue) -> None:
    await fill(queue, 0.4, 0.5, 0.4, 0.1, cap_usd=1.0)
    assert (await queue.look(B)).affordable() == {"t0", "t1", "t3"}
    claim = await taken(queue, "t1")
    assert (await queue.look(B)).affordable() == {"t0", "t1", "t3"}
    await done(queue, claim, 0.05)
    assert (await queue.look(B)).affordable() == {"t0", "t2", "t3"}


async def test_sums_of_cents_do_not_miss_the_cap_by_their_last_digit(queue: BatchQueue) -> None:
    await fill(queue, *[0.1] * 10, cap_usd=1.0)
    for at in range(10):
        await done(queue, await taken(queue, f"t{at}"), 0.1)


async def test_what_cost_more_than_its_budget_counts_in_full(queue: BatchQueue) -> None:
    await fill(queue, 0.5, 0.5, cap_usd=1.0)
    await done(queue, await taken(queue), 0.51)
    assert await take(queue, "t1") == "no money"
    await queue.set_cap(B, 1.01)
    assert isinstance(await take(queue, "t1"), Claim)


async def test_what_was_put_back_keeps_its_cost_and_its_session(queue: BatchQueue) -> None:
    await fill(queue, 0.5, 0.5, cap_usd=0.6)
    claim = await taken(queue)
    await queue.renew(claim, 60, session_id="ses_1")
    await queue.note_checkout(claim, "file:///a", "c0ffee")
    assert await queue.give_back(claim, cost_usd=0.2)
    # The other one finds 0.4 only, and this one its whole budget, of which it has used 0.2.
    assert await take(queue, "t1") == "no money"
    again = await taken(queue)
    assert (again.row.session_id, again.row.base_commit) == ("ses_1", "c0ffee")
    assert again.row.cost_usd == 0.2


async def test_a_stopped_batch_gives_no_claims_and_ends_those_there_are(queue: BatchQueue) -> None:
    await fill(queue, 1.0, 1.0)
    claim = await taken(queue)
    await queue.set_stopped(B, is_stopped=True)
    assert await take(queue, "t1") == "stopped"
    assert await queue.renew(claim, 60) == "stopped"
    assert await queue.give_back(claim, cost_usd=0)
    await queue.set_stopped(B, is_stopped=False)
    assert isinstance(await take(queue, "t0"), Claim)
    assert [one.is_stopped for one in await queue.batches()] == [False]


async def test_a_task_that_kills_its_workers_fails_at_last(queue: BatchQueue) -> None:
    await fill(queue, 1.0)
    for _ in range(MAX_DEATHS):
        await taken(queue, lease_s=0)
    assert await take(queue) == "finished"
    (row,) = await queue.tasks(B)
    assert row.state == "failed"
    assert "were killed" in row.result


async def test_giving_back_is_no_death(queue: BatchQueue) -> None:
    await fill(queue, 1.0)
    for _ in range(MAX_DEATHS + 1):
        assert await queue.give_back(await taken(queue), cost_usd=0.1)
    for _ in range(MAX_DEATHS):
        await taken(queue, lease_s=0)
    assert await take(queue) == "finished"


async def test_a_run_that_is_killed_again_and_again_fails_at_last(queue: BatchQueue) -> None:
    await fill(queue, 1.0)
    for _ in range(MAX_DEATHS):
        assert await queue.give_back(await taken(queue), cost_usd=0.1, is_death=True)
    assert await take(queue) == "finished"
    (row,) = await queue.tasks(B)
    assert (row.state, row.cost_usd) == ("failed", 0.1)


async def test_what_a_claim_ends_with_names_its_session(queue: BatchQueue) -> None:
    await fill(queue, 1.0)
    await queue.give_back(await taken(queue), cost_usd=0, session_id="ses_1", result='{"a": 1}')
    (row,) = await queue.tasks(B)
    assert (row.session_id, row.result) == ("ses_1", '{"a": 1}')
    claim = await taken(queue)
    await queue.finish(claim, TaskState.DONE, "{}", cost_usd=0, patch=b"", session_id="ses_2")
    (row,) = await queue.tasks(B)
    assert (row.session_id, row.result) == ("ses_2", "{}")


async def cost(store: SqlStore, session_id: str, usd: float) -> None:
    query = sa.text("INSERT INTO sessions (session_id, cost_usd) VALUES (:id, :usd)")
    await store.run(lambda db: db.execute(query, {"id": session_id, "usd": usd}) and None)


async def test_a_task_that_kills_its_workers_leaves_its_cost(
    queue: BatchQueue, store: SqlStore
) -> None:
    await fill(queue, 0.5, 0.5, cap_usd=1.0)
    await cost(store, "ses_1", 0.75)
    claim = await taken(queue)
    await queue.renew(claim, 0, session_id="ses_1")
    for _ in range(MAX_DEATHS - 1):
        await taken(queue, lease_s=0)
    assert await take(queue) == "finished"
    assert (await queue.tasks(B))[0].cost_usd == 0.75
    assert await take(queue, "t1") == "no money"


async def test_a_running_task_that_exceeded_its_budget_counts_in_full(
    queue: BatchQueue, store: SqlStore
) -> None:
    await fill(queue, 0.5, 0.5, cap_usd=1.0)
    await cost(store, "ses_1", 0.75)
    await queue.renew(await taken(queue), 60, session_id="ses_1")
    assert await take(queue, "t1") == "no money"
    await queue.set_cap(B, 1.25)
    assert isinstance(await take(queue, "t1"), Claim)


async def test_failed_tasks_are_played_again_and_their_cost_stays(queue: BatchQueue) -> None:
    await fill(queue, 0.5, 0.5, 0.5, cap_usd=1.0)
    await done(queue, await taken(queue, "t1"), 0.125)
    claim = await taken(queue)
    await queue.note_checkout(claim, "file:///a", "c0ffee")
    await queue.renew(claim, 60, session_id="ses_1")
    await queue.finish(claim, TaskState.FAILED, '{"x": 1}', cost_usd=0.25, patch=b"p")
    assert await queue.replay(B) == 1
    row = (await queue.tasks(B))[0]
    assert (row.state, row.cost_usd, row.plays) == ("waiting", 0.25, 1)
    assert (row.session_id, row.folder_uri, row.base_commit, row.result) == ("", "", "", "")
    assert await queue.patch(B, "t0") == b""
    again = await taken(queue)
    # Reserved are what it had cost and a whole budget, so 0.125 are left.
    assert again.attempt == 2
    assert await take(queue, "t2") == "no money"
    assert await done(queue, again, 0.375)
    assert (await queue.tasks(B))[0].cost_usd == 0.625
    assert await queue.replay(B) == 0


async def test_what_is_unknown_is_told(queue: BatchQueue) -> None:
    assert await take(queue) == "unknown"
    assert await queue.tasks(B) == []
    with pytest.raises(StoreError, match="no batch"):
        await queue.set_stopped(B, is_stopped=True)
    await fill(queue, 1.0)
    assert await take(queue, "t9") == "unknown"


async def test_a_running_task_shows_what_its_session_has_cost(
    queue: BatchQueue, store: SqlStore
) -> None:
    await fill(queue, 1.0)
    claim = await taken(queue)
    await queue.renew(claim, 60, session_id="ses_1")
    words = "INSERT INTO sessions (session_id, cost_usd) VALUES ('ses_1', 0.125)"
    await store.run(lambda db: db.execute(sa.text(words)) and None)
    assert [row.cost_usd for row in await queue.tasks(B)] == [0.125]
