"""Servers that others wrote, from the registries, as a user would name them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from agent_ls.mcp.configured import ServerOptions
from agent_ls.mcp.servers import Servers
from tests.mcp.conftest import opened, output_of, run

pytestmark = [pytest.mark.long, pytest.mark.asyncio(loop_scope="module")]

REAL = Path(__file__).with_name("real")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the pinned servers of ``real/`` installed."""
    place = tmp_path_factory.mktemp("real")
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(REAL / name, place)
    subprocess.run(["npm", "ci", "--silent"], cwd=place, check=True)
    subprocess.run([sys.executable, "-m", "venv", place / "venv"], check=True)
    wanted = ["--quiet", "--require-hashes", "-r", str(REAL / "requirements.txt")]
    subprocess.run([place / "venv/bin/pip", "install", *wanted], check=True)
    return place


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def servers(
    programs: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Servers]:
    place = tmp_path_factory.mktemp("place")
    (place / "project").mkdir()
    (place / "project/a.txt").write_text("hello\n")
    node = programs / "node_modules/.bin"
    several = {
        "all": ServerOptions(command=str(node / "mcp-server-everything")),
        "files": ServerOptions(
            command=str(node / "mcp-server-filesystem"), args=(str(place / "project"),)
        ),
        "time": ServerOptions(command=str(programs / "venv/bin/mcp-server-time")),
    }
    async with opened(place, several, max_offered=1_000) as found:
        await found.settle()
        yield found


async def test_each_offers_its_tools(servers: Servers) -> None:
    assert {name: (one.is_open, one.problems) for name, one in servers.servers.items()} == {
        name: (True, ()) for name in ("all", "files", "time")
    }
    assert {"all/echo", "files/read_text_file", "time/convert_time"} <= servers.tools.keys()


@pytest.mark.parametrize(
    "tool, arguments, words",
    [
        ("all/echo", {"message": "hi"}, "Echo: hi"),
        ("all/get-sum", {"a": 2, "b": 3}, "5"),
        ("all/get-tiny-image", {}, "[image image/png, "),
        ("all/get-structured-content", {"location": "New York"}, '"humidity"'),
        ("all/trigger-long-running-operation", {"duration": 1, "steps": 2}, "completed"),
        ("time/get_current_time", {"timezone": "Europe/Rome"}, '"timezone": "Europe/Rome"'),
        ("files/list_allowed_directories", {}, "/project"),
    ],
)
async def test_calls_are_answered(
    servers: Servers, tool: str, arguments: dict[str, object], words: str
) -> None:
    found = await output_of(servers, tool, **arguments)
    assert (found.error, words in found.text) == (None, True), found.text


async def test_what_they_refuse_is_an_error(servers: Servers) -> None:
    found = await output_of(servers, "files/read_text_file", path="/etc/hostname")
    assert found.error is not None
    assert "Access denied" in found.text
    with pytest.raises(ValueError, match="'x' is not of type 'number'"):
        await run(servers, "all/get-sum", a="x", b=3)


async def test_a_file_is_read_in_the_workspace(servers: Servers) -> None:
    said = await run(servers, "files/list_allowed_directories")
    folder = said.strip().splitlines()[-1]
    assert "hello" in await run(servers, "files/read_text_file", path=f"{folder}/a.txt")


async def test_definitions_are_the_same_at_the_next_start(servers: Servers) -> None:
    digests = {name: one.pin.digest for name, one in servers.servers.items() if one.pin}
    for one in servers.servers.values():
        one.is_open = False
    assert "Echo: again" in await run(servers, "all/echo", message="again")
    await run(servers, "time/get_current_time", timezone="UTC")
    assert {name: one.pin.digest for name, one in servers.servers.items() if one.pin} == digests
    assert not any(one.changed for one in servers.servers.values())
