"""What is piped into ``run`` beside its prompt: it goes with it, and never keeps it waiting."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from agent_ls.cli.piped import MAX_BYTES
from tests.cli.test_run import folder, started
from tests.support.commands import Done, ended
from tests.support.scripted import scripted

__all__ = ["folder"]
pytestmark = pytest.mark.heavy

_FINE = '[[answer]]\ntext = "Fine."\n'


async def check(folder: Path, stdin: int, *, scenario: str = _FINE) -> tuple[Done, list[str]]:
    """Run with this standard input; return how it ended and what the user said to the model."""
    async with scripted(scenario) as model:
        variables = {"AGENT_LS_API_BASE": model.base_url}
        words = ("Explain this.", "--json")
        async with started(folder, "openai/scripted", variables, *words, stdin=stdin) as process:
            done = await ended(process)
        said = [
            str(one["content"])
            for request in model.requests
            for one in request.messages
            if one["role"] == "user"
        ]
    return done, said


def piped(data: bytes) -> int:
    """Return a pipe's end that holds this much and then ends."""
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    return reading


def from_file(folder: Path, data: bytes) -> int:
    file = folder.parent / "input"
    file.write_bytes(data)
    return os.open(file, os.O_RDONLY)


def from_socket(data: bytes) -> int:
    mine, theirs = socket.socketpair()
    mine.sendall(data)
    mine.close()
    return theirs.detach()


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(lambda _, data: piped(data), id="a-pipe"),
        pytest.param(from_file, id="a-file"),
        pytest.param(lambda _, data: from_socket(data), id="a-socket"),
    ],
)
async def test_what_is_piped_in_follows_the_prompt_in_a_fence(
    folder: Path, source: Callable[[Path, bytes], int]
) -> None:
    stdin = source(folder, b"-a\r\n+b\n```\n")
    done, said = await check(folder, stdin)
    os.close(stdin)
    assert done.code == 0, done.err
    assert "Explain this.\n\nStandard input:\n````\n-a\n+b\n```\n````" in said[0]


@pytest.mark.parametrize("data", [b"", b" \n"], ids=["empty", "blank"])
async def test_nothing_piped_in_changes_nothing(folder: Path, data: bytes) -> None:
    stdin = piped(data)
    done, said = await check(folder, stdin)
    os.close(stdin)
    assert (done.code, done.err) == (0, "")
    assert "Standard input" not in said[0]


async def test_a_pipe_that_says_nothing_is_not_waited_for(folder: Path) -> None:
    reading, writing = os.pipe()
    done, said = await check(folder, reading)
    assert done.code == 0, done.err
    assert "standard input said nothing within 3 s" in done.err
    assert "</dev/null" in done.err
    assert "Standard input" not in said[0]
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(b"\x89PNG\r\n\x1a\n\0\0", "Standard input is no UTF-8 text", id="a-picture"),
        pytest.param(b"caf\xe9", "Standard input is no UTF-8 text", id="another-encoding"),
        pytest.param(b"a\0b", "Standard input is no UTF-8 text", id="a-zero"),
        pytest.param(b"x" * (MAX_BYTES + 1), f"holds over {MAX_BYTES:,} bytes", id="too-long"),
    ],
)
async def test_what_cannot_go_with_a_prompt_is_refused(
    folder: Path, data: bytes, words: str
) -> None:
    stdin = from_file(folder, data)
    done, said = await check(folder, stdin, scenario="")
    os.close(stdin)
    assert done.code == 3
    assert words in done.err
    assert said == []


async def test_a_closed_standard_input_is_no_input(folder: Path) -> None:
    async with scripted(_FINE) as model:
        env: Mapping[str, str] = {
            **os.environ,
            "HOME": str(folder.parent / "home"),
            "AGENT_LS_SANDBOX": "off",
            "AGENT_LS_API_BASE": model.base_url,
        }
        process = await asyncio.create_subprocess_shell(
            f"exec {sys.executable} -m agent_ls run 'Explain this.' --model openai/scripted "
            f"--json --workspace {folder} <&-",
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=env,
        )
        done = await ended(process)
    assert (done.code, json.loads(done.out)["success"]) == (0, True), done.err
