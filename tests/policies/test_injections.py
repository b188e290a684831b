"""What a request carries beside the conversation, and in which steps."""

from __future__ import annotations

import pytest

from agent_ls.domain.calls import ErrorKind
from agent_ls.domain.edits import CreateFile
from agent_ls.domain.events import EditApplied, EditIntended, Event, PlanUpdated, PromptQueued
from agent_ls.domain.plans import PlanItem, PlanStatus
from agent_ls.domain.verdicts import Slot
from agent_ls.loop.sockets import Injection
from agent_ls.loop.view import TurnView
from agent_ls.policies.injections.recitation import Recitation, RecitationOptions
from tests.policies.views import call_of, prepared, result_of, said, spent, steps, view_of

RECITED = "Where you stand:\nTask: …"


async def check(policy: Injection, view: TurnView, *, speaks: bool) -> str:
    """Return the proposed text, empty when there is none; asking twice must change nothing."""
    slot = await policy.propose(view)
    assert await policy.propose(view) == slot
    assert (slot is not None) == speaks
    if slot is None:
        return ""
    assert isinstance(slot, Slot)
    assert slot.name == policy.name
    return slot.text


def sized(tokens: int) -> list[Event]:
    """Return a step after which the conversation takes so many tokens."""
    return [prepared(90), spent(tokens), said("ok", number=90)]


RHYTHM = [
    pytest.param(steps(0), {}, False, id="not-in-the-first-step-where-the-task-was-just-said"),
    pytest.param(steps(0), {"on_first_step": True}, True, id="in-the-first-step-when-wanted"),
    pytest.param(steps(9), {}, False, id="not-one-step-too-early"),
    pytest.param(steps(10), {}, True, id="after-ten-steps-of-a-small-conversation"),
    pytest.param(steps(11), {}, True, id="late-rather-than-never"),
    pytest.param([*steps(5), *sized(9_999)], {}, False, id="not-more-often-below-ten-thousand"),
    pytest.param([*steps(6), *sized(10_000)], {}, True, id="after-seven-steps-from-ten-thousand"),
    pytest.param([*steps(5), *sized(29_999)], {}, False, id="not-after-six-below-thirty-thousand"),
    pytest.param([*steps(4), *sized(30_000)], {}, True, id="after-five-steps-from-thirty-thousand"),
    pytest.param([*steps(2), *sized(59_999)], {}, False, id="not-after-three-below-sixty-thousand"),
    pytest.param([*steps(2), *sized(60_000)], {}, True, id="after-three-steps-from-sixty-thousand"),
    pytest.param(
        [*steps(10), prepared(11, RECITED), said(), *steps(8)],
        {},
        False,
        id="counted-from-then",
    ),
    pytest.param(
        [*steps(10), prepared(11, RECITED), said(), *steps(9)], {}, True, id="and-then-again"
    ),
    pytest.param(
        [*steps(10), prepared(11, "Changed: a.py"), said()], {}, True, id="other-slots-do-not-count"
    ),
    pytest.param(steps(50), {"max_tokens": 0}, False, id="zero-is-never"),
    pytest.param(
        steps(50),
        {"above_tokens": (10**9,), "every_steps": (1,)},
        False,
        id="below-all-never",
    ),
    pytest.param(
        steps(2), {"above_tokens": (0,), "every_steps": (2,)}, True, id="the-rhythm-is-a-setting"
    ),
    pytest.param(steps(50), {"above_tokens": (), "every_steps": ()}, False, id="no-rhythm-never"),
]


@pytest.mark.parametrize("happened, options, speaks", RHYTHM)
async def test_the_task_is_recited_more_often_the_longer_the_conversation(
    happened, options, speaks
) -> None:
    await check(Recitation(RecitationOptions(**options)), view_of(*happened), speaks=speaks)


async def recited(*happened: Event, prompt: str = "Make the parser faster.") -> str:
    policy = Recitation(RecitationOptions(on_first_step=True))
    return await check(policy, view_of(*happened, prompt=prompt), speaks=True)


async def test_a_recitation_alone_is_the_task() -> None:
    assert await recited() == "Where you stand:\nTask: Make the parser faster."


async def test_a_recitation_names_words_plan_files_and_errors() -> None:
    items = [
        PlanItem(text="Measure", status=PlanStatus.COMPLETED),
        PlanItem(text="Rewrite", status=PlanStatus.IN_PROGRESS),
        PlanItem(text="Test"),
    ]
    failures = [
        said("", call_of("grep", id="a"), call_of("grep", id="b"), call_of("grep", id="c")),
        *[result_of(f"failure {id}\n  deep", id=id, error=ErrorKind.RUNTIME) for id in "abc"],
    ]
    edit = EditIntended(call_id="e", edit=CreateFile(path="fast.py", text=""), before_blob=None)
    text = await recited(
        PromptQueued(text="First.", kind="steer"),
        PromptQueued(text="Mind the tabs.", kind="steer"),
        PlanUpdated(items=tuple(items)),
        edit,
        EditApplied(call_id="e", path="fast.py", status="applied", after_blob="b"),
        *failures,
        *[event for number in range(10) for event in sized(10)],
    )
    assert text.splitlines()[2:] == [
        "The user added: Mind the tabs.",
        "Plan: 1 of 3 done; next: Rewrite (in_progress); Test (pending)",
        "Files you changed: fast.py",
        "Recent error: failure b deep",
        "Recent error: failure c deep",
    ]


async def test_a_finished_plan_names_nothing_to_do() -> None:
    done = PlanUpdated(items=(PlanItem(text="Measure", status=PlanStatus.COMPLETED),))
    assert (await recited(done)).endswith("\nPlan: 1 of 1 done")


async def test_an_endless_prompt_is_recited_in_part() -> None:
    text = await recited(prompt="fix\n" * 100_000)
    assert len(text) < 900
    assert text.endswith("…")


async def test_a_recitation_has_its_place_in_the_order_and_its_size() -> None:
    slot = await Recitation().propose(view_of(*steps(10)))
    assert slot is not None
    assert (slot.priority, slot.max_tokens) == (3, 500)
