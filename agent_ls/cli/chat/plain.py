"""A conversation line by line: for pipes, terminals that cannot draw, and screen readers."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from agent_ls.assembly import open_disk_workspace, open_sessions
from agent_ls.cli.chat.conversation import begin_session, say
from agent_ls.cli.chat.slash import Talk
from agent_ls.cli.options import conversation_settings, folder_of
from agent_ls.cli.terminal import LineReader, StreamedText, TerminalAnswers
from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.events import Ephemeral, StoredEvent, TurnEnded
from agent_ls.loop.machine.results import exit_code_of, result_of
from agent_ls.observers.human_log import HumanLog
from agent_ls.observers.unpriced import UnpricedBudget
from agent_ls.safety.text import visible
from agent_ls.session.session import Session
from agent_ls.settings import chosen_budget_usd

_FAILED = 1


def talk_in_lines(arguments: argparse.Namespace) -> int:
    """Read prompts, one a line, until the input ends; answers go to standard output."""
    folder = folder_of(arguments)
    return asyncio.run(_talk(arguments, folder))


class _Lines:
    """Shows a conversation as lines."""

    def __init__(self, reader: LineReader, *, is_attended: bool, budget_usd: float) -> None:
        self._reader, self._is_attended = reader, is_attended
        self._budget_usd = budget_usd
        self._shown: list[Session] = []
        self.has_left = False
        self.ended_turns = 0
        """Of the sessions that are shown."""

    def on_event(self, stored: StoredEvent) -> None:
        """Count the turns that end."""
        self.ended_turns += isinstance(stored.event, TurnEnded)

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        """Ignore streamed pieces, which are shown elsewhere."""

    def say(self, text: str, style: str = "") -> None:
        """Print a plain text."""
        sys.stdout.write(visible(text) + "\n")
        sys.stdout.flush()

    def show_markdown(self, text: str) -> None:
        """Print a text in Markdown as it is."""
        self.say(text)

    def show_diff(self, text: str) -> None:
        """Print a diff as it is."""
        self.say(text)

    async def put(self, session: Session) -> None:
        """Follow this session, too."""
        # One that was opened again is another object.
        if any(one is session for one in self._shown):
            return
        self._shown.append(session)
        session.follow(self)
        session.follow(UnpricedBudget(self.say, self._budget_usd))
        session.follow(StreamedText(sys.stdout))
        session.follow(
            HumanLog(sys.stderr, with_answers=False, with_approvals=not self._is_attended)
        )
        if self._is_attended:
            session.follow(TerminalAnswers(session, self._reader))

    def leave(self) -> None:
        """End the conversation with the line that is carried out."""
        self.has_left = True


async def _talk(arguments: argparse.Namespace, folder: Path) -> int:
    is_attended = sys.stdin.isatty()
    settings = conversation_settings(arguments, folder).settings
    workspace = open_disk_workspace([folder])
    reader, code = LineReader(), 0
    face = _Lines(reader, is_attended=is_attended, budget_usd=chosen_budget_usd(settings))
    sessions = await open_sessions(
        settings, workspace, is_attended=is_attended, tell=lambda words: face.say(words)
    )
    try:
        talk = Talk(sessions, workspace, await begin_session(sessions, arguments), face)
        await face.put(talk.session)
        await talk.session.wait_idle()
        while not face.has_left:
            line = await reader.read(
                "> " if is_attended else "", stream=sys.stdout, forgets_early=False
            )
            if not line:
                break
            if not line.strip():
                continue
            try:
                ended = await _carried_out(talk, face, line)
            except (AgentLsError, OSError) as error:
                sys.stderr.write(f"agent-ls: {visible(str(error))}\n")
                ended = _FAILED
            code = code or ended
    finally:
        await sessions.close()
    return 0 if is_attended else code


async def _carried_out(talk: Talk, face: _Lines, line: str) -> int:
    """Carry out a line, say why its turn did not end well, and return its exit code."""
    before = face.ended_turns
    await say(talk, line)
    ended = await _ended(talk.session)
    turn = talk.session.state.turn
    if ended is None or turn is None or face.ended_turns == before:
        # A command of the conversation's has no turn.
        return 0
    result = result_of(talk.session.state)
    if result.failure_reason:
        sys.stderr.write(f"agent-ls: {visible(result.failure_reason)}\n")
    return exit_code_of(turn, result, ended, count_partial=True)


async def _ended(session: Session) -> TurnEnded | None:
    """Wait for the end of the turn; Ctrl-C stops it."""
    loop = asyncio.get_running_loop()
    waiting = asyncio.ensure_future(session.wait_idle())
    stopping: list[asyncio.Task[bool]] = []

    def stop() -> None:
        stopping.append(loop.create_task(session.cancel("SIGINT")))

    try:
        loop.add_signal_handler(signal.SIGINT, stop)
        return await waiting
    finally:
        loop.remove_signal_handler(signal.SIGINT)
