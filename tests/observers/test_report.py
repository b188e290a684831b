"""The page that shows what a session did: its parts, its size, and what hostile texts do in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser

import pytest

from agent_ls.domain import events as ev
from agent_ls.domain.agents import AgentReport
from agent_ls.domain.approvals import Question, QuestionAnswer
from agent_ls.domain.calls import Effect, ErrorKind, ToolCall, ToolResult
from agent_ls.domain.edits import CreateFile
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.modes import Mode
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.domain.usage import Usage
from agent_ls.observers.report.drawings import TimeScale
from agent_ls.observers.report.page import page
from agent_ls.observers.tracing import trace_of
from tests.observers.stories import (
    BLOBS,
    COMMAND,
    NASTY,
    Journal,
    asked,
    begun,
    call,
    ended,
    eventful,
    finished,
    long,
    started,
)

_VOID = {"meta", "br", "input"}
_ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "main", "header", "footer", "article"),
    *("section", "nav", "div", "span", "p", "a", "h1", "h2", "ul", "ol", "li", "dl", "dt", "dd"),
    *("details", "summary", "pre", "code", "label", "input"),
    *("svg", "g", "rect", "line", "circle", "text"),
}


@dataclass
class Parsed(HTMLParser):
    """A page as its elements; fails on what is not closed."""

    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text.append(data)

    def all(self, name: str, **wanted: str) -> list[dict[str, str | None]]:
        return [
            given
            for one, given in self.elements
            if one == name and all(given.get(key.rstrip("_")) == value
                                   for key, value in wanted.items())
        ]  # fmt: skip


def check(journal: Journal, blobs: Mapping[str, bytes] | None = None) -> Parsed:
    """Return the parsed page of a journal, which must be whole and self-contained."""
    text = page(trace_of(journal.stored), blobs if blobs is not None else BLOBS, "1.2.3")
    parsed = Parsed()
    parsed.feed(text)
    parsed.close()
    assert parsed.open == []
    assert {name for name, _ in parsed.elements} <= _ALLOWED
    for _, given in parsed.elements:
        assert not any(name.startswith("on") or name == "src" for name in given)
        assert (given.get("href") or "#").startswith("#")
    names = [given["id"] for _, given in parsed.elements if "id" in given]
    assert len(names) == len(set(names))
    return parsed


def said(parsed: Parsed) -> str:
    return re.sub(r"\s+", " ", " ".join(parsed.text))


def test_the_head_says_how_it_went_and_what_it_took() -> None:
    words = said(check(eventful()))
    for part in (
        "Done openai/x mode ask",
        "Rename a to b",
        "Time 1 min 06 s 1 min 00 s of it waiting for you",
        "Steps 4",
        "Tool calls 4 1 failed",
        "Tokens in 5.0k 48% from the cache",
        "Tokens out 220 20 thinking",
        "Cost $0.0100",
    ):
        assert part in words


def test_the_page_loads_nothing_and_says_so_to_the_browser() -> None:
    (policy,) = check(eventful()).all("meta", **{"http-equiv": "Content-Security-Policy"})
    assert (policy["content"] or "").startswith("default-src 'none'; style-src 'unsafe-inline'")


def test_every_link_leads_somewhere() -> None:
    for journal, blobs in ((eventful(), BLOBS), long(30)):
        parsed = check(journal, blobs)
        names = {given["id"] for _, given in parsed.elements if "id" in given}
        links = {(given["href"] or "")[1:] for given in parsed.all("a")}
        assert links <= names


def test_the_timeline_has_a_bar_for_everything_that_took_time() -> None:
    parsed = check(eventful())
    bars = [given["class"] for given in parsed.all("rect")]
    assert bars.count("model") == 4 + 4  # In the timeline, and in the chart of times.
    assert bars.count("model bad") == 1
    assert bars.count("pause") == 1
    assert bars.count("read") == 2
    assert bars.count("write") == 1
    assert bars.count("wait") == 1
    assert bars.count("idle") == 1
    (gate,) = [given for given in parsed.all("circle") if given["class"] == "bad"]
    assert gate


def test_calls_that_ran_at_once_stand_below_each_other() -> None:
    reads = check(eventful()).all("rect", class_="read")
    assert len({given["y"] for given in reads}) == 2
    assert len({given["x"] for given in reads}) == 1


def test_an_edit_is_shown_as_a_coloured_diff() -> None:
    parsed = check(eventful())
    assert parsed.all("span", class_="del")
    assert parsed.all("span", class_="add")
    words = said(parsed)
    assert "-a = 1" in words
    assert "+b = 1" in words
    assert "error app.py:1 undefined `b` ruff F821" in words


def test_a_decision_says_who_and_why() -> None:
    assert (
        "asked Edit app.py it edits allow session by code_action after 1 min 00 s “go on” "
        "rule for the session: edit"
    ) in said(check(eventful()))


def test_a_refused_call_says_who_refused_it() -> None:
    words = said(check(eventful()))
    assert "command_guard: deny it deploys" in words
    assert words.count("Denied: it deploys") == 1


def test_what_a_gate_says_stands_there_once() -> None:
    words = said(check(eventful()))
    assert words.count("gate compile 1 problem") == 1
    assert "nudge" not in words


def test_a_hook_and_a_retry_stand_with_their_step() -> None:
    words = said(check(eventful()))
    assert "hook redact before_llm_call changed system prompt" in words
    assert "rate limited transport: retry after 2 s busy" in words


def test_code_in_an_answer_is_set_apart() -> None:
    journal = begun()
    asked(journal, 1, text="Use `x`:\n\n```python\nprint('<b>')\n```\n\nThat is all.")
    ended(journal)
    parsed = check(journal)
    assert len(parsed.all("pre", class_="code")) == 1
    assert len(parsed.all("code")) == 1
    assert "print('<b>')" in said(parsed)


def test_a_session_that_was_cut_off_is_shown_as_far_as_it_went() -> None:
    journal = begun()
    asked(journal, 1, call(1, "read_file", path="a"))
    journal.add(4, started(call(1, "read_file", path="a")))
    assert "Not ended" in said(check(journal))


def test_a_session_without_a_turn_has_a_page() -> None:
    journal = begun()
    journal.stored = journal.stored[:1]
    assert "An empty session" in said(check(journal))


def whole_day() -> Journal:
    """Return two turns with a question, a side model, a sub-agent, a steer and a limit."""
    journal = eventful()
    journal.add(60_000, ev.TurnStarted(turn_id="trn_2", prompt="And the docs?"))
    delegate = call(9, "delegate", kind="explore", task="Look")
    asked(journal, 1, delegate, text="I ask.")
    question = Question(id="qst_1", turn_id="trn_2", origin="ask_user", text="Which?\n1. a\n2. b")
    journal.add(
        5,
        ev.PromptQueued(text="Only the **first** page.", kind="steer"),
        ev.QuestionAsked(question=question),
    )
    journal.add(
        3_700_000,
        ev.QuestionResolved(question_id="qst_1", answer=QuestionAnswer(text="2", by="panel")),
        started(delegate, Effect.DELEGATE),
        ev.ChildStarted(
            call_id="cal_9", child_id="ses_9", kind="explore", task="Look", mode=Mode.PLAN
        ),
    )
    journal.add(
        9_000,
        ev.ChildEnded(
            call_id="cal_9", child_id="ses_9", kind="explore", stop=StopReason.COMPLETED,
            report=AgentReport(findings=("docs/a.md:1",)), steps=2, usage=Usage(input_tokens=9),
        ),
        finished(delegate, "found", took_ms=9_000),
        ev.AdviceGiven(
            origin="confidence", model="small", text="0.3\nNot really.",
            usage=Usage(input_tokens=10, cost_usd=1.5), duration_ms=800,
        ),
        ev.NudgeAdded(origin="monitor_alert", text="Think of something else. " * 20),
        ev.Moved(to=Phase.CLOSE, stop=StopReason.MAX_STEPS, why="Used up."),
        ev.AttemptFinished(step_id="stp_9", finish=FinishReason.LENGTH, duration_ms=100),
        ev.Answered(step_id="stp_9", message=AssistantMessage(text="Half of it.")),
        ev.TurnEnded(
            turn_id="trn_2", stop=StopReason.MAX_STEPS, status=TurnStatus.PARTIAL,
            output="Half of it, in other words.", failure_reason="Used up.",
            open_tasks=("The other half",),
        ),
    )  # fmt: skip
    return journal


def test_a_session_of_several_turns_has_a_chapter_for_each() -> None:
    parsed = check(whole_day())
    words = said(parsed)
    assert len(parsed.all("article")) == 2
    assert "Turns Rename a to b Done And the docs? Partly done · max steps" in words
    assert "Turn 2: Timeline 1 h 01 min" in words
    assert "Steps 5 2 turns" in words
    assert "Cost $1.51" in words


def test_a_user_a_side_model_and_a_sub_agent_have_their_say() -> None:
    words = said(check(whole_day()))
    for part in (
        "You, meanwhile Only the **first** page.",
        "question Which? 2 by panel after 1 h 01 min 1. a 2. b",
        "sub-agent explore 9.0 s · 9 tokens · 2 steps · ses_9 Look findings: docs/a.md:1",
        "side question confidence asked small 800 ms · 10 tokens · $1.50 0.3 Not really.",
        "closing max_steps Used up.",
        "closing words length Half of it.",
        "Used up. Half of it, in other words. Left open: The other half",
    ):
        assert part in words


def test_a_long_note_is_folded_up() -> None:
    parsed = check(whole_day())
    assert len(parsed.all("details", class_="long")) == 1


def test_a_change_in_a_long_line_is_shown_in_its_surroundings() -> None:
    part = b"var a=1;" * 2_000
    words = said(check(eventful(), {"d1": part + b"x=1;" + part, "d2": part + b"x=2;" + part}))
    assert "var a=1;x=1;var a=1;" in words
    assert "var a=1;x=2;var a=1;" in words
    assert words.count("var a=1;") < 100
    assert "(15922 characters left out)" in words


def test_files_that_the_store_has_lost_are_said_to_be_missing() -> None:
    assert "no longer in the store" in said(check(eventful(), {}))


def test_bytes_that_are_no_text_are_not_shown() -> None:
    assert "Not a text file." in said(check(eventful(), {"d1": b"\x00\x01", "d2": b"\xff"}))


def hostile() -> Journal:
    """Return a session in which everything that can be named is hostile."""
    journal = begun(NASTY)
    edit = call(1, NASTY, path=NASTY, **{NASTY: NASTY})
    asked(journal, 1, edit, text=f"{NASTY}\n```{NASTY}\n{NASTY}\n```\n`{NASTY}`")
    journal.add(1, ev.CallDecided(call_id="cal_1", decision="deny", origin=NASTY, reason=NASTY))
    journal.add(
        1,
        started(edit, Effect.WRITE),
        ev.EditIntended(
            call_id="cal_1", edit=CreateFile(path=NASTY, text=NASTY), before_blob=None
        ),
        ev.EditApplied(
            call_id="cal_1", path=NASTY, status="applied", after_blob="n", reason=NASTY,
            added_lines=1,
        ),
        finished(edit, NASTY, ErrorKind.RUNTIME),
        ev.GateFailed(origin=NASTY, text=NASTY * 20),
        ev.NudgeAdded(origin=NASTY, text=NASTY),
        ev.AdvisoryRaised(origin=NASTY, text=NASTY, priority=0),
        ev.AttemptFinished(step_id="stp_1", failure=NASTY, message=NASTY, model=NASTY),
        ev.RecoveryChosen(step_id="stp_1", origin=NASTY, action=NASTY, text=NASTY),
    )  # fmt: skip
    ended(journal, NASTY)
    return journal


def test_hostile_texts_stay_texts() -> None:
    parsed = check(hostile(), {"n": NASTY.encode()})
    assert not parsed.all("script")
    assert len(parsed.all("style")) == 1
    words = said(parsed)
    assert words.count("<script>alert(1)</script>") > 10
    # What turns a line around is shown as what it is.
    assert "\u202e" not in words
    assert "\\u202e" in words


def test_a_session_of_two_hundred_steps_fits_into_two_megabytes() -> None:
    journal, blobs = long(200)
    text = page(trace_of(journal.stored), blobs)
    assert 200_000 < len(text.encode()) < 2_000_000
    parsed = check(journal, blobs)
    assert len(parsed.all("section", class_="step")) == 200
    assert "more characters" in said(parsed)


def test_an_hour_of_waiting_leaves_room_for_the_work() -> None:
    hour = 3_600_000
    scale = TimeScale((0, hour + 20_000), [(0, 10_000), (hour + 10_000, hour + 20_000)], 0, 1_000)
    assert scale.squeezed == [(10_000, hour + 10_000)]
    assert scale.x(0) == 0
    assert scale.x(10_000) == pytest.approx(478)
    assert scale.x(hour + 10_000) == pytest.approx(522)
    assert scale.x(hour + 20_000) == pytest.approx(1_000)


@pytest.mark.parametrize(
    "busy",
    [[], [(0, 5)], [(5, 5)], [(0, 100), (10, 20)], [(-50, 500)], [(90, 400)]],
)
def test_every_moment_has_its_place_in_order(busy: list[tuple[int, int]]) -> None:
    scale = TimeScale((0, 100), busy, 10, 500)
    places = [scale.x(at) for at in range(-5, 110)]
    assert places == sorted(places)
    assert places[0] == pytest.approx(10)
    assert places[-1] == pytest.approx(510)


def test_files_that_a_command_changed_are_among_those_that_changed() -> None:
    journal = begun()
    run = ToolCall(id="cal_1", provider_id="p", tool="run_command", arguments_json='{"command":""}')
    asked(journal, 1, run)
    journal.add(
        1,
        started(run, Effect.EXECUTE),
        ev.CommandChanged(call_id="cal_1", path="made.py", after_blob="n1"),
        ev.CommandChanged(call_id="cal_1", path="old.py", before_blob="n1", after_blob="n2"),
        ev.CommandChanged(call_id="cal_1", path="dark.py", after_blob="n1", is_before_known=False),
        finished(run, text="The words of the command."),
    )
    ended(journal)
    text = page(trace_of(journal.stored), {"n1": b"a = 1\n", "n2": b"a = 1\nb = 2\n"})
    files = text.partition("Files changed")[2].partition("</section>")[0]
    shown = [re.sub(r"<[^>]*>", " ", row).split() for row in files.split("<li>")[1:]]
    assert shown == [
        ["dark.py", "+0", "-0", "1", "edit"],
        ["made.py", "+1", "-0", "1", "edit"],
        ["old.py", "+1", "-0", "1", "edit"],
    ]
    assert "its text before is not known" in text
    assert "The words of the command." in text


@pytest.mark.parametrize("is_dry", [True, False])
def test_a_dry_run_is_marked_as_one(is_dry: bool) -> None:
    journal = eventful()
    first = journal.stored[0]
    created = first.event.model_copy(update={"dry_run": is_dry})
    journal.stored[0] = first.model_copy(update={"event": created})
    assert ("Dry run: nothing was changed" in said(check(journal))) is is_dry


def test_where_no_price_is_known_no_sum_is_claimed() -> None:
    journal = eventful()
    free = [
        one.model_copy(
            update={"event": one.event.model_copy(update={"usage": Usage(input_tokens=9)})}
        )
        if isinstance(one.event, ev.AttemptFinished)
        else one
        for one in journal.stored
    ]
    journal.stored[:] = free
    words = said(check(journal))
    assert "Cost price unknown" in words
    assert "$0" not in words


def test_a_command_that_did_not_end_well_is_among_the_failed() -> None:
    journal = begun("Run it.")
    asked(journal, 1, COMMAND, text="")
    journal.add(0, started(COMMAND))
    result = ToolResult(call_id=COMMAND.id, text="Exit code 3.", data={"exit_code": 3})
    journal.add(1, ev.ToolCallFinished(result=result))
    ended(journal)
    words = said(check(journal))
    assert "Tool calls 1 1 failed" in words
    assert "exit code 3" in words
