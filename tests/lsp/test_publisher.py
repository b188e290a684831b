"""What an opted-in client is sent: merged, in order, and the same as the snapshot."""

from __future__ import annotations

import asyncio
from typing import Any

from agent_ls.domain import events as e
from agent_ls.domain.errors import StoreError
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.modes import Mode
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.loop.state.folding import fold_all
from agent_ls.loop.state.state import SessionState
from agent_ls.lsp import wire
from agent_ls.lsp.presenters.publisher import Publisher, droppable_size, joined

EVENTS: list[e.Event] = [
    e.SessionCreated(session_id="ses_1", roots=(), mode=Mode.ASK, model="m"),
    e.TurnStarted(turn_id="trn_1", prompt="hi"),
    e.RequestPrepared(step_id="stp_1", number=1),
    e.Answered(step_id="stp_1", message=AssistantMessage(text="hello")),
    e.TurnEnded(turn_id="trn_1", stop=StopReason.COMPLETED, status=TurnStatus.SUCCESS, output="x"),
]


def stored(events: list[e.Event], first: int = 1) -> list[e.StoredEvent]:
    return [
        e.StoredEvent(session_id="ses_1", seq=seq, at_ms=0, event=event)
        for seq, event in enumerate(events, first)
    ]


class Sent:
    """A Publisher and what it has sent."""

    def __init__(self) -> None:
        self.params: list[dict[str, Any]] = []
        self.news = asyncio.Event()
        self.publisher = Publisher(self._keep, {}, lambda path: None)

    def _keep(self, params: wire.UpdateParams) -> None:
        self.params.append(params.model_dump(mode="json", by_alias=True))
        self.news.set()

    async def until(self, number: int) -> None:
        """Wait until so many notifications were sent."""
        while len(self.params) < number:
            self.news.clear()
            await self.news.wait()

    @property
    def kinds(self) -> list[list[str]]:
        return [[one["sessionUpdate"] for one in params["updates"]] for params in self.params]


async def check(events: list[e.StoredEvent], pieces: list[e.Ephemeral]) -> Sent:
    sent = Sent()
    for event in events:
        sent.publisher.on_event(event)
    for piece in pieces:
        sent.publisher.on_ephemeral("ses_1", piece)
    sent.publisher.flush("ses_1")
    return sent


async def test_deltas_of_one_moment_are_one_chunk() -> None:
    pieces: list[e.Ephemeral] = [e.TextStreamed("stp_1", c) for c in "hello"]
    sent = await check([], pieces)
    assert sent.kinds == [["agent_message_chunk"]]
    assert sent.params[0]["updates"][0]["content"]["text"] == "hello"


async def test_what_is_queued_goes_out_by_itself() -> None:
    sent = Sent()
    for character in "hello":
        sent.publisher.on_ephemeral("ses_1", e.TextStreamed("stp_1", character))
    assert sent.params == []
    async with asyncio.timeout(60):
        await sent.news.wait()
    assert sent.kinds == [["agent_message_chunk"]]


async def test_chunks_of_different_kinds_keep_their_order() -> None:
    sent = await check(
        [],
        [
            e.ReasoningStreamed("stp_1", "a"),
            e.TextStreamed("stp_1", "b"),
            e.CallOutputStreamed("cal_1", "x"),
            e.CallOutputStreamed("cal_2", "y"),
            e.CallOutputStreamed("cal_2", "z"),
        ],
    )
    assert sent.kinds == [
        ["agent_thought_chunk", "agent_message_chunk", "tool_call_output", "tool_call_output"]
    ]


async def test_the_end_of_a_turn_is_sent_at_once_and_with_all_before_it() -> None:
    sent = Sent()
    for event in stored(EVENTS):
        sent.publisher.on_event(event)
    assert sent.kinds[0][-1] == "turn_ended"
    assert sent.params[0]["seq"] == len(EVENTS)


async def test_a_snapshot_says_the_same_as_the_stream() -> None:
    journal = stored(EVENTS)
    sent = await check(journal, [])
    result = sent.publisher.snapshot(fold_all(journal), journal)
    streamed = [one for params in sent.params for one in params["updates"]]
    assert [one.model_dump(mode="json", by_alias=True) for one in result.updates] == streamed
    assert result.seq == len(EVENTS)
    assert result.partial is None


async def test_a_snapshot_in_the_middle_holds_the_partial_answer_and_nothing_is_sent_twice() -> (
    None
):
    journal = stored(EVENTS[:3])
    sent = Sent()
    for event in journal:
        sent.publisher.on_event(event)
    for piece in (e.ReasoningStreamed("stp_1", "hm"), e.TextStreamed("stp_1", "hel")):
        sent.publisher.on_ephemeral("ses_1", piece)
    result = sent.publisher.snapshot(fold_all(journal), journal)
    assert result.partial is not None
    assert (result.partial.text, result.partial.thought) == ("hel", "hm")
    sent.publisher.on_ephemeral("ses_1", e.TextStreamed("stp_1", "lo"))
    sent.publisher.flush("ses_1")
    assert sent.params[-1]["updates"][0]["content"]["text"] == "lo"


async def test_what_is_shown_is_stored_before() -> None:
    journal, sent, gates = stored(EVENTS), Sent(), [asyncio.Event() for _ in range(3)]
    waits = iter(gates)

    async def store() -> None:
        gate = next(waits)
        await gate.wait()
        if gate is gates[0]:
            raise StoreError("the disk is full")

    sent.publisher.begin(SessionState(session_id="ses_1"), store)
    # A piece of text is never stored, so it need not wait.
    sent.publisher.on_ephemeral("ses_1", e.TextStreamed("stp_0", "x"))
    sent.publisher.flush("ses_1")
    assert sent.kinds == [["agent_message_chunk"]]
    for event in journal[:3]:
        sent.publisher.on_event(event)
    sent.publisher.flush("ses_1")
    sent.publisher.on_ephemeral("ses_1", e.TextStreamed("stp_1", "y"))
    sent.publisher.flush("ses_1")
    await asyncio.sleep(0)
    assert len(sent.params) == 1
    for event in journal[3:]:
        sent.publisher.on_event(event)
    gates[0].set()
    await asyncio.wait_for(sent.until(3), 60)
    assert [one["seq"] for one in sent.params] == [0, 3, 3]
    gates[1].set()
    await asyncio.wait_for(sent.until(4), 60)
    assert (sent.kinds[-1][-1], sent.params[-1]["seq"]) == ("turn_ended", len(EVENTS))


async def test_a_later_snapshot_goes_on_where_the_one_before_ended() -> None:
    journal = stored(EVENTS)
    whole = Sent().publisher.snapshot(fold_all(journal), journal)
    sent = Sent()
    for end in (2, 2, len(journal)):
        part = journal[:end]
        for _ in range(2):
            await sent.publisher.catch_up("ses_1", part)
        result = sent.publisher.snapshot(fold_all(part), part)
        assert result == Sent().publisher.snapshot(fold_all(part), part)
    assert result == whole
    # Loaded again, it lacks the last events.
    sent.publisher.begin(fold_all(journal[:2]))
    again = sent.publisher.snapshot(fold_all(journal[:2]), journal[:2])
    assert len(again.updates) < len(whole.updates)


async def test_a_discarded_attempt_leaves_no_partial_answer() -> None:
    sent = await check([], [e.TextStreamed("stp_1", "x"), e.AttemptDiscarded("stp_1")])
    assert sent.kinds == [["agent_message_chunk", "agent_chunks_discarded"]]
    assert sent.publisher.snapshot(SessionState(session_id="ses_1"), []).partial is None


def test_only_what_comes_again_whole_may_be_dropped() -> None:
    chunk = wire.AgentMessageChunk(step_id="s", content=wire.TextContent(text="abc"))
    end = wire.CancelUpdate(by="x")
    older = wire.UpdateParams(session_id="ses_1", seq=1, updates=[chunk])
    newer = wire.UpdateParams(session_id="ses_1", seq=2, updates=[chunk, chunk])
    assert droppable_size(older) == 3
    assert (
        droppable_size(wire.UpdateParams(session_id="ses_1", seq=1, updates=[chunk, end])) is None
    )
    both = joined(older, newer)
    assert (both.seq, len(both.updates)) == (2, 1)
    assert isinstance(both.updates[0], wire.AgentMessageChunk)
    assert both.updates[0].content.text == "abcabcabc"
