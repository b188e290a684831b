"""What a turn took: time, steps and what it spent; and what fills the model's window."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.domain import events as ev
from agent_ls.domain.approvals import ApprovalAnswer, ApprovalChoice
from agent_ls.domain.stops import StopReason
from agent_ls.domain.usage import Usage
from agent_ls.lsp.handlers.taken import taken
from tests.lsp.test_parts import ended as ended_turns
from tests.lsp.test_parts import panel
from tests.store.stories import Journal, created, ended, noise


def _spent(tokens: int, usd: float) -> ev.AttemptFinished:
    usage = Usage(input_tokens=tokens, output_tokens=1, cache_read_tokens=2, cost_usd=usd)
    return ev.AttemptFinished(step_id="stp_1", usage=usage)


def _asked(number: int) -> ev.RequestPrepared:
    return ev.RequestPrepared(step_id="stp_1", number=number)


def _child(tokens: int) -> ev.ChildEnded:
    return ev.ChildEnded(
        call_id="cal_1",
        child_id="ses_2",
        kind="explore",
        stop=StopReason.COMPLETED,
        usage=Usage(input_tokens=tokens),
    )


def test_each_turn_has_its_own_and_the_time_that_others_took_is_not_its() -> None:
    journal, slept = Journal(), Journal(seq=20, start_ms=3_600_000)
    allowed = ApprovalAnswer(choice=ApprovalChoice.ALLOW_ONCE, by="user")
    # 10 ms lie between two events, an hour before the answer.
    events = [
        *journal.all(
            created(),
            noise(),
            ev.TurnStarted(turn_id="trn_1", prompt="One"),
            _asked(1),
            _spent(100, 0.5),
            _child(30),
        ),
        *slept.all(
            ev.ApprovalResolved(approval_id="apr_1", answer=allowed),
            _asked(2),
            _spent(200, 0.25),
            ended("trn_1"),
            # Between two turns nothing belongs to either.
            _spent(999, 9.0),
            ev.TurnStarted(turn_id="trn_2", prompt="Two"),
            ended("trn_2"),
            ev.TurnStarted(turn_id="trn_3", prompt="It still works"),
            _spent(1, 1.0),
        ),
    ]
    first, second = taken(events)
    assert (first.turn_id, first.duration_ms, first.steps) == ("trn_1", 60, 2)
    assert (first.cost.amount, first.tokens.input_tokens) == (0.75, 330)
    assert (first.tokens.output_tokens, first.tokens.cache_read_tokens) == (2, 4)
    assert (second.turn_id, second.duration_ms, second.steps) == ("trn_2", 10, 0)
    assert (second.cost.amount, second.tokens.input_tokens) == (0, 0)


def test_what_was_cut_off_does_not_count_the_time_until_it_went_on() -> None:
    later, earlier = Journal(seq=9, start_ms=90_000), Journal(seq=3, start_ms=0)
    events = [
        *Journal().all(created(), ev.TurnStarted(turn_id="trn_1", prompt="One"), noise()),
        *later.all(ev.SessionResumed(), noise()),
        # The clock was set back.
        *earlier.all(noise(), ended("trn_1")),
    ]
    (row,) = taken(events)
    assert row.duration_ms == 30


def test_a_journal_that_nobody_spoke_in_has_none() -> None:
    assert taken([]) == []
    assert taken(Journal().all(created(), noise(), _spent(1, 1.0))) == []


@pytest.mark.e2e
async def test_what_fills_the_window_is_told_by_its_parts(tmp_path: Path) -> None:
    async with panel(tmp_path) as (client, _, work):
        (work / "AGENTS.md").write_text("# House rules\n\nBe brief.\n" * 40)
        new = (await client.ask("agent/sessions/new", {}))["result"]["session"]["sessionId"]
        asked = {"sessionId": new}
        empty = (await client.ask("agent/context", asked))["result"]
        assert (empty["usedTokens"], empty["parts"]) == (0, [])
        assert (await client.ask("agent/turns", asked))["result"]["turns"] == []

        prompt = {"text": "Look. " * 200, "editorState": False, **asked}
        await client.ask("agent/prompt", prompt)
        await ended_turns(client, 1)
        told = (await client.ask("agent/context", asked))["result"]
        parts = {one["kind"]: one["tokens"] for one in told["parts"]}
        assert set(parts) == {"system", "rules", "tools", "files", "results", "history"}
        assert all(parts[kind] > 0 for kind in ("system", "rules", "tools", "history"))
        assert (parts["files"], parts["results"]) == (0, 0)
        # Rounded, they add up to what is used.
        assert abs(sum(parts.values()) - told["usedTokens"]) <= len(parts)
        (row,) = (await client.ask("agent/turns", asked))["result"]["turns"]
        assert (row["steps"], row["durationMs"] > 0) == (1, True)
        for method in ("agent/context", "agent/turns"):
            answer = await client.answer(client.start(method, {"sessionId": "ses_x"}), 30)
            assert "ses_x" in answer["error"]["message"]
        assert await client.leave() == 0
