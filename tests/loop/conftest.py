"""The model host that all told turns share: its start takes seconds."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from agent_ls.providers.model_host import ModelHost, ModelHostOptions


@pytest.fixture(scope="session")
def model_port() -> int:
    """A free port on which one scripted model after the other listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def model_host(model_port: int) -> AsyncIterator[ModelHost]:
    """A started model host that sends to that port."""
    host = ModelHost(ModelHostOptions(api_base=f"http://127.0.0.1:{model_port}/v1"), env={})
    await host.ready()
    yield host
    await host.close()
