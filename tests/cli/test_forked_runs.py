"""Commands of ``agent-ls`` in forks of one process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil
import pytest

from agent_ls import __version__
from agent_ls.processes.launching import Program, start

pytestmark = pytest.mark.heavy
_MODULE = "agent_ls.cli.forked_runs"


async def _started(
    folder: Path, words: Sequence[str], env: Mapping[str, str], stdin: int | None = None
) -> tuple[Program, Path]:
    """Start a command; return it and the file of what it prints."""
    said = folder / f"said-{len(list(folder.iterdir()))}"
    descriptors = [
        os.open(os.devnull, os.O_RDONLY) if stdin is None else stdin,
        os.open(said, os.O_WRONLY | os.O_CREAT, 0o600),
    ]
    try:
        given = [*descriptors, descriptors[1]]
        return await start(words, cwd=folder, env=env, descriptors=given, module=_MODULE), said
    finally:
        for one in descriptors:
            os.close(one)


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "AGENT_LS_SANDBOX": "off"}


async def test_each_has_its_own_words_folder_variables_and_code(
    tmp_path: Path, env: dict[str, str]
) -> None:
    version, said = await _started(tmp_path, ["--version"], env)
    assert (await version.wait(), said.read_text()) == (0, f"agent-ls {__version__}\n")
    folders = [tmp_path / name for name in ("one", "two")]
    explain = ["explain", "write", "a.txt", "--json"]
    for one in folders:
        one.mkdir()
    (folders[1] / "a.txt").symlink_to("/etc/hosts")
    both = [
        await _started(folders[0], explain, {**env, "AGENT_LS_MODE": "auto"}),
        await _started(folders[1], explain, env),
    ]
    assert [await run.wait() for run, _ in both] == [0, 0]
    found = [json.loads(said.read_text()) for _, said in both]
    assert [(one["mode"], one["decision"]) for one in found] == [("auto", "allow"), ("ask", "deny")]
    wrong, said = await _started(tmp_path, ["explain", "--bogus"], env)
    assert await wrong.wait() == 64
    assert "unrecognized arguments" in said.read_text()


async def test_no_run_survives_what_has_started_it(tmp_path: Path, env: dict[str, str]) -> None:
    reads, writes = os.pipe()
    try:
        run, _ = await _started(tmp_path, ["run", "-", "--model", "openai/x"], env, stdin=reads)
        process = psutil.Process(run.pid)
        server = process.parent()
        assert server is not None
        assert os.getpgid(run.pid) == run.pid
        server.kill()
        _, left = await asyncio.to_thread(psutil.wait_procs, [process], timeout=20)
        assert not left
        assert await run.wait() == -signal.SIGKILL
    finally:
        os.close(writes)
    # The next one begins with another server.
    again, said = await _started(tmp_path, ["--version"], env)
    assert (await again.wait(), said.read_text()) == (0, f"agent-ls {__version__}\n")


async def test_no_key_can_be_read_from_outside(
    tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_LS_API_KEY", "k1e2y3")
    given = {**env, "AGENT_LS_API_KEY": "k1e2y3"}
    reads, writes = os.pipe()
    try:
        run, _ = await _started(tmp_path, ["run", "-", "--model", "openai/x"], given, reads)
        server = psutil.Process(run.pid).ppid()
        for pid in (server, run.pid):
            variables = Path(f"/proc/{pid}/environ").read_bytes()
            assert b"AGENT_LS_API_KEY=" in variables
            assert b"k1e2y3" not in variables
        await run.end()
    finally:
        os.close(writes)


async def test_a_start_that_is_cancelled_leaves_nothing(
    tmp_path: Path, env: dict[str, str]
) -> None:
    reads, writes = os.pipe()
    try:
        first, _ = await _started(tmp_path, ["run", "-", "--model", "openai/x"], env, os.dup(reads))
        server = psutil.Process(psutil.Process(first.pid).ppid())
        await first.end()
        for number in range(30):
            words = ["run", "-", "--model", "openai/x"]
            starting = asyncio.create_task(_started(tmp_path, words, env, os.dup(reads)))
            await asyncio.sleep(number / 3_000)
            starting.cancel()
            async with asyncio.timeout(20):
                try:
                    run, _ = await starting
                except asyncio.CancelledError:
                    continue
                await run.end()
        _, left = await asyncio.to_thread(psutil.wait_procs, server.children(), timeout=20)
        assert not left
    finally:
        os.close(reads)
        os.close(writes)
