"""Signing in at ChatGPT and GitHub Copilot, played against a server that speaks their flows."""

from __future__ import annotations

import json
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from agent_ls.domain.errors import ProviderFailure
from agent_ls.providers.accounts import ChatGpt, Copilot
from agent_ls.providers.answer import MalformedAnswer
from agent_ls.providers.device_flow import Account, DeviceCode, Endpoints, SignInFailed, sign_in
from agent_ls.providers.sign_ins import SIGN_INS
from tests.support.sign_in_server import (
    CODE_PATH,
    GRANTED,
    PENDING,
    POLL_PATH,
    TOKEN_PATH,
    USER_CODE,
    Reply,
    SignInServer,
    github_error,
    openai_error,
    sign_in_server,
    web_token,
)

BOTH = ["chatgpt", "copilot"]


@pytest.fixture
def server() -> Iterator[SignInServer]:
    with sign_in_server() as serving:
        serving.interval_s = 5
        yield serving


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False, timeout=5) as client:
        yield client


def account(name: str, server: SignInServer, client: httpx.Client, folder: Path) -> Account:
    """Return an account at the server, as the model host makes it of litellm's addresses."""
    endpoints = Endpoints(
        code=server.base + CODE_PATH[name],
        poll=server.base + POLL_PATH[name],
        token=server.base + TOKEN_PATH[name],
        client_id="client-1",
        page=f"{server.base}/codex/device",
        redirect=f"{server.base}/deviceauth/callback",
        headers={"editor-version": "vscode/1"} if name == "copilot" else {},
    )
    about = SIGN_INS[name]
    paths = about.paths({about.folder: str(folder)})
    return (ChatGpt if name == "chatgpt" else Copilot)(about, endpoints, client, *paths)


def signed_in(made: Account) -> tuple[list[DeviceCode], list[float]]:
    """Sign in; return the codes that the user got and the pauses between questions."""
    codes: list[DeviceCode] = []
    pauses: list[float] = []
    sign_in(made, codes.append, pauses.append)
    return codes, pauses


@pytest.mark.parametrize("name", BOTH)
def test_a_sign_in_shows_a_code_waits_and_keeps_the_tokens_to_the_user(
    name: str, server: SignInServer, client: httpx.Client, tmp_path: Path
) -> None:
    folder = tmp_path / "deep" / name
    made = account(name, server, client, folder)
    server.replies[POLL_PATH[name]] = [PENDING[name], PENDING[name], GRANTED[name]]
    codes, pauses = signed_in(made)
    assert [code.user_code for code in codes] == [USER_CODE]
    assert codes[0].page in ("https://github.com/login/device", f"{server.base}/codex/device")
    assert pauses == [5, 5, 5]
    env = {made.sign_in.folder: str(folder)}
    assert made.sign_in.is_there(env)
    files = made.sign_in.paths(env)
    assert {stat.S_IMODE(one.stat().st_mode) for one in files} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    asked = len(server.seen)
    assert made.token()
    assert len(server.seen) == asked, "the token is still good"
    assert made.sign_in.forget(env)
    assert not any(one.exists() for one in files)
    assert not made.sign_in.is_there(env)
    assert not made.sign_in.forget(env)


def test_what_goes_over_the_wire_is_what_the_services_want(
    server: SignInServer, client: httpx.Client, tmp_path: Path
) -> None:
    signed_in(account("copilot", server, client, tmp_path))
    code, poll, exchange = server.seen
    assert code.body == {"client_id": "client-1", "scope": "read:user"}
    assert poll.body == {
        "client_id": "client-1",
        "device_code": "dc_1",
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
    }
    assert exchange.headers["authorization"] == "token ghu_1"
    assert {one.headers["editor-version"] for one in server.seen} == {"vscode/1"}
    kept = tmp_path / "access-token"
    assert kept.read_text() == "ghu_1"
    server.seen.clear()
    signed_in(account("chatgpt", server, client, tmp_path))
    code, poll, exchange = server.seen
    assert poll.body == {"device_auth_id": "deviceauth_1", "user_code": USER_CODE}
    assert exchange.body == {
        "grant_type": "authorization_code",
        "code": "ac_1",
        "redirect_uri": f"{server.base}/deviceauth/callback",
        "client_id": "client-1",
        "code_verifier": "verifier",
    }
    stored = json.loads((tmp_path / "auth.json").read_text())
    assert (stored["refresh_token"], stored["account_id"]) == ("rt_2", "account-1")
    assert stored["expires_at"] > time.time() + 3_000


SLOW: Reply = (200, github_error("slow_down", interval=12))
WAITS: dict[str, tuple[str, list[Reply], list[float]]] = {
    "github-says-how-much-slower": ("copilot", [SLOW, PENDING["copilot"]], [5, 12, 12]),
    "without-a-number-five-more": ("copilot", [(200, github_error("slow_down"))], [5, 10]),
    "slower-twice": ("copilot", [(200, github_error("slow_down"))] * 2, [5, 10, 15]),
    "never-faster": ("copilot", [(200, github_error("slow_down", interval=1))], [5, 10]),
    "too-many-requests": ("chatgpt", [(429, "slow")], [5, 10]),
    "slow-down-at-openai": ("chatgpt", [(403, openai_error("slow_down"))], [5, 10]),
    "openai-before-the-page-is-open": (
        "chatgpt", [(403, openai_error("deviceauth_authorization_unknown"))], [5, 5],
    ),
    "openai-without-words": ("chatgpt", [(404, "")], [5, 5]),
    "a-server-in-trouble": ("copilot", [(502, "<html>bad gateway</html>")], [5, 5]),
    "a-line-that-breaks": ("chatgpt", [(0, "")], [5, 5]),
}  # fmt: skip


@pytest.mark.parametrize("name, replies, expected", WAITS.values(), ids=WAITS)
def test_it_asks_on_as_slowly_as_it_is_told(
    name: str,
    replies: list[Reply],
    expected: list[float],
    server: SignInServer,
    client: httpx.Client,
    tmp_path: Path,
) -> None:
    server.replies[POLL_PATH[name]] = [*replies, GRANTED[name]]
    made = account(name, server, client, tmp_path)
    assert signed_in(made)[1] == expected
    assert made.token()


ENDS: dict[str, tuple[str, str, Reply, str]] = {
    "denied": ("copilot", "poll", (200, github_error("access_denied")), "was denied there"),
    "expired": ("copilot", "poll", (200, github_error("expired_token")), "has expired before"),
    "denied-at-openai": ("chatgpt", "poll", (403, openai_error("access_denied")), "was denied"),
    "expired-at-openai": (
        "chatgpt", "poll",
        (403, openai_error("", "Device authorization code has expired. Please request another.")),
        "has expired before",
    ),
    "a-code-it-does-not-know": (
        "copilot", "poll", (200, github_error("incorrect_device_code")), "incorrect_device_code",
    ),
    "a-client-it-does-not-know": (
        "copilot", "poll", (200, github_error("incorrect_client_credentials")), "incorrect_client",
    ),
    "a-wrong-address": ("copilot", "poll", (404, "<html><title>Lost</title>"), "answered 404"),
    "codes-are-off": ("chatgpt", "code", (404, ""), "under Security"),
    "codes-are-off-in-a-workspace": (
        "chatgpt", "poll",
        (403, openai_error("", "Please contact your workspace admin to enable device code auth")),
        "its admin does that",
    ),
    "codes-are-off-for-the-app": (
        "copilot", "code", (200, github_error("device_flow_disabled")), "does not allow codes",
    ),
    "a-refusal-at-the-start": ("copilot", "code", (401, {"message": "No."}), "answered 401: No"),
    "a-page-instead-of-a-code": ("chatgpt", "code", (200, "<html>"), "answered 200: an answer"),
    "no-tokens-for-the-code": (
        "chatgpt", "token", (400, {"error": "invalid_grant"}), "answered 400: invalid_grant",
    ),
    "half-of-the-tokens": (
        "chatgpt", "token", (200, {"access_token": "secret-1"}), "lacks what was asked for",
    ),
    "an-account-without-copilot": (
        "copilot", "token",
        (403, {"error_details": {"message": "No access to GitHub Copilot found."}}),
        "no access to Copilot: No access to GitHub Copilot found. Sign in with",
    ),
}  # fmt: skip
PATHS = {"code": CODE_PATH, "poll": POLL_PATH, "token": TOKEN_PATH}


@pytest.mark.parametrize("name, step, reply, words", ENDS.values(), ids=ENDS)
def test_a_refusal_ends_it_with_a_word_and_keeps_the_earlier_sign_in(
    name: str,
    step: str,
    reply: Reply,
    words: str,
    server: SignInServer,
    client: httpx.Client,
    tmp_path: Path,
) -> None:
    made = account(name, server, client, tmp_path)
    signed_in(made)
    before = {one.name: one.read_text() for one in tmp_path.iterdir()}
    server.seen.clear()
    server.replies[PATHS[step][name]] = [PENDING[name], reply] if step == "poll" else [reply]
    with pytest.raises(SignInFailed) as caught:
        signed_in(made)
    assert words in caught.value.text
    assert "secret-1" not in caught.value.text
    assert "<html" not in caught.value.text
    assert len(server.asked(CODE_PATH[name])) == 1, "no new code is requested by itself"
    assert {one.name: one.read_text() for one in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", BOTH)
def test_a_code_that_nobody_enters_ends_with_its_time(
    name: str, server: SignInServer, client: httpx.Client, tmp_path: Path
) -> None:
    server.valid_s = 60
    server.interval_s = 20
    server.replies[POLL_PATH[name]] = [PENDING[name]]
    pauses: list[float] = []
    with pytest.raises(SignInFailed, match=f"expired.*Run `agent-ls login {name}` to try again"):
        sign_in(account(name, server, client, tmp_path), lambda _: None, pauses.append)
    assert sum(pauses) == (900 if name == "chatgpt" else 60)


def end_tokens(name: str, folder: Path) -> None:
    """Let the token for requests have ended an hour ago."""
    if name == "chatgpt":
        file, fields = folder / "auth.json", {"access_token": web_token(-3_600)}
    else:
        file, fields = folder / "api-key.json", {"token": "old"}
    past = {"expires_at": int(time.time()) - 3_600}
    file.write_text(json.dumps({**json.loads(file.read_text()), **fields, **past}))


@pytest.mark.parametrize("name", BOTH)
def test_a_token_that_has_ended_is_renewed_once_for_all(
    name: str, server: SignInServer, client: httpx.Client, tmp_path: Path
) -> None:
    made = account(name, server, client, tmp_path)
    signed_in(made)
    end_tokens(name, tmp_path)
    server.seen.clear()
    # As two agents would that run at once: a refresh token of OpenAI's works a single time.
    others = [account(name, server, client, tmp_path) for _ in range(4)]
    tokens: list[str] = []
    threads = [
        threading.Thread(target=lambda one=one: tokens.append(one.token())) for one in others
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(tokens) == 4
    assert len(set(tokens)) == 1
    (renewal,) = server.seen
    if name == "chatgpt":
        assert (renewal.body["grant_type"], renewal.body["refresh_token"]) == (
            "refresh_token",
            "rt_1",
        )
        stored = json.loads((tmp_path / "auth.json").read_text())
        assert (stored["refresh_token"], stored["account_id"]) == ("rt_2", "account-1")
    else:
        assert renewal.headers["authorization"] == "token ghu_1"
    files = [*tmp_path.iterdir()]
    assert {stat.S_IMODE(one.stat().st_mode) for one in files} == {0o600}


def test_a_renewal_keeps_what_the_answer_leaves_out(
    server: SignInServer, client: httpx.Client, tmp_path: Path
) -> None:
    made = account("chatgpt", server, client, tmp_path)
    signed_in(made)
    end_tokens("chatgpt", tmp_path)
    server.replies[TOKEN_PATH["chatgpt"]] = [(200, {"access_token": web_token(number=9)})]
    made.token()
    stored = json.loads((tmp_path / "auth.json").read_text())
    assert (stored["refresh_token"], stored["account_id"]) == ("rt_1", "account-1")


USED = "Your refresh token has already been used to generate a new access token."
REFUSALS: dict[str, tuple[str, Reply, ProviderFailure, str]] = {
    "used-up": (
        "chatgpt", (401, openai_error("refresh_token_reused", USED)),
        ProviderFailure.AUTHENTICATION, USED,
    ),
    "revoked-at-github": (
        "copilot", (401, {"message": "Bad credentials"}),
        ProviderFailure.AUTHENTICATION, "Bad credentials",
    ),
    "copilot-has-ended": (
        "copilot", (403, {"message": "Resource not accessible by integration"}),
        ProviderFailure.FORBIDDEN, "not accessible",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name, reply, failure, words", REFUSALS.values(), ids=REFUSALS)
def test_a_token_that_is_refused_says_why_and_asks_for_no_code(
    name: str,
    reply: Reply,
    failure: ProviderFailure,
    words: str,
    server: SignInServer,
    client: httpx.Client,
    tmp_path: Path,
) -> None:
    made = account(name, server, client, tmp_path)
    signed_in(made)
    end_tokens(name, tmp_path)
    server.seen.clear()
    server.replies[TOKEN_PATH[name]] = [reply]
    with pytest.raises(MalformedAnswer) as caught:
        made.token()
    assert caught.value.failure is failure
    assert words in caught.value.text
    assert [one.path for one in server.seen] == [TOKEN_PATH[name]]


@pytest.mark.parametrize("name", BOTH)
def test_a_service_in_trouble_costs_no_sign_in(
    name: str, server: SignInServer, client: httpx.Client, tmp_path: Path
) -> None:
    made = account(name, server, client, tmp_path)
    signed_in(made)
    end_tokens(name, tmp_path)
    server.replies[TOKEN_PATH[name]] = [(503, "later")]
    with pytest.raises(httpx.HTTPStatusError):
        made.token()
    del server.replies[TOKEN_PATH[name]]
    assert made.token()


@pytest.mark.parametrize("name", BOTH)
def test_a_file_that_others_can_read_is_refused(
    name: str, server: SignInServer, client: httpx.Client, tmp_path: Path
) -> None:
    made = account(name, server, client, tmp_path)
    signed_in(made)
    env = {made.sign_in.folder: str(tmp_path)}
    made.sign_in.paths(env)[0].chmod(0o644)
    with pytest.raises(PermissionError, match="chmod 600"):
        made.sign_in.is_there(env)


@pytest.mark.parametrize("text", ["", "{}", "[]", "not json", '{"refresh_token": 1}', "\x00"])
def test_a_file_without_a_token_is_no_sign_in(text: str, tmp_path: Path) -> None:
    about = SIGN_INS["chatgpt"]
    file = tmp_path / "auth.json"
    file.write_text(text)
    file.chmod(0o600)
    assert not about.is_there({about.folder: str(tmp_path)})
