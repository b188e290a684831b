"""The two kinds of store that every contract is held by."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from pathlib import Path

import pytest

from agent_ls.store.sql_store import SqlStore, open_store
from tests.store.postgres import Postgres, PostgresMissing, running_postgres

NewPlace = Callable[[], str]


@pytest.fixture(scope="session")
def postgres() -> Generator[Postgres]:
    """A server for all tests of this process."""
    try:
        with running_postgres() as server:
            yield server
    except PostgresMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.heavy)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an empty store can be."""
    if request.param == "sqlite":
        return str(tmp_path / "data" / "store.db")
    return request.getfixturevalue("postgres").new_database()


@pytest.fixture
async def store(place: str) -> AsyncGenerator[SqlStore]:
    opened = open_store(place)
    yield opened
    await opened.close()
