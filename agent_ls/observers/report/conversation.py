"""What was said and done in a turn, in order: prompt, steps with their calls, notes, outcome."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import cast

from agent_ls.domain.findings import Finding
from agent_ls.observers.call_summary import summary_of
from agent_ls.observers.report.diffs import Material, edit, sizes
from agent_ls.observers.report.html import Html, join, tag
from agent_ls.observers.report.words import counted, cut, duration, money, tokens
from agent_ls.observers.trace import AttemptTrace, CallTrace, Note, StepTrace, TurnTrace, WaitTrace

_FENCE = re.compile(r"^```[^\n]*\n(.*?)(?:^```[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_LONG_NOTE = 280
_OPEN_CALLS = 40
"""Changes and failures are unfolded in sessions of up to so many calls."""
_EXPECTED = ("stop", "tool_calls")
_QUIET_NOTES = ("findings", "prefix", "closing")


def conversation(turn: TurnTrace, anchor: str, material: Material) -> Html:
    """Return the turn's conversation; ``anchor`` begins the names of its places."""
    is_open = len(turn.calls) <= _OPEN_CALLS
    waits = {wait.call_id: wait for wait in turn.waits if wait.call_id}
    parts = [_said("You", turn.prompt, "prompt", material)]
    told = ""
    for item in turn.items:
        match item:
            case StepTrace():
                parts.append(_step(item, anchor, waits, material, is_open=is_open))
            case Note():
                # What a gate objects to is what the model is told; once is enough.
                if not (item.kind == "nudge" and item.text == told):
                    parts += _note(item, material)
                told = item.text
            case WaitTrace():
                if not item.call_id:
                    parts.append(decision(item))
    return tag("div", *parts, class_="conversation")


def prose(text: str, material: Material) -> Html:
    """Return a model's or a person's text: code set apart, everything else as it was written."""
    shown, missing = cut(text.strip("\n"), material.max_characters)
    parts: list[Html] = []
    at = 0
    for fence in _FENCE.finditer(shown):
        parts += _paragraphs(shown[at : fence.start()])
        parts.append(tag("pre", fence.group(1).rstrip("\n"), class_="code", tabindex=0))
        at = fence.end()
    parts += _paragraphs(shown[at:])
    return join(*parts, _missing(missing))


def decision(wait: WaitTrace) -> Html:
    """Return what a person was asked, who answered, what and why."""
    answer = wait.answer.replace("_", " ") or "no answer"
    good = "ok" if wait.answer.startswith("allow") or wait.kind == "question" else "bad"
    words = tag("span", f"“{wait.note}”", class_="words") if wait.note else None
    rule = (
        tag("span", f"rule for the session: {wait.grant}", class_="quiet") if wait.grant else None
    )
    by = f"by {wait.answered_by or 'nobody'} after {duration(wait.duration_ms)}"
    return tag(
        "div",
        tag("span", "asked" if wait.kind == "approval" else "question", class_="kind wait"),
        tag("span", wait.title, class_="title"),
        tag("span", wait.reason, class_="quiet") if wait.reason else None,
        tag("span", answer, class_=f"chip {good}"),
        tag("span", by, class_="quiet"),
        words,
        rule,
        class_="decision",
    )


def findings(found: tuple[Finding, ...] | list[Finding]) -> Html | None:
    """Return what checkers found, as a list."""
    if not found:
        return None
    items = [
        tag(
            "li",
            tag("span", one.severity.value, class_=f"sev {one.severity.value}"),
            tag("code", f"{one.path}:{one.start_line + 1}"),
            f" {one.message} ",
            tag("span", f"{one.checker} {one.code}".strip(), class_="quiet"),
        )
        for one in found[:50]
    ]
    more = len(found) - len(items)
    return tag("ul", *items, tag("li", f"… {more} more") if more > 0 else None, class_="findings")


def _step(
    step: StepTrace,
    anchor: str,
    waits: Mapping[str, WaitTrace],
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
    calls = (_call(one, waits.get(one.call_id), material, is_open) for one in step.calls)
    number = tag("a", str(step.number), href=f"#{anchor}s{step.number}", class_="number",
                 aria_label=f"Step {step.number}")  # fmt: skip
    body = tag("div", _meta(step), *tries, thinking, said, silent, *calls, class_="body")
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
        "text only" if step.input.text_only else "",
    ]
    odd = step.finish if step.finish and step.finish not in _EXPECTED else ""
    return tag(
        "div",
        tag("span", " · ".join(filter(None, words))),
        tag("span", odd.replace("_", " "), class_="chip warn") if odd else None,
        class_="meta",
    )


def _call(call: CallTrace, wait: WaitTrace | None, material: Material, is_open: bool) -> Html:
    is_bad = call.outcome not in ("ok", "open")
    added = sum(one.added_lines for one in call.edits)
    removed = sum(one.removed_lines for one in call.edits)
    head = tag(
        "summary",
        tag("span", class_=f"dot {call.effect or 'none'}"),
        tag("span", call.tool, class_="tool"),
        tag("span", summary_of(call.tool, call.arguments_json), class_="about"),
        sizes(added, removed) if added or removed else None,
        tag("span", duration(call.duration_ms), class_="quiet") if call.duration_ms else None,
        tag("span", call.outcome, class_="chip bad" if is_bad else "chip warn")
        if call.outcome != "ok"
        else tag("span", "ok", class_="chip ok"),
    )
    parts: list[Html | None] = [decision(wait) if wait else _decided(call)]
    if not call.edits:
        parts.append(_arguments(call.arguments_json, material))
    parts += [edit(one, material) for one in call.edits]
    # A diff and the findings below it say more than the result's words.
    if call.text.strip() and (is_bad or not call.edits):
        parts.append(_output(call, material))
    parts.append(findings(call.findings))
    return tag(
        "details",
        head,
        tag("div", *parts, class_="call-body"),
        class_=f"call {call.effect or 'none'}{' failed' if is_bad else ''}",
        open=is_open and (is_bad or bool(call.edits)),
    )


def _decided(call: CallTrace) -> Html | None:
    if not call.decision or call.decision == "allow":
        return None
    words = f"{call.decided_by}: {call.decision}"
    return tag("p", tag("span", words, class_="kind"), " ", call.reason, class_="reason")


def _arguments(arguments_json: str, material: Material) -> Html | None:
    """Return arguments as names and values; as they are when they are no object."""
    try:
        given: object = json.loads(arguments_json or "{}")
    except ValueError:
        given = None
    if not isinstance(given, dict):
        shown, missing = cut(arguments_json, material.max_characters)
        return tag("pre", shown, _missing(missing), class_="output", tabindex=0)
    rows: list[Html] = []
    for name, value in cast("dict[str, object]", given).items():
        text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
        shown, missing = cut(text, material.max_characters)
        rows += [tag("dt", name), tag("dd", shown, _missing(missing))]
    return tag("dl", *rows, class_="arguments") if rows else None


def _output(call: CallTrace, material: Material) -> Html:
    shown, missing = cut(call.text, material.max_characters)
    return tag("pre", shown, _missing(missing), class_="output", tabindex=0)


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


def _paragraphs(text: str) -> Iterator[Html]:
    for paragraph in re.split(r"\n{2,}", text.strip("\n")):
        if paragraph.strip():
            # Every second piece is what stands between backticks.
            pieces = _CODE.split(paragraph)
            yield tag("p", *(tag("code", one) if at % 2 else one for at, one in enumerate(pieces)))


def _missing(count: int) -> Html | None:
    return tag("span", f"… {counted(count, 'more character')}", class_="more") if count else None
