"""A branch knows what its source knew at a place, is whole, and says where it came from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_ls.domain import events as ev
from agent_ls.domain.errors import StoreError
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.stops import StopReason
from agent_ls.loop.ports.models import Provider
from agent_ls.loop.state.folding import fold_all
from agent_ls.loop.state.state import SessionState
from agent_ls.session.forking import fork_journal, fork_seq_after, fork_seq_before
from tests.store.stories import TURN, Journal, ended
from tests.support.scripted import scripted
from tests.support.turns import open_test_sessions

SECOND = (
    ev.TurnStarted(turn_id="trn_2", prompt="And a farewell"),
    ev.PromptQueued(text="Then rest", kind="follow_up"),
    ended("trn_2"),
)


def check(events: Sequence[ev.Event], last_seq: int) -> SessionState:
    """Return what a branch adds up to, after looking that it is a journal of its own."""
    source = Journal().all(*events)
    branch = fork_journal(source, "ses_2", last_seq)
    assert [one.seq for one in branch] == list(range(1, len(branch) + 1))
    assert {one.session_id for one in branch} == {"ses_2"}
    assert [one.event for one in branch[1:2]] == [one.event for one in source[1:2]][: last_seq - 1]
    first = branch[0].event
    assert isinstance(first, ev.SessionCreated)
    assert (first.session_id, first.forked_from, first.forked_at) == ("ses_2", "ses_1", last_seq)
    state = fold_all(branch)
    assert not state.is_running
    return state


def test_at_the_end_of_a_turn_it_knows_all_of_it() -> None:
    state = check([*TURN, *SECOND], len(TURN))
    source = fold_all(Journal().all(*TURN))
    assert state.messages == source.messages
    assert (state.turns, state.usage, state.plan) == (1, source.usage, source.plan)
    assert state.turn is not None
    assert state.turn.stop is StopReason.LOOP_DETECTED


def test_what_waited_in_the_queue_stays_behind() -> None:
    state = check([*TURN, *SECOND], len(TURN) + 3)
    assert (state.turns, state.queue) == (2, ())


def test_what_was_decided_about_changes_is_about_the_same_ones() -> None:
    waiting = ev.PromptQueued(text="And then rest", kind="follow_up")
    decided = ev.ReviewDecided(
        review_id="rev_1",
        decision="undo",
        turn_id="trn_1",
        path="a.py",
        hunks=(f"{len(TURN) + 4}.0", f"{len(TURN) + 4}.2.1", "1", "2.0"),
    )
    answered = ev.Answered(step_id="stp_1", message=AssistantMessage(text="Yes."))
    journal = (*TURN, SECOND[0], waiting, waiting, answered, decided, SECOND[2])
    branch = fork_journal(Journal().all(*journal), "ses_2", len(journal))
    (there,) = (one.seq for one in branch if one.event == answered)
    (hunks,) = (one.event.hunks for one in branch if isinstance(one.event, ev.ReviewDecided))
    assert hunks == (f"{there}.0", f"{there}.2.1", "1", "2.0")
    assert there == len(TURN) + 2


@pytest.mark.parametrize(
    ("turn", "place"),
    [(None, len(TURN) + 3), ("1", len(TURN)), ("trn_1", len(TURN)), ("2", len(TURN) + 3)],
)
def test_a_turn_is_named_by_number_or_id(turn: str | None, place: int) -> None:
    assert fork_seq_after(Journal().all(*TURN, *SECOND), turn) == place


@pytest.mark.parametrize(("turn", "place"), [("1", len(TURN) + 2), (None, len(TURN) + 7)])
def test_what_was_decided_between_two_turns_goes_along(turn: str | None, place: int) -> None:
    queued = ev.PromptQueued(text="And a farewell", kind="follow_up")
    renamed = ev.FileRenamed(path="a.py", new_path="b.py")
    decided = ev.ReviewDecided(
        review_id="rev_1", decision="keep", turn_id="trn_1", path="b.py", hunks=("7.0",)
    )
    events = (*TURN, renamed, decided, queued, *SECOND, decided, queued)
    assert fork_seq_after(Journal().all(*events), turn) == place


@pytest.mark.parametrize(
    ("turn", "words"), [("3", "no turn 3"), ("0", "no turn 0"), ("trn_9", "no turn"), ("2", "over")]
)
def test_a_turn_that_is_not_there_or_not_over_is_refused(turn: str, words: str) -> None:
    with pytest.raises(StoreError, match=words):
        fork_seq_after(Journal().all(*TURN, *SECOND[:-1]), turn)


@pytest.mark.parametrize(
    ("turn", "turns", "model"),
    [("1", 0, "m/one"), ("trn_2", 1, "other"), ("2", 1, "other")],
)
def test_before_a_turn_it_knows_what_was_chosen_until_then(
    turn: str, turns: int, model: str
) -> None:
    # The last turn still runs, and a prompt waits for its end.
    queued = ev.PromptQueued(text="And a farewell", kind="follow_up")
    events = (*TURN, ev.ModelChanged(model="other"), queued, *SECOND[:2])
    place = fork_seq_before(Journal().all(*events), turn)
    state = check(events, place)
    assert (state.turns, state.queue) == (turns, ())
    assert state.model == model


@pytest.mark.parametrize("turn", ["3", "0", "trn_9"])
def test_before_a_turn_that_is_not_there_there_is_nothing(turn: str) -> None:
    with pytest.raises(StoreError, match=f"there is no turn {turn}"):
        fork_seq_before(Journal().all(*TURN, *SECOND), turn)


def test_a_session_without_a_finished_turn_has_no_branches() -> None:
    with pytest.raises(StoreError, match="no finished turn to fork from"):
        fork_seq_after(Journal().all(*TURN[:5]), None)


def test_a_branch_has_the_title_of_today_and_is_not_in_the_archive() -> None:
    events = (
        *TURN,
        ev.SessionRenamed(title="One"),
        ev.SessionArchived(),
        *SECOND,
        ev.SessionRenamed(title="Two"),
        ev.SessionArchived(),
    )
    branch = fork_journal(Journal().all(*events), "ses_2", len(TURN) + 2)
    titles = [one.event.title for one in branch if isinstance(one.event, ev.SessionRenamed)]
    assert titles == ["One", "Two"]
    assert [one for one in branch if isinstance(one.event, ev.SessionArchived)] == []
    assert [one.seq for one in branch] == list(range(1, len(branch) + 1))
    assert fold_all(branch).title == "Two"


@pytest.mark.asyncio(loop_scope="session")
async def test_a_branch_goes_its_own_way_and_its_source_stays(
    tmp_path: Path, model_host: Provider, model_port: int
) -> None:
    scenario = """
[[answer]]
text = "Blue."
[[answer]]
text = "Red."
[[answer]]
text = "I said blue."
[answer.expect]
contains = ["Blue."]
absent = ["Red.", "Another"]
"""
    async with (
        scripted(scenario, port=model_port) as model,
        open_test_sessions(tmp_path, model_host) as sessions,
    ):
        source = await sessions.create()
        for prompt in ("Which colour?", "Another one?"):
            await source.submit(prompt)
            await source.wait_idle()
        branch = await sessions.fork(source.id, turn="1")
        await branch.submit("What did you say?")
        ended = await branch.wait_idle()
        assert ended is not None
        assert (ended.output, branch.state.turns, source.state.turns) == ("I said blue.", 2, 2)
        assert {one.session_id for one in await sessions.list()} == {source.id, branch.id}
        # The provider's cache knows the front already.
        first, branched = model.requests[0].messages, model.requests[2].messages
        assert branched[: len(first)] == first
