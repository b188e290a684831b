"""Before an answer counts: what sends the model back, and when nobody may be sent back."""

from __future__ import annotations

import pytest

from agent_ls.domain.events import Event, PlanUpdated, PolicySilenced, PromptQueued
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.modes import Mode
from agent_ls.domain.plans import PlanItem, PlanStatus
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import Nudge, Pass
from agent_ls.loop.extension_points import Gate
from agent_ls.loop.state.view import TurnView
from agent_ls.policies.gates.incomplete_action import IncompleteAction, IncompleteActionOptions
from agent_ls.policies.gates.open_tasks import OpenTasks, OpenTasksOptions
from tests.policies.views import Expected, view_of

PASSES = Expected(Pass)
NUDGES = Expected(Nudge)


async def check(policy: Gate, text: str, view: TurnView, expected: Expected) -> None:
    """Assert what the gate says of the answer, and that asking twice changes nothing."""
    answer = AssistantMessage(text=text)
    verdict = await policy.judge(answer, view)
    expected.hold(verdict)
    assert await policy.judge(answer, view) == verdict


def test_caps_and_stop_reasons_are_those_of_the_result_table() -> None:
    assert (IncompleteAction().cap, IncompleteAction.stop) == (2, StopReason.INCOMPLETE_ACTION)
    assert (OpenTasks().cap, OpenTasks.stop) == (2, StopReason.OPEN_TASKS)
    assert IncompleteAction(IncompleteActionOptions(max_nudges=0)).cap == 0
    assert OpenTasks(OpenTasksOptions(max_nudges=7)).cap == 7


ANNOUNCED = [
    ("Word " * 60 + "ends. ") * 3 + "Let me fix it.",
    "I'll now create the parser.",
    "I’ll go ahead and implement this.",
    "I’m about to delete the old module.",
    "Let me look at the test file first.",
    "Let's run the tests.",
    "I will update `config.toml` and run the tests.",
    "I'm going to refactor the module now.",
    "Next, I'll fix the import.",
    "Okay, let me check how it works.",
    "Let me fix that right away.",
    "We'll rename the class next.",
    "I need to update the imports as well.",
    "I'll make sure everything is saved.",
    "Continuing now with the remaining files.",
    "Continuing...",
    "Proceeding to step 2.",
    "Moving on to the next file.",
    "Now updating the tests…",
    "Running the tests now.",
    "I've read the parser. Now I'll write the fix.",
    "I've fixed the parser and will now run the tests.",
    "I've updated parser.py. I'll now update the tests.",
    "Not done yet. I'll now create the file.",
    "I'll create the file now. Let me know if you need anything else!",
    "I ran out of budget before I could change the file.",
    "I'll now:\n1. Create a.py\n2. Update b.py",
    "**Plan**\n\nI will make the following changes:\n- a.py: add a function\n- b.py: call it",
    "I'll update the function:\n```python\ndef f(): return 1\n```",
    "## Fix\r\n\r\nI'LL NOW WRITE THE FIX.\r\n",
    "First " + "a long story " * 60 + "was told. Now I'll fix it. " + "It is long. " * 3,
    "The bug is in `lexer.py`.\n\n" + "It drops a token. " * 200 + "\n\nLet me fix it.",
]


@pytest.mark.parametrize("text", ANNOUNCED)
async def test_an_announcement_without_a_call_is_sent_back(text) -> None:
    await check(IncompleteAction(), text, view_of(), NUDGES)


NOT_ANNOUNCED = [
    "",
    "Done.",
    "The parser is faster now.",
    "I've created a.py and updated b.py. All tests pass.",
    "I'll now finish: done.",
    "I'll create the file. It is done.",
    "Nothing else to do.",
    "I could not do it, because the file is read-only.",
    "The function works as expected; the function will run on start-up.",
    "You'll need to run the migration yourself.",
    "The next step would be to add tests.",
    "I've added the tests. The next step is to run them in CI.",
    "Would you like me to add tests?",
    "If you want, I'll add tests too.",
    "I'll update it once you confirm.",
    "I'll create two files: a.py and b.py. Does that sound good?",
    "Let me explain how it works: the parser reads tokens.",
    "To do this I need to know which file you mean.",
    "Creating objects is slow in Python.",
    "Use `let_me_know = 1` in Rust.",
    "> I'll create the file.",
    "```\nI'll now create it\n```",
    "Let me run you through it. First the lexer splits. Then the parser builds. "
    "Then the checker walks. Then the printer prints. That is all there is to it.",
]


@pytest.mark.parametrize("text", NOT_ANNOUNCED)
async def test_reports_questions_offers_and_code_are_no_announcements(text) -> None:
    await check(IncompleteAction(), text, view_of(), PASSES)


async def test_what_the_user_reads_of_a_nudge_is_not_said_to_the_model() -> None:
    answer = AssistantMessage(text="I'll now fix it.")
    verdict = await IncompleteAction().judge(answer, view_of())
    assert isinstance(verdict, Nudge)
    assert verdict.shown == "The agent wrote “I'll now fix it.” and did nothing."
    assert "You wrote" in verdict.text


ANSWER_ONLY = [
    "Just explain how it works",
    "Only tell me what's wrong.",
    "What would you change here?",
    "Don't change anything yet.",
    "explain without changing code",
    "plan only",
    "Wait for my answer before you go on.",
    "stop",
    "Ask me before you touch it.",
]
ACTION_WANTED = [
    "Fix the bug",
    "Why does the test fail?",
    "Make the test wait for events",
    "Add a stop button and wait for the server",
    "Refactor it but don't change any public API",
    "Don't change the code style, but fix the bug",
    "Explain the bug and fix it",
    "",
]


@pytest.mark.parametrize("prompt", ANSWER_ONLY)
async def test_who_asked_to_wait_or_only_for_an_answer_is_not_nudged_about(prompt) -> None:
    await check(IncompleteAction(), "I'll now fix it.", view_of(prompt=prompt), PASSES)


@pytest.mark.parametrize("prompt", ACTION_WANTED)
async def test_constraints_on_the_work_are_no_wish_to_wait(prompt) -> None:
    await check(IncompleteAction(), "I'll now fix it.", view_of(prompt=prompt), NUDGES)


def steer(text: str) -> PromptQueued:
    return PromptQueued(text=text, kind="steer")


WISHES = {
    "a-steer-to-wait-counts": ((steer("Wait."),), {}, PASSES),
    "a-later-go-ahead-takes-it-back": ((steer("Wait."), steer("OK, go ahead.")), {}, NUDGES),
    "what-waits-for-the-next-turn-says-nothing-of-this-one": (
        (PromptQueued(text="wait", kind="follow_up"),),
        {},
        NUDGES,
    ),
    "a-silenced-gate-is-silent": ((PolicySilenced(origin="incomplete_action"),), {}, PASSES),
    "in-plan-mode-announcing-is-the-task": ((), {"mode": Mode.PLAN}, PASSES),
}


@pytest.mark.parametrize("happened, situation, expected", WISHES.values(), ids=WISHES)
async def test_nobody_is_nudged_against_the_users_will(happened, situation, expected) -> None:
    view = view_of(*happened, **situation)
    await check(IncompleteAction(), "I'll now fix it.", view, expected)


async def test_a_nudge_quotes_the_announcement_and_offers_a_way_out() -> None:
    text = "All good so far. I'll now fix the *lexer*."
    expected = Expected(Nudge, says=("“I'll now fix the lexer.”", "already done", "wait"))
    await check(IncompleteAction(), text, view_of(), expected)


MANY = 200_000
ENDLESS = ["I'll " * MANY, "now " * MANY, "done " * MANY, "a.b" * MANY, "- x\n" * MANY]


@pytest.mark.parametrize("text", ENDLESS, ids=lambda text: text[:6].strip())
@pytest.mark.timeout(20)
async def test_endless_answers_are_judged_all_the_same(text) -> None:
    await check(IncompleteAction(), text, view_of(prompt=text), PASSES)


def plan(*statuses: PlanStatus) -> PlanUpdated:
    return PlanUpdated(
        items=tuple(
            PlanItem(text=f"Task {number}", status=status)
            for number, status in enumerate(statuses, 1)
        )
    )


P, C = PlanStatus.PENDING, PlanStatus.COMPLETED
OPEN_TASKS = [
    pytest.param((), {}, PASSES, id="without-a-plan-nothing-is-open"),
    pytest.param((plan(C, C),), {}, PASSES, id="a-finished-plan-passes"),
    pytest.param((plan(C, PlanStatus.BLOCKED),), {}, PASSES, id="a-blocked-item-is-not-open"),
    pytest.param(
        (plan(C, P),),
        {},
        Expected(Nudge, says=("Task 2 (pending)",), silent_on=("Task 1",)),
        id="a-pending-item-is-open",
    ),
    pytest.param((plan(P), plan(C)), {}, PASSES, id="the-newest-plan-counts"),
    pytest.param(
        (), {"earlier": (plan(P),)}, PASSES, id="a-plan-left-over-from-an-earlier-turn-passes"
    ),
    pytest.param((plan(P),), {"mode": Mode.PLAN}, PASSES, id="in-plan-mode-open-items-are-fine"),
    pytest.param(
        (plan(P), PolicySilenced(origin="open_tasks")), {}, PASSES, id="a-silenced-gate-is-silent"
    ),
    pytest.param(
        (plan(*[P] * 50),),
        {},
        Expected(Nudge, says=("Task 20 ", "30 more"), silent_on=("Task 21 ",)),
        id="a-long-plan-is-named-in-part",
    ),
]


@pytest.mark.parametrize("happened, situation, expected", OPEN_TASKS)
async def test_open_plan_items_are_sent_back(
    happened: tuple[Event, ...], situation, expected: Expected
) -> None:
    await check(OpenTasks(), "All done.", view_of(*happened, **situation), expected)
