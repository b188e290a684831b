"""The model host that all told turns share: its start takes seconds."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from agent_ls.providers.model_host import ModelHost, ModelHostOptions
from agent_ls.providers.prices import ModelCard
from agent_ls.session.sessions import Sessions
from tests.support.scripted import scripted
from tests.support.turns import open_test_sessions

WINDOWS = (2_048, 4_096, 8_192, 16_384, 32_768)
"""Of the models ``openai/window-N``."""


@pytest.fixture(scope="session")
def model_port() -> int:
    """A free port on which one scripted model after the other listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def model_host(model_port: int) -> AsyncIterator[ModelHost]:
    """A started model host that sends to that port."""
    host = ModelHost(
        ModelHostOptions(
            api_base=f"http://127.0.0.1:{model_port}/v1",
            models={
                **{f"openai/window-{one}": ModelCard(window_tokens=one) for one in WINDOWS},
                "openai/blind": ModelCard(window_tokens=200_000, images=False),
                "openai/priced": ModelCard(window_tokens=200_000, input_usd=10.0, output_usd=100.0),
            },
        ),
        env={},
    )
    await host.start()
    yield host
    await host.close()


@dataclass(frozen=True)
class Stage:
    """Where turns are played: a model host, and the port that it sends to."""

    host: ModelHost
    port: int

    @asynccontextmanager
    async def opened(
        self, folder: Path, scenario: str, *, settings_toml: str = "", is_strict: bool = True
    ) -> AsyncIterator[Sessions]:
        """Open sessions on a folder whose model plays the scenario."""
        async with (
            scripted(scenario, port=self.port, is_strict=is_strict),
            open_test_sessions(folder, self.host, settings_toml=settings_toml) as sessions,
        ):
            yield sessions


@pytest.fixture(scope="session")
def stage(model_host: ModelHost, model_port: int) -> Stage:
    return Stage(model_host, model_port)
