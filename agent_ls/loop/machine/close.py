"""CLOSE: what should the user be told? Asks for one last text-only answer.

Source: S0 wrap-up, S2 graceful close.
"""

from __future__ import annotations

import asyncio

from agent_ls.domain.errors import ProviderError, ProviderFailure
from agent_ls.domain.events import Answered, AttemptDiscarded, Moved, WrapUpRequested
from agent_ls.domain.messages import AssistantMessage, ToolMessage, UserMessage
from agent_ls.domain.model_io import ModelRequest
from agent_ls.domain.phases import Phase
from agent_ls.domain.sentences import seconds
from agent_ls.domain.stops import StopReason
from agent_ls.loop.machine.attempts import Gathered, record_attempt
from agent_ls.loop.machine.request import request_of
from agent_ls.loop.machine.summaries import cut, mechanical_summary, tokens_of
from agent_ls.loop.printed.reading import without_calls
from agent_ls.loop.state.compaction import CHARS_PER_TOKEN, result_chars_for, with_short_results
from agent_ls.loop.turn import Move, Turn

WORDS: dict[StopReason, str] = {
    StopReason.COMPLETED: "Every acceptance criterion of the goal is proven.",
    StopReason.MAX_STEPS: "You have used all steps of this turn.",
    StopReason.BUDGET_LIMIT: "The budget of this turn is used up.",
    StopReason.RESOURCE_LIMIT: "The machine's resources for this turn are used up.",
    StopReason.CONTEXT_FULL: "The conversation no longer fits the model.",
    StopReason.TIMEOUT: "The time of this turn is over.",
    StopReason.LOOP_DETECTED: "You have been repeating yourself without progress.",
    StopReason.LOW_CONFIDENCE: "It is in doubt whether the goal can be reached this way.",
}
_ASK = (
    "{why} Do not call tools. Tell the user in a few sentences: what is done and what you found, "
    "what remains, and what blocks it."
)


_MAX_SENT_SHARE = 0.75
"""Share of the window for the request. The closing answer needs room, and sizes are estimates."""
_MIN_RESULT_TOKENS = 100
_MIN_SUMMARY_TOKENS = 200


async def close(turn: Turn) -> Move:
    """Ask for the closing answer; without one, generate a text from the state."""
    state = turn.state
    stop = state.stop or StopReason.ERROR
    if turn.view.each_since(Answered, Moved):
        # The process died between the closing answer and the move.
        return Move(Phase.DONE, stop, state.why)
    text = await _last_words(turn, _asked(turn, stop))
    words = text or _mechanical(turn)
    if state.partial_text:
        # The partial answer stays; separate the closing text from it.
        words = f"\n\n{words}"
    await turn.emit(Answered(step_id=state.step_id, message=AssistantMessage(text=words)))
    return Move(Phase.DONE, stop, state.why)


def _asked(turn: Turn, stop: StopReason) -> str:
    """Return the closing instruction: from whoever requested the end, else by stop reason."""
    requests = list(turn.view.each(WrapUpRequested))
    if not requests:
        why = WORDS.get(stop, "The turn ends here.")
        return f"{why} {turn.services.closing}" if turn.services.closing else _ASK.format(why=why)
    return requests[-1].text or _ASK.format(why="You are asked to come to an end now.")


async def _last_words(turn: Turn, asked: str) -> str:
    if turn.session.prefix is None:
        # The turn ended before anything was sent.
        return ""
    told = UserMessage(text=asked, origin="close")
    request = _fitting(turn, request_of(turn, extra=(told,), text_only=True), told)
    started_s = turn.services.clock.monotonic_s()
    limit_s = turn.within(turn.services.options.close_timeout_s)
    gathered = Gathered(turn)
    try:
        async with asyncio.timeout(limit_s):
            error = await gathered.stream(request)
    except TimeoutError:
        words = f"No closing words came within {seconds(limit_s)}."
        error = ProviderError(ProviderFailure.TIMEOUT, words)
    if error is not None:
        # No second attempt follows: readers discard the streamed text.
        turn.recorder.emit_ephemeral(AttemptDiscarded(turn.state.step_id))
    attempt = gathered.attempt(error)
    await record_attempt(turn, attempt, gathered.model, started_s)
    # Calls do not run any more, so none may stand in the last words.
    return "" if error else without_calls(attempt.text).strip()


def _fitting(turn: Turn, request: ModelRequest, told: UserMessage) -> ModelRequest:
    """Return a request that fits the window: shorten results, or else send only a summary."""
    view = turn.view
    size, window = tokens_of(request.messages), view.facts.window_tokens
    room = max(int(window * _MAX_SENT_SHARE) - view.prefix_tokens, 0) if window else size
    if view.is_overflown:
        # The provider's limit beats our table's.
        room = min(room, size // 2)
    if size <= room:
        return request
    results = [one for one in request.messages if isinstance(one, ToolMessage)]
    left = room - (size - tokens_of(results))
    if left > len(results) * _MIN_RESULT_TOKENS:
        chars = result_chars_for([len(one.text) for one in results], left * CHARS_PER_TOKEN)
        return request.model_copy(update={"messages": with_short_results(request.messages, chars)})
    chars = max(room, _MIN_SUMMARY_TOKENS) * CHARS_PER_TOKEN // 2
    goal = cut(view.turn.prompt, chars // 2)
    summary = cut(mechanical_summary(view, view.messages, goal), chars)
    said = UserMessage(text=summary, origin="summary")
    return request.model_copy(update={"messages": (said, told)})


def _mechanical(turn: Turn) -> str:
    state = turn.state
    done = ", ".join(sorted(state.touched)) or "nothing"
    text = f"Stopped: {state.why} Files changed so far: {done}."
    todo = [item.text for item in turn.session.plan if item.status != "completed"]
    return text + (f" Still open: {'; '.join(todo)}." if todo else "")
