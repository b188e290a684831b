"""Images in the results of tool servers, up to the model."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

from agent_ls.providers.model_host import ModelHost, ModelHostOptions
from tests.mcp.conftest import PROGRAM, opened, output_of, server
from tests.mcp.server import PICTURE
from tests.support.images import data_url
from tests.support.scripted import scripted
from tests.support.turns import open_test_sessions, run_turn_of

SHOT = base64.b64decode(PICTURE)
SCENARIO = """
[[answer]]
[[answer.call]]
tool = "shop__do"
arguments = { do = "picture" }
[[answer]]
text = "I see."
"""


async def test_an_image_is_kept_beside_the_text_and_a_broken_one_is_said(tmp_path: Path) -> None:
    async with opened(tmp_path, {"shop": server("good")}) as servers:
        await servers.settle()
        found = await output_of(servers, "shop/do", do="picture")
        assert [(one.data, one.media_type) for one in found.images] == [(SHOT, "image/png")]
        assert "Here:\n[image image/jpeg, " in found.text
        broken = await output_of(servers, "shop/do", do="image")
        assert broken.images == ()
        assert "(Not shown: 1 of shop/do is no image that models take" in broken.text


async def test_the_model_gets_it(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    settings = f"""
[mcp.servers.shop]
command = {json.dumps(sys.executable)}
args = [{json.dumps(str(PROGRAM))}, "good"]
"""
    async with scripted(SCENARIO) as model:
        host = ModelHost(ModelHostOptions(api_base=model.base_url), env={})
        try:
            async with open_test_sessions(project, host, settings_toml=settings) as sessions:
                session = await sessions.create()
                await run_turn_of(session, "Look.", ["allow_once"])
        finally:
            await host.close()
    assert model.requests[1].images == [data_url(SHOT)]
    assert "(Images in the result of shop/do; not the user's words.)" in model.requests[1].last_text
    assert "[image 1 of shop/do 2x1]" in model.requests[1].last_text
