"""What the events of a session add up to; ``fold`` is the only way it changes.

Frozen: a holder of an old state keeps a consistent picture. Nothing here is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeVar

from pydantic import JsonValue

from agent_ls.domain import events as e
from agent_ls.domain.approvals import ApprovalRequest, Question
from agent_ls.domain.calls import Effect, ErrorKind, ToolCall, ToolResult
from agent_ls.domain.findings import Finding
from agent_ls.domain.goals import Goal
from agent_ls.domain.messages import AssistantMessage, Message, ToolMessage, UserMessage
from agent_ls.domain.modes import Mode
from agent_ls.domain.phases import Phase
from agent_ls.domain.plans import PlanItem
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.domain.usage import Usage
from agent_ls.loop.compaction import compacted
from agent_ls.loop.event_log import EventLog
from agent_ls.loop.outputs import with_output
from agent_ls.loop.seen import Seen, after_edit, after_result

V = TypeVar("V")

_TELLS_CALL = frozenset(
    {ErrorKind.STRUCTURAL, ErrorKind.RUNTIME, ErrorKind.TIMEOUT, ErrorKind.DENIED}
)
"""Failures that the model can mend, unless the result says the call itself."""
_SHOWN_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class CallState:
    """Where one call of the current step stands."""

    call: ToolCall
    effect: Effect | None = None
    """Set once it started: from then on it may have had an effect."""
    result: ToolResult | None = None


@dataclass(frozen=True, slots=True)
class TouchedFile:
    """One file the turn changed through us."""

    before_blob: str | None
    """The bytes before the turn's first touch; None when it did not exist."""
    after_blob: str | None
    """The bytes after the last applied edit; None when it is gone."""


@dataclass(frozen=True, slots=True)
class TurnState:
    """One turn, running or ended."""

    turn_id: str
    prompt: str
    anchor: e.Anchor | None = None
    goal: Goal | None = None
    """None: an ordinary turn."""
    output_schema: dict[str, JsonValue] | None = None
    """What the turn's output must fit; None: any text will do."""
    phase: Phase = Phase.CHECK
    stop: StopReason | None = None
    why: str = ""
    recovers: bool = False
    """COMPACT was entered to save the rest of the budget."""
    text_only: bool = False
    """CHECK allowed the coming step only without tools."""
    events: EventLog = field(default_factory=EventLog)
    """Every event since the prompt, in order: policies count these."""
    step_id: str = ""
    step_number: int = 0
    request: e.RequestPrepared | None = None
    """The one that was prepared last."""
    calls: tuple[CallState, ...] = ()
    """Those of the last answer, in the order the model wrote them."""
    strays: frozenset[str] = frozenset()
    """Calls of turns before that were broken off: what is heard of them late is not this turn's."""
    answer: AssistantMessage | None = None
    reasks: tuple[UserMessage, ...] = ()
    """Told to the model in the next attempt of this step only."""
    partial_text: str = ""
    """Text of earlier pieces of an answer that is being continued."""
    model: str = ""
    """Who is asked instead of the session's model, while that one fails."""
    touched: Mapping[str, TouchedFile] = field(default_factory=lambda: MappingProxyType({}))
    intents: Mapping[str, e.EditIntended] = field(default_factory=lambda: MappingProxyType({}))
    """By path: edits that were begun and have no outcome yet."""
    usage: Usage = Usage()
    proposals: tuple[e.PlanProposed, ...] = ()
    """Of plans that nothing was decided on yet, in the order the calls were made."""
    allowed_calls: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """By id: calls of a plan that the person allowed, with the digest of what they were shown."""
    released_calls: frozenset[str] = frozenset()
    """Calls of a plan that the person wants to be asked about one by one."""
    due_calls: tuple[ToolCall, ...] = ()
    """Calls of a decided plan that ACT has not taken over yet."""
    final_output: e.FinalOutputGiven | None = None
    ended: e.TurnEnded | None = None

    @property
    def open_calls(self) -> tuple[CallState, ...]:
        """Return the calls that have no result yet."""
        return tuple(state for state in self.calls if state.result is None)


@dataclass(frozen=True, slots=True)
class SessionState:
    """One session."""

    session_id: str = ""
    roots: tuple[str, ...] = ()
    mode: Mode = Mode.ASK
    model: str = ""
    is_child: bool = False
    """Whether another agent gave it its task."""
    is_dry_run: bool = False
    """Whether its changes and commands are only made up."""
    agent: str = ""
    """The kind of sub-agent whose session it is; empty for a person's."""
    seq: int = 0
    messages: tuple[Message, ...] = ()
    """The conversation as it is sent, compactions carried out."""
    prefix: e.PrefixSet | None = None
    turn: TurnState | None = None
    """The running turn, or the last one."""
    turns: int = 0
    title: str = ""
    usage: Usage = Usage()
    plan: tuple[PlanItem, ...] = ()
    outputs: tuple[e.OutputStored, ...] = ()
    """What calls left at state paths, oldest first."""
    seen: Seen = field(default_factory=lambda: MappingProxyType({}))
    """The texts that the model goes by."""
    grants: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """What a person allowed for the session, each with the number of the event that said so."""
    changed_at: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """By path: the number of the newest event that says that a call changed it, or may have."""
    revoked: frozenset[str] = frozenset()
    """Rules that do not hold in this session until the person says so again."""
    silenced: frozenset[str] = frozenset()
    queue: tuple[e.PromptQueued, ...] = ()
    approvals: Mapping[str, ApprovalRequest] = field(default_factory=lambda: MappingProxyType({}))
    """Pending ones, oldest first."""
    questions: Mapping[str, Question] = field(default_factory=lambda: MappingProxyType({}))
    """Pending ones, oldest first."""
    findings: Mapping[str, tuple[Finding, ...]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """What the checkers last said, by path; clean files are absent."""

    @property
    def is_running(self) -> bool:
        """Say whether a turn has begun and not ended."""
        return self.turn is not None and self.turn.ended is None

    @property
    def status(self) -> TurnStatus | None:
        """Return how the last turn stands; None before the first."""
        if self.turn is None:
            return None
        if self.turn.ended is not None:
            return self.turn.ended.status
        return TurnStatus.WAITING if self.approvals or self.questions else TurnStatus.RUNNING


def fold_all(stored: Iterable[e.StoredEvent]) -> SessionState:
    """Return the state that a journal adds up to."""
    state = SessionState()
    for one in stored:
        state = fold(state, one)
    return state


def fold(state: SessionState, stored: e.StoredEvent) -> SessionState:
    """Return the state after one more event."""
    event = stored.event
    state = _fold_session(_fold_changed(replace(state, seq=stored.seq), event), event)
    before = state.turn
    if before is None or _call_id(event) in before.strays:
        return state
    after = _fold_turn(before, event)
    state = replace(state, turn=replace(after, events=after.events.appended(stored)))
    return _with_results(state) if before.open_calls and not after.open_calls else state


def _fold_session(state: SessionState, event: e.Event) -> SessionState:
    """Carry out what an event means to the session as a whole."""
    match event:
        case e.SessionCreated():
            return replace(
                state,
                session_id=event.session_id,
                roots=event.roots,
                mode=event.mode,
                model=event.model,
                is_child=bool(event.parent_id),
                is_dry_run=event.dry_run,
                agent=event.agent,
                grants=MappingProxyType(dict.fromkeys(event.grants, state.seq)),
                revoked=frozenset(event.revoked),
            )
        case e.ModeChanged():
            return replace(state, mode=event.mode)
        case e.ModelChanged():
            return replace(state, model=event.model)
        case e.PolicySilenced():
            return replace(state, silenced=state.silenced | {event.origin})
        case e.PrefixSet():
            return replace(state, prefix=event)
        case e.PlanUpdated():
            return replace(state, plan=event.items)
        case e.AttemptFinished() | e.AdviceGiven() | e.ChildEnded():
            return replace(state, usage=state.usage + event.usage)
        case e.FindingsReported():
            return replace(state, findings=_findings_after(state.findings, event))
        case _:
            return _fold_conversation(_fold_pending(_fold_seen(state, event), event), event)


def _fold_changed(state: SessionState, event: e.Event) -> SessionState:
    """Remember when calls changed which files; of sub-agents what they did not tell themselves."""
    match event:
        case e.EditApplied(status="applied" | "unconfirmed"):
            intent = state.turn.intents.get(event.path) if state.turn else None
            goal = intent.edit.new_path if intent and intent.edit.kind == "move" else event.path
            paths = (event.path, goal)
        case e.CommandChanged():
            paths = (event.path,)
        case e.ChildEnded(stop=StopReason.CANCELLED):
            paths = tuple(file.path for file in event.files)
        case _:
            return state
    changed = {**state.changed_at, **dict.fromkeys(paths, state.seq)}
    return replace(state, changed_at=MappingProxyType(changed))


def _call_id(event: e.Event) -> str | None:
    """Return the call whose effect or result an event tells; None for every other event."""
    match event:
        case e.ToolCallFinished(result=result):
            return result.call_id
        case e.EditIntended() | e.EditApplied() | e.CommandChanged() | e.ChildEnded():
            return event.call_id
        case _:
            return None


def _strays(turn: TurnState | None) -> frozenset[str]:
    """Return the calls of a turn, and of those before, that may still be heard of after it."""
    if turn is None:
        return frozenset()
    broken_off = (
        one.call.id
        for one in turn.calls
        if one.result is None or one.result.error in (ErrorKind.CANCELLED, ErrorKind.INTERRUPTED)
    )
    return turn.strays.union(broken_off)


def _fold_seen(state: SessionState, event: e.Event) -> SessionState:
    """Carry out what an event means to the texts that the model knows."""
    match event:
        case e.ToolCallFinished(result=result) if result.error is None:
            return replace(state, seen=after_result(state.seen, result.data))
        case e.EditApplied(status="applied", path=path, after_blob=after):
            intent = state.turn.intents.get(path) if state.turn else None
            seen = state.seen if intent is None else after_edit(state.seen, intent, after)
            return replace(state, seen=seen)
        case _:
            return state


def _fold_conversation(state: SessionState, event: e.Event) -> SessionState:
    """Carry out what an event adds to, or takes from, the conversation."""
    match event:
        case e.TurnStarted():
            return replace(
                _said(state, UserMessage(text=event.prompt)),
                turn=TurnState(
                    turn_id=event.turn_id,
                    prompt=event.prompt,
                    anchor=event.anchor,
                    goal=event.goal,
                    output_schema=event.output_schema,
                    strays=_strays(state.turn),
                ),
                turns=state.turns + 1,
                title=state.title or event.prompt.strip().partition("\n")[0][:80],
                queue=_without_first(state.queue, event.prompt),
            )
        case e.RequestPrepared():
            steers = [one for one in state.queue if one.kind == "steer"]
            state = replace(state, queue=tuple(one for one in state.queue if one.kind != "steer"))
            return _said(state, *(UserMessage(text=one.text, origin="steer") for one in steers))
        case e.Answered():
            return _said(state, event.message)
        case e.RecoveryChosen(action="continue"):
            return _said(
                state,
                AssistantMessage(text=event.partial),
                UserMessage(text=event.text, origin=event.origin),
            )
        case e.NudgeAdded():
            return _said(state, UserMessage(text=event.text, origin=event.origin))
        case e.OutputStored():
            return replace(state, outputs=with_output(state.outputs, event))
        case e.Compacted():
            return replace(state, messages=compacted(state.messages, event))
        case _:
            return state


def _fold_pending(state: SessionState, event: e.Event) -> SessionState:
    """Carry out what an event means to what waits: questions for a person, prompts for a turn."""
    match event:
        case e.PromptQueued():
            return replace(state, queue=(*state.queue, event))
        case e.CancelRequested():
            # Who stops a turn does not want what was queued behind it.
            return replace(state, queue=())
        case e.ApprovalRequested():
            return replace(state, approvals=_with(state.approvals, event.request.id, event.request))
        case e.ApprovalResolved():
            given = dict.fromkeys({event.grant} if event.grant else (), state.seq)
            return replace(
                state,
                approvals=_without(state.approvals, event.approval_id),
                grants=MappingProxyType({**state.grants, **given}),
                revoked=state.revoked - given.keys(),
            )
        case e.QuestionAsked():
            return replace(
                state, questions=_with(state.questions, event.question.id, event.question)
            )
        case e.QuestionResolved():
            return replace(state, questions=_without(state.questions, event.question_id))
        case e.GrantsRevoked():
            gone = set(event.grants)
            left = {rule: seq for rule, seq in state.grants.items() if rule not in gone}
            return replace(state, grants=MappingProxyType(left), revoked=state.revoked | gone)
        case e.TurnEnded():
            return replace(state, approvals=MappingProxyType({}), questions=MappingProxyType({}))
        case _:
            return state


def _fold_turn(turn: TurnState, event: e.Event) -> TurnState:
    """Carry out what an event means to the turn."""
    match event:
        case e.Moved():
            return replace(
                turn,
                phase=event.to,
                stop=event.stop or turn.stop,
                why=event.why or turn.why,
                text_only=event.text_only if event.to is Phase.PREPARE else turn.text_only,
                recovers=event.recovers if event.to is Phase.COMPACT else turn.recovers,
            )
        case e.RequestPrepared():
            return replace(
                turn,
                request=event,
                step_id=event.step_id,
                step_number=event.number,
                answer=None,
                reasks=(),
                # A step that ended without its answer leaves the pieces to the next one.
                partial_text="" if turn.answer is not None else turn.partial_text,
            )
        case e.AttemptFinished() | e.AdviceGiven():
            return replace(turn, usage=turn.usage + event.usage)
        case e.RecoveryChosen():
            return _fold_recovery(turn, event)
        case e.Answered():
            return replace(
                turn,
                answer=event.message,
                calls=tuple(CallState(call) for call in event.message.calls),
                reasks=(),
                due_calls=(),
            )
        case e.PlanProposed():
            return _fold_proposal(turn, event)
        case e.PlanResolved():
            return _fold_plan(turn, event)
        case e.FinalOutputGiven():
            return replace(turn, final_output=event)
        case e.TurnEnded():
            return replace(turn, phase=Phase.DONE, stop=event.stop, ended=event)
        case _:
            return _fold_call(turn, event)


def _fold_recovery(turn: TurnState, event: e.RecoveryChosen) -> TurnState:
    """Carry out what a recovery means to the next attempt, and to who makes it."""
    match event.action:
        case "reask":
            told = UserMessage(text=event.text, origin=event.origin)
            return replace(turn, reasks=(*turn.reasks, told))
        case "continue":
            return replace(turn, partial_text=turn.partial_text + event.partial, reasks=())
        case "switch_model":
            return replace(turn, model=event.model)
        case "fail_step":
            return replace(turn, model="")
        case _:
            return turn


def _fold_call(turn: TurnState, event: e.Event) -> TurnState:
    """Carry out what an event means to one call of the step, and to the files it changes."""
    match event:
        case e.EditIntended():
            return replace(turn, intents=_with(turn.intents, event.edit.path, event))
        case e.EditApplied():
            return _fold_edit(turn, event)
        case e.ReviewApplied(status="applied") if event.path in turn.touched:
            first = turn.touched[event.path]
            after = TouchedFile(first.before_blob, event.after_blob)
            return replace(turn, touched=_with(turn.touched, event.path, after))
        case e.CommandChanged():
            return _fold_command_change(turn, event)
        case e.ChildEnded():
            return _fold_child(turn, event)
        case e.ToolCallStarted():
            return _with_call(turn, event.call_id, effect=event.effect)
        case e.ToolCallFinished():
            return _with_call(turn, event.result.call_id, result=event.result)
        case _:
            return turn


def _fold_child(turn: TurnState, event: e.ChildEnded) -> TurnState:
    """Take over what a sub-agent spent and changed."""
    touched = dict(turn.touched)
    for file in event.files:
        first = touched.get(file.path)
        before = first.before_blob if first else file.before_blob
        touched[file.path] = TouchedFile(before, file.after_blob)
    return replace(turn, usage=turn.usage + event.usage, touched=MappingProxyType(touched))


def _fold_proposal(turn: TurnState, event: e.PlanProposed) -> TurnState:
    """Add the calls to what waits for a decision; a call that ran again proposes nothing new."""
    known = {one.call.id for plan in turn.proposals for one in plan.calls}
    if all(one.call.id in known for one in event.calls):
        return turn
    return replace(turn, proposals=(*turn.proposals, event))


def _fold_plan(turn: TurnState, event: e.PlanResolved) -> TurnState:
    """Carry out what was decided on a plan."""
    plans = [plan for plan in turn.proposals if plan.plan_id == event.plan_id]
    decided = [one for plan in plans for one in plan.calls]
    runs = {*event.approved, *event.each, *event.unasked}
    allowed = dict(zip(event.approved, event.digests, strict=False))
    return replace(
        turn,
        proposals=tuple(plan for plan in turn.proposals if plan.plan_id != event.plan_id),
        allowed_calls=MappingProxyType({**turn.allowed_calls, **allowed}),
        released_calls=turn.released_calls | set(event.each),
        due_calls=(*turn.due_calls, *(one.call for one in decided if one.call.id in runs)),
    )


def _fold_edit(turn: TurnState, event: e.EditApplied) -> TurnState:
    """Settle an edit's intent, and remember the text from before the turn's first touch."""
    intent = turn.intents.get(event.path)
    turn = replace(turn, intents=_without(turn.intents, event.path))
    if event.status != "applied" or intent is None:
        return turn
    first = turn.touched.get(event.path)
    before = first.before_blob if first else intent.before_blob
    touched = dict(turn.touched)
    touched[event.path] = TouchedFile(before, event.after_blob)
    if intent.edit.kind == "move":
        # The old name has no file any more; the new one had none, unless it is moved back.
        touched[event.path] = TouchedFile(before, None)
        known = touched.get(intent.edit.new_path)
        was = known.before_blob if known else None
        touched[intent.edit.new_path] = TouchedFile(was, event.after_blob)
    return replace(turn, touched=MappingProxyType(touched))


def _fold_command_change(turn: TurnState, event: e.CommandChanged) -> TurnState:
    """Remember what a command did to a file, unless nobody knows what it was before."""
    first = turn.touched.get(event.path)
    if first is None and not event.is_before_known:
        return turn
    before = first.before_blob if first else event.before_blob
    touched = {**turn.touched, event.path: TouchedFile(before, event.after_blob)}
    return replace(turn, touched=MappingProxyType(touched))


def _with_results(state: SessionState) -> SessionState:
    """Append the step's results, all there now, in the order the model wrote the calls."""
    calls = state.turn.calls if state.turn else ()
    return _said(
        state,
        *(
            ToolMessage(
                call_id=one.call.id,
                provider_id=one.call.provider_id,
                tool=one.call.tool,
                text=_with_call_text(one.call, one.result),
                error=one.result.error,
                output_id=one.result.output_id,
            )
            for one in calls
            if one.result is not None
        ),
    )


def _with_call_text(call: ToolCall, result: ToolResult) -> str:
    """Return what the model reads: of a failure the error, then the call it belongs to."""
    if result.error not in _TELLS_CALL or "\ncall: " in result.text:
        return result.text
    return f"{result.text}\ncall: {call.tool}({call.arguments_json[:_SHOWN_CHARS]})"


def _with_call(
    turn: TurnState,
    call_id: str,
    *,
    effect: Effect | None = None,
    result: ToolResult | None = None,
) -> TurnState:
    calls = tuple(
        replace(
            one,
            effect=effect or one.effect,
            # The first result is the only one.
            result=one.result or result,
        )
        if one.call.id == call_id
        else one
        for one in turn.calls
    )
    return replace(turn, calls=calls)


def _findings_after(
    before: Mapping[str, tuple[Finding, ...]], event: e.FindingsReported
) -> Mapping[str, tuple[Finding, ...]]:
    after = {path: found for path, found in before.items() if path not in event.paths}
    for finding in event.findings:
        after[finding.path] = (*after.get(finding.path, ()), finding)
    return MappingProxyType(after)


def _said(state: SessionState, *messages: Message) -> SessionState:
    return replace(state, messages=(*state.messages, *messages))


def _without_first(queue: tuple[e.PromptQueued, ...], text: str) -> tuple[e.PromptQueued, ...]:
    """Take the queued prompt that became a turn out of the queue.

    One that did not wait began when nothing did: what journals of old say of the queue then is
    what a stop dropped.
    """
    for index, one in enumerate(queue):
        if one.text == text:
            return queue[:index] + queue[index + 1 :]
    return ()


def _with(mapping: Mapping[str, V], key: str, value: V) -> Mapping[str, V]:
    return MappingProxyType({**mapping, key: value})


def _without(mapping: Mapping[str, V], key: str) -> Mapping[str, V]:
    return MappingProxyType({k: v for k, v in mapping.items() if k != key})
