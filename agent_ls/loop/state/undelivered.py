"""Follows which of the user's words have not reached the model; a stop returns them."""

from __future__ import annotations

from agent_ls.domain import events as e
from agent_ls.loop.state.folding import queue_after, without_first
from agent_ls.loop.state.state import SessionState


class Undelivered:
    """Follows the prompt queue of one session by its events."""

    def __init__(self) -> None:
        self._queue: tuple[e.PromptQueued, ...] = ()

    def begin(self, state: SessionState) -> None:
        """Start from this state."""
        self._queue = state.queue

    def feed(self, event: e.Event) -> list[e.PromptQueued]:
        """Return the prompts that leave the queue: a request takes steers, a stop takes all."""
        match event:
            case e.PromptQueued() | e.QueuedPromptChanged():
                self._queue = queue_after(self._queue, event)
            case e.TurnStarted():
                self._queue = without_first(self._queue, event.prompt)
            case e.RequestPrepared():
                taken = [one for one in self._queue if one.kind == "steer"]
                self._queue = tuple(one for one in self._queue if one.kind != "steer")
                return taken
            case e.CancelRequested():
                taken, self._queue = list(self._queue), ()
                return taken
            case _:
                pass
        return []
