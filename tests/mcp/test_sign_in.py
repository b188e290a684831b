"""Signing in: given clients, tokens that end, and logins that allow too little."""

from __future__ import annotations

import asyncio
import base64
import json
import urllib.request
from collections.abc import Iterator
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


def at(serving: HttpToolServer, **oauth: object) -> dict[str, ServerOptions]:
    given: dict[str, Any] = {"url": f"{serving.base}/mcp", "timeout_s": 10, "oauth": oauth}
    return {"far": ServerOptions.model_validate(given)}


def browse(page: str) -> None:
    """Open the page as the user's browser does."""

    def load() -> None:
        # A refused login ends at agent-ls, too.
        urllib.request.urlopen(page).read()

    asyncio.get_running_loop().run_in_executor(None, load)


def basic(client: str, secret: str) -> str:
    return f"Basic {base64.b64encode(f'{client}:{secret}'.encode()).decode()}"


async def called(servers: Servers) -> str:
    return await run(servers, "far/do", do="x")


@pytest.mark.parametrize(
    "methods, wanted",
    [
        (None, {"by": basic("mine", "hush-hush")}),
        (["client_secret_basic"], {"by": basic("mine", "hush-hush")}),
        (["client_secret_post"], {"client_id": "mine", "client_secret": "hush-hush"}),
    ],
)
async def test_a_given_client_logs_in_where_none_can_register(
    tmp_path: Path,
    far: HttpToolServer,
    monkeypatch: pytest.MonkeyPatch,
    methods: list[str] | None,
    wanted: dict[str, str],
) -> None:
    monkeypatch.setenv("FAR_SECRET", "hush-hush")
    far.registers, far.place, far.methods, far.client = False, "/tenant", methods, wanted
    settings = at(far, client_id="mine", client_secret="${FAR_SECRET}", scope="read")
    async with opened(tmp_path, settings) as servers:
        await servers.look()
        await servers.login("far", browse)
        await servers.settle()
        assert "done x" in await called(servers)
        assert "hush" not in servers.start_shown("far")
    assert (far.pages[0]["client_id"], far.pages[0]["scope"]) == ("mine", "read")
    assert "hush" not in logins_file().read_text()
    # The next agent-ls has it made new, at the address that only the metadata tells.
    far.tokens += 1
    far.scopes[f"token-{far.tokens}"] = "read"
    async with opened(tmp_path, settings) as servers:
        await servers.settle()
        assert "done x" in await called(servers)
    assert [form["grant_type"] for form in far.asked] == ["authorization_code", "refresh_token"]
    assert len(far.pages) == 1


async def test_a_token_that_does_not_say_when_it_ends_is_made_new(
    tmp_path: Path, far: HttpToolServer
) -> None:
    far.lasts_s, far.place = None, "/tenant"
    async with opened(tmp_path, at(far)) as servers:
        await servers.look()
        await servers.login("far", browse)
        await servers.settle()
        for _ in range(2):
            far.scopes[f"token-{far.tokens + 1}"] = ""
            far.tokens += 1
            assert "done x" in await called(servers)
    assert len(far.pages) == 1


async def test_where_no_metadata_is_the_login_is_at_the_servers_own_address(
    tmp_path: Path, far: HttpToolServer
) -> None:
    # As the protocol of 2025-03-26 has it.
    far.has_metadata, far.lasts_s = False, 1
    async with opened(tmp_path, at(far)) as servers:
        await servers.look()
        await servers.login("far", browse)
        await servers.settle()
        assert "done x" in await called(servers)
        await asyncio.sleep(1.1)
        assert "done x" in await called(servers)
    assert {form["grant_type"] for form in far.asked} == {"authorization_code", "refresh_token"}


async def test_a_login_that_allows_too_little_costs_the_call_alone(
    tmp_path: Path, far: HttpToolServer
) -> None:
    far.call_scope = "write"
    settings = at(far, scope="read")
    async with opened(tmp_path, settings) as servers, opened(tmp_path, settings) as terminal:
        await servers.look()
        await servers.login("far", browse)
        await servers.settle()
        for _ in range(4):
            with pytest.raises(ToolError, match=r"a login that allows write \(agent-ls mcp login"):
                await called(servers)
        assert servers.servers["far"].state == "1 tool, running"
        assert len(far.pages) == 1
        # The login elsewhere counts in the session that runs.
        await terminal.look()
        await terminal.login("far", browse)
        assert "done x" in await called(servers)
    assert [page["scope"] for page in far.pages] == ["read", "read write"]
    assert SavedLogins(logins_file()).find(f"{far.base}/mcp").lacks == ""  # type: ignore[union-attr]


async def test_a_login_that_is_broken_off_leaves_the_older_one(
    tmp_path: Path, far: HttpToolServer
) -> None:
    async with opened(tmp_path, at(far)) as servers:
        await servers.look()
        await servers.login("far", browse)
        far.denies = True
        with pytest.raises(ToolError, match="the login was refused: access_denied"):
            await servers.login("far", browse)
        far.denies = False
    async with opened(tmp_path, at(far)) as servers:
        await servers.settle()
        assert "done x" in await called(servers)


async def test_client_credentials_need_no_user(
    tmp_path: Path, far: HttpToolServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAR_SECRET", "hush-hush")
    far.client, far.call_scope, far.lasts_s = {"by": basic("robot", "hush-hush")}, "write", 1
    settings = at(
        far,
        client_id="robot",
        client_secret="${FAR_SECRET}",
        grant="client_credentials",
        issuer=far.base,
        scope="read",
    )
    async with opened(tmp_path, settings) as servers:
        await servers.settle()
        # The server wants more for a call than for its list.
        assert "done x" in await called(servers)
        await asyncio.sleep(1.1)
        assert "done x" in await called(servers)
    assert far.pages == []
    assert [form.get("scope") for form in far.asked][:2] == ["read", "read write"]
    assert SavedLogins(logins_file()).find(f"{far.base}/mcp") is None


@pytest.mark.parametrize(
    "secret, issuer, words",
    [
        ("wrong-wrong", "", "Token exchange failed (401)"),
        ("hush-hush", "https://elsewhere.example", "configured issuer https://elsewhere.example"),
        ("", "", "its oauth.client_secret is empty: set the variable it names"),
    ],
)
async def test_credentials_that_are_not_taken_are_said(
    tmp_path: Path,
    far: HttpToolServer,
    monkeypatch: pytest.MonkeyPatch,
    secret: str,
    issuer: str,
    words: str,
) -> None:
    monkeypatch.setenv("FAR_SECRET", secret)
    far.client = {"by": basic("robot", "hush-hush")}
    oauth = {"client_id": "robot", "client_secret": "${FAR_SECRET}", "issuer": issuer}
    async with opened(tmp_path, at(far, **oauth, grant="client_credentials")) as servers:
        await servers.settle()
        assert words in servers.servers["far"].state
        assert "hush" not in servers.servers["far"].state
    assert not issuer or far.asked == []


@pytest.mark.parametrize("form", ["lines", "one line"])
async def test_a_key_signs_instead_of_a_secret(
    tmp_path: Path, far: HttpToolServer, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    monkeypatch.setenv("FAR_KEY", pem if form == "lines" else pem.replace("\n", "\\n"))
    oauth = {"client_id": "robot", "private_key": "${FAR_KEY}", "grant": "client_credentials"}
    async with opened(tmp_path, at(far, **oauth, signing_algorithm="ES256")) as servers:
        await servers.settle()
        assert "done x" in await called(servers)
    claims = jwt.decode(
        far.asked[0]["client_assertion"], key.public_key(), ["ES256"], audience=far.base
    )
    assert (claims["iss"], claims["sub"]) == ("robot", "robot")
    other = tmp_path / "other"
    other.mkdir()
    async with opened(other, at(far, **oauth)) as servers:
        await servers.settle()
        state = servers.servers["far"].state
        assert "its private key does not sign with RS256" in state
        assert "BEGIN" not in state


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
