"""Turns with tool servers: their hints, what they ask the user, and references to their results."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from agent_ls.cli.terminal import LineReader, TerminalAnswers
from agent_ls.domain.events import PrefixSet, QuestionAsked, QuestionResolved
from tests.loop.conftest import Stage
from tests.mcp.conftest import PROGRAM
from tests.support.turns import run_turn_of

_FORM = {
    "message": "Where to?",
    "requestedSchema": {
        "type": "object",
        "properties": {"city": {"type": "string", "default": "Rome"}, "days": {"type": "integer"}},
        "required": ["city", "days"],
    },
}


def settings(mode: str) -> str:
    command = f"command = {json.dumps(sys.executable)}\nargs = {json.dumps([str(PROGRAM), mode])}"
    return f'mode = "auto"\nloop.references = true\n[mcp.servers.desk]\n{command}\n'


@pytest.mark.asyncio(loop_scope="session")
async def test_a_server_asks_the_user_and_its_result_is_handed_on(
    tmp_path: Path, stage: Stage
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    scenario = f"""
[[answer]]
expect = {{ contains = ["# Words of the tool server desk", "\\n```\\nAsk first.\\n```"] }}
[[answer.call]]
tool = "desk__do"
arguments = {{ do = {json.dumps("elicit " + json.dumps(_FORM))} }}

[[answer]]
expect = {{ last_contains = ['"content": {{"city": "Rome", "days": 3}}'] }}
[[answer.call]]
tool = "desk__do"
arguments = {{ do = "parts", output_path = "†state.it" }}
[[answer.call]]
tool = "write_file"
arguments = {{ path = "a.txt", content = "†state.it.value" }}

[[answer]]
text = "Done."

[[answer]]
expect = {{ contains = ["Ask first."] }}
text = "Still there."
"""
    async with stage.opened(
        folder, scenario, settings_toml=settings("instructions:Ask first.")
    ) as sessions:
        session = await sessions.create()
        answers = ["Use Rome", "three", "3"]
        _, events = await run_turn_of(session, "Plan it.", answers)
        asked = [one.question for one in events if isinstance(one, QuestionAsked)]
        assert {one.origin for one in asked} == {"ask_user"}
        assert asked[0].text.startswith("The tool server desk asks: Where to?\n\ncity (1 of 2): ")
        assert asked[2].text.startswith("That does not fit: it must be a whole number.")
        assert len([one for one in events if isinstance(one, QuestionResolved)]) == 3
        assert (folder / "a.txt").read_text() == "One.\n\nTwo.\ndocs://three"
        _, events = await run_turn_of(session, "And now?")
        # The hints are part of the prefix, which later turns keep.
        assert not [one for one in events if isinstance(one, PrefixSet)]


@pytest.mark.asyncio(loop_scope="session")
async def test_enter_at_a_terminal_is_the_default_of_a_form(tmp_path: Path, stage: Stage) -> None:
    fields = {"city": {"type": "string", "default": "Rome"}, "by_rail": {"type": "boolean"}}
    schema = {"type": "object", "properties": fields, "required": ["city", "by_rail"]}
    form = {**_FORM, "requestedSchema": schema}
    scenario = f"""
[[answer]]
[[answer.call]]
tool = "desk__do"
arguments = {{ do = {json.dumps("elicit " + json.dumps(form))} }}

[[answer]]
expect = {{ last_contains = ['"content": {{"city": "Rome", "by_rail": false}}'] }}
text = "Done."
"""
    shown: list[str] = []
    typed = ["\n", "\n", "2\n"]

    class Typing(LineReader):
        async def read(self, prompt: str, **_: object) -> str:
            shown.append(prompt)
            return typed.pop(0)

    async with stage.opened(
        tmp_path, scenario, settings_toml=settings("instructions:Ask first.")
    ) as sessions:
        session = await sessions.create()
        session.follow(TerminalAnswers(session, Typing()))
        async with asyncio.timeout(60):
            await session.submit("Plan it.")
            await session.wait_idle()
    assert "Enter alone answers: Use Rome" in shown[0]
    assert "Enter alone" not in shown[1]
    # A field without a default needs words.
    assert shown[2].startswith("Nothing is decided yet")
    assert typed == []
