"""What a person at a terminal sees of a headless turn, and how they answer it.

Everything goes to standard error: standard output carries the result.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import TextIO

from agent_ls.domain.approvals import ApprovalAnswer, ApprovalChoice, QuestionAnswer
from agent_ls.domain.events import (
    ApprovalRequested,
    AttemptDiscarded,
    AttemptFinished,
    CallOutputStreamed,
    Ephemeral,
    QuestionAsked,
    ReasoningStreamed,
    RequestPrepared,
    StoredEvent,
    TextStreamed,
)
from agent_ls.safety.text import visible
from agent_ls.session.session import Session


class StreamedText:
    """Shows the answer's text as it comes."""

    def __init__(self, stream: TextIO) -> None:
        """Take where to write."""
        self._stream = stream
        self._is_in_line = False
        self._has_text = False
        self._said: list[str] = []

    @property
    def said(self) -> str:
        """Return what the last answer said, as it was streamed."""
        return "".join(self._said)

    def on_event(self, stored: StoredEvent) -> None:
        """End the line that text was streaming into: what follows is the log's."""
        if isinstance(stored.event, AttemptFinished) and self._is_in_line:
            self._stream.write("\n")
            self._is_in_line = False
        if isinstance(stored.event, RequestPrepared):
            self._has_text = False
            self._said.clear()

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        """Write text with control characters made visible."""
        match piece:
            case TextStreamed(text=text):
                self._stream.write(visible(text))
                self._stream.flush()
                self._is_in_line = not text.endswith("\n")
                self._has_text = True
                self._said.append(text)
            case AttemptDiscarded():
                if self._has_text:
                    self._stream.write("(what was said last does not count)\n")
                self._said.clear()
            case ReasoningStreamed() | CallOutputStreamed():
                pass


class TerminalAnswers:
    """Asks the person at the terminal what only a person can decide."""

    def __init__(self, session: Session, ask: Callable[[str], str] | None = None) -> None:
        """Take the session, and how to read a line (by default from standard input)."""
        self._session = session
        self._ask = ask or _ask
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def on_event(self, stored: StoredEvent) -> None:
        """Start asking when something waits for an answer."""
        match stored.event:
            case ApprovalRequested() as event:
                self._start(self._approve(event))
            case QuestionAsked() as event:
                self._start(self._answer(event))
            case _:
                pass

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        """Nothing to ask."""

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _approve(self, event: ApprovalRequested) -> None:
        request = event.request
        lines = [
            "",
            visible(request.preview.title),
            request.preview.payload.rstrip(),
            f"({visible(request.reason)})",
        ]
        may_grant = ApprovalChoice.ALLOW_SESSION in request.choices
        keys = (
            "[y]es, [s]ession, [a]lways, [n]o, ne[v]er, or words that say no: "
            if may_grant
            else "[y]es, [n]o, or words that say no: "
        )
        said = (await self._asked("\n".join(lines) + "\n" + keys)).strip()
        answer = _approval(said, may_grant)
        await self._session.resolve_approval(request.id, answer)

    async def _answer(self, event: QuestionAsked) -> None:
        question = event.question
        offered = f" ({' / '.join(map(visible, question.options))})" if question.options else ""
        if question.origin == "plan":
            offered += "\nor the numbers of steps, such as 1, 3-5; other words go to the agent"
        said = await self._asked(f"\n{visible(question.text)}{offered}\n> ")
        answer = QuestionAnswer(text=said.strip(), by="terminal" if said.strip() else "nobody")
        await self._session.resolve_question(question.id, answer)

    async def _asked(self, prompt: str) -> str:
        """Return what the person says, to one question at a time.

        The thread that waits for them is a daemon, or a process that was stopped could not end
        before they have typed something.
        """
        loop = asyncio.get_running_loop()
        async with self._turn:
            said: asyncio.Future[str] = loop.create_future()

            def settle(text: str) -> None:
                if not said.done():
                    said.set_result(text)

            def read() -> None:
                text = self._ask(prompt)
                # The loop may be over by then, and nobody waits for the words any more.
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(settle, text)

            threading.Thread(target=read, name="terminal", daemon=True).start()
            return await said


def _approval(said: str, may_grant: bool) -> ApprovalAnswer:
    word = said.lower()
    if word in ("y", "yes"):
        return ApprovalAnswer(choice=ApprovalChoice.ALLOW_ONCE, by="terminal")
    if word in ("s", "session") and may_grant:
        return ApprovalAnswer(choice=ApprovalChoice.ALLOW_SESSION, by="terminal")
    if word in ("a", "always") and may_grant:
        return ApprovalAnswer(choice=ApprovalChoice.ALLOW_ALWAYS, by="terminal")
    if word in ("v", "never") and may_grant:
        return ApprovalAnswer(choice=ApprovalChoice.REJECT_ALWAYS, by="terminal")
    note = "" if word in ("", "n", "no") else said
    return ApprovalAnswer(choice=ApprovalChoice.REJECT_ONCE, note=note, by="terminal")


def _ask(prompt: str) -> str:
    """Return one line of the person's; empty at the end of input.

    What they typed before they could see the question is no answer to it. Read without Python's
    own buffer, whose lock a thread that still waits would hold when the process ends.
    """
    _forget_typed_ahead()
    sys.stderr.write(prompt)
    sys.stderr.flush()
    line = b""
    while not line.endswith(b"\n"):
        try:
            piece = os.read(sys.stdin.fileno(), 4096)
        except OSError:
            break
        if not piece:
            break
        line += piece
    return line.decode(sys.stdin.encoding, "replace")


def _forget_typed_ahead() -> None:
    """Throw away what waits in the terminal's queue."""
    try:
        import termios
    except ImportError:  # Windows
        import msvcrt

        while msvcrt.kbhit():
            msvcrt.getwch()
        return
    with contextlib.suppress(termios.error):
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
