"""Models behind a sign-in, through the model host: what is asked, renewed, and said without one."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from agent_ls.domain.errors import ProviderError, ProviderFailure
from agent_ls.domain.model_io import TextDelta
from agent_ls.providers.model_host import ModelHost, ModelHostOptions
from agent_ls.providers.sign_ins import SIGN_INS
from tests.providers.conftest import Asking, request
from tests.providers.test_device_flow import account, end_tokens, signed_in
from tests.support.sign_in_server import (
    CODE_PATH,
    PENDING,
    POLL_PATH,
    TOKEN_PATH,
    USER_CODE,
    SignInServer,
    github_error,
    openai_error,
    sign_in_server,
)

pytestmark = [pytest.mark.heavy, pytest.mark.asyncio(loop_scope="module")]

MODELS = {"chatgpt": "chatgpt/gpt-5.3-codex", "copilot": "github_copilot/gpt-4o"}
CHAT_PATHS = {"chatgpt": "/codex/responses", "copilot": "/chat/completions"}
BOTH = list(MODELS)


def events(*several: dict[str, Any]) -> str:
    """Return server-sent events, named if they have a type."""
    return "".join(
        (f"event: {one['type']}\n" if "type" in one else "") + f"data: {json.dumps(one)}\n\n"
        for one in several
    )


def answers() -> dict[str, str]:
    """Return "Hello." as both services stream it."""
    item = {"id": "msg_1", "type": "message", "role": "assistant"}
    content = [{"type": "output_text", "text": "Hello.", "annotations": []}]
    done = {**item, "status": "completed", "content": content}
    response = {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "gpt",
        "status": "completed", "output": [done], "parallel_tool_calls": True,
        "tool_choice": "auto", "tools": [],
        "usage": {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11},
    }  # fmt: skip
    begun = {**response, "status": "in_progress", "output": []}
    place = {"output_index": 0, "item_id": "msg_1", "content_index": 0}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o"}
    choice = {"index": 0, "delta": {"role": "assistant", "content": "Hello."}}
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
    return {
        "chatgpt": events(
            {"type": "response.created", "response": begun},
            {
                "type": "response.output_item.added",
                "output_index": 0,
                "item": {**item, "status": "in_progress", "content": []},
            },
            {"type": "response.output_text.delta", **place, "delta": "Hello."},
            {"type": "response.output_item.done", "output_index": 0, "item": done},
            {"type": "response.completed", "response": response},
        ),
        "copilot": events(
            {**chunk, "choices": [{**choice, "finish_reason": None}]},
            {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            {**chunk, "choices": [], "usage": usage},
        )
        + "data: [DONE]\n\n",
    }


@pytest.fixture(scope="module")
def server() -> Iterator[SignInServer]:
    with sign_in_server() as serving:
        yield serving


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def asking(
    server: SignInServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Asking]:
    """A host whose sign-ins are at the server."""
    folder = tmp_path_factory.mktemp("sign-ins")
    asking = Asking(folder, ModelHostOptions(first_chunk_s=60))
    asking.env |= server.variables(folder)
    await asking.host.start()
    yield asking
    await asking.host.close()


@pytest.fixture(autouse=True)
def fresh(server: SignInServer, asking: Asking) -> None:
    """Begin each test signed out, at a server that answers as usual."""
    server.seen.clear()
    server.replies = {path: [(200, answers()[name])] for name, path in CHAT_PATHS.items()}
    for about in SIGN_INS.values():
        about.forget(asking.env)


async def log_in(asking: Asking, name: str) -> list[str]:
    return [code.user_code async for code in asking.host.sign_in(SIGN_INS[name])]


def have_signed_in(asking: Asking, name: str, server: SignInServer) -> Path:
    """Put the tokens there without waiting; return their folder."""
    folder = Path(asking.env[SIGN_INS[name].folder])
    with httpx.Client(trust_env=False) as client:
        signed_in(account(name, server, client, folder))
    server.seen.clear()
    return folder


async def text_of(asking: Asking, name: str) -> str:
    found = await asking.ask(request(model=MODELS[name]))
    return "".join(event.text for event in found if isinstance(event, TextDelta))


async def refused(asking: Asking, name: str) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await asking.ask(request(model=MODELS[name]))
    return caught.value


@pytest.mark.parametrize("name", BOTH)
async def test_whoever_signed_in_may_ask_its_models(
    name: str, asking: Asking, server: SignInServer
) -> None:
    server.replies[POLL_PATH[name]] = [PENDING[name], server.usual(POLL_PATH[name])]
    assert await log_in(asking, name) == [USER_CODE]
    folder = Path(asking.env[SIGN_INS[name].folder])
    assert {stat.S_IMODE(one.stat().st_mode) for one in folder.iterdir()} == {0o600}
    assert await text_of(asking, name) == "Hello."
    (asked,) = server.asked(CHAT_PATHS[name])
    token = asked.headers["authorization"].removeprefix("Bearer ")
    assert token in "".join(one.read_text() for one in folder.iterdir())
    if name == "chatgpt":
        assert asked.headers["chatgpt-account-id"] == "account-1"
        assert asked.body["store"] is False
    else:
        assert asked.headers["copilot-integration-id"] == "vscode-chat"
        assert [one["role"] for one in asked.body["messages"]] == ["system", "user"]
    assert (await asking.host.facts(MODELS[name])).window_tokens > 0
    # Neither the host nor litellm has written what others could read.
    assert {stat.S_IMODE(one.stat().st_mode) for one in folder.iterdir()} == {0o600}


@pytest.mark.parametrize("name", BOTH)
async def test_a_request_renews_a_token_that_has_ended(
    name: str, asking: Asking, server: SignInServer
) -> None:
    end_tokens(name, have_signed_in(asking, name, server))
    assert await text_of(asking, name) == "Hello."
    assert [one.path for one in server.seen] == [TOKEN_PATH[name], CHAT_PATHS[name]]


@pytest.mark.parametrize("name", BOTH)
async def test_without_a_sign_in_the_error_names_the_command_and_nothing_is_asked(
    name: str, asking: Asking, server: SignInServer
) -> None:
    for _ in range(2):
        error = await refused(asking, name)
        assert error.failure is ProviderFailure.NOT_SIGNED_IN
        assert error.message == (
            f"You are not signed in for {MODELS[name]}: run `agent-ls login {name}`."
        )
        # The second time, half a sign-in is there, as a user may have copied it.
        about = SIGN_INS[name]
        file = about.paths(asking.env)[-1]
        file.parent.mkdir(exist_ok=True)
        file.write_text("{}")
        file.chmod(0o600)
    assert server.seen == []


LOST = {
    "chatgpt": (401, openai_error("refresh_token_reused", "Your refresh token was used.")),
    "copilot": (401, {"message": "Bad credentials"}),
}


@pytest.mark.parametrize("name", BOTH)
async def test_a_sign_in_that_was_taken_back_is_told_with_the_command(
    name: str, asking: Asking, server: SignInServer
) -> None:
    end_tokens(name, have_signed_in(asking, name, server))
    server.replies[TOKEN_PATH[name]] = [LOST[name]]
    error = await refused(asking, name)
    assert error.failure is ProviderFailure.NOT_SIGNED_IN
    assert "does not accept the sign-in" in error.message
    assert error.message.endswith(f"To mend it, run `agent-ls login {name}`.")
    assert not server.asked(CODE_PATH[name]), "no device flow is begun by a request"
    # The next request works again after the user has signed in, in the same host.
    del server.replies[TOKEN_PATH[name]]
    have_signed_in(asking, name, server)
    assert await text_of(asking, name) == "Hello."


@pytest.mark.parametrize("name", BOTH)
async def test_a_model_that_refuses_the_token_is_told_with_the_command_and_without_it(
    name: str, asking: Asking, server: SignInServer
) -> None:
    have_signed_in(asking, name, server)
    server.replies[CHAT_PATHS[name]] = [(401, {"error": {"message": "token expired"}})]
    error = await refused(asking, name)
    assert error.failure is ProviderFailure.NOT_SIGNED_IN
    assert error.message.endswith(f"To mend it, run `agent-ls login {name}`.")
    (asked, *_) = server.asked(CHAT_PATHS[name])
    assert asked.headers["authorization"].removeprefix("Bearer ")[:20] not in error.message
    assert not server.asked(CODE_PATH[name])


async def test_a_service_in_trouble_is_retried_later(asking: Asking, server: SignInServer) -> None:
    end_tokens("copilot", have_signed_in(asking, "copilot", server))
    server.replies[TOKEN_PATH["copilot"]] = [(503, "later")]
    error = await refused(asking, "copilot")
    assert error.is_retryable
    assert "login" not in error.message


async def test_a_denied_sign_in_is_an_error_with_the_services_words(
    asking: Asking, server: SignInServer
) -> None:
    server.replies[POLL_PATH["copilot"]] = [(200, github_error("access_denied"))]
    with pytest.raises(ProviderError, match=r"^The sign-in at GitHub Copilot was denied there\."):
        await log_in(asking, "copilot")


async def test_tokens_go_to_no_address_without_encryption(tmp_path: Path) -> None:
    env = {"HOME": os.environ["HOME"], "CHATGPT_AUTH_BASE": "http://auth.example"}
    host = ModelHost(ModelHostOptions(), env={**env, "CHATGPT_TOKEN_DIR": str(tmp_path)})
    try:
        with pytest.raises(ProviderError, match="CHATGPT_AUTH_BASE must be an address with https"):
            async for _ in host.sign_in(SIGN_INS["chatgpt"]):
                pass
    finally:
        await host.close()
