"""Signing in: given clients, tokens that end, and logins that allow too little."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from agent_ls.domain.errors import ToolError
from agent_ls.loop.ports.workspace import Root
from agent_ls.mcp.configured import ServerOptions, ToolServerOptions, plans
from agent_ls.mcp.servers import Servers
from agent_ls.mcp.tokens import SavedLogins, logins_file
from tests.mcp.conftest import opened, run
from tests.mcp.http_server import HttpToolServer, http_server

pytestmark = pytest.mark.heavy


@pytest.fixture
def far() -> Iterator[HttpToolServer]:
    with http_server(wants_login=True) as serving:
        yield serving


@pytest.fixture
def several() -> Iterator[list[HttpToolServer]]:
    """Three servers, so that rows need one process of ours."""
    with ExitStack() as stack:
        yield [stack.enter_context(http_server(wants_login=True)) for _ in range(3)]


def at(serving: HttpToolServer, **oauth: object) -> ServerOptions:
    given = {"url": f"{serving.base}/mcp", "timeout_s": 20, "oauth": oauth}
    return ServerOptions.model_validate(given)


def browse(page: str) -> None:
    """Open the page as the user's browser does."""
    asyncio.get_running_loop().run_in_executor(None, lambda: urllib.request.urlopen(page).read())


def basic(client: str, secret: str) -> str:
    return f"Basic {base64.b64encode(f'{client}:{secret}'.encode()).decode()}"


async def called(servers: Servers, name: str = "far") -> str:
    return await run(servers, f"{name}/do", do="x")


async def log_in(servers: Servers, *names: str) -> None:
    await servers.look()
    for name in names:
        await servers.login(name, browse)
    await servers.settle()


async def test_a_given_client_logs_in_where_none_can_register(
    tmp_path: Path, several: list[HttpToolServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAR_SECRET", "hush-hush")
    by_header = {"by": basic("mine", "hush-hush")}
    by_form = {"client_id": "mine", "client_secret": "hush-hush"}
    rows = {
        "silent": (None, by_header),
        "basic": (["client_secret_post", "client_secret_basic"], by_header),
        "post": (["client_secret_post"], by_form),
    }
    servers_at = dict(zip(rows, several, strict=True))
    for name, (methods, wanted) in rows.items():
        far = servers_at[name]
        far.registers, far.place, far.methods, far.client = False, "/tenant", methods, wanted
    settings = {
        name: at(far, client_id="mine", client_secret="${FAR_SECRET}", scope="read")
        for name, far in servers_at.items()
    }
    async with opened(tmp_path, settings) as servers:
        await log_in(servers, *rows)
        for name in rows:
            assert "done x" in await called(servers, name)
            assert "hush" not in servers.start_shown(name)
    assert "hush" not in logins_file().read_text()
    for far in several:
        assert (far.pages[0]["client_id"], far.pages[0]["scope"]) == ("mine", "read")
        far.end_tokens()
    # The next agent-ls has tokens made new, at the address that only the metadata tells.
    async with opened(tmp_path, settings) as servers:
        await servers.settle()
        for name in rows:
            assert "done x" in await called(servers, name)
    for far in several:
        grants = [form["grant_type"] for form in far.asked]
        assert grants == ["authorization_code", "refresh_token"]
        assert len(far.pages) == 1


async def test_tokens_are_made_new_without_the_user(
    tmp_path: Path, several: list[HttpToolServer]
) -> None:
    # It does not say when they end; and two as the protocol of 2025-03-26 has them.
    several[0].lasts_s, several[0].place = None, "/tenant"
    several[1].has_resource, several[1].lasts_s = False, 1
    several[2].has_resource, several[2].has_metadata = False, False
    names = ["endless", "metadata", "bare"]
    settings = {name: at(far) for name, far in zip(names, several, strict=True)}
    async with opened(tmp_path, settings) as servers:
        await log_in(servers, *names)
        for _ in range(2):
            await asyncio.sleep(1.1)
            for name, far in zip(names, several, strict=True):
                far.end_tokens()
                assert "done x" in await called(servers, name)
    for far in several:
        assert len(far.pages) == 1
        assert [form["grant_type"] for form in far.asked][-2:] == ["refresh_token"] * 2


async def test_a_login_that_allows_too_little_costs_the_call_alone(
    tmp_path: Path, far: HttpToolServer
) -> None:
    far.call_scope = "write"
    settings = {"far": at(far, scope="read")}
    async with opened(tmp_path, settings) as servers, opened(tmp_path, settings) as terminal:
        await log_in(servers, "far")
        for _ in range(4):
            with pytest.raises(ToolError, match=r"a login that allows write \(agent-ls mcp login"):
                await called(servers)
        assert servers.servers["far"].state == "1 tool, running"
        assert len(far.pages) == 1
        # The login elsewhere counts in the session that runs.
        await log_in(terminal, "far")
        assert "done x" in await called(servers)
    assert [page["scope"] for page in far.pages] == ["read", "read write"]
    login = SavedLogins(logins_file()).find(f"{far.base}/mcp")
    assert login is not None
    assert login.lacks == ""


async def test_a_login_that_is_broken_off_leaves_the_older_one(
    tmp_path: Path, far: HttpToolServer
) -> None:
    async with opened(tmp_path, {"far": at(far)}) as servers:
        await log_in(servers, "far")
        far.denies = True
        with pytest.raises(ToolError, match="the login was refused: access_denied"):
            await servers.login("far", browse)
        assert "done x" in await called(servers)


async def test_client_credentials_need_no_user(
    tmp_path: Path, several: list[HttpToolServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAR_SECRET", "hush-hush")
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    monkeypatch.setenv("FAR_KEY", pem)
    monkeypatch.setenv("FAR_KEY_LINE", pem.replace("\n", "\\n"))
    by_secret = {"client_secret": "${FAR_SECRET}", "issuer": several[0].base, "scope": "read"}
    rows = {
        "secret": by_secret,
        "key": {"private_key": "${FAR_KEY}", "signing_algorithm": "ES256"},
        "line": {"private_key": "${FAR_KEY_LINE}", "signing_algorithm": "ES256"},
    }
    several[0].client = {"by": basic("robot", "hush-hush")}
    several[0].call_scope, several[0].lasts_s = "write", 1
    settings = {
        name: at(far, client_id="robot", grant="client_credentials", **oauth)
        for (name, oauth), far in zip(rows.items(), several, strict=True)
    }
    async with opened(tmp_path, settings) as servers:
        await servers.settle()
        for name in rows:
            # The first server wants more for a call than for its list.
            assert "done x" in await called(servers, name)
        await asyncio.sleep(1.1)
        assert "done x" in await called(servers, "secret")
        await servers.login("secret", browse)
    scopes = [form.get("scope") for form in several[0].asked]
    assert scopes[:2] == ["read", "read write"]
    for far in several:
        assert far.pages == []
        assert SavedLogins(logins_file()).find(f"{far.base}/mcp") is None
    for far in several[1:]:
        assertion = far.asked[0]["client_assertion"]
        claims = jwt.decode(assertion, key.public_key(), ["ES256"], audience=far.base)
        assert (claims["iss"], claims["sub"]) == ("robot", "robot")


async def test_credentials_that_are_not_taken_are_said(
    tmp_path: Path, far: HttpToolServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAR_SECRET", "hush-hush")
    monkeypatch.setenv("FAR_KEY", "hush-hush, which is no key")
    far.client = {"by": basic("robot", "another")}
    elsewhere = "https://elsewhere.example"
    rows: dict[str, tuple[dict[str, Any], str]] = {
        "wrong": ({"client_secret": "${FAR_SECRET}"}, "Token exchange failed (401)"),
        "elsewhere": ({"client_secret": "x", "issuer": elsewhere}, f"!= {elsewhere}"),
        "unset": (
            {"client_secret": "${NOT_SET}"},
            "its oauth.client_secret is empty: set the variable it names",
        ),
        "key": ({"private_key": "${FAR_KEY}"}, "its private key does not sign with RS256"),
    }
    settings = {
        name: at(far, client_id="robot", grant="client_credentials", **oauth)
        for name, (oauth, _) in rows.items()
    }
    async with opened(tmp_path, settings) as servers:
        await servers.settle()
        states = {name: servers.servers[name].state for name in rows}
    for name, (_, words) in rows.items():
        assert words in states[name], states[name]
        assert "hush" not in states[name]
    assert len(far.asked) == 1


@pytest.mark.parametrize(
    "oauth, words",
    [
        ({"client_secret": "x"}, "its oauth needs client_id"),
        ({"grant": "client_credentials"}, "its oauth needs client_id"),
        (
            {"grant": "client_credentials", "client_id": "x"},
            "its oauth needs either client_secret or private_key",
        ),
        ({"client_id": "x", "private_key": "y"}, 'needs grant = "client_credentials"'),
        ({"client_id": "x", "issuer": "there"}, "must begin with https:// or http://"),
    ],
)
def test_settings_that_cannot_work_are_said(oauth: dict[str, Any], words: str) -> None:
    servers = {"far": {"url": "https://far.example/mcp", "oauth": oauth}}
    options = ToolServerOptions.model_validate({"servers": servers})
    found, (problem,) = plans(options, ())
    assert found == ()
    assert words in problem


@pytest.mark.parametrize(
    "values, words",
    [
        ({"headers": {"Authorization": "x"}}, "its header Authorization would be readable on the"),
        ({"headers": {"X-Api-Key": "x"}}, "its header X-Api-Key would be readable on the way"),
        ({"oauth": {"client_id": "x"}}, "its oauth would be readable on the way there"),
        ({"headers": {"X-Project": "shop"}}, ""),
        ({}, ""),
    ],
)
def test_no_secret_goes_over_the_network_without_encryption(
    values: dict[str, Any], words: str
) -> None:
    for base, is_readable in (
        ("http://far.example", True),
        ("http://192.168.1.4:8080", True),
        ("https://far.example", False),
        ("http://localhost:8080", False),
        ("http://127.0.0.1", False),
        ("http://[::1]:9", False),
    ):
        servers = {"far": {"url": f"{base}/mcp", **values}}
        found, problems = plans(ToolServerOptions.model_validate({"servers": servers}), ())
        assert len(found) == (0 if is_readable and words else 1), base
        assert words in "".join(problems) if is_readable else problems == ()


async def test_no_login_goes_over_the_network_without_encryption(tmp_path: Path) -> None:
    settings = {"far": ServerOptions(url="http://far.example/mcp", timeout_s=5)}
    async with opened(tmp_path, settings) as servers:
        await servers.look()
        with pytest.raises(ToolError, match=r"the login would be readable on the way there"):
            await servers.login("far", browse)


async def test_two_windows_make_a_token_new_once(tmp_path: Path, far: HttpToolServer) -> None:
    far.rotates, far.lasts_s = True, 2
    settings = {"far": at(far)}
    async with opened(tmp_path, settings) as one, opened(tmp_path, settings) as other:
        await log_in(one, "far")
        await other.settle()
        assert "done x" in await called(other)
        far.token_delay_s = 0.4
        for is_known in (True, False):
            # By its own clock, and by the server's answer alone.
            await asyncio.sleep(2.1 if is_known else 0)
            if not is_known:
                far.lasts_s = None
                far.end_tokens()
            found = await asyncio.gather(called(one), called(other))
            assert all("done x" in said for said in found)
            far.lasts_s = 3_600
    assert far.refresh != "none any more"
    assert len(far.pages) == 1
    renewals = [form for form in far.asked if form["grant_type"] == "refresh_token"]
    assert len({form["refresh_token"] for form in renewals}) == len(renewals)


async def test_a_logins_tokens_are_in_no_error(tmp_path: Path, far: HttpToolServer) -> None:
    async with opened(tmp_path, {"far": at(far)}) as servers:
        await log_in(servers, "far")
        with pytest.raises(ToolError, match=r"no rights with Bearer \[key\]"):
            await run(servers, "far/do", do="leak")
        found = await run(servers, "far/do", do="leak as a result")
    assert "no rights with Bearer [key]" in found
    assert "token-" not in found


def test_parts_of_a_login_that_two_change_at_once_both_stay() -> None:
    logins = SavedLogins(logins_file())
    url = "https://far.example/mcp"

    def change(part: str) -> None:
        for number in range(40):
            logins.update(url, **{part: str(number)})

    threads = [threading.Thread(target=change, args=(part,)) for part in ("tokens", "lacks")]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    login = logins.find(url)
    assert login is not None
    assert (login.tokens, login.lacks) == ("39", "39")


def test_a_folder_names_a_client_as_others_do_but_no_secret(tmp_path: Path) -> None:
    oauth = {"clientId": "public", "callbackPort": 8123, "scopes": ["a", "b"], "clientSecret": "x"}
    named = {"type": "http", "url": "https://far.example/mcp", "oauth": {**oauth, "enabled": True}}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"far": named}}))
    (plan,), problems = plans(ToolServerOptions(), [Root("here", tmp_path, is_trusted=True)])
    assert problems == ()
    assert plan.options.oauth.facts == {
        "client_id": "public",
        "callback_port": "8123",
        "scope": "a b",
    }
    assert plan.options.oauth.secrets == {}
    assert "sign-in: client_id = public" in plan.launch
    assert "client_id=public" in plan.shown
