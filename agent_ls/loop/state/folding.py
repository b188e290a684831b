"""Folds events into a session's state: conversation, pending items, known facts. Pure.

``folding_turn`` folds the turn's part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from agent_ls.domain import events as e
from agent_ls.domain.approvals import ApprovalChoice, ApprovalRequest
from agent_ls.domain.attachments import with_attachments
from agent_ls.domain.calls import ErrorKind, ToolCall, ToolResult
from agent_ls.domain.code_review import REVIEWER
from agent_ls.domain.commands import TurnLimits
from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.findings import Finding
from agent_ls.domain.focus import with_focus
from agent_ls.domain.hooks import HookOutcome, HookPoint
from agent_ls.domain.messages import AssistantMessage, Message, ToolMessage, UserMessage
from agent_ls.domain.rules import GRANT
from agent_ls.domain.stops import StopReason
from agent_ls.loop.state.background import fold_background
from agent_ls.loop.state.compaction import compacted
from agent_ls.loop.state.folding_turn import fold_turn, with_entry, without_entry
from agent_ls.loop.state.outputs import with_output
from agent_ls.loop.state.pictures import all_in_words, within_limits
from agent_ls.loop.state.seen import after_edit, after_result
from agent_ls.loop.state.state import SessionState, TurnState, renamed_path, with_changes

_TELLS_CALL = frozenset(
    {ErrorKind.STRUCTURAL, ErrorKind.RUNTIME, ErrorKind.TIMEOUT, ErrorKind.DENIED}
)
"""Failures after which the model reads its call again, unless the result already quotes it."""
_SHOWN_CHARS = 1_000
_MAX_FIXED = 100
"""Fixed findings kept of one file, newest last."""


def _results(turn: TurnState | None) -> int:
    return len(turn.events.of(e.ToolCallFinished)) if turn else 0


def fold_all(stored: Iterable[e.StoredEvent]) -> SessionState:
    """Return the state after all events of a journal."""
    state = SessionState()
    for one in stored:
        state = fold(state, one)
    return state


def fold(state: SessionState, stored: e.StoredEvent) -> SessionState:
    """Return the state after one more event."""
    event = stored.event
    state = _fold_changed(with_changes(state, seq=stored.seq), event)
    state = fold_background(_fold_session(state, event), event)
    before = state.turn
    if before is None or (state.past_calls and _call_id(event) in state.past_calls):
        return state
    after = fold_turn(before, event)
    state = with_changes(state, turn=with_changes(after, events=after.events.appended(stored)))
    return _with_results(state) if before.open_calls and not after.open_calls else state


def _call_id(event: e.Event) -> str:
    """Return the call that an event is about; empty if it is about none."""
    match event:
        case e.ToolCallFinished():
            return event.result.call_id
        case (
            e.CallDecided()
            | e.ToolCallStarted()
            | e.EditIntended()
            | e.EditApplied()
            | e.CommandChanged()
            | e.BackgroundStarted()
            | e.CommandChangesLeftOut()
            | e.FilesLost()
            | e.HookRan()
            | e.ChildStarted()
            | e.ChildEnded()
            | e.OutputStored()
            | e.FinalOutputGiven()
        ):
            return event.call_id
        case _:
            return ""


def _fold_session(state: SessionState, event: e.Event) -> SessionState:
    match event:
        case e.SessionCreated():
            return with_changes(
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
        case (
            e.ModeChanged()
            | e.ModelChanged()
            | e.EffortChanged()
            | e.PolicySilenced()
            | e.SessionRenamed()
        ):
            return _with_choice(state, event)
        case e.CompactionRequested() | e.CompactionSettled():
            is_asked = isinstance(event, e.CompactionRequested)
            return with_changes(state, is_compaction_asked=is_asked)
        case e.PrefixSet():
            return with_changes(state, prefix=event)
        case e.PlanUpdated():
            return with_changes(state, plan=event.items)
        case e.AttemptFinished() | e.AdviceGiven() | e.ChildEnded():
            return _without_refused(with_changes(state, usage=state.usage + event.usage), event)
        case e.FindingsReported():
            return _with_findings(state, event)
        case e.FileRenamed():
            return with_changes(
                state,
                findings=findings_renamed(state.findings, event),
                fixed_findings=findings_renamed(state.fixed_findings, event),
                approvals=_approvals_renamed(state.approvals, event),
                turn=state.turn and _turn_renamed(state.turn, event),
            )
        case _:
            return _fold_conversation(_fold_pending(_fold_seen(state, event), event), event)


def _with_choice(
    state: SessionState,
    event: e.ModeChanged | e.ModelChanged | e.EffortChanged | e.PolicySilenced | e.SessionRenamed,
) -> SessionState:
    """Record what the user chose for the session."""
    match event:
        case e.ModeChanged():
            return with_changes(state, mode=event.mode)
        case e.ModelChanged():
            return with_changes(state, model=event.model)
        case e.EffortChanged():
            return with_changes(state, effort=event.effort)
        case e.PolicySilenced():
            return with_changes(state, silenced=state.silenced | {event.origin})
        case e.SessionRenamed():
            return with_changes(state, title=event.title)


def _without_refused(state: SessionState, event: e.Event) -> SessionState:
    """Record a refusal of images, so that the next request goes without them."""
    match event:
        case e.AttemptFinished(failure=ProviderFailure.NO_IMAGES, model=model):
            return with_changes(state, without_images=state.without_images | {model})
        case e.AttemptFinished(failure=ProviderFailure.BAD_IMAGE):
            # No refusal reliably names the image.
            messages = all_in_words(state.messages, "which the provider refused")
            return with_changes(state, messages=messages)
        case _:
            return state


def _always_after(before: frozenset[str], event: e.ApprovalResolved) -> frozenset[str]:
    if event.grant is None:
        return before
    rule = {event.grant}
    for_good = (ApprovalChoice.ALLOW_ALWAYS, ApprovalChoice.ALLOW_PREFIX)
    return before | rule if event.answer.choice in for_good else before - rule


def _fold_changed(state: SessionState, event: e.Event) -> SessionState:
    """Record which files an event changed; for a sub-agent only if it was cancelled."""
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
    return with_changes(state, changed_at=MappingProxyType(changed))


def _fold_seen(state: SessionState, event: e.Event) -> SessionState:
    match event:
        case e.ToolCallFinished(result=result) if result.error is None:
            return with_changes(state, seen=after_result(state.seen, result.data))
        case e.EditApplied(status="applied", path=path, after_blob=after):
            intent = state.turn.intents.get(path) if state.turn else None
            seen = state.seen if intent is None else after_edit(state.seen, intent, after)
            return with_changes(state, seen=seen)
        case _:
            return state


def _fold_conversation(state: SessionState, event: e.Event) -> SessionState:
    match event:
        case e.TurnStarted():
            calls = state.turn.calls if state.turn else ()
            unasked = event.limits.unasked if event.limits else ()
            # What was revoked since what it runs has changed is the user's to grant again.
            rules = {f"{GRANT}{one}" for one in unasked} - state.grants.keys() - state.revoked
            granted = MappingProxyType(dict.fromkeys(sorted(rules), state.seq))
            return with_changes(
                _said(
                    state,
                    UserMessage(text=_as_read(event.prompt, event), images=event.images),
                ),
                turn=TurnState(
                    turn_id=event.turn_id,
                    prompt=event.prompt,
                    anchor=event.anchor,
                    goal=event.goal,
                    output_schema=event.output_schema,
                    limits=event.limits or TurnLimits(),
                    granted=granted,
                    model=event.limits.model if event.limits else "",
                ),
                grants=MappingProxyType({**state.grants, **granted}),
                turns=state.turns + 1,
                earlier_results=state.earlier_results + _results(state.turn),
                past_calls=state.past_calls.union(one.call.id for one in calls),
                title=state.title or event.prompt.strip().partition("\n")[0][:80],
                queue=without_first(state.queue, event.prompt),
            )
        case e.RequestPrepared():
            steers = [one for one in state.queue if one.kind == "steer"]
            state = with_changes(
                state, queue=tuple(one for one in state.queue if one.kind != "steer")
            )
            return _said(
                state,
                *(
                    UserMessage(text=_as_read(one.text, one), origin="steer", images=one.images)
                    for one in steers
                ),
            )
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
        case e.HookRan(point=HookPoint.PROMPT, outcome=HookOutcome.BLOCKED):
            return with_changes(state, messages=_before_prompt(state))
        case e.HookRan(told=told, name=name) if told:
            return _said(state, UserMessage(text=told, origin=f"hook {name}"))
        case e.OutputStored():
            return with_changes(state, outputs=with_output(state.outputs, event))
        case e.Compacted():
            return with_changes(state, messages=compacted(state.messages, event))
        case _:
            return state


def _as_read(words: str, said: e.TurnStarted | e.PromptQueued) -> str:
    """Return the words of a prompt with what came with them, as the model reads them."""
    return with_focus(with_attachments(words, said.attachments), said.focus)


def _before_prompt(state: SessionState) -> tuple[Message, ...]:
    """Return the conversation without the turn's prompt and what hooks have added to it."""
    ran = state.turn.events.of(e.HookRan) if state.turn else ()
    added = [one.point for one in ran if one.told]
    before = state.messages[: -1 - len(added)]
    # What hooks told at the session's start counts for every turn.
    return (*before, *state.messages[len(before) + 1 :][: added.count(HookPoint.SESSION_START)])


def _fold_pending(state: SessionState, event: e.Event) -> SessionState:
    """Fold the event into pending items: approvals, questions and queued prompts."""
    match event:
        case e.PromptQueued() | e.QueuedPromptChanged():
            return with_changes(state, queue=queue_after(state.queue, event))
        case e.CancelRequested():
            # A cancel also drops what waits behind the turn.
            return with_changes(state, queue=(), is_compaction_asked=False)
        case e.ApprovalRequested():
            return with_changes(
                state, approvals=with_entry(state.approvals, event.request.id, event.request)
            )
        case e.ApprovalResolved():
            given = dict.fromkeys({event.grant} if event.grant else (), state.seq)
            return with_changes(
                state,
                approvals=without_entry(state.approvals, event.approval_id),
                grants=MappingProxyType({**state.grants, **given}),
                always=_always_after(state.always, event),
                revoked=state.revoked - given.keys(),
            )
        case e.QuestionAsked():
            return with_changes(
                state, questions=with_entry(state.questions, event.question.id, event.question)
            )
        case e.QuestionResolved():
            return with_changes(state, questions=without_entry(state.questions, event.question_id))
        case e.GrantsRevoked():
            gone = set(event.grants)
            left = {rule: seq for rule, seq in state.grants.items() if rule not in gone}
            return with_changes(
                state,
                grants=MappingProxyType(left),
                always=state.always - gone,
                revoked=state.revoked | gone,
            )
        case e.TurnEnded():
            own = state.turn.granted.items() if state.turn else ()
            # What the user has granted meanwhile stays.
            left = dict(state.grants.items() - own)
            return with_changes(
                state,
                approvals=MappingProxyType({}),
                questions=MappingProxyType({}),
                grants=MappingProxyType(left) if own else state.grants,
            )
        case _:
            return state


def _with_results(state: SessionState) -> SessionState:
    """Append the results of a finished step to the conversation, in call order."""
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
                not_run=one.result.not_run,
                output_id=one.result.output_id,
                images=one.result.images,
            )
            for one in calls
            if one.result is not None
        ),
    )


def _with_call_text(call: ToolCall, result: ToolResult) -> str:
    """Return a result's text for the model; most failures also quote the call."""
    if result.error not in _TELLS_CALL or "\ncall: " in result.text:
        return result.text
    return f"{result.text}\ncall: {call.tool}({call.arguments_json[:_SHOWN_CHARS]})"


def _with_findings(state: SessionState, event: e.FindingsReported) -> SessionState:
    findings = findings_after(state.findings, event)
    fixed = dict(state.fixed_findings)
    for path in {*event.paths, *(one.path for one in event.findings)}:
        there = {one.fingerprint for one in findings.get(path, ())}
        past = (*fixed.pop(path, ()), *state.findings.get(path, ()))
        # Another review words the same defect in other words: nothing is fixed by that.
        of_checkers = (one for one in past if one.checker != REVIEWER)
        if gone := [one for one in of_checkers if one.fingerprint not in there]:
            fixed[path] = tuple(gone[-_MAX_FIXED:])
    return with_changes(state, findings=findings, fixed_findings=MappingProxyType(fixed))


def findings_after(
    before: Mapping[str, tuple[Finding, ...]], event: e.FindingsReported
) -> Mapping[str, tuple[Finding, ...]]:
    """Return the findings by path after a report, which replaces those of its files."""
    after = {path: found for path, found in before.items() if path not in event.paths}
    for finding in event.findings:
        after[finding.path] = (*after.get(finding.path, ()), finding)
    return MappingProxyType(after)


def findings_renamed(
    before: Mapping[str, tuple[Finding, ...]], event: e.FileRenamed
) -> Mapping[str, tuple[Finding, ...]]:
    """Return the findings after a rename; findings of an overwritten file are dropped."""
    after: dict[str, tuple[Finding, ...]] = {}
    for path, found in before.items():
        if (there := renamed_path(path, event)) != path:
            after[there] = tuple(one.model_copy(update={"path": there}) for one in found)
        elif path != event.new_path:
            after[path] = found
    return MappingProxyType(after)


def _approvals_renamed(
    before: Mapping[str, ApprovalRequest], event: e.FileRenamed
) -> Mapping[str, ApprovalRequest]:
    """Return the approvals, each asking about its file under the new name."""
    after: dict[str, ApprovalRequest] = {}
    for key, request in before.items():
        preview = request.preview
        path = preview.path and renamed_path(preview.path, event)
        if path != preview.path:
            start, name, end = preview.title.rpartition(preview.path or "")
            title = f"{start}{path}{end}" if name else preview.title
            preview = preview.model_copy(update={"path": path, "title": title})
        after[key] = request.model_copy(update={"preview": preview})
    return MappingProxyType(after)


def _turn_renamed(turn: TurnState, event: e.FileRenamed) -> TurnState:
    """Return the turn, asked at the same lines of a renamed file."""
    if turn.anchor is None:
        return turn
    there = {"path": renamed_path(turn.anchor.path, event)}
    return with_changes(turn, anchor=turn.anchor.model_copy(update=there))


def _said(state: SessionState, *messages: Message) -> SessionState:
    said = (*state.messages, *messages)
    has_images = any(one.role != "assistant" and one.images for one in messages)
    return with_changes(state, messages=within_limits(said) if has_images else said)


def without_first(queue: tuple[e.PromptQueued, ...], text: str) -> tuple[e.PromptQueued, ...]:
    """Remove the first queued prompt with this text, because it became a turn.

    If it was not queued, the queue is emptied. A prompt starts directly only when nothing waits;
    older journals may still list prompts that a cancel dropped.
    """
    for index, one in enumerate(queue):
        if one.text == text:
            return queue[:index] + queue[index + 1 :]
    return ()


def queue_after(
    queue: tuple[e.PromptQueued, ...], event: e.PromptQueued | e.QueuedPromptChanged
) -> tuple[e.PromptQueued, ...]:
    """Return the queue after a prompt was added, or one in it was changed, moved or dropped."""
    if isinstance(event, e.PromptQueued):
        return (*queue, event)
    at = next((at for at, one in enumerate(queue) if one.id == event.prompt_id), None)
    if at is None:
        return queue
    rest, meant = queue[:at] + queue[at + 1 :], queue[at]
    if event.is_dropped:
        return rest
    if event.text is not None:
        kind = event.kind or meant.kind
        meant = meant.model_copy(update={"text": event.text, "kind": kind})
    if event.before is not None:
        at = next((at for at, one in enumerate(rest) if one.id == event.before), len(rest))
    return (*rest[:at], meant, *rest[at:])
