"""What the monitor outside the loop sees, and what it takes for progress."""

from __future__ import annotations

import json
import random

import pytest

from agent_ls.domain.calls import Effect, ErrorKind, ToolCall, ToolResult
from agent_ls.domain.events import (
    Answered,
    EditApplied,
    Event,
    MonitorAlerted,
    PlanUpdated,
    PromptQueued,
    ToolCallFinished,
)
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.plans import PlanItem
from agent_ls.observers.external_monitor import MonitorOptions, Watch, seen_in


def check(events: list[Event], pattern: str | None, **options: object) -> None:
    """Assert which pattern is seen."""
    watch = Watch()
    for event in events:
        watch.see(event)
    alert = seen_in(watch, MonitorOptions.model_validate(options))
    assert (alert.pattern if alert else None) == pattern


def step(
    tool: str,
    *,
    data: dict[str, object] | None = None,
    effect: Effect = Effect.READ,
    error: ErrorKind | None = None,
    text: str = "ok",
    **arguments: object,
) -> list[Event]:
    call = ToolCall(id="cal", provider_id="p", tool=tool, arguments_json=json.dumps(arguments))
    result = ToolResult.model_validate(
        {"call_id": "cal", "text": text, "error": error, "data": data}
    )
    return [
        Answered(step_id="stp", message=AssistantMessage(calls=(call,))),
        ToolCallFinished(result=result, effect=effect),
    ]


def read(path: str, version: str = "1") -> list[Event]:
    return step("read_file", data={"path": path, "version": version}, path=path)


def run(command: str, exit_code: int = 0, text: str = "ok") -> list[Event]:
    return step(
        "run_command",
        data={"exit_code": exit_code},
        effect=Effect.EXECUTE,
        text=text,
        command=command,
    )


def greps(*patterns: str) -> list[Event]:
    return [event for one in patterns for event in step("grep", pattern=one)]


def hits(*patterns: str, text: str = "") -> list[Event]:
    """Return searches that found a line each, the same one if it is given."""
    return [
        event
        for one in patterns
        for event in step("grep", data={"hits": 1}, text=text or f"a.py:1: {one}", pattern=one)
    ]


def parts(*starts: int) -> list[Event]:
    """Return reads of parts of one file that nobody changes."""
    return [
        event
        for one in starts
        for event in step(
            "read_file",
            data={"path": "a.py", "version": "1"},
            text=f"{one}\tx",
            path="a.py",
            start_line=one,
        )
    ]


def served(*numbers: int) -> list[Event]:
    """Return calls to a tool server, all answered with the same word."""
    return [
        event
        for one in numbers
        for event in step("issues/close", effect=Effect.EXECUTE, output_path=f"{one}.json")
    ]


SEEN = [*read("a.py"), *read("b.py")]
BACK_AND_FORTH = [*read("a.py"), *read("b.py")] * 2
WORDS = ("alpha", "a much longer pattern", "(x|y)+", "import os", "def f", "zz", "class K", "0")
EDIT = EditApplied(call_id="cal", path="a.py", status="applied")
ALERT = MonitorAlerted(pattern="no_progress", text="x")

TABLE = [
    pytest.param([], None, id="nothing-has-happened"),
    pytest.param([*SEEN, *BACK_AND_FORTH], "alternation", id="back-and-forth"),
    pytest.param([*SEEN, *BACK_AND_FORTH[:-2]], None, id="back-and-forth-once-and-a-half"),
    pytest.param([*SEEN, *SEEN[:2], EDIT, *SEEN[2:], *SEEN], None, id="with-an-edit-in-between"),
    pytest.param(
        [*run("make", 2), *run("ls", 1), *run("make", 2), *run("ls", 1)], "alternation",
        id="failing-commands-in-turn",
    ),
    pytest.param(greps("parse_1", "parse_2", "parse_3", "parse_4"), "near_equal", id="near-equal"),
    pytest.param(
        greps(*(f"{'x' * 9_000}{middle}{'y' * 9_000}" for middle in "abcd")), "near_equal",
        id="long-ones-by-their-ends",
    ),
    pytest.param(greps("parse_1", "parse_2", "parse_3"), None, id="three-near-equal-are-borne"),
    pytest.param(
        [*read("m1.py"), *read("m2.py"), *read("m3.py"), *read("m4.py")], None,
        id="new-files-with-like-names-are-progress",
    ),
    pytest.param(greps("x", "x", "x", "x"), None, id="equal-calls-are-the-loops-own-matter"),
    pytest.param(greps(*WORDS), "no_progress", id="eight-steps-with-nothing-new"),
    pytest.param(greps(*WORDS[:7]), None, id="seven-are-borne"),
    pytest.param(served(*range(12)), None, id="different-calls-to-a-tool-server-are-progress"),
    pytest.param(
        served(1, 2, 1, 2, 1, 2), "alternation", id="but-not-the-same-ones-with-the-same-answers"
    ),
    pytest.param([*greps(*WORDS[:4]), *read("a.py"), *greps(*WORDS[4:])], None, id="a-new-file"),
    pytest.param(
        [*SEEN, *greps(*WORDS[:4]), *read("a.py"), *greps(*WORDS[4:7])], "no_progress",
        id="a-file-read-before-is-not-new",
    ),
    pytest.param(
        [*SEEN, *greps(*WORDS[:4]), *read("a.py", "2"), *greps(*WORDS[4:])], None,
        id="but-its-new-version-is",
    ),
    pytest.param([*greps(*WORDS[:4]), *run("pytest"), *greps(*WORDS[4:])], None, id="a-pass"),
    pytest.param(
        [*greps(*WORDS[:4]), *run("pytest", 1), *greps(*WORDS[4:7])], "no_progress",
        id="a-failing-test-is-none",
    ),
    pytest.param(
        [*greps(*WORDS[:4]), PlanUpdated(items=(PlanItem(text="x"),)), *greps(*WORDS[4:])], None,
        id="a-new-plan",
    ),
    pytest.param(
        [*greps(*WORDS[:4]), PromptQueued(text="x", kind="steer"), *greps(*WORDS[4:])], None,
        id="new-words-of-the-user",
    ),
    pytest.param(
        [*greps(*WORDS[:4]), *step("delegate", effect=Effect.DELEGATE), *greps(*WORDS[4:])],
        None, id="a-sub-agents-report",
    ),
    pytest.param(hits(*(f"word_{one}" for one in range(17))), None, id="searches-that-find"),
    pytest.param(hits(*WORDS, text="a.py:1: x"), None, id="the-first-of-equal-hits-is-new"),
    pytest.param(
        [*hits("x"), *hits(*WORDS, text="a.py:1: x")], "no_progress", id="the-others-are-not"
    ),
    pytest.param(parts(*range(1, 2_000, 200)), None, id="other-parts-of-one-file"),
    pytest.param(parts(*[1] * 9), "no_progress", id="the-same-part-again-and-again"),
    pytest.param([*greps(*WORDS), ALERT, *greps(*WORDS[:7])], None, id="anew-after-alerts"),
    pytest.param([*greps(*WORDS), ALERT, *greps(*WORDS)], "no_progress", id="and-alerts-again"),
]  # fmt: skip


@pytest.mark.parametrize("events, pattern", TABLE)
def test_what_gets_nowhere_is_seen(events: list[Event], pattern: str | None) -> None:
    check(events, pattern)


def test_calls_of_any_length_are_compared_at_once() -> None:
    # Compared as a whole, these would hold everybody up for minutes.
    written = [f"{letter}{random.Random(letter).randbytes(1_000_000).hex()}" for letter in "abcd"]
    check(greps(*written), None)


def test_what_is_looked_for_is_set() -> None:
    check(greps("x", "yy"), "no_progress", steps_without_progress=2)
    check(greps(*WORDS), None, steps_without_progress=0)
    check(greps("parse_1", "parse_2"), "near_equal", near_equal_calls=2)
    check(greps("parse_1", "parse_2"), None, near_equal_calls=2, similarity=0.99)
