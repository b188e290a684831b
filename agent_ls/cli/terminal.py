"""Shows a headless turn at a terminal, and asks the user for approvals and answers.

Everything goes to standard error: standard output carries the result.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
import threading
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import TextIO

from agent_ls.domain.approvals import (
    ApprovalAnswer,
    ApprovalChoice,
    ApprovalRequest,
    Preview,
    QuestionAnswer,
)
from agent_ls.domain.events import (
    ApprovalRequested,
    ApprovalResolved,
    AttemptDiscarded,
    AttemptFinished,
    CallOutputStreamed,
    Ephemeral,
    QuestionAsked,
    QuestionResolved,
    ReasoningStreamed,
    RequestPrepared,
    StoredEvent,
    TextStreamed,
    TurnEnded,
)
from agent_ls.loop.calls.grants import grant_words
from agent_ls.safety.text import visible
from agent_ls.session.session import Session


class StreamedText:
    """A reader that writes the answer's text as it arrives."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_in_line = False
        self._has_text = False
        self._said: list[str] = []

    @property
    def said(self) -> str:
        """Return the last answer's text as streamed."""
        return "".join(self._said)

    def on_event(self, stored: StoredEvent) -> None:
        """End the streamed line, so that the log starts on a new one."""
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


class LineReader:
    """Reads lines that the user types, one prompt at a time."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._coming: asyncio.Future[str] | None = None
        """The next line, while a thread waits for it."""

    async def read(
        self, prompt: str, *, stream: TextIO | None = None, forgets_early: bool = True
    ) -> str:
        """Show a prompt and return the user's line; empty at the end of input.

        The prompt goes to ``stream``, by default standard error. ``forgets_early``: keys pressed
        before it appears do not count. A line that a cancelled call waited for is the next call's.
        """
        async with self._turn:
            if forgets_early:
                _forget_typed_ahead()
            shown = stream or sys.stderr
            shown.write(prompt)
            shown.flush()
            if self._coming is None:
                self._coming = _coming_line()
            line = await asyncio.shield(self._coming)
            self._coming = None
            return line


def _coming_line() -> asyncio.Future[str]:
    """Read a line on a thread, a daemon, so that a stopped process can end without input."""
    loop = asyncio.get_running_loop()
    coming: asyncio.Future[str] = loop.create_future()

    def settle(line: str) -> None:
        if not coming.done():
            coming.set_result(line)

    def read() -> None:
        line = _line()
        # The event loop may be closed by then.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, line)

    threading.Thread(target=read, name="terminal", daemon=True).start()
    return coming


class TerminalAnswers:
    """A reader that asks the user at the terminal for approvals and answers to questions."""

    def __init__(self, session: Session, reader: LineReader | None = None) -> None:
        """``reader`` reads the answers, by default from standard input."""
        self._session = session
        self._reader = reader or LineReader()
        self._tasks: set[asyncio.Task[None]] = set()
        self._asking: dict[str, asyncio.Task[None]] = {}
        """What waits for the user, by the id of what is asked."""

    def on_event(self, stored: StoredEvent) -> None:
        """Ask the user if the event is an approval or a question; stop if it is over."""
        match stored.event:
            case ApprovalRequested() as event:
                self._start(event.request.id, self._approve(event))
            case QuestionAsked() as event:
                self._start(event.question.id, self._answer(event))
            case ApprovalResolved(approval_id=over) | QuestionResolved(question_id=over):
                self._stop(over)
            case TurnEnded():
                for one in list(self._asking):
                    self._stop(one)
            case _:
                pass

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        """Ignore streamed pieces."""

    def _start(self, asked: str, work: Coroutine[None, None, None]) -> None:
        task = self._asking[asked] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _stop(self, asked: str) -> None:
        if task := self._asking.pop(asked, None):
            task.cancel()

    async def _approve(self, event: ApprovalRequested) -> None:
        request = event.request
        title, payload = head_and_body(request.preview)
        keys, answer = answer_keys(request), None
        names = ", ".join(key.name for key in keys.values())
        how = f"\n{names}, [?] explains, or words that say no; then Enter: "
        reason = f"({visible(request.reason)})"
        asking = "\n".join(["", *filter(None, (title, payload)), reason]) + how
        while answer is None:
            said = await self._reader.read(asking)
            answer = _approval(said, keys)
            asking = f"{_explained(said, keys)}{how}" if said.strip() else _again(keys)
        self._asking.pop(request.id, None)
        await self._session.resolve_approval(request.id, answer)

    async def _answer(self, event: QuestionAsked) -> None:
        question = event.question
        offered = f" ({' / '.join(map(visible, question.options))})" if question.options else ""
        if question.origin == "plan":
            offered += "\nor the numbers of steps, such as 1, 3-5; other words go to the agent"
        if question.default:
            offered += f"\nEnter alone answers: {visible(question.default)}"
        said = await self._reader.read(f"\n{visible(question.text)}{offered}\n> ")
        if said and not said.strip():
            said = question.default or said
        while said and not said.strip():
            said = await self._reader.read("Nothing is decided yet: an answer needs words.\n> ")
        self._asking.pop(question.id, None)
        answer = QuestionAnswer(text=said.strip(), by="terminal" if said.strip() else "nobody")
        await self._session.resolve_question(question.id, answer)


_RUNS = re.compile(r"Run(?: in the background)?(?: \([^()]*\))?: ")
"""What a title says before the command."""


def head_and_body(preview: Preview) -> tuple[str, str]:
    """Return what a call would do, in one line, and what stands below it; nothing is said twice."""
    title, payload = visible(preview.title), preview.payload.rstrip()
    runs = _RUNS.match(title)
    about = title[runs.end() :] if runs else title.partition(": ")[2]
    if about and f"{payload}\n".startswith(f"{about}\n"):
        return title, payload[len(about) + 1 :]
    # The title may have only the ends of a command, and the payload has all of it.
    return (runs[0].rstrip() if runs else title), payload


_NOT_NO = ("y", "yes", "ok", "session", "prefix", "always")
"""A sentence that begins with one of these may mean yes."""


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """One key that answers an approval."""

    choice: ApprovalChoice
    name: str
    words: str


def answer_keys(request: ApprovalRequest, place: str = "this folder") -> dict[str, AnswerKey]:
    """Return the offered answers by their letter, each with what it covers."""
    scope = grant_words(request.preview.grant or "")
    prefix = grant_words(request.preview.prefix or "")
    these = f"these {len(request.covers)} changes" if request.covers else "this one call"
    here = f"in {place} from now on"
    keys = (
        AnswerKey(ApprovalChoice.ALLOW_ONCE, "[y]es", f"allow {these}"),
        AnswerKey(ApprovalChoice.REJECT_ONCE, "[n]o", f"reject {these}"),
        AnswerKey(
            ApprovalChoice.ALLOW_SESSION, "[s]ession", f"allow {scope} until the session ends"
        ),
        AnswerKey(ApprovalChoice.ALLOW_PREFIX, "[p]refix", f"allow {prefix} {here}"),
        AnswerKey(ApprovalChoice.ALLOW_ALWAYS, "[a]lways", f"allow {scope} {here}"),
        AnswerKey(ApprovalChoice.REJECT_ALWAYS, "ne[v]er", f"reject {scope} {here}"),
    )
    offered = (key for key in keys if key.choice in request.choices)
    return {key.name.partition("[")[2][0]: key for key in offered}


def _again(keys: Mapping[str, AnswerKey]) -> str:
    """Return the prompt in one line, for a user who pressed only Enter."""
    return f"Nothing is decided yet: {'/'.join(keys)}, ? or words that say no; then Enter: "


def _explained(said: str, keys: Mapping[str, AnswerKey]) -> str:
    word = visible(said.strip())
    unknown = [] if word == "?" else [f"Nothing is decided: {word!r} is no answer."]
    words = [f"  {key.name:<10} {key.words}" for key in keys.values()]
    return "\n".join((*unknown, *words, "  a sentence  rejects this and tells the agent why"))


def _approval(said: str, keys: Mapping[str, AnswerKey]) -> ApprovalAnswer | None:
    """Return the user's answer; None if it may be a typing mistake."""
    if not said:  # End of input: nobody can answer.
        return ApprovalAnswer(choice=ApprovalChoice.REJECT_ONCE, by="terminal")
    word = said.strip()
    if key := named_key(word, keys):
        return ApprovalAnswer(choice=key.choice, by="terminal")
    first, *others = word.lower().split() or [""]
    if not others or first.strip(",.!") in _NOT_NO:
        return None
    return ApprovalAnswer(choice=ApprovalChoice.REJECT_ONCE, note=word, by="terminal")


def named_key(word: str, keys: Mapping[str, AnswerKey]) -> AnswerKey | None:
    """Return the answer that a letter or a whole name stands for; None for any other text."""
    for letter, key in keys.items():
        if word.strip().lower() in (letter, key.name.replace("[", "").replace("]", "")):
            return key
    return None


def means_perhaps_yes(text: str) -> bool:
    """Say whether one word that is no offered answer may be meant as a yes."""
    return text.strip().lower().strip(",.!") in _NOT_NO


def _line() -> str:
    """Return one line of standard input, and take no more; empty at its end.

    Reads without Python's buffer, because a waiting thread would still hold the buffer's lock when
    the process ends.
    """
    line = b""
    while not line.endswith(b"\n"):
        try:
            piece = os.read(sys.stdin.fileno(), 1)
        except OSError:
            break
        if not piece:
            break
        line += piece
    return line.decode(sys.stdin.encoding, "replace")


def _forget_typed_ahead() -> None:
    try:
        import termios
    except ImportError:  # Windows
        import msvcrt

        while msvcrt.kbhit():
            msvcrt.getwch()
        return
    with contextlib.suppress(termios.error):
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
