"""A real Helix in a terminal of tmux's: keys in, screen out.

It has no interface for tests: what it knows is read from its screen, and from what it and its
server said to each other (`lsp_tap.py`); what it holds from what it saves.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

from tests.editors.processes import Household
from tests.editors.talk import Talk

_TAP = Path(__file__).parent / "lsp_tap.py"
_LIMIT_S = 40.0
"""The first answer waits for the model host to load."""
_SOON_S = 3.0
"""How long a menu may take to come up before it is asked for again."""
_POLL_S = 0.05
_COMMAND = 'command = "agent-ls"\nargs = ["serve"]'
"""What the documentation starts, and the tests through the tap."""
T = TypeVar("T")


def find_helix(places: Path) -> Path | None:
    """Where Helix is, the installer's or the system's; None without it or without tmux."""
    built = places / "helix" / "hx"
    known = [str(built) if built.exists() else None, shutil.which("hx"), shutil.which("helix")]
    found = next((one for one in known if one), None)
    return Path(found) if found and shutil.which("tmux") else None


class HelixError(AssertionError):
    """Helix did not come to what the test waited for; the message tells what was seen."""


class Helix(Talk):
    """One running Helix with one file. Use it as a context manager; nothing of it survives."""

    def __init__(
        self, binary: Path, file: Path, languages: str, variables: Mapping[str, str]
    ) -> None:
        """Start it; ``languages`` is its ``languages.toml``, in which agent-ls is our server."""
        self.file = file
        self.home = Path(tempfile.mkdtemp(prefix="als-hx-"))
        super().__init__(self.home / "said.jsonl")
        self._household = Household()
        try:
            self._start(binary, languages, variables)
        except BaseException:
            self._end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            leftovers: list[str] = []
            if kind is None:
                self.press("Escape")
                self._tmux("send-keys", "-t", "e", ":qa!", "Enter")
                leftovers = self._household.outlive(_LIMIT_S)
        finally:
            self._end()
        if leftovers:
            raise HelixError("still running after Helix had quit:\n" + "\n".join(leftovers))

    def _start(self, binary: Path, languages: str, variables: Mapping[str, str]) -> None:
        config = self.home / "config" / "helix"
        config.mkdir(parents=True)
        args = ["-P", str(_TAP), str(self._log), sys.executable, "-P", "-m", "agent_ls", "serve"]
        ours = f"command = {json.dumps(sys.executable)}\nargs = {json.dumps(args)}"
        assert _COMMAND in languages, "the settings do not start agent-ls"
        (config / "languages.toml").write_text(languages.replace(_COMMAND, ours))
        places = {f"XDG_{one}_HOME": str(self.home / one.lower()) for one in _XDG}
        own = {**places, "HOME": str(self.home), "LC_ALL": "C.UTF-8", "TERM": "tmux-256color"}
        subprocess.run(
            [
                *("tmux", "-S", str(self.home / "tmux"), "-f", os.devnull),
                *("new-session", "-d", "-s", "e", "-x", "110", "-y", "30"),
                *(str(binary), self.file.name),
            ],
            cwd=self.file.parent,
            env=self._household.environment({**os.environ, **own, **variables}),
            check=True,
        )
        self.wait_until(lambda: self.said("editor", "textDocument/didOpen"), "the open file")
        self.wait_until(lambda: self.answered("initialize"), "the language server")

    def _end(self) -> None:
        self._household.end()
        shutil.rmtree(self.home, ignore_errors=True)

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-S", str(self.home / "tmux"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def screen(self) -> str:
        """What is on the screen."""
        return self._tmux("capture-pane", "-p", "-t", "e")

    def wait_until(self, condition: Callable[[], T], what: str) -> T:
        """The first true answer of the condition; HelixError with the story when none comes."""
        deadline = time.monotonic() + _LIMIT_S
        while not (answer := condition()):
            if time.monotonic() > deadline:
                said = [json.dumps(one)[:600] for one in self.messages()][-20:]
                story = "\n".join([*said, self.screen()])
                raise HelixError(f"waited {_LIMIT_S:g} s in vain for {what}\n{story}")
            time.sleep(_POLL_S)
        return answer

    def wait_for_screen(self, *words: str) -> None:
        """Wait until all of these are on the screen."""
        self.wait_until(lambda: all(one in self.screen() for one in words), f"{words} on screen")

    def press(self, *keys: str) -> None:
        """Press keys by their names in tmux; returns when they have been read.

        An escape that is read together with another key would be that key with Alt.
        """
        self._tmux("send-keys", "-t", "e", *keys)
        time.sleep(_POLL_S)
        self.wait_until(lambda: not self._unread_bytes(), f"{keys} to be read")

    def _unread_bytes(self) -> int:
        terminal = self._tmux("display-message", "-p", "-t", "e", "#{pane_tty}").strip()
        descriptor = os.open(terminal, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
        try:
            count = fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4)
        finally:
            os.close(descriptor)
        return int.from_bytes(count, sys.byteorder)

    def go_to(self, line: int) -> None:
        """Put the caret at the beginning of a line, which counts from 0."""
        self.press("Escape")
        self.wait_for_screen(" NOR ")
        self.press(*str(line + 1), "g", "g")

    def act(self, title: str) -> None:
        """Choose the code action with this title from the menu at the caret.

        Helix puts those that are about a diagnostic first, and selects the first.
        """

        def chosen() -> bool:
            count = len(self.answered("textDocument/codeAction"))
            self.press("Space")
            self._within(lambda: "Space" in self.screen())
            self.press("a")
            answers = self.wait_until(
                lambda: self.answered("textDocument/codeAction")[count:], "code actions"
            )
            offered: list[dict[str, Any]] = answers[0] or []
            offered.sort(key=lambda one: not one.get("diagnostics"))
            titles = [one["title"] for one in offered]
            if title in titles and self._within(lambda: title in self.screen()):
                self.press(*["Down"] * titles.index(title), "Enter")
                return True
            self.press("Escape")
            return False

        count = len(self.said("editor", "workspace/executeCommand"))
        self.wait_until(chosen, f"the code action {title!r}")
        self.wait_until(
            lambda: len(self.said("editor", "workspace/executeCommand")) > count,
            f"what follows on {title!r}",
        )

    def _within(self, condition: Callable[[], bool]) -> bool:
        """Say whether the condition comes true soon."""
        deadline = time.monotonic() + _SOON_S
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_S)
        return True

    def text(self) -> str:
        """Save, and return what was saved."""
        count = len(self.said("editor", "textDocument/didSave"))
        self.press("Escape")
        self.wait_for_screen(" NOR ")
        self.press(":", "w", "Enter")
        self.wait_until(
            lambda: len(self.said("editor", "textDocument/didSave")) > count, "the file saved"
        )
        return self.file.read_text("utf-8")


_XDG = ("CONFIG", "DATA", "STATE", "CACHE")
