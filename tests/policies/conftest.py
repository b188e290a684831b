"""The real ports that policies are given: a folder on disk and a store beside it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from agent_ls.loop.ports.workspace import Root
from agent_ls.store.sql_store import SqlStore, open_store
from agent_ls.workspace.disk import DiskWorkspace
from tests.policies.happened import Happened


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The workspace's folder."""
    folder = tmp_path / "proj"
    folder.mkdir()
    return folder.resolve()


@pytest.fixture
def workspace(root: Path) -> DiskWorkspace:
    return DiskWorkspace([Root(name="proj", path=root, is_trusted=True)])


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[SqlStore]:
    opened = open_store(tmp_path / "store.db")
    yield opened
    await opened.close()


@pytest.fixture
def happened(root: Path, workspace: DiskWorkspace, store: SqlStore) -> Happened:
    """A turn over two small files."""
    for name in ("a.py", "b.py"):
        (root / name).write_text("x = 1\n")
    return Happened(root, workspace, store)
