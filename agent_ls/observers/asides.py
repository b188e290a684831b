"""What others do for a turn: a person who is asked, another model, a sub-agent."""

from __future__ import annotations

from agent_ls.domain import events as ev
from agent_ls.observers.trace import SideTrace, WaitTrace


class Asides:
    """Knows what has begun, to settle it when it ends."""

    def __init__(self) -> None:
        """Begin with nothing open."""
        self._waits: dict[str, WaitTrace] = {}
        self._children: dict[str, SideTrace] = {}

    def begun(self, event: ev.Event, at_ms: int) -> WaitTrace | SideTrace | None:
        """Return what an event begins, if it does."""
        match event:
            case ev.ApprovalRequested(request=request):
                wait = WaitTrace(at_ms, id=request.id, title=request.preview.title)
                wait.reason, wait.payload = request.reason, request.preview.payload
                wait.asked_by, wait.call_id = request.tool, request.call_id
                return self._waits.setdefault(request.id, wait)
            case ev.QuestionAsked(question=question):
                wait = WaitTrace(at_ms, id=question.id, kind="question", title=question.text)
                wait.asked_by = question.origin
                return self._waits.setdefault(question.id, wait)
            case ev.AdviceGiven():
                side = SideTrace(at_ms - event.duration_ms, at_ms, origin=event.origin)
                side.model, side.text, side.usage = event.model, event.text, event.usage
                side.failure = f"{event.failure}: {event.message}" if event.failure else ""
                return side
            case ev.ChildStarted():
                side = SideTrace(at_ms, kind="child", origin=event.kind, task=event.task)
                side.call_id, side.session_id = event.call_id, event.child_id
                return self._children.setdefault(event.child_id, side)
            case _:
                return None

    def settled(self, event: ev.Event, at_ms: int) -> bool:
        """Take in an ending; says whether the event was one."""
        match event:
            case ev.ApprovalResolved(answer=answer):
                if (wait := self._waits.get(event.approval_id)) is not None:
                    wait.ended_ms, wait.answer = at_ms, answer.choice.value
                    wait.answered_by, wait.note = answer.by, answer.note
                    wait.grant = event.grant or ""
            case ev.QuestionResolved(answer=answer):
                if (wait := self._waits.get(event.question_id)) is not None:
                    wait.ended_ms, wait.answer = at_ms, answer.text
                    wait.answered_by = answer.by
            case ev.ChildEnded():
                if (side := self._children.get(event.child_id)) is not None:
                    side.ended_ms, side.text = at_ms, str(event.report)
                    side.steps, side.usage = event.steps, event.usage
                    side.failure = f"{event.stop}: {event.why}" if event.why else ""
            case _:
                return False
        return True
