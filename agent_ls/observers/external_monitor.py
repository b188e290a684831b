"""Watches a turn from outside the loop and alerts when it makes no progress.

It reads the journal like any other reader and only emits alerts; a check acts on them.
Source: S4, dual monitoring.
"""

from __future__ import annotations

import asyncio
import logging
from itertools import pairwise

from pydantic import Field

from agent_ls.domain import events as e
from agent_ls.domain.record import Record
from agent_ls.loop.evidence.fingerprints import fingerprint
from agent_ls.loop.evidence.progress_signals import Known
from agent_ls.loop.state.recorder import Recorder

_log = logging.getLogger(__name__)


class MonitorOptions(Record):
    """What counts as getting nowhere."""

    enabled: bool = True
    """Whether the monitor runs."""
    alternations: int = Field(default=2, ge=2)
    """How often two calls may take turns: 2 is A-B-A-B."""
    near_equal_calls: int = Field(default=4, ge=2)
    """Calls in a row that are almost the same."""
    similarity: float = Field(default=0.85, gt=0, le=1)
    """From which similarity two calls count as almost the same; 1: equal."""
    steps_without_progress: int = Field(default=8, ge=0)
    """Steps without anything new read or found, an edit, a passing command or a change of plan;
    0: any number."""


class ExternalMonitor:
    """A reader of one session that emits ``MonitorAlerted``."""

    def __init__(self, recorder: Recorder, options: MonitorOptions) -> None:
        self._recorder = recorder
        self._options = options
        self._tasks: set[asyncio.Task[None]] = set()

    def on_event(self, stored: e.StoredEvent) -> None:
        """Check the turn when a request is prepared, and again when its attempt has finished.

        The second check repeats an alert that was lost because the process died in between.
        """
        turn = self._recorder.state.turn
        if not self._options.enabled or turn is None or self._tasks:
            return
        if isinstance(stored.event, e.RequestPrepared | e.AttemptFinished):
            alert = seen_in(turn.events.tallied(Watch), self._options)
            if alert is not None:
                task = asyncio.ensure_future(self._say(alert))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        """Ignore streamed pieces."""

    async def _say(self, alert: e.MonitorAlerted) -> None:
        try:
            await self._recorder.emit(alert)
        except Exception:
            # If the store fails, the loop notices that itself.
            _log.exception("the monitor's alert could not be recorded")


class Watch:
    """The calls and steps since the last progress, user input or alert."""

    def __init__(self) -> None:
        self.actions: list[str] = []
        self.steps = 0
        self._known = Known()
        self._made: dict[str, str] = {}

    def see(self, event: e.Event) -> None:
        """Count one event; start anew after progress, user input or an alert."""
        match event:
            case e.Answered(message=message, origin="model"):
                made = {one.id: fingerprint(one.tool, one.arguments_json) for one in message.calls}
                self._made = made
                self.actions += made.values()
                self.steps += 1
            case e.MonitorAlerted() | e.PlanUpdated() | e.EditApplied(status="applied"):
                self._begin_anew()
            case e.PromptQueued() | e.QuestionResolved():
                self._begin_anew()
            case e.ToolCallFinished(result=result):
                if self._known.is_new(event, self._made.get(result.call_id, "")):
                    self._begin_anew()
            case _:
                pass

    def _begin_anew(self) -> None:
        self.actions, self.steps = [], 0


def seen_in(watch: Watch, options: MonitorOptions) -> e.MonitorAlerted | None:
    """Return the first alert that applies since the last one; None if none does."""
    return (
        _alternation(watch.actions, options)
        or _near_equal(watch.actions, options)
        or _no_progress(watch.steps, options)
    )


def _alternation(actions: list[str], options: MonitorOptions) -> e.MonitorAlerted | None:
    last = actions[-2 * options.alternations :]
    if len(last) < 2 * options.alternations:
        return None
    evens, odds = set(last[::2]), set(last[1::2])
    if len(evens) != 1 or len(odds) != 1 or evens == odds:
        return None
    text = f"Two calls take turns and bring nothing new: {_short(last[-2])} and {_short(last[-1])}."
    return e.MonitorAlerted(pattern="alternation", text=text)


def _near_equal(actions: list[str], options: MonitorOptions) -> e.MonitorAlerted | None:
    last = actions[-options.near_equal_calls :]
    if len(last) < options.near_equal_calls or len(set(last)) == 1:
        # The loop's repetition check handles equal calls.
        return None
    from rapidfuzz import fuzz

    least = 100 * options.similarity
    pairs = pairwise(map(_ends, last))
    if not all(fuzz.ratio(*pair, score_cutoff=least) > least for pair in pairs):
        return None
    text = f"The last {len(last)} calls are almost the same and bring nothing new: "
    return e.MonitorAlerted(pattern="near_equal", text=f"{text}{_short(last[-1])}.")


def _ends(action: str) -> str:
    """Return a call's start and end for comparison, whose cost is quadratic in the length."""
    if len(action) <= 2 * _COMPARED_CHARS:
        return action
    return action[:_COMPARED_CHARS] + action[-_COMPARED_CHARS:]


def _no_progress(steps: int, options: MonitorOptions) -> e.MonitorAlerted | None:
    if not options.steps_without_progress or steps < options.steps_without_progress:
        return None
    text = (
        f"{steps} steps found nothing new: no file, hit, edit, passing command or change of plan."
    )
    return e.MonitorAlerted(pattern="no_progress", text=text)


def _short(action: str) -> str:
    return action if len(action) <= _MAX_CHARS else f"{action[:_MAX_CHARS]}…"


_MAX_CHARS = 120
_COMPARED_CHARS = 2_000
