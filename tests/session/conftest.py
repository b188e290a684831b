"""Sessions are tested with the same shared model host as the told turns."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol

import pytest

from agent_ls.loop.ports.models import Provider
from agent_ls.providers.scripted import ScriptedModel
from agent_ls.session.sessions import Sessions
from tests.loop.conftest import model_host, model_port
from tests.support.scripted import scripted
from tests.support.turns import open_test_sessions

__all__ = ["model_host", "model_port"]


class Open(Protocol):
    """Opens the sessions of an empty folder, with a model that plays a scenario."""

    def __call__(
        self, scenario: str, *, settings_toml: str = ""
    ) -> AbstractAsyncContextManager[tuple[Sessions, ScriptedModel]]: ...


@pytest.fixture
def opened(tmp_path: Path, model_host: Provider, model_port: int) -> Open:
    @asynccontextmanager
    async def open_with(
        scenario: str, *, settings_toml: str = ""
    ) -> AsyncGenerator[tuple[Sessions, ScriptedModel]]:
        async with (
            scripted(scenario, port=model_port) as model,
            open_test_sessions(tmp_path, model_host, settings_toml=settings_toml) as sessions,
        ):
            yield sessions, model

    return open_with
