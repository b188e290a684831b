"""``review``: shows the open changes one by one and takes a key for each."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from agent_ls.cli.changes import Outcome, decide, hunk_diff
from agent_ls.cli.chat.face import Face, leave_on_hang_up
from agent_ls.cli.chat.screen import Ask, Doing, Screen
from agent_ls.cli.output import can_draw
from agent_ls.cli.terminal import LineReader
from agent_ls.domain.errors import AgentLsError, SettingsError
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.review.file_changes import FileLedger
from agent_ls.review.hunks import Hunk
from agent_ls.review.ledger import Selection, TurnLedger
from agent_ls.safety.text import visible
from agent_ls.session.session import Session

_KEYS: Mapping[str, str] = {
    "k": "keep this change",
    "u": "undo this change; what you typed since stays",
    "n": "next, undecided",
    "p": "the one before",
    "K": "keep all that is left of this file",
    "U": "undo all that is left of this file",
    "q": "leave; what is undecided stays open",
}


@dataclass(frozen=True, slots=True)
class _Change:
    turn: TurnLedger
    file: FileLedger
    hunk: Hunk


class _Desk(Protocol):
    """Where changes are shown, and keys are pressed."""

    def say(self, text: str, style: str = "") -> None:
        """Show a plain text."""

    def show_diff(self, text: str) -> None:
        """Show a diff."""

    def forget(self) -> None:
        """Forget the keys that were pressed before the next change is shown."""

    async def key(self) -> str:
        """Return the next key; empty when the user has left."""
        ...


async def review_by_keys(session: Session, workspace: Workspace) -> int:
    """Show each open change until all are decided or the user leaves; return the exit code.

    Errors: ``SettingsError`` without a terminal.
    """
    if not sys.stdin.isatty():
        raise SettingsError(
            "review needs a terminal. `agent-ls diff` shows the changes, `agent-ls keep` and "
            "`agent-ls undo` decide about them."
        )
    async with _desk() as desk:
        return await _review(session, workspace, desk)


async def _review(session: Session, workspace: Workspace, desk: _Desk) -> int:
    at, is_whole = 0, True
    while changes := await _open_changes(session):
        at = max(0, min(at, len(changes) - 1))
        one = changes[at]
        diff = await hunk_diff(workspace, one.file, one.hunk)
        desk.forget()
        desk.say(f"\n{at + 1} of {len(changes)} · {one.file.path} · {_prompt(one.turn)}", "bold")
        desk.show_diff(diff)
        key = await desk.key()
        if key in ("q", ""):
            desk.say(f"{len(changes)} left open.", "dim")
            return 0 if is_whole else 2
        if key in ("n", "p"):
            at = (at + (1 if key == "n" else -1)) % len(changes)
            continue
        is_file = key.isupper()
        hunks = None if is_file else frozenset({one.hunk.id})
        chosen = Selection(one.turn.turn_id, one.file.path, hunks)
        try:
            outcome = await decide(session, "keep" if key in "kK" else "undo", chosen)
        except AgentLsError as error:
            desk.say(str(error), "red")
            return 3
        _tell(desk, outcome)
        if not outcome.is_whole:
            # It stays open, so go on behind it.
            is_whole, at = False, at + 1
    desk.say("Nothing is left to decide.", "green")
    return 0 if is_whole else 2


def _tell(desk: _Desk, outcome: Outcome) -> None:
    desk.say("\n".join(outcome.lines), "" if outcome.is_whole else "yellow")
    for one in outcome.clashes:
        desk.show_diff(one)


def _prompt(turn: TurnLedger) -> str:
    return turn.prompt.strip().partition("\n")[0][:60]


async def _open_changes(session: Session) -> list[_Change]:
    """Return the open changes, oldest turn first, in the order of the files' texts."""
    ledger = await session.review.ledger()
    return [
        _Change(turn, file, hunk)
        for turn in ledger.turns.values()
        for file in sorted(turn.files.values(), key=lambda one: one.path)
        for hunk in file.open()
    ]


@asynccontextmanager
async def _desk() -> AsyncGenerator[_Desk]:
    if not can_draw():
        yield _LineDesk()
        return
    screen = Screen(Doing(lambda _text, _waits: None, lambda: False))
    leave_on_hang_up(screen)
    ended = asyncio.ensure_future(screen.run())
    try:
        yield _ScreenDesk(screen, ended)
    finally:
        screen.leave()
        await ended


class _ScreenDesk:
    """A drawn desk."""

    def __init__(self, screen: Screen, ended: asyncio.Future[int]) -> None:
        self._ended = ended
        self._pressed: asyncio.Queue[str] = asyncio.Queue()
        face = Face(screen)
        self.say, self.show_diff = face.say, partial(face.show_diff, is_titled=True)
        keys = {one: partial(self._pressed.put_nowait, one) for one in _KEYS}
        rows = list(_KEYS.items())
        panel = face.painter.rows
        screen.ask(
            Ask(lambda columns, _, chosen: panel(rows, columns, chosen), lambda _words: None, keys)
        )

    def forget(self) -> None:
        """Forget the keys that were pressed before the next change is shown."""
        while not self._pressed.empty():
            self._pressed.get_nowait()

    async def key(self) -> str:
        """Return the next key; empty when the user has left."""
        pressed = asyncio.ensure_future(self._pressed.get())
        await asyncio.wait({pressed, self._ended}, return_when=asyncio.FIRST_COMPLETED)
        if pressed.done():
            return pressed.result()
        pressed.cancel()
        return ""


class _LineDesk:
    """A desk of lines, for terminals that cannot draw."""

    def __init__(self) -> None:
        self._reader = LineReader()

    def say(self, text: str, style: str = "") -> None:
        """Print a plain text."""
        sys.stdout.write(f"{visible(text)}\n")

    def show_diff(self, text: str) -> None:
        """Print a diff."""
        sys.stdout.write(visible(text))

    def forget(self) -> None:
        """Do nothing: the reader forgets what was typed before its prompt."""

    async def key(self) -> str:
        """Return the first letter of the next line; empty at the end of input."""
        sys.stdout.flush()
        explained = "".join(f"  {key}  {words}\n" for key, words in _KEYS.items())
        while line := await self._reader.read(f"{explained}then Enter: "):
            if line.strip() in _KEYS:
                return line.strip()
        return ""
