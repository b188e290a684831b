"""The adapter for Harbor: against its real base class, with the scripted model, without Docker."""

from __future__ import annotations

import asyncio
import json
import os
import runpy
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.batch.conftest import WRITES
from tests.support.scripted import scripted

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(
        find_spec("harbor") is None,
        reason="this machine has no Harbor, which is no dependency and needs Python 3.12",
    ),
]


class Here:
    """An environment that is this machine: what the adapter uses of Harbor's."""

    default_user = None

    def __init__(self, folder: Path, home: dict[str, str]) -> None:
        self._folder, self._home = folder, home
        self.commands: list[str] = []

    async def exec(
        self, command: str, env: dict[str, str] | None = None, **_others: Any
    ) -> SimpleNamespace:
        self.commands.append(command)
        if "/installed-agent" in command:
            return SimpleNamespace(return_code=0, stdout="", stderr="")
        process = await asyncio.create_subprocess_exec(
            *("bash", "-c", command),
            cwd=self._folder,
            env={**self._home, **(env or {})},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        return SimpleNamespace(
            return_code=process.returncode, stdout=out.decode(), stderr=err.decode()
        )


def agent(repository: Path, tmp_path: Path, **options: Any) -> Any:
    """Return the adapter, with its logs below ``tmp_path``."""
    made = runpy.run_path(str(repository / "deploy/harbor_agent.py"))["AgentLs"]
    logs = tmp_path / "logs"
    logs.mkdir(exist_ok=True)
    there = type("There", (made,), {"logs_place": logs})
    return there(logs_dir=logs, model_name="openai/scripted", skip_install=True, **options)


async def test_a_task_of_harbor_is_run_and_reported(
    repository: Path,
    tmp_path: Path,
    shop: Path,
    home: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from harbor.models.agent.context import AgentContext

    home["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    there = Here(shop, home)
    adapter, context = agent(repository, tmp_path), AgentContext()
    async with scripted(WRITES, is_strict=False) as model:
        monkeypatch.setenv("AGENT_LS_API_BASE", model.base_url)
        await adapter.setup(there)
        await adapter.run('Write a.txt, it\'s "odd" $HOME\n', there, context)
    adapter.populate_context_post_run(context)
    assert (shop / "a.txt").read_text() == "new\n"
    assert (context.n_input_tokens, context.n_output_tokens) == (2_000, 200)
    assert context.cost_usd == pytest.approx(0.006)
    assert context.metadata is not None
    assert context.metadata["stop_reason"] == "completed"
    said = json.dumps([request.body for request in model.requests])
    assert "it's" in said
    assert "$HOME" in said
    assert adapter.version()


async def test_the_store_stays_here_and_a_wheel_is_asked_for(
    repository: Path,
    tmp_path: Path,
    shop: Path,
    home: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AGENT_LS_STORE_URL", "postgresql://agent:secret@db/agent")
    monkeypatch.setenv("AGENT_LS_LOG_LEVEL", "debug")
    adapter = agent(repository, tmp_path)
    keys = adapter._keys()
    assert keys["AGENT_LS_LOG_LEVEL"] == "debug"
    assert "AGENT_LS_STORE_URL" not in keys
    with pytest.raises(ValueError, match="make dist"):
        await adapter.install(Here(shop, home))


async def test_what_keeps_a_run_from_beginning_is_an_error_of_the_trial(
    repository: Path, tmp_path: Path, shop: Path, home: dict[str, str]
) -> None:
    from harbor.agents.installed.base import NonZeroAgentExitCodeError
    from harbor.models.agent.context import AgentContext

    home["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    adapter = agent(repository, tmp_path, settings="no.such.setting=1")
    with pytest.raises(NonZeroAgentExitCodeError, match=r"no\.such"):
        await adapter.run("Do it.", Here(shop, home), AgentContext())
