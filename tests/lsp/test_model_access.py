"""What a client needs for its set-up: which models there are, and whether their keys are there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.raw_lsp import RawClient, raw_client

WANTED: dict[str, tuple[str | None, str | None, bool]] = {
    "openai/gpt-4.1": ("OPENAI_API_KEY", None, False),
    "groq/llama-3.3-70b-versatile": ("GROQ_API_KEY", None, True),
    "chatgpt/gpt-5.3-codex": (None, "chatgpt", False),
    "ollama_chat/nobody-knows": ("OLLAMA_API_KEY", None, True),
}
"""Variable, account and whether it can be asked, by model."""


@pytest.mark.e2e
async def test_a_model_can_be_chosen_and_its_key_asked_for_before_there_is_any(
    tmp_path: Path,
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.py").write_text("x = 1\n")
    env = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE")}
    nowhere = {"CHATGPT_TOKEN_DIR": str(tmp_path), "GITHUB_COPILOT_TOKEN_DIR": str(tmp_path)}
    env |= {**nowhere, "OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": "", "GROQ_API_KEY": "gsk-secret"}
    agent = {"agent": {"version": 1}}
    async with raw_client("-m", "agent_ls", "serve", env=env) as client:
        await client.initialize(
            {"experimental": agent}, rootUri=work.as_uri(), initializationOptions=agent
        )
        for model, wanted in WANTED.items():
            answer = await _asked(client, "agent/access", {"model": model})
            row = answer["provider"]
            assert (row["keyVariable"], row["signIn"], row["isReady"]) == wanted, model
            assert answer["isMissing"] is not wanted[2]
            assert bool(answer["problem"]) is not wanted[2]
            assert {one["name"] for one in answer["accounts"]} == {"chatgpt", "copilot"}
        known = (await _asked(client, "agent/access", {"model": "openai/gpt-4.1"}))["model"]
        assert known["windowTokens"] > 100_000
        assert known["inputPrice"] > 0
        usable = await _asked(client, "agent/models", {})
        assert {one["provider"] for one in usable["providers"]} == {"groq"}
        every = await _asked(client, "agent/models", {"isAll": True})
        ready = {one["provider"]: one["isReady"] for one in every["providers"]}
        assert ready["groq"]
        assert not ready["anthropic"]
        names = [one["model"] for one in every["models"]]
        assert len(names) == len(set(names))
        assert names[0].startswith("groq/"), "what can be used comes first"
        assert {"anthropic/claude-sonnet-5-5", "openai/gpt-4.1"} <= set(names)
        blank = await client.answer(client.start("agent/access", {"model": " "}), 30)
        assert "error" in blank
        odd = {"model": "openai/gpt-5", "effort": "tremendous"}
        refused = await client.answer(client.start("agent/config", odd), 30)
        assert "takes no effort tremendous, only" in str(refused["error"])
        assert "gsk-secret" not in str(client.received)
        assert b"gsk-secret" not in client.stderr
        assert await client.leave() == 0


async def _asked(client: RawClient, method: str, params: dict[str, Any]) -> dict[str, Any]:
    answer = await client.answer(client.start(method, params), 60)
    assert "result" in answer, answer
    return answer["result"]
