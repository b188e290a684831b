"""A turn's events as lines that a user reads; ids become small numbers in order of appearance."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import assert_never

from agent_ls.domain import events as e

_ID = re.compile(r"\b(ses|trn|stp|cal|apr|qst)_[0-9A-HJKMNP-TV-Z]{26}\b")
_MAX_CHARS = 160


_SIZE = re.compile(r"takes [\d,]+ tokens")
"""The prompt names the folder, the system and the day, so its size is not the same everywhere."""


def trace_of(events: Iterable[e.Event]) -> str:
    """Return one line per event."""
    names: dict[str, str] = {}
    counts: dict[str, int] = {}

    def short(match: re.Match[str]) -> str:
        if match[0] not in names:
            counts[match[1]] = counts.get(match[1], 0) + 1
            names[match[0]] = f"{match[1]}{counts[match[1]]}"
        return names[match[0]]

    lines = (_SIZE.sub("takes N tokens", _ID.sub(short, _line(event))) for event in events)
    return "".join(f"{line}\n" for line in lines)


def _line(event: e.Event) -> str:  # noqa: C901 - one case per kind of event, nothing nested
    match event:
        case e.SessionCreated():
            return f"session created, mode {event.mode}"
        case e.SessionResumed():
            return f"session resumed, interrupted: {' '.join(event.interrupted_calls) or 'none'}"
        case e.ResumeDeclined():
            return "not resumed now"
        case e.SessionRenamed():
            return f"renamed {_quoted(event.title)}"
        case e.SessionArchived():
            return "archived" if event.is_archived else "not archived"
        case e.ModeChanged():
            return f"mode {event.mode}"
        case e.ModelChanged():
            return f"model {event.model}"
        case e.EffortChanged():
            return f"effort {event.effort or 'as set'}"
        case e.PolicySilenced():
            return f"silenced {event.origin}"
        case e.PromptQueued():
            return f"queued as {event.kind} {_quoted(event.text)}"
        case e.QueuedPromptChanged():
            return f"queued prompt {'dropped' if event.is_dropped else 'changed'}"
        case e.TurnStarted():
            return f"turn {event.turn_id} {_quoted(event.prompt)}"
        case e.PrefixSet():
            return f"  prefix: {event.reason}"
        case e.Moved():
            stop = f", {event.stop}" if event.stop else ""
            only = ", text only" if event.text_only else ""
            why = f": {_quoted(event.why)}" if event.why else ""
            return f"-> {event.to}{stop}{only}{why}"
        case e.AdvisoryRaised():
            return f"  advisory {event.origin}: {_quoted(event.text)}"
        case e.RequestPrepared():
            slots = "".join(f"\n    slot {_quoted(text)}" for text in event.slots)
            return f"  request {event.number}{slots}"
        case e.AttemptFinished():
            how = event.finish or f"failed: {event.failure} {_quoted(event.message)}"
            return f"  attempt {how}"
        case e.RecoveryChosen():
            wait = f" after {event.wait_s:g} s" if event.wait_s else ""
            return f"  {event.origin}: {event.action}{wait} {_quoted(event.text)}"
        case e.Answered():
            calls = "".join(f" {call.id}={call.tool}" for call in event.message.calls)
            thought = event.message.reasoning
            thinking = f" after thinking {_quoted(thought)}" if thought else ""
            return f"  answer {_quoted(event.message.text)}{thinking}{calls}"
        case e.NudgeAdded():
            return f"  nudge {event.origin}: {_quoted(event.text)}"
        case e.GateFailed():
            return f"  gate {event.origin} failed"
        case e.GoalCommandStarted():
            return f"  goal runs {event.command}"
        case e.GoalChecked():
            said = [f"{'met' if one.is_met else 'not met'} {one.of}" for one in event.proofs]
            return f"  goal checked by {event.origin}: {'; '.join(said)}"
        case e.FindingsReported():
            found = [f"{f.path}:{f.start_line + 1} {f.checker} {f.code}" for f in event.findings]
            owed = f", still looking: {' '.join(event.unanswered)}" if event.unanswered else ""
            return f"  findings in {' '.join(event.paths)}: {'; '.join(found) or 'none'}{owed}"
        case e.CallDecided():
            return f"  {event.call_id} {event.decision} by {event.origin}"
        case e.ApprovalRequested():
            covered = " and ".join(one.call_id for one in event.request.covers)
            about = f" about {covered}" if covered else ""
            return f"  ask {event.request.id}{about}: {_quoted(event.request.preview.title)}"
        case e.ApprovalResolved():
            note = f" {_quoted(event.answer.note)}" if event.answer.note else ""
            return f"  {event.approval_id} {event.answer.choice} by {event.answer.by}{note}"
        case e.QuestionAsked():
            return f"  question {event.question.origin}: {_quoted(event.question.text)}"
        case e.QuestionResolved():
            return f"  answered by {event.answer.by}: {_quoted(event.answer.text)}"
        case e.ToolCallStarted():
            return f"  {event.call_id} {event.tool} starts ({event.effect}) {' '.join(event.paths)}"
        case e.EditIntended():
            return f"  {event.call_id} intends to {event.edit.kind} {event.edit.path}"
        case e.EditApplied():
            lines = f" +{event.added_lines} -{event.removed_lines}"
            return f"  {event.call_id} {event.path} {event.status}{lines}"
        case e.CommandChanged():
            how = "changed" if event.after_blob else "removed"
            if event.before_blob is None:
                how = "made" if event.is_before_known else "changed, from what nobody knows,"
            return f"  {event.call_id} {how} {event.path}"
        case e.CommandChangesLeftOut():
            return f"  {event.call_id} left out {event.left_files}"
        case e.FilesLost():
            return f"  {event.call_id} lost, {event.why}: {' '.join(event.paths)}"
        case e.ReviewDecided():
            named = f" {' '.join(event.hunks)}" if event.hunks else ""
            return f"  review: {event.decision} {event.path}{named}"
        case e.ReviewApplied():
            return f"  review of {event.path} {event.status}"
        case e.FileRenamed():
            return f"  the user renamed {event.path} to {event.new_path}"
        case e.ToolCallFinished():
            how = f" {event.result.error}" if event.result.error else ""
            return f"  {event.result.call_id} result{how} {_quoted(event.result.text)}"
        case e.HookRan():
            about = f" {event.call_id}" if event.call_id else ""
            why = f": {_quoted(event.text)}" if event.text else ""
            told = f" tells {_quoted(event.told)}" if event.told else ""
            return f" {about} hook {event.name} ({event.point}) {event.outcome}{why}{told}"
        case e.ChildStarted():
            limit = f", at most {event.max_tokens} tokens" if event.max_tokens else ""
            return (
                f"  {event.call_id} child {event.child_id} {event.kind} starts, "
                f"mode {event.mode}{limit} {_quoted(event.task)}"
            )
        case e.ChildEnded():
            files = f" changed {' '.join(file.path for file in event.files)}" if event.files else ""
            return (
                f"  {event.call_id} child {event.child_id} {event.kind} ends {event.stop}, "
                f"{event.steps} steps{files} {_quoted(str(event.report))}"
            )
        case e.OutputStored():
            path = ".".join(event.path)
            over = f", replaces {event.replaces}" if event.replaces else ""
            return f"  {event.call_id} {event.method} †{path}{over}"
        case e.PlanProposed():
            calls = "; ".join(f"{one.call.id} {one.title}" for one in event.calls)
            return f"  proposed by {event.origin}, {event.run}: {calls}"
        case e.PlanResolved():
            named = (("approved", event.approved), ("each", event.each), ("runs", event.unasked))
            said = [f"{how} {' '.join(ids)}" for how, ids in named if ids]
            return f"  plan resolved: {', '.join(said) or 'nothing runs'}"
        case e.FinalOutputGiven():
            return f"  {event.call_id} final output {_quoted(str(event.value))}"
        case e.GrantsRevoked():
            return f"  revoked {', '.join(event.grants)}: {_quoted(event.why)}"
        case e.BackgroundStarted():
            return f"  {event.call_id} runs in the background as {event.name}"
        case e.BackgroundRead():
            return f"  {event.name} read to {event.until_bytes}"
        case e.BackgroundEnded():
            return f"  {event.name} {event.words}"
        case e.EffectSimulated():
            return f"  simulated: {event.what}"
        case e.PlanUpdated():
            return f"  plan: {'; '.join(f'{item.status} {item.text}' for item in event.items)}"
        case e.Compacted():
            return f"  compacted by {event.origin}"
        case e.CompactionRequested():
            return f"compaction asked by {event.by}"
        case e.CompactionSettled():
            return f"compaction settled, {'shorter' if event.is_shorter else 'nothing to shorten'}"
        case e.AdviceGiven():
            said = f"failed: {event.failure}" if event.failure else _quoted(event.text)
            return f"  advice for {event.origin} from {event.role}: {said}"
        case e.WrapUpRequested():
            return f"  wrap-up by {event.by}: {_quoted(event.text)}"
        case e.MonitorAlerted():
            return f"  monitor {event.pattern}: {_quoted(event.text)}"
        case e.CancelRequested():
            return f"  cancel by {event.by}"
        case e.TurnEnded():
            why = f" because {_quoted(event.failure_reason)}" if event.failure_reason else ""
            return f"ended {event.status}, {event.stop} {_quoted(event.output)}{why}"
        case _:
            assert_never(event)


def _quoted(text: str) -> str:
    text = text.replace("\n", "⏎")
    return f"“{text[:_MAX_CHARS]}{'…' if len(text) > _MAX_CHARS else ''}”"
