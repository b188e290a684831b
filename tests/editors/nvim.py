"""A real Neovim with its built-in LSP client, driven from outside as a user would drive it.

Owns the editor's process and the questions a test may put to it. Knows nothing of what the server
does; the same driver serves Neovim 0.7 and 0.11, and `witness.lua` sits inside as the user.
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
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateFuture
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Self, TypeVar

import pynvim

from tests.editors.processes import Household

_HERE = Path(__file__).parent
# -P, because an editor starts the server in the workspace, whose modules must not be found first.
_SERVE = (sys.executable, "-P", "-m", "agent_ls", "serve")
_ARGUMENTS = (
    # The embedding pipe carries nothing, but its end takes Neovim along should we die.
    *("--embed", "--headless"),
    # A swap file would ask questions, a second page would wait for a key, and looking for Python
    # in Neovim's own sense costs a second and is no matter of ours.
    *("-n", "--cmd", "set nomore | let g:loaded_python3_provider = 0"),
)
_LIMIT_S = 60.0
_CALL_LIMIT_S = 60.0
_POLL_S = 0.02
# How a request ends when Neovim goes away under it, or never comes back.
_GONE = (EOFError, OSError, LateFuture, pynvim.NvimError)
T = TypeVar("T")


class EditorError(AssertionError):
    """The editor did not come to what the test waited for; the message tells the whole story."""


class ReplyError(Exception):
    """The server answered a request with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message


@dataclass(frozen=True)
class Finding:
    """One diagnostic as the editor holds it; lines and columns count from 0, columns in bytes."""

    line: int
    column: int
    end_line: int
    end_column: int
    severity: int
    message: str
    source: str | None
    code: str | int | None


@dataclass(frozen=True)
class Question:
    """A message with buttons, as it was asked, and the button that was pressed."""

    message: str
    titles: tuple[str, ...]
    answer: str | None


@dataclass(frozen=True)
class NeovimSetup:
    """How a user has set their Neovim up for our server.

    `command` is what the client starts; `variables` are added to the editor's environment, which
    the server inherits; `settings` answer workspace/configuration; `init` replaces the whole
    configuration file, to prove one that is printed in the documentation.
    """

    command: Sequence[str] = _SERVE
    variables: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    init_options: Mapping[str, Any] = field(default_factory=dict)
    init: str | None = None


class Neovim:
    """One running Neovim. Use it as a context manager; nothing it started survives it.

    Works from any thread and inside a running event loop, because the RPC lives on its own thread;
    a call blocks until Neovim has answered. `home` holds the private folders of the editor and of
    the server it starts, and is gone after the end.

    Errors: EditorError where something does not come to pass, with what was shown and the log of
    the client.
    """

    def __init__(self, binary: Path, root: Path, setup: NeovimSetup | None = None) -> None:
        setup = setup or NeovimSetup()
        self.root = root
        self.home = Path(tempfile.mkdtemp(prefix="als-nvim-"))
        self._errors = self.home / "stderr.log"
        self._household = Household()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="neovim-rpc")
        self._ids = count(1)
        self._rpc: pynvim.Nvim | None = None
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._start(binary, setup)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        leftovers = self.close()
        if leftovers and kind is None:
            raise EditorError("still running after Neovim had quit:\n" + "\n".join(leftovers))

    # Life

    def _start(self, binary: Path, setup: NeovimSetup) -> None:
        folders = {
            f"XDG_{name}_HOME": str(self.home / name.lower())
            for name in ("CONFIG", "DATA", "STATE", "CACHE")
        }
        (self.home / "config" / "nvim").mkdir(parents=True)
        variables = {**os.environ, **folders, "HOME": str(self.home), "NVIM_LOG_FILE": os.devnull}
        variables.pop("NVIM", None)
        address = self.home / "rpc"
        (self.home / "config" / "nvim" / "init.lua").write_text(
            setup.init if setup.init is not None else self._default_init(binary, setup), "utf-8"
        )
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [binary, *_ARGUMENTS, "--listen", address],
                cwd=self.root,
                env=self._household.environment({**variables, **setup.variables}),
                stdin=subprocess.PIPE,
                stdout=errors,
                stderr=errors,
                start_new_session=True,
            )
        self.wait_until(
            lambda: _listens(address) or self._process.poll() is not None, "Neovim to listen"
        )
        self._rpc = self._call(lambda: pynvim.attach("socket", path=str(address)))
        self.lua("vim.lsp.set_log_level('debug')")
        self.lua((_HERE / "witness.lua").read_text("utf-8"))

    def _default_init(self, binary: Path, setup: NeovimSetup) -> str:
        server = json.dumps(
            {
                "name": "agent-ls",
                "cmd": list(setup.command),
                "root_dir": str(self.root),
                "settings": setup.settings,
                "init_options": setup.init_options,
            }
        )
        newer = version_of(binary) >= (0, 11)
        template = (_HERE / ("init_0_11.lua" if newer else "init_0_7.lua")).read_text("utf-8")
        return template.replace("SERVER", f"vim.fn.json_decode([==[{server}]==])")

    def close(self, grace_s: float = 5.0) -> list[str]:
        """Quit as a user quits, and answer what was still running after the grace.

        Invariant: whatever it answers, all of it is dead and the editor's folders are gone.
        """
        try:
            if self._process and self._rpc and self._process.poll() is None:
                self._quit(grace_s)
            leftovers = self._household.outlive(grace_s)
        finally:
            self._household.end()
            if self._process:
                self._process.communicate()
            self._hang_up()
            shutil.rmtree(self.home, ignore_errors=True)
        return leftovers

    def _quit(self, grace_s: float) -> None:
        rpc, process = self._rpc, self._process
        assert rpc
        assert process
        try:
            # The connection ends in the middle of this request, which is what an error means here.
            self._thread.submit(lambda: rpc.command("qall!")).result(grace_s)
            process.wait(grace_s)
        except (*_GONE, subprocess.TimeoutExpired):
            return

    def _hang_up(self) -> None:
        rpc, self._rpc = self._rpc, None
        if rpc:
            # The loop must see the end of the connection once, or the socket is never closed.
            with suppress(*_GONE):
                self._thread.submit(lambda: rpc.command("")).result(5)
            with suppress(*_GONE):
                self._thread.submit(rpc.close).result(5)
        self._thread.shutdown(wait=False, cancel_futures=True)

    # RPC

    def _call(self, work: Callable[[], T]) -> T:
        try:
            return self._thread.submit(work).result(_CALL_LIMIT_S)
        except LateFuture:
            raise EditorError(
                f"Neovim did not answer for {_CALL_LIMIT_S:.0f} s; it may wait at a prompt\n"
                + self._last_words()
            ) from None

    def lua(self, code: str, *arguments: Any) -> Any:
        """What this Lua answers inside Neovim; `...` are the arguments."""
        rpc = self._rpc
        assert rpc, "Neovim has been closed"
        return self._call(lambda: rpc.exec_lua(code, *arguments))

    def command(self, command: str) -> str:
        """What this Ex command prints."""
        return self.lua("return vim.api.nvim_exec(..., true)", command)

    def wait_until(self, condition: Callable[[], T], what: str, limit_s: float = _LIMIT_S) -> T:
        """The first true answer of the condition; EditorError with the story when none comes."""
        deadline = time.monotonic() + limit_s
        while not (answer := condition()):
            if time.monotonic() > deadline:
                raise EditorError(f"waited {limit_s:g} s in vain for {what}\n{self.story()}")
            time.sleep(_POLL_S)
        return answer

    # Text

    def open(self, path: Path | str) -> None:
        """Open a file in the window, which attaches the language server."""
        self.lua("vim.cmd('edit ' .. vim.fn.fnameescape(...))", str(self.root / path))

    def wait_for_server(self) -> None:
        """Wait until the language server has initialized and the current buffer is its own."""
        self.wait_until(lambda: self.lua("return witness.is_attached()"), "the language server")

    def _buffer(self, path: Path | str | None) -> int:
        if path is None:
            return self.lua("return vim.api.nvim_get_current_buf()")
        return self.lua(
            "local n = vim.fn.bufadd(...) vim.fn.bufload(n) return n", str(self.root / path)
        )

    def lines(self, path: Path | str | None = None) -> list[str]:
        """The lines of a buffer, the current one by default, without their ends."""
        return self.lua("return vim.api.nvim_buf_get_lines(..., 0, -1, false)", self._buffer(path))

    def text(self, path: Path | str | None = None) -> str:
        """The text of a buffer, saved or not, with line feeds."""
        return "".join(f"{line}\n" for line in self.lines(path))

    def is_modified(self, path: Path | str | None = None) -> bool:
        """Whether the buffer holds something that is not on the disk."""
        return self.lua("return vim.bo[...].modified", self._buffer(path))

    def type(self, keys: str) -> None:
        """Press keys, in Neovim's notation: `ihello<Esc>`; returns when they have been read."""
        # Keys are read before the next request is looked at, so any request is the barrier.
        self.lua("vim.api.nvim_input(...)", keys)
        self.lua("return 1")

    def put_cursor(self, line: int, column: int = 0) -> None:
        """Put the caret on a character; both count from 0."""
        before = self.lines()[line][:column]
        self.lua(
            "local l, c = ... vim.api.nvim_win_set_cursor(0, { l, c })",
            line + 1,
            len(before.encode()),
        )

    def find(self, words: str) -> tuple[int, int]:
        """Where these words first stand in the current buffer: line and column in characters."""
        for number, line in enumerate(self.lines()):
            if (column := line.find(words)) >= 0:
                return number, column
        raise EditorError(f"{words!r} is not in the buffer:\n{self.text()}")

    def put_cursor_at(self, words: str) -> None:
        """Put the caret on the first character of these words."""
        self.put_cursor(*self.find(words))

    def replace(self, old: str, new: str) -> None:
        """The user's own edit: change the first occurrence, within one line, unsaved."""
        line, column = self.find(old)
        start = len(self.lines()[line][:column].encode())
        self.lua(
            "local l, a, b, t = ... vim.api.nvim_buf_set_text(0, l, a, l, b, t)",
            line,
            start,
            start + len(old.encode()),
            new.split("\n"),
        )

    def undo(self) -> None:
        """Undo the last change of the current buffer."""
        self.lua("vim.cmd('silent undo')")

    def save(self) -> None:
        """Write the current buffer."""
        self.lua("vim.cmd('silent write')")

    # What the server gave

    def findings(self, path: Path | str | None = None) -> list[Finding]:
        """The diagnostics of a buffer, in the order of the editor."""
        rows = self.lua("return witness.findings(...)", self._buffer(path))
        return [Finding(**row) for row in rows]

    @property
    def shown(self) -> list[str]:
        """The messages the server has shown, oldest first."""
        return [row["message"] for row in self.lua("return witness.shown")]

    @property
    def notices(self) -> list[str]:
        """What Neovim itself has said since the last menu was opened."""
        return [row["message"] for row in self.lua("return witness.notices")]

    @property
    def questions(self) -> list[Question]:
        """The messages with buttons that were asked, oldest first."""
        return [
            Question(row["message"], tuple(row["titles"]), row["answer"])
            for row in self.lua("return witness.questions")
        ]

    @property
    def progress(self) -> list[dict[str, Any]]:
        """Progress as it was reported: token, kind, and title, message, percentage where given."""
        return [
            {"token": row["token"], **row["value"]} for row in self.lua("return witness.progress")
        ]

    # What a user does with it

    def answer(self, about: str, title: str) -> None:
        """From now on press this button when a question contains these words; others are closed."""
        self.lua(
            "local a, t = ... table.insert(witness.answers, 1, { about = a, title = t })",
            about,
            title,
        )

    def offered(self, span: tuple[tuple[int, int], tuple[int, int]] | None = None) -> list[str]:
        """The titles of the code actions at the caret, or over a span in characters."""
        return self._open_actions(None, span)

    def act(
        self,
        title: str,
        span: tuple[tuple[int, int], tuple[int, int]] | None = None,
        limit_s: float = _LIMIT_S,
    ) -> None:
        """Open the menu of code actions until it offers this title, and pick it."""
        self.wait_until(
            lambda: title in self._open_actions(title, span),
            f"the code action {title!r}; last offered: {self.offered(span)}",
            limit_s,
        )

    def _open_actions(
        self, wanted: str | None, span: tuple[tuple[int, int], tuple[int, int]] | None
    ) -> list[str]:
        ends = [self._in_bytes(*end) for end in span] if span else []
        self.lua("witness.open_actions(...)", wanted, *ends)
        self.wait_until(
            lambda: self.lua("return #witness.menus + #witness.notices"),
            "an answer to code actions",
        )
        return [title for menu in self.lua("return witness.menus") for title in menu]

    def _in_bytes(self, line: int, column: int) -> list[int]:
        return [line + 1, len(self.lines()[line][:column].encode())]

    def execute(self, command: str, *arguments: Any, limit_s: float = _LIMIT_S) -> Any:
        """What workspace/executeCommand answers; ReplyError when that is an error."""
        return self.request(
            "workspace/executeCommand", {"command": command, "arguments": list(arguments)}, limit_s
        )

    def request(self, method: str, params: Any, limit_s: float = _LIMIT_S) -> Any:
        """What the server answers to any request, sent through Neovim's client."""
        number = next(self._ids)
        self.lua("witness.request(...)", number, method, params)
        reply = self.wait_until(
            lambda: self.lua("return witness.take_reply(...)", number),
            f"the reply to {method}",
            limit_s,
        )
        if error := reply["error"]:
            raise ReplyError(error["code"], error["message"])
        return reply["result"]

    def notify(self, method: str, params: Any) -> None:
        """Send a notification through Neovim's client."""
        self.lua("witness.notify(...)", method, params)

    def hover(self) -> str:
        """The text of the hover at the caret, or nothing."""
        found = self.request("textDocument/hover", self.position())
        contents = found["contents"] if found else ""
        return contents["value"] if isinstance(contents, dict) else str(contents)

    def position(self) -> dict[str, Any]:
        """The document and the caret, as the protocol's parameters."""
        return self.lua("return witness.position()")

    # Post mortem

    def log(self) -> str:
        """The end of the client's log: every message both ways, and the server's stderr."""
        logs = sorted(self.home.glob("*/nvim/lsp.log"))
        return "\n".join(log.read_text("utf-8", "replace")[-20_000:] for log in logs)

    def story(self) -> str:
        """All that helps to understand why something did not come to pass."""
        try:
            seen = {
                "buffer": self.text(),
                "diagnostics": self.findings(),
                "shown": self.shown,
                "notices": self.notices,
                "questions": self.questions,
                "progress": self.progress[-20:],
            }
        except Exception as error:
            return f"Neovim cannot tell more: {error!r}\n{self._last_words()}"
        told = "\n".join(f"--- {name}\n{str(value)[:4_000]}" for name, value in seen.items())
        return f"{told}\n{self._last_words()}"

    def _last_words(self) -> str:
        errors = self._errors.read_text("utf-8", "replace") if self._errors.exists() else ""
        return f"--- Neovim's stderr\n{errors[-4_000:]}\n--- lsp.log\n{self.log()}"


def _listens(path: Path) -> bool:
    """Say whether somebody takes connections there: the file is made before that."""
    with socket.socket(socket.AF_UNIX) as one:
        return one.connect_ex(str(path)) == 0


def version_of(binary: Path) -> tuple[int, int]:
    """The major and minor version of this Neovim."""
    first = subprocess.run(
        [binary, "--version"],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "NVIM_LOG_FILE": os.devnull},
    ).stdout.splitlines()[0]
    major, minor, *_ = first.removeprefix("NVIM v").split(".")
    return int(major), int(minor)


def find_neovim(version: tuple[int, int], places: Path) -> Path | None:
    """A Neovim of this version: the one our installer made, or the one on the PATH."""
    installed = places / f"neovim-{version[0]}.{version[1]}" / "bin" / "nvim"
    on_path = shutil.which("nvim")
    candidates = [installed, *([Path(on_path)] if on_path else []), Path("/usr/bin/nvim")]
    for candidate in candidates:
        if candidate.is_file() and version_of(candidate) == version:
            return candidate
    return None
