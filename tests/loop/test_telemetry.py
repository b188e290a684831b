"""Spans of a turn that really happened go where the user's settings say, and nowhere else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from agent_ls.settings import load_settings
from tests.loop.conftest import Stage
from tests.support.turns import run_turn_of

SCENARIO = """
[[answer]]
[[answer.call]]
tool = "read_file"
arguments = { path = "a.txt" }

[[answer]]
text = "It says hello."
"""


class Collector(BaseHTTPRequestHandler):
    """Takes what is sent to it."""

    taken: ClassVar[list[bytes]] = []

    def do_POST(self) -> None:
        self.taken.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def collector() -> Iterator[str]:
    Collector.taken.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


async def check(folder: Path, stage: Stage, settings: str, scenario: str = SCENARIO) -> bytes:
    """Run a turn under these settings; return all that the collector was sent."""
    folder.mkdir()
    (folder / "a.txt").write_text("hello")
    with collector() as endpoint:
        async with stage.opened(
            folder, scenario, settings_toml=settings.replace("COLLECTOR", endpoint)
        ) as sessions:
            await run_turn_of(await sessions.create(), "What does a.txt say?")
    return b"".join(Collector.taken)


@pytest.mark.asyncio(loop_scope="session")
async def test_a_turns_spans_reach_the_endpoint_without_its_texts(
    tmp_path: Path, stage: Stage
) -> None:
    settings = 'telemetry.endpoint = "COLLECTOR"\n'
    sent = await check(tmp_path / "project", stage, settings)
    for name in (b"invoke_agent agent-ls", b"step 2", b"execute_tool read_file", b"gen_ai.usage"):
        assert name in sent
    for text in (b"What does", b"hello", b"a.txt"):
        assert text not in sent


@pytest.mark.asyncio(loop_scope="session")
async def test_nothing_is_sent_without_an_endpoint(tmp_path: Path, stage: Stage) -> None:
    assert await check(tmp_path / "project", stage, "") == b""


def test_a_folder_cannot_say_where_spans_go(tmp_path: Path) -> None:
    (tmp_path / ".agent-ls").mkdir()
    place = tmp_path / ".agent-ls" / "config.toml"
    place.write_text('telemetry.endpoint = "http://evil"\n')
    loaded = load_settings(folders=[tmp_path], environment={})
    assert loaded.settings.telemetry.endpoint == ""
    (problem,) = loaded.problems
    assert "telemetry.endpoint was ignored" in problem
