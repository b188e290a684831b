"""A turn as work-done progress, for clients that take tokens and those that do not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.calls import Effect
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.domain.usage import Usage
from agent_ls.lsp.presenters.progress import Limits, TurnProgress
from tests.support.gallery import REQUEST

STARTED = e.TurnStarted(turn_id="trn_1", prompt="do it.\nnow")
ENDED = e.TurnEnded(
    turn_id="trn_1", stop=StopReason.COMPLETED, status=TurnStatus.SUCCESS, output="done\nmore"
)
STEP: list[e.Event] = [
    e.RequestPrepared(step_id="stp_1", number=3),
    e.Moved(to=Phase.CALL),
    e.AttemptFinished(step_id="stp_1", usage=Usage(input_tokens=900, output_tokens=100)),
    e.ToolCallStarted(
        call_id="c", tool="read_file", effect=Effect.READ, arguments_json='{"path": "a.py"}'
    ),
    e.Moved(to=Phase.JUDGE),
]


async def _settle() -> None:
    """Let what is ready run; nothing here waits for time."""
    for _ in range(5):
        await asyncio.sleep(0)


async def check(
    events: list[e.Event], *, takes_tokens: bool = True, has_panel: bool = False
) -> list[dict[str, Any]]:
    values: list[dict[str, Any]] = []

    async def create(token: str) -> bool:
        await asyncio.sleep(0)
        return takes_tokens

    def notify(method: str, params: Any) -> None:
        assert (method, params["token"]) == ("$/progress", "trn_1")
        values.append(params["value"])

    limits = Limits(steps=10, tokens=2000)
    progress = TurnProgress(create, notify, limits, has_panel=has_panel)
    for seq, event in enumerate(events, 1):
        progress.on_event(e.StoredEvent(session_id="ses_1", seq=seq, at_ms=0, event=event))
        await _settle()
    return values


async def test_a_turn_begins_reports_and_ends() -> None:
    values = await check([STARTED, *STEP, ENDED])
    assert values[0]["title"] == "Agent: do it"
    assert values[0]["cancellable"] is True
    assert [(one["message"], one["percentage"]) for one in values[1:-1]] == [
        ("step 3: thinking", 30),
        ("read_file a.py", 50),
        ("checking the result", 50),
    ]
    assert values[-1] == {"kind": "end", "message": "completed: done"}


@pytest.mark.parametrize(
    ("has_panel", "told"),
    [(False, ["waiting for you: Edit a.py"]), (True, ["waiting for you"])],
)
async def test_what_waits_is_told_in_full_only_where_no_panel_does(
    has_panel: bool, told: list[str]
) -> None:
    asked = e.ApprovalRequested(request=REQUEST)
    values = await check([STARTED, asked, ENDED], has_panel=has_panel)
    assert [one["message"] for one in values if "waiting" in one["message"]] == told


@pytest.mark.parametrize(
    "pieces, expected",
    [
        (["I rea", "d a.py. Then I te"], ["I read a.py."]),
        (["Plan:\n1. Read a.py\n2. T"], ["Read a.py"]),
        (["Half a wo"], ["step 1: writing"]),
        (["Set x.y to 1.5 now! "], ["Set x.y to 1.5 now!"]),
    ],
)
async def test_whole_sentences_of_an_answer_are_shown_or_that_it_comes(
    pieces: list[str], expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_ls.lsp.presenters.progress._REPORT_S", 0.01)
    values: list[dict[str, Any]] = []

    async def create(token: str) -> bool:
        return True

    progress = TurnProgress(create, lambda _, params: values.append(params["value"]), Limits())
    prepared = e.RequestPrepared(step_id="stp_1", number=1)
    for seq, event in enumerate((STARTED, prepared, e.Moved(to=Phase.CALL)), 1):
        progress.on_event(e.StoredEvent(session_id="ses_1", seq=seq, at_ms=0, event=event))
    await _settle()
    for piece in pieces:
        progress.on_ephemeral("ses_1", e.TextStreamed(step_id="stp_1", text=piece))
    await asyncio.sleep(0.05)
    begin, *reports = [one["message"] for one in values]
    assert (begin, reports) == ("step 1: thinking", expected)


async def test_a_client_that_takes_no_tokens_is_sent_nothing() -> None:
    assert await check([STARTED, *STEP, ENDED], takes_tokens=False) == []


async def test_a_turn_that_ends_while_its_token_is_created_still_begins_and_ends() -> None:
    created = asyncio.Event()
    values: list[dict[str, Any]] = []

    async def create(token: str) -> bool:
        await created.wait()
        return True

    progress = TurnProgress(create, lambda _, params: values.append(params["value"]), Limits())
    for event in (STARTED, ENDED):
        progress.on_event(e.StoredEvent(session_id="ses_1", seq=1, at_ms=0, event=event))
    assert progress.session_of("trn_1") is None
    created.set()
    await _settle()
    assert [one["kind"] for one in values] == ["begin", "end"]


@pytest.mark.parametrize(
    "step, usage, limits, expected",
    [
        pytest.param(0, Usage(), Limits(), 0, id="no-limits"),
        pytest.param(5, Usage(), Limits(steps=50), 10, id="steps"),
        pytest.param(1, Usage(cost_usd=4), Limits(steps=50, cost_usd=5), 80, id="nearest-limit"),
        pytest.param(90, Usage(), Limits(steps=50), 99, id="never-full-before-the-end"),
    ],
)
def test_the_percentage_is_the_nearest_limits(
    step: int, usage: Usage, limits: Limits, expected: int
) -> None:
    assert limits.percentage(step, usage) == expected
