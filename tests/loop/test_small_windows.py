"""A turn with a model that takes little: results fit, closing words fit, or it says so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent_ls.domain.events import Compacted, Event, TurnEnded
from agent_ls.domain.stops import StopReason
from agent_ls.loop.state.compaction import result_chars_for
from agent_ls.providers.scripted import ScriptedModel
from tests.loop.conftest import Stage
from tests.support.scripted import scripted
from tests.support.trace import trace_of
from tests.support.turns import open_test_sessions, run_turn_of

LINES = "".join(f"line {number}: the quick brown fox jumps\n" for number in range(800))
"""About 30 kB."""
DONE = '[[answer]]\ntext = "Done."\nwhen.side = false\n'
SUMMARY = '[[answer]]\ntext = "Some files were read."\nwhen.side = true\nrepeat = 0\n'


def calls(*made: tuple[str, Mapping[str, object]]) -> str:
    """Return an answer with these calls, as a scenario says it."""
    parts = [
        f'[[answer.call]]\ntool = "{tool}"\narguments_text = {json.dumps(json.dumps(arguments))}\n'
        for tool, arguments in made
    ]
    return "[[answer]]\nwhen.side = false\n" + "".join(parts)


def read(*names: str) -> str:
    return calls(*(("read_file", {"path": name}) for name in names))


async def check(
    folder: Path,
    stage: Stage,
    window: int,
    scenario: str,
    *,
    prompt: str = "Compare them.",
    settings: str = "",
) -> tuple[TurnEnded, list[Event], ScriptedModel]:
    """Run a turn over eight long files; hold that no request is longer than the window."""
    project = folder / "project"
    project.mkdir()
    for number in range(8):
        (project / f"{number}.txt").write_text(LINES)
    toml = f'model = "openai/window-{window}"\nmode = "auto"\n{settings}'
    async with (
        scripted(SUMMARY + scenario, port=stage.port, is_strict=False) as model,
        open_test_sessions(project, stage.host, settings_toml=toml) as sessions,
    ):
        ended, events = await run_turn_of(await sessions.create(), prompt)
    sizes = [len(json.dumps(request.body)) // 4 for request in model.requests]
    assert all(size <= window for size in sizes), sizes
    return ended, events, model


@pytest.mark.heavy
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("window", [4_096, 8_192, 16_384, 32_768])
@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(read("0.txt"), id="one-long-file"),
        pytest.param(read(*(f"{one}.txt" for one in range(8))), id="many-at-once"),
        pytest.param("".join(read(f"{one}.txt") for one in range(8)), id="one-after-the-other"),
        pytest.param(
            calls(("run_command", {"command": "cat *.txt"})), id="the-output-of-a-command"
        ),
        pytest.param(
            calls(("write_file", {"path": "new.txt", "content": LINES[:2_000]})) + read("0.txt"),
            id="long-arguments",
        ),
    ],
)
async def test_long_results_do_not_end_a_turn(
    window: int, scenario: str, tmp_path: Path, stage: Stage
) -> None:
    ended, events, _ = await check(tmp_path, stage, window, scenario + DONE)
    assert (ended.stop, ended.output) == (StopReason.COMPLETED, "Done."), trace_of(events)


@pytest.mark.asyncio(loop_scope="session")
async def test_a_shortened_result_says_how_to_read_the_rest(tmp_path: Path, stage: Stage) -> None:
    scenario = read(*(f"{one}.txt" for one in range(8))) + DONE
    _, _, model = await check(tmp_path, stage, 8_192, scenario)
    results = [one for one in model.requests[-1].messages if one["role"] == "tool"]
    assert len(results) == 8
    for result in results:
        assert "line 0: the quick" in str(result["content"])
        assert "read_output(handle=" in str(result["content"])


@pytest.mark.asyncio(loop_scope="session")
async def test_the_older_part_makes_room_for_results_the_model_has_not_seen(
    tmp_path: Path, stage: Stage
) -> None:
    scenario = read("0.txt", "1.txt") + read("2.txt") + read("3.txt", "4.txt") + DONE
    ended, events, model = await check(tmp_path, stage, 32_768, scenario)
    assert ended.stop is StopReason.COMPLETED
    [compacted] = [one for one in events if isinstance(one, Compacted)]
    assert compacted.drop_before, trace_of(events)
    results = [one for one in model.requests[-1].messages if one["role"] == "tool"]
    # Both new files are there as they were read.
    assert len(results) == 2
    for result in results:
        assert "line 600: the quick" in str(result["content"])
        assert "left out to save room" not in str(result["content"])


@pytest.mark.asyncio(loop_scope="session")
async def test_new_results_are_cut_only_by_what_is_missing(tmp_path: Path, stage: Stage) -> None:
    scenario = read("0.txt") + read(*(f"{one}.txt" for one in range(1, 5))) + DONE
    _, events, model = await check(tmp_path, stage, 32_768, scenario)
    size = len(json.dumps(model.requests[-1].body)) // 4
    assert 32_768 * 0.7 < size < 32_768 * 0.9, trace_of(events)


@pytest.mark.heavy
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("window", [4_096, 8_192, 32_768])
@pytest.mark.parametrize(
    ("scenario", "stop"),
    [
        pytest.param(
            read(*(f"{one}.txt" for one in range(8))), StopReason.MAX_STEPS, id="many-results"
        ),
        pytest.param(
            calls(("write_file", {"path": "new.txt", "content": LINES * 5})),
            StopReason.CONTEXT_FULL,
            id="arguments-longer-than-the-window",
        ),
    ],
)
async def test_the_request_for_closing_words_fits(
    window: int, scenario: str, stop: StopReason, tmp_path: Path, stage: Stage
) -> None:
    closing = '[[answer]]\ntext = "I read them all."\nwhen.side = false\n'
    ended, events, _ = await check(
        tmp_path,
        stage,
        window,
        scenario + closing,
        settings="policies.step_limit.max_steps = 1" if stop is StopReason.MAX_STEPS else "",
    )
    assert (ended.stop, ended.output) == (stop, "I read them all."), trace_of(events)


@pytest.mark.asyncio(loop_scope="session")
async def test_a_window_without_room_for_the_tools_is_told_with_its_numbers(
    tmp_path: Path, stage: Stage
) -> None:
    ended, _, model = await check(tmp_path, stage, 2_048, DONE)
    assert ended.stop is StopReason.ERROR
    assert "2,048 tokens that openai/window-2048 takes" in ended.failure_reason
    assert "larger window" in ended.failure_reason
    assert model.requests == []


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("size", [28_000, 400_000])
async def test_a_prompt_longer_than_the_window_is_told_with_its_numbers(
    size: int, tmp_path: Path, stage: Stage
) -> None:
    prompt = f"Fix this: {'x' * size}"
    ended, _, model = await check(tmp_path, stage, 8_192, DONE, prompt=prompt)
    assert ended.stop is StopReason.CONTEXT_FULL
    assert "8,192 tokens" in ended.failure_reason
    assert model.requests == []


@pytest.mark.parametrize(
    ("sizes", "room", "chars"),
    [
        ([], 100, 0),
        ([1_000], 2_000, 1_000),
        ([10_000], 2_000, 1_850),
        ([10_000, 10_000], 4_000, 1_850),
        ([100, 10_000], 4_000, 3_600),
        ([10_000] * 50, 1_000, 200),
    ],
)
def test_small_results_leave_their_room_to_large_ones(
    sizes: list[int], room: int, chars: int
) -> None:
    assert result_chars_for(sizes, room) == chars
