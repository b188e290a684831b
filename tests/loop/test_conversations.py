"""Whatever happens in a turn, what is sent to a model is a conversation every provider takes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_ls.domain import events as e
from agent_ls.domain.calls import ErrorKind, ToolCall, ToolResult
from agent_ls.domain.errors import ProviderError, ProviderFailure
from agent_ls.domain.messages import AssistantMessage, Message, ToolMessage, UserMessage
from agent_ls.domain.modes import Mode
from agent_ls.domain.verdicts import Shortened
from agent_ls.loop.extension_points import Compactor
from agent_ls.loop.ports.models import ModelFacts
from agent_ls.loop.state.folding import fold
from agent_ls.loop.state.state import SessionState
from agent_ls.loop.state.view import TurnView
from agent_ls.policies.compactors.summarize import Summarize, SummarizeOptions
from agent_ls.policies.compactors.window import Window
from agent_ls.policies.compactors.work_log import WorkLog, WorkLogOptions


@dataclass(frozen=True)
class Says:
    """A side model that says one thing, or nothing at all."""

    text: str

    async def ask(
        self,
        system: str,
        text: str,
        *,
        origin: str,
        max_tokens: int = 1_000,
    ) -> str:
        if not self.text:
            raise ProviderError(ProviderFailure.OVERLOADED, "busy")
        return self.text


@dataclass
class Told:
    """A session that only what is drawn happens to."""

    state: SessionState = SessionState()
    count: int = 0
    kept: list[str] = field(default_factory=list[str])

    def emit(self, *events: e.Event) -> None:
        for event in events:
            seq = self.state.seq + 1
            stored = e.StoredEvent(session_id="ses_1", seq=seq, at_ms=seq, event=event)
            self.state = fold(self.state, stored)

    def begin(self) -> None:
        self.emit(
            e.SessionCreated(session_id="ses_1", roots=(), mode=Mode.AUTO, model="m"),
            e.TurnStarted(turn_id="trn_1", prompt="Do it. " * 20),
        )

    def step(self, sizes: Sequence[int], *, text: str) -> None:
        """Add an answer with so many calls and their results, which may be short or long."""
        self.count += 1
        calls = tuple(
            ToolCall(
                id=f"cal_{self.count}_{index}",
                provider_id=f"p{index}",
                tool="read_file",
                arguments_json='{"path": "a.py"}',
            )
            for index, _ in enumerate(sizes)
        )
        self.emit(
            e.RequestPrepared(step_id=f"stp_{self.count}", number=self.count),
            e.Answered(
                step_id=f"stp_{self.count}", message=AssistantMessage(text=text, calls=calls)
            ),
        )
        for call, size in reversed(list(zip(calls, sizes, strict=True))):
            error = ErrorKind.RUNTIME if size % 2 else None
            result = ToolResult(call_id=call.id, text="x" * size, error=error)
            self.emit(e.ToolCallFinished(result=result))

    @property
    def view(self) -> TurnView:
        assert self.state.turn is not None
        return TurnView(
            session=self.state,
            turn=self.state.turn,
            facts=ModelFacts(window_tokens=0, max_output_tokens=0),
            elapsed_s=0.0,
        )

    async def compact(self, compactor: Compactor, target: int) -> None:
        verdict = await compactor.compact(self.view, target)
        if isinstance(verdict, Shortened):
            self.emit(
                e.Compacted(
                    origin=compactor.name,
                    why="",
                    drop_before=verdict.drop_before,
                    summary=verdict.summary,
                    before_tokens=0,
                    after_tokens=0,
                    max_result_chars=verdict.max_result_chars,
                )
            )


def check(messages: Sequence[Message]) -> None:
    """Assert that these messages can be sent: whole pairs in order, the last word not the model's.

    No provider takes less: orphans of either kind, results out of their place, an assistant's
    message at the end.
    """
    waiting: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            assert message.call_id in waiting, "a result without its call right before it"
            waiting.remove(message.call_id)
            continue
        assert not waiting, "calls without their results right after them"
        if isinstance(message, AssistantMessage):
            waiting = [call.id for call in message.calls]
    assert not waiting, "the last calls have no results"
    assert isinstance(messages[0], UserMessage)
    assert not isinstance(messages[-1], AssistantMessage), "it ends with the model's own words"


_SIZES = st.lists(st.sampled_from([0, 1, 300, 5_001, 20_000]), max_size=3)
_COMPACTORS: list[Compactor] = [
    Window(),
    WorkLog(),
    WorkLog(WorkLogOptions(keep_messages=1, max_result_chars=100)),
    Summarize(Says("## Done\nAll of it."), SummarizeOptions(keep_steps=1, min_tokens=0)),
    Summarize(Says("y" * 9_000), SummarizeOptions(keep_steps=2, min_tokens=0)),
    Summarize(Says(""), SummarizeOptions(keep_steps=4, min_tokens=0)),
]
_HAPPENING = st.one_of(
    st.tuples(st.just("step"), _SIZES),
    st.tuples(st.just("steer"), st.just([])),
    st.tuples(st.just("continued"), st.just([])),
    st.tuples(st.just("turn"), st.just([])),
    st.tuples(st.just("compact"), st.lists(st.integers(0, 5_000), min_size=2, max_size=2)),
)


def _happen(told: Told, kind: str, numbers: Sequence[int]) -> None:
    match kind:
        case "step":
            told.step(numbers, text="Text." if len(numbers) != 1 else "")
            if not numbers:
                # A gate says why an answer without calls is not the end.
                told.emit(e.NudgeAdded(origin="open_tasks", text="Go on."))
        case "steer":
            told.emit(
                e.PromptQueued(text="Mind the tabs.", kind="steer"),
                e.RequestPrepared(step_id="stp_s", number=0),
            )
        case "continued":
            told.emit(
                e.RecoveryChosen(
                    step_id="stp_c", origin="continuation", action="continue", partial="Half",
                    text="Go on exactly there.",
                )
            )  # fmt: skip
        case "turn":
            told.step([], text="Done.")
            told.emit(e.TurnStarted(turn_id=f"trn_{told.count}", prompt="Now the next thing."))
        case _:
            compactor = _COMPACTORS[numbers[0] % len(_COMPACTORS)]
            asyncio.run(told.compact(compactor, numbers[1]))


@settings(max_examples=200, deadline=None)
@given(st.lists(_HAPPENING, min_size=1, max_size=14))
def test_a_conversation_can_be_sent_after_anything(happenings) -> None:
    told = Told()
    told.begin()
    check(told.view.messages)
    for kind, numbers in happenings:
        _happen(told, kind, numbers)
        check(told.view.messages)


@settings(max_examples=100, deadline=None)
@given(st.lists(_HAPPENING, min_size=4, max_size=14), st.integers(0, len(_COMPACTORS) - 1))
def test_the_prompt_survives_every_compaction(happenings, which) -> None:
    told = Told()
    told.begin()
    for kind, numbers in happenings:
        _happen(told, kind, numbers)
    asyncio.run(told.compact(_COMPACTORS[which], 1_000_000 if which else 10_000))
    prompt = told.view.turn.prompt
    assert any(prompt.strip() in message.text for message in told.view.messages)


@pytest.mark.parametrize("compactor", _COMPACTORS, ids=lambda one: f"{one.name}")
async def test_calls_that_still_run_are_never_cut_off(compactor: Compactor) -> None:
    told = Told()
    told.begin()
    for _ in range(6):
        told.step([5_000, 5_000], text="Text.")
    call = ToolCall(id="cal_open", provider_id="p", tool="read_file", arguments_json="{}")
    told.emit(e.Answered(step_id="stp_o", message=AssistantMessage(calls=(call,))))
    await told.compact(compactor, 10)
    last = told.view.messages[-1]
    assert isinstance(last, AssistantMessage)
    assert last.calls == (call,)
    assert len(told.view.messages) < 20
