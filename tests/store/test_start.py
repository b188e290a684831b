"""What opening a store costs the server's start."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import asyncio, json, sys, threading
from agent_ls.store.sql_store import open_store

seen = {}
def look(name):
    seen[name] = [part for part in ("sqlalchemy", "alembic") if part in sys.modules]

async def main(path):
    store = open_store(path)
    look("made")
    seen["threads"] = threading.active_count()
    seen["files"] = __import__("os").path.exists(path)
    await store.ready()
    look("ready")
    await store.close()
    await store.close()

asyncio.run(main(sys.argv[1]))
print(json.dumps(seen))
"""


def check(path: Path, repository: Path, expected: dict[str, object]) -> None:
    """Assert what a fresh process has imported and made at each point."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path)],
        capture_output=True, text=True, timeout=60, cwd=repository, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout) == expected


def test_making_a_store_imports_opens_and_starts_nothing(tmp_path: Path, repository: Path) -> None:
    made = {"made": [], "threads": 1, "files": False}
    check(tmp_path / "store.db", repository, {**made, "ready": ["sqlalchemy"]})


async def test_a_store_that_was_never_used_closes_at_once(tmp_path: Path) -> None:
    from agent_ls.store.sql_store import open_store

    store = open_store(tmp_path / "store.db")
    await store.close()
    assert not (tmp_path / "store.db").exists()
