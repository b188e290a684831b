"""The whole page: head, summary, one chapter per turn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agent_ls.domain.sentences import counted
from agent_ls.observers.report.calls import decision
from agent_ls.observers.report.charts import Column, charts, legend
from agent_ls.observers.report.conversation import conversation
from agent_ls.observers.report.diffs import Material, counts, sizes
from agent_ls.observers.report.html import Html, join, tag
from agent_ls.observers.report.prose import prose
from agent_ls.observers.report.timeline import timeline
from agent_ls.observers.report.words import duration, moment, money, tokens
from agent_ls.observers.trace import SessionTrace, TurnTrace

_STYLE = Path(__file__).with_name("style.css")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"
_TEXTS_BYTES = 900_000
"""Roughly what the texts of all calls and steps together may take."""
_FILES = 15
"""Of the changed files so many are listed; the others are folded up."""
_MOST, _LEAST = 8_000, 500
_LEGEND = (
    ("model", "model"),
    ("read", "reads"),
    ("write", "edits"),
    ("execute", "commands"),
    ("delegate", "sub-agents"),
    ("wait", "waiting for you"),
    ("loop", "gates and compaction"),
    ("hook", "hooks"),
    ("bad", "failed"),
)
_TICKS = {"completed": "✓", "in_progress": "▸"}
_WORDS = {
    "success": "Done",
    "partial": "Partly done",
    "failed": "Failed",
    "escalated": "Needs you",
    "cancelled": "Cancelled",
    "running": "Not ended",
}


def page(session: SessionTrace, blobs: Mapping[str, bytes], version: str = "") -> str:
    """Return the page of a session."""
    material = _material(session, blobs)
    first = session.turns[0].prompt if session.turns else "An empty session"
    title = first.strip().partition("\n")[0][:100]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} – agent-ls"),
        tag("style", Html(_STYLE.read_text("utf-8"))),
    )
    chapters = (
        _chapter(turn, f"t{number}", number, session, material)
        for number, turn in enumerate(session.turns, 1)
    )
    body = tag(
        "body",
        tag("a", "Skip to the conversation", href="#t1c", class_="skip"),
        tag("main", _summary(session, title), _contents(session), *chapters),
        tag("footer", _colophon(session, version)),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _material(session: SessionTrace, blobs: Mapping[str, bytes]) -> Material:
    """Return the limits: the more there is to show, the less of each."""
    texts = sum(2 * len(turn.calls) + len(turn.steps) for turn in session.turns)
    limit = max(_LEAST, min(_MOST, _TEXTS_BYTES // max(1, texts)))
    return Material(blobs, limit, max_diff_lines=max(20, limit // 20))


def _summary(session: SessionTrace, title: str) -> Html:
    turns, usage = session.turns, session.usage
    last = turns[-1] if turns else None
    calls = [call for turn in turns for call in turn.calls]
    failed = sum(call.outcome not in ("ok", "open") for call in calls)
    cached = usage.cache_read_tokens / usage.input_tokens if usage.input_tokens else 0
    share = f"{cached:.0%} from the cache" if cached else "none from the cache"
    waited = sum(wait.duration_ms for turn in turns for wait in turn.waits)
    worked = sum(turn.duration_ms for turn in turns)
    tiles = (
        ("Time", duration(worked), f"{duration(waited)} of it waiting for you" if waited else ""),
        ("Steps", f"{sum(not step.is_closing for turn in turns for step in turn.steps):,}",
         counted(len(turns), "turn") if len(turns) > 1 else ""),
        ("Tool calls", f"{len(calls):,}", f"{failed} failed" if failed else "none failed"),
        ("Tokens in", tokens(usage.input_tokens), share),
        ("Tokens out", tokens(usage.output_tokens),
         f"{tokens(usage.reasoning_tokens)} thinking" if usage.reasoning_tokens else ""),
        ("Cost", money(usage.cost_usd, of_tokens=usage.total_tokens), ""),
    )  # fmt: skip
    status = last.status if last else "running"
    return tag(
        "header",
        tag("div", _pill(status, last.stop if last else ""),
            tag("span", "Dry run: nothing was changed", class_="pill partial")
            if session.is_dry_run else None,
            tag("span", session.model or "no model"), tag("span", f"mode {session.mode}"),
            tag("span", moment(turns[0].started_ms)) if turns else None, class_="top"),
        tag("h1", title),
        tag("dl", *(_tile(*one) for one in tiles), class_="tiles"),
    )  # fmt: skip


def _tile(name: str, value: str, note: str) -> Html:
    return tag("div", tag("dt", name), tag("dd", value), tag("dd", note or " ", class_="sub"))


def _pill(status: str, stop: str) -> Html:
    reason = f" · {stop.replace('_', ' ')}" if stop and stop != "completed" else ""
    return tag("span", f"{_WORDS.get(status, status)}{reason}", class_=f"pill {status}")


def _contents(session: SessionTrace) -> Html | None:
    if len(session.turns) < 2:
        return None
    items = (
        tag("li", tag("a", turn.prompt.strip().partition("\n")[0][:80] or "…", href=f"#t{number}"),
            " ", _pill(turn.status, turn.stop))
        for number, turn in enumerate(session.turns, 1)
    )  # fmt: skip
    return tag("nav", tag("h2", "Turns"), tag("ol", *items), aria_label="Turns", class_="card")


def _chapter(
    turn: TurnTrace, anchor: str, number: int, session: SessionTrace, material: Material
) -> Html:
    name = "" if len(session.turns) == 1 else f"Turn {number}: "
    columns = [
        Column(step, f"{anchor}s{step.number}", begins_turn=index == 0)
        for index, step in enumerate(turn.steps)
    ]
    drawings = None
    if columns:
        drawings = join(
            tag("section", tag("h2", f"{name}Timeline", tag("span", _span(turn), class_="quiet")),
                _legend(turn), timeline(turn, anchor),
                class_="card"),
            tag("section", tag("h2", f"{name}Tokens, cost and time per step"), legend(columns),
                charts(columns), class_="card"),
        )  # fmt: skip
    return tag(
        "article",
        drawings,
        _plan(turn, name),
        _files(turn, name, material),
        _decisions(turn, anchor, name),
        tag("section", tag("h2", f"{name}Conversation"), _filters(anchor),
            conversation(turn, anchor, material), _outcome(turn, material),
            id=f"{anchor}c", class_="card talk"),
        id=anchor,
    )  # fmt: skip


def _span(turn: TurnTrace) -> str:
    return f" {duration(turn.duration_ms)}" if turn.ended_ms is not None else ""


def _legend(turn: TurnTrace) -> Html:
    there = {call.effect for call in turn.calls if call.run} | {"model"}
    there |= {"wait"} if turn.waits else set()
    there |= {"loop"} if any(one.phase in ("judge", "compact") for one in turn.phases) else set()
    there |= {"hook"} if any(step.hooks for step in turn.steps) else set()
    hooks = [one.outcome for step in turn.steps for one in step.hooks]
    is_bad = {"failed", "timed out", "blocked", "found something"}.intersection(hooks)
    there |= {"bad"} if is_bad or any(one.outcome != "ok" for one in turn.calls) else set()
    items = (
        tag("li", tag("span", class_=f"dot {kind}"), words)
        for kind, words in _LEGEND
        if kind in there
    )
    return tag("ul", *items, class_="legend")


def _plan(turn: TurnTrace, name: str) -> Html | None:
    if not turn.plan:
        return None
    items = (
        tag("li", tag("span", _TICKS.get(one.status, "○"), class_=f"tick {one.status}"), one.text,
            tag("span", f" {one.status.replace('_', ' ')}", class_="quiet"))
        for one in turn.plan
    )  # fmt: skip
    return tag("section", tag("h2", f"{name}Plan"), tag("ul", *items, class_="plan"), class_="card")


def _files(turn: TurnTrace, name: str, material: Material) -> Html | None:
    """Return the files that changed, with the steps that did it."""
    changed: dict[str, list[int]] = {}
    for call in turn.calls:
        for one in call.edits:
            if one.status == "applied":
                added, removed = counts(one, material)
                sums = changed.setdefault(one.new_path or one.path, [0, 0, 0])
                sums[0] += added
                sums[1] += removed
                sums[2] += 1
    if not changed:
        return None
    rows = [
        tag("li", tag("code", path), sizes(added, removed),
            tag("span", counted(edits, "edit"), class_="quiet"))
        for path, (added, removed, edits) in sorted(changed.items())
    ]  # fmt: skip
    first = tag("ul", *rows[:_FILES], class_="files")
    rest = rows[_FILES:]
    more = None
    if rest:
        words = tag("summary", f"{counted(len(rest), 'more file')}")
        more = tag("details", words, tag("ul", *rest, class_="files"), class_="long")
    return tag("section", tag("h2", f"{name}Files changed"), first, more, class_="card")


def _decisions(turn: TurnTrace, anchor: str, name: str) -> Html | None:
    if not turn.waits:
        return None
    return tag("section", tag("h2", f"{name}Decisions"), *map(decision, turn.waits),
               id=f"{anchor}d", class_="card")  # fmt: skip


def _filters(anchor: str) -> Html:
    """Return switches that work without a script: the style looks at what is checked."""
    choices = (("reads", "Hide reads"), ("notes", "Hide the loop's notes"))
    labels = (
        tag("label", tag("input", type="checkbox", class_=f"hide-{kind}"), f" {words}")
        for kind, words in choices
    )
    return tag("div", *labels, class_="filters")


def _outcome(turn: TurnTrace, material: Material) -> Html:
    failure = tag("p", turn.failure_reason, class_="reason") if turn.failure_reason else None
    tasks = None
    if turn.open_tasks:
        tasks = join(
            tag("p", "Left open:"), tag("ul", *(tag("li", one) for one in turn.open_tasks))
        )
    said = turn.steps[-1].text.strip() if turn.steps else ""
    output = None
    if turn.output.strip() and turn.output.strip() != said:
        output = tag("div", prose(turn.output, material), class_="prose")
    head = tag("div", _pill(turn.status, turn.stop), class_="top")
    return tag("div", head, failure, output, tasks, class_=f"outcome {turn.status}")


def _colophon(session: SessionTrace, version: str) -> Html:
    name = f"agent-ls {version}".strip()
    return join(
        tag("p", f"Session {session.session_id}. Written by {name} from the session's journal; "
            "this page loads nothing and runs no script."),
        tag("p", f"Folders: {', '.join(session.roots)}") if session.roots else None,
    )  # fmt: skip
