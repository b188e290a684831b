"""Questions to the person: pending ones, their answers, and the one rule that the first wins.

Faces (code actions, the panel, messages) see them as events and answer here; they hold nothing.
"""

from __future__ import annotations

import asyncio
from typing import TypeVar

from agent_ls.domain.approvals import (
    ApprovalAnswer,
    ApprovalChoice,
    ApprovalRequest,
    Question,
    QuestionAnswer,
)
from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.events import (
    ApprovalRequested,
    ApprovalResolved,
    Event,
    QuestionAsked,
    QuestionResolved,
)
from agent_ls.loop.arguments import parse_object
from agent_ls.loop.recorder import Recorder

T = TypeVar("T")

_NOBODY = ApprovalAnswer(choice=ApprovalChoice.REJECT_ONCE, by="nobody")
_GRANTS = (ApprovalChoice.ALLOW_SESSION, ApprovalChoice.ALLOW_ALWAYS)
_WAITS = "It still waits for your decision."
_NO_ANSWER = QuestionAnswer(text="", by="nobody")


class Approvals:
    """The Approver of one session: asks one thing at a time and waits for as long as it takes."""

    def __init__(self, recorder: Recorder, *, is_attended: bool) -> None:
        """Without a person (``is_attended`` false) everything is answered by ``nobody`` at once."""
        self._recorder = recorder
        self._is_attended = is_attended
        self._one_at_a_time = asyncio.Lock()
        self._approvals: dict[str, asyncio.Future[ApprovalAnswer]] = {}
        self._questions: dict[str, asyncio.Future[QuestionAnswer]] = {}

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Record the request, wait for the answer, record it too."""
        rule = request.preview.grant or ""
        given_before = self._recorder.state.grants.get(rule)
        async with self._one_at_a_time:
            # A grant given while this one waited in line may cover it.
            if self._recorder.state.grants.get(rule) != given_before and _is_broad(request):
                return ApprovalAnswer(choice=ApprovalChoice.ALLOW_ONCE, by="rule")
            limit_s = request.timeout_s
            try:
                async with asyncio.timeout(limit_s or None):
                    answer = await self._answered(
                        self._approvals, request.id, ApprovalRequested(request=request), _NOBODY
                    )
            except TimeoutError:
                answer = _NOBODY.model_copy(update={"note": f"nobody gave it within {limit_s:g} s"})
            is_grant = answer.choice in _GRANTS and _is_broad(request)
            await self._recorder.emit(
                ApprovalResolved(
                    approval_id=request.id,
                    answer=answer,
                    grant=request.preview.grant if is_grant else None,
                )
            )
            return answer

    async def ask(self, question: Question) -> QuestionAnswer:
        """Record the question, wait for the answer, record it too."""
        async with self._one_at_a_time:
            answer = await self._answered(
                self._questions, question.id, QuestionAsked(question=question), _NO_ANSWER
            )
            await self._recorder.emit(QuestionResolved(question_id=question.id, answer=answer))
            return answer

    async def _answered(
        self, waiting: dict[str, asyncio.Future[T]], name: str, asked: Event, nobody: T
    ) -> T:
        """Record the question and wait for its answer; ``nobody`` at once without a person."""
        # Before the event: a face may answer while the event is still being stored.
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        waiting[name] = future
        try:
            await self._recorder.emit(asked)
            return await future if self._is_attended else nobody
        finally:
            waiting.pop(name, None)

    def resolve_approval(self, approval_id: str | None, answer: ApprovalAnswer) -> bool:
        """Settle one approval, the oldest when no id is given.

        False when it is unknown or already settled.
        Errors: ``AgentLsError`` for a choice that was not offered, and one whose arguments are
        missing, are none or belong to another choice; it waits on.
        """
        _check_arguments(answer)
        if approval_id is None:
            approval_id = next(iter(self._approvals), "")
        request = self._recorder.state.approvals.get(approval_id)
        if request is None:
            return False
        if answer.choice not in request.choices:
            offered = ", ".join(request.choices)
            raise AgentLsError(f"{answer.choice} is not offered here, only {offered}. {_WAITS}")
        return _settle(self._approvals.get(approval_id), answer)

    def resolve_question(self, question_id: str | None, answer: QuestionAnswer) -> bool:
        """Settle one question, the oldest when no id is given; False when there is none.

        Errors: ``AgentLsError`` for an answer without words; it waits on.
        """
        if not answer.text.strip() and answer.by != "nobody":
            raise AgentLsError("The answer is empty. The question still waits.")
        if question_id is None:
            question_id = next(iter(self._questions), "")
        return _settle(self._questions.get(question_id), answer)


def _check_arguments(answer: ApprovalAnswer) -> None:
    """Refuse changed arguments that are not understood, and a change that does not come to one."""
    if answer.choice is not ApprovalChoice.AMEND:
        if answer.arguments_json is not None or answer.tool is not None:
            raise AgentLsError(f"Only amend changes the tool or its arguments. {_WAITS}")
    elif answer.arguments_json is None:
        raise AgentLsError(f"To amend a call give its changed arguments. {_WAITS}")
    else:
        try:
            parse_object(answer.arguments_json)
        except ValueError as error:
            raise AgentLsError(
                f"The changed arguments are not one JSON object: {error}. {_WAITS}"
            ) from None


def _is_broad(request: ApprovalRequest) -> bool:
    return ApprovalChoice.ALLOW_SESSION in request.choices


def _settle(future: asyncio.Future[T] | None, answer: T) -> bool:
    if future is None or future.done():
        return False
    future.set_result(answer)
    return True
