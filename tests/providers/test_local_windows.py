"""What servers tell of their models' windows, as real servers answer."""

from __future__ import annotations

import json

import httpx
import pytest

from agent_ls.providers.local_windows import window_at

Answers = dict[str, object]

CASES: dict[str, tuple[Answers, int]] = {
    "ollama": (
        {"/api/ps": {"models": [{"name": "qwen3:8b", "context_length": 8192}]}},
        8192,
    ),
    "ollama-has-loaded-another": (
        {"/api/ps": {"models": [
            {"name": "a:1b", "context_length": 1}, {"name": "b:1b", "context_length": 2},
        ]}},
        0,
    ),
    "vllm": ({"/v1/models": {"data": [{"id": "qwen3:8b", "max_model_len": 40960}]}}, 40960),
    "llama.cpp": ({"/v1/models": {"data": [{"id": "x.gguf", "meta": {"n_ctx": 16384}}]}}, 16384),
    "llama.cpp-props": ({"/props": {"default_generation_settings": {"n_ctx": 4096}}}, 4096),
    "openrouter": (
        {"/v1/models": {"data": [
            {"id": "a/b", "context_length": 9}, {"id": "maker/qwen3:8b", "context_length": 131072},
        ]}},
        131072,
    ),
    "nothing": ({}, 0),
    "no-numbers": ({"/v1/models": {"data": [{"id": "qwen3:8b", "max_model_len": "many"}]}}, 0),
    "no-object": ({"/api/ps": [1, 2], "/v1/models": "x", "/props": None}, 0),
}  # fmt: skip


@pytest.mark.parametrize("answers, window", CASES.values(), ids=CASES)
async def test_a_servers_window_is_found(answers: Answers, window: int) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        found = answers.get(request.url.path)
        assert "authorization" not in request.headers
        return httpx.Response(404) if found is None else httpx.Response(200, text=json.dumps(found))

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
        assert await window_at(client, "http://127.0.0.1:1/v1", "openai/qwen3:8b") == window
