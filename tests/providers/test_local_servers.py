"""Servers on this machine: what they have is said, and addresses that lack a part work."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agent_ls.domain.errors import ProviderError, ProviderFailure
from agent_ls.domain.messages import UserMessage
from agent_ls.domain.model_io import TextDelta
from agent_ls.providers.model_host import ModelHostOptions
from agent_ls.providers.plain_route import plain_address
from tests.providers.conftest import Asking, request
from tests.providers.test_isolation import watched_python
from tests.support.faulty import Flood, Play, faulty, head, sends, whole
from tests.support.local_server import Answers, LocalServer, serving

pytestmark = [pytest.mark.heavy, pytest.mark.asyncio(loop_scope="module")]

FINE = json.dumps({"choices": [{"message": {"content": "Fine."}, "finish_reason": "stop"}]})
NOT_FOUND: tuple[int, str] = (404, json.dumps({"error": {"message": "model 'x' not found"}}))


def listed(*names: str, **fields: object) -> tuple[int, str]:
    """Return a list of models in OpenAI's format."""
    return 200, json.dumps({"object": "list", "data": [{"id": one, **fields} for one in names]})


def tags(*names: str) -> tuple[int, str]:
    """Return Ollama's list."""
    return 200, json.dumps({"models": [{"name": one, "model": one} for one in names]})


def ollama(*names: str) -> Answers:
    """Return an Ollama server whose models are these, and which lacks ``x``."""
    missing = (404, json.dumps({"error": 'model "x" not found, try pulling it first'}))
    return {"/api/chat": missing, "/api/tags": tags(*names)}


async def refused(asking: Asking, server: LocalServer, model: str) -> ProviderError:
    """Ask for a model that the server refuses."""
    asking.env["HOSTED_VLLM_API_BASE"] = f"{server.url}/v1"
    asking.use(f"{server.url}/v1")
    with pytest.raises(ProviderError) as caught:
        await asking.ask(request(model=model))
    return caught.value


@pytest.mark.parametrize("model", ["ollama_chat/x", "ollama/x"])
async def test_ollamas_other_models_are_named_and_how_to_get_this_one(
    patient: Asking, model: str
) -> None:
    answers = dict(ollama("qwen3:8b", "nomic-embed-text:latest", "gemma3:4b"))
    answers["/api/generate"] = answers["/api/chat"]
    async with serving(answers) as server:
        error = await refused(patient, server, model)
    assert error.failure is ProviderFailure.UNKNOWN_MODEL
    provider = "ollama_chat"
    assert error.message == (
        f"{server.url} does not have the model x. It has: qwen3:8b, gemma3:4b. "
        f"Set `model` (AGENT_LS_MODEL) to {provider}/qwen3:8b, for example. "
        "To get x: `ollama pull x`."
    )


@pytest.mark.parametrize("answers", [ollama(), {"/api/chat": ollama()["/api/chat"]}])
async def test_what_to_do_is_said_if_ollama_lists_nothing(
    patient: Asking, answers: Answers
) -> None:
    async with serving(answers) as server:
        error = await refused(patient, server, "ollama_chat/x")
    assert error.message.endswith(
        'does not have the model x. It said: model "x" not found, try pulling it first. '
        "`ollama list` shows the models that it has, and `ollama pull x` gets this one."
    )


SERVERS: dict[str, tuple[str, tuple[int, str], tuple[int, str]]] = {
    "lm-studio": (
        "lm_studio/x",
        (400, json.dumps({"error": {"message": "Bad model", "code": "model_not_found"}})),
        listed("qwen/qwen3-8b", "text-embedding-nomic"),
    ),
    "vllm": (
        "hosted_vllm/x",
        (404, json.dumps({"message": "The model `x` does not exist.", "type": "NotFoundError"})),
        listed("qwen/qwen3-8b"),
    ),
    "llama.cpp": ("openai/x", NOT_FOUND, listed("qwen/qwen3-8b", owned_by="llamacpp")),
}


@pytest.mark.parametrize("model, error, models", SERVERS.values(), ids=SERVERS)
async def test_the_models_of_servers_like_openais_are_named(
    asking: Asking, model: str, error: tuple[int, str], models: tuple[int, str]
) -> None:
    answers = {"/v1/chat/completions": error, "/v1/models": models}
    async with serving(answers) as server:
        message = (await refused(asking, server, model)).message
    provider = model.removesuffix("/x")
    assert message == (
        f"{server.url}/v1 does not have the model x. It has: qwen/qwen3-8b. "
        f"Set `model` (AGENT_LS_MODEL) to {provider}/qwen/qwen3-8b, for example."
    )


async def test_ollama_is_known_behind_openais_format(asking: Asking) -> None:
    answers = {
        "/v1/chat/completions": NOT_FOUND,
        "/v1/models": listed("qwen3:8b", owned_by="library"),
    }
    async with serving(answers) as server:
        message = (await refused(asking, server, "openai/x")).message
    assert message.endswith("To get x: `ollama pull x`.")


def loaded(window: int) -> tuple[int, str]:
    """Return what Ollama tells of a model that it has loaded."""
    return 200, json.dumps({"models": [{"name": "cut", "context_length": window}]})


@pytest.mark.parametrize("read, words, is_cut", [
    pytest.param(3_000, 20_000, True, id="cut"),
    pytest.param(4_096, 20_000, True, id="cut-to-the-window"),
    pytest.param(3_000, 2_000, False, id="all-of-it-fits"),
    pytest.param(24_000, 20_000, False, id="more-than-the-window-was-read"),
])  # fmt: skip
async def test_a_prompt_that_ollama_cut_behind_openais_format_is_noticed(
    config_dir: Path, read: int, words: int, is_cut: bool
) -> None:
    usage = {"prompt_tokens": read, "completion_tokens": 2}
    answers: dict[str, tuple[int, str]] = {
        "/v1/chat/completions": (200, json.dumps({**json.loads(FINE), "usage": usage}))
    }
    asking = Asking(config_dir)
    async with serving(answers) as server:
        asking.use(f"{server.url}/v1")
        try:
            assert (await asking.host.facts("openai/cut")).window_tokens == 0
            # It tells the window only once a request has loaded the model.
            answers["/api/ps"] = loaded(4_096)
            long = request(UserMessage(text="word " * words), model="openai/cut")
            if is_cut:
                with pytest.raises(ProviderError, match="and cut the rest") as caught:
                    await asking.ask(long)
                assert caught.value.failure is ProviderFailure.CONTEXT_OVERFLOW
                assert caught.value.window_tokens == 4_096
            else:
                await asking.ask(long)
            assert (await asking.host.facts("openai/cut")).window_tokens == 4_096
            # Asked once, as from then on the window is counted on.
            await asking.ask(long)
            assert server.asked.count(("GET", "/api/ps")) == 2
        finally:
            await asking.host.close()


async def test_of_many_models_ten_are_named_and_similar_ones_first(asking: Asking) -> None:
    names = [f"{one}-model" for one in "abcdefghijklmn"]
    answers = {"/v1/chat/completions": NOT_FOUND, "/v1/models": listed(*names, "qwen3:8b")}
    async with serving(answers) as server:
        message = (await refused(asking, server, "openai/qwen3")).message
    shown = ", ".join(names[:9])
    assert f"It has: qwen3:8b, {shown} and 5 more." in message
    assert "to openai/qwen3:8b, for example" in message


LISTS: dict[str, Any] = {
    "nothing": None,
    "names-that-no-one-could-set": {"data": [{"id": "x" * 500}, {"id": "a\u202eb"}, {"id": 7}]},
    "another-shape": {"data": [[], "x", None]},
    "no-list": [1],
}


@pytest.mark.parametrize("found", LISTS.values(), ids=LISTS)
async def test_a_server_that_lists_nothing_of_use_is_quoted(asking: Asking, found: Any) -> None:
    answers: dict[str, tuple[int, str]] = {"/v1/chat/completions": NOT_FOUND}
    if found is not None:
        answers["/v1/models"] = (200, json.dumps(found))
    async with serving(answers) as server:
        message = (await refused(asking, server, "openai/x")).message
    assert "does not know the model 'openai/x'. It said: model 'x' not found." in message


async def test_a_model_that_the_server_lists_is_not_called_missing(asking: Asking) -> None:
    async with serving(
        {"/v1/chat/completions": (404, '{"error": "no slot"}'), "/v1/models": listed("x")}
    ) as server:
        message = (await refused(asking, server, "openai/x")).message
    assert "does not know the model 'openai/x'. It said: no slot." in message


async def test_the_list_is_asked_with_the_key_of_the_request(asking: Asking) -> None:
    async with serving({"/v1/chat/completions": NOT_FOUND, "/v1/models": listed("y")}) as server:
        asking.env["OPENAI_API_KEY"] = "sk-mine"
        await refused(asking, server, "openai/x")
        del asking.env["OPENAI_API_KEY"]
    assert server.keys == ["bearer sk-mine"] * 2


async def test_a_list_shows_no_key(asking: Asking) -> None:
    answers = {"/v1/chat/completions": NOT_FOUND, "/v1/models": listed("sk-mine-1234", "y")}
    async with serving(answers) as server:
        asking.env["OPENAI_API_KEY"] = "sk-mine-1234"
        message = (await refused(asking, server, "openai/x")).message
        del asking.env["OPENAI_API_KEY"]
    assert "It has: [key], y." in message


async def test_a_list_without_end_is_none(asking: Asking) -> None:
    flood = Flood(head(kind="application/json") + b"[")
    plays: list[Play] = [sends(whole(404, NOT_FOUND[1])), flood]
    async with faulty(0, plays) as endpoint:
        asking.use(f"{endpoint.url}/v1")
        with pytest.raises(ProviderError, match="does not know the model"):
            await asking.ask(request(model="openai/x"))
    assert flood.sent_bytes < 50 * 2**20


async def answer(asking: Asking, base: str, model: str) -> str:
    """Ask at an address that a user set; return the answer's text."""
    asking.host.options = asking.host.options.model_copy(update={"api_base": base})
    try:
        events = await asking.ask(request(model=model))
    finally:
        asking.host.options = asking.host.options.model_copy(update={"api_base": ""})
    return "".join(one.text for one in events if isinstance(one, TextDelta))


@pytest.mark.parametrize("model", ["openai/qwen3:8b", "qwen3:8b", "Qwen/Qwen3-8B", "lm_studio/x"])
async def test_an_address_is_enough_for_a_server_without_a_key(asking: Asking, model: str) -> None:
    async with serving({"/v1/chat/completions": (200, FINE)}) as server:
        assert await answer(asking, f"{server.url}/v1", model) == "Fine."


PAGE = "<!doctype html><html><title>UI</title></html>"
WITHOUT_VERSION = {
    "404": (404, "404 page not found"),
    "405": (405, '{"detail": "Method Not Allowed"}'),
    "a-page": (200, PAGE),
    "a-page-with-404": (404, PAGE),
    "lm-studio": (200, '{"error": "Unexpected endpoint or method. (POST /chat/completions)"}'),
}


@pytest.mark.parametrize("wrong", WITHOUT_VERSION.values(), ids=WITHOUT_VERSION)
async def test_an_address_without_its_version_works_and_is_remembered(
    asking: Asking, wrong: tuple[int, str]
) -> None:
    answers = {"/chat/completions": wrong, "/v1/chat/completions": (200, FINE)}
    async with serving(answers) as server:
        for _ in range(2):
            assert await answer(asking, server.url, "openai/x") == "Fine."
    tried = [path for _, path in server.asked]
    assert tried == ["/chat/completions", "/v1/chat/completions", "/v1/chat/completions"]


async def test_a_missing_model_is_listed_also_where_the_address_lacks_its_version(
    asking: Asking,
) -> None:
    answers = {"/v1/chat/completions": NOT_FOUND, "/v1/models": listed("y")}
    async with serving(answers) as server:
        with pytest.raises(ProviderError, match="It has: y"):
            await answer(asking, server.url, "openai/x")


async def test_an_address_with_a_path_is_taken_as_it_is(asking: Asking) -> None:
    async with serving({"/v1/chat/completions": (200, FINE)}) as server:
        with pytest.raises(ProviderError, match="usually ends in /v1"):
            await answer(asking, f"{server.url}/v2", "openai/x")
    assert ("POST", "/v2/v1/chat/completions") not in server.asked


async def test_a_hubs_name_is_told_how_to_write_it(patient: Asking) -> None:
    async with serving({}) as server:
        with pytest.raises(ProviderError) as caught:
            await answer(patient, f"{server.url}/v1", "mistralai/Mistral-7B")
    assert caught.value.message.endswith(
        f"To ask {server.url}/v1 for it, set `model` (AGENT_LS_MODEL) to "
        "openai/mistralai/Mistral-7B."
    )


@pytest.mark.parametrize(
    "provider, address",
    [
        ("lm_studio", "http://127.0.0.1:1234/v1"),
        ("llamafile", "http://127.0.0.1:8080/v1"),
        ("hosted_vllm", "http://127.0.0.1:8000/v1"),
    ],
)
async def test_a_local_server_is_where_it_usually_is(provider: str, address: str) -> None:
    assert plain_address(f"{provider}/x", provider, None, None) == address


@pytest.mark.skipif(os.name != "posix", reason="the interpreter that reports is a script")
async def test_a_dead_ollama_is_told_before_the_library_loads(tmp_path: Path) -> None:
    """Port 9 is the discard service's, which no machine of today runs."""
    python, log = watched_python(tmp_path)
    asking = Asking(tmp_path, ModelHostOptions(python=str(python)))
    asking.env["OLLAMA_HOST"] = "127.0.0.1:9"
    await asking.host.start("ollama_chat/x")
    with pytest.raises(ProviderError, match=r"Cannot reach http://127\.0\.0\.1:9: ") as caught:
        await asking.ask(request(model="ollama_chat/x"))
    await asking.host.close()
    assert caught.value.is_lasting
    assert "litellm" not in log.read_text("utf-8")
