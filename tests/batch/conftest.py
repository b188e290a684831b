"""A repository, a store and a scripted model over HTTP, for batches of real runs."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent_ls.store.batch_queue import BatchQueue
from agent_ls.store.sql_store import open_store
from tests.store.conftest import place as place
from tests.store.conftest import postgres as postgres
from tests.store.conftest import store as store
from tests.support.commands import Done, ended

WRITES = """
[[answer]]
when = { contains = "Write a.txt" }
repeat = 0
usage = { input = 1000, output = 100 }
[[answer.call]]
tool = "write_file"
arguments = { path = "a.txt", content = "new\\n" }

[[answer]]
text = "Done."
repeat = 0
usage = { input = 1000, output = 100 }
"""
"""Each run costs two requests: at the prices below 0.6 cents."""
PRICES = '[provider.models."openai/scripted"]\ninput_usd = 2.0\noutput_usd = 10.0\n'
"""USD for a million tokens."""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A git repository with one commit."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "old.txt").write_text("old\n")
    (folder / ".gitignore").write_text("*.log\n")
    for words in (
        ("init", "--quiet", "-b", "main"),
        ("add", "."),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "Begin"),
    ):
        subprocess.run(("git", *words), cwd=folder, check=True)
    return folder


@pytest.fixture
def home(tmp_path: Path, warm_host: Mapping[str, str]) -> dict[str, str]:
    """The variables of a machine of its own, without its model's address."""
    write_prices(tmp_path / "home")
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "AGENT_LS_SANDBOX": "off",
        "AGENT_LS_MODEL": "openai/scripted",
        "AGENT_LS_STORE_URL": str(tmp_path / "store.db"),
        **{name: value for name, value in warm_host.items() if name.startswith("AGENT_LS_")},
    }


def write_prices(home: Path) -> None:
    """Tell the agent-ls of a home folder what the scripted model costs."""
    settings = home / ".config/agent-ls/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(PRICES)


@asynccontextmanager
async def command(
    env: Mapping[str, str], *words: str
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """Start agent-ls; it is killed with the block."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "agent_ls", *words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(env),
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def run(env: Mapping[str, str], *words: str) -> Done:
    """Run agent-ls to its end."""
    async with command(env, *words) as process:
        return await ended(process)


@asynccontextmanager
async def queue_of(env: Mapping[str, str]) -> AsyncGenerator[BatchQueue]:
    """Yield the queue in the store that these variables name."""
    store = open_store(env["AGENT_LS_STORE_URL"])
    try:
        yield BatchQueue(store)
    finally:
        await store.close()
