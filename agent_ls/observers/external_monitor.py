"""Watches a turn from outside the loop and says when it gets nowhere.

It reads the journal like any other reader and can only speak through it: what is done about an
alert is a check's matter. Source: seed 004, dual monitoring.
"""

from __future__ import annotations

import asyncio
import logging
from itertools import pairwise

from pydantic import Field

from agent_ls.domain import events as e
from agent_ls.domain.record import Record
from agent_ls.loop.evidence.fingerprints import fingerprint
from agent_ls.loop.evidence.news import Known
from agent_ls.loop.state.recorder import Recorder

_log = logging.getLogger(__name__)


class MonitorOptions(Record):
    """What counts as getting nowhere."""

    enabled: bool = True
    """Watch at all."""
    alternations: int = Field(default=2, ge=2)
    """How often two calls may take turns: 2 is A-B-A-B."""
    near_equal_calls: int = Field(default=4, ge=2)
    """Calls in a row that are almost the same."""
    similarity: float = Field(default=0.85, gt=0, le=1)
    """How much alike two calls are then."""
    steps_without_progress: int = Field(default=8, ge=0)
    """Steps without anything new read or found, an edit, a passing command or a change of plan;
    0: any number."""


class ExternalMonitor:
    """A Reader of one session that emits ``MonitorAlerted``; looks once a step, at its request."""

    def __init__(self, recorder: Recorder, options: MonitorOptions) -> None:
        """Take the journal to read and to speak through."""
        self._recorder = recorder
        self._options = options
        self._tasks: set[asyncio.Task[None]] = set()

    def on_event(self, stored: e.StoredEvent) -> None:
        """Look at the turn whenever the next request is ready, and when it was answered.

        A process that dies between the two must not take the alert with it.
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
        """Nothing is seen in what streams."""

    async def _say(self, alert: e.MonitorAlerted) -> None:
        try:
            await self._recorder.emit(alert)
        except Exception:
            # The loop meets a store that keeps nothing by itself.
            _log.exception("the monitor's alert could not be recorded")


class Watch:
    """The calls and steps since something new came of them, or since the last alert."""

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self.actions: list[str] = []
        self.steps = 0
        self._known = Known()
        self._made: dict[str, str] = {}

    def see(self, event: e.Event) -> None:
        """Take one more event into account."""
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
    """Return what is wrong with the turn since the last alert; None: nothing."""
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
        # Equal calls are what the loop's own check for repetition counts.
        return None
    from rapidfuzz import fuzz

    least = 100 * options.similarity
    pairs = pairwise(map(_ends, last))
    if not all(fuzz.ratio(*pair, score_cutoff=least) > least for pair in pairs):
        return None
    text = f"The last {len(last)} calls are almost the same and bring nothing new: "
    return e.MonitorAlerted(pattern="near_equal", text=f"{text}{_short(last[-1])}.")


def _ends(action: str) -> str:
    """Return what of a call is compared: the work grows with the square of the length."""
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
