"""A local model in the lines of docs/models.md, typed at a shell."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.test_run import folder, started
from tests.support.local_server import serving

__all__ = ["folder"]
pytestmark = pytest.mark.heavy

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
CHUNKS = (
    {"message": {"role": "assistant", "content": "A folder."}, "done": False},
    {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"},
)


def programs(tmp_path: Path) -> Path:
    """Return a folder with our program and an ``ollama`` that pulls nothing."""
    place = tmp_path / "bin"
    place.mkdir()
    (place / "agent-ls").write_text(f'#!/bin/sh\nexec {sys.executable} -m agent_ls "$@"\n')
    (place / "ollama").write_text("#!/bin/sh\n")
    for one in place.iterdir():
        one.chmod(0o755)
    return place


async def test_the_first_three_lines_of_the_page_work(
    folder: Path, tmp_path: Path, warm_host: Mapping[str, str]
) -> None:
    lines = PAGE.read_text("utf-8").partition("```sh\n")[2].partition("```")[0]
    assert len(lines.splitlines()) == 3
    common = {"model": "qwen3", "created_at": "2026-01-01T00:00:00Z", "eval_count": 3}
    body = "".join(json.dumps({**common, **one, "prompt_eval_count": 9}) + "\n" for one in CHUNKS)
    async with serving({"/api/chat": (200, body)}) as server:
        process = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-e", "-c", lines),
            cwd=folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={
                **warm_host,
                "PATH": f"{programs(tmp_path)}:{os.environ['PATH']}",
                "HOME": str(tmp_path / "home"),
                "AGENT_LS_SANDBOX": "off",
                # Where a server of the test may listen.
                "OLLAMA_HOST": f"127.0.0.1:{server.port}",
            },
        )
        out, err = await process.communicate()
    assert (process.returncode, out) == (0, b"A folder.\n"), err.decode()
    assert ("POST", "/api/chat") in server.asked


async def test_an_unknown_variable_is_told_and_ends_nothing(folder: Path) -> None:
    variables = {"AGENT_LS_API_BASE": "127.0.0.1:9", "AGENT_LS_MODLE": "openai/x"}
    async with started(folder, "openai/x", variables, "Hello?") as process:
        _, err = await process.communicate()
    assert b"AGENT_LS_MODLE is not a setting" in err
    assert b"did you mean AGENT_LS_MODEL?" in err
    assert b"Cannot reach http://127.0.0.1:9" in err
