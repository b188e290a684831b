"""What a file's ``sonnet`` means, by the model in use and by what the user says."""

from __future__ import annotations

import pytest

from agent_ls.domain.model_families import family_in, model_meant


@pytest.mark.parametrize(
    "name, current, meant",
    [
        ("haiku", "anthropic/claude-opus-4-1", "anthropic/claude-haiku-5-5"),
        ("haiku", "claude-opus-4-1", "claude-haiku-5-5"),
        ("opus", "anthropic/claude-opus-4-1", ""),
        ("sonnet", "openai/gpt-5", ""),
        ("sonnet", "bedrock/anthropic.claude-opus-4-1-v1:0", ""),
        ("sonnet", "openrouter/anthropic/claude-opus-4", ""),
        ("inherit", "openai/gpt-5", ""),
        ("", "openai/gpt-5", ""),
        ("ollama_chat/qwen3", "openai/gpt-5", "ollama_chat/qwen3"),
        ("mini", "anthropic/claude-opus-4-1", "openai/gpt-5-mini"),
    ],
)
def test_a_family_is_asked_where_it_is_known(name: str, current: str, meant: str) -> None:
    assert model_meant(name, current, {"mini": "openai/gpt-5-mini"}) == meant


@pytest.mark.parametrize(
    "name, family",
    [("Sonnet", "sonnet"), ("claude-3-5-haiku-20241022", "haiku"), ("gpt-5", ""), ("inherit", "")],
)
def test_other_agents_names_are_families(name: str, family: str) -> None:
    assert family_in(name) == family
