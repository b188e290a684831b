"""Translates stored events to the updates that opted-in clients see.

Owns only the mapping: no sending, no time, no editor state. Snapshots and the live stream use the
same ``Translation``, so they agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, assert_never

from agent_ls.domain import events as e
from agent_ls.domain.approvals import ApprovalRequest, Question
from agent_ls.domain.attachments import place_name
from agent_ls.domain.calls import ToolCall, ToolKind, ToolResult
from agent_ls.domain.findings import Finding
from agent_ls.domain.phases import Phase
from agent_ls.domain.pictures import Picture
from agent_ls.domain.stops import STATUS, StopReason, TurnStatus
from agent_ls.domain.usage import Usage
from agent_ls.loop.calls.plans import is_shown_wholly
from agent_ls.loop.state.state import SessionState
from agent_ls.loop.state.undelivered import Undelivered
from agent_ls.lsp import wire
from agent_ls.lsp.model_trouble import ModelTrouble
from agent_ls.lsp.notices import NO_COMPACTION, notice, of_outside, of_policies, of_requests
from agent_ls.session.titles import call_title, choice_name, parsed

_MAX_ADVICE_CHARS = 400
"""A side model's longer texts are not shown."""

ENDS_PIECES = (e.RequestPrepared, e.RecoveryChosen, e.Answered, e.TurnEnded)
"""After these events the streamed pieces before them count no more."""

Updates = list[wire.Update]


class Translation:
    """Translates one session's events, fed in order, to updates."""

    def __init__(
        self, tool_kinds: Mapping[str, ToolKind], uri_of: Callable[[str], str | None]
    ) -> None:
        """``tool_kinds`` by tool name; ``uri_of`` maps the agent's paths to URIs."""
        self._tool_kinds = tool_kinds
        self._uri_of = uri_of
        self._undelivered = Undelivered()
        self._is_compacting = False
        self._calls: dict[str, ToolCall] = {}
        self._total = Usage()
        self._last = Usage()
        """Usage of the last attempt; it shows the size of the conversation."""
        self._step = 0
        self._cut_step = ""
        """The step whose kept text the next answer goes on with, though another step brings it."""
        self._trouble = ModelTrouble()
        self._tasks: dict[str, str] = {}
        """The tasks of sub-agents, by their session."""
        self._window_tokens = 0

    def begin(self, state: SessionState) -> None:
        """Start from this state; clients have what came before from a snapshot."""
        self._trouble = ModelTrouble(state.model)
        for stored in state.turn.events if state.turn else ():
            self.feed(stored.event)
        self._undelivered.begin(state)
        self._is_compacting = state.is_compaction_asked
        self._total = state.usage

    def feed(self, event: e.Event) -> Updates:
        """Return the updates for the next event, possibly none."""
        taken_back = self._trouble.feed(event)
        updates = self._updates(event)
        if isinstance(event, (e.CompactionRequested, e.CompactionSettled, e.CancelRequested)):
            self._is_compacting = isinstance(event, e.CompactionRequested)
        return [*taken_back, *updates]

    def _updates(self, event: e.Event) -> Updates:
        for part in (
            self._of_session,
            self._of_turn,
            self._of_model,
            self._of_user,
            self._of_call,
            self._of_review,
            of_policies,
            of_outside,
            of_requests,
        ):
            if (updates := part(event)) is not None:
                return updates
        return []

    def of_ephemeral(self, piece: e.Ephemeral) -> wire.Update:
        """Return the update for a piece that is not stored."""
        if isinstance(piece, e.CallOutputStreamed):
            return wire.ToolCallOutput(tool_call_id=piece.call_id, content=_text(piece.text))
        step_id = self._cut_step or piece.step_id
        match piece:
            case e.TextStreamed(text=text):
                return wire.AgentMessageChunk(step_id=step_id, content=_text(text))
            case e.ReasoningStreamed(text=text):
                return wire.AgentThoughtChunk(step_id=step_id, content=_text(text))
            case e.AttemptDiscarded():
                return wire.ChunksDiscarded(step_id=step_id)
            case _:
                assert_never(piece)

    def _of_session(self, event: e.Event) -> Updates | None:
        match event:
            case e.SessionCreated():
                return [wire.SessionCreatedUpdate(mode=event.mode, model=event.model)]
            case e.SessionResumed():
                calls = list(event.interrupted_calls)
                return [wire.SessionResumedUpdate(interrupted_tool_calls=calls)]
            case e.ModeChanged():
                return [wire.ModeUpdate(current_mode_id=event.mode)]
            case e.ModelChanged():
                return [wire.ModelUpdate(model=event.model)]
            case e.EffortChanged():
                return [wire.EffortUpdate(effort=event.effort)]
            case e.PolicySilenced():
                return [wire.SilencedUpdate(origin=event.origin)]
            case e.PromptQueued():
                self._undelivered.feed(event)
                return [
                    wire.QueuedUpdate(
                        content=_text(event.text),
                        images=_images(event.images),
                        attachments=self._attached(event),
                        when_busy=event.kind,
                        prompt_id=event.id,
                    )
                ]
            case e.QueuedPromptChanged():
                self._undelivered.feed(event)
                changed = wire.QueuedPromptChange(
                    prompt_id=event.prompt_id,
                    text=event.text,
                    when_busy=event.kind,
                    before=event.before,
                    is_dropped=event.is_dropped,
                )
                return [changed]
            case _:
                return None

    def _of_turn(self, event: e.Event) -> Updates | None:
        match event:
            case e.TurnStarted():
                return self._begin_turn(event)
            case e.CancelRequested():
                returned = [one.as_typed() for one in self._undelivered.feed(event)]
                cancel = wire.CancelUpdate(by=event.by, returned=returned)
                # A stop ends a compaction, too: the notice of it is taken back.
                return [*(NO_COMPACTION if self._is_compacting else []), cancel]
            case e.TurnEnded():
                failure, end = self._trouble.end(event)
                return [
                    wire.TurnEndedUpdate(
                        turn_id=event.turn_id,
                        stop_reason=event.stop,
                        status=event.status,
                        output=event.output,
                        failure_reason=event.failure_reason,
                        title=end.title,
                        failure=failure,
                        actions=list(end.actions),
                        open_tasks=list(event.open_tasks),
                    )
                ]
            case e.Moved():
                # The turn's end tells why it is done.
                detail = "" if event.to is Phase.DONE else event.why
                return [wire.PhaseUpdate(phase=event.to, step=self._step, detail=detail)]
            case e.RequestPrepared():
                self._step = event.number
                self._window_tokens = event.window_tokens
                steers = self._undelivered.feed(event)
                return [self._said(one.text, one, "steer") for one in steers]
            case e.Compacted():
                shorter = wire.CompactedUpdate(
                    origin=event.origin,
                    why=event.why,
                    before_tokens=event.before_tokens,
                    after_tokens=event.after_tokens,
                )
                self._last = Usage(input_tokens=event.after_tokens)
                return [shorter, *([self._used()] if self._total != Usage() else [])]
            case _:
                return None

    def _begin_turn(self, event: e.TurnStarted) -> Updates:
        self._undelivered.feed(event)
        self._step, self._cut_step = 0, ""
        anchor = event.anchor
        place = self._place(anchor.path, anchor.line) if anchor else None
        return [
            wire.TurnStartedUpdate(turn_id=event.turn_id, anchor=place),
            self._said(event.prompt, event, "user"),
        ]

    def _said(
        self, words: str, said: e.TurnStarted | e.PromptQueued, origin: str
    ) -> wire.UserMessageUpdate:
        return wire.UserMessageUpdate(
            content=_text(words),
            images=_images(said.images),
            attachments=self._attached(said),
            origin=origin,
        )

    def _attached(self, said: e.TurnStarted | e.PromptQueued) -> list[wire.AttachmentInfo] | None:
        """Return what came with a prompt, the editor's selection first; null without any."""
        found = [
            wire.AttachmentInfo(
                kind=one.kind,
                name=one.name,
                location=self._place(one.path, one.first_line) if one.path else None,
                last_line=one.last_line,
                note=one.note,
            )
            for one in said.attachments
        ]
        focus = said.focus
        if focus is not None and focus.path and focus.last_line is not None:
            selection = wire.AttachmentInfo(
                kind="selection",
                name=place_name(focus.path, focus.first_line, focus.last_line),
                location=self._place(focus.path, focus.first_line),
                last_line=focus.last_line,
                note="",
            )
            found.insert(0, selection)
        return found or None

    def _of_model(self, event: e.Event) -> Updates | None:
        """Translate events of the models; a sub-agent's text is the output of its call."""
        match event:
            case e.AttemptFinished():
                updates = self._usage(event.usage, event.usage)
                return [*self._trouble.tell(event.message or event.failure or ""), *updates]
            case e.AdviceGiven():
                return self._of_advice(event)
            case e.RecoveryChosen():
                return self._of_recovery(event)
            case e.Answered():
                return self._of_answer(event)
            case e.ChildStarted():
                self._tasks[event.child_id] = event.task
                return [_sub_agent(event, event.task, "in_progress")]
            case e.ChildEnded():
                is_failed = STATUS[event.stop] in (TurnStatus.FAILED, TurnStatus.CANCELLED)
                ended = _sub_agent(
                    event,
                    self._tasks.get(event.child_id, ""),
                    "failed" if is_failed else "completed",
                    stop_reason=event.stop,
                    reason=event.why,
                    steps=event.steps,
                )
                return [ended, *self._usage(event.usage, self._last)]
            case _:
                return None

    def _of_advice(self, event: e.AdviceGiven) -> Updates:
        updates: Updates = []
        if event.failure is not None:
            words = event.message or event.failure
            updates.append(notice("warning", "model", words, self._trouble.id_of(event.origin)))
        if 0 < len(event.text) <= _MAX_ADVICE_CHARS:
            # A judgement is short and of interest to the user; a summary is not.
            updates.append(notice("info", event.origin, event.text))
        return [*updates, *self._usage(event.usage, self._last)]

    def _of_recovery(self, event: e.RecoveryChosen) -> Updates:
        match event.action:
            case "continue":
                self._cut_step = self._cut_step or event.step_id
                kept = wire.AgentMessage(
                    step_id=self._cut_step,
                    content=_text(event.partial),
                    thought="",
                    is_partial=True,
                )
                return [kept]
            case "retry" | "switch_model":
                return self._trouble.tell(event.text, event.action)
            case "reask" | "compact":
                words = f"{event.action}: {event.text}" if event.text else event.action
                return self._trouble.tell(words, event.action)
            case "fail":
                # The turn's end says why, so only clear the notice.
                return self._trouble.take_back()
            case _:
                words = f"{event.action}: {event.text}" if event.text else event.action
                return [notice("warning", event.origin, words)]

    def _usage(self, used: Usage, last: Usage) -> Updates:
        """Add usage to the total; ``last`` is the usage of the last step."""
        if used == Usage():
            return []
        self._total += used
        self._last = last
        return [self._used()]

    def _used(self) -> wire.UsageUpdate:
        total = self._total
        return wire.UsageUpdate(
            used=self._last.total_tokens,
            size=self._window_tokens or None,
            cost=wire.Cost(amount=total.cost_usd),
            total=wire.TokenUsage(
                input_tokens=total.input_tokens,
                output_tokens=total.output_tokens,
                cache_read_tokens=total.cache_read_tokens,
                cache_write_tokens=total.cache_write_tokens,
                reasoning_tokens=total.reasoning_tokens,
            ),
        )

    def _of_answer(self, event: e.Answered) -> Updates:
        message = event.message
        self._calls.update((call.id, call) for call in message.calls)
        step_id, self._cut_step = self._cut_step or event.step_id, ""
        answer = wire.AgentMessage(
            step_id=step_id,
            content=_text(message.text),
            thought=message.reasoning,
            is_partial=event.is_partial,
        )
        calls = [
            wire.ToolCallUpdate(
                tool_call_id=call.id,
                step_id=event.step_id,
                tool=call.tool,
                title=call_title(call.tool, call.arguments_json),
                kind=self._kind_of(call.tool),
                raw_input=parsed(call.arguments_json),
            )
            for call in message.calls
        ]
        return [answer, *calls]

    def _of_user(self, event: e.Event) -> Updates | None:
        match event:
            case e.ApprovalRequested():
                return [self._permission(event.request)]
            case e.ApprovalResolved():
                return [
                    wire.PermissionResolved(
                        approval_id=event.approval_id,
                        outcome=event.answer.choice,
                        by=event.answer.by,
                        note=event.answer.note,
                    )
                ]
            case e.QuestionAsked():
                return [self._question(event.question)]
            case e.QuestionResolved():
                return [
                    wire.QuestionResolved(
                        question_id=event.question_id, text=event.answer.text, by=event.answer.by
                    )
                ]
            case e.NudgeAdded():
                return [wire.UserMessageUpdate(content=_text(event.text), origin=event.origin)]
            case _:
                return None

    def _question(self, asked: Question) -> wire.QuestionAsked:
        return wire.QuestionAsked(
            question_id=asked.id,
            origin=asked.origin,
            text=asked.text,
            options=list(asked.options),
            steps=[
                wire.PlanStep(
                    tool_call_id=one.call.id,
                    title=one.title,
                    kind=self._kind_of(one.call.tool),
                    payload=one.payload,
                    is_asked_again=not is_shown_wholly(one),
                )
                for one in asked.steps
            ],
        )

    def _permission(self, request: ApprovalRequest) -> wire.PermissionRequested:
        preview = request.preview
        call = self._calls.get(request.call_id)
        return wire.PermissionRequested(
            approval_id=request.id,
            tool_call_id=request.call_id,
            tool=request.tool,
            title=preview.title,
            kind=preview.kind,
            reason=request.reason,
            payload=preview.payload,
            location=self._place(preview.path, preview.line) if preview.path else None,
            grant=preview.grant,
            options=[
                wire.PermissionOption(option_id=one, name=choice_name(one, preview))
                for one in request.choices
            ],
            raw_input=parsed(call.arguments_json) if call else None,
        )

    def _of_call(self, event: e.Event) -> Updates | None:
        match event:
            case e.CallDecided():
                return [
                    wire.ToolCallDecision(
                        tool_call_id=event.call_id,
                        decision=event.decision,
                        origin=event.origin,
                        reason=event.reason,
                    )
                ]
            case e.ToolCallStarted():
                return [
                    wire.ToolCallProgress(
                        tool_call_id=event.call_id,
                        status="in_progress",
                        locations=[self._place(path, None) for path in event.paths],
                    )
                ]
            case e.EditApplied():
                return [
                    wire.FileEdited(
                        tool_call_id=event.call_id,
                        location=self._place(event.path, None),
                        status=event.status,
                        reason=event.reason,
                        added_lines=event.added_lines,
                        removed_lines=event.removed_lines,
                    )
                ]
            case e.ToolCallFinished():
                return [_finished(event.result)]
            case e.FindingsReported():
                return [
                    wire.FindingsUpdate(
                        paths=list(event.paths),
                        findings=self.problems(event.findings),
                        problems=list(event.problems),
                        unanswered=list(event.unanswered),
                    )
                ]
            case _:
                return None

    def _of_review(self, event: e.Event) -> Updates | None:
        match event:
            case e.ReviewDecided():
                return [
                    wire.ReviewUpdate(
                        review_id=event.review_id,
                        decision=event.decision,
                        location=self._place(event.path, None),
                        hunks=list(event.hunks),
                        turn_id=event.turn_id,
                        tool_call_id=event.call_id or None,
                        status="in_progress" if event.edit else "applied",
                        reason="",
                    )
                ]
            case e.ReviewApplied():
                return [self._review(event)]
            case e.FileRenamed():
                # No decision, but clients must see the changes under the new name.
                moved = e.ReviewApplied(review_id="", path=event.new_path, status="applied")
                return [self._review(moved)]
            case _:
                return None

    def _review(self, event: e.ReviewApplied) -> wire.ReviewUpdate:
        return wire.ReviewUpdate(
            review_id=event.review_id,
            decision=None,
            location=self._place(event.path, None),
            hunks=[],
            status=event.status,
            reason=event.reason,
        )

    def problems(self, findings: Iterable[Finding]) -> list[wire.FoundProblem]:
        """Return checkers' findings as the client gets them."""
        return [self._finding(one) for one in findings]

    def _finding(self, finding: Finding) -> wire.FoundProblem:
        return wire.FoundProblem(
            path=finding.path,
            uri=self._uri_of(finding.path),
            checker=finding.checker,
            code=finding.code,
            message=finding.message,
            severity=finding.severity,
            line=finding.start_line,
            column=finding.start_column,
        )

    def _kind_of(self, tool: str) -> ToolKind:
        return self._tool_kinds.get(tool, ToolKind.OTHER)

    def _place(self, path: str, line: int | None) -> wire.Location:
        return wire.Location(path=path, uri=self._uri_of(path), line=line)


def _sub_agent(
    event: e.ChildStarted | e.ChildEnded,
    task: str,
    status: Literal["in_progress", "completed", "failed"],
    *,
    stop_reason: StopReason | None = None,
    reason: str = "",
    steps: int = 0,
) -> wire.SubAgentUpdate:
    return wire.SubAgentUpdate(
        tool_call_id=event.call_id,
        agent_session_id=event.child_id,
        kind=event.kind,
        task=task,
        status=status,
        stop_reason=stop_reason,
        reason=reason,
        steps=steps,
    )


def _finished(result: ToolResult) -> wire.ToolCallProgress:
    return wire.ToolCallProgress(
        tool_call_id=result.call_id,
        status="failed" if result.error else "completed",
        content=_text(result.text),
        images=_images(result.images),
        raw_output=result.data,
        error=result.error,
        outcome=result.outcome,
        duration_ms=result.duration_ms,
    )


def _images(images: Iterable[Picture]) -> list[wire.ImageInfo] | None:
    """Return what images are; null without any, as most messages have none."""
    found = [
        wire.ImageInfo(
            name=one.name,
            mime_type=one.media_type,
            width=one.width,
            height=one.height,
            size_bytes=one.size_bytes,
        )
        for one in images
    ]
    return found or None


def _text(text: str) -> wire.TextContent:
    return wire.TextContent(text=text)
