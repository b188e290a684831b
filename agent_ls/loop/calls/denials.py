"""Builds the result of a refused call, and asks the user after they refused again and again.

Only the user's refusals count: by an answer without words, a rule or a hook of theirs. A guard that
refuses by itself says why, and the checks on repetition and failures see to a model that goes on
all the same.
Source: S4, permission denial: an allowed alternative, a specialist, then a blocked plan item
and the user.
"""

from __future__ import annotations

from agent_ls.domain.approvals import STOP, Question, QuestionAnswer
from agent_ls.domain.calls import Effect, ErrorKind, ToolKind, ToolResult
from agent_ls.domain.events import (
    Answered,
    ApprovalRequested,
    ApprovalResolved,
    CallDecided,
    Event,
    PlanUpdated,
    QuestionAsked,
    QuestionResolved,
    ToolCallFinished,
    WrapUpRequested,
)
from agent_ls.domain.modes import Mode
from agent_ls.domain.plans import PlanStatus
from agent_ls.domain.sentences import sentence
from agent_ls.loop.evidence.fingerprints import calls_of
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.turn import Turn

_ORIGIN = "denials"
_SAID = "The user was asked how to go on and says:"
_TELLS = "tells"
"""In a result's data: the question whose answer its text has."""
_LOOKS = (ToolKind.READ, ToolKind.SEARCH)
_SERVES: dict[ToolKind, tuple[ToolKind, ...]] = {
    ToolKind.READ: _LOOKS,
    ToolKind.SEARCH: _LOOKS,
    ToolKind.EXECUTE: (*_LOOKS, ToolKind.EDIT),
    ToolKind.FETCH: _LOOKS,
    ToolKind.OTHER: _LOOKS,
}
"""Kinds of tools that may serve instead of a refused tool, by the refused tool's kind.

None for a refused edit: most are refused for their file, which no other tool may change then.
"""
_FREE = {
    Mode.PLAN: (Effect.READ,),
    Mode.ASK_ALL: (),
    Mode.ASK: (Effect.READ,),
    Mode.ACCEPT_EDITS: (Effect.READ, Effect.WRITE),
    Mode.AUTO: (Effect.READ, Effect.WRITE, Effect.EXECUTE),
}
"""Effects that run without approval, by mode."""


async def denied(
    planned: PlannedCall,
    reason: str,
    turn: Turn,
    *,
    whatever_tool: bool = False,
    is_counted: bool = True,
    for_user: str = "",
) -> ToolResult:
    """Return the result of a refused call; after ``max_denials`` in a row ask the user.

    ``whatever_tool``: no tool or sub-agent may do it, so none is suggested.
    ``is_counted``: the user refused it without a word, or a rule or a hook of theirs did.
    ``for_user``: the reason as the user reads it, if that differs.
    """
    text = sentence(reason)
    others = [] if whatever_tool else _alternatives(planned, turn)
    if others:
        text += f" Allowed tools that could serve: {', '.join(others)}."
    if (untold := _untold(turn)) is not None:
        return _result(
            planned, f"{text}\n{await _words_of(untold.answer, turn)}", untold.question_id
        )
    limit = turn.services.options.max_denials
    in_a_row = _denials(turn) + 1 if is_counted else 0
    if limit and in_a_row >= limit:
        words, question_id = await _put_to_the_user(planned, for_user or reason, turn)
        return _result(planned, f"{text}\n{words}", question_id)
    if in_a_row > 1 and not whatever_tool:
        for tool in _offered_names(turn):
            if turn.services.tools[tool].effect is not Effect.DELEGATE:
                continue
            text += f" A sub-agent ({tool}) may know another way; it has no more rights than you."
    return _result(planned, text)


def _result(planned: PlannedCall, text: str, question_id: str = "") -> ToolResult:
    """Return the result of a refused call; ``question_id``: its text has the answer to that."""
    return ToolResult(
        call_id=planned.call.id,
        text=text,
        error=ErrorKind.DENIED,
        data={_TELLS: question_id} if question_id else None,
    )


def _untold(turn: Turn) -> QuestionResolved | None:
    """Return the user's answer that the model has not seen yet, because the process died."""
    view = turn.view
    asked = view.each_since(QuestionAsked, Answered)
    mine = {one.question.id for one in asked if one.question.origin == _ORIGIN}
    for one in view.each_since(ToolCallFinished, Answered):
        match one.result.data:
            case dict() as data:
                mine.discard(str(data.get(_TELLS)))
            case _:
                pass
    resolved = view.each_since(QuestionResolved, Answered)
    said = [one for one in resolved if one.question_id in mine and one.answer.is_answered]
    return said[-1] if said else None


async def _words_of(answer: QuestionAnswer, turn: Turn) -> str:
    """Return the user's answer for the model; *stop* also ends the turn with closing words."""
    if answer.is_stop and not any(True for _ in turn.view.each(WrapUpRequested)):
        await turn.emit(WrapUpRequested(by="user"))
    return f"{_SAID} {answer.text}"


def _alternatives(planned: PlannedCall, turn: Turn) -> list[str]:
    """Return tools for the same purpose that need no approval and were not refused so far."""
    kinds = _SERVES.get(planned.tool.kind, ())
    calls = calls_of(turn.view.each(Answered))
    finished = [one.result for one in turn.view.each(ToolCallFinished)]
    denied_ids = {one.call_id for one in finished if one.error is ErrorKind.DENIED}
    refused = {call.tool for call in calls.values() if call.id in denied_ids}
    free = _FREE[turn.view.mode]
    return [
        tool.name
        for name in _offered_names(turn)
        if (tool := turn.services.tools[name]).kind in kinds
        and tool.effect in free
        and name not in refused | {planned.tool.name}
    ]


def _offered_names(turn: Turn) -> list[str]:
    """Return the names of our tools that the model was offered, in their order."""
    prefix = turn.session.prefix
    return [one for one in turn.services.tools if prefix is None or one in prefix.tools]


def _denials(turn: Turn) -> int:
    """Return how many answers in a row had a call denied by the user, before the current one.

    A successful change or command, words of the user to the model, or a question to them restart
    the count.
    """
    count, is_counted = 0, False
    asked: dict[str, list[str]] = {}
    refused: set[str] = set()
    for stored in turn.state.events:
        event = stored.event
        if _directs(event):
            # Further denials of this answer are covered by the same words.
            count, is_counted = 0, True
        match event:
            case Answered():
                is_counted = False
            case CallDecided(decision="deny", rule=rule, call_id=call_id) if rule:
                refused.add(call_id)
            case ApprovalRequested(request=request):
                asked[request.id] = [request.call_id, *(one.call_id for one in request.covers)]
            case ApprovalResolved(approval_id=name, answer=answer) if answer.is_rejection:
                refused.update(asked.get(name, ()))
            case ToolCallFinished(result=result, effect=effect):
                if result.error is ErrorKind.DENIED and result.call_id in refused:
                    count += not is_counted
                    is_counted = True
                elif effect is not Effect.READ and result.error is None:
                    count = 0
            case _:
                pass
    return count - (is_counted and count > 0)


def _directs(event: Event) -> bool:
    """Say whether the user told the model how to go on."""
    match event:
        case QuestionResolved():
            return True
        case ApprovalResolved(answer=answer):
            return answer.is_rejection and bool(answer.note)
        case _:
            return False


async def _put_to_the_user(planned: PlannedCall, reason: str, turn: Turn) -> tuple[str, str]:
    """Ask the user how to go on; return the words for the model and the question's id."""
    words: list[str] = []
    plan = turn.session.plan
    item = next((one for one in plan if one.status is PlanStatus.IN_PROGRESS), None)
    if item is not None:
        blocked = item.model_copy(update={"status": PlanStatus.BLOCKED})
        items = tuple(blocked if one is item else one for one in plan)
        await turn.emit(PlanUpdated(items=items))
        words.append(f"The plan item “{item.text}” is marked blocked.")
    about = f" at “{item.text}”" if item else ""
    question_id = turn.services.ids.new("qst")
    answer = await turn.services.approver.ask(
        Question(
            id=question_id,
            turn_id=turn.state.turn_id,
            origin=_ORIGIN,
            text=(
                f"The agent is refused again and again{about}; the last was {planned.tool.name}: "
                f"{reason} How should it go on?"
            ),
            options=("Go on without it", STOP),
        )
    )
    if answer.is_answered:
        words.append(await _words_of(answer, turn))
    else:
        words.append("Nobody is there to be asked. Go on without it, and say what is missing.")
    return " ".join(words), question_id
