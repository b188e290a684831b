"""Servers at an address: calls, logins, tokens that end, and what a bad one can do."""

from __future__ import annotations

import asyncio
import stat
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_ls.domain.errors import ToolError
from agent_ls.mcp.configured import ServerOptions
from agent_ls.mcp.tokens import SavedLogins, logins_file
from tests.mcp.conftest import opened, run
from tests.mcp.http_server import HttpToolServer, http_server

pytestmark = pytest.mark.heavy


@pytest.fixture
def remote() -> Iterator[HttpToolServer]:
    with http_server() as serving:
        yield serving


@pytest.fixture
def closed() -> Iterator[HttpToolServer]:
    with http_server(wants_login=True) as serving:
        yield serving


def at(serving: HttpToolServer, **headers: str) -> dict[str, ServerOptions]:
    return {"far": ServerOptions(url=f"{serving.base}/mcp", headers=headers, timeout_s=10)}


async def test_a_remote_server_is_called_with_its_headers(
    tmp_path: Path, remote: HttpToolServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAR_TOKEN", "hush")
    async with opened(tmp_path, at(remote, Authorization="Bearer ${FAR_TOKEN}")) as servers:
        await servers.settle()
        assert "done x" in await run(servers, "far/do", do="x")
        assert set(remote.seen) == {"Bearer hush"}
        assert "hush" not in servers.start_shown("far")


@pytest.mark.parametrize(
    "token, words",
    [
        ("hush\nhush", "its header Authorization holds a line end after 11 characters"),
        ("hush\u200b", "its header Authorization holds an invisible character after 11"),
    ],
)
async def test_a_header_that_cannot_be_sent_is_named_and_not_shown(
    tmp_path: Path, remote: HttpToolServer, token: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAR_TOKEN", token)
    async with opened(tmp_path, at(remote, Authorization="Bearer ${FAR_TOKEN}")) as servers:
        await servers.settle()
        state = servers.servers["far"].state
        assert words in state
        assert "hush" not in state
        assert remote.seen == []


async def test_a_password_in_an_address_is_not_shown(
    tmp_path: Path, remote: HttpToolServer
) -> None:
    address = remote.base.replace("http://", "http://me:hush-hush@")
    servers_at = {"far": ServerOptions(url=f"{address}/nowhere", timeout_s=10)}
    async with opened(tmp_path, servers_at) as servers:
        await servers.settle()
        assert "hush" not in servers.servers["far"].state + servers.start_shown("far")


@pytest.mark.parametrize("limit_s", [1, 20])
async def test_the_server_is_told_when_a_call_ends_early(
    tmp_path: Path, remote: HttpToolServer, limit_s: int
) -> None:
    several = {"far": ServerOptions(url=f"{remote.base}/mcp", timeout_s=limit_s)}
    async with opened(tmp_path, several) as servers:
        await servers.settle()
        with pytest.raises((ToolError, TimeoutError)):
            async with asyncio.timeout(5 if limit_s == 1 else 0.5):
                await run(servers, "far/do", do="silence")
        assert "done x" in await run(servers, "far/do", do="x")
    assert "notifications/cancelled" in [one["method"] for one in remote.notified]


async def test_a_server_that_forgot_the_session_is_called_in_another(
    tmp_path: Path, remote: HttpToolServer
) -> None:
    async with opened(tmp_path, at(remote)) as servers:
        await servers.settle()
        remote.forgets_sessions = True
        with pytest.raises(ToolError, match="does not run"):
            await run(servers, "far/do", do="x")
        assert "done x" in await run(servers, "far/do", do="x")
        assert remote.sessions == 2


@pytest.mark.parametrize("bad, words", [("redirect", "redirected to"), ("giant", "16,777,216")])
async def test_a_bad_remote_server_is_an_error(
    tmp_path: Path, remote: HttpToolServer, bad: str, words: str
) -> None:
    async with opened(tmp_path, at(remote)) as servers:
        await servers.settle()
        remote.bad = bad
        with pytest.raises(ToolError) as error:
            await run(servers, "far/do", do="x")
        assert len(error.value.text) < 1_000
        remote.bad = ""
        assert "done x" in await run(servers, "far/do", do="x")


async def test_without_a_login_it_is_said_how_to_log_in(
    tmp_path: Path, closed: HttpToolServer
) -> None:
    async with opened(tmp_path, at(closed)) as servers:
        await servers.settle()
        assert "agent-ls mcp login" in servers.servers["far"].state
        assert closed.tokens == 0


async def test_a_login_is_kept_used_refreshed_and_forgotten(
    tmp_path: Path, closed: HttpToolServer
) -> None:
    pages: list[str] = []

    def browse(page: str) -> None:
        pages.append(page)
        asyncio.get_running_loop().run_in_executor(
            None, lambda: urllib.request.urlopen(page).read()
        )

    closed.lasts_s = 1
    async with opened(tmp_path, at(closed)) as servers:
        await servers.look()
        await servers.login("far", browse)
        await servers.settle()
        assert len(pages) == 1
        assert pages[0].startswith(f"{closed.base}/authorize?")
        assert "code_challenge_method=S256" in pages[0]
        assert "done x" in await run(servers, "far/do", do="x")
    file = logins_file()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "token-1" in file.read_text()
    await asyncio.sleep(1.1)
    async with opened(tmp_path, at(closed)) as servers:
        await servers.settle()
        assert "done y" in await run(servers, "far/do", do="y")
        # It ended meanwhile, and was made new without the user.
        assert closed.tokens >= 2
        assert len(pages) == 1
        await servers.forget("far")
    assert SavedLogins(file).find(f"{closed.base}/mcp") is None


async def test_a_login_goes_to_the_address_it_was_made_for(
    tmp_path: Path, closed: HttpToolServer, remote: HttpToolServer
) -> None:
    SavedLogins(logins_file()).update(f"{closed.base}/mcp", tokens='{"access_token": "mine"}')
    async with opened(tmp_path, at(remote)) as servers:
        await servers.settle()
        await run(servers, "far/do", do="x")
    assert set(remote.seen) == {""}
