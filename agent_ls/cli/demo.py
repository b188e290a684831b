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

from agent_ls.domain.sentences import counted
from agent_ls.domain.stops import StopReason
from agent_ls.edits.diff import diff_to_read
from agent_ls.lsp.demo_editor import DemoEditor, Problem, Progress
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
        self._seen: set[Problem] = set()
        self._pricing = project / "pricing.py"
        self._editor = DemoEditor(project)

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
        log.touch()
        try:
            await self._editor.begin(command, env=env, log=log)
            self._say(f"The editor started the server and opened {self._project.name}/.")
            ended = await self._turn()
            self._editor.save_all()
        except Exception as error:
            self._say(f"The demo broke off: {error}\n\n{log.read_text()[-2000:]}")
            return 1
        finally:
            await self._editor.end()
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
        editor, pricing = self._editor, self._pricing
        text = editor.text_of(pricing)
        line = text[: text.index(_BEFORE)].count("\n")
        editor.insert(pricing, line, _COMMENT)
        self._say("You type a comment into pricing.py and do not save it:")
        self._quote(_COMMENT.strip())
        action = await editor.offered(pricing, line, "Run agent")
        self._say(f"On it the editor offers the code action “{action.title}”. You choose it.")
        await editor.choose(action)
        while True:
            shown = await editor.next_shown(_TURN_LIMIT_S)
            if isinstance(shown, Progress):
                if shown.message:
                    self._say(f"progress: {shown.message}")
                if shown.is_end:
                    return shown.message or "ended"
            elif shown.code != CHANGE_CODE and shown not in self._seen:
                # Hints of open changes come with every edit.
                self._seen.add(shown)
                await self._answer(shown)

    async def _answer(self, problem: Problem) -> None:
        """Show a diagnostic, and choose the approval among its code actions."""
        place = f"{problem.path.name}:{problem.line + 1}"
        self._say(f"diagnostic: {place} [{problem.source}] {problem.message}")
        actions = await self._editor.code_actions(problem.path, problem.line)
        allowed = [one for one in actions if one.title.startswith(_ALLOW)]
        if not allowed:
            return
        choice = allowed[-1]
        self._say("Its code actions: " + ", ".join(f"“{one.title}”" for one in actions))
        if self._editor.text_of(self._pricing) != self._pricing.read_text():
            self._editor.save(self._pricing)
            self._say("You save pricing.py first.")
        self._say(f"You choose “{choice.title}”.")
        await self._editor.choose(choice)

    def _close(self, ended: str) -> int:
        after = _texts(self._project)
        self._say("What changed:")
        for path in sorted({*self._before, *after}):
            diff = diff_to_read(self._before.get(path), after.get(path), path)
            sys.stdout.write(diff)
        edits = counted(self._editor.edits, "edit")
        self._say(f"{edits} went through workspace/applyEdit. The turn: {ended}")
        for message in self._editor.messages:
            if message.startswith(_CHECKERS):
                self._say(f"Not checked: {message}")
        return 0 if ended.startswith(StopReason.COMPLETED) else 1

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
