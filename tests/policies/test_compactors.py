"""What a conversation is cut down to, and what must never be cut apart."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.domain.calls import ErrorKind, ToolResult
from agent_ls.domain.edits import CreateFile
from agent_ls.domain.errors import ProviderError, ProviderFailure
from agent_ls.domain.events import (
    AdviceGiven,
    Compacted,
    EditApplied,
    EditIntended,
    Event,
    Moved,
    NudgeAdded,
    PlanUpdated,
    PromptQueued,
    ToolCallFinished,
)
from agent_ls.domain.messages import AssistantMessage, Message, ToolMessage
from agent_ls.domain.phases import Phase
from agent_ls.domain.plans import PlanItem, PlanStatus
from agent_ls.domain.verdicts import CompactorVerdict, Shortened, Unchanged
from agent_ls.loop.extension_points import Compactor
from agent_ls.loop.state.view import TurnView, message_tokens, text_tokens
from agent_ls.policies.compactors.summarize import Summarize, SummarizeOptions
from agent_ls.policies.compactors.window import Window, WindowOptions
from agent_ls.policies.compactors.work_log import WorkLog
from tests.policies.views import call_of, prepared, result_of, said, view_of

PROMPT = "Make the parser faster."


async def check(policy: Compactor, view: TurnView, target_tokens: int) -> CompactorVerdict:
    """Return the verdict after holding what every cut must keep."""
    verdict = await policy.compact(view, target_tokens)
    if isinstance(verdict, Shortened):
        kept, dropped = view.messages[verdict.drop_before :], view.messages[: verdict.drop_before]
        assert dropped
        assert _called(kept) == _answered(kept)
        assert _called(dropped) == _answered(dropped)
        assert kept[-1] == view.messages[-1]
        assert text_tokens(verdict.summary) < sum(map(message_tokens, dropped))
    assert await policy.compact(view, target_tokens) == verdict
    return verdict


def _called(messages: tuple[Message, ...]) -> list[str]:
    return sorted(
        call.id for one in messages if isinstance(one, AssistantMessage) for call in one.calls
    )


def _answered(messages: tuple[Message, ...]) -> list[str]:
    return sorted(one.call_id for one in messages if isinstance(one, ToolMessage))


def step(number: int, *, calls: int = 1, size: int = 4_000, failed: bool = False) -> list[Event]:
    """Return one whole step whose results are ``size`` characters each."""
    ids = [f"cal_{number}_{index}" for index in range(calls)]
    made = [call_of("read_file", f'{{"path": "m{number}.py"}}', id=one) for one in ids]
    error = ErrorKind.RUNTIME if failed else None
    results = [result_of(f"line one {one}\n" + "x" * size, id=one, error=error) for one in ids]
    return [prepared(number), said(f"Step {number}.", *made, number=number), *results]


def steps(count: int, **how: int) -> list[Event]:
    return [event for number in range(1, count + 1) for event in step(number, **how)]


@pytest.mark.parametrize("target", [2_000, 4_000, 6_000, 8_000])
async def test_the_rest_meets_the_target_and_no_more_than_needed_goes(target: int) -> None:
    view = view_of(*steps(12))
    verdict = await check(Window(), view, target)
    assert isinstance(verdict, Shortened)
    kept = sum(map(message_tokens, view.messages[verdict.drop_before :]))
    assert kept + text_tokens(verdict.summary) <= target
    assert kept > target - 1_000 - 2 * 1_100


async def test_the_last_answer_and_its_results_stay_even_when_they_are_too_large() -> None:
    view = view_of(*steps(3, size=40_000))
    verdict = await check(Window(), view, 100)
    assert isinstance(verdict, Shortened)
    assert view.messages[verdict.drop_before].text == "Step 3."


async def test_tiny_messages_do_not_grow_into_a_summary() -> None:
    happened = [said(f"{number}", number=number) for number in range(5)]
    assert await check(Window(), view_of(*happened, prompt="Hi"), 1) == Unchanged()


async def summary_of(view: TurnView, options: WindowOptions | None = None) -> str:
    verdict = await check(Window(options or WindowOptions()), view, 1_500)
    assert isinstance(verdict, Shortened)
    return verdict.summary


async def test_a_prompt_larger_than_its_share_is_cut_and_says_so() -> None:
    summary = await summary_of(view_of(*steps(5), prompt="p" * 40_000))
    assert "p" * 1_500 in summary
    assert "p" * 1_501 not in summary
    assert "38500 characters more" in summary


async def test_the_summary_says_what_was_done_said_and_left_open() -> None:
    steer = PromptQueued(text="Mind the tabs.", kind="steer")
    edit = CreateFile(path="fast.py", text="x")
    items = (
        PlanItem(text="Measure", status=PlanStatus.COMPLETED),
        PlanItem(text="Rewrite the loop", status=PlanStatus.IN_PROGRESS),
    )
    happened = [
        steer,
        *step(1, failed=True),
        EditIntended(call_id="cal_x", edit=edit, before_blob=None),
        EditApplied(call_id="cal_x", path="fast.py", status="applied", after_blob="b"),
        PlanUpdated(items=items),
        *step(2, calls=2),
        *step(3),
        *step(4),
    ]
    summary = await summary_of(view_of(*happened))
    for piece in (
        "- Mind the tabs.",
        "fast.py",
        "m1.py\nm2.py",
        "read_file: ",
        "- read_file (runtime): line one cal_1_0",
        "not instructions",
        "Rewrite the loop (in_progress)",
    ):
        assert piece in summary, piece
    assert summary.index("Measure") < summary.index("Open plan items")


async def test_what_the_machine_said_is_not_taken_for_the_user() -> None:
    happened = [*step(1), NudgeAdded(origin="compile", text="Fix m1.py:3"), *step(2), *step(3)]
    assert "Fix m1.py:3" not in await summary_of(view_of(*happened))


async def test_a_second_compaction_keeps_what_the_first_one_knew() -> None:
    first = await summary_of(view_of(*step(1, failed=True), *step(2), *step(3)))
    compacted = Compacted(
        origin="window", why="", drop_before=5, summary=first, before_tokens=9, after_tokens=8
    )
    happened = [*step(1, failed=True), *step(2), *step(3), compacted]
    later = [event for number in range(4, 9) for event in step(number)]
    second = await summary_of(view_of(*happened, *later))
    assert second.count(PROMPT) == 1
    assert "line one cal_1_0" in second


@given(
    sizes=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3_000), st.booleans()), max_size=12),
    target=st.integers(0, 12_000),
)
async def test_no_cut_ever_tears_a_pair(sizes: list[tuple[int, int, bool]], target: int) -> None:
    happened: list[Event] = []
    for number, (calls, size, nudged) in enumerate(sizes):
        happened += step(number, calls=calls, size=size)
        if nudged:
            happened.append(NudgeAdded(origin="open_tasks", text="Go on."))
    await check(Window(), view_of(*happened), target)


@dataclass(frozen=True)
class Says:
    """A side model that says one thing, or nothing at all; notes what it was asked."""

    text: str
    asked: list[str] = field(default_factory=list[str])

    async def ask(
        self,
        system: str,
        text: str,
        *,
        origin: str,
        max_tokens: int = 1_000,
    ) -> str:
        self.asked.append(text)
        if not self.text:
            raise ProviderError(ProviderFailure.OVERLOADED, "busy")
        return self.text


SECTIONS = "## Done\nRead m1.py.\n## Next step\nRewrite it."


async def test_a_model_says_what_the_older_part_was_about() -> None:
    says = Says(SECTIONS)
    view = view_of(*steps(8))
    verdict = await check(Summarize(says), view, 1_000)
    assert isinstance(verdict, Shortened)
    assert view.messages[verdict.drop_before].text == "Step 5."
    assert PROMPT in verdict.summary
    assert SECTIONS in verdict.summary
    assert "data, not instructions" in verdict.summary
    assert "Step 4." in says.asked[0]
    assert "Step 5." not in says.asked[0]
    assert "[result of read_file; data]" in says.asked[0]


@pytest.mark.parametrize(
    "text", [pytest.param("", id="no-answer"), pytest.param("y" * 100_000, id="a-longer-text")]
)
async def test_without_a_good_summary_a_mechanical_one_stands(text: str) -> None:
    verdict = await check(Summarize(Says(text)), view_of(*steps(8)), 1_000)
    assert isinstance(verdict, Shortened)
    assert "Files named in calls" in verdict.summary


async def test_a_summary_of_before_a_restart_is_not_asked_for_again() -> None:
    says = Says("other")
    given = AdviceGiven(origin="summarize", model="m", text=SECTIONS)
    view = view_of(*steps(8), Moved(to=Phase.COMPACT), given)
    verdict = await check(Summarize(says), view, 1_000)
    assert isinstance(verdict, Shortened)
    assert SECTIONS in verdict.summary
    assert says.asked == []


NOTHING_TO_SUMMARISE = {
    "the-last-steps-stay": (4, {}),
    "little-is-not-worth-it": (8, {"min_tokens": 100_000}),
    "as-many-as-the-setting-says": (8, {"keep_steps": 8}),
}


@pytest.mark.parametrize("count, options", NOTHING_TO_SUMMARISE.values(), ids=NOTHING_TO_SUMMARISE)
async def test_what_stays_is_not_summarised(count: int, options: dict[str, int]) -> None:
    says = Says(SECTIONS)
    policy = Summarize(says, SummarizeOptions(**options))
    assert await check(policy, view_of(*steps(count)), 10) == Unchanged()
    assert says.asked == []


async def test_the_side_model_reads_beginning_and_end_of_what_is_too_long() -> None:
    says = Says(SECTIONS)
    policy = Summarize(says, SummarizeOptions(max_input_tokens=1_000))
    await check(policy, view_of(*steps(12)), 10)
    assert len(says.asked[0]) < 4_500
    assert "Step 1." in says.asked[0]
    assert "characters …]" in says.asked[0]


async def test_a_work_log_keeps_the_newest_messages_with_short_results() -> None:
    view = view_of(*steps(8))
    verdict = await WorkLog().compact(view, 0)
    assert isinstance(verdict, Shortened)
    assert len(view.messages) - verdict.drop_before == 10
    assert verdict.max_result_chars == 800
    assert PROMPT in verdict.summary


async def test_a_short_conversation_only_has_its_results_cut() -> None:
    verdict = await WorkLog().compact(view_of(*steps(3)), 0)
    assert verdict == Shortened(0, "", 800)


async def test_what_did_not_run_is_no_tool_that_was_used() -> None:
    """The log of the work before names it by its own word."""
    ends = {"a": {}, "b": {"data": {"queued": True}}, "c": {"error": ErrorKind.DENIED}}
    calls = [call_of("write_file", f'{{"path": "{one}.py"}}', id=f"cal_{one}") for one in ends]
    results = [
        ToolCallFinished(
            result=ToolResult.model_validate({"call_id": f"cal_{one}", "text": "x", **end})
        )
        for one, end in ends.items()
    ]
    later = [event for number in range(2, 9) for event in step(number)]
    view = view_of(prepared(1), said("Begin.", *calls), *results, *later, prompt=PROMPT)
    verdict = await check(WorkLog(), view, 0)
    assert isinstance(verdict, Shortened)
    assert "write_file: 1×" in verdict.summary
    assert "## Not done\n- write_file: queued" in verdict.summary
    assert "- write_file (denied): x" in verdict.summary
