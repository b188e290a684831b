"""The model host that all told turns share: its start takes seconds."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from agent_ls.providers.model_host import ModelHost, ModelHostOptions
from agent_ls.providers.prices import ModelCard

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
                "openai/priced": ModelCard(window_tokens=200_000, input_usd=10.0, output_usd=100.0),
            },
        ),
        env={},
    )
    await host.start()
    yield host
    await host.close()
