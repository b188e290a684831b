"""What was said and done in a turn, in order: prompt, steps with their calls, notes, outcome."""

from __future__ import annotations

from collections.abc import Iterator

from agent_ls.domain.sentences import counted
from agent_ls.observers.report.calls import (
    Beside,
    call_card,
    decision,
    findings,
    hook_note,
    side_note,
)
from agent_ls.observers.report.diffs import Material
from agent_ls.observers.report.html import Html, tag
from agent_ls.observers.report.prose import prose
from agent_ls.observers.report.words import duration, money, tokens
from agent_ls.observers.trace import AttemptTrace, Note, SideTrace, StepTrace, TurnTrace, WaitTrace

_LONG_NOTE = 280
_OPEN_CALLS = 40
"""Changes and failures are unfolded in sessions of up to so many calls."""
_EXPECTED = ("stop", "tool_calls")
_QUIET_NOTES = ("findings", "prefix", "closing")


def conversation(turn: TurnTrace, anchor: str, material: Material) -> Html:
    """Return the turn's conversation; ``anchor`` begins the names of its places."""
    is_open = len(turn.calls) <= _OPEN_CALLS
    waits = {wait.call_id: wait for wait in turn.waits if wait.call_id}
    children = {side.call_id: side for side in turn.sides if side.call_id}
    beside = Beside(waits, children)
    parts = [_said("You", turn.prompt, "prompt", material)]
    told = ""
    for item in turn.items:
        match item:
            case StepTrace():
                parts.append(_step(item, anchor, beside, material, is_open=is_open))
            case Note():
                # What a gate objects to is what the model is told; once is enough.
                if not (item.kind == "nudge" and item.text == told):
                    parts += _note(item, material)
                told = item.text
            case WaitTrace():
                if not item.call_id:
                    parts.append(decision(item))
            case SideTrace():
                if not item.call_id:
                    parts.append(side_note(item, material))
    return tag("div", *parts, class_="conversation")


def _step(
    step: StepTrace,
    anchor: str,
    beside: Beside,
    material: Material,
    *,
    is_open: bool,
) -> Html:
    thinking = None
    if step.reasoning.strip():
        label = f"Thinking, {counted(len(step.reasoning.split()), 'word')}"
        thinking = _folded(label, prose(step.reasoning, material), "thinking")
    said = tag("div", prose(step.text, material), class_="prose") if step.text.strip() else None
    tries = [_attempt(one) for one in step.attempts if one.failure or one.recovery]
    silent = None
    if not (step.is_answered or step.attempts):
        silent = tag("p", "The model had not answered when this ended.", class_="quiet")
    calls = (call_card(one, step, beside, material, is_open) for one in step.calls)
    hooks = [hook_note(one) for one in step.hooks if not one.call_id and one.outcome != "passed"]
    number = tag("a", str(step.number), href=f"#{anchor}s{step.number}", class_="number",
                 aria_label=f"Step {step.number}")  # fmt: skip
    body = tag("div", _meta(step), *hooks, *tries, thinking, said, silent, *calls, class_="body")
    return tag("section", number, body, id=f"{anchor}s{step.number}", class_="step")


def _attempt(one: AttemptTrace) -> Html:
    """Return what became of an attempt that was not simply accepted."""
    pause = f"after {one.wait_s:g} s" if one.wait_s else ""
    what = (one.failure or one.finish).replace("_", " ")
    words = one.recovery_text or one.message
    return tag(
        "div",
        tag("span", what, class_="kind"),
        tag("span", " ".join(filter(None, (one.recovery, pause))), class_="origin"),
        tag("span", words, class_="words"),
        class_="note recovery",
    )


def _meta(step: StepTrace) -> Html:
    usage = step.usage
    share = f" ({usage.cache_read_tokens / usage.input_tokens:.0%} cached)" if (
        usage.input_tokens and usage.cache_read_tokens
    ) else ""  # fmt: skip
    words = [
        duration(sum(one.duration_ms for one in step.attempts)),
        f"{tokens(usage.input_tokens)} in{share}",
        f"{tokens(usage.output_tokens)} out",
        money(usage.cost_usd) if usage.cost_usd else "",
        counted(len(step.attempts), "attempt") if len(step.attempts) > 1 else "",
        "closing words" if step.is_closing else "",
        "text only" if step.input.text_only and not step.is_closing else "",
    ]
    odd = step.finish if step.finish and step.finish not in _EXPECTED else ""
    return tag(
        "div",
        tag("span", " · ".join(filter(None, words))),
        tag("span", odd.replace("_", " "), class_="chip warn") if odd else None,
        class_="meta",
    )


def _note(note: Note, material: Material) -> Iterator[Html]:
    if note.kind in _QUIET_NOTES and not (note.text or note.findings):
        return
    if note.kind.startswith("recovery"):
        return  # It stands with the attempt.
    if note.kind == "steer" or note.kind == "follow_up":
        yield _said("You, meanwhile", note.text, "prompt steer", material)
        return
    head = (tag("span", note.kind.replace("_", " "), class_="kind"),
            tag("span", note.origin, class_="origin"))  # fmt: skip
    if note.kind == "findings":
        yield tag("div", *head, note.text or None, findings(note.findings), class_="note findings")
    elif len(note.text) > _LONG_NOTE:
        first = note.text.strip().partition("\n")[0][:120]
        body = _folded(f"{first} …", prose(note.text, material), "long")
        yield tag("div", *head, body, class_=f"note {note.kind.partition(':')[0]}")
    else:
        words = tag("span", note.text.strip(), class_="words")
        yield tag("div", *head, words, class_=f"note {note.kind.partition(':')[0]}")


def _said(who: str, text: str, kind: str, material: Material) -> Html:
    name = tag("div", who, class_="who")
    return tag("div", name, tag("div", prose(text, material), class_="prose"), class_=kind)


def _folded(label: str, body: Html, kind: str) -> Html:
    return tag("details", tag("summary", label), tag("div", body, class_="prose"), class_=kind)
