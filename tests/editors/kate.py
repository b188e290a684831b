"""A real Kate with its LSP client, driven by keys alone and shown to nobody.

Qt paints it into memory and serves that as a screen (`rfb.py`), so it needs no display. What it
knows is read from what it and its server said (`lsp_tap.py`), what it holds from what it saves.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self, TypeVar

from tests.editors.processes import Household
from tests.editors.rfb import Screen, differing
from tests.editors.talk import Talk

_TAP = Path(__file__).parent / "lsp_tap.py"
_LIMIT_S = 40.0
"""The first answer waits for the model host to load."""
_POLL_S = 0.05
_SIZE = "1000x700"
_MENU_PIXELS = 3000
"""A menu covers more than that, a blinking caret and its place in the status bar much less."""
_SELECTED = bytes((0xE9, 0xAE, 0x3D))
"""Blue, green and red behind the entry of a menu that the keys have reached."""
_ENTRY_PIXELS = 500
_SOON_S = 3.0
"""How long a menu may take to come up before it is asked for again."""
T = TypeVar("T")
Meant = Callable[[Mapping[str, Any]], bool]


def find_kate(places: Path) -> Path | None:
    """Where the system's Kate is; None when it is not on this machine."""
    del places
    found = shutil.which("kate")
    return Path(found) if found else None


class KateError(AssertionError):
    """Kate did not come to what the test waited for; the message tells what was said."""


class Kate(Talk):
    """One running Kate with one file. Use it as a context manager; nothing of it survives."""

    def __init__(
        self, file: Path, settings: Mapping[str, Any], variables: Mapping[str, str]
    ) -> None:
        """Start it; ``settings`` are its LSP client's, in which ``agent-ls`` means our server."""
        self.file = file
        self.home = Path(tempfile.mkdtemp(prefix="als-kate-"))
        super().__init__(self.home / "said.jsonl")
        self._household = Household()
        self._screen: Screen | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._settings, self._variables = settings, variables
        try:
            self.start()
        except BaseException:
            self._end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        leftovers = self._close(is_orderly=kind is None)
        if leftovers and kind is None:
            raise KateError("still running after Kate had quit:\n" + "\n".join(leftovers))

    # Life

    def start(self) -> None:
        """Start Kate on the file, also a second time."""
        self._log.unlink(missing_ok=True)
        run, config = self.home / "run", self.home / "config"
        run.mkdir(mode=0o700, exist_ok=True)
        (config / "kate" / "lspclient").mkdir(parents=True, exist_ok=True)
        serve = [sys.executable, "-P", "-m", "agent_ls", "serve"]
        command = [sys.executable, "-P", str(_TAP), str(self._log), *serve]
        text = json.dumps(self._settings).replace('["agent-ls", "serve"]', json.dumps(command))
        assert str(_TAP) in text, "the settings do not start agent-ls"
        (config / "kate" / "lspclient" / "settings.json").write_text(text)
        (config / "katerc").write_text(
            "[Kate Plugins]\nlspclientplugin=true\n"
            "[General]\nShow welcome view for new window=false\n"
            f"[lspclient]\nAllowedServerCommandLines={' '.join(command)}\n"
        )
        port = _free_port()
        places = {f"XDG_{one}_HOME": str(self.home / one.lower()) for one in _XDG}
        own = {
            **places,
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(run),
            "QT_QPA_PLATFORM": f"vnc:size={_SIZE}:port={port}",
            # It does without, and must not find the user's own.
            "DBUS_SESSION_BUS_ADDRESS": "disabled:",
            "LC_ALL": "C.UTF-8",
        }
        with (self.home / "kate.log").open("wb") as output:
            self._process = subprocess.Popen(
                ["kate", "-qwindowgeometry", f"{_SIZE}+0+0", "--new", "--block", str(self.file)],
                cwd=self.file.parent,
                env=self._household.environment({**os.environ, **own, **self._variables}),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._screen = self.wait_until(lambda: _connected(port), "Kate's screen")
        self.wait_until(lambda: self.said("editor", "textDocument/didOpen"), "the open file")
        self.wait_until(lambda: self.answered("initialize"), "the language server")

    def _close(self, *, is_orderly: bool) -> list[str]:
        """Quit as a user quits, and answer what was still running after a while."""
        try:
            return self.quit() if is_orderly else []
        finally:
            self._end()

    def quit(self) -> list[str]:
        """Quit as a user quits, and answer what was still running after a while."""
        with suppress(ConnectionError):
            self.screen.press("Control+q")
        return self._household.outlive(_LIMIT_S)

    def _end(self) -> None:
        self._household.end()
        self._let_go()
        shutil.rmtree(self.home, ignore_errors=True)

    def _let_go(self) -> None:
        """Let go of a Kate that has ended."""
        if self._process:
            self._process.wait()
        if self._screen:
            self._screen.close()

    @property
    def screen(self) -> Screen:
        assert self._screen is not None
        return self._screen

    def wait_until(self, condition: Callable[[], T], what: str) -> T:
        """The first true answer of the condition; KateError with the story when none comes."""
        deadline = time.monotonic() + _LIMIT_S
        while not (answer := condition()):
            if time.monotonic() > deadline:
                raise KateError(f"waited {_LIMIT_S:g} s in vain for {what}\n{self.story()}")
            time.sleep(_POLL_S)
        return answer

    def story(self) -> str:
        """The last that Kate and the server said to each other, and Kate's own complaints."""
        said = [json.dumps(one)[:600] for one in self.messages()][-40:]
        return "\n".join([*said, (self.home / "kate.log").read_text(errors="replace")[-2000:]])

    # What was said

    def wait_for_finding(self, code: str) -> None:
        """Wait until the open file has a diagnostic of this code."""
        self.wait_until(
            lambda: [
                one
                for told in self.said("server", "textDocument/publishDiagnostics")[-1:]
                for one in told["diagnostics"]
                if one.get("code") == code
            ],
            f"a diagnostic {code}",
        )

    def wait_for_progress(self, kind: str) -> None:
        """Wait until a turn has come to its ``begin`` or ``end``."""
        self.wait_until(
            lambda: [
                one for one in self.said("server", "$/progress") if one["value"]["kind"] == kind
            ],
            f"the {kind} of a turn",
        )

    # What a user does

    def go_to(self, line: int) -> None:
        """Put the caret at the end of a line, which counts from 0."""
        self.screen.press("Control+Home")
        for _ in range(line):
            self.screen.press("Down")
        self.screen.press("End")

    def choose_titled(self, title: str) -> None:
        """Choose the code action with this in its title from the menu at the caret."""
        self.choose(lambda one: title in one["title"], title)

    def choose(self, is_meant: Meant, what: str, or_else: Meant = lambda _: False) -> int:
        """Choose the first such code action from the menu at the caret; how many keys it took."""
        titles: list[str] = []
        keys = 0

        def chosen() -> bool:
            nonlocal titles, keys
            plain = self.screen.look()
            actions = self._actions()
            titles = [one["title"] for one in actions]
            places = [
                place
                for meant in (is_meant, or_else)
                for place, one in enumerate(actions)
                if meant(one)
            ]
            found = next(iter(places), None)
            if found is not None and self._chosen(found, plain):
                keys = found + 3
                return True
            self.screen.press("Escape")
            self.within(lambda: differing(plain, self.screen.look()) < _MENU_PIXELS)
            return False

        before = sum(1 for one in self.messages() if one["from"] == "editor")
        self.wait_until(chosen, f"the code action {what!r}, there are {titles}")
        self.wait_until(
            lambda: sum(1 for one in self.messages() if one["from"] == "editor") > before,
            f"what follows on {what!r}",
        )
        return keys

    def _actions(self) -> list[dict[str, Any]]:
        """Ask for code actions at the caret, in the order of the menu."""
        count = len(self.answered("textDocument/codeAction"))
        self.screen.press("Alt+Return")
        answers = self.wait_until(
            lambda: self.answered("textDocument/codeAction")[count:], "code actions"
        )
        return answers[0] or []

    def _chosen(self, number: int, plain: bytes) -> bool:
        """Choose an entry of the menu that is about to open; False when it did not come up.

        Something else may be painted just then. So the first key only moves, into the menu or in
        the text, and what acts is pressed when an entry is seen to be selected.
        """
        self.within(lambda: differing(plain, self.screen.look()) > _MENU_PIXELS)
        self.screen.press("Down")
        if not self.within(lambda: self.screen.look().count(_SELECTED) > _ENTRY_PIXELS):
            return False
        for _ in range(number):
            self.screen.press("Down")
        self.screen.press("Return")
        return True

    def within(self, condition: Callable[[], bool]) -> bool:
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
        self.screen.press("Control+s")
        self.wait_until(
            lambda: len(self.said("editor", "textDocument/didSave")) > count, "the file saved"
        )
        return self.file.read_text("utf-8")


_XDG = ("CONFIG", "DATA", "STATE", "CACHE")


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def _connected(port: int) -> Screen | None:
    try:
        return Screen(port)
    except ConnectionRefusedError:
        return None
