"""The transition table."""

from __future__ import annotations

from agent_ls.domain.phases import SUCCESSORS, Phase
from agent_ls.domain.stops import STATUS, StopReason, exit_code


def test_every_phase_has_successors_and_only_done_has_none() -> None:
    assert set(SUCCESSORS) == set(Phase)
    assert [phase for phase, after in SUCCESSORS.items() if not after] == [Phase.DONE]


def test_done_can_be_reached_from_everywhere() -> None:
    assert all(Phase.DONE in after for phase, after in SUCCESSORS.items() if phase != Phase.DONE)


def test_every_phase_can_be_reached_from_check() -> None:
    reached, todo = {Phase.CHECK}, [Phase.CHECK]
    while todo:
        new = SUCCESSORS[todo.pop()] - reached
        reached |= new
        todo += new
    assert reached == set(Phase)


def test_a_model_is_asked_only_after_check_and_prepare() -> None:
    before_call = {phase for phase, after in SUCCESSORS.items() if Phase.CALL in after}
    before_prepare = {phase for phase, after in SUCCESSORS.items() if Phase.PREPARE in after}
    assert (before_call, before_prepare) == ({Phase.PREPARE}, {Phase.CHECK})


def test_every_stop_reason_has_a_status_and_an_exit_code() -> None:
    assert set(STATUS) == set(StopReason)
    codes = {stop: exit_code(stop) for stop in StopReason}
    assert codes[StopReason.COMPLETED] == 0
    assert codes[StopReason.TIMEOUT] == 5
    assert codes[StopReason.CANCELLED] == 130
    assert codes[StopReason.MAX_STEPS] == 2
    assert exit_code(StopReason.MAX_STEPS, count_partial=False) == 0
    assert exit_code(StopReason.ERROR) == 1
    assert exit_code(StopReason.ERROR, is_authentication=True) == 4
