"""What a client with a panel is told, by the real server and a scripted model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.raw_lsp import raw_client
from tests.support.scripted import scripted

pytestmark = pytest.mark.e2e

_SCENARIO = """
[[answer]]
when.first = "Begin."
[[answer.call]]
tool = "delegate"
arguments = { kind = "explore", task = "Find the uses of round_price." }

[[answer]]
when.first = "Find the uses"
text = "There are two."

[[answer]]
when.first = "Begin."
[[answer.call]]
tool = "run_command"
arguments = { command = "touch made.txt" }

[[answer]]
when.first = "Begin."
text = "All right."
"""


async def test_a_sub_agent_opens_to_its_transcript_and_a_refusal_is_told_once(
    tmp_path: Path,
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    env = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE")}
    env |= {"AGENT_LS_MODEL": "openai/scripted", "AGENT_LS_API_KEY": "x"}
    agent = {"agent": {"version": 1}}
    async with scripted(_SCENARIO) as model:
        env["AGENT_LS_API_BASE"] = model.base_url
        async with raw_client("-m", "agent_ls", "serve", env=env) as client:
            await client.initialize(
                {"experimental": agent}, rootUri=work.as_uri(), initializationOptions=agent
            )
            await client.ask("agent/prompt", {"text": "Begin."})
            asked = await client.wait_for(lambda one: "permission_request" in str(one))
            [request] = [
                one
                for one in asked["params"]["updates"]
                if one["sessionUpdate"] == "permission_request"
            ]
            note = {"choice": "reject_once", "note": "use pathlib"}
            await client.ask(
                "agent/approval/resolve", {"approvalId": request["approvalId"], **note}
            )
            await client.wait_for(lambda one: "turn_ended" in str(one))
            updates = (await client.ask("agent/snapshot", {}))["result"]["updates"]
            children = [one for one in updates if one["sessionUpdate"] == "sub_agent"]
            assert [one["status"] for one in children] == ["in_progress", "completed"]
            assert {one["task"] for one in children} == {"Find the uses of round_price."}
            child = children[0]["agentSessionId"]
            told = (await client.ask("agent/snapshot", {"sessionId": child}))["result"]
            assert told["session"]["sessionId"] == child
            texts = [
                one["content"]["text"]
                for one in told["updates"]
                if one["sessionUpdate"] in ("user_message_chunk", "agent_message")
            ]
            assert texts[0].startswith("Find the uses of round_price.")
            assert texts[-1] == "There are two."
            # Looking at it opens nothing: the session that was current still is.
            again = (await client.ask("agent/snapshot", {}))["result"]
            assert again["session"]["sessionId"] != child
            [answer] = [one for one in updates if one["sessionUpdate"] == "permission_resolved"]
            assert (answer["outcome"], answer["note"]) == ("reject_once", "use pathlib")
            assert client.of("window/showMessage") == []
            wrong: Any = await client.answer(
                client.start("agent/snapshot", {"sessionId": "ses_00000000000000000000000000"}), 30
            )
            assert "is not open here" in wrong["error"]["message"]
            assert await client.leave() == 0
