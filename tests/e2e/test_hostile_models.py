"""Hostile models by the hundred on a real server under strace: nothing unapproved takes effect.

Every scenario of ``hostile_models.toml`` is a session of one server, for each mode, with and
without the sandbox, in a trusted folder. Every approval is rejected, or nobody answers. One command
is approved, to show that an effect would be seen.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from agent_ls.providers.scenario import Answer, Scenario, ScriptedCall, When
from agent_ls.providers.scripted import ScriptedModel
from tests.support.archive import Archive
from tests.support.lsp_connection import ServerError
from tests.support.markers import Story
from tests.support.sandboxes import installed_bubblewrap
from tests.support.storyteller import Storyteller
from tests.support.tracer import Act, acts, traced

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed"),
]

TABLE: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("hostile_models.toml").read_text("utf-8")
)
CANARY = "canary-7d20c4"
APPROVED = "approved-by-the-user"
_CONTROL = {"command": f"touch {APPROVED}", "outside_sandbox": True}
_AT_ONCE = 8
_QUIET_S = 3.0
_TURN_S = 90.0
_ORDINARY = re.compile("(?:src|%2e%2e|vscode-remote:)(?:/|$)")
"""What may change where edits need no approval: ordinary files, also of odd names."""
_HELD = re.compile(
    r"(?:.*/)?(?:\.git|\.vscode|\.idea|\.claude|\.cursor|\.github|\.agent-ls|\.mcp\.json|\.envrc"
    r"|\.env|AGENTS\.md|CLAUDE\.md|key\.pem)(?:/|$)"
)
"""What no command of the sandbox may change either, where it exists."""
_GITS_OWN = re.compile(r"(?:w/)?\.git(?:$|/(?!hooks|config|info))")
"""What git itself may change there in modes in which its commands count as allowed."""
_OWN_PROGRAMS = re.compile(r".*/(?:python[\d.]*|agent-ls|git|rg|bwrap|ruff|node)")
_OWN_PLACES = re.compile(r"/dev/null|/proc/.*|/tmp/(?:agent-ls.*|[a-z0-9_]{8})|.*/__pycache__/.*")
_READ_UNASKED = ("git status", "git grep canary")
"""The commands of the table that are harmless."""


@dataclass
class World:
    """A workspace, and what hostile calls could reach."""

    place: Path
    listening: socket.socket
    seen: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def port(self) -> str:
        return str(self.listening.getsockname()[1])

    def words(self) -> dict[str, str]:
        """Return what the table's words stand for."""
        return {
            "@OUT": str(self.place / "outside"),
            "@HOME": str(self.place / "home"),
            "@CONFIG": str(self.place / "config/agent-ls"),
            "@ROOT": str(self.place / "work"),
            "@URL": f"http://127.0.0.1:{self.port}",
            "@PORT": self.port,
        }

    def fill(self) -> None:
        """Write the files; hostile programs leave marks outside."""
        out = self.place / "outside"
        shell = f"#!/bin/sh\ntouch {out}/evil\n"
        python = (
            f"import socket\nopen('{out}/evil', 'w')\n"
            f"socket.create_connection(('127.0.0.1', {self.port}))\n"
        )
        for name, text in {
            "outside/file": f"outside {CANARY}\n",
            "outside/linked": "outside\n",
            "outside/code.py": "def f(): ...\n",
            "home/.ssh/id_rsa": CANARY,
            "home/.aws/credentials": CANARY,
            "home/.netrc": CANARY,
            "config/agent-ls/credentials.toml": f'[keys]\nx = "{CANARY}"\n',
            "work/src/app.py": "def needle(): ...\n",
            "work/.env": f"KEY={CANARY}\n",
            "work/deep/.env": f"KEY={CANARY}\n",
            "work/key.pem": CANARY,
            "work/.vscode/tasks.json": "{}\n",
            "work/evil.sh": shell,
            "work/evil.py": python,
            "work/Makefile": f"evil:\n\ttouch {out}/evil\n",
            "work/package.json": json.dumps({"scripts": {"evil": f"touch {out}/evil"}}),
            "work/.gitignore": "deep/\n",
        }.items():
            (self.place / name).parent.mkdir(parents=True, exist_ok=True)
            (self.place / name).write_text(text)
        work = self.place / "work"
        (work / "evil.sh").chmod(0o755)
        (self.place / "config/agent-ls/credentials.toml").chmod(0o600)
        (work / "link").symlink_to("../outside")
        (work / "filelink").symlink_to("../outside/file")
        (work / "envlink").symlink_to(".env")
        (work / "gitlink").symlink_to(".git")
        (work / "hard.txt").hardlink_to(out / "linked")
        author = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        for words in (("init", "-q"), ("add", "src"), (*author, "commit", "-qm", "x")):
            subprocess.run(["git", *words], cwd=work, check=True)

    def state(self) -> dict[str, str]:
        """Return all files but the server's own state, with what they hold."""
        found: dict[str, str] = {}
        for top in ("outside", "home", "config", "work"):
            for path in (self.place / top).rglob("*"):
                held = path.read_bytes().hex() if path.is_file() and not path.is_symlink() else ""
                target = str(path.readlink()) if path.is_symlink() else ""
                name = path.relative_to(self.place).as_posix()
                found[name] = f"{path.lstat().st_mode:o} {target}{held}"
        return found

    def visits(self) -> int:
        """Return how many came to the server that nobody may reach."""
        count = 0
        with suppress(BlockingIOError):
            while True:
                self.listening.accept()[0].close()
                count += 1
        return count


@pytest.fixture
def world(repository: Path) -> Iterator[World]:
    """A filled world, not below /tmp, where commands may write."""
    is_free = repository.is_relative_to(Path(tempfile.gettempdir()).resolve())
    caches = (Path.home() if is_free else repository) / ".cache"
    caches.mkdir(exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix="hostile-", dir=caches)).resolve()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        listening.setblocking(False)
        yield World(place, listening)
    shutil.rmtree(place)


def _calls(row: Mapping[str, Any], words: Mapping[str, str]) -> tuple[ScriptedCall, ...]:
    """Return the calls of a scenario."""
    listed: list[tuple[str, Any]] = [
        *(("run_command", {"command": one}) for one in row.get("run", ())),
        *(("write_file", {"path": one, "content": _content(one)}) for one in row.get("write", ())),
        *(("read_file", {"path": one}) for one in row.get("read", ())),
        *((tool, arguments) for tool, arguments in row.get("call", ())),
    ]

    def text(arguments: Any) -> str:
        told = arguments if isinstance(arguments, str) else json.dumps(arguments)
        for word, place in words.items():
            told = told.replace(word, place)
        return told

    return tuple(ScriptedCall(tool=tool, arguments_text=text(given)) for tool, given in listed)


def _content(path: str) -> str:
    if path.endswith(".py"):
        return (
            "import socket\ntry:\n    open('@OUT/evil', 'w')\nexcept OSError: ...\n"
            "def test_evil(): socket.create_connection(('127.0.0.1', @PORT))\n"
        )
    return "#!/bin/sh\ntouch @OUT/evil\n"


def _answers(name: str, row: Mapping[str, Any], words: Mapping[str, str]) -> list[Answer]:
    """Return what the model says in one scenario, and in that of its sub-agent."""
    calls = _calls(row, words)
    first = When(first=f"scenario {name}.")
    found = [Answer(when=first, text=row.get("text", ""), call=calls, cut_after=row.get("cut"))]
    if row.get("child"):
        task: dict[str, JsonValue] = {"kind": "implement", "task": f"task {name}."}
        child = When(first=f"task {name}.")
        found = [
            Answer(when=first, call=(ScriptedCall(tool="delegate", arguments=task),)),
            Answer(when=child, call=calls),
            Answer(when=child, text='{"findings": []}', repeat=0),
        ]
    if "then" in row:
        found += [Answer(when=first, text="So far."), Answer(when=first, call=calls)]
    return [*found, Answer(when=first, text="All done.", repeat=0)]


class Hostile(Storyteller):
    """Plays scenarios on one server, and answers what it asks."""

    answers = True
    """The user says no; else nobody is there."""
    approved = 0
    _beginning: asyncio.Lock

    def prepare(self) -> None:
        """Write nothing: the world is there."""

    async def play(self, names: list[str]) -> None:
        self._beginning = asyncio.Lock()
        user = asyncio.create_task(self._user())
        slots = asyncio.Semaphore(_AT_ONCE)

        async def one(name: str) -> None:
            async with slots:
                try:
                    await self._play(name)
                except (TimeoutError, ServerError) as error:
                    raise AssertionError(f"{name}: {error}\n{self.log.read_text()}") from error

        try:
            await asyncio.gather(*map(one, names))
            if not self.answers:
                await self._until_quiet()
                await self.editor.execute("agent-ls.stop")
                await self._until_quiet()
        finally:
            user.cancel()

    async def _play(self, name: str) -> None:
        # Another new session would close this one before it has a turn.
        async with self._beginning:
            session = (await self.editor.request("agent/sessions/new", {}))["session"]["sessionId"]
            turn_id = await self._say(session, f"This is scenario {name}.")
        if not self.answers:
            return
        await self._until_ended(turn_id, name)
        then = TABLE.get(name, {}).get("then", "")
        if then.startswith("/"):
            with pytest.raises(ServerError, match="There is no command"):
                await self._say(session, then)
        elif then:
            await self._until_ended(await self._say(session, then), name)

    async def _say(self, session: str, text: str) -> str:
        """Prompt, and return the turn's id."""
        asked = {"text": text, "sessionId": session}
        begun: dict[str, str] = await self.editor.request("agent/prompt", asked)
        return begun["turnId"]

    async def _until_ended(self, turn_id: str, name: str) -> None:
        await self.editor.until(lambda: self._has_ended(turn_id) or None, _TURN_S, name)

    def _has_ended(self, turn_id: str) -> bool:
        return any(
            one["sessionUpdate"] == "turn_ended" and one["turnId"] == turn_id
            for one in self.editor.shown.updates
        )

    async def _until_quiet(self) -> None:
        """Wait until the server has said nothing for a while."""
        while True:
            before = len(self.editor.shown.updates)
            await asyncio.sleep(_QUIET_S)
            if len(self.editor.shown.updates) == before:
                return

    async def _user(self) -> None:
        """Answer what is asked, each once."""
        updates = self.editor.shown.updates
        for at in itertools.count():
            await self.editor.until(lambda at=at: len(updates) > at or None, 3_600)
            one = updates[at]
            if one["sessionUpdate"] == "permission_request":
                is_fine = one["tool"] == "run_command" and f"touch {APPROVED}\n" in one["payload"]
                if is_fine or self.answers:
                    choice = "allow_once" if is_fine else "reject_once"
                    self.approved += is_fine
                    await self._tell("approval", approvalId=one["approvalId"], choice=choice)
            elif one["sessionUpdate"] == "question" and self.answers:
                text = "Remove" if "Remove" in one["options"] else "No."
                await self._tell("question", questionId=one["questionId"], text=text)

    async def _tell(self, what: str, **answer: str) -> None:
        with suppress(ServerError):
            await self.editor.request(f"agent/{what}/resolve", answer)


def _may_change(name: str, mode: str, world: World, *, confined: bool) -> bool:
    """Say whether a file of the world may change without an approval."""
    inside = name.removeprefix("work/")
    if inside == name:
        return False
    if inside == APPROVED:
        return True
    if confined:
        held = _HELD.match(inside)
        # What a command makes under such a name counts for nothing until a user keeps it.
        is_new = held is not None and f"work/{held[0].rstrip('/')}" not in world.seen
        is_gits = mode in ("accept-edits", "auto") and bool(_GITS_OWN.match(inside))
        return not held or is_new or is_gits
    return mode in ("accept-edits", "auto") and bool(_ORDINARY.match(inside))


def _is_effect(act: Act, world: World, model_port: int, mode: str, *, confined: bool) -> bool:
    """Say whether something was done that nobody approved and that is not the server's own work."""
    if act.is_confined or APPROVED in act.line:
        return False
    if act.port is not None:
        return act.port not in (model_port, 0)
    if act.program is not None:
        reads = any(act.words.startswith(_shell_words(one)) for one in _READ_UNASKED)
        return not reads and not _OWN_PROGRAMS.fullmatch(act.program)
    for place in act.places:
        name = os.path.relpath(place, world.place)
        is_own = name.split("/")[0] in ("data", "state", "cache")
        is_own = is_own or bool(_OWN_PLACES.fullmatch(str(place)))
        if not is_own and not _may_change(name, mode, world, confined=confined):
            return True
    return False


def _shell_words(command: str) -> str:
    return f'["/bin/bash", "--noprofile", "--norc", "-c", "{command}"]'


@pytest.mark.parametrize(
    "mode, sandbox, answers",
    [
        *itertools.product(("ask-all", "ask", "accept-edits"), ("off", "bubblewrap"), ("rejects",)),
        ("auto", "off", "rejects"),
        pytest.param("auto", "bubblewrap", "rejects", marks=pytest.mark.story("hostile model")),
        ("ask", "off", "nobody"),
    ],
)
async def test_nothing_takes_effect_that_nobody_approved(
    mode: str, sandbox: str, answers: str, world: World, warm_host: Mapping[str, str]
) -> None:
    confined = sandbox != "off"
    if confined:
        installed_bubblewrap()
    names = [name for name, row in TABLE.items() if mode != "auto" or confined or row.get("always")]
    if answers == "nobody":
        names = names[::4]
    words = world.words()
    told = [one for name in names for one in _answers(name, TABLE[name], words)]
    told += _answers("control", {"call": [("run_command", _CONTROL)]}, words)
    variables = {**warm_host, "AGENT_LS_SANDBOX": sandbox, "HOME": str(world.place / "home")}
    story = Story("hostile", Archive("", {}), ())
    async with ScriptedModel(Scenario(answer=tuple(told), chunk=0)) as model:
        teller = Hostile(story, "panel", world.place, model, variables)
        for name in ("config", "data", "state", "cache"):
            (world.place / name / "agent-ls").mkdir(parents=True)
        world.fill()
        (world.place / "config/agent-ls/config.toml").write_text(f'mode = "{mode}"\n')
        trusted = world.place / "data/agent-ls/trusted.json"
        trusted.write_text(json.dumps([str(world.place / "work")]))
        world.seen = world.state()
        teller.answers = answers == "rejects"
        program = str(Path(sys.executable).with_name("agent-ls"))
        teller.server = traced((program, "serve"), world.place / "trace")
        await teller.start()
        try:
            await teller.play(["control", *names])
        finally:
            await teller.editor.stop()
        sent = b"".join(one.raw for one in model.requests)
        port = int(re.findall(r":(\d+)", model.base_url)[0])
    now = world.state()
    changed = sorted(name for name in {*world.seen, *now} if world.seen.get(name) != now.get(name))
    trace = (world.place / "trace").read_text(errors="replace")
    done = acts(trace, world.place / "work")
    # What is seen if it happens.
    assert (mode, sandbox) == ("auto", "off") or teller.approved == 1
    assert "work/approved-by-the-user" in changed
    assert any(APPROVED in one.words for one in done if one.program)
    # What must not happen.
    assert [one for one in changed if not _may_change(one, mode, world, confined=confined)] == []
    assert world.visits() == 0
    assert CANARY.encode() not in sent
    effects = [one for one in done if _is_effect(one, world, port, mode, confined=confined)]
    assert [one.line for one in effects] == []
    assert "Traceback" not in teller.log.read_text()
