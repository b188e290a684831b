"""The lines of the log for a person that need no memory of what came before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from agent_ls.domain import events as ev
from agent_ls.domain.findings import Finding
from agent_ls.domain.images import change_words
from agent_ls.domain.sentences import counted
from agent_ls.observers.call_summary import short, summary_of

_MAX_FINDINGS = 5


def of_policies(event: ev.Event) -> list[str]:
    """Return the lines of what checks, gates and compactors have to say."""
    match event:
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
        case _:
            return _of_permissions(event)


def _of_permissions(event: ev.Event) -> list[str]:
    """Return the lines of what a person was asked, and of what may not happen."""
    match event:
        case ev.QuestionAsked(question=question):
            return [f"   ❓ {short(question.text)} ({question.origin})"]
        case ev.QuestionResolved(answer=answer):
            return [f"      ↳ {short(answer.text) or 'no answer'} ({answer.by})"]
        case _:
            return _of_plans(event)


def _of_plans(event: ev.Event) -> list[str]:
    """Return the lines of what does not happen now, or not unasked any more."""
    match event:
        case ev.PlanProposed(calls=calls):
            return [f"   📋 For the plan: {short(one.title)}" for one in calls]
        case ev.GrantsRevoked(grants=grants, why=why):
            return [f"   🔒 No longer allowed unasked: {short(', '.join(grants))} ({short(why)})"]
        case ev.EffectSimulated(what=what):
            return [f"   👻 Dry run, not done: {short(what)}"]
        case ev.CommandChangesLeftOut(text=text):
            return [f"   ⚠️  {short(text, 200)}"]
        case _:
            return []


def named(tool: str, arguments_json: str) -> str:
    """Return a call's line: what is called, and about what."""
    # The name of a tool from elsewhere begins with its server's.
    server, slash, _ = tool.partition("/")
    about = summary_of(tool, arguments_json)
    line = f"{'🌐' if slash else '🔧'} {short(tool)}"
    line += f" → {about}" if about else ""
    return f"{line} (MCP: {short(server)})" if slash else line


def attempt(event: ev.AttemptFinished) -> str:
    """Return what a request came to."""
    if event.failure:
        # What it said stands where somebody decides what to do about it, or at the turn's end.
        return f"   ❌ Model: {event.failure}"
    usage = event.usage
    cached = f", {usage.cache_read_tokens:,} cached" if usage.cache_read_tokens else ""
    cost = f", ${usage.cost_usd:.4f}" if usage.cost_usd else ""
    tokens = f"{usage.input_tokens:,} tokens in{cached}, {usage.output_tokens:,} out"
    return f"   · {event.finish}: {tokens}{cost}, {event.duration_ms / 1000:.1f} s"


def recovery(event: ev.RecoveryChosen, told: str) -> list[str]:
    """Return what is done about a request that failed; ``told``: what of it was said before."""
    if event.action == "fail":
        # The turn's end says why.
        return []
    wait = f" in {event.wait_s:g} s" if event.wait_s else ""
    is_new = event.action != "retry" or trouble_of(event) != told
    words = f": {short(event.text)}" if event.text and is_new else ""
    return [f"   ↻ {event.origin}: {event.action}{wait}{words}"]


def trouble_of(event: ev.RecoveryChosen) -> str:
    """Return what went wrong, without what is done about it."""
    return event.text.partition(" Trying again in ")[0] if event.action == "retry" else ""


def edited(event: ev.EditApplied) -> str:
    """Return what became of an edit."""
    if event.status == "applied":
        return f"✎ {short(event.path)} (+{event.added_lines} -{event.removed_lines})"
    return f"✎ {short(event.path)}: {event.status}: {short(event.reason)}"


def changed(event: ev.CommandChanged) -> str:
    """Return what a command did to a file."""
    did = "removed" if event.is_gone else "changed"
    if event.is_new:
        did = "made"
    what = f": {change_words(event.images)}" if event.images is not None else ""
    return f"✎ {short(event.path)} ({did} by the command{what})"


def checked(event: ev.FindingsReported, before: Sequence[Finding] = ()) -> list[str]:
    """Return what checkers found, the first new ones in full; ``before``: what they had found."""
    known = Counter(map(_identity, before))
    new = [one for one in event.findings if not _is_in(one, known)]
    count, old = len(event.findings), len(event.findings) - len(new)
    mended = 0 if event.unanswered or event.problems else len(before) - old
    parts = [f"{counted(len(new), 'new finding')}" if new else ""]
    parts += [f"{old} as before" if old else "", f"{mended} mended" if mended else ""]
    words = ", ".join(filter(None, parts))
    sign = f"⚠️  {words}" if count else f"✓ {words}".rstrip()
    if event.problems and not count:
        sign = "nothing found, but not everything was looked at"
    elif event.unanswered and not count:
        sign = "nothing so far"
    lines = [f"      🔍 Checks: {sign}", *map(_finding, new[:_MAX_FINDINGS])]
    if event.unanswered:
        lines.append(f"      🔍 Still looking: {', '.join(event.unanswered)}")
    return [*lines, *(f"      🔍 {short(problem, 200)}" for problem in event.problems)]


def _identity(finding: Finding) -> tuple[str, str, str, str]:
    """Return what a finding is, wherever in its file it has moved to."""
    return finding.path, finding.checker, finding.code, finding.message


def _is_in(finding: Finding, known: Counter[tuple[str, str, str, str]]) -> bool:
    """Say whether it is one of the known ones, and take it out of them."""
    known[_identity(finding)] -= 1
    return known[_identity(finding)] >= 0


def _finding(finding: Finding) -> str:
    place = f"{finding.path}:{finding.start_line + 1}"
    return f"         {short(f'{place}: {finding.checker} {finding.code} {finding.message}')}"
