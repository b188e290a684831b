"""Plans of calls that wait for a decision: queue them, show them, decide, release them.

Source: S0 plan mode, S1 plans.
"""

from __future__ import annotations

from agent_ls.domain.approvals import Question
from agent_ls.domain.calls import ErrorKind, ToolCall, ToolResult
from agent_ls.domain.errors import ToolError, WorkspaceError
from agent_ls.domain.events import Answered, NudgeAdded, PlanProposed, PlanResolved, PromptQueued
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.phases import Phase
from agent_ls.domain.plans import ProposedCall
from agent_ls.loop.calls.arguments import plan_call
from agent_ls.loop.calls.plans import EACH, OPTIONS, as_question, chosen, digest, is_shown_wholly
from agent_ls.loop.calls.references import expressions_in
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.turn import Move, Turn

PLAN_MODE = "plan_mode"
_ORIGIN = "plan"


async def propose(planned: PlannedCall, reason: str, turn: Turn) -> ToolResult:
    """Queue the call as a step of the turn's proposed plan; return the result for the model."""
    queued = [one for plan in turn.state.proposals for one in plan.calls]
    call = planned.call
    for number, one in enumerate(queued, 1):
        if (one.call.tool, one.call.arguments_json) == (call.tool, call.arguments_json):
            text = f"This is step {number} of the plan already."
            return ToolResult(call_id=call.id, text=text, data={"queued": True})
    later = call.model_copy(update={"id": f"{call.id}-p", "provider_id": f"{call.provider_id}-p"})
    step = await _shown(planned, later, queued)
    if isinstance(step, ToolResult):
        return step
    await turn.emit(PlanProposed(plan_id=turn.state.turn_id, origin=PLAN_MODE, calls=(step,)))
    text = f"Queued as step {len(queued) + 1} of the proposed plan; nothing was done yet. {reason}"
    return ToolResult(call_id=call.id, text=text, data={"queued": True})


async def decide_on_plan(turn: Turn) -> Move | None:
    """Ask the user about the calls queued in plan mode, before the turn ends.

    Returns a move to ACT when any of them runs, else None.
    """
    plans = [plan for plan in turn.state.proposals if plan.origin == PLAN_MODE]
    steps = [one for plan in plans for one in plan.calls]
    if steps and turn.services.options.runs_plans:
        await _decide(turn, turn.state.turn_id, steps)
    return Move(Phase.ACT) if turn.state.due_calls else None


async def decide_on_graphs(turn: Turn) -> None:
    """Decide on proposed call graphs: eager ones run, lazy ones are shown to the user first."""
    for plan in turn.state.proposals:
        if plan.origin == PLAN_MODE:
            continue
        if plan.run == "eager":
            ids = tuple(one.call.id for one in plan.calls)
            await turn.emit(PlanResolved(plan_id=plan.plan_id, unasked=ids))
        elif wrong := _invalid(plan, turn):
            await turn.emit(PlanResolved(plan_id=plan.plan_id))
            await turn.emit(NudgeAdded(origin=_ORIGIN, text=wrong))
        else:
            await _decide(turn, plan.plan_id, [await _previewed(one, turn) for one in plan.calls])
            if not turn.state.due_calls and not turn.view.has_new_steer:
                text = "Nothing of the plan runs: the user did not allow it, or nobody was there."
                await turn.emit(NudgeAdded(origin=_ORIGIN, text=text))


async def take_over(turn: Turn) -> bool:
    """Make the approved calls of a plan the current calls; False when there are none."""
    calls = turn.state.due_calls
    if not calls:
        return False
    names = ", ".join(call.tool for call in calls)
    await turn.emit(NudgeAdded(origin=_ORIGIN, text=f"These steps of the plan run now: {names}."))
    await turn.emit(
        Answered(step_id=turn.state.step_id, message=AssistantMessage(calls=calls), origin="plan")
    )
    return True


async def _decide(turn: Turn, plan_id: str, steps: list[ProposedCall]) -> None:
    answer = await turn.services.approver.ask(
        Question(
            id=turn.services.ids.new("qst"),
            turn_id=turn.state.turn_id,
            origin=_ORIGIN,
            text=as_question(steps),
            options=OPTIONS,
            steps=tuple(steps),
        )
    )
    every = tuple(one.call.id for one in steps)
    if answer.is_answered and answer.text.strip().lower() == EACH:
        await turn.emit(PlanResolved(plan_id=plan_id, each=every))
        return
    approved = chosen(answer.text, steps) if answer.is_answered else ()
    chosen_steps = [one for one in steps if one.call.id in (approved or ())]
    seen = [one for one in chosen_steps if is_shown_wholly(one)]
    # Recorded before the decision, which settles the question even if the process dies in between.
    if approved is None:
        await turn.emit(PromptQueued(text=answer.text, kind="steer"))
    elif answer.is_answered and approved and len(approved) < len(steps):
        titles = "; ".join(one.title for one in steps if one.call.id not in approved)
        text = f"The user does not want these steps of the plan: {titles}."
        await turn.emit(NudgeAdded(origin=_ORIGIN, text=text))
    await turn.emit(
        PlanResolved(
            plan_id=plan_id,
            approved=tuple(one.call.id for one in seen),
            digests=tuple(one.digest for one in seen),
            each=tuple(one.call.id for one in chosen_steps if one not in seen),
        )
    )


def _invalid(plan: PlanProposed, turn: Turn) -> str:
    for number, one in enumerate(plan.calls, 1):
        if one.call.tool in turn.services.tools and expressions_in(one.call):
            continue
        outcome = plan_call(one.call, turn.services.tools, turn.services.specs)
        if isinstance(outcome, ToolResult):
            return f"The plan was not shown to the user: call {number} is wrong.\n{outcome.text}"
    return ""


async def _previewed(step: ProposedCall, turn: Turn) -> ProposedCall:
    planned = plan_call(step.call, turn.services.tools, ())
    if isinstance(planned, ToolResult) or expressions_in(step.call):
        return step
    found = await _shown(planned, step.call, [step])
    return step if isinstance(found, ToolResult) else found


async def _shown(
    planned: PlannedCall, call: ToolCall, queued: list[ProposedCall]
) -> ProposedCall | ToolResult:
    """Return the call as the user will see it, or an error result when it cannot work."""
    try:
        preview = await planned.tool.preview(planned.arguments)
    except (ToolError, WorkspaceError) as error:
        if not queued:
            kind = error.kind if isinstance(error, ToolError) else ErrorKind.RUNTIME
            return ToolResult(call_id=planned.call.id, text=str(error), error=kind)
        # An earlier step may make it possible.
        return ProposedCall(
            call=call, title=f"{call.tool} (cannot be shown yet)", payload=call.arguments_json
        )
    later = PlannedCall(call, planned.tool, planned.arguments, planned.goes_to)
    return ProposedCall(
        call=call, title=preview.title, payload=preview.payload, digest=digest(later, preview)
    )
