"""What the model reads when a call may not run, and how that climbs: other tools, then the person.

Source: seed 004, permission denial: an allowed alternative, a specialist, then a blocked plan
item and the person.
"""

from __future__ import annotations

from agent_ls.domain.approvals import Question
from agent_ls.domain.calls import Effect, ErrorKind, ToolKind, ToolResult
from agent_ls.domain.events import (
    Answered,
    PlanUpdated,
    QuestionAsked,
    QuestionResolved,
    ToolCallFinished,
)
from agent_ls.domain.modes import Mode
from agent_ls.domain.plans import PlanStatus
from agent_ls.domain.sentences import sentence
from agent_ls.loop.evidence.fingerprints import calls_of
from agent_ls.loop.sockets import PlannedCall
from agent_ls.loop.turn import Turn

_ORIGIN = "denials"
_SAID = "The user was asked how to go on and says:"
_LOOKS = (ToolKind.READ, ToolKind.SEARCH)
_SERVES: dict[ToolKind, tuple[ToolKind, ...]] = {
    ToolKind.READ: _LOOKS,
    ToolKind.SEARCH: _LOOKS,
    ToolKind.EDIT: (ToolKind.EDIT,),
    ToolKind.EXECUTE: (*_LOOKS, ToolKind.EDIT),
    ToolKind.FETCH: _LOOKS,
    ToolKind.OTHER: _LOOKS,
}
"""What kinds of tools may reach the same end by another way."""
_FREE = {
    Mode.PLAN: (Effect.READ,),
    Mode.ASK_ALL: (),
    Mode.ASK: (Effect.READ,),
    Mode.ACCEPT_EDITS: (Effect.READ, Effect.WRITE),
    Mode.AUTO: (Effect.READ, Effect.WRITE, Effect.EXECUTE),
}
"""What runs without asking."""


async def denied(
    planned: PlannedCall, reason: str, turn: Turn, *, whatever_tool: bool = False
) -> ToolResult:
    """Return the result of a call that may not run; too many of them are put to the person.

    Shape: other tools and agents are named unless they may not do it either.
    """
    text = sentence(reason)
    others = [] if whatever_tool else _alternatives(planned, turn)
    if others:
        text += f" Allowed tools that could serve: {', '.join(others)}."
    if untold := _untold(turn):
        return ToolResult(
            call_id=planned.call.id, text=f"{text}\n{_SAID} {untold}", error=ErrorKind.DENIED
        )
    limit = turn.kit.options.max_denials
    in_a_row = _denials(turn) + 1
    if limit and in_a_row >= limit:
        text += "\n" + await _put_to_the_person(planned, reason, turn)
    elif in_a_row > 1 and not whatever_tool:
        agents = [one.name for one in turn.kit.tools.values() if one.effect is Effect.DELEGATE]
        for tool in agents:
            text += f" A sub-agent ({tool}) may know another way; it has no more rights than you."
    return ToolResult(call_id=planned.call.id, text=text, error=ErrorKind.DENIED)


def _untold(turn: Turn) -> str:
    """Return what the person answered just before the process died, which nobody was told yet."""
    view = turn.view
    asked = view.each_since(QuestionAsked, Answered)
    mine = {one.question.id for one in asked if one.question.origin == _ORIGIN}
    said = [
        one.answer.text
        for one in view.each_since(QuestionResolved, Answered)
        if one.question_id in mine and one.answer.is_answered
    ]
    told = view.each_since(ToolCallFinished, Answered)
    return "" if any(_SAID in one.result.text for one in told) else "".join(said[-1:])


def _alternatives(planned: PlannedCall, turn: Turn) -> list[str]:
    """Return the tools for the same end that need no permission and were not refused so far."""
    kinds = _SERVES.get(planned.tool.kind, ())
    calls = calls_of(turn.view.each(Answered))
    finished = [one.result for one in turn.view.each(ToolCallFinished)]
    denied_ids = {one.call_id for one in finished if one.error is ErrorKind.DENIED}
    refused = {call.tool for call in calls.values() if call.id in denied_ids}
    free = _FREE[turn.session.mode]
    prefix = turn.session.prefix
    offered = prefix.tools if prefix is not None else tuple(turn.kit.tools)
    return [
        tool.name
        for tool in turn.kit.tools.values()
        if tool.kind in kinds
        and tool.effect in free
        and tool.name in offered
        and tool.name not in refused | {planned.tool.name}
    ]


def _denials(turn: Turn) -> int:
    """Return how many earlier answers in a row had a call denied.

    In a row: no change or command succeeded between them, and the person was not asked.
    """
    count, is_counted = 0, False
    for stored in turn.state.events:
        match stored.event:
            case Answered():
                is_counted = False
            case ToolCallFinished(result=result, effect=effect):
                if result.error is ErrorKind.DENIED:
                    count += not is_counted
                    is_counted = True
                elif effect is not Effect.READ and result.error is None:
                    count = 0
            case QuestionResolved():
                # What else this answer was denied has been asked about.
                count, is_counted = 0, True
            case _:
                pass
    return count - (is_counted and count > 0)


async def _put_to_the_person(planned: PlannedCall, reason: str, turn: Turn) -> str:
    """Mark the plan item blocked, ask how to go on, and return both in words for the model."""
    words: list[str] = []
    plan = turn.session.plan
    item = next((one for one in plan if one.status is PlanStatus.IN_PROGRESS), None)
    if item is not None:
        blocked = item.model_copy(update={"status": PlanStatus.BLOCKED})
        items = tuple(blocked if one is item else one for one in plan)
        await turn.emit(PlanUpdated(items=items))
        words.append(f"The plan item “{item.text}” is marked blocked.")
    about = f" at “{item.text}”" if item else ""
    answer = await turn.kit.approver.ask(
        Question(
            id=turn.kit.ids.new("qst"),
            turn_id=turn.state.turn_id,
            origin=_ORIGIN,
            text=(
                f"The agent is refused again and again{about}; the last was {planned.tool.name}: "
                f"{reason} How should it go on?"
            ),
            options=("Go on without it",),
        )
    )
    if answer.is_answered:
        words.append(f"{_SAID} {answer.text}")
    else:
        words.append("Nobody is there to be asked. Go on without it, and say what is missing.")
    return " ".join(words)
