"""ACT: which calls may run, and what came of them?

Each call gets exactly one result. ``CallScheduler`` schedules the calls; this module prepares them
and decides what follows. Source: S0 phase 5, S1 inner loop.
"""

from __future__ import annotations

from agent_ls.domain.calls import ToolResult
from agent_ls.domain.events import Answered, ToolCallFinished
from agent_ls.domain.phases import Phase
from agent_ls.loop.calls.arguments import error_result, plan_call
from agent_ls.loop.calls.deferred_calls import decide_on_graphs, take_over
from agent_ls.loop.calls.references import expressions_in
from agent_ls.loop.calls.scheduler import CallScheduler
from agent_ls.loop.extension_points import PlannedCall, ReferringCall
from agent_ls.loop.machine.final_output import after_calls
from agent_ls.loop.turn import Move, Turn


async def act(turn: Turn) -> Move:
    """Run the answer's open calls, then the approved calls of plans."""
    while True:
        await CallScheduler(turn, await _waiting(turn)).work()
        await decide_on_graphs(turn)
        if not await take_over(turn):
            return after_calls(turn) or Move(Phase.CHECK)


async def _waiting(turn: Turn) -> list[PlannedCall | ReferringCall]:
    """Return the calls that can run or wait; the others get a structural error result now."""
    limit = turn.services.options.max_calls_per_answer
    answer = next(turn.state.events.newest(Answered), None)
    # The limit is the model's: calls of an approved plan or of a command may be more.
    is_model = answer is None or answer.origin == "model"
    allowed = {one.call.id for one in turn.state.calls[: limit if is_model else None]}
    waiting: list[PlannedCall | ReferringCall] = []
    for state in turn.state.open_calls:
        call, tool = state.call, turn.services.tools.get(state.call.tool)
        outcome: PlannedCall | ReferringCall | ToolResult
        if call.id not in allowed:
            outcome = error_result(call, f"At most {limit} calls fit into one answer.")
        elif tool is not None and expressions_in(call):
            outcome = ReferringCall(call, tool)
        else:
            outcome = plan_call(call, turn.services.tools, turn.specs)
        if isinstance(outcome, ToolResult):
            await turn.emit(ToolCallFinished(result=outcome))
        else:
            waiting.append(outcome)
    return waiting
