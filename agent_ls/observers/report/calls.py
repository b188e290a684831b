"""One tool call: who decided on it, what it changed and brought, what a sub-agent did for it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from agent_ls.domain.findings import Finding
from agent_ls.domain.plain_json import plain_json
from agent_ls.domain.sentences import counted
from agent_ls.observers.call_summary import summary_of
from agent_ls.observers.report.diffs import Material, counts, edit, sizes
from agent_ls.observers.report.html import Html, tag
from agent_ls.observers.report.prose import missing_words, prose
from agent_ls.observers.report.words import cut, duration, money, tokens
from agent_ls.observers.trace import CallTrace, HookTrace, SideTrace, StepTrace, WaitTrace


@dataclass(frozen=True, slots=True)
class Beside:
    """What belongs to calls, by call id."""

    waits: Mapping[str, WaitTrace]
    children: Mapping[str, SideTrace]


def call_card(
    call: CallTrace, step: StepTrace, beside: Beside, material: Material, is_open: bool
) -> Html:
    """Return one call, folded up unless it changed something or failed in a short session."""
    wait, child = beside.waits.get(call.call_id), beside.children.get(call.call_id)
    hooks = [one for one in step.hooks if one.call_id == call.call_id and one.outcome != "passed"]
    is_bad = call.outcome not in ("ok", "open")
    lines = [counts(one, material) for one in call.edits]
    added, removed = sum(one[0] for one in lines), sum(one[1] for one in lines)
    # What a command changed says neither what it was told nor what it wrote.
    is_diff_enough = any(not one.is_by_command for one in call.edits)
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
    parts: list[Html | None] = [decision(wait) if wait else _decided(call), *map(hook_note, hooks)]
    parts.append(side_note(child, material) if child else None)
    if not is_diff_enough:
        parts.append(_arguments(call.arguments_json, material))
    parts += [edit(one, material) for one in call.edits]
    # A diff and the findings below it say more than the result's words.
    if call.text.strip() and (is_bad or not is_diff_enough):
        parts.append(_output(call, material))
    parts.append(findings(call.findings))
    return tag(
        "details",
        head,
        tag("div", *parts, class_="call-body"),
        class_=f"call {call.effect or 'none'}{' failed' if is_bad else ''}",
        open=is_open and (is_bad or bool(call.edits)),
    )


def decision(wait: WaitTrace) -> Html:
    """Return what a person was asked, who answered, what and why."""
    answer = wait.answer.replace("_", " ") or "no answer"
    title, _, rest = wait.title.partition("\n")
    good = "ok" if wait.answer.startswith("allow") or wait.kind == "question" else "bad"
    words = tag("span", f"“{wait.note}”", class_="words") if wait.note else None
    rule = (
        tag("span", f"rule for the session: {wait.grant}", class_="quiet") if wait.grant else None
    )
    by = f"by {wait.answered_by or 'nobody'} after {duration(wait.duration_ms)}"
    return tag(
        "div",
        tag("span", "asked" if wait.kind == "approval" else "question", class_="kind wait"),
        tag("span", title, class_="title"),
        tag("span", wait.reason, class_="quiet") if wait.reason else None,
        tag("span", answer, class_=f"chip {good}"),
        tag("span", by, class_="quiet"),
        words,
        rule,
        tag("pre", rest.strip("\n"), class_="output", tabindex=0) if rest.strip() else None,
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


def _decided(call: CallTrace) -> Html | None:
    if not call.decision or call.decision == "allow":
        return None
    words = f"{call.decided_by}: {call.decision}"
    return tag("p", tag("span", words, class_="kind"), " ", call.reason, class_="reason")


def _arguments(arguments_json: str, material: Material) -> Html | None:
    """Return arguments as names and values; as they are when they are no object."""
    try:
        given: object = plain_json(arguments_json or "{}")
    except ValueError:
        given = None
    if not isinstance(given, dict):
        shown, missing = cut(arguments_json, material.max_characters)
        return tag("pre", shown, missing_words(missing), class_="output", tabindex=0)
    rows: list[Html] = []
    for name, value in cast("dict[str, object]", given).items():
        text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
        shown, missing = cut(text, material.max_characters)
        rows += [tag("dt", name), tag("dd", shown, missing_words(missing))]
    return tag("dl", *rows, class_="arguments") if rows else None


def _output(call: CallTrace, material: Material) -> Html:
    shown, missing = cut(call.text, material.max_characters)
    return tag("pre", shown, missing_words(missing), class_="output", tabindex=0)


def hook_note(one: HookTrace) -> Html:
    """Return what a hook of the user's did."""
    return tag(
        "div",
        tag("span", f"hook {one.name}", class_="kind"),
        tag("span", f"{one.moment} {one.outcome}", class_="origin"),
        tag("span", one.text, class_="words") if one.text else None,
        class_="note hook",
    )


def side_note(side: SideTrace, material: Material) -> Html:
    """Return what another model, or a sub-agent, was asked and said."""
    usage = side.usage
    facts = [duration(side.duration_ms), f"{tokens(usage.total_tokens)} tokens"]
    facts += [money(usage.cost_usd)] if usage.cost_usd else []
    facts += [counted(side.steps, "step"), side.session_id] if side.kind == "child" else []
    name = side.origin if side.kind == "child" else f"{side.origin} asked {side.model}"
    said = side.failure or side.text
    return tag(
        "div",
        tag("span", "sub-agent" if side.kind == "child" else "side question", class_="kind"),
        tag("span", name, class_="origin"),
        tag("span", " · ".join(facts)),
        tag("div", prose(side.task, material), class_="prose") if side.task else None,
        tag("div", prose(said, material), class_="prose") if said else None,
        class_="note side",
    )
