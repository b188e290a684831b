"""``run --json-stream`` as a real process: one event a line, and a last one in every case."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_ls.cli.options import command_line_settings
from agent_ls.cli.parser import build_parser
from agent_ls.domain.run_events import RUN_EVENT
from tests.cli.test_run import Done, check, ended, folder, running
from tests.support.scripted import scripted

__all__ = ["folder"]

WRITES = """
[[answer]]
text = "I write.\\u2028"
usage = { input = 100, output = 20 }
[[answer.call]]
tool = "write_file"
arguments = { path = "a.txt", content = "x\\n" }

[[answer]]
text = "It is written."
usage = { input = 120, output = 5 }
"""


def events(done: Done) -> list[dict[str, Any]]:
    """Return the lines, each of which is an event of the published kinds."""
    lines = [json.loads(line) for line in done.out.splitlines()]
    for line in lines:
        RUN_EVENT.validate_python(line)
    return lines


@pytest.mark.heavy
async def test_every_event_is_a_line_and_the_result_is_the_last(folder: Path) -> None:
    done = await check(folder, WRITES, "Write.", "--mode", "auto", "--json-stream")
    found = events(done)
    kinds = [one["type"] for one in found]
    assert (kinds[:3], kinds[-1]) == (["session_opened", "turn_started", "step_started"], "result")
    assert {"text", "message", "tool_call", "file_edited", "tool_result", "usage"} < set(kinds)
    last = found[-1]
    assert (done.code, last["exit_code"], last["status"]) == (0, 0, "success")
    assert (last["output"], last["files"]) == ("It is written.", ["a.txt"])
    assert '"input_tokens": 220,' in done.out, "whole numbers"


@pytest.mark.heavy
async def test_an_edit_that_nobody_allowed_is_not_done(folder: Path) -> None:
    done = await check(folder, WRITES, "Write.", "--json-stream")
    found = {one["type"]: one for one in events(done)}
    assert found["approval_resolved"]["by"] == "nobody"
    assert found["tool_result"]["outcome"] == "denied"
    assert (done.code, found["result"]["exit_code"], found["result"]["status"]) == (2, 2, "partial")
    assert not (folder / "a.txt").exists()


@pytest.mark.heavy
async def test_a_session_goes_on_and_says_so(folder: Path) -> None:
    fine = '[[answer]]\ntext = "Fine."\nrepeat = 2\n'
    async with scripted(fine) as model:
        async with running(folder, model, "One.", "--json-stream") as process:
            first = events(await ended(process))
        name = first[0]["session_id"]
        async with running(folder, model, "--resume", name, "Two.", "--json-stream") as process:
            second = events(await ended(process))
        async with running(folder, model, "--resume", name, "--json-stream") as process:
            third = await ended(process)
    assert (first[0]["is_new"], second[0]["is_new"]) == (True, False)
    assert second[0]["session_id"] == name
    last = events(third)[-1]
    assert (third.code, last["type"], last["exit_code"]) == (3, "error", 3)
    assert "no turn that was cut off" in last["message"]


@pytest.mark.heavy
async def test_nobody_reads_any_more_so_the_turn_stops(folder: Path) -> None:
    scenario = '[[answer]]\ntext = "A long answer."\nbetween_ms = 200\nchunk = 1\n'
    async with (
        scripted(scenario, is_strict=False) as model,
        running(folder, model, "Talk.", "--json-stream") as process,
    ):
        assert process.stdout is not None
        await process.stdout.readline()
        # As `head -1` does.
        process.stdout._transport.close()  # type: ignore[attr-defined] - a reader cannot be closed
        assert process.stderr is not None
        async with asyncio.timeout(60):
            said = await process.stderr.read()
            code = await process.wait()
    assert (code, b"Traceback" in said) == (130, False)


@pytest.mark.heavy
async def test_what_cannot_begin_ends_with_an_error_event(folder: Path) -> None:
    async with (
        scripted("", is_strict=False) as model,
        running(folder, model, "--set", "mode=turbo", "Hi.", "--json-stream") as process,
    ):
        done = await ended(process)
    (only,) = events(done)
    assert (done.code, only["type"], only["exit_code"]) == (3, "error", 3)
    assert "mode" in only["message"]


@pytest.mark.parametrize(
    "words, settings",
    [
        (("--evaluate", "full"), {"policies": {"self_evaluation": {"level": "full"}}}),
        ((), {}),
    ],
)
def test_evaluate_is_the_setting(words: tuple[str, ...], settings: Mapping[str, object]) -> None:
    arguments = build_parser().parse_args(["run", "Hi.", *words])
    assert command_line_settings(arguments) == settings


def test_one_shape_of_output_at_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ending:
        build_parser().parse_args(["run", "Hi.", "--json", "--json-stream"])
    assert ending.value.code == 64
    assert "not allowed with" in capsys.readouterr().err
