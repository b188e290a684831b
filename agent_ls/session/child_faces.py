"""How the user sees a sub-agent: its approvals come through the parent, its work as output."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager

from agent_ls.domain import events as e
from agent_ls.domain.approvals import ApprovalAnswer, ApprovalRequest, Question, QuestionAnswer
from agent_ls.loop.ports.approval import Approver, ProposedText
from agent_ls.loop.ports.clock import Clock
from agent_ls.loop.state.recorder import Recorder

_MAX_CHARS = 160


class ChildApprover:
    """Asks through the parent's approver, so that the user is asked one thing at a time."""

    def __init__(
        self, parent: Approver, recorder: Recorder, kind: str, turn_id: str, clock: Clock
    ) -> None:
        """The approvals belong to ``turn_id``, the parent's turn."""
        self._parent = parent
        self._recorder = recorder
        self._kind = kind
        self._turn_id = turn_id
        self._clock = clock
        self._waited_s = 0.0
        self._waiting: dict[object, float] = {}

    @property
    def waited_s(self) -> float:
        """Return how long the sub-agent has waited for the user so far, in seconds."""
        now_s = self._clock.monotonic_s()
        return self._waited_s + sum(now_s - began_s for began_s in self._waiting.values())

    async def approve(
        self, request: ApprovalRequest, proposed: ProposedText | None = None
    ) -> ApprovalAnswer:
        """Ask through the parent; the reason names the sub-agent, and both journals record it."""
        reason = f"Sub-agent {self._kind}: {request.reason}"
        told = request.model_copy(update={"reason": reason, "turn_id": self._turn_id})
        await self._recorder.emit(e.ApprovalRequested(request=request))
        with self._measured():
            answer = await self._parent.approve(told, proposed)
        await self._recorder.emit(
            e.ApprovalResolved(
                approval_id=request.id,
                answer=answer,
                grant=request.granted(answer.choice),
            )
        )
        return answer

    async def ask(self, question: Question) -> QuestionAnswer:
        """Ask through the parent; the text names the sub-agent."""
        text = f"Sub-agent {self._kind}: {question.text}"
        told = question.model_copy(update={"text": text, "turn_id": self._turn_id})
        with self._measured():
            return await self._parent.ask(told)

    async def undo(self, paths: Collection[str]) -> None:
        """Undo in the parent's review, which holds this sub-agent's changes too."""
        await self._parent.undo(paths)

    @contextmanager
    def _measured(self) -> Generator[None]:
        key = object()
        self._waiting[key] = self._clock.monotonic_s()
        try:
            yield
        finally:
            self._waited_s += self._clock.monotonic_s() - self._waiting.pop(key)


class ChildLines:
    """Shows a sub-agent's main events, one line each."""

    def __init__(self, kind: str, show: Callable[[str], None]) -> None:
        self._kind = kind
        self._show = show

    def on_event(self, stored: e.StoredEvent) -> None:
        """Show the event's line, if it has one."""
        if line := _line(stored.event):
            self._show(f"[{self._kind}] {line[:_MAX_CHARS]}\n")

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        """Ignore streamed pieces: several sub-agents may stream at once."""


def _line(event: e.Event) -> str:
    match event:
        case e.ToolCallStarted(tool=tool, paths=paths):
            return f"{tool} {' '.join(paths)}".rstrip()
        case e.ToolCallFinished(result=result) if result.outcome != "ok":
            return f"{result.outcome}: {result.text.strip().partition(chr(10))[0]}"
        case e.EditApplied(path=path, status=status):
            return f"{path} {status} +{event.added_lines} -{event.removed_lines}"
        case e.WrapUpRequested():
            return "asked to finish"
        case e.TurnEnded(stop=stop):
            return f"ended: {stop}"
        case _:
            return ""
