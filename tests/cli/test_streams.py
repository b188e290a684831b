"""Standard streams that are closed, full or no longer read: no traceback, and a fitting exit code.

The store must not become what a closed stream's number leads to, so its files are looked at.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.cli.test_run import folder

__all__ = ["folder"]
pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(os.name != "posix", reason="a shell closes the streams"),
]


async def ended(folder: Path, line: str) -> tuple[int, str, str]:
    """Run a line in which ``agent-ls`` is our program; nobody listens where its model is."""
    process = await asyncio.create_subprocess_exec(
        *("/bin/bash", "-o", "pipefail", "-c", line.replace("agent-ls", '"$PROGRAM" -m agent_ls')),
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder.parent / "home"),
            "PROGRAM": sys.executable,
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "AGENT_LS_SANDBOX": "off",
            "AGENT_LS_MODEL": "openai/x",
            "AGENT_LS_API_BASE": "http://127.0.0.1:9/v1",
        },
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


LINES = [
    ("agent-ls run hello <&-", 1),
    ("agent-ls run hello >&-", 1),
    ("agent-ls run hello 2>&-", 1),
    ("agent-ls run hello <&- >&- 2>&-", 1),
    ("agent-ls run - <&-", 64),
    ("agent-ls run hello | head -c0", 1),
    ("agent-ls run hello --json | head -c0", 1),
    ("agent-ls run hello 2>&1 | head -c0", 1),
    ("agent-ls run hello --model '' 2>&1 | head -c0", 3),
    ("agent-ls --version >&-", 0),
    ("agent-ls --version 2>&-", 0),
    ("agent-ls --version | head -c0", 0),
    ("agent-ls run --help | head -c0", 0),
    ("agent-ls 2>&-", 64),
    ("agent-ls bogus 2>&-", 64),
    ("agent-ls sessions --json >&-", 0),
    ("agent-ls explain --batch <&-", 0),
    ("agent-ls serve <&-", 1),
    ("agent-ls serve >&-", 1),
]


@pytest.mark.parametrize("line, code", LINES, ids=[line for line, _ in LINES])
async def test_a_stream_that_is_closed_or_not_read_ends_in_order(
    folder: Path, line: str, code: int
) -> None:
    found, out, err = await ended(folder, line)
    assert found == code, f"{out}{err}"
    for text in (out, err):
        assert "Traceback" not in text
        assert "Exception ignored" not in text
    store = folder.parent / "home/.local/share/agent-ls/store.db"
    assert not store.exists() or store.read_bytes()[:15] == b"SQLite format 3"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux alone has this")
@pytest.mark.parametrize("words", ["--version", "sessions --json"])
async def test_output_that_cannot_be_written_is_said(folder: Path, words: str) -> None:
    code, _, err = await ended(folder, f"agent-ls {words} >/dev/full")
    assert (code, err) == (
        1,
        "agent-ls: standard output cannot be written: No space left on device\n",
    )
