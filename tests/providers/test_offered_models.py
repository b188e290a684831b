"""Which models are listed for the keys and servers that are there, and which names are near."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent_ls.loop.ports.models import ListedModel, ModelList
from agent_ls.providers.credentials import FILE_NAME, StoredCredentials
from agent_ls.providers.model_host import ModelHost, ModelHostOptions
from agent_ls.providers.model_lists import with_abilities
from agent_ls.providers.prices import ModelCard, PriceTable
from tests.support.local_server import serving

EFFORTS = ("low", "medium", "high")

TOLD: dict[str, tuple[dict[str, object], tuple[int, bool | None, bool | None, object]]] = {
    "ollama": (
        {
            "capabilities": ["completion", "tools", "vision", "thinking"],
            "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40_960},
        },
        (40_960, True, True, EFFORTS),
    ),
    "ollama-without-tools": (
        {"capabilities": ["completion"], "model_info": {"gemma.context_length": 8_192}},
        (8_192, False, False, ()),
    ),
    "vllm": ({"id": "x", "max_model_len": 32_768, "owned_by": "vllm"}, (32_768, None, None, None)),
    "llama.cpp": (
        {"id": "x", "meta": {"n_ctx_train": 131_072, "n_params": 7}},
        (131_072, None, None, None),
    ),
    "lm-studio": (
        {"id": "x", "type": "vlm", "max_context_length": 4_096, "capabilities": ["tool_use"]},
        (4_096, True, True, ()),
    ),
    "lm-studio-of-another-version": (
        {"key": "x", "capabilities": {"vision": False, "trained_for_tool_use": True}},
        (0, True, False, ()),
    ),
    "openrouter": (
        {
            "id": "x",
            "context_length": 200_000,
            "architecture": {"input_modalities": ["text", "image"]},
            "supported_parameters": ["tools", "reasoning", "temperature"],
        },
        (200_000, True, True, EFFORTS),
    ),
    "mistral": (
        {
            "id": "x",
            "max_context_length": 131_072,
            "capabilities": {"function_calling": True, "vision": False},
        },
        (131_072, True, False, ()),
    ),
    "a-plain-list": ({"id": "x", "object": "model"}, (0, None, None, None)),
    "of-another-shape": (
        {"capabilities": "none", "supported_parameters": {"a": [1]}, "context_length": "long"},
        (0, False, False, ()),
    ),
}


@pytest.mark.parametrize("told, expected", TOLD.values(), ids=TOLD)
def test_what_a_server_tells_of_a_model_is_read(
    told: dict[str, object], expected: tuple[int, bool | None, bool | None, object]
) -> None:
    found = with_abilities(ListedModel(name="s/x"), told)
    assert (found.window_tokens, found.has_tools, found.takes_images, found.efforts) == expected


def test_what_the_table_knows_stays() -> None:
    known = ListedModel(
        name="s/x", window_tokens=1, has_tools=False, takes_images=True, efforts=("max",)
    )
    assert with_abilities(known, TOLD["ollama"][0]) == known


def test_the_table_lists_what_can_chat_by_names_that_can_be_set() -> None:
    listed = PriceTable().listed()
    sonnet = listed["anthropic/claude-sonnet-5-5"]
    assert (sonnet.window_tokens, sonnet.has_tools, sonnet.takes_images) == (1_000_000, True, True)
    assert (sonnet.input_usd, sonnet.output_usd) == (2.0, 10.0)
    assert set(EFFORTS) <= set(sonnet.efforts or ())
    plain = listed["openai/gpt-4.1"]
    assert plain.efforts == ()
    assert any(name.startswith("vertex_ai/gemini-") for name in listed)
    assert any(name.startswith("bedrock/anthropic.claude-") for name in listed)
    assert any(name.startswith("chatgpt/") for name in listed)
    heads = {name.partition("/")[0] for name in listed}
    assert not {"bedrock_converse", "vertex_ai-language-models", "ft:gpt-4o"} & heads
    unfit = ("embed", "whisper", "dall-e", "tts", "ft:", "sample_spec")
    assert not [name for name in listed if any(word in name for word in unfit)]
    table = PriceTable()
    for name in ("anthropic/claude-sonnet-5-5", "openai/gpt-4.1", "chatgpt/gpt-5.3-codex"):
        known = table.find(name)
        assert known is not None
        assert known.card.window_tokens == listed[name].window_tokens


NEAR: dict[str, tuple[str, ...]] = {
    "anthropic/claude-sonet-5-5": ("anthropic/claude-sonnet-5-5",),
    "antropic/claude-sonnet-5-5": ("anthropic/claude-sonnet-5-5",),
    "claud-sonnet-5-5": ("anthropic/claude-sonnet-5-5",),
    "openai/gpt4.1": ("openai/gpt-4.1",),
    "chatgtp/gpt-5.3-codex": ("chatgpt/gpt-5.3-codex",),
    "copilot/gpt-4o": ("github_copilot/gpt-4o",),
    "openai/x": (),
    "anthropic/claude-sonnet-5-5": (),
    "qwertz/asdf": (),
    "": (),
    "/": (),
}


@pytest.mark.parametrize("model, wanted", NEAR.items())
def test_a_mistyped_name_gets_the_nearest(model: str, wanted: tuple[str, ...]) -> None:
    near = PriceTable().near(model)
    assert near[: len(wanted)] == wanted
    assert bool(near) == bool(wanted)


def test_a_right_name_behind_a_wrong_provider_is_the_only_one_named() -> None:
    for model in ("antropic/claude-sonnet-5-5", "claude-sonnet-5-5"):
        assert PriceTable().near(model) == ("anthropic/claude-sonnet-5-5",)


FILE = '[mistral]\napi_key = "m"\n[lm_studio]\napi_base = "http://127.0.0.1:1/v1"\n'
USABLE: dict[str, tuple[str, str, Mapping[str, str], set[str]]] = {
    "nothing": ("", "", {}, set()),
    "keys-of-the-environment": (
        "", "", {"OPENAI_API_KEY": "o", "GROQ_API_KEY": "g"}, {"openai", "groq"},
    ),
    "the-file": (FILE, "", {}, {"mistral", "lm_studio"}),
    "a-local-server-by-its-variable": ("", "", {"OLLAMA_HOST": "127.0.0.1:9"}, {"ollama_chat"}),
    "a-local-server-by-the-model": ("", "ollama/qwen3", {}, {"ollama_chat"}),
    "ones-own-server": ("", "", {"OPENAI_BASE_URL": "http://gpu.example/v1"}, {"openai"}),
    "a-gateway-without-a-key": ("", "", {"ANTHROPIC_BASE_URL": "https://gate.example"}, set()),
    "a-cloud-by-its-variables": ("", "", {"AWS_REGION": "eu-central-1"}, {"bedrock"}),
    "our-key-is-for-the-model-that-is-set": (
        "", "deepseek/deepseek-chat", {"AGENT_LS_API_KEY": "k"}, {"deepseek"},
    ),
    "our-key-alone-says-nothing": ("", "", {"AGENT_LS_API_KEY": "k"}, set()),
}  # fmt: skip


@pytest.mark.parametrize("file, model, env, wanted", USABLE.values(), ids=USABLE)
async def test_a_provider_counts_if_it_has_a_key_or_an_address(
    file: str, model: str, env: Mapping[str, str], wanted: set[str], tmp_path: Path
) -> None:
    if file:
        (tmp_path / FILE_NAME).write_text(file)
        (tmp_path / FILE_NAME).chmod(0o600)
    nowhere = {"CHATGPT_TOKEN_DIR": str(tmp_path), "GITHUB_COPILOT_TOKEN_DIR": str(tmp_path)}
    found, problems = await StoredCredentials(tmp_path, {**nowhere, **env}).usable(model)
    assert {*found} == wanted
    assert problems == []
    if "ollama_chat" in found:
        place = env.get("OLLAMA_HOST", "127.0.0.1:11434")
        assert found["ollama_chat"].api_base == f"http://{place}"


async def test_the_key_for_every_model_goes_to_the_chosen_provider_alone(tmp_path: Path) -> None:
    env = {"AGENT_LS_API_KEY": "ours", "GROQ_API_KEY": "g", "OLLAMA_HOST": "http://gpu.lan:11434"}
    found, _ = await StoredCredentials(tmp_path, env).usable("deepseek/deepseek-chat")
    keys = {name: one.api_key for name, one in found.items()}
    assert keys["deepseek"] == "ours"
    assert keys["groq"] == "g"
    assert [name for name, key in keys.items() if key == "ours"] == ["deepseek"]
    assert "ollama_chat" in keys


async def test_a_key_that_cannot_be_used_is_told_and_the_others_count(tmp_path: Path) -> None:
    env = {"OPENAI_API_KEY": "your-key-here", "GROQ_API_KEY": "g"}
    found, problems = await StoredCredentials(tmp_path, env).usable("anthropic/claude-x")
    assert {*found} == {"groq"}
    assert [one.partition(" holds")[0] for one in problems if "holds" in one] == ["OPENAI_API_KEY"]
    assert any("There is no key for anthropic/claude-x" in one for one in problems)


async def listed(env: Mapping[str, str], model: str = "", **options: object) -> ModelList:
    """Return what a model host lists with this environment."""
    kept = {"HOME": os.environ["HOME"], **env}
    host = ModelHost(ModelHostOptions.model_validate(options), env=kept)
    try:
        return await host.models(model)
    finally:
        await host.close()


SHOWN = json.dumps(
    {"capabilities": ["completion", "tools"], "model_info": {"qwen3.context_length": 262_144}}
)


@pytest.mark.heavy
async def test_servers_list_their_own_models_beside_the_table(tmp_path: Path) -> None:
    tags = json.dumps(
        {"models": [{"name": "qwen3:8b", "model": "qwen3:8b"}, {"name": "nomic-embed-text"}]}
    )
    ids = json.dumps({"data": [{"id": "my-model", "max_model_len": 9_000}, {"id": "gpt-4.1"}]})
    answers = {
        "/api/tags": (200, tags),
        "/api/show": (200, SHOWN),
        "/v1/models": (200, ids),
    }
    async with serving(answers) as server:
        found = await listed(
            {
                "OLLAMA_API_BASE": server.url,
                "OPENAI_BASE_URL": f"{server.url}/v1",
                "OPENAI_API_KEY": "sk-own",
                "GROQ_API_KEY": "g",
                "HOSTED_VLLM_API_BASE": "http://127.0.0.1:9/v1",
            },
            models={
                "openai/gpt-4.1": ModelCard(window_tokens=5, images=False),
                "openai/my-model": ModelCard(images=True),
                "groq/new": ModelCard(),
            },
        )
    by_name = {one.name: one for one in found.models}
    own = {name for name in by_name if not name.startswith("groq/")}
    assert own == {"ollama_chat/qwen3:8b", "openai/my-model", "openai/gpt-4.1"}
    # More than agent-ls asks Ollama for is not to be had.
    assert by_name["ollama_chat/qwen3:8b"].window_tokens == 32_768
    assert by_name["ollama_chat/qwen3:8b"].has_tools
    assert by_name["openai/my-model"].window_tokens == 9_000
    # The table knows a gateway's models, and the user knows better.
    assert by_name["openai/gpt-4.1"].window_tokens == 5
    assert by_name["openai/gpt-4.1"].has_tools
    said = ("openai/gpt-4.1", "openai/my-model", "groq/new")
    assert [by_name[name].takes_images for name in said] == [False, True, None]
    assert "groq/new" in by_name
    assert len(by_name) > 4
    assert found.problems == (
        "http://127.0.0.1:9/v1 lists no models. Check that it runs and that its address is right.",
    )
    keys = [(path, key) for (_, path), key in zip(server.asked, server.keys, strict=True)]
    # OpenAI's key goes to the address that was set for it, and to no other.
    assert {path for path, key in keys if key == "bearer sk-own"} == {"/v1/models"}


@pytest.mark.heavy
async def test_with_an_address_of_ones_own_its_models_alone_are_listed() -> None:
    ids = (200, json.dumps({"data": [{"id": "qwen3"}]}))
    async with serving({"/v1/models": ids}) as server:
        # The address lacks its version, as users often give it.
        found = await listed({"ANTHROPIC_API_KEY": "k"}, "qwen3", api_base=server.url)
    assert [one.name for one in found.models] == ["openai/qwen3"]
