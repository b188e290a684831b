"""Images by the wire of the panel: ``agent/prompt`` with parts, and what the panel sees of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from agent_ls.lsp import wire
from agent_ls.providers.scripted import ScriptedModel
from tests.support.images import data_url, encoded, image
from tests.support.raw_lsp import RawClient, raw_client
from tests.support.scripted import scripted

SHOT, CHART = image(size=(80, 60)), image("JPEG", (9, 9))
SCENARIO = """
[[answer]]
[[answer.call]]
tool = "read_file"
arguments = { path = "chart.jpg" }
[[answer]]
text = "Done."
"""


@asynccontextmanager
async def panel(tmp_path: Path) -> AsyncIterator[tuple[RawClient, ScriptedModel, Path]]:
    work = tmp_path / "work"
    work.mkdir()
    (work / "chart.jpg").write_bytes(CHART)
    env = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE")}
    env |= {"AGENT_LS_MODEL": "openai/scripted", "AGENT_LS_API_KEY": "x"}
    agent = {"agent": {"version": 1}}
    async with scripted(SCENARIO) as model:
        env["AGENT_LS_API_BASE"] = model.base_url
        async with raw_client("-m", "agent_ls", "serve", env=env) as client:
            await client.initialize(
                {"experimental": agent}, rootUri=work.as_uri(), initializationOptions=agent
            )
            yield client, model, work


@pytest.mark.e2e
async def test_parts_of_a_prompt_reach_the_model_and_the_panel(tmp_path: Path) -> None:
    async with panel(tmp_path) as (client, model, work):
        parts: list[dict[str, Any]] = [
            {"type": "text", "text": "Like this"},
            {"type": "image", "data": encoded(SHOT), "name": "shot.png", "mimeType": "image/png"},
            {"type": "text", "text": ", not like that:"},
            {"type": "image", "uri": (work / "chart.jpg").as_uri()},
        ]
        await client.ask("agent/prompt", {"parts": parts})
        await client.wait_for(lambda one: "turn_ended" in str(one.get("params")))
        assert model.requests[0].images == [data_url(SHOT), data_url(CHART, "image/jpeg")]
        words = "Like this [image shot.png 80x60], not like that: [image chart.jpg 9x9]"
        assert words in model.requests[0].first_user_text
        snapshot = (await client.ask("agent/snapshot", {}))["result"]
        said, *_, shown = [one for one in snapshot["updates"] if one.get("images")]
        assert said["content"]["text"] == words
        assert said["images"][0] == {
            "name": "shot.png",
            "mimeType": "image/png",
            "width": 80,
            "height": 60,
            "sizeBytes": len(SHOT),
        }
        assert [one["name"] for one in (*said["images"], *shown["images"])] == [
            *("shot.png", "chart.jpg", "chart.jpg"),
        ]
        assert encoded(SHOT)[:40] not in str(snapshot)
        for wrong, why in (
            ({"type": "image", "data": "aGk="}, "1 is no image that models take"),
            ({"type": "image", "uri": (tmp_path / "x.png").as_uri()}, "no file of the workspace"),
            ({"type": "image", "uri": (work / "no.png").as_uri()}, "no.png does not exist"),
            ({"type": "image"}, "needs data or uri"),
            ({"type": "sound", "data": "aGk="}, "sound"),
        ):
            answer = await client.answer(client.start("agent/prompt", {"parts": [wrong]}), 30)
            assert why in answer["error"]["message"], answer
        assert len(model.requests) == 2
        assert await client.leave() == 0


def test_a_prompt_of_nothing_is_refused() -> None:
    for params in ({}, {"parts": []}, {"parts": [{"type": "text", "text": " "}]}):
        with pytest.raises(ValidationError, match="the prompt is empty"):
            wire.PromptParams.model_validate(params)
    part = {"type": "image", "data": "x"}
    assert wire.PromptParams.model_validate({"parts": [part]}).parts
