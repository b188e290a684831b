"""The sessions of one server: how many stay open, and what follows when another process writes."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.errors import AgentLsError, StoreError
from agent_ls.domain.modes import Mode
from agent_ls.domain.stops import StopReason
from agent_ls.loop.ports.clock import Clock
from agent_ls.loop.ports.models import Provider
from agent_ls.loop.ports.store import Leases
from agent_ls.review.ledger import Selection
from agent_ls.review.steps import FileResult
from agent_ls.session.held_leases import HeldLeases
from agent_ls.session.session import Session
from agent_ls.session.sessions import Sessions
from tests.support.scripted import scripted
from tests.support.turns import TURN_LIMIT_S, open_test_sessions

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def check(sessions: Sessions, session: Session, output: str) -> None:
    """See that a prompt is answered."""
    await session.submit("Hello.")
    async with asyncio.timeout(TURN_LIMIT_S):
        ended = await session.wait_idle()
    assert ended is not None
    assert (ended.stop, ended.output) == (StopReason.COMPLETED, output)
    assert await sessions.find(session.id) is session


async def test_a_session_that_another_process_continued_is_loaded_anew(
    tmp_path: Path, model_host: Provider, model_port: int
) -> None:
    async with (
        scripted('[[answer]]\ntext = "Again."\n', port=model_port),
        open_test_sessions(tmp_path, model_host) as sessions,
    ):
        session = await sessions.create()
        theirs = e.StoredEvent(
            session_id=session.id,
            seq=session.state.seq + 1,
            at_ms=1,
            event=e.ModeChanged(mode=Mode.PLAN),
        )
        await sessions._store.append([theirs], durable=True)
        with pytest.raises(StoreError, match="continued by another agent-ls"):
            await session.submit("Hello.")
        assert session.is_closed
        with pytest.raises(AgentLsError, match="open it again"):
            await session.submit("Hello.")
        again = await sessions.resume(session.id)
        assert again is not session
        assert again.state.mode is Mode.PLAN
        assert again.state.turns == 0
        await check(sessions, again, "Again.")


@dataclass
class StillClock:
    """A clock on which a wait is over when the test says so."""

    inner: Clock
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)
    rests: asyncio.Event = field(default_factory=asyncio.Event)
    """Somebody has begun to wait."""

    async def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.rests.set()
        await self.goes_on.wait()
        self.goes_on.clear()

    def now_ms(self) -> int:
        return self.inner.now_ms()

    def monotonic_s(self) -> float:
        return self.inner.monotonic_s()


async def run_out(sessions: Sessions, session: Session) -> None:
    """Let the lease on a session be over, as when the machine slept."""
    holder = await sessions._store.lease_owner(session.id)
    assert holder is not None
    await sessions._store.release(session.id, holder)


async def renewed_by_hand(sessions: Sessions) -> StillClock:
    """Begin the renewal of the leases anew, on a clock of the test's; return when it waits."""
    opened = sessions._open
    assert opened._renewing is not None
    opened._renewing.cancel()
    clock = opened._clock = StillClock(opened._clock)
    opened._renewing = asyncio.ensure_future(opened._renew_leases())
    await clock.rests.wait()
    clock.rests.clear()
    return clock


async def _decision_under_way(session: Session, is_done: asyncio.Event) -> None:
    """Keep a decision of the review from its end until it is said to be done."""

    async def work() -> None:
        session.review._begun()
        await is_done.wait()

    await session.review._wholly(work(), "undo of a.txt")


async def until_left(sessions: Sessions, session: Session) -> None:
    """Wait until a session is not open any more, though its closing may take."""
    async with asyncio.timeout(TURN_LIMIT_S):
        while session.id in sessions._open:  # noqa: ASYNC110 - its closing tells nobody
            await asyncio.sleep(0)


async def test_a_session_whose_lease_is_lost_ends_here(
    tmp_path: Path, model_host: Provider, model_port: int
) -> None:
    hangs = '[[answer]]\nhang = "before"\n'
    async with (
        scripted(hangs, port=model_port, is_strict=False) as model,
        open_test_sessions(tmp_path, model_host) as sessions,
    ):
        first = await sessions.create()
        clock = await renewed_by_hand(sessions)
        await first.submit("Hello.")
        await model.wait_for_requests(1)
        await run_out(sessions, first)
        assert await sessions._store.lease(first.id, "elsewhere:1:x", 60)
        clock.goes_on.set()
        async with asyncio.timeout(TURN_LIMIT_S):
            ended = await first.wait_idle()
        assert ended is not None
        assert ended.stop is StopReason.CANCELLED
        with pytest.raises(AgentLsError, match="was closed here"):
            await first.submit("More.")
        with pytest.raises(StoreError, match="another agent-ls writes"):
            await sessions.find(first.id)


async def test_what_a_session_worked_on_is_free_when_its_turn_is_over(
    tmp_path: Path, model_host: Provider, model_port: int
) -> None:
    writes = """
[[answer]]
[[answer.call]]
tool = "write_file"
arguments = {{ path = "a.txt", content = "{0}\\n" }}

[[answer]]
text = "Done."
"""
    scenario = writes.format("first") + writes.format("second")
    async with (
        scripted(scenario, port=model_port) as model,
        open_test_sessions(tmp_path, model_host) as sessions,
    ):
        for word in ("first", "second"):
            session = await sessions.create()
            await session.set_mode(Mode.AUTO)
            await session.submit("Write it.")
            async with asyncio.timeout(TURN_LIMIT_S):
                await session.wait_idle()
            [written] = tmp_path.rglob("a.txt")
            assert written.read_text() == f"{word}\n"
        assert model.problems == []


async def test_only_a_few_sessions_stay_open_and_each_is_found_again(
    tmp_path: Path, model_host: Provider, model_port: int
) -> None:
    async with (
        scripted('[[answer]]\nhang = "before"\n', port=model_port, is_strict=False) as model,
        open_test_sessions(tmp_path, model_host) as sessions,
    ):
        busy = await sessions.create()
        await busy.submit("Hello.")
        await model.wait_for_requests(1)
        used, idle = await sessions.create(), await sessions.create()
        for _ in range(3):
            await sessions.create()
        assert await sessions.find(used.id) is used
        for _ in range(3):
            await sessions.create()
        assert idle.is_closed
        assert not busy.is_closed
        assert not used.is_closed
        assert await sessions._store.lease_owner(idle.id) is None
        again = await sessions.find(idle.id)
        assert again is not None
        assert again.state == idle.state
        assert again is await sessions.find(idle.id)
        assert await sessions.find("ses_unknown") is None
        assert await busy.cancel("test")


async def test_what_was_closed_to_make_room_can_be_deleted(
    tmp_path: Path, model_host: Provider, model_port: int
) -> None:
    async with open_test_sessions(tmp_path, model_host) as sessions:
        oldest = await sessions.create()
        for _ in range(8):
            await sessions.create()
        assert await sessions._store.delete(oldest.id)
        with pytest.raises(StoreError, match="there is no session"):
            await sessions.find(oldest.id)


async def test_a_session_gets_a_name_whether_it_is_open_or_not_but_not_from_another_process(
    tmp_path: Path, model_host: Provider
) -> None:
    named = e.SessionRenamed(title="Mine")
    async with (
        open_test_sessions(tmp_path, model_host) as first,
        open_test_sessions(tmp_path, model_host) as second,
    ):
        made = await first.create()
        await first.note(made.id, named)
        assert made.state.title == "Mine"
        with pytest.raises(StoreError, match="another agent-ls writes"):
            await second.note(made.id, named)
        await first._open.leave(made, "test")
        await second.note(made.id, e.SessionRenamed(title="Theirs"))
        assert await first._store.lease_owner(made.id) is None
        looked = await first.open(made.id, to_look=True)
        assert looked.state.title == "Theirs"
        # One that is only looked at is free again afterwards.
        await first.note(made.id, named)
        assert (await second.open(made.id)).state.title == "Mine"
        with pytest.raises(StoreError, match="there is no session"):
            await first.note("ses_unknown", named)
        assert await first._store.lease_owner("ses_unknown") is None


async def test_only_what_was_used_here_and_is_empty_is_deleted_at_the_end(
    tmp_path: Path, model_host: Provider, model_port: int
) -> None:
    async with scripted('[[answer]]\ntext = "Yes."\n', port=model_port):
        async with open_test_sessions(tmp_path, model_host) as theirs:
            left = await theirs.create()
        async with open_test_sessions(tmp_path, model_host) as sessions:
            used, empty, kept = [await sessions.create() for _ in range(3)]
            # One that a process made before the settings changed.
            await sessions._open.leave(empty, "test")
            sessions._empty.clear()
            sessions._empty.update({used.id, kept.id})
            empty = await sessions.open(empty.id)
            await empty.set_mode(Mode.PLAN)
            await check(sessions, used, "Yes.")
            assert [one.session_id for one in await sessions.list()] == [used.id]
            await sessions.close(is_kept=lambda one: one == kept.id)
        async with open_test_sessions(tmp_path, model_host) as again:
            stored = {one.session_id for one in await again.list(with_empty=True)}
            assert stored == {left.id, used.id, kept.id}


async def test_a_session_that_is_looked_at_goes_to_whoever_uses_it(
    tmp_path: Path, model_host: Provider, model_port: int
) -> None:
    async with (
        scripted('[[answer]]\ntext = "There."\n', port=model_port),
        open_test_sessions(tmp_path, model_host) as first,
        open_test_sessions(tmp_path, model_host) as second,
        open_test_sessions(tmp_path, model_host) as third,
    ):
        made = await first.create()
        with pytest.raises(StoreError, match="another agent-ls writes"):
            await second.open(made.id, to_look=True)
        await first._open.leave(made, "test")
        looked = await second.open(made.id, to_look=True)
        assert await second.open(made.id, to_look=True) is looked
        with pytest.raises(StoreError, match="another agent-ls writes"):
            await third.open(made.id, to_look=True)
        used = await third.open(made.id)
        await check(third, used, "There.")
        with pytest.raises(StoreError, match="another agent-ls went on with"):
            await looked.review.decide("keep", Selection())
        assert looked.is_closed
        with pytest.raises(StoreError, match="another agent-ls writes"):
            await second.open(made.id)


async def test_who_looks_at_a_session_and_then_decides_holds_it_for_certain(
    tmp_path: Path, model_host: Provider
) -> None:
    async with (
        open_test_sessions(tmp_path, model_host) as first,
        open_test_sessions(tmp_path, model_host) as second,
        open_test_sessions(tmp_path, model_host) as third,
    ):
        made, another = await first.create(), await first.create()
        for one in (made, another):
            await first._open.leave(one, "test")
        looked = await second.open(made.id, to_look=True)

        async def decide(behind: int) -> list[FileResult]:
            for _ in range(behind):
                await second._store.lease_owner(another.id)
            return await looked.review.decide("keep", Selection())

        # Several clicks, one a step behind the other, are no other process.
        assert await asyncio.gather(*map(decide, range(4))) == [[], [], [], []]
        opened = await second.open(another.id, to_look=True)
        assert await second.find(another.id) is opened
        for one in (made, another):
            with pytest.raises(StoreError, match="another agent-ls writes"):
                await third.open(one.id)


async def test_who_renames_a_file_of_a_session_that_is_looked_at_still_only_looks(
    tmp_path: Path, model_host: Provider, model_port: int
) -> None:
    writes = (
        '[[answer]]\n[[answer.call]]\ntool = "write_file"\n'
        'arguments = { path = "a.txt", content = "x\\n" }\n[[answer]]\ntext = "Done."\n'
    )
    async with (
        scripted(writes, port=model_port),
        open_test_sessions(tmp_path, model_host) as first,
        open_test_sessions(tmp_path, model_host) as second,
        open_test_sessions(tmp_path, model_host) as third,
    ):
        made = await first.create(mode=Mode.AUTO)
        await check(first, made, "Done.")
        await first._open.leave(made, "test")
        looked = await second.open(made.id, to_look=True)
        await looked.review.follow("a.txt", "b.txt")
        assert await second.open(made.id, to_look=True) is looked
        used = await third.open(made.id)
        assert [one.path for one in await used.review.decide("keep", Selection())] == ["b.txt"]
        with pytest.raises(StoreError, match="another agent-ls went on with"):
            await looked.review.follow("b.txt", "c.txt")
        assert looked.is_closed


async def test_who_decides_while_a_rename_is_recorded_holds_the_session_for_certain(
    tmp_path: Path, model_host: Provider
) -> None:
    async with (
        open_test_sessions(tmp_path, model_host) as first,
        open_test_sessions(tmp_path, model_host) as second,
    ):
        made = await first.create()
        await first._open.leave(made, "test")
        looked = await first.open(made.id, to_look=True)
        async with first._open.claimed(looked):
            deciding = asyncio.ensure_future(looked.review.decide("keep", Selection()))
            with pytest.raises(StoreError, match="another agent-ls writes"):
                await second.open(made.id)
        assert await deciding == []
        with pytest.raises(StoreError, match="another agent-ls writes"):
            await second.open(made.id)


async def test_what_was_written_while_it_was_only_looked_at_is_read(
    tmp_path: Path, model_host: Provider
) -> None:
    async with (
        open_test_sessions(tmp_path, model_host) as first,
        open_test_sessions(tmp_path, model_host) as second,
    ):
        made = await first.create()
        await first._open.leave(made, "test")
        looked = await first.open(made.id, to_look=True)
        theirs = await second.open(made.id)
        await theirs.set_mode(Mode.PLAN)
        await second._open.leave(theirs, "test")
        # The lease is free again: only that it is not ours any more tells.
        again = await first.open(made.id)
        assert again is not looked
        assert again.state.mode is Mode.PLAN


async def test_who_looks_is_told_that_another_process_went_on(
    tmp_path: Path, model_host: Provider
) -> None:
    taken: list[str] = []
    is_told = asyncio.Event()

    def tell(session_id: str) -> None:
        taken.append(session_id)
        is_told.set()

    async with (
        open_test_sessions(tmp_path, model_host) as first,
        open_test_sessions(tmp_path, model_host) as second,
    ):
        first._open.on_taken = tell
        made, mine = await first.create(), await first.create()
        await first._open.leave(made, "test")
        await first.open(made.id, to_look=True)
        clock = await renewed_by_hand(first)
        theirs = await second.open(made.id)
        await theirs.set_mode(Mode.PLAN)
        await second._open.leave(theirs, "test")
        clock.goes_on.set()
        async with asyncio.timeout(TURN_LIMIT_S):
            await is_told.wait()
        assert taken == [made.id]
        assert await first.find(mine.id) is mine


async def test_who_looks_is_told_where_it_cannot_use_what_it_looked_at(
    tmp_path: Path, model_host: Provider
) -> None:
    taken: list[str] = []
    async with (
        open_test_sessions(tmp_path, model_host) as first,
        open_test_sessions(tmp_path, model_host) as second,
    ):
        first._open.on_taken = taken.append
        made = await first.create()
        await first._open.leave(made, "test")
        await first.open(made.id, to_look=True)
        await second.open(made.id)
        with pytest.raises(StoreError, match="another agent-ls writes"):
            await first.open(made.id)
        assert taken == [made.id]


@pytest.mark.parametrize("is_written", [False, True])
async def test_a_lease_that_ran_out_while_one_looked_is_lost_only_if_somebody_wrote(
    tmp_path: Path, model_host: Provider, is_written: bool
) -> None:
    async with (
        open_test_sessions(tmp_path, model_host) as first,
        open_test_sessions(tmp_path, model_host) as second,
    ):
        made = await first.create()
        await first._open.leave(made, "test")
        looked = await first.open(made.id, to_look=True)
        # As on a machine that slept.
        await run_out(first, made)
        if is_written:
            theirs = await second.open(made.id)
            await theirs.set_mode(Mode.PLAN)
            await second._open.leave(theirs, "test")
            with pytest.raises(StoreError, match="another agent-ls went on with"):
                await looked.review.decide("keep", Selection())
            assert (await first.open(made.id)).state.mode is Mode.PLAN
        else:
            assert await looked.review.decide("keep", Selection()) == []
            assert await first.find(made.id) is looked
        with pytest.raises(StoreError, match="another agent-ls writes"):
            await second.open(made.id)


async def test_a_session_that_breaks_while_leases_are_renewed_takes_no_other_ones(
    tmp_path: Path, model_host: Provider
) -> None:
    def break_down(session_id: str) -> None:
        raise ValueError(session_id)

    async with open_test_sessions(tmp_path, model_host) as sessions:
        sessions._open.on_taken = break_down
        lost, other = await sessions.create(), await sessions.create()
        clock = await renewed_by_hand(sessions)
        for one in (lost, other):
            await run_out(sessions, one)
        assert await sessions._store.lease(lost.id, "elsewhere:1:x", 60)
        async with asyncio.timeout(TURN_LIMIT_S):
            clock.goes_on.set()
            await clock.rests.wait()
            await until_left(sessions, lost)
        assert await sessions._store.lease_owner(other.id) is not None
    assert lost.is_closed


async def test_a_session_that_is_left_while_another_is_renewed_is_not_held_again(
    tmp_path: Path, model_host: Provider
) -> None:
    async with (
        open_test_sessions(tmp_path, model_host) as first,
        open_test_sessions(tmp_path, model_host) as second,
    ):
        _, left = await first.create(), await first.create()
        clock = await renewed_by_hand(first)
        slow = first._leases._store = _Slow(first._store)
        clock.goes_on.set()
        await slow.is_asked.wait()
        leaving = asyncio.ensure_future(first._open.leave(left, "making room"))
        await until_left(first, left)
        slow.goes_on.set()
        await asyncio.gather(leaving, clock.rests.wait())
        await second.open(left.id)


async def test_a_session_that_is_opened_while_it_closes_stays_open_and_held(
    tmp_path: Path, model_host: Provider
) -> None:
    taken: list[str] = []
    is_done = asyncio.Event()
    async with (
        open_test_sessions(tmp_path, model_host) as first,
        open_test_sessions(tmp_path, model_host) as second,
    ):
        first._open.on_taken = taken.append
        made = await first.create()
        await first._open.leave(made, "test")
        looked = await first.open(made.id, to_look=True)
        step = asyncio.ensure_future(_decision_under_way(looked, is_done))
        clock = await renewed_by_hand(first)
        theirs = await second.open(made.id)
        await theirs.set_mode(Mode.PLAN)
        await second._open.leave(theirs, "test")
        # It is found lost, and waits for what is being done in it.
        clock.goes_on.set()
        async with asyncio.timeout(TURN_LIMIT_S):
            await until_left(first, looked)
            again = await first.open(made.id)
            is_done.set()
            await asyncio.gather(step, clock.rests.wait())
        assert await first.find(made.id) is again
        assert taken == []
        with pytest.raises(StoreError, match="another agent-ls writes"):
            await second.open(made.id)


async def test_a_session_that_closes_slowly_keeps_no_other_from_being_held(
    tmp_path: Path, model_host: Provider
) -> None:
    is_done = asyncio.Event()
    async with open_test_sessions(tmp_path, model_host) as sessions:
        lost, other = await sessions.create(), await sessions.create()
        step = asyncio.ensure_future(_decision_under_way(lost, is_done))
        clock = await renewed_by_hand(sessions)
        for one in (lost, other):
            await run_out(sessions, one)
        assert await sessions._store.lease(lost.id, "elsewhere:1:x", 60)
        clock.goes_on.set()
        async with asyncio.timeout(TURN_LIMIT_S):
            await until_left(sessions, lost)
            for _ in range(2):
                await clock.rests.wait()
                assert await sessions._store.lease_owner(other.id) is not None
                clock.rests.clear()
                await run_out(sessions, other)
                clock.goes_on.set()
            assert not step.done()
            is_done.set()
            await step
    assert lost.is_closed


async def test_an_older_lease_neither_renews_nor_gives_back_a_newer_one(
    tmp_path: Path, model_host: Provider
) -> None:
    async def unwritten() -> bool:
        return True

    async with open_test_sessions(tmp_path, model_host) as sessions:
        leases = HeldLeases(sessions._store, "here:1:x")
        for is_loose in (False, True):
            older = await leases.take("ses_1", is_loose=is_loose)
            newer = await leases.take("ses_1")
            assert not await leases.renew(older, unwritten)
            assert not await leases.upgrade(older, unwritten)
            await leases.release(older)
            assert await sessions._store.lease_owner("ses_1") == newer.owner
            await leases.release(newer)
            for one in (older, newer):
                assert not await leases.renew(one, unwritten)
            assert await sessions._store.lease_owner("ses_1") is None


async def test_nothing_is_decided_in_a_session_that_was_closed_here(
    tmp_path: Path, model_host: Provider
) -> None:
    async with (
        open_test_sessions(tmp_path, model_host) as first,
        open_test_sessions(tmp_path, model_host) as second,
    ):
        made = await first.create()
        await first._open.leave(made, "making room")
        theirs = await second.open(made.id)
        with pytest.raises(StoreError, match="was closed here"):
            await made.review.decide("keep", Selection())
        await theirs.set_mode(Mode.PLAN)
        assert not theirs.is_closed


async def test_whoever_loses_the_race_for_a_session_is_told_so_each_time(
    tmp_path: Path, model_host: Provider
) -> None:
    async with open_test_sessions(tmp_path, model_host) as sessions:
        made = await sessions.create()
        await sessions._open.leave(made, "test")
        leases = HeldLeases(_Overtaken(sessions._store), "here:1:x")
        lease = await leases.take(made.id, is_loose=True)

        async def unwritten() -> bool:
            return True

        assert [await leases.upgrade(lease, unwritten) for _ in range(2)] == [False, False]
        assert not await leases.renew(lease, unwritten)


async def test_who_uses_a_session_gets_it_though_another_begins_to_look_at_that_moment(
    tmp_path: Path, model_host: Provider
) -> None:
    async with open_test_sessions(tmp_path, model_host) as sessions:
        made = await sessions.create()
        await sessions._open.leave(made, "test")
        leases = HeldLeases(_Glanced(sessions._store), "here:1:x")
        lease = await leases.take(made.id)
        assert await sessions._store.lease_owner(made.id) == lease.owner


@dataclass
class _Between:
    """Leases between whose steps another process does something."""

    inner: Leases

    async def lease(self, session_id: str, owner: str, ttl_s: float) -> bool:
        return await self.inner.lease(session_id, owner, ttl_s)

    async def lease_owner(self, session_id: str) -> str | None:
        return await self.inner.lease_owner(session_id)

    async def release(self, session_id: str, owner: str) -> None:
        await self.inner.release(session_id, owner)


class _Overtaken(_Between):
    """Each that is given back is taken at once."""

    async def release(self, session_id: str, owner: str) -> None:
        await super().release(session_id, owner)
        assert await self.inner.lease(session_id, "elsewhere:1:x", 60)


@dataclass
class _Slow(_Between):
    """What is asked of the store takes until the test says so."""

    is_asked: asyncio.Event = field(default_factory=asyncio.Event)
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def lease(self, session_id: str, owner: str, ttl_s: float) -> bool:
        self.is_asked.set()
        await self.goes_on.wait()
        return await super().lease(session_id, owner, ttl_s)


class _Glanced(_Between):
    """Somebody begins to look right after a look at the lease."""

    async def lease_owner(self, session_id: str) -> str | None:
        found = await super().lease_owner(session_id)
        await self.inner.lease(session_id, "elsewhere:1:x:looks", 60)
        return found


async def test_a_cut_off_session_that_others_look_at_is_found_and_resumed(
    tmp_path: Path, model_host: Provider, model_port: int
) -> None:
    async with (
        scripted('[[answer]]\nhang = "before"\n', port=model_port, is_strict=False) as model,
        open_test_sessions(tmp_path, model_host) as dying,
        open_test_sessions(tmp_path, model_host) as looking,
        open_test_sessions(tmp_path, model_host) as using,
    ):
        session = await dying.create()
        await session.submit("Hello.")
        await model.wait_for_requests(1)
        await run_out(dying, session)
        opening = asyncio.ensure_future(looking.open(session.id, to_look=True))
        for _ in range(20):
            # At every moment of the other's opening it is there to be resumed.
            assert [one.session_id for one in await using.interrupted()] == [session.id]
            if opening.done():
                break
        found = await using.open(session.id)
        assert found.is_cut_off
        await asyncio.gather(opening, return_exceptions=True)
        await found.set_mode(Mode.PLAN)
        assert not found.is_closed


async def test_a_session_that_cannot_be_read_hides_no_older_ones_changes(
    tmp_path: Path, model_host: Provider, model_port: int
) -> None:
    scenario = "".join(
        f'[[answer]]\n[[answer.call]]\ntool = "write_file"\n'
        f'arguments = {{ path = "{name}", content = "x\\n" }}\n[[answer]]\ntext = "Done."\n'
        for name in ("a.txt", "b.txt")
    )
    folder = tmp_path / "work"
    folder.mkdir()
    async with (
        scripted(scenario, port=model_port),
        open_test_sessions(folder, model_host) as sessions,
    ):
        made: list[str] = []
        for _ in range(2):
            session = await sessions.create(mode=Mode.AUTO)
            made.append(session.id)
            await session.submit("Write it.")
            async with asyncio.timeout(TURN_LIMIT_S):
                await session.wait_idle()
    with sqlite3.connect(tmp_path / "work-store.db") as connection:
        broken = """UPDATE events SET body = '{"type":"moved"}' WHERE session_id = ? AND seq = 3"""
        connection.execute(broken, [made[1]])
    connection.close()
    async with open_test_sessions(folder, model_host) as sessions:
        found = await sessions.to_review()
        assert found is not None
        assert found.session_id == made[0]
