"""The log for the user: a short line or a few per event, as it happens.

Source: S2, "Human logging". Streamed text is shown elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TextIO

from agent_ls.domain import events as ev
from agent_ls.domain.approvals import ApprovalChoice
from agent_ls.domain.calls import ErrorKind, ToolCall
from agent_ls.domain.code_review import REVIEWER
from agent_ls.domain.findings import Finding
from agent_ls.domain.images import change_words
from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.phases import Phase
from agent_ls.domain.sentences import counted
from agent_ls.domain.stops import PLAIN, STATUS_WORDS, TurnStatus
from agent_ls.domain.usage import Usage
from agent_ls.loop.state.folding import findings_after, findings_renamed
from agent_ls.observers.call_summary import short, summary_of
from agent_ls.safety.secrets import mask
from agent_ls.safety.text import plain_output, visible_line

_RUNS = "run_command"
_DELEGATES = "delegate"
"""The tool whose streamed output tells what a sub-agent does."""
_MAX_FINDINGS = 5
_MAX_LIVE_CHARS = 200
"""Of a line that a running call prints."""
_HERE = "terminal"
"""Who answers where these lines are read."""
_SIGNS = {
    TurnStatus.SUCCESS: "✅",
    TurnStatus.PARTIAL: "⚠️ ",
    TurnStatus.ESCALATED: "⚠️ ",
    TurnStatus.FAILED: "❌",
    TurnStatus.CANCELLED: "⏹️ ",
}
_DECIDED = {
    ApprovalChoice.ALLOW_ONCE: "allowed",
    ApprovalChoice.ALLOW_SESSION: "allowed for the session",
    ApprovalChoice.ALLOW_PREFIX: "allowed, with all that begin alike",
    ApprovalChoice.ALLOW_ALWAYS: "allowed for good",
    ApprovalChoice.REJECT_ONCE: "rejected",
    ApprovalChoice.REJECT_ALWAYS: "rejected for good",
    ApprovalChoice.AMEND: "changed",
    ApprovalChoice.CANCELLED: "not answered",
}

_RECOVERIES = {
    "retry": "Asking again",
    "reask": "Asking for another answer",
    "continue": "Letting it go on",
    "promote": "Taking its thoughts for the answer",
    "accept_partial": "Taking the part that came",
    "take_calls": "Taking the calls that came whole",
    "switch_model": "Asking another model",
    "compact": "Shortening the conversation",
    "fail_step": "Giving up this step",
}
"""What each action of a recovery does."""


@dataclass(slots=True)
class _Turn:
    """A turn's totals for its last line, and facts that later lines refer to."""

    steps: int = 0
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    last_started: str = ""
    is_heard: bool = True
    """False from the start of closing until the model has answered."""
    trouble: str = ""
    """The error behind the last retry, as logged."""
    asked: dict[str, ToolCall] = field(default_factory=dict[str, ToolCall])
    approvals: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """The calls that each approval is about."""
    rejected: set[str] = field(default_factory=set[str])
    """Calls that the user rejected, which the answer's own line tells."""


class HumanLog:
    """Writes the lines to a text stream."""

    def __init__(
        self, stream: TextIO, *, with_answers: bool = True, with_approvals: bool = True
    ) -> None:
        """Write to ``stream``; a flag is False if the terminal shows that content itself."""
        self._stream = stream
        self._with_answers, self._with_approvals = with_answers, with_approvals
        self._turn = _Turn()
        self._findings: Mapping[str, tuple[Finding, ...]] = {}
        """The checkers' last findings by path, to tell which findings are new."""

    def on_event(self, stored: ev.StoredEvent) -> None:
        """Write the event's lines, if it has any."""
        self._write(self.lines_of(stored.event))

    def on_ephemeral(self, session_id: str, piece: ev.Ephemeral) -> None:
        """Write what a command prints and a sub-agent does; other pieces are shown elsewhere."""
        if isinstance(piece, ev.CallOutputStreamed):
            call = self._turn.asked.get(piece.call_id)
            if call is not None and call.tool in (_RUNS, _DELEGATES):
                lines = plain_output(piece.text).split("\n")
                shown = [visible_line(mask(one))[:_MAX_LIVE_CHARS].rstrip() for one in lines]
                # The sign keeps a line from being a command of what runs this, such as GitHub's.
                self._write([f"      │ {one}" for one in shown if one])

    def go_on(self, session_id: str, events: Iterable[ev.StoredEvent]) -> None:
        """Log which turn resumes and which calls were interrupted, and restore its totals."""
        prompt, interrupted, results = "", (), dict[str, ev.ToolCallFinished]()
        changed: tuple[str, ...] = ()
        for stored in events:
            self.lines_of(stored.event)
            match stored.event:
                case ev.TurnStarted():
                    prompt = stored.event.prompt
                case ev.ToolCallFinished(result=result):
                    results[result.call_id] = stored.event
                case ev.SessionResumed(interrupted_calls=calls, changed_files=changed):
                    interrupted = calls
                case _:
                    pass
        lines = [f"▶ Going on with {session_id}: {short(prompt)}"]
        for call_id in interrupted:
            call = self._turn.asked[call_id]
            lines += [f"   {_named(call)}", f"      {self._result(results[call_id])}"]
        if changed:
            files = short(", ".join(changed), 200)
            lines.append(f"   ⚠️  Not as the agent left them, so it looks again: {files}")
        self._write(lines)

    def lines_of(self, event: ev.Event) -> list[str]:  # noqa: C901 - one arm for each kind of event
        """Return the lines for the next event; often none."""
        self._note_answers(event)
        match event:
            case ev.TurnStarted(prompt=prompt):
                self._turn = _Turn()
                return [f"▶ {short(prompt)}"]
            case ev.SessionResumed(interrupted_calls=calls):
                return [f"▶ Resumed; interrupted calls: {len(calls)}"]
            case ev.PromptQueued(text=text, kind=kind):
                return [f"▶ {'While it works' if kind == 'steer' else 'Next'}: {short(text)}"]
            case ev.WrapUpRequested(by=by):
                return [f"⏹️  Coming to an end ({short(by)})"]
            case ev.CancelRequested(by=by):
                return [f"⏹️  Stopping ({short(by)})"]
            case ev.Moved(to=Phase.CLOSE):
                return self._closing(event)
            case ev.TurnEnded():
                return self._ended(event)
            case ev.RequestPrepared():
                return self._request(event)
            case ev.AttemptFinished():
                self._turn.usage += event.usage
                self._turn.is_heard = self._turn.is_heard or event.failure is None
                return [_attempt(event)]
            case ev.RecoveryChosen():
                return self._recovery(event)
            case ev.Answered():
                return self._answered(event)
            case ev.HookRan():
                why = f": {short(event.text)}" if event.text else ""
                did = f"{event.did}{_seconds(event.duration_ms)}{why}"
                return [f"   🪝 {event.name} ({event.point}): {did}"]
            case ev.AdviceGiven():
                self._turn.usage += event.usage
                said = f"{event.failure}: {event.message}" if event.failure else event.text
                return [f"   · {event.origin} asked {short(event.model)}: {short(said)}"]
            case ev.ChildStarted():
                return [f"   👥 {event.kind} starts: {short(event.task)}"]
            case ev.ChildEnded():
                self._turn.usage += event.usage
                used = f"{counted(event.steps, 'step')}, {event.usage.total_tokens:,} tokens"
                return [f"   👥 {event.kind} ended: {event.stop}, {used}"]
            case ev.ToolCallStarted():
                self._turn.calls += 1
                self._turn.last_started = event.call_id
                return [f"   {_named(event)}"]
            case ev.CallDecided(decision="deny"):
                call = self._turn.asked.get(event.call_id)
                which = _named(call) if call else "🔧 a call"
                return [f"   {which}", f"      ⛔ {event.origin}: {short(event.reason)}"]
            case ev.EditApplied():
                return [f"      {_edited(event)}"]
            case ev.CommandChanged():
                return [f"      {_changed(event)}"]
            case ev.ToolCallFinished():
                return [f"      {self._result(event)}"]
            case ev.ApprovalRequested(request=request) if self._with_approvals:
                return [f"   ❓ Allow? {short(request.preview.title)} ({short(request.reason)})"]
            case ev.ApprovalResolved(answer=answer):
                note = f": {short(answer.note)}" if answer.note else ""
                return [f"      ↳ {_DECIDED[answer.choice]}{self._by(answer.by)}{note}"]
            case ev.FindingsReported():
                return self._checked(event)
            case ev.FileRenamed():
                self._findings = findings_renamed(self._findings, event)
                return []
            case ev.AdvisoryRaised(origin=origin, text=text):
                return [f"   ⚠️  {origin}: {short(text)}"]
            case ev.GateFailed(origin=origin, text=text):
                return [f"   ⚠️  Not accepted by {origin}: {short(text)}"]
            case ev.GoalCommandStarted(command=command):
                return [f"   🧪 {short(command)}"]
            case ev.GoalChecked(proofs=proofs):
                return [f"   {'✓' if one.is_met else '✗'} {short(one.of)}" for one in proofs]
            case ev.MonitorAlerted(text=text):
                return [f"   ⚠️  external_monitor: {short(text)}"]
            case ev.Compacted():
                size = f"{event.before_tokens:,} → {event.after_tokens:,} tokens"
                return [f"   🗜️  Shortened the conversation: {size} ({short(event.why)})"]
            case ev.CompactionSettled(is_shorter=False):
                return ["   🗜️  The conversation is as short as it can be"]
            case ev.QuestionAsked(question=question):
                return [f"   ❓ {short(question.text)} ({question.origin})"]
            case ev.QuestionResolved(answer=answer):
                return [f"      ↳ {short(answer.text) or 'no answer'}{self._by(answer.by)}"]
            case ev.PlanProposed(calls=calls):
                return [f"   📋 For the plan: {short(one.title)}" for one in calls]
            case ev.GrantsRevoked(grants=grants, why=why):
                names = short(", ".join(grants))
                return [f"   🔒 No longer allowed unasked: {names} ({short(why)})"]
            case ev.EffectSimulated(what=what):
                return [f"   👻 Dry run, not done: {short(what)}"]
            case ev.BackgroundStarted():
                return [f"      ⏳ {short(event.text, 200)}"]
            case ev.BackgroundEnded(name=name, words=words):
                return [f"   ⏳ {short(name)} {words}"]
            case ev.CommandChangesLeftOut(text=text) | ev.FilesLost(text=text):
                return [f"   ⚠️  {short(text, 200)}"]
            case _:
                return []

    def is_rejected(self, call_id: str) -> bool:
        """Say whether the user rejected a call, whose result only tells the model so."""
        return call_id in self._turn.rejected

    def _by(self, who: str) -> str:
        """Return who answered, in brackets; nothing where the reader of these lines did."""
        if who == _HERE and not self._with_approvals:
            return ""
        return f" ({'nobody is there' if who == 'nobody' else who.replace('_', ' ')})"

    def _note_answers(self, event: ev.Event) -> None:
        match event:
            case ev.ApprovalRequested(request=request):
                covered = {request.call_id, *(one.call_id for one in request.covers)}
                self._turn.approvals[request.id] = covered
            case ev.ApprovalResolved(approval_id=name, answer=answer) if answer.is_rejection:
                self._turn.rejected |= self._turn.approvals.get(name, set())
            case _:
                pass

    def _write(self, lines: list[str]) -> None:
        if not lines:
            return
        text = "".join(f"{line}\n" for line in lines)
        try:
            self._stream.write(text)
        except UnicodeEncodeError as error:
            # If the stream's encoding lacks the symbols, write the words without them.
            self._stream.write(text.encode(error.encoding, "replace").decode(error.encoding))
        self._stream.flush()

    def _request(self, event: ev.RequestPrepared) -> list[str]:
        self._turn.steps = event.number
        sent = f"{counted(event.messages, 'message')}, " if event.messages else ""
        without = ", text only" if event.text_only else ""
        tokens = f"about {event.estimated_tokens:,} tokens"
        return ["", f"🔄 Step {event.number} → asking the model ({sent}{tokens}{without})"]

    def _recovery(self, event: ev.RecoveryChosen) -> list[str]:
        """Return the line for a recovery; the text of a repeated error is shown once."""
        is_retry = event.action == "retry"
        trouble = event.text.partition(" Trying again in ")[0] if is_retry else ""
        is_new = not is_retry or trouble != self._turn.trouble
        self._turn.trouble = trouble
        if event.action == "fail":
            # The turn's last lines say why.
            return []
        wait = f" in {event.wait_s:g} s" if event.wait_s else ""
        words = f": {short(event.text)}" if event.text and is_new else ""
        return [f"   ↻ {_RECOVERIES.get(event.action, event.action)}{wait}{words}"]

    def _answered(self, event: ev.Answered) -> list[str]:
        calls = event.message.calls
        self._turn.asked |= {call.id: call for call in calls}
        lines: list[str] = []
        if self._with_answers and event.message.text.strip():
            lines.append(f"   💬 {short(event.message.text)}")
        if event.origin == "plan":
            return [*lines, f"   📋 Carrying out {counted(len(calls), 'step')} of the plan"]
        if event.origin == "command":
            return [*lines, f"   📋 {counted(len(calls), 'call')} of the custom command first"]
        if not self._turn.is_heard:
            return [*lines, "   · The model gave no last words; these are made from what happened"]
        what = counted(len(calls), "tool call") if calls else "a final text"
        return [*lines, f"   ✓ The model answered with {what}"]

    def _checked(self, event: ev.FindingsReported) -> list[str]:
        paths = {*event.paths, *(one.path for one in event.findings)}
        shown = [one for path in paths for one in self._findings.get(path, ())]
        self._findings = findings_after(self._findings, event)
        before, found = _of_checkers(shown), _of_checkers(event.findings)
        is_of_review = len(before) < len(shown) or len(found) < len(event.findings)
        if is_of_review and found == before and not (event.problems or event.unanswered):
            return []
        return _checked(event.model_copy(update={"findings": tuple(found)}), before)

    def _result(self, event: ev.ToolCallFinished) -> str:
        result = event.result
        call = self._turn.asked.get(result.call_id)
        # Parallel calls end in any order, so a result may need its call's name.
        is_next = result.call_id == self._turn.last_started
        which = "" if is_next or call is None else f"{call.tool}: "
        seconds = _seconds(result.duration_ms)
        if result.error is not None:
            kind = "WRONG CALL" if result.error is ErrorKind.STRUCTURAL else result.error.upper()
            if self.is_rejected(result.call_id):
                return f"✗ {which}{kind}{seconds}"
            said = result.text.removeprefix("error: ").removeprefix("Denied: ")
            return f"✗ {which}{kind}{seconds}: {short(said)}"
        if result.not_run:
            # What a dry run left out stands in the line above.
            is_told = isinstance(result.data, dict) and "simulated" in result.data
            said = "" if is_told else short(result.text.removeprefix("Skipped: "))
            return f"· {which}{result.not_run.upper()}{said and f': {said}'}"
        said = _last_line(result.text) if call is not None and call.tool == _RUNS else ""
        if result.bad_exit:
            return f"✗ {which}{result.bad_exit}{seconds}{said}"
        return f"✓ {which}OK{seconds}{said}"

    def _closing(self, event: ev.Moved) -> list[str]:
        self._turn.is_heard = False
        steps = counted(self._turn.steps, "step")
        closing = f"🔄 Closing ({event.stop or 'asked to'}, {steps})"
        return [f"⚠️  {short(event.why)}", closing] if event.why else [closing]

    def _ended(self, event: ev.TurnEnded) -> list[str]:
        turn = self._turn
        sign = f"{_SIGNS[event.status]} {STATUS_WORDS[event.status]}"
        stop = "" if event.stop in PLAIN else f" ({event.stop})"
        cost = f", ${turn.usage.cost_usd:.4f}" if turn.usage.cost_usd else ""
        counts = f"{counted(turn.steps, 'step')}, {counted(turn.calls, 'tool call')}"
        return ["", f"{sign}{stop}", f"   {counts}, {turn.usage.total_tokens:,} tokens{cost}"]


def _last_line(text: str) -> str:
    """Return the last line that a command printed: test runners sum up there."""
    lines = text.rstrip().splitlines()[1:]
    # What run_command adds for the model stands behind it in brackets.
    while lines and lines[-1].startswith("(") and lines[-1].endswith(")"):
        lines.pop()
    return f": {short(lines[-1])}" if lines and lines[-1].strip() else ""


def _seconds(duration_ms: int) -> str:
    return f" ({duration_ms / 1000:.1f} s)" if duration_ms >= 100 else ""


def _named(call: ToolCall | ev.ToolCallStarted) -> str:
    # The name of an MCP tool begins with its server's name.
    server, slash, _ = call.tool.partition("/")
    about = summary_of(call.tool, call.arguments_json)
    line = f"{'🌐' if slash else '🔧'} {short(call.tool)}"
    line += f" → {about}" if about else ""
    return f"{line} (MCP: {short(server)})" if slash else line


def _attempt(event: ev.AttemptFinished) -> str:
    if event.failure:
        # The message is shown with the recovery, or at the turn's end.
        return "   ❌ The model did not answer"
    usage = event.usage
    cached = f", {usage.cache_read_tokens:,} cached" if usage.cache_read_tokens else ""
    cost = f", ${usage.cost_usd:.4f}" if usage.cost_usd else ""
    tokens = f"{usage.input_tokens:,} tokens in{cached}, {usage.output_tokens:,} out"
    is_usual = event.finish in (FinishReason.STOP, FinishReason.TOOL_CALLS, None)
    ended = "" if is_usual else f"{str(event.finish).replace('_', ' ')}: "
    return f"   · {ended}{tokens}{cost}, {event.duration_ms / 1000:.1f} s"


def _edited(event: ev.EditApplied) -> str:
    if event.status != "applied":
        return f"✎ {short(event.path)}: {event.status}: {short(event.reason)}"
    return f"✎ {short(event.path)} (+{event.added_lines} -{event.removed_lines})"


def _changed(event: ev.CommandChanged) -> str:
    did = "made" if event.is_new else "removed" if event.is_gone else "changed"
    what = f": {change_words(event.images)}" if event.images is not None else ""
    return f"✎ {short(event.path)} ({did} by the command{what})"


def _of_checkers(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings without a review's, which its answer lists."""
    return [one for one in findings if one.checker != REVIEWER]


def _checked(event: ev.FindingsReported, before: Sequence[Finding]) -> list[str]:
    """Return the lines for findings, the first new ones in full; ``before``: earlier findings."""
    known = Counter(one.fingerprint for one in before)
    new: list[Finding] = []
    for one in event.findings:
        known[one.fingerprint] -= 1
        if known[one.fingerprint] < 0:
            new.append(one)
    count, old = len(event.findings), len(event.findings) - len(new)
    gone = len(before) - old
    parts = (
        counted(len(new), "new finding") if new else "",
        f"{old} as before" if old else "",
        f"{gone} mended" if gone and not event.problems else "",
        "not everything was looked at" if gone and count and event.problems else "",
    )
    words = ", ".join(filter(None, parts))
    sign = f"⚠️  {words}" if count else f"✓ {words}".rstrip()
    if event.problems and not count:
        sign = "nothing found, but not everything was looked at"
    elif event.unanswered and not count:
        sign = f"{words}, nothing more so far" if words else "nothing so far"
    lines = [f"      🔍 Checks: {sign}", *map(_finding, new[:_MAX_FINDINGS])]
    if event.unanswered:
        lines.append(f"      🔍 Still looking: {', '.join(event.unanswered)}")
    return [*lines, *(f"      🔍 {short(problem, 200)}" for problem in event.problems)]


def _finding(finding: Finding) -> str:
    place = f"{finding.path}:{finding.start_line + 1}"
    return f"         {short(f'{place}: {finding.checker} {finding.code} {finding.message}')}"
