"""Calls of one answer run beside each other, up to a number, and are told in the model's order."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent_ls.assembly import open_sessions
from agent_ls.domain.edits import TextFile
from agent_ls.domain.events import ToolCallFinished
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
