"""A process that is killed at any moment loses nothing that it was told is stored."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from pathlib import Path

import pytest

from agent_ls.store.sql_store import open_store
from tests.store.stories import TURN, Journal

# Prints the number of each event once it is acknowledged; goes on until it is killed.
WRITER = """
import asyncio, sys
from agent_ls.domain.events import is_durable
from agent_ls.store.sql_store import open_store
from tests.store.stories import TURN, Journal

async def main(path, session_id):
    store = open_store(path)
    journal = Journal(session_id)
    while True:
        for event in TURN:
            stored = journal.next(event)
            await store.append([stored], durable=is_durable(event))
            if is_durable(event):
                print(stored.seq, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


def check(path: Path, kills: int, repository: Path) -> None:
    """Kill a writer ``kills`` times at random; assert what must be there after each."""
    chance = random.Random(kills)
    for number in range(kills):
        session_id = f"ses_{number}"
        acknowledged = write_until_killed(path, session_id, chance.randrange(1, 200), repository)
        asyncio.run(look(path, session_id, acknowledged))


def write_until_killed(path: Path, session_id: str, lines: int, repository: Path) -> int:
    """Return the number of the last event that the writer knew to be stored."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), session_id],
        stdout=subprocess.PIPE, cwd=repository,
    ) as writer:  # fmt: skip
        assert writer.stdout is not None
        said = [writer.stdout.readline() for _ in range(lines)]
        # The writer is ahead of this reader, so the kill falls anywhere in its work.
        writer.kill()
        said += writer.stdout.readlines()
    return int([line for line in said if line.endswith(b"\n")][-1])


async def look(path: Path, session_id: str, acknowledged: int) -> None:
    store = open_store(path)
    loaded = await store.load(session_id)
    journal = Journal(session_id)
    turns = len(loaded) // len(TURN) + 1
    written = [journal.next(event) for _ in range(turns) for event in TURN]
    assert len(loaded) >= acknowledged
    assert loaded == written[: len(loaded)]
    (row,) = [row for row in await store.sessions() if row.session_id == session_id]
    assert row.updated_ms == loaded[-1].at_ms
    await store.close()


@pytest.mark.heavy
def test_five_kills_lose_nothing(tmp_path: Path, repository: Path) -> None:
    check(tmp_path / "store.db", 5, repository)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_two_hundred_kills_lose_nothing(tmp_path: Path, repository: Path) -> None:
    check(tmp_path / "store.db", 200, repository)
