"""What users do in the recorded stories of the panel; each is told in a session of its own."""

from __future__ import annotations

import base64
import io
from collections.abc import Awaitable, Callable
from typing import Any

from PIL import Image

from tests.panel.recorder import RecordingEditor

Story = Callable[[RecordingEditor], Awaitable[None]]

_FIX = (
    "Prices are off by a cent when the discount is not a whole percentage. "
    "Find out why, fix it, and make sure that the tests cover it."
)


def _go(editor: RecordingEditor) -> None:
    """Let the program end that waits for this."""
    (editor.root.parent / "go").touch()


async def fix(editor: RecordingEditor) -> None:
    """Reads, an edit, a command, a finding, the end; then the review and a restore."""
    await editor.open("shop/prices.py")
    session_id = await editor.begin()
    editor.recording.mark("empty")
    anchor = {"uri": editor.uri("shop/prices.py"), "line": 9}
    turn_id = await editor.prompt(_FIX, anchor=anchor)
    edit = await editor.wait("permission_request")
    editor.recording.mark("an edit waits")
    await editor.allow(edit, "allow_session")
    command = await editor.wait("permission_request", 2)
    editor.recording.mark("a command waits")
    await editor.prompt("Also mention it in the changelog.")
    await editor.allow(command)
    await editor.until(lambda: "ERROR" in str(editor.shown.updates[-3:]) or None)
    editor.recording.mark("a command prints")
    _go(editor)
    await editor.wait("turn_ended")
    editor.recording.mark("done")
    await editor.review()
    editor.recording.mark("changes to review")
    buffer = editor.buffers[editor.uri("shop/prices.py")]
    await editor.change(buffer.uri, buffer.text.replace("exact.quantize", "(+exact).quantize"))
    undo = {"sessionId": session_id, "decision": "undo", "path": "shop/prices.py"}
    files = (await editor.request("agent/review/decide", undo))["files"]
    await editor.wait("review_update", status="applied")
    editor.recording.add({"type": "decided", "files": files})
    turns = await editor.review()
    editor.recording.mark("a change cannot be undone")
    call_id = turns[-1]["toolCallIds"][0]
    restore = {"sessionId": session_id, "turnId": turn_id, "decision": "restore"}
    for state, is_trial in (("foreseen", True), ("done", False)):
        asked = restore | {"toolCallId": call_id, "dryRun": is_trial}
        files = (await editor.request("agent/review/decide", asked))["files"]
        if not is_trial:
            await editor.wait("review_update", 3, status="applied")
        told = {"is": state, "files": files}
        editor.recording.add({"type": "restore", "momentId": call_id, "restore": told})
    editor.recording.mark("files are restored")
    (editor.root.parent / "go").unlink()


async def long_command(editor: RecordingEditor) -> None:
    """A command that is longer than the panel."""
    await editor.begin()
    await editor.prompt("Print the price list of each region.")
    command = await editor.wait("permission_request")
    editor.recording.mark("a long command waits")
    await editor.allow(command, "reject_once")
    await editor.wait("turn_ended")


async def edits(editor: RecordingEditor) -> None:
    """Two edits that are one approval."""
    await editor.begin()
    await editor.prompt("Give the cents one home.")
    request = await editor.wait("permission_request")
    editor.recording.mark("two edits wait")
    await editor.allow(request, "reject_once")
    await editor.wait("turn_ended")


async def plan(editor: RecordingEditor) -> None:
    """A plan asks for its steps, and runs them."""
    await editor.begin()
    await editor.prompt("Plan the move of the rounding into the cart.")
    question = await editor.wait("question")
    editor.recording.mark("a plan waits")
    await editor.answer_question(question, "all")
    await editor.until(lambda: "12 checks" in str(editor.shown.updates[-3:]) or None)
    editor.recording.mark("a plan runs")
    _go(editor)
    await editor.wait("turn_ended")
    (editor.root.parent / "go").unlink()


async def question(editor: RecordingEditor) -> None:
    """A question with answers to choose from."""
    await editor.begin()
    await editor.prompt("Name the new module and move the formatting there.")
    asked = await editor.wait("question")
    editor.recording.mark("a question waits")
    await editor.answer_question(asked, "formatting")
    await editor.wait("turn_ended")


async def sub_agent(editor: RecordingEditor) -> None:
    """A sub-agent with its transcript, and a command that is refused with words."""
    await editor.begin()
    await editor.prompt("Who calls discounted, and with what?")
    request = await editor.wait("permission_request")
    await editor.allow(request, "reject_once", "Just tell me, without a file.")
    await editor.wait("turn_ended")
    child = (await editor.wait("sub_agent"))["agentSessionId"]
    snapshot = await editor.request("agent/snapshot", {"sessionId": child})
    told = {"type": "transcript", "sessionId": child, "snapshot": snapshot, "problem": ""}
    editor.recording.mark("a sub-agent")
    editor.recording.add(told)
    editor.recording.mark("a sub-agent's transcript")


async def key_refused(editor: RecordingEditor) -> None:
    """The provider refuses the key."""
    await editor.begin()
    await editor.prompt("Translate the error messages.")
    await editor.wait("turn_ended")
    editor.recording.mark("the key is refused")


async def rate_limit(editor: RecordingEditor) -> None:
    """The provider's limit is reached: the turn waits, then it is stopped."""
    await editor.begin()
    await editor.prompt("Sort the imports.")
    await editor.wait("notice", title="Rate limit of openai reached, retrying")
    editor.recording.mark("the rate limit is reached")
    await editor.request("agent/cancel", {"sessionId": editor.shown_session})
    await editor.wait("turn_ended")
    editor.recording.mark("stopped")


async def unsent(editor: RecordingEditor) -> None:
    """What was queued comes back when the turn is stopped."""
    await editor.begin()
    await editor.prompt("Rename the cart to basket.")
    await editor.wait("phase_update", phase="call")
    await editor.prompt("Also mention it in the changelog.")
    await editor.prompt("Then run all tests and tell me\nwhat is slow.", whenBusy="follow_up")
    await editor.wait("prompt_queued", 2)
    editor.recording.mark("prompts are queued")
    await editor.request("agent/cancel", {"sessionId": editor.shown_session})
    stop = await editor.wait("cancel_requested")
    await editor.wait("turn_ended")
    for text in stop["returned"]:
        told = {"type": "unsent", "sessionId": editor.shown_session, "text": text}
        editor.recording.add({**told, "problem": "Stopped before it was read.", "chips": []})
    editor.recording.mark("prompts are not sent")


async def chips(editor: RecordingEditor) -> None:
    """A prompt with files, lines, a symbol, problems, a terminal's text and a picture."""
    await editor.begin()
    picture = io.BytesIO()
    Image.new("RGB", (640, 400), "#2d6cdf").save(picture, "PNG")
    uri = editor.uri("shop/prices.py")
    problem = {"line": 11, "endLine": 11, "message": "float is not Decimal", "source": "mypy"}
    parts: list[dict[str, Any]] = [
        {"type": "range", "uri": uri, "line": 9, "lastLine": 11},
        {"type": "file", "uri": editor.uri("README.md")},
        {"type": "folder", "uri": editor.uri("shop")},
        {"type": "symbol", "uri": uri, "name": "discounted", "line": 9},
        {"type": "diagnostics", "uri": uri, "diagnostics": [problem]},
        {"type": "terminal", "text": "TypeError: unsupported operand", "name": "bash"},
        {
            "type": "image",
            "data": base64.b64encode(picture.getvalue()).decode(),
            "name": "receipt.png",
        },
    ]
    await editor.prompt("What is wrong here?", parts=parts)
    await editor.wait("turn_ended")
    editor.recording.mark("a prompt with chips")
    for text in ("@pri", "#disc", "/"):
        result = await editor.request("agent/complete", {"text": text})
        while result["isIncomplete"]:
            result = await editor.request("agent/complete", {"text": text})
        editor.recording.add({"type": "completed", "id": 1, "result": result})
        editor.recording.mark(f"completion of {text}")


async def long(editor: RecordingEditor) -> None:
    """Many turns."""
    await editor.begin()
    for number in range(1, 9):
        await editor.prompt(f"Chapter {number}: does this part round half up?")
        await editor.wait("turn_ended", number)
    editor.recording.mark("a long conversation")


async def stream(editor: RecordingEditor) -> None:
    """An answer that is still being written."""
    await editor.begin()
    await editor.prompt("Explain how a price gets from the catalogue into the cart.")
    await editor.wait("agent_message")
    await editor.until(lambda: "keeps eac" in editor.recording.text() or None)
    editor.recording.mark("an answer streams")


async def cut_off(editor: RecordingEditor) -> None:
    """The window was closed while the answer of the story before streamed."""
    editor.begin_recording()
    listed = await editor.request("agent/sessions/list", {})
    [session_id] = [one["sessionId"] for one in listed["sessions"] if one["isInterrupted"]]
    asked = {"sessionId": session_id, "continueTurn": False}
    await editor.request("agent/sessions/resume", asked)
    editor.shown_session = session_id
    await editor.snapshot()
    editor.recording.mark("a turn was cut off")


async def network(editor: RecordingEditor) -> None:
    """The model's server cannot be reached."""
    await editor.begin()
    await editor.prompt("Add type hints to the cart.")
    await editor.wait("turn_ended")
    editor.recording.mark("the network fails")


async def setup(editor: RecordingEditor) -> None:
    """Nothing is set up: no model, then several without their key, then one that has it; trust."""
    await editor.begin()
    for model in (
        "anthropic/claude-haiku-4-5",
        "chatgpt/gpt-5.3-codex",
        "mistral/mistral-large",
        "openai/gpt-5",
    ):
        await editor.request("agent/config", {"sessionId": editor.shown_session, "model": model})
        # It comes when the server gets to it, and is recorded where it came.
        await editor.wait("current_model_update", model=model)
        await editor.tell_config()
        await tell_setup(editor, await editor.request("agent/access", {"model": model}))
    await editor.request("agent/trust", {"isAgreed": True})
    await editor.tell_config()
    await tell_setup(editor, await editor.request("agent/access", {"model": model}))


async def tell_setup(editor: RecordingEditor, access: dict[str, Any]) -> None:
    """Have the panel told what a model needs and what trust would switch on."""
    offers = (await editor.request("agent/trust", {}))["folders"]
    told = {"install": {"is": "idle"}, "access": access, "isLooked": True}
    told |= {"offers": offers, "problems": {}}
    editor.recording.add({"type": "setup", "setup": told})


async def mistake(editor: RecordingEditor) -> None:
    """A mistake in the settings."""
    await editor.begin()
    editor.recording.mark("a setting is wrong")


STORIES: dict[str, Story] = {
    one.__name__: one
    for one in (
        fix,
        long_command,
        edits,
        plan,
        question,
        sub_agent,
        key_refused,
        rate_limit,
        unsent,
        chips,
        long,
        stream,
    )
}
"""In this order; the window is closed in the middle of the last one."""

AFTERWARDS: dict[str, Story] = {one.__name__: one for one in (cut_off, network)}
"""With a second server in the same places, whose model cannot be reached."""

AT_FIRST: dict[str, Story] = {"setup": setup}
"""With a server that knows nothing of its user."""

MISTAKEN: dict[str, Story] = {"mistake": mistake}
"""With a server whose settings are wrong."""
