"""What the reminder says of failures, after a break, and of what is due."""

from __future__ import annotations

import json

import pytest

from agent_ls.domain.calls import Effect, ErrorKind, ToolResult
from agent_ls.domain.edits import CreateFile
from agent_ls.domain.events import (
    Compacted,
    EditApplied,
    EditIntended,
    Event,
    PlanUpdated,
    PolicySilenced,
    SessionResumed,
    ToolCallFinished,
)
from agent_ls.domain.failure_kinds import FailureKind, failure_kind
from agent_ls.domain.modes import Mode
from agent_ls.domain.plans import PlanItem
from agent_ls.loop.extension_points import Injection
from agent_ls.loop.state.view import TurnView
from agent_ls.policies.injections.reminder import Reminder, ReminderOptions
from tests.policies.views import call_of, prepared, said, steps, view_of


async def check(
    policy: Injection,
    view: TurnView,
    *,
    says: tuple[str, ...] = (),
    silent_on: tuple[str, ...] = (),
) -> None:
    """Ask twice, which must change nothing; without ``says`` nothing may be proposed."""
    slot = await policy.propose(view)
    assert await policy.propose(view) == slot
    if not says:
        assert slot is None
        return
    assert slot is not None
    assert slot.name == policy.name
    for piece in says:
        assert piece in slot.text, f"{piece!r} is not in {slot.text!r}"
    for piece in silent_on:
        assert piece not in slot.text, f"{piece!r} is in {slot.text!r}"


_count = 0


def called(
    tool: str,
    target: str,
    text: str = "fine",
    *,
    error: ErrorKind | None = None,
    exit_code: int | None = None,
) -> list[Event]:
    """Return a step with one call and its result."""
    global _count
    _count += 1
    name = "command" if tool == "run_command" else "path"
    call = call_of(tool, json.dumps({name: target}), id=f"cal_{_count}")
    data = None if exit_code is None else {"exit_code": exit_code}
    result = ToolResult(call_id=call.id, text=text, error=error, data=data)
    return [prepared(), said("", call), ToolCallFinished(result=result)]


def missing(path: str) -> list[Event]:
    return called("read_file", path, f"{path} does not exist.", error=ErrorKind.RUNTIME)


FAILURES = {
    "nothing-failed": ([], ()),
    "one-failure-stands-before-its-eyes": (missing("a.py"), ()),
    "two-failures-are-listed-with-a-suggestion": (
        [*missing("a.py"), *missing("b.py")],
        ("- read_file b.py, not_found: b.py does not exist.\n  Search for", "- read_file a.py"),
    ),
    "equal-ones-are-counted": (
        [*missing("a.py"), *missing("a.py"), *missing("a.py")],
        ("read_file a.py (3 times), not_found",),
    ),
    "a-later-success-settles": (
        [*missing("a.py"), *missing("b.py"), *called("read_file", "b.py")],
        (),
    ),
    "old-ones-are-no-news": ([*missing("b.py"), *missing("c.py"), *steps(8)], ()),
    "a-bad-exit-code-is-a-failure": (
        called("run_command", "pytest", "Exit code 1.\n2 failed", exit_code=1) * 2,
        ("run_command pytest (2 times), logic: Exit code 1. … 2 failed", "mend the code"),
    ),
    "a-passing-run-settles-all-of-them": (
        [
            *called("run_command", "pytest", "Exit code 1.\n2 failed", exit_code=1),
            *called("run_command", "pytest", "Exit code 1.\n1 failed", exit_code=1),
            *called("run_command", "pytest", "Exit code 0.", exit_code=0),
        ],
        (),
    ),
    "cancelled-is-no-failure": (
        called("read_file", "a.py", "Cancelled.", error=ErrorKind.CANCELLED) * 3,
        (),
    ),
    "a-tool-that-is-not-there-has-no-schema-to-read": (
        called("Read", "a.py", "error: There is no tool 'Read'.", error=ErrorKind.STRUCTURAL) * 2,
        (),
    ),
    "arguments-that-do-not-parse-have-no-target": (
        [
            prepared(),
            said("", call_of("grep", "{broken", id="x"), call_of("grep", "[1]", id="y")),
            ToolCallFinished(
                result=ToolResult(call_id="x", text="bad", error=ErrorKind.STRUCTURAL)
            ),
            ToolCallFinished(
                result=ToolResult(call_id="y", text="bad too", error=ErrorKind.STRUCTURAL)
            ),
        ],
        ("- grep, validation: bad too\n", "- grep, validation: bad"),
    ),
}


@pytest.mark.parametrize("happened, says", FAILURES.values(), ids=FAILURES)
async def test_the_newest_unsettled_failures_are_named(happened, says) -> None:
    await check(Reminder(ReminderOptions(above_tokens=())), view_of(*happened), says=says)


@pytest.mark.parametrize(
    "error, text, kind",
    [
        (ErrorKind.RUNTIME, "open: Permission denied", FailureKind.PERMISSION),
        (ErrorKind.DENIED, "whatever", FailureKind.PERMISSION),
        (ErrorKind.RUNTIME, "src/x.py does not exist.", FailureKind.NOT_FOUND),
        (None, "ModuleNotFoundError: No module named 'yaml'", FailureKind.NOT_FOUND),
        (None, "  File x\nSyntaxError: invalid syntax", FailureKind.SYNTAX),
        (None, "a.ts(1,2): error TS2322: Type 'a' …", FailureKind.TYPE),
        (None, "TypeError: 'int' object is not callable", FailureKind.TYPE),
        (None, "Traceback (most recent call last):\nKeyError: 3", FailureKind.RUNTIME),
        (None, "curl: (7) connection refused", FailureKind.NETWORK),
        (ErrorKind.TIMEOUT, "Killed after 60 s", FailureKind.TIMEOUT),
        (None, "ETIMEDOUT", FailureKind.TIMEOUT),
        (ErrorKind.STRUCTURAL, "bad arguments", FailureKind.VALIDATION),
        (ErrorKind.RUNTIME, "old_string occurs 3 times", FailureKind.VALIDATION),
        (None, "3 failed, 2 passed", FailureKind.LOGIC),
        (None, "AssertionError", FailureKind.LOGIC),
        (None, "OSError: No space left on device", FailureKind.RESOURCE),
        (None, "hm", FailureKind.UNKNOWN),
        (None, "x" * 50_000 + "\nSyntaxError: invalid syntax", FailureKind.SYNTAX),
    ],
)
def test_a_failure_is_of_one_of_eleven_kinds(
    error: ErrorKind | None, text: str, kind: FailureKind
) -> None:
    assert failure_kind(error, text) is kind


_COMPACTED = Compacted(
    origin="window", why="full", drop_before=1, summary="S", before_tokens=9, after_tokens=1
)


def edited(path: str = "a.py") -> list[Event]:
    intent = EditIntended(call_id="e", edit=CreateFile(path=path, text=""), before_blob=None)
    return [intent, EditApplied(call_id="e", path=path, status="applied", after_blob="b")]


ORIENTATION = {
    "nothing-happened": ([], (), ()),
    "compacted": ([*steps(2), _COMPACTED], ("summary above",), ("interrupted",)),
    "said-once": ([_COMPACTED, *steps(1)], (), ()),
    "resumed": ([*steps(1), SessionResumed()], ("goes on now",), ("effect", "Task:", "stand:")),
    "resumed-with-an-interrupted-call": (
        [*steps(1), SessionResumed(interrupted_calls=("cal_1",))],
        ("The effect of one call is unknown",),
        (),
    ),
    "both-with-what-is-known": (
        [
            *edited("a.py"),
            PlanUpdated(items=(PlanItem(text="Test it"),)),
            SessionResumed(interrupted_calls=("a", "b")),
            _COMPACTED,
        ],
        ("2 calls", "summary above", "Files you changed: a.py", "next: Test it (pending)"),
        (),
    ),
}


@pytest.mark.parametrize("happened, says, silent_on", ORIENTATION.values(), ids=ORIENTATION)
async def test_the_model_is_told_where_it_stands_after_a_compaction_or_a_resume(
    happened, says, silent_on
) -> None:
    await check(Reminder(), view_of(*happened), says=says, silent_on=silent_on)


async def test_the_reminder_can_be_switched_off() -> None:
    policy = Reminder(ReminderOptions(max_tokens=0))
    await check(policy, view_of(SessionResumed()))


def ran() -> ToolCallFinished:
    return ToolCallFinished(result=ToolResult(call_id="r", text=""), effect=Effect.EXECUTE)


_VERIFY = "Nothing has been run since your last 8 edits."
_PLAN = "You have changed files in several steps without a plan."

HINTS = {
    "after-eight-edits-verify": (edited() * 8, {}, (_VERIFY,)),
    "said-once": ([*edited() * 8, prepared(1, _VERIFY), *edited()], {}, ()),
    "a-command-resets-it": ([*edited() * 8, ran(), *edited() * 7], {}, ()),
    "after-twelve-steps-plan": ([*edited(), *steps(12)], {}, (_PLAN[:-1],)),
    "no-plan-for-a-question": (steps(30), {}, ()),
    "not-when-there-was-a-plan": ([*edited(), PlanUpdated(items=()), *steps(12)], {}, ()),
    "plan-switched-off": ([*edited(), *steps(50)], {"plan_after_steps": 0}, ()),
    "silenced-by-the-user": ([PolicySilenced(origin="reminder"), *edited() * 9], {}, ()),
}


@pytest.mark.parametrize("happened, options, says", HINTS.values(), ids=HINTS)
async def test_a_phase_of_the_work_brings_its_hint(happened, options, says) -> None:
    # The task is left out, so that a hint is all there is.
    policy = Reminder(ReminderOptions(above_tokens=(), **options))
    await check(policy, view_of(*happened), says=says)


async def test_in_plan_mode_there_are_no_hints() -> None:
    await check(Reminder(), view_of(*edited() * 9, mode=Mode.PLAN))
