"""A real editor in a terminal of tmux's: keys in, screen out.

What it knows is read from its screen and from what it and its server said to each other
(`lsp_tap.py`); what it holds from what it saves. Its configuration is the one that the
documentation prints: the `agent-ls` on its PATH is our server behind the tap.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import termios
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from tests.editors.pictures import draw, place_of
from tests.editors.processes import Household
from tests.editors.talk import Act, Talk, is_act

DOCS = Path(__file__).parents[2] / "docs" / "editors"
_TAP = Path(__file__).parent / "lsp_tap.py"
_LIMIT_S = 40.0
"""The first answer waits for the model host to load."""
_SOON_S = 3.0
"""How long a menu may take to come up before it is asked for again."""
_POLL_S = 0.05
_XDG = ("CONFIG", "DATA", "CACHE")
T = TypeVar("T")


class TerminalError(AssertionError):
    """The editor did not come to what the test waited for; the message tells what was seen."""


class Terminal(Talk):
    """One editor with one file, in a home of its own. Nothing of it survives the block.

    `keys` counts what the user has pressed, but not the words that they wrote.
    """

    def __init__(self, name: str, binary: Path, file: Path, variables: Mapping[str, str]) -> None:
        """``name`` is the editor's in the table of tests, such as ``neovim-0.11``."""
        self.name, self.binary, self.file, self.keys = name, binary, file, 0
        self.home = Path(tempfile.mkdtemp(prefix="als-tty-"))
        self._log = self.home / "said.jsonl"
        self._starts = 0
        self._household = Household()
        self._variables = variables
        try:
            self._write_shim()
            self.configure(self.home / "config")
            self.start()
        except BaseException:
            self._end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.leave()
        finally:
            self._end()

    # What each editor does in its own way.

    @abstractmethod
    def configure(self, config: Path) -> None:
        """Write the configuration that the documentation prints."""

    @abstractmethod
    def arguments(self) -> Sequence[str]:
        """What follows the program on its command line, without the file."""

    @abstractmethod
    def to_rest(self) -> None:
        """Leave menus and insert mode."""

    @abstractmethod
    def quit(self) -> None:
        """Press what ends the editor, whatever is unsaved."""

    @abstractmethod
    def save(self) -> None:
        """Press what saves the current buffer."""

    @abstractmethod
    def go_to(self, line: int, column: int = 0) -> None:
        """Put the caret on a character; both count from 0."""

    @abstractmethod
    def act(self, act: Act) -> None:
        """Do what this code action does: by its key if the configuration has one, else by menu."""

    @abstractmethod
    def converse(self) -> None:
        """Open the conversation, with the caret below its last heading."""

    @abstractmethod
    def send(self, words: str) -> None:
        """Write words below the last heading of the conversation, and send them."""

    @abstractmethod
    def resume(self) -> None:
        """Answer the offer to go on with a turn that was cut off."""

    @abstractmethod
    def look(self) -> None:
        """Make the editor show all of what is said about the caret's line."""

    def reject(self, words: str) -> None:
        """Answer the approval that waits with these words."""
        self.converse()
        self.send(words)

    # Life

    def _write_shim(self) -> None:
        serve = [sys.executable, "-P", str(_TAP), str(self._log)]
        serve += [sys.executable, "-P", "-m", "agent_ls"]
        shim = self.home / "bin" / "agent-ls"
        shim.parent.mkdir()
        shim.write_text(f'#!/bin/sh\nexec {shlex.join(serve)} "$@"\n')
        shim.chmod(0o755)

    def start(self) -> None:
        """Start the editor on the file, also a second time."""
        self._log.unlink(missing_ok=True)
        places = {f"XDG_{one}_HOME": str(self.home / one.lower()) for one in _XDG}
        places["XDG_STATE_HOME"] = str(self._state)
        own = {
            **places,
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "TERM": "tmux-256color",
            "PATH": f"{self.home / 'bin'}:{os.environ['PATH']}",
        }
        for one in ("TMUX", "NVIM", "INSIDE_EMACS"):
            own[one] = ""
        self._starts += 1
        subprocess.run(
            [
                *("tmux", "-S", self._socket(), "-f", os.devnull),
                *("set-option", "-g", "escape-time", "0", ";"),
                *("new-session", "-d", "-s", "e", "-x", "110", "-y", "30"),
                *(str(self.binary), *self.arguments(), self.file.name),
            ],
            cwd=self.file.parent,
            env=self._household.environment({**os.environ, **own, **self._variables}),
            check=True,
        )
        self.wait_until(lambda: self.answered("initialize"), "the language server")
        self.wait_until(lambda: self.said("editor", "textDocument/didOpen"), "the open file")

    def leave(self) -> None:
        """Quit as a user quits. Errors: TerminalError when something outlives the editor."""
        self.to_rest()
        self.quit()
        if leftovers := self._household.outlive(_LIMIT_S):
            words = "\n".join(leftovers)
            raise TerminalError(f"still running after {self.name} had quit:\n{words}")

    def _end(self) -> None:
        self._household.end()
        shutil.rmtree(self.home, ignore_errors=True)

    @property
    def _state(self) -> Path:
        return self.home / ".local" / "state"

    def _socket(self) -> str:
        return str(self.home / f"tmux{self._starts}")

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-S", self._socket(), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise TerminalError(f"{self.name} has ended: {done.stderr}")
        return done.stdout

    # Eyes

    def screen(self) -> str:
        """What is on the screen."""
        return self._tmux("capture-pane", "-p", "-t", "e")

    def take_picture(self) -> None:
        """Draw the screen for the documentation, if that is asked for."""
        if place := place_of(self.name):
            draw(self._tmux("capture-pane", "-e", "-p", "-t", "e"), place)

    def wait_until(self, condition: Callable[[], T], what: str) -> T:
        """The first true answer of the condition; TerminalError with the story when none comes."""
        deadline = time.monotonic() + _LIMIT_S
        while not (answer := condition()):
            if time.monotonic() > deadline:
                said = [json.dumps(one)[:600] for one in self.messages()][-20:]
                story = "\n".join([*said, self.screen()])
                raise TerminalError(f"waited {_LIMIT_S:g} s in vain for {what}\n{story}")
            time.sleep(_POLL_S)
        return answer

    def wait_for_screen(self, *words: str) -> None:
        """Wait until all of these are on the screen."""
        self.wait_until(lambda: all(one in self.screen() for one in words), f"{words} on screen")

    def within(self, condition: Callable[[], bool]) -> bool:
        """Say whether the condition comes true soon."""
        deadline = time.monotonic() + _SOON_S
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_S)
        return True

    def text(self) -> str:
        """Save the current buffer, and return what the file holds."""
        self.wait_until(self._has_saved, "the file saved")
        return self.file.read_text("utf-8")

    def _has_saved(self) -> bool:
        """Save once; Emacs, while it quits what it does, may throw away the keys that follow."""
        count = len(self.said("editor", "textDocument/didSave"))
        self.to_rest()
        self.save()
        return self.within(lambda: len(self.said("editor", "textDocument/didSave")) > count)

    def conversation(self) -> str:
        """What the file of the session's conversation holds, wherever it is shown."""
        found = sorted((self._state / "agent-ls").glob("*.agent-ls.md"))
        return "\n".join(one.read_text("utf-8") for one in found)

    # Hands

    def press(self, *keys: str) -> None:
        """Press keys by their names in tmux; returns when they have been read.

        An escape that is read together with another key would be that key with Alt.
        """
        self._tmux("send-keys", "-t", "e", *keys)
        self.keys += len(keys)
        self._wait_for_reading()

    def say(self, words: str) -> None:
        """Type words."""
        self._tmux("send-keys", "-t", "e", "-l", words)
        self._wait_for_reading()

    def paste(self, words: str) -> None:
        """Paste words as one piece."""
        self._tmux("set-buffer", "--", words)
        self._tmux("paste-buffer", "-p", "-d", "-t", "e")
        self._wait_for_reading()

    def _wait_for_reading(self) -> None:
        time.sleep(_POLL_S)
        self.wait_until(lambda: not self._unread_bytes(), "the keys to be read")

    def _unread_bytes(self) -> int:
        """How much of what was pressed the editor has not read; nothing when it has ended."""
        try:
            terminal = self._tmux("display-message", "-p", "-t", "e", "#{pane_tty}").strip()
            descriptor = os.open(terminal, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
        except (TerminalError, FileNotFoundError):
            return 0
        try:
            count = fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4)
        finally:
            os.close(descriptor)
        return int.from_bytes(count, sys.byteorder)

    def offered(self, ask: Callable[[], None]) -> list[dict[str, Any]]:
        """Press what asks for code actions, and return those that the server then offers."""
        count = len(self.answered("textDocument/codeAction"))
        ask()
        answers = self.wait_until(
            lambda: self.answered("textDocument/codeAction")[count:], "code actions"
        )
        return answers[0] or []

    def commands(self) -> int:
        """How many commands the editor has asked the server for."""
        return len(self.said("editor", "workspace/executeCommand"))

    def until_commanded(self, do: Callable[[], bool | None], what: str) -> None:
        """Do it, again while that leads to nothing, until the editor has sent a command.

        What was pressed in vain is no key that the user needs.
        """
        before, keys = self.commands(), self.keys

        def is_done() -> bool:
            self.keys = keys
            return do() is not False and self._sends_command(before)

        self.wait_until(is_done, what)

    def _sends_command(self, before: int) -> bool:
        """Wait for a command as long as the server owes an answer, and a moment longer."""
        deadline = time.monotonic() + _SOON_S
        while self.commands() <= before:
            if self._owes_actions():
                deadline = time.monotonic() + _SOON_S
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_S)
        return True

    def _owes_actions(self) -> bool:
        asked = len(self.said("editor", "textDocument/codeAction"))
        return asked > len(self.answered("textDocument/codeAction"))


def place_in(actions: Sequence[Mapping[str, Any]], act: Act) -> int | None:
    """Where the first action that does this stands in a menu; None when none does."""
    return next((at for at, one in enumerate(actions) if is_act(one, act)), None)
