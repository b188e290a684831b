"""A session: prompts while a turn runs, stopping, and answers that come twice or never."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.approvals import ApprovalAnswer, ApprovalChoice, QuestionAnswer
from agent_ls.domain.calls import ErrorKind
from agent_ls.domain.errors import AgentLsError, StoreError
from agent_ls.domain.goals import Goal
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.modes import Mode
from agent_ls.domain.stops import STATUS, StopReason
from agent_ls.loop.ports.models import Provider
from agent_ls.session.session import Session
from agent_ls.session.sessions import Sessions
from agent_ls.store.sql_store import open_store
from tests.session.conftest import Open
from tests.support.scripted import scripted
from tests.support.turns import open_test_sessions

pytestmark = pytest.mark.asyncio(loop_scope="session")

LIMIT_S = 60.0

_WAITS_FOR_A_YES = """
[[answer]]
[[answer.call]]
tool = "write_file"
arguments = { path = "a.txt", content = "hey" }
"""
_WRITE = ApprovalAnswer(choice=ApprovalChoice.ALLOW_ONCE, by="test")


class Watch:
    """Lets a test wait for an event."""

    def __init__(self, session: Session) -> None:
        self.events: list[e.Event] = []
        self._text = ""
        self._news = asyncio.Condition()
        self._loop = asyncio.get_running_loop()
        session.follow(self)

    def on_event(self, stored: e.StoredEvent) -> None:
        self.events.append(stored.event)
        self._loop.create_task(self._tell())

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        if isinstance(piece, e.TextStreamed):
            self._text += piece.text
            self._loop.create_task(self._tell())

    async def until_said(self) -> None:
        async with asyncio.timeout(LIMIT_S), self._news:
            await self._news.wait_for(lambda: len(self._text) > len("A very"))

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()

    async def until(self, is_there: Callable[[e.Event], bool]) -> None:
        async with asyncio.timeout(LIMIT_S), self._news:
            await self._news.wait_for(lambda: any(map(is_there, self.events)))

    async def until_asked(self) -> None:
        await self.until(lambda event: isinstance(event, e.ApprovalRequested))


async def check(sessions: Sessions, prompt: str = "Do it.") -> tuple[Session, Watch]:
    session = await sessions.create()
    watch = Watch(session)
    await session.submit(prompt)
    return session, watch


async def ended_of(session: Session) -> e.TurnEnded:
    async with asyncio.timeout(LIMIT_S):
        ended = await session.wait_idle()
    assert ended is not None
    return ended


async def test_words_while_a_turn_runs_reach_the_model_in_its_next_request(opened: Open) -> None:
    scenario = _WAITS_FOR_A_YES + '[[answer]]\ntext = "Done."\n[answer.expect]\n'
    scenario += 'last_contains = ["and be quick"]\n'
    async with opened(scenario) as (sessions, _):
        session, watch = await check(sessions)
        await watch.until_asked()
        turn_id = await session.submit("and be quick")
        assert session.state.turn is not None
        assert turn_id == session.state.turn.turn_id
        assert await session.resolve_approval(None, _WRITE)
        assert (await ended_of(session)).stop is StopReason.COMPLETED
        assert session.state.turns == 1


async def test_what_a_user_says_while_a_turn_runs_is_stored_when_it_is_taken(
    opened: Open, tmp_path: Path
) -> None:
    async with opened(_WAITS_FOR_A_YES) as (sessions, _):
        session, watch = await check(sessions)
        await watch.until_asked()
        await session.set_mode(Mode.ASK_ALL)
        await session.submit("and be quick")
        await session.submit("And then?", when_busy="follow_up")
        # What another process finds is what is left when this one dies now.
        other = open_store(str(tmp_path.parent / f"{tmp_path.name}-store.db"))
        stored = [one.event for one in await other.load(session.id)]
        await other.close()
        ids = [one.id for one in session.state.queue]
        assert stored[-3:] == [
            e.ModeChanged(mode=Mode.ASK_ALL),
            e.PromptQueued(text="and be quick", kind="steer", id=ids[0]),
            e.PromptQueued(text="And then?", kind="follow_up", id=ids[1]),
        ]
        assert ids[0] != ids[1]


async def test_nothing_asks_any_more_for_what_was_answered(opened: Open) -> None:
    async with opened(_WAITS_FOR_A_YES + '[[answer]]\ntext = "Done."\n') as (sessions, _):
        session, watch = await check(sessions)
        await watch.until_asked()
        assert session.state.approvals
        answers = [session.resolve_approval(None, _WRITE) for _ in range(2)]
        assert await asyncio.gather(*answers) == [True, False]
        assert not session.state.approvals
        assert (await ended_of(session)).stop is StopReason.COMPLETED


@pytest.mark.parametrize("arguments", ["{", "[]", "", '{"path": "a"} and more'])
async def test_changed_arguments_that_are_none_leave_the_approval_open(
    opened: Open, arguments: str
) -> None:
    async with opened(_WAITS_FOR_A_YES + '[[answer]]\ntext = "Done."\n') as (sessions, _):
        session, watch = await check(sessions)
        await watch.until_asked()
        amended = ApprovalAnswer(choice=ApprovalChoice.AMEND, arguments_json=arguments)
        with pytest.raises(AgentLsError, match="not one JSON object"):
            await session.resolve_approval(None, amended)
        assert await session.resolve_approval(None, _WRITE)
        assert (await ended_of(session)).stop is StopReason.COMPLETED


async def test_an_answer_without_words_leaves_the_question_open(opened: Open) -> None:
    asks = """
[[answer]]
[[answer.call]]
tool = "ask_user"
arguments = { question = "Which one?" }

[[answer]]
text = "Done."
[answer.expect]
last_contains = ["the second"]
"""
    async with opened(asks) as (sessions, _):
        session, watch = await check(sessions)
        await watch.until(lambda event: isinstance(event, e.QuestionAsked))
        with pytest.raises(AgentLsError, match="is empty"):
            await session.resolve_question(None, QuestionAnswer(text=" \n"))
        assert await session.resolve_question(None, QuestionAnswer(text="the second"))
        assert (await ended_of(session)).stop is StopReason.COMPLETED


async def test_words_for_afterwards_begin_the_next_turn(opened: Open) -> None:
    scenario = _WAITS_FOR_A_YES + '[[answer]]\ntext = "First."\n[[answer]]\ntext = "Second."\n'
    async with opened(scenario) as (sessions, model):
        session, watch = await check(sessions)
        await watch.until_asked()
        await session.submit("And then?", when_busy="follow_up")
        assert await session.resolve_approval(None, _WRITE)
        assert (await ended_of(session)).output == "Second."
        assert session.state.turns == 2
        assert session.state.queue == ()
        # The second turn goes on with the same conversation and the same prefix.
        first, *_, last = [request.messages for request in model.requests]
        assert last[: len(first)] == first


async def test_a_goal_for_afterwards_stays_a_goal(opened: Open) -> None:
    scenario = _WAITS_FOR_A_YES + '[[answer]]\ntext = "First."\n[[answer]]\ntext = "Second."\n'
    async with opened(scenario) as (sessions, _):
        session, watch = await check(sessions)
        await watch.until_asked()
        await session.submit("", goal=Goal(text="Greet politely."), when_busy="follow_up")
        assert await session.resolve_approval(None, _WRITE)
        await ended_of(session)
        [_, started] = [one for one in watch.events if isinstance(one, e.TurnStarted)]
        assert started.goal is not None
        assert started.goal.text == "Greet politely."
        assert session.state.queue == ()


async def test_stopping_while_a_question_waits_ends_the_turn_and_settles_everything(
    opened: Open, tmp_path: Path
) -> None:
    async with opened(_WAITS_FOR_A_YES) as (sessions, _):
        session, watch = await check(sessions)
        await watch.until_asked()
        assert await session.cancel("test")
        assert (await ended_of(session)).stop is StopReason.CANCELLED
        state = session.state
        assert dict(state.approvals) == {}
        assert state.turn is not None
        assert [one.result.error for one in state.turn.calls if one.result] == [ErrorKind.CANCELLED]
        assert state.messages[-1].role == "tool"
        assert not await session.resolve_approval(None, _WRITE)
        assert not await session.cancel("again")
        assert not (tmp_path / "a.txt").exists()


async def test_a_permission_that_nobody_gives_in_time_is_refused(
    opened: Open, tmp_path: Path
) -> None:
    goes_on = """
[[answer]]
text = "I leave it."
[answer.expect]
contains = ["needs a user's permission and nobody gave it within 0.2 s."]
"""
    async with opened(
        _WAITS_FOR_A_YES + goes_on, settings_toml="loop.approval_timeout_s = 0.2"
    ) as (sessions, _):
        session, watch = await check(sessions)
        assert (await ended_of(session)).output == "I leave it."
        [asked] = [one for one in watch.events if isinstance(one, e.ApprovalRequested)]
        assert asked.request.timeout_s == 0.2
        assert not await session.resolve_approval(asked.request.id, _WRITE)
        assert not (tmp_path / "a.txt").exists()


async def test_after_a_stop_the_model_knows_it_and_what_it_had_said(opened: Open) -> None:
    scenario = '[[answer]]\ntext = "A very long answer. Never sent."\nchunk = 4\nhang = "middle"\n'
    scenario += '[[answer]]\ntext = "Well."\n[answer.expect]\nlast_contains = ["go on"]\n'
    scenario += 'contains = ["A very", "The user stopped you here"]\n'
    async with opened(scenario) as (sessions, _):
        session, watch = await check(sessions)
        await watch.until_said()
        await session.cancel("test")
        assert (await ended_of(session)).stop is StopReason.CANCELLED
        _, said, told = session.state.messages
        assert isinstance(said, AssistantMessage)
        assert said.text.startswith("A very")
        assert (said.calls, said.reasoning) == ((), "")
        assert "your answer is cut off" in told.text
        await session.submit("go on")
        assert (await ended_of(session)).output == "Well."


async def test_the_first_of_two_answers_counts_and_unknown_ones_change_nothing(
    opened: Open, tmp_path: Path
) -> None:
    scenario = _WAITS_FOR_A_YES + '[[answer]]\ntext = "Not done."\n'
    async with opened(scenario) as (sessions, _):
        session, watch = await check(sessions)
        await watch.until_asked()
        (request,) = session.state.approvals.values()
        not_offered = ApprovalAnswer(choice=ApprovalChoice.CANCELLED)
        with pytest.raises(AgentLsError, match="cancelled is not offered here, only allow_once, "):
            await session.resolve_approval(request.id, not_offered)
        assert not await session.resolve_approval("apr_unknown", _WRITE)
        no = ApprovalAnswer(choice=ApprovalChoice.REJECT_ONCE)
        assert await session.resolve_approval(request.id, no)
        assert not await session.resolve_approval(request.id, _WRITE)
        await ended_of(session)
        assert not (tmp_path / "a.txt").exists()


async def test_a_session_is_found_again_and_its_next_turn_knows_the_first(
    tmp_path: Path, model_host: Provider, model_port: int
) -> None:
    scenario = '[[answer]]\ntext = "Blue."\n[[answer]]\ntext = "I said blue."\n'
    scenario += '[answer.expect]\ncontains = ["Blue."]\n'
    async with scripted(scenario, port=model_port):
        async with open_test_sessions(tmp_path, model_host) as sessions:
            session, _ = await check(sessions, "Which colour?")
            await ended_of(session)
            (listed,) = await sessions.list()
            assert (listed.session_id, listed.title) == (session.id, "Which colour?")
        async with open_test_sessions(tmp_path, model_host) as sessions:
            again = await sessions.open(session.id)
            assert again.state == session.state
            await again.submit("What did you say?")
            assert (await ended_of(again)).output == "I said blue."


async def test_a_stop_right_after_the_prompt_ends_the_turn(opened: Open) -> None:
    scenario = '[[answer]]\ntext = "Later."\n'
    async with opened(scenario) as (sessions, _):
        session, _ = await check(sessions)
        assert await session.cancel("at once")
        assert await session.cancel("and again") or not session.state.is_running
        assert (await ended_of(session)).stop is StopReason.CANCELLED
        await session.submit("Now?")
        assert (await ended_of(session)).output == "Later."


async def test_what_was_queued_goes_with_the_stop(opened: Open) -> None:
    scenario = _WAITS_FOR_A_YES + '[[answer]]\ntext = "Only this."\n[answer.expect]\n'
    scenario += 'absent = ["also delete everything"]\n'
    async with opened(scenario) as (sessions, _):
        session, watch = await check(sessions)
        await watch.until_asked()
        await session.submit("also delete everything")
        await session.submit("then commit", when_busy="follow_up")
        await session.cancel("test")
        await ended_of(session)
        await session.submit("Just explain.")
        assert (await ended_of(session)).output == "Only this."
        assert session.state.turns == 2


async def test_a_file_that_changed_under_the_question_stays_as_it_is(
    opened: Open, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    scenario = _WAITS_FOR_A_YES + '[[answer]]\ntext = "Done."\n'
    async with opened(scenario) as (sessions, _):
        session, watch = await check(sessions)
        await watch.until_asked()
        (asked,) = session.state.approvals.values()
        (tmp_path / "a.txt").write_text("old\nmine\n")
        assert await session.resolve_approval(asked.id, _WRITE)
        await ended_of(session)
        assert (tmp_path / "a.txt").read_text() == "old\nmine\n"


async def test_a_turn_that_was_cut_off_goes_on_with_the_next_words(
    tmp_path: Path, model_host: Provider, model_port: int
) -> None:
    async with open_test_sessions(tmp_path, model_host) as sessions:
        session = await sessions.create()
        # As a dead process leaves it: a turn without an end, and nobody who runs it.
        await session._recorder.emit(e.TurnStarted(turn_id="trn_1", prompt="Begin."))
        async with scripted('[[answer]]\ntext = "Both."\n', port=model_port) as model:
            await session.submit("And this.")
            assert (await ended_of(session)).output == "Both."
            assert [one["content"] for one in model.requests[0].messages[-2:]] == [
                "Begin.",
                "And this.",
            ]


async def test_an_empty_prompt_is_refused(tmp_path: Path, model_host: Provider) -> None:
    async with open_test_sessions(tmp_path, model_host) as sessions:
        session = await sessions.create()
        with pytest.raises(AgentLsError, match="empty"):
            await session.submit("  \n")
        assert session.state.turns == 0


async def test_what_waited_for_the_end_begins_although_the_process_died_in_between(
    opened: Open, tmp_path: Path, model_host: Provider
) -> None:
    async with open_test_sessions(tmp_path, model_host) as sessions:
        session = await sessions.create()
        # As a process leaves it that dies between a turn's end and the next one's beginning.
        for event in (
            e.TurnStarted(turn_id="trn_1", prompt="Begin."),
            e.PromptQueued(text="And then?", kind="follow_up"),
            e.TurnEnded(
                turn_id="trn_1",
                stop=StopReason.COMPLETED,
                status=STATUS[StopReason.COMPLETED],
                output="",
            ),
        ):
            await session._recorder.emit(event)
        session_id = session.id
    async with opened('[[answer]]\ntext = "Then this."\n') as (sessions, _):
        session = await sessions.resume(session_id)
        assert (await ended_of(session)).output == "Then this."
        assert (session.state.turns, session.state.queue) == (2, ())
        assert not session.resume()


async def test_looking_at_a_folder_again_and_again_leaves_one_empty_session(
    tmp_path: Path, model_host: Provider, model_port: int
) -> None:
    ids: set[str] = set()
    for mode in (Mode.PLAN, Mode.ASK, Mode.PLAN):
        async with open_test_sessions(tmp_path, model_host) as sessions:
            session = await sessions.fresh(mode=mode)
            assert session.state.mode is mode
            # Somebody else who looks meanwhile gets another.
            async with open_test_sessions(tmp_path, model_host) as others:
                other = await others.fresh()
                assert other.id != session.id
            ids |= {session.id, other.id}
    assert len(ids) == 2


async def test_one_session_that_cannot_close_does_not_keep_the_others_leases(
    tmp_path: Path, model_host: Provider, model_port: int
) -> None:
    async with open_test_sessions(tmp_path, model_host) as sessions:
        broken, other = await sessions.create(), await sessions.create()

        async def fails() -> None:
            raise StoreError("the disk is gone")

        broken._runner._task = asyncio.ensure_future(fails())
        await asyncio.gather(broken._runner._task, return_exceptions=True)
        ids = broken.id, other.id
    async with open_test_sessions(tmp_path, model_host) as sessions:
        for session_id in ids:
            assert (await sessions.open(session_id)).id == session_id


async def test_a_prompt_that_no_database_takes_is_stored_as_far_as_it_is_text(
    opened: Open, tmp_path: Path, model_host: Provider
) -> None:
    async with opened('[[answer]]\ntext = "Hello."\n') as (sessions, _):
        session = await sessions.create()
        await session.submit("Greet \ud800 me.")
        ended = await session.wait_idle()
        assert ended is not None
        assert ended.output == "Hello."
    async with open_test_sessions(tmp_path, model_host) as sessions:
        [summary] = await sessions.list()
        again = await sessions.open(summary.session_id)
        stored = [one.event for one in await again.journal()]
    assert [one.prompt for one in stored if isinstance(one, e.TurnStarted)] == ["Greet \ufffd me."]
