"""The end of a sub-agent: its summary in the parent's journal, also after a crash."""

from __future__ import annotations

from agent_ls.domain.agents import AgentReport, report_of
from agent_ls.domain.calls import ErrorKind
from agent_ls.domain.events import ChildEnded, ChildFile, ChildStarted, TurnEnded
from agent_ls.domain.stops import STATUS, StopReason
from agent_ls.loop.machine.abort import results_of_open_calls
from agent_ls.loop.machine.results import simulated_in, steps_of
from agent_ls.loop.ports.store import Store
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.recorder import Recorder
from agent_ls.loop.state.state import SessionState
from agent_ls.session.repair import repair

_DIED = "The process died while the sub-agent worked."


def ended_of(state: SessionState, call_id: str, child_id: str, kind: str) -> ChildEnded:
    """Return the parent's end event, summarised from the sub-agent's state."""
    turn = state.turn
    if turn is None:
        return ChildEnded(
            call_id=call_id, child_id=child_id, kind=kind, stop=StopReason.CANCELLED, why=_DIED
        )
    ended = turn.ended
    return ChildEnded(
        call_id=call_id,
        child_id=child_id,
        kind=kind,
        stop=ended.stop if ended else StopReason.ERROR,
        why=ended.failure_reason if ended else "It broke off.",
        report=report_of(ended.output) if ended else AgentReport(),
        steps=steps_of(turn),
        usage=state.usage,
        files=tuple(
            ChildFile(path=path, before_blob=file.before_blob, after_blob=file.after_blob)
            for path, file in sorted(turn.touched.items())
            if file.before_blob != file.after_blob
        ),
        simulated=simulated_in(turn),
    )


async def settle_children(recorder: Recorder, workspace: Workspace, store: Store) -> None:
    """End the sub-agents that died with the parent's process; they are not resumed."""
    turn = recorder.state.turn
    events = [one.event for one in turn.events] if turn is not None else []
    over = {event.child_id for event in events if isinstance(event, ChildEnded)}
    for event in events:
        if isinstance(event, ChildStarted) and event.child_id not in over:
            journal = await store.load(event.child_id)
            child = recorder.child(event.child_id, journal)
            await repair(child, workspace, store)
            await _break_off(child)
            await recorder.emit(ended_of(child.state, event.call_id, event.child_id, event.kind))


async def _break_off(child: Recorder) -> None:
    """End a turn whose process died, with a result for every open call."""
    turn = child.state.turn
    if turn is None or turn.ended is not None:
        return
    for one in results_of_open_calls(turn, ErrorKind.INTERRUPTED, not_begun=_DIED, begun=_DIED):
        await child.emit(one)
    await child.emit(
        TurnEnded(
            turn_id=turn.turn_id,
            stop=StopReason.CANCELLED,
            status=STATUS[StopReason.CANCELLED],
            output="",
            failure_reason=_DIED,
        )
    )
