"""``resume`` as a real process: a run that was killed goes on without an editor."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent_ls.providers.scripted import ScriptedModel
from agent_ls.store.sql_store import open_store

pytestmark = pytest.mark.heavy

_LIMIT_S = 60.0
SCENARIO = """
[[answer]]
[[answer.call]]
tool = "run_command"
arguments = { command = "echo once >> marks.ran" }

[[answer]]
hang = "before"

[[answer]]
text = "It ran once."
[answer.expect]
contains = ["Exit code 0"]
"""


@pytest.fixture
def folder(tmp_path: Path, warm_host: Mapping[str, str]) -> Path:
    settings = tmp_path / ".config/agent-ls/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f"provider.python = {warm_host['AGENT_LS_PROVIDER__PYTHON']!r}\n")
    place = tmp_path / "project"
    place.mkdir()
    return place


async def begin(
    folder: Path, model: ScriptedModel, command: str, *words: str
) -> asyncio.subprocess.Process:
    env = {
        "PATH": os.environ["PATH"],
        "AGENT_LS_SANDBOX": "off",
        "HOME": str(folder.parent),
        "AGENT_LS_API_BASE": model.base_url,
        "AGENT_LS_MODEL": "openai/scripted",
    }
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agent_ls", command, *words, "--workspace", str(folder)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=env,
        start_new_session=True,
    )


async def check(folder: Path, model: ScriptedModel, *words: str) -> tuple[int | None, str, str]:
    """Resume; return code, output and errors."""
    process = await begin(folder, model, "resume", *words)
    async with asyncio.timeout(_LIMIT_S):
        out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def kill_in_the_middle(folder: Path, model: ScriptedModel) -> None:
    process = await begin(folder, model, "run", "Do it once.", "--mode", "auto")
    await model.wait_for_requests(2)
    process.kill()
    await process.communicate()
    assert (folder / "marks.ran").read_text() == "once\n"


async def forget_the_request(folder: Path) -> None:
    """Leave a store that knows of the turn's beginning and nothing behind it."""
    (place,) = folder.parent.rglob("*.db")
    store = open_store(place)
    [session] = await store.sessions()
    journal = await store.load(session.session_id)
    await store.close()
    for one in place.parent.glob(f"{place.name}*"):
        one.unlink()
    begun = [one for one in journal if one.event.type in ("session_created", "turn_started")]
    store = open_store(place)
    await store.append(begun, durable=True)
    await store.close()


@pytest.mark.parametrize("named", [False, True], ids=["the newest", "by the end of its id"])
async def test_a_killed_run_goes_on_and_repeats_nothing(folder: Path, *, named: bool) -> None:
    async with ScriptedModel(SCENARIO) as model:
        await kill_in_the_middle(folder, model)
        words: list[str] = []
        if named:
            process = await begin(folder, model, "sessions", "--json")
            out, _ = await process.communicate()
            (row,) = json.loads(out)
            assert row["status"] == "cut off"
            words = [row["session_id"][-8:]]
        code, out, err = await check(folder, model, "--json", *words)
        assert (code, err) == (0, "")
        result = json.loads(out)
        assert (result["stop_reason"], result["output"]) == ("completed", "It ran once.")
        assert (folder / "marks.ran").read_text() == "once\n"
        code, _, err = await check(folder, model)
        assert (code, "none to resume" in err) == (3, True)
        assert f"agent-ls run --session {result['session_id']} " in err


async def test_what_goes_on_is_said_and_counted_as_a_whole(folder: Path) -> None:
    async with ScriptedModel(SCENARIO) as model:
        await kill_in_the_middle(folder, model)
        code, out, err = await check(folder, model)
    assert (code, out) == (0, "It ran once.\n")
    first, *_, last = err.splitlines()
    assert first.startswith("▶ Going on with ses_")
    assert first.endswith(": Do it once.")
    assert "1 tool call," in last


async def test_an_edit_that_is_gone_since_is_told_to_model_and_user(folder: Path) -> None:
    """An editor that dies takes its unsaved text along; here somebody else takes it back."""
    scenario = """
[[answer]]
[[answer.call]]
tool = "write_file"
arguments = { path = "a.txt", content = "new\\n" }

[[answer]]
hang = "before"

[[answer]]
text = "I looked."
[answer.expect]
contains = ["The work was interrupted", "not by your edits: a.txt"]
"""
    async with ScriptedModel(scenario) as model:
        process = await begin(folder, model, "run", "Write it.", "--mode", "auto")
        await model.wait_for_requests(2)
        process.kill()
        await process.communicate()
        (folder / "a.txt").write_text("old\n")
        code, out, err = await check(folder, model)
        assert model.problems == []
    assert (code, out) == (0, "I looked.\n")
    assert "Not as the agent left them, so it looks again: a.txt" in err


@pytest.mark.parametrize("is_stored", [True, False])
async def test_a_request_that_a_dead_process_had_sent_begins_the_next_one(
    folder: Path, *, is_stored: bool
) -> None:
    """Also when the process died between the sending and the writing down."""
    scenario = """
[[answer]]
hang = "middle"
text = "This is cut off."

[[answer]]
text = "Done."
"""
    async with ScriptedModel(scenario) as model:
        process = await begin(folder, model, "run", "Do it.")
        await model.wait_for_requests(1)
        process.kill()
        await process.communicate()
        if not is_stored:
            await forget_the_request(folder)
        code, _, err = await check(folder, model)
        first, second = (request.messages for request in model.requests)
    assert code == 0, err
    assert second[: len(first)] == first
    assert "The work was interrupted" in second[-1]["content"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "no session of this folder was cut off"),
        (("ses_nowhere",), "there is no session"),
        (("zzz",), "'zzz' is too short"),
        (("ZZZZ",), "no sessions end in ZZZZ"),
    ],
)
async def test_what_cannot_be_resumed_is_said(
    folder: Path, words: tuple[str, ...], says: str
) -> None:
    async with ScriptedModel("") as model:
        code, out, err = await check(folder, model, *words)
    assert (code, out) == (3, "")
    assert says in err
