"""``demo``: one turn from end to end, on a small project, in a real server process.

A real LSP client opens the project, writes an instruction comment, runs its code action, answers
approvals by code action, and shows what happens. Without ``AGENT_LS_MODEL`` a scripted model that
ships with agent-ls plays the model's part over real HTTP.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_ls.domain.sentences import counted
from agent_ls.domain.stops import StopReason
from agent_ls.edits.diff import diff_to_read
from agent_ls.lsp.demo.buffers import Buffer
from agent_ls.lsp.demo.client import DemoClient
from agent_ls.lsp.diagnostics.annotation import CHANGE_CODE

_DATA = Path(__file__).parents[1] / "demo"
_COMMENT = (
    "# agent: give total_cents a discount in percent, rounded half up, "
    "and show it on the web receipt\n"
)
_BEFORE = "def total_cents("
_ALLOW = ("Agent: Allow once", "Agent: Allow for this session")
_CHECKERS = ("ruff", "tsc")
_TURN_LIMIT_S = 300.0
_CAPABILITIES: dict[str, Any] = {
    "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
    "window": {"workDoneProgress": True},
    "textDocument": {
        "publishDiagnostics": {},
        "codeAction": {
            "codeActionLiteralSupport": {
                "codeActionKind": {"valueSet": ["quickfix", "refactor", "source"]}
            }
        },
    },
}


def demo(arguments: argparse.Namespace) -> int:
    """Run the demo; return 0 if the turn completed."""
    folder = Path(arguments.keep).resolve() if arguments.keep else None
    if folder is not None and folder.exists():
        sys.stderr.write(f"agent-ls: {folder} exists already; name a new folder.\n")
        return 3
    with tempfile.TemporaryDirectory(prefix="agent-ls-demo-") as name:
        place = Path(name)
        project = folder or place / "shop"
        shutil.copytree(_DATA / "project", project)
        return asyncio.run(_Story(project, place).tell())


class _Story:
    """One run of the demo."""

    def __init__(self, project: Path, place: Path) -> None:
        self._project = project
        self._place = place
        self._started_s = time.monotonic()
        self._before = _texts(project)
        self._seen: set[str] = set()
        self._editor = DemoClient(project, capabilities=_CAPABILITIES)

    async def tell(self) -> int:
        is_real = bool(os.environ.get("AGENT_LS_MODEL"))
        if is_real:
            self._say(f"The model is {os.environ['AGENT_LS_MODEL']}; what it does is its own.")
            return await self._with_server({})
        self._say("No AI is involved: a scripted model plays a fixed part over real HTTP.")
        self._say("Server, protocol, edits, checkers, approvals and store are the real ones.")
        scripted = _start_scripted()
        try:
            url = json.loads(scripted.stdout.readline())["base_url"] if scripted.stdout else ""
            return await self._with_server(
                {"AGENT_LS_MODEL": "openai/scripted", "AGENT_LS_API_BASE": url}
            )
        finally:
            scripted.terminate()
            scripted.wait()

    async def _with_server(self, variables: Mapping[str, str]) -> int:
        log = self._place / "server.log"
        env = {**os.environ, **self._places(), **variables}
        command = [sys.executable, "-P", "-m", "agent_ls", "serve"]
        await self._editor.start(command, env=env, log=log)
        self._say(f"The editor started the server and opened {self._project.name}/.")
        try:
            ended = await self._turn()
            # Save the buffers, which the editor forgets when it stops.
            for buffer in self._editor.buffers.values():
                self._editor.path_of(buffer.uri).write_text(buffer.text)
        except Exception as error:
            self._say(f"The demo broke off: {error}\n\n{log.read_text()[-2000:]}")
            return 1
        finally:
            await self._editor.stop()
        return self._close(ended)

    def _places(self) -> dict[str, str]:
        return {
            f"XDG_{name}_HOME": str(self._place / name.lower())
            for name in ("CONFIG", "DATA", "STATE", "CACHE")
        }

    async def _turn(self) -> str:
        """Play the user: write the comment, run its action, answer approvals.

        Return the turn's last message.
        """
        editor = self._editor
        buffer = await editor.open("pricing.py")
        await editor.change(buffer.uri, buffer.text.replace(_BEFORE, _COMMENT + _BEFORE))
        self._say("You type a comment into pricing.py and do not save it:")
        self._quote(_COMMENT.strip())
        line = buffer.text[: buffer.text.index(_COMMENT)].count("\n")
        action = await self._action(buffer, line, "Run agent")
        self._say(f"On it the editor offers the code action “{action['title']}”. You choose it.")
        await editor.choose(action)
        ended = ""
        while not ended:
            await editor.until(lambda: self._news() or None, _TURN_LIMIT_S, "the turn's next event")
            ended = await self._react(buffer)
        return ended

    def _news(self) -> bool:
        return bool(self._fresh_progress() or self._fresh_diagnostics())

    def _fresh_progress(self) -> list[dict[str, Any]]:
        return [
            value
            for values in self._editor.shown.progress.values()
            for value in values
            if str(id(value)) not in self._seen
        ]

    def _fresh_diagnostics(self) -> list[tuple[str, dict[str, Any]]]:
        """Return new diagnostics except hints of open changes, which come with every edit."""
        return [
            (uri, one)
            for uri, found in self._editor.shown.diagnostics.items()
            for one in found
            if _key(uri, one) not in self._seen and one.get("code") != CHANGE_CODE
        ]

    async def _react(self, buffer: Buffer) -> str:
        ended = ""
        for value in self._fresh_progress():
            self._seen.add(str(id(value)))
            if value.get("message"):
                self._say(f"progress: {value['message']}")
            if value.get("kind") == "end":
                ended = value.get("message") or "ended"
        for uri, one in self._fresh_diagnostics():
            self._seen.add(_key(uri, one))
            await self._diagnostic(uri, one, buffer)
        return ended

    async def _diagnostic(self, uri: str, one: dict[str, Any], buffer: Buffer) -> None:
        place = f"{Path(uri).name}:{one['range']['start']['line'] + 1}"
        source = one.get("source", "")
        self._say(f"diagnostic: {place} [{source}] {one['message']}")
        actions = await self._editor.code_actions(uri, one["range"]["start"]["line"])
        allowed = [one for one in actions if one["title"].startswith(_ALLOW)]
        if not allowed:
            return
        choice = allowed[-1]
        self._say("Its code actions: " + ", ".join(f"“{one['title']}”" for one in actions))
        if buffer.text != (self._project / "pricing.py").read_text():
            await self._editor.save(buffer.uri)
            self._say("You save pricing.py first.")
        self._say(f"You choose “{choice['title']}”.")
        await self._editor.choose(choice)

    async def _action(self, buffer: Buffer, line: int, title: str) -> dict[str, Any]:
        async with asyncio.timeout(30):
            while True:
                for one in await self._editor.code_actions(buffer.uri, line):
                    if one["title"].startswith(title):
                        return one
                await asyncio.sleep(0.1)

    def _close(self, ended: str) -> int:
        after = _texts(self._project)
        self._say("What changed:")
        for path in sorted({*self._before, *after}):
            diff = diff_to_read(self._before.get(path), after.get(path), path)
            sys.stdout.write(diff)
        edits = len(self._editor.shown.edits)
        self._say(f"{counted(edits, 'edit')} went through workspace/applyEdit. The turn: {ended}")
        for problem in self._unchecked():
            self._say(f"Not checked: {problem}")
        return 0 if ended.startswith(StopReason.COMPLETED) else 1

    def _unchecked(self) -> list[str]:
        said = (str(one["message"]) for one in self._editor.shown.messages)
        return [text for text in said if text.startswith(_CHECKERS)]

    def _say(self, text: str) -> None:
        sys.stdout.write(f"[{time.monotonic() - self._started_s:5.1f} s] {text}\n")
        sys.stdout.flush()

    def _quote(self, text: str) -> None:
        sys.stdout.write(f"          {text}\n")


def _start_scripted() -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-m", "agent_ls.providers.scripted"]
    return subprocess.Popen(
        [*command, str(_DATA / "scenario.toml")], stdout=subprocess.PIPE, text=True
    )


def _texts(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix in (".py", ".ts")
    }


def _key(uri: str, one: Mapping[str, Any]) -> str:
    return json.dumps([uri, one["message"], one.get("source")])
