"""Escalations: ask the user whether the turn goes on.

The question carries the stop reason, so that an answer means the same after a restart.
"""

from __future__ import annotations

from agent_ls.domain.approvals import STOP, Question, QuestionAnswer
from agent_ls.domain.events import Moved, NudgeAdded, PromptQueued, QuestionAsked, QuestionResolved
from agent_ls.domain.phases import Phase
from agent_ls.domain.verdicts import Escalate
from agent_ls.loop.turn import Move, Turn


async def follow_earlier_answers(turn: Turn) -> Move | None:
    """Act on answers given right before the process died; return a move if one ends the turn."""
    for question, answer in _answers(turn):
        if (move := await _follow(turn, question, answer)) is not None:
            return move
    return None


async def escalate(turn: Turn, origin: str, verdict: Escalate) -> Move | None:
    """Ask the user whether to go on; None when the turn goes on. Free text becomes a steer."""
    for question, answer in _answers(turn):
        if question.origin == origin:
            return await _follow(turn, question, answer)
    question = Question(
        id=turn.services.ids.new("qst"),
        turn_id=turn.state.turn_id,
        origin=origin,
        text=verdict.question,
        options=("continue", STOP),
        stop=verdict.stop,
    )
    return await _follow(turn, question, await turn.services.approver.ask(question))


async def _follow(turn: Turn, question: Question, answer: QuestionAnswer) -> Move | None:
    words = answer.text.strip()
    if not answer.is_answered or answer.is_stop:
        # The user needs to know what is done and what is open.
        return Move(Phase.CLOSE, question.stop, question.text)
    said = [one.text for one in turn.view.each_since(PromptQueued, Moved)]
    if words.lower() != "continue" and answer.text not in said:
        await turn.emit(PromptQueued(text=answer.text, kind="steer"))
    elif words.lower() == "continue" and turn.session.messages[-1].role == "assistant":
        # Providers reject a conversation that ends with an assistant message.
        await turn.emit(NudgeAdded(origin="escalation", text="The user says: continue."))
    return None


def _answers(turn: Turn) -> list[tuple[Question, QuestionAnswer]]:
    """Return the escalations that a user answered since the last move."""
    asked = {one.question.id: one.question for one in turn.view.each_since(QuestionAsked, Moved)}
    return [
        (asked[one.question_id], one.answer)
        for one in turn.view.each_since(QuestionResolved, Moved)
        if one.question_id in asked and asked[one.question_id].stop and one.answer.is_answered
    ]
