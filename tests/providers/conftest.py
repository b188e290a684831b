"""A running model host, shared by a module's tests because litellm takes seconds to import."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio

from agent_ls.domain.messages import Message, UserMessage
from agent_ls.domain.model_io import ModelEvent, ModelRequest, ToolSpec
from agent_ls.providers.credentials import StoredCredentials
from agent_ls.providers.model_host import ModelHost, ModelHostOptions

READ_FILE = ToolSpec(
    name="read_file",
    description="Read a file.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}},
)


class Asking:
    """A model host whose endpoint a test chooses, through the variables a user would set."""

    def __init__(self, config_dir: Path, options: ModelHostOptions | None = None) -> None:
        self.config_dir = config_dir
        self.env = {
            name: value for name in ("PATH", "HOME") if (value := os.environ.get(name)) is not None
        }
        self.host = ModelHost(
            options, credentials=StoredCredentials(config_dir, self.env), env=self.env
        )

    def use(self, base_url: str) -> None:
        """Send what is asked from now on there, in every dialect."""
        root = base_url.removesuffix("/v1")
        self.env["OPENAI_BASE_URL"] = base_url
        self.env["LM_STUDIO_API_BASE"] = base_url
        self.env["FIREWORKS_AI_API_BASE"] = base_url
        for name in ("ANTHROPIC_API_BASE", "GEMINI_API_BASE", "OLLAMA_API_BASE"):
            self.env[name] = root

    async def ask(self, request: ModelRequest) -> list[ModelEvent]:
        """Return everything that comes back."""
        return [event async for event in self.host.stream(request)]


def request(
    *messages: Message,
    model: str = "openai/scripted",
    system: str = "Be brief.",
    tools: Sequence[ToolSpec] = (READ_FILE,),
    reasoning_effort: str | None = None,
) -> ModelRequest:
    """A request like the loop's."""
    return ModelRequest(
        model=model,
        system=system,
        messages=messages or (UserMessage(text="Go."),),
        tools=tuple(tools),
        reasoning_effort=reasoning_effort,
    )


@pytest.fixture(scope="module")
def config_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("config")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def asking(config_dir: Path) -> AsyncIterator[Asking]:
    """A host that is loaded, with short time limits."""
    asking = Asking(config_dir, ModelHostOptions(connect_s=2, first_chunk_s=3, idle_s=0.5))
    await asking.host.start()
    yield asking
    await asking.host.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def patient(config_dir: Path) -> AsyncIterator[Asking]:
    """A host that waits: litellm loads some dialects with their first request, which takes time."""
    patient = Asking(config_dir, ModelHostOptions(first_chunk_s=60))
    await patient.host.start()
    yield patient
    await patient.host.close()
