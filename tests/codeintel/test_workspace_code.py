"""Code intelligence over a real workspace and a real worker process."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncGenerator
from pathlib import Path

import psutil
import pytest

from agent_ls.codeintel.workspace_code import WorkspaceCode
from agent_ls.domain.errors import ToolError
from agent_ls.loop.ports.workspace import Root
from agent_ls.workspace.disk import DiskWorkspace

pytestmark = pytest.mark.heavy

_LARGE = "".join(f"def f{n}(a, b):\n    return [a, b, {n}]\n\n\n" for n in range(20_000))
"""About half a second of parsing."""


@pytest.fixture
async def code(tmp_path: Path) -> AsyncGenerator[WorkspaceCode]:
    root = tmp_path.resolve() / "root"
    root.mkdir()
    made = WorkspaceCode(
        DiskWorkspace([Root("root", root, is_trusted=True)]), tmp_path / "cache" / "tags"
    )
    yield made
    await made.close()


async def check(code: WorkspaceCode, text: str) -> int:
    """Return how many symbols a text has."""
    found = await code.symbols("a.py", text)
    assert found is not None
    return len(found)


async def test_the_loop_goes_on_while_a_large_text_is_parsed(code: WorkspaceCode) -> None:
    # The process is there already: starting it is the launcher's business.
    await check(code, _LARGE[:20_000])
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.001)
            beats += 1

    beating = asyncio.ensure_future(beat())
    assert await check(code, _LARGE) == 20_000
    faults = await code.faults("a.py", _LARGE, _LARGE + "x = = 1\n")
    beating.cancel()
    assert [one.line for one in faults] == [80_001]
    # Parsed here, by the loop or by a thread that holds the lock, there would be next to none.
    assert beats > 50


async def test_small_texts_need_no_process(code: WorkspaceCode) -> None:
    assert await check(code, "def f(): ...\n") == 1
    assert [one.line for one in await code.faults("a.py", "", "x = = 1")] == [1]
    assert await code.symbols("a.txt", "x") is None
    assert await code.faults("a.txt", "", "x") == ()
    assert code.worker_pid is None


@pytest.mark.parametrize("size", [1, 400], ids=["here", "by-the-worker"])
async def test_a_header_is_in_the_language_that_its_text_shows(
    code: WorkspaceCode, size: int
) -> None:
    text = "struct A {\n  bool f() const { return a; }\n  int a;\n};\n" * size
    assert await code.symbols("a.h", text) == await code.symbols("a.hpp", text)
    assert await code.symbols("a.h", text) != await code.symbols("a.c", text)
    assert not await code.faults("a.h", "", text)
    assert await code.faults("a.c", "", text)
    assert (code.worker_pid is None) == (size == 1)


@pytest.mark.parametrize("asked", ["symbols", "faults"])
async def test_small_texts_that_are_nested_deeply_are_for_the_worker(
    code: WorkspaceCode, asked: str
) -> None:
    deep = '{"a":' * 1_300 + "1" + "}" * 1_300
    if asked == "symbols":
        assert await code.symbols("a.json", deep)
    else:
        assert not await code.faults("a.json", "", deep)
    assert code.worker_pid is not None


async def test_a_worker_that_was_killed_is_started_again(code: WorkspaceCode) -> None:
    await check(code, _LARGE[:20_000])
    first = code.worker_pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    assert await check(code, _LARGE[:40_000]) > 0
    assert code.worker_pid not in (None, first)


async def test_a_caller_that_gives_up_leaves_the_pipe_in_order(code: WorkspaceCode) -> None:
    await check(code, _LARGE[:20_000])
    asked = asyncio.ensure_future(code.symbols("a.py", _LARGE))
    await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert await check(code, "# Other.\n" + _LARGE[:20_000]) > 0


async def test_the_worker_ends_with_whoever_started_it(code: WorkspaceCode) -> None:
    await check(code, _LARGE[:20_000])
    pid = code.worker_pid
    assert pid is not None
    await code.close()
    assert not psutil.pid_exists(pid)
    with pytest.raises(ToolError, match="closing"):
        await check(code, _LARGE[:20_001])


async def test_many_questions_at_once_all_have_their_own_answers(code: WorkspaceCode) -> None:
    blocks = _LARGE.split("def ")[1:]
    texts = ["".join(f"def {one}" for one in blocks[: 250 + 30 * n]) for n in range(5)]
    counts = await asyncio.gather(*(check(code, text) for text in texts))
    assert counts == [250, 280, 310, 340, 370]


async def test_names_in_several_folders_are_told_apart(tmp_path: Path) -> None:
    roots: list[Root] = []
    for name in ("one", "two"):
        folder = tmp_path.resolve() / name
        folder.mkdir()
        (folder / "a.py").write_text(f"def made_by_{name}(): ...\n")
        roots.append(Root(name, folder, is_trusted=True))
    code = WorkspaceCode(DiskWorkspace(roots), None)
    try:
        found = await code.find("made_by", 10)
        assert [(one.path, one.qualified) for one in found] == [
            ("one/a.py", "made_by_one"),
            ("two/a.py", "made_by_two"),
        ]
        uses = await code.references("made_by_two", "two", 10)
        assert [one.path for one in uses.found] == ["two/a.py"]
        shutil.rmtree(roots[0].path)
        uses = await code.references("made_by_two", ".", 10)
        assert [one.path for one in uses.found] == ["two/a.py"]
    finally:
        await code.close()
