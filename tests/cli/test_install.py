"""One command installs the wheel on a bare Python of each version, and what it installed works."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent_ls.providers.scripted import ScriptedModel

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(900)]

_ROOT = Path(__file__).parents[2]
_SCENARIO = '[[answer]]\ntext = "Hello from a script."\n'


def _pythons() -> list[str]:
    found = subprocess.run(
        ["scripts/pythons.sh"], cwd=_ROOT, capture_output=True, text=True, check=True
    )
    return found.stdout.split()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=_ROOT, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return path


def _uv(*words: str, home: Path) -> None:
    # The downloads of uv are shared with the set-up of this checkout; nothing else is.
    variables = {
        **os.environ,
        "UV_TOOL_DIR": str(home / "tools"),
        "UV_TOOL_BIN_DIR": str(home / "bin"),
    }
    done = subprocess.run(
        [str(_ROOT / "scripts/uv.sh"), *words],
        capture_output=True, text=True, env=variables, cwd=home,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


async def check(program: Path, home: Path) -> None:
    """Assert that an installed program answers a prompt."""
    async with ScriptedModel(_SCENARIO) as model:
        variables = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "AGENT_LS_API_BASE": model.base_url,
            "AGENT_LS_MODEL": "openai/scripted",
        }
        done = await asyncio.to_thread(
            subprocess.run, [str(program), "run", "--quiet", "Hi"],
            capture_output=True, text=True, cwd=home, env=variables,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Hello from a script." in done.stdout


@pytest.mark.parametrize("python", _pythons())
async def test_uv_tool_install(python: str, wheel: Path, tmp_path: Path) -> None:
    _uv("tool", "install", "--python", python, str(wheel), home=tmp_path)
    await check(tmp_path / "bin" / "agent-ls", tmp_path)
