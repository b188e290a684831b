"""The few things worth a message box: a turn that failed, and questions that stand nowhere.

Everything else goes to the client's log or is a mark, progress or an update.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

from agent_ls.domain import events as e
from agent_ls.domain.stops import TurnStatus

Level = Literal["error", "warning", "info", "log"]
Say = Callable[[Level, str], None]
"""``log`` goes to the client's log, the others are shown."""

_OUTPUT_CHARACTERS = 20_000


class Notices:
    """A Reader of all sessions that speaks up."""

    def __init__(self, say: Say, is_shown: Callable[[str], bool]) -> None:
        """Take the way out, and whether an approval or question stands in a document."""
        self._say = say
        self._is_shown = is_shown
        self._told: set[str] = set()

    def on_event(self, stored: e.StoredEvent) -> None:
        """Say what an event gives reason to."""
        match stored.event:
            case e.TurnEnded():
                self._on_end(stored.event)
            case e.ApprovalRequested(request=request):
                words = f"The agent asks: {request.preview.title}. {request.reason}"
                self._ask(request.id, words, "agent-ls.approval.resolve")
            case e.QuestionAsked(question=question):
                self._ask(
                    question.id, f"The agent asks: {question.text}", "agent-ls.question.resolve"
                )
            case e.FindingsReported(problems=problems):
                self._tell_once(problems)
            case _:
                pass

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        """Ignore what streams."""

    def _on_end(self, event: e.TurnEnded) -> None:
        if event.output:
            self._say("log", event.output[:_OUTPUT_CHARACTERS])
        if event.failure_reason and event.status is not TurnStatus.CANCELLED:
            level = "error" if event.status is TurnStatus.FAILED else "warning"
            self._say(level, f"The agent stopped: {event.failure_reason}")

    def _tell_once(self, problems: tuple[str, ...]) -> None:
        """Show why a checker could not run, each reason once; later ones go to the log."""
        for problem in problems:
            self._say("log" if problem in self._told else "warning", problem)
            self._told.add(problem)

    def _ask(self, subject_id: str, words: str, command: str) -> None:
        """Name the command where no document can show the question."""

        def unless_shown() -> None:
            if not self._is_shown(subject_id):
                self._say("warning", f"{words} Answer with the command {command}.")

        # After the marks, which read the same event, have found their places.
        asyncio.get_running_loop().call_soon(unless_shown)
