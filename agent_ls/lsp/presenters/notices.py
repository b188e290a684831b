"""Messages to the user: how a turn ended, and that something waits for them.

A client with the panel shows these itself, so there they only go to the log. Everything else is
mark, progress or update.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

from agent_ls.domain import events as e
from agent_ls.domain.approvals import ApprovalChoice
from agent_ls.domain.sentences import sentence
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.loop.state.state import SessionState
from agent_ls.loop.state.undelivered import Undelivered
from agent_ls.lsp.connection.clients import brief
from agent_ls.lsp.conversation_page import shown_place
from agent_ls.lsp.workspace.editor_port import Level
from agent_ls.safety.text import label, visible_line

Say = Callable[[Level, str], None]

_OUTPUT_CHARACTERS = 20_000
_YES_OR_NO = (ApprovalChoice.ALLOW_ONCE, ApprovalChoice.REJECT_ONCE)
_LINE_CHARACTERS = 120
"""Maximum length of an answer or request within a message."""
_DOCTOR = " (see agent-ls doctor)"


class Notices:
    """An EventListener of all sessions that shows messages."""

    def __init__(
        self,
        say: Say,
        is_shown: Callable[[str], bool],
        characters: int | None = None,
        keeps_open: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """``is_shown`` says whether a document shows this approval or question. ``characters`` is
        the longest message that the editor shows without blocking, 0 without limit; None for a
        client with the panel. ``keeps_open`` says whether the editor still shows a path
        whose file is gone.
        """
        self._say = say
        self._is_shown = is_shown
        self._characters = characters
        self._keeps_open = keeps_open
        self.told: Literal["all", "waiting", "failures"] = "all"
        """Which events are messages; the others go to the log."""
        self._told: set[str] = set()
        self._queues: dict[str, Undelivered] = {}
        """Per session: the user's words that have not reached the model."""

    def on_event(self, stored: e.StoredEvent) -> None:
        """Show the message for an event, if it has one."""
        returned = self._queue_of(stored.session_id).feed(stored.event)
        match stored.event:
            case e.CancelRequested() if returned:
                self._say_returned([one.as_typed() for one in returned])
            case e.TurnEnded():
                self._on_end(stored.session_id, stored.event)
            case e.ApprovalRequested(request=request):
                choices = " or ".join(one for one in _YES_OR_NO if one in request.choices)
                command = f"agent-ls.approval.resolve with {request.id} and {choices}"
                self._ask(request.id, request.preview.title, request.reason, command)
            case e.QuestionAsked(question=question):
                command = f"agent-ls.question.resolve with {question.id} and your words"
                self._ask(question.id, question.text, "", command)
            case e.CommandChanged(path=path, is_gone=True) if self._keeps_open(path):
                self._say(
                    "warning",
                    f"A command moved or deleted {path}, but the editor still has it open. "
                    "Close it: saving would write it again.",
                )
            case e.FindingsReported(problems=problems):
                self._tell_once(problems)
            case _:
                pass

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        """Ignore streamed pieces."""

    def begin(self, state: SessionState) -> None:
        """Start following a session from this state."""
        self._queue_of(state.session_id).begin(state)

    def _queue_of(self, session_id: str) -> Undelivered:
        return self._queues.setdefault(session_id, Undelivered())

    def _say_returned(self, words: list[str]) -> None:
        """Show the user the words that the model never got; the panel restores them by itself."""
        if self._characters is not None:
            said = "; ".join(f"“{visible_line(one)}”" for one in words)
            self._say("warning", f"Stopped before the agent got your words: {said}")

    def _on_end(self, session_id: str, event: e.TurnEnded) -> None:
        if event.output:
            self._say("log", event.output[:_OUTPUT_CHARACTERS])
        if event.status is TurnStatus.CANCELLED:
            return
        has_answer = event.stop is StopReason.COMPLETED and bool(event.output.strip())
        if event.failure_reason and not has_answer:
            level: Level = "error" if event.status is TurnStatus.FAILED else "warning"
            if self._characters is None:
                level = "log"
            said = shown = f"The agent stopped: {event.failure_reason}"
            if brief(said, self._characters or 0) != said:
                # The conversation has it, too.
                self._say("log", said)
                shown = brief(f"Stopped: {event.failure_reason}", self._characters or 0)
            self._say(level, shown)
        elif self._characters is not None:
            # Many models begin with the word themselves.
            first_line = event.output.strip().partition("\n")[0].removeprefix("Done: ")
            why = f" ({event.failure_reason})" if event.failure_reason else ""
            begin = "Partly done: " if why else "Done: "
            where = "" if self._characters else f" … read {shown_place(session_id)}"
            done = "info" if self.told == "all" else "log"
            self._say(done, self._fitted(begin, (first_line or "no answer") + why) + where)

    def _fitted(self, beginning: str, text: str) -> str:
        return beginning + label(text, (self._characters or _LINE_CHARACTERS) - len(beginning))

    def _tell_once(self, problems: tuple[str, ...]) -> None:
        """Warn why a checker could not run; repeated reasons only go to the log.

        Where a long message blocks the editor, only the first sentence, and where the rest is.
        """
        for problem in problems:
            short = brief(problem, self._characters or 0, _DOCTOR)
            if problem in self._told or self._characters is None:
                self._say("log", problem)
            else:
                self._say("warning", short)
            self._told.add(problem)

    def _ask(self, subject_id: str, title: str, reason: str, command: str) -> None:
        """Say that something waits, and how to answer it.

        Short if a document shows all of it: many editors block on a message of two lines.
        """

        if self._characters is None:
            return
        waits: Level = "log" if self.told == "failures" else "warning"

        def say() -> None:
            if self._is_shown(subject_id):
                # The document may be open but not visible.
                self._say(waits, self._fitted("The agent asks: ", title))
            else:
                words = f"{sentence(title)} {reason}"
                said = f"The agent asks: {sentence(label(words, _LINE_CHARACTERS))}"
                self._say(waits, f"{said} Answer by a code action, or by {command}.")

        # Later: the annotations read the same event and must find their places first.
        asyncio.get_running_loop().call_soon(say)
