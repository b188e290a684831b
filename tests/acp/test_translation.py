"""Events become the protocol's updates, live and when a session is loaded."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.acp.outbox import Outbox, Update
from agent_ls.acp.translation import Translation
from agent_ls.domain import events as e
from agent_ls.domain.approvals import Question, QuestionAnswer
from agent_ls.domain.calls import Effect, ErrorKind, ToolCall, ToolKind, ToolResult
from agent_ls.domain.edits import CreateFile
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.stops import STATUS, StopReason
from agent_ls.domain.usage import Usage

BLOBS = {"one": b"1\n", "two": b"2\n"}
CALL = ToolCall(id="cal_1", provider_id="p", tool="write_file", arguments_json='{"path": "a"}')
KINDS = {"write_file": ToolKind.EDIT, "run_command": ToolKind.EXECUTE, "read_file": ToolKind.READ}


async def stored(digest: str) -> bytes | None:
    return BLOBS.get(digest)


def translation(*, is_replay: bool = False) -> Translation:
    return Translation(KINDS, lambda path: f"/root/{path}", stored, is_replay=is_replay)


async def shown(translation: Translation, *events: Any) -> list[dict[str, Any]]:
    """Return what the events become, as JSON without what is always there."""
    found: list[dict[str, Any]] = []
    for event in events:
        is_piece = not isinstance(event, e.Record)
        for one in translation.feed_piece(event) if is_piece else translation.feed(event):
            update = await one() if callable(one) else one
            found.append(update.model_dump(mode="json", by_alias=True, exclude_none=True))
    return found


def texts(found: list[dict[str, Any]]) -> list[str]:
    return [one["content"]["text"] for one in found if "chunk" in one["sessionUpdate"]]


def answer(text: str, step: str = "s1", *calls: ToolCall, reasoning: str = "") -> e.Answered:
    message = AssistantMessage(text=text, calls=calls, reasoning=reasoning)
    return e.Answered(step_id=step, message=message)


def ended(stop: StopReason, why: str) -> e.TurnEnded:
    return e.TurnEnded(turn_id="t", stop=stop, status=STATUS[stop], output="", failure_reason=why)


STOPPED = "\n\n*Stopped before the agent read this:*\n\n"
LIVE = {
    "what streamed is not said again": (
        (e.TextStreamed("s1", "Yes."), answer("Yes.")),
        ["Yes."],
    ),
    "what did not stream is said": ((answer("Yes."),), ["Yes."]),
    "what was thrown away is marked, and the next try is said": (
        (e.TextStreamed("s1", "No"), e.AttemptDiscarded("s1"), answer("Yes.")),
        ["No", "\n\n*(What was said last does not count.)*\n\n", "Yes."],
    ),
    "a discarded attempt without text is not told": ((e.AttemptDiscarded("s1"),), []),
    "the answers of two steps are two paragraphs": (
        (e.TextStreamed("s1", "One."), answer("One."), e.TextStreamed("s2", "Two.")),
        ["One.", "\n\nTwo."],
    ),
    "why a turn ended early": ((ended(StopReason.TIMEOUT, "Time."),), ["\n\n*Time.*\n"]),
    "an error is told by the answer to the prompt": ((ended(StopReason.ERROR, "Key."),), []),
    "a final output was not said before": (
        (
            e.TurnEnded(
                turn_id="t",
                stop=StopReason.FINAL_OUTPUT,
                status=STATUS[StopReason.FINAL_OUTPUT],
                output="1 finding",
            ),
        ),
        ["\n\n1 finding"],
    ),
    "a stop needs no reason": ((ended(StopReason.CANCELLED, "Stopped."),), []),
    "what a stop takes from the queue is given back, in order": (
        (
            e.PromptQueued(text="Faster,\nplease", kind="steer"),
            e.PromptQueued(text="Then commit", kind="follow_up"),
            e.CancelRequested(by="user"),
            e.CancelRequested(by="user"),
        ),
        [f"{STOPPED}> Faster,\n> please\n\n> Then commit\n"],
    ),
    "what the model has read is not given back": (
        (
            e.PromptQueued(text="Faster", kind="steer"),
            e.RequestPrepared(step_id="s2", number=2),
            e.CancelRequested(by="user"),
        ),
        [],
    ),
    "the user's words are not repeated": ((e.PromptQueued(text="x", kind="steer"),), []),
}


@pytest.mark.parametrize("name", LIVE)
async def test_what_is_said_live(name: str) -> None:
    events, expected = LIVE[name]
    assert texts(await shown(translation(), *events)) == expected


async def test_a_replay_says_everything_again() -> None:
    found = await shown(
        translation(is_replay=True),
        e.TurnStarted(turn_id="t", prompt="Please"),
        answer("Yes.", reasoning="Hm."),
        e.PromptQueued(text="Faster", kind="steer"),
        ended(StopReason.ERROR, "The key is wrong."),
    )
    assert texts(found) == ["Please", "Hm.", "Yes.", "Faster", "\n\n*The key is wrong.*\n"]


async def test_a_call_shows_what_it_changed() -> None:
    edit = CreateFile(path="a", text="1\n")
    found = await shown(
        translation(),
        answer("", "s1", CALL),
        e.ToolCallStarted(call_id="cal_1", tool="write_file", effect=Effect.WRITE, paths=("a",)),
        e.EditIntended(call_id="cal_1", edit=edit, before_blob=None),
        e.EditApplied(call_id="cal_1", path="a", status="applied", after_blob="one"),
        e.EditIntended(call_id="cal_1", edit=edit, before_blob="one"),
        e.EditApplied(call_id="cal_1", path="a", status="refused"),
        e.ToolCallFinished(result=ToolResult(call_id="cal_1", text="Done.")),
    )
    start, progress, end = found
    assert (start["kind"], start["status"]) == ("edit", "pending")
    assert progress["locations"] == [{"path": "/root/a"}]
    assert end["content"] == [{"type": "diff", "path": "/root/a", "newText": "1\n"}]
    assert end["status"] == "completed"


@pytest.mark.parametrize(
    "tool, result, status, content",
    [
        ("read_file", {"text": "secret text"}, "completed", None),
        ("read_file", {"text": "No file.", "error": ErrorKind.RUNTIME}, "failed", "No file."),
        ("run_command", {"text": "hi"}, "completed", "```\nhi\n```"),
        ("run_command", {"text": "a ``` b"}, "completed", "````\na ``` b\n````"),
        ("run_command", {"text": "hi", "data": {"exit_code": 3}}, "failed", "```\nhi\n```"),
        ("unknown", {"text": "hi"}, "completed", "hi"),
    ],
)
async def test_a_result(tool: str, result: Any, status: str, content: str | None) -> None:
    call = CALL.model_copy(update={"tool": tool})
    finished = e.ToolCallFinished(result=ToolResult(call_id="cal_1", **result))
    *_, end = await shown(translation(), answer("", "s1", call), finished)
    said = [one["content"]["text"] for one in end.get("content", ())]
    assert (end["status"], said) == (status, [] if content is None else [content])


async def test_a_question_is_a_call_that_ends_with_the_answer() -> None:
    question = Question(id="qst_1", turn_id="t", origin="ask_user", text="Which?\u202e")
    begin, end = await shown(
        translation(),
        e.QuestionAsked(question=question),
        e.QuestionResolved(question_id="qst_1", answer=QuestionAnswer(text="blue")),
    )
    assert (begin["toolCallId"], end["toolCallId"]) == ("qst_1", "qst_1")
    assert begin["title"] == begin["content"][0]["content"]["text"] == "Which?\\u202e"
    assert (end["status"], end["content"][0]["content"]["text"]) == ("completed", "blue")


async def test_usage_says_how_full_the_window_is_and_what_it_cost() -> None:
    used = Usage(input_tokens=90, output_tokens=10, cost_usd=0.5)
    prepared = e.RequestPrepared(step_id="s1", number=1, window_tokens=1_000)
    attempt = e.AttemptFinished(step_id="s1", usage=used)
    found = await shown(translation(), attempt, prepared, attempt)
    assert found == [
        {
            "sessionUpdate": "usage_update",
            "used": 100,
            "size": 1_000,
            "cost": {"amount": 1.0, "currency": "USD"},
        }
    ]


async def test_pieces_are_joined_in_order_and_output_is_replaced() -> None:
    sent: list[Update] = []

    async def send(update: Update) -> None:
        sent.append(update)

    outbox, told = Outbox(send), translation()
    pieces = (
        *(e.TextStreamed("s1", letter) for letter in "abc"),
        *(e.CallOutputStreamed("cal_1", letter) for letter in "xyz"),
        e.TextStreamed("s1", "d"),
    )
    for piece in pieces:
        for update in told.feed_piece(piece):
            outbox.put(update)
    await outbox.flush()
    contents = [one.model_dump(mode="json")["content"] for one in sent]
    output = [{"type": "content", "content": {"type": "text", "text": "```\nxyz\n```"}}]
    assert [_bare(one) for one in contents] == [_bare(_text("abc")), output, _bare(_text("d"))]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _bare(value: Any) -> Any:
    """Return JSON without its empty fields."""
    if isinstance(value, list):
        return [_bare(one) for one in value]
    if isinstance(value, dict):
        return {key: _bare(one) for key, one in value.items() if one is not None}
    return value


async def test_a_client_that_is_gone_is_sent_no_more() -> None:
    tried: list[Update] = []

    async def fail(update: Update) -> None:
        tried.append(update)
        raise ConnectionError("gone")

    outbox, told = Outbox(fail), translation()
    for text in ("a", "b"):
        for update in (*told.feed_piece(e.TextStreamed("s", text)), *told.feed(answer("x", text))):
            outbox.put(update)
    await outbox.flush()
    assert len(tried) == 1


@pytest.mark.parametrize(
    ("data", "word"),
    [
        ({"skipped": True}, "skipped"),
        ({"queued": True}, "queued"),
        ({"simulated": True}, "dry run"),
    ],
)
async def test_a_call_that_did_not_run_is_not_shown_as_done(data: Any, word: str) -> None:
    result = ToolResult(call_id="cal_1", text="Why.", data=data)
    begun, done = await shown(
        translation(), answer("", "s1", CALL), e.ToolCallFinished(result=result)
    )
    assert done["title"] == f"{begun['title']} ({word})"
    assert done["content"][0]["content"]["text"] == "Why."
    ran = ToolResult(call_id="cal_1", text="Created a.")
    _, done = await shown(translation(), answer("", "s1", CALL), e.ToolCallFinished(result=ran))
    assert "title" not in done
