"""Calls of one answer run beside each other, up to a number, and are told in the model's order."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path

import pytest

from agent_ls.assembly import open_sessions
from agent_ls.domain.calls import Effect
from agent_ls.domain.edits import TextFile
from agent_ls.domain.events import Ephemeral, StoredEvent, ToolCallFinished, ToolCallStarted
from agent_ls.loop.ports.workspace import Root
from agent_ls.settings import load_settings
from agent_ls.workspace.disk import DiskWorkspace
from tests.loop.conftest import Stage
from tests.support.scripted import scripted
from tests.support.turns import run_turn_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

_LIMIT_S = 20.0
_NAMES = ("a", "b", "c", "d", "e", "f")
_READS = "".join(
    f'[[answer.call]]\ntool = "read_file"\narguments = {{ path = "{one}.txt" }}\n' for one in _NAMES
)
_SCENARIO = f'[[answer]]\n{_READS}\n[[answer]]\ntext = "Read."\n'


class Gathering(DiskWorkspace):
    """Lets the first reads begin once as many are there as may be, the last of them first."""

    def __init__(self, root: Root, together: int) -> None:
        super().__init__([root])
        self.together = together
        self.waiting: list[asyncio.Event] = []
        self.running = self.most = self.reads = 0
        self.has_met = False

    async def read(self, path: str) -> TextFile:
        if Path(path).stem not in _NAMES:
            return await super().read(path)
        self.reads += 1
        self.running += 1
        self.most = max(self.most, self.running)
        go = asyncio.Event()
        if self.has_met:
            go.set()
        else:
            self.waiting.append(go)
        if len(self.waiting) == self.together:
            self.has_met = True
            self.waiting.pop().set()
        async with asyncio.timeout(_LIMIT_S):
            await go.wait()
        try:
            return await super().read(path)
        finally:
            self.running -= 1
            if self.waiting:
                self.waiting.pop().set()


async def check(folder: Path, stage: Stage, together: int, *, is_set: bool = True) -> None:
    """Let six files be read; ``together`` have to meet, and no more may."""
    for one in _NAMES:
        (folder / f"{one}.txt").write_text(f"this is {one}\n")
    values = {
        "model": "openai/scripted",
        "store_url": str(folder.parent / "parallel.db"),
        "loop": {"early_reads": False, **({"max_parallel_calls": together} if is_set else {})},
    }
    loaded = load_settings(command_line=values, environment={})
    workspace = Gathering(Root("root", folder, is_trusted=True), together)
    async with scripted(_SCENARIO, port=stage.port) as model:
        sessions = await open_sessions(
            loaded.settings, workspace, is_attended=True, provider=stage.host
        )
        try:
            _, events = await run_turn_of(await sessions.create(), "Read them.")
        finally:
            await sessions.close()
        messages = model.requests[-1].messages
    assert workspace.most == together
    assert workspace.reads == len(_NAMES), "no file was read twice"
    results = [one.result.text for one in events if isinstance(one, ToolCallFinished)]
    assert len(results) == len(_NAMES)
    if together > 1:
        assert f"this is {_NAMES[together - 1]}" in results[0], "the last one ended first"
    told = [str(one["content"]) for one in messages if one["role"] == "tool"]
    assert [f"this is {name}" in text for name, text in zip(_NAMES, told, strict=True)] == [
        True
    ] * 6


@pytest.mark.parametrize("together", [1, 2, 4, 6])
async def test_as_many_calls_run_at_once_as_may_and_are_told_in_the_models_order(
    together: int, tmp_path: Path, stage: Stage
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    await check(folder, stage, together)


async def test_four_calls_run_at_once_unless_another_number_is_set(
    tmp_path: Path, stage: Stage
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    await check(folder, stage, 4, is_set=False)


class Held(DiskWorkspace):
    """Reads ``held.txt`` once a command has ended and another read has begun, or after a moment."""

    def __init__(self, root: Root, moment_s: float) -> None:
        super().__init__([root])
        self.moment_s = moment_s
        self.has_ended, self.has_begun = asyncio.Event(), asyncio.Event()

    async def read(self, path: str) -> TextFile:
        if Path(path).name == "held.txt":
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.moment_s):
                    await self.has_ended.wait()
                    await self.has_begun.wait()
        elif Path(path).name == "other.txt":
            self.has_begun.set()
        return await super().read(path)

    def on_event(self, stored: StoredEvent) -> None:
        event = stored.event
        if isinstance(event, ToolCallFinished) and event.effect is Effect.EXECUTE:
            self.has_ended.set()

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        pass


async def order_of(
    command: str, folder: Path, stage: Stage, moment_s: float, **settings: object
) -> tuple[list[str], list[str]]:
    """Let a read that is held up, a command and another read be called; return what began and
    ended in which order, and what the model was told in which order."""
    for name in ("held", "other"):
        (folder / f"{name}.txt").write_text(f"this is {name}\n")
    run = json.dumps(command)
    scenario = (
        '[[answer]]\n[[answer.call]]\ntool = "read_file"\narguments = { path = "held.txt" }\n'
        f'[[answer.call]]\ntool = "run_command"\narguments = {{ command = {run} }}\n'
        '[[answer.call]]\ntool = "read_file"\narguments = { path = "other.txt" }\n'
        '[[answer]]\ntext = "Done."\n'
    )
    values = {
        "model": "openai/scripted",
        "store_url": str(folder.parent / "looks.db"),
        "mode": "auto",
        "loop": {"early_reads": False},
        **settings,
    }
    loaded = load_settings(command_line=values, environment={})
    assert loaded.problems == ()
    workspace = Held(Root("root", folder, is_trusted=True), moment_s)
    async with scripted(scenario, port=stage.port) as model:
        sessions = await open_sessions(
            loaded.settings, workspace, is_attended=True, provider=stage.host
        )
        try:
            session = await sessions.create()
            session.follow(workspace)
            _, events = await run_turn_of(session, "Look.")
        finally:
            await sessions.close()
        told = [str(one["content"]) for one in model.requests[-1].messages if one["role"] == "tool"]
    names: dict[str, str] = {}
    happened: list[str] = []
    for event in events:
        if isinstance(event, ToolCallStarted):
            names[event.call_id] = event.paths[0] if event.tool == "read_file" else "command"
            happened.append(f"{names[event.call_id]} begins")
        elif isinstance(event, ToolCallFinished):
            happened.append(f"{names[event.result.call_id]} ends")
    return happened, told


@pytest.mark.parametrize("mode", ["auto", "ask", "plan"])
async def test_a_command_that_only_looks_runs_beside_reads(
    mode: str, tmp_path: Path, stage: Stage
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    happened, told = await order_of("cat other.txt", folder, stage, _LIMIT_S, mode=mode)
    assert happened.index("command ends") < happened.index("held.txt ends")
    assert happened.index("other.txt begins") < happened.index("held.txt ends")
    assert ["this is held" in told[0], "Exit code 0" in told[1], "this is other" in told[2]] == [
        True
    ] * 3


_WATCHED = {"before_tool": [{"name": "watched", "command": "true", "tools": ["run_command"]}]}


@pytest.mark.parametrize(
    ("command", "settings"),
    [
        pytest.param("touch made.txt", {}, id="a-command-that-does-more"),
        pytest.param(
            "cat other.txt", {"loop": {"parallel": False}}, id="where-nothing-is-parallel"
        ),
        pytest.param("cat other.txt", {"hooks": _WATCHED}, id="one-that-a-hook-may-change"),
    ],
)
async def test_any_other_command_waits_for_the_reads_before_it(
    command: str, settings: dict[str, object], tmp_path: Path, stage: Stage
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    happened, _ = await order_of(command, folder, stage, 0.3, **settings)
    assert happened == [
        "held.txt begins", "held.txt ends", "command begins", "command ends",
        "other.txt begins", "other.txt ends",
    ]  # fmt: skip
