"""How long a turn took."""

from __future__ import annotations

from agent_ls.domain import events as ev
from agent_ls.domain.modes import Mode
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.loop.machine.results import result_of
from agent_ls.loop.state.folding import fold_all


def test_the_time_between_a_kill_and_the_resumption_is_no_work() -> None:
    events: list[tuple[int, ev.Event]] = [
        (0, ev.SessionCreated(session_id="ses_1", roots=("file:///a",), mode=Mode.ASK, model="m")),
        (1_000, ev.TurnStarted(turn_id="trn_1", prompt="x")),
        (3_000, ev.PlanUpdated(items=())),
        (63_000, ev.SessionResumed()),
        (
            64_500,
            ev.TurnEnded(
                turn_id="trn_1",
                stop=StopReason.COMPLETED,
                status=TurnStatus.SUCCESS,
                output="",
                failure_reason="",
            ),
        ),
    ]
    stored = [
        ev.StoredEvent(session_id="ses_1", seq=seq, at_ms=at_ms, event=event)
        for seq, (at_ms, event) in enumerate(events, start=1)
    ]
    assert result_of(fold_all(stored)).duration_ms == 3_500
