"""What a user's answer to an escalation means, before and after a restart."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from agent_ls.assembly import SystemClock
from agent_ls.domain import events as e
from agent_ls.domain.approvals import ApprovalAnswer, ApprovalRequest, Question, QuestionAnswer
from agent_ls.domain.ids import Ids
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.modes import Mode
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import Escalate
from agent_ls.loop.machine.escalating import escalate, follow_earlier_answers
from agent_ls.loop.services import Services
from agent_ls.loop.state.recorder import Recorder
from agent_ls.loop.turn import Move, Turn
from agent_ls.store.sql_store import open_store

VERDICT = Escalate("It fails again and again. Go on?", StopReason.LOOP_DETECTED)
CLOSES = Move(Phase.CLOSE, StopReason.LOOP_DETECTED, VERDICT.question)


@dataclasses.dataclass
class Answers:
    """A user who answers the next question with these words; None: is not there."""

    recorder: Recorder
    text: str | None
    asked: list[Question] = dataclasses.field(default_factory=list[Question])

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        raise AssertionError("nothing is to be approved")

    async def undo(self, paths: Collection[str]) -> None:
        raise NotImplementedError

    async def ask(self, question: Question) -> QuestionAnswer:
        self.asked.append(question)
        await self.recorder.emit(e.QuestionAsked(question=question))
        by = "nobody" if self.text is None else "test"
        answer = QuestionAnswer(text=self.text or "", by=by)
        await self.recorder.emit(e.QuestionResolved(question_id=question.id, answer=answer))
        return answer


async def check(
    folder: Path, text: str | None, *happened: e.Event, is_restart: bool = False
) -> tuple[Move | None, list[str], int]:
    """Escalate, or settle what was answered before; return the move, the words added, the asked."""
    store = open_store(folder / "store.db")
    clock = SystemClock()
    recorder = Recorder("ses_1", store, clock)
    try:
        await recorder.emit(
            e.SessionCreated(session_id="ses_1", roots=(), mode=Mode.ASK, model="m")
        )
        await recorder.emit(e.TurnStarted(turn_id="trn_1", prompt="Do it."))
        for event in happened:
            await recorder.emit(event)
        answers = Answers(recorder, text)
        parts: dict[str, Any] = {one.name: None for one in dataclasses.fields(Services)}
        parts |= {"clock": clock, "ids": Ids(clock.now_ms), "approver": answers, "specs": ()}
        services = Services(**parts)
        turn = Turn(services, recorder)
        before = recorder.state.seq
        move = await (
            follow_earlier_answers(turn) if is_restart else escalate(turn, "same_error", VERDICT)
        )
        state = recorder.state
        assert state.turn is not None
        added = [one.event for one in state.turn.events if one.seq > before]
        words = [one.text for one in added if isinstance(one, e.PromptQueued | e.NudgeAdded)]
        return move, words, len(answers.asked)
    finally:
        await store.close()


def question(text: str, *, origin: str = "same_error") -> tuple[e.Event, e.Event]:
    """Return a question of before the restart, with its answer."""
    asked = Question(
        id="qst_1", turn_id="trn_1", origin=origin, text=VERDICT.question, stop=VERDICT.stop
    )
    answer = QuestionAnswer(text=text, by="test")
    return e.QuestionAsked(question=asked), e.QuestionResolved(question_id="qst_1", answer=answer)


SAID = e.Answered(step_id="stp_1", message=AssistantMessage(text="I think it is done."))
ASKED = {
    "stop-ends-the-turn-with-closing-words": ("stop", (), (CLOSES, [], 1)),
    "also-when-it-is-typed": (" Stop!\n", (), (CLOSES, [], 1)),
    "but-more-words-steer": ("Stop using sed.", (), (None, ["Stop using sed."], 1)),
    "nobody-closes-it-with-what-was-found": (None, (), (CLOSES, [], 1)),
    "continue-goes-on": ("continue", (), (None, [], 1)),
    "words-steer": ("Use b.py.", (), (None, ["Use b.py."], 1)),
    "the-models-own-words-are-never-the-last": (
        "continue",
        (SAID,),
        (None, ["The user says: continue."], 1),
    ),
    "what-was-answered-is-not-asked-again": ("-", question("stop"), (CLOSES, [], 0)),
    "but-anothers-question-is": ("continue", question("stop", origin="other"), (None, [], 1)),
}


@pytest.mark.parametrize("text, happened, expected", ASKED.values(), ids=ASKED)
async def test_an_escalation_is_answered(text, happened, expected, tmp_path: Path) -> None:
    assert await check(tmp_path, text, *happened) == expected


STEER = e.PromptQueued(text="Use b.py.", kind="steer")
RESTARTED = {
    "stop-still-ends-the-turn": (question("stop"), (CLOSES, [], 0)),
    "continue-still-goes-on": (question("continue"), (None, [], 0)),
    "words-are-not-lost": (question("Use b.py."), (None, ["Use b.py."], 0)),
    "and-not-said-twice": ((*question("Use b.py."), STEER), (None, [], 0)),
}


@pytest.mark.parametrize("happened, expected", RESTARTED.values(), ids=RESTARTED)
async def test_an_answer_means_the_same_after_a_restart(happened, expected, tmp_path: Path) -> None:
    assert await check(tmp_path, None, *happened, is_restart=True) == expected
