"""Pending approvals and questions of a session, and their answers; the first answer wins.

Faces (code actions, the panel, messages) see them as events and answer here; they hold no state.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

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
from agent_ls.loop.calls.arguments import parse_object
from agent_ls.loop.ports.approval import ProposedText
from agent_ls.loop.state.recorder import Recorder

T = TypeVar("T")

_NOBODY = ApprovalAnswer(choice=ApprovalChoice.REJECT_ONCE, by="nobody")
_WAITS = "It still waits for your decision."
_NO_ANSWER = QuestionAnswer(text="", by="nobody")


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting(Generic[T]):
    """A pending approval or question."""

    answer: asyncio.Future[T]
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the answer is recorded, or no answer is possible any more."""
    proposed: ProposedText | None = None
    """Of an approval: all that the call would do to files, if that is the text of one file."""

    async def settle(self, answer: T) -> bool:
        """Give the answer and wait until it is recorded; False when there already is one."""
        if self.answer.done():
            return False
        self.answer.set_result(answer)
        await self.over.wait()
        return True


class Approvals:
    """The Approver of one session: asks one thing at a time, without a time limit by default."""

    def __init__(
        self,
        recorder: Recorder,
        *,
        is_attended: bool,
        undo: Callable[[Collection[str]], Awaitable[None]],
    ) -> None:
        """Unless ``is_attended``, ``nobody`` answers everything at once.

        ``undo`` is the review's.
        """
        self._recorder = recorder
        self._undo = undo
        self._is_attended = is_attended
        self._one_at_a_time = asyncio.Lock()
        self._approvals: dict[str, _Waiting[ApprovalAnswer]] = {}
        self._questions: dict[str, _Waiting[QuestionAnswer]] = {}

    async def approve(
        self, request: ApprovalRequest, proposed: ProposedText | None = None
    ) -> ApprovalAnswer:
        """Record the request, wait for the answer and record it."""
        given_before = self._given(request)
        async with self._one_at_a_time:
            # A grant given while this request waited in line covers the same call, not one that
            # only begins like it.
            if self._given(request) != given_before and _is_broad(request):
                return ApprovalAnswer(choice=ApprovalChoice.ALLOW_ONCE, by="rule")
            limit_s, asked = request.timeout_s, ApprovalRequested(request=request)
            with _held(self._approvals, request.id, proposed) as given:
                try:
                    async with asyncio.timeout(limit_s or None):
                        answer = await self._answered(given, asked, _NOBODY)
                except TimeoutError:
                    note = f"nobody gave it within {limit_s:g} s"
                    answer = _NOBODY.model_copy(update={"note": note})
                await self._recorder.emit(
                    ApprovalResolved(
                        approval_id=request.id,
                        answer=answer,
                        grant=request.granted(answer.choice),
                    )
                )
            return answer

    def proposed(self, approval_id: str) -> ProposedText | None:
        """Return all that a waiting call would do to files, if that is the text of one file."""
        waiting = self._approvals.get(approval_id)
        return waiting.proposed if waiting else None

    def _given(self, request: ApprovalRequest) -> int | None:
        return self._recorder.state.grants.get(request.preview.grant or "")

    async def ask(self, question: Question) -> QuestionAnswer:
        """Record the question, wait for the answer and record it."""
        async with self._one_at_a_time:
            with _held(self._questions, question.id) as given:
                answer = await self._answered(given, QuestionAsked(question=question), _NO_ANSWER)
                await self._recorder.emit(QuestionResolved(question_id=question.id, answer=answer))
            return answer

    async def undo(self, paths: Collection[str]) -> None:
        """Undo the open changes of these files in the review."""
        await self._undo(paths)

    async def _answered(self, given: asyncio.Future[T], asked: Event, nobody: T) -> T:
        """Record the question and wait for its answer; unattended, return ``nobody`` at once."""
        await self._recorder.emit(asked)
        return await given if self._is_attended else nobody

    async def resolve_approval(self, approval_id: str | None, answer: ApprovalAnswer) -> bool:
        """Settle an approval, by default the oldest; False when it is unknown or already settled.

        Returns once the answer is recorded, or is too late: the turn was stopped or time is over.
        Errors: ``AgentLsError`` for a choice that was not offered, or for missing, invalid or
        superfluous arguments; the approval stays pending.
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
        waiting = self._approvals.get(approval_id)
        return waiting is not None and await waiting.settle(answer)

    async def resolve_question(self, question_id: str | None, answer: QuestionAnswer) -> bool:
        """Settle a question, by default the oldest; False when there is none.

        Errors: ``AgentLsError`` for an empty answer; the question stays pending.
        """
        if not answer.text.strip() and answer.by != "nobody":
            raise AgentLsError("The answer is empty. The question still waits.")
        if question_id is None:
            question_id = next(iter(self._questions), "")
        waiting = self._questions.get(question_id)
        return waiting is not None and await waiting.settle(answer)


def _check_arguments(answer: ApprovalAnswer) -> None:
    """Refuse invalid changed arguments, and arguments for a choice other than amend."""
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


@contextmanager
def _held(
    waiting: dict[str, _Waiting[T]], name: str, proposed: ProposedText | None = None
) -> Generator[asyncio.Future[T]]:
    """Keep an approval or question pending under this name during the block.

    Enter before recording the event: a face may answer while it is still being stored.
    """
    answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    one = waiting[name] = _Waiting(answer, proposed=proposed)
    try:
        yield one.answer
    finally:
        waiting.pop(name, None)
        one.over.set()
