"""What a person said to a session and the model has not got: a stop gives it back to them."""

from __future__ import annotations

from agent_ls.domain import events as e
from agent_ls.loop.state.folding import without_first
from agent_ls.loop.state.state import SessionState


class Undelivered:
    """Follows the queue of one session by its events."""

    def __init__(self) -> None:
        """Begin with an empty queue."""
        self._queue: tuple[e.PromptQueued, ...] = ()

    def begin(self, state: SessionState) -> None:
        """Go on from here."""
        self._queue = state.queue

    def feed(self, event: e.Event) -> list[str]:
        """Return the words that leave the queue: to the model with the next request, or, when the
        turn is stopped, back to the person.
        """
        match event:
            case e.PromptQueued():
                self._queue = (*self._queue, event)
            case e.TurnStarted():
                self._queue = without_first(self._queue, event.prompt)
            case e.RequestPrepared():
                taken = [one.text for one in self._queue if one.kind == "steer"]
                self._queue = tuple(one for one in self._queue if one.kind != "steer")
                return taken
            case e.CancelRequested():
                taken, self._queue = [one.text for one in self._queue], ()
                return taken
            case _:
                pass
        return []
