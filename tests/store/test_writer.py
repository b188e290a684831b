"""The writer's thread: who is told what when a group of jobs does not go well."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from agent_ls.domain.errors import StoreError
from agent_ls.domain.events import StoredEvent
from agent_ls.store import journal
from agent_ls.store.location import locate
from agent_ls.store.writer import Append, Reply, Work, Writer
from tests.store.stories import Journal, created, noise


def works(_connection: sa.Connection) -> str:
    return "done"


def breaks(_connection: sa.Connection) -> str:
    raise ValueError("odd")


def ends_the_thread(_connection: sa.Connection) -> str:
    raise SystemExit


def finds_a_full_disk(_connection: sa.Connection) -> str:
    raise OSError("the disk is full")


@pytest.fixture
async def writer(tmp_path: Path) -> AsyncGenerator[Writer]:
    made = Writer(locate(tmp_path / "store.db"))
    yield made
    await made.close()


async def check(
    writer: Writer, *jobs: Callable[[sa.Connection], str] | list[StoredEvent]
) -> list[str]:
    """Hand over jobs as one group and return what each answers, errors by their words."""
    events = Journal("ses_group").all(created("ses_group"))
    # Nobody waits for the first, so it lingers until the others are there.
    writer.take(Append("ses_group", tuple(events), None))
    replies: list[Reply] = []
    for job in jobs:
        reply = Reply()
        replies.append(reply)
        if isinstance(job, list):
            writer.take(Append(job[0].session_id, tuple(job), reply))
        else:
            writer.take(Work(job, reply))
    answers = await asyncio.gather(*(reply.future for reply in replies), return_exceptions=True)
    return [str(answer) for answer in answers]


async def loaded(writer: Writer, session_id: str) -> int:
    reply = Reply()
    writer.take(Work(lambda connection: len(journal.load(connection, session_id)), reply))
    return await reply.future


async def test_a_group_is_answered_in_order(writer: Writer) -> None:
    assert await check(writer, works, Journal().all(created()), works) == ["done", "None", "done"]


@pytest.mark.parametrize(("bad", "word"), [(breaks, "odd"), (ends_the_thread, "SystemExit")])
async def test_one_bad_job_fails_alone(
    writer: Writer, bad: Callable[[sa.Connection], str], word: str
) -> None:
    first, second, third = await check(writer, works, bad, Journal().all(created()))
    assert (first, third) == ("done", "None")
    assert word in second
    assert await loaded(writer, "ses_1") == 1
    assert await loaded(writer, "ses_group") == 1


async def test_when_the_store_is_out_of_order_all_are_told_and_events_are_kept(
    writer: Writer,
) -> None:
    answers = await check(writer, Journal().all(created()), finds_a_full_disk, works)
    assert len(answers) == 3
    assert all("the disk is full" in answer for answer in answers)
    assert await loaded(writer, "ses_1") == 1
    assert await loaded(writer, "ses_group") == 1


async def test_trouble_that_comes_while_the_bad_job_is_sought_is_told_to_the_rest(
    writer: Writer,
) -> None:
    calls: list[None] = []

    def second_time_full(connection: sa.Connection) -> str:
        calls.append(None)
        return breaks(connection) if len(calls) == 1 else finds_a_full_disk(connection)

    answers = await check(writer, works, second_time_full, Journal().all(created()))
    assert answers[0] == "done"
    assert all("the disk is full" in answer for answer in answers[1:])
    assert await loaded(writer, "ses_1") == 1


async def test_events_behind_a_gap_are_refused_or_dropped_until_the_session_is_read(
    writer: Writer,
) -> None:
    far = Journal(seq=4)
    first, second = await check(writer, far.all(noise()), far.all(noise()))
    assert "event 1 is missing" in first
    assert second == first
    writer.take(Append("ses_1", tuple(Journal().all(created())), None))
    reply = Reply()
    writer.take(Work(works, reply, reloads="ses_1"))
    await reply.future
    assert await loaded(writer, "ses_1") == 0
    assert await check(writer, Journal().all(created())) == ["None"]


async def test_more_jobs_than_one_group_holds_are_all_carried_out(writer: Writer) -> None:
    journal = Journal()
    for event in [created(), *(noise(str(number)) for number in range(700))]:
        stored = journal.next(event)
        writer.take(Append("ses_1", (stored,), None))
    assert await loaded(writer, "ses_1") == 701


async def test_who_brings_too_much_is_asked_to_wait(writer: Writer) -> None:
    # The thread is busy with the first job until this coroutine lets it go on.
    reply = Reply()
    held, release = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    async def until_released() -> None:
        held.set()
        await release.wait()

    def hold(_connection: sa.Connection) -> None:
        asyncio.run_coroutine_threadsafe(until_released(), loop).result(timeout=60)

    writer.take(Work(hold, reply))
    await held.wait()
    assert not writer.is_full
    stored = Journal()
    for number in range(10_000):
        writer.take(
            Append("ses_1", (stored.next(noise(str(number)) if number else created()),), None)
        )
    assert writer.is_full
    release.set()
    await reply.future
    assert await loaded(writer, "ses_1") == 10_000
    assert not writer.is_full


async def test_what_could_not_be_stored_is_counted_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where a folder should be")
    writer = Writer(locate(tmp_path / "data" / "store.db"))
    writer.take(Append("ses_1", tuple(Journal().all(created(), noise())), None))
    with pytest.raises(StoreError, match=r"could not take the last 2 events.*cannot be used: "):
        await writer.close()


async def test_a_store_that_was_mended_takes_what_waited(tmp_path: Path) -> None:
    place = tmp_path / "data"
    place.write_text("a file where a folder should be")
    writer = Writer(locate(place / "store.db"))
    answers = await check(writer, Journal().all(created()))
    assert "Not a directory" in answers[0] or "File exists" in answers[0]
    place.unlink()
    assert await loaded(writer, "ses_1") == 1
    await writer.close()


def test_an_answer_for_a_loop_that_is_gone_is_dropped(tmp_path: Path) -> None:
    writer = Writer(locate(tmp_path / "store.db"))

    async def ask() -> None:
        writer.take(Work(works, Reply()))

    async def look() -> int:
        count = await loaded(writer, "ses_1")
        await writer.close()
        return count

    asyncio.run(ask())
    assert asyncio.run(look()) == 0
