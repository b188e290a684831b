"""Shows a running turn as work-done progress: the current activity, and the share of its limits.

Owns one token per turn. If a client refuses the token or never answers, only progress is missing.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from agent_ls.domain import events as e
from agent_ls.domain.phases import Phase
from agent_ls.domain.sentences import clause
from agent_ls.domain.stops import StopReason
from agent_ls.domain.usage import Usage
from agent_ls.loop.state.state import SessionState, TurnState
from agent_ls.safety.text import label
from agent_ls.session.titles import call_title

_REPORT_S = 0.25
"""Minimum interval between reports of streamed text."""
_MAX_TEXT_CHARACTERS = 80
_MAX_TITLE_CHARACTERS = 60
_GOES_ON = (
    e.Moved,
    e.RequestPrepared,
    e.AttemptFinished,
    e.CallDecided,
    e.ApprovalRequested,
    e.QuestionAsked,
    e.ToolCallStarted,
    e.PromptQueued,
    e.CancelRequested,
)
"""The first event of a turn that goes on is one of these."""

_SENTENCE = re.compile(r"\w(?:[^\n.!?:]|[.!?:](?!\s))*(?:[.!?:](?=\s)|(?=\n))")
"""A sentence, or a whole line."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a turn; 0 means no limit."""

    steps: int = 0
    tokens: int = 0
    cost_usd: float = 0.0

    def percentage(self, step: int, usage: Usage) -> int:
        """Return how much of the nearest limit is used, 0 to 99."""
        shares = [
            used / limit
            for used, limit in (
                (step, self.steps),
                (usage.total_tokens, self.tokens),
                (usage.cost_usd, self.cost_usd),
            )
            if limit
        ]
        return min(99, int(100 * max(shares, default=0)))


@dataclass(slots=True)
class _Shown:
    """One turn's progress."""

    token: str
    session_id: str
    title: str
    message: str = "starting"
    step: int = 0
    usage: Usage = Usage()
    percentage: int = 0
    is_begun: bool = False
    ended: str | None = None
    text: str = ""
    """The end of the streamed answer."""
    timer: asyncio.TimerHandle | None = None


class TurnProgress:
    """An EventListener of all sessions that reports their turns; the token is the turn's id."""

    def __init__(
        self,
        create: Callable[[str], Awaitable[bool]],
        notify: Callable[[str, dict[str, Any]], None],
        limits: Limits,
        *,
        has_panel: bool = False,
    ) -> None:
        """``create`` creates a token; it returns False when refused or unanswered.

        With ``has_panel`` the client shows by itself what it is that waits for the user.
        """
        self._has_panel = has_panel
        self._create = create
        self._notify = notify
        self._limits = limits
        self._shown: dict[str, _Shown] = {}
        self._by_session: dict[str, _Shown] = {}
        self._resting: dict[str, TurnState] = {}
        """By session, its turn that was cut off and has not gone on."""
        self._tasks: set[asyncio.Task[None]] = set()

    def use_limits(self, limits: Limits) -> None:
        """Use other limits for the percentages from now on."""
        self._limits = limits

    def begin(self, state: SessionState, *, is_cut_off: bool = False) -> None:
        """Show the turn that is already running when a session is opened.

        One that was cut off is shown once it goes on.
        """
        if not state.is_running or state.turn is None:
            return
        if is_cut_off:
            self._resting[state.session_id] = state.turn
        else:
            self._open(state.session_id, state.turn.turn_id, state.turn.prompt)

    def session_of(self, token: str) -> str | None:
        """Return the session id of a running turn's token."""
        shown = self._shown.get(token)
        return shown.session_id if shown else None

    def on_event(self, stored: e.StoredEvent) -> None:
        """Report an event of the turn."""
        if isinstance(stored.event, e.TurnStarted):
            self._open(stored.session_id, stored.event.turn_id, stored.event.prompt)
            return
        resting = self._resting.get(stored.session_id)
        if resting is not None and isinstance(stored.event, _GOES_ON):
            self._open(stored.session_id, resting.turn_id, resting.prompt)
        shown = self._by_session.get(stored.session_id)
        if shown is None:
            return
        if isinstance(stored.event, e.TurnEnded):
            self._end(shown, stored.event)
            return
        if isinstance(stored.event, e.AttemptFinished | e.AdviceGiven):
            shown.usage += stored.event.usage
        if isinstance(stored.event, e.RequestPrepared):
            shown.step = stored.event.number
        message = _message(stored.event, shown)
        if self._has_panel and isinstance(stored.event, e.ApprovalRequested | e.QuestionAsked):
            message = "waiting for you"
        if message is not None:
            self._report(shown, message)

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        """Report the sentence that the model has written."""
        shown = self._by_session.get(session_id)
        if shown is None or not isinstance(piece, e.TextStreamed):
            return
        shown.text = (shown.text + piece.text)[-4 * _MAX_TEXT_CHARACTERS :]
        if shown.timer is None:
            loop = asyncio.get_running_loop()
            shown.timer = loop.call_later(_REPORT_S, self._report_sentence, shown)

    def _open(self, session_id: str, turn_id: str, prompt: str) -> None:
        # Editors put a colon behind it.
        first_line = clause(prompt.strip().partition("\n")[0])
        title = "Agent: " + label(first_line, _MAX_TITLE_CHARACTERS)
        self._resting.pop(session_id, None)
        shown = _Shown(turn_id, session_id, title)
        self._shown[turn_id] = self._by_session[session_id] = shown
        task = asyncio.create_task(self._create_and_begin(shown))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _create_and_begin(self, shown: _Shown) -> None:
        if not await self._create(shown.token):
            self._forget(shown)
            return
        shown.is_begun = True
        self._send(
            shown,
            kind="begin",
            title=shown.title,
            cancellable=True,
            message=shown.message,
            percentage=shown.percentage,
        )
        if shown.ended is not None:
            self._send(shown, kind="end", message=shown.ended)

    def _report_sentence(self, shown: _Shown) -> None:
        """Report the last whole sentence: half a word tells nothing and flashes."""
        shown.timer = None
        # One word is a list's number, or the end of what was cut.
        sentences = [one for one in _SENTENCE.findall(shown.text) if " " in one]
        if sentences:
            self._report(shown, label(sentences[-1], _MAX_TEXT_CHARACTERS))
        elif shown.message == _thinking(shown):
            self._report(shown, f"step {shown.step}: writing")

    def _report(self, shown: _Shown, message: str) -> None:
        now = self._limits.percentage(shown.step, shown.usage)
        # Usage can shrink by compaction, but progress must not go back.
        percentage = max(shown.percentage, now)
        if not message or (message, percentage) == (shown.message, shown.percentage):
            return
        shown.message, shown.percentage = message, percentage
        if shown.is_begun and shown.ended is None:
            self._send(shown, kind="report", message=message, percentage=percentage)

    def _end(self, shown: _Shown, event: e.TurnEnded) -> None:
        text = event.failure_reason or ""
        if event.stop is StopReason.COMPLETED and (line := event.output.strip().partition("\n")[0]):
            text = f"{line} ({text})" if text else line
        shown.ended = f"{event.stop.value.replace('_', ' ')}: " + label(text, 200)
        self._forget(shown)
        if shown.is_begun:
            self._send(shown, kind="end", message=shown.ended)

    def _forget(self, shown: _Shown) -> None:
        if shown.timer is not None:
            shown.timer.cancel()
        self._shown.pop(shown.token, None)
        if self._by_session.get(shown.session_id) is shown:
            del self._by_session[shown.session_id]

    def _send(self, shown: _Shown, **value: object) -> None:
        self._notify("$/progress", {"token": shown.token, "value": value})


def _thinking(shown: _Shown) -> str:
    return f"step {shown.step}: thinking"


def _message(event: e.Event, shown: _Shown) -> str | None:
    """Return the progress message for an event; None when it changes nothing."""
    match event:
        case e.Moved(to=Phase.CALL):
            shown.text = ""
            return _thinking(shown)
        case e.Moved(to=Phase.COMPACT):
            return "shortening the conversation"
        case e.Moved(to=Phase.JUDGE):
            return "checking the result"
        case e.Moved(to=Phase.CLOSE):
            return "summing up"
        case e.ToolCallStarted():
            return call_title(event.tool, event.arguments_json)
        case e.ApprovalRequested():
            return f"waiting for you: {event.request.preview.title}"
        case e.QuestionAsked():
            return f"waiting for you: {label(event.question.text, _MAX_TEXT_CHARACTERS)}"
        case e.RecoveryChosen(action="retry"):
            return f"trying again in {event.wait_s:g} s: {label(event.text, _MAX_TEXT_CHARACTERS)}"
        case e.CancelRequested():
            return "stopping"
        case _:
            return None
