"""Prompts of tool servers as commands: listed without a start, asked for when called."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.domain.errors import AgentLsError
from agent_ls.extension.commands import FileCommands
from agent_ls.mcp.commands import ServerCommands
from agent_ls.mcp.servers import Servers
from agent_ls.session.custom_commands import expanded
from tests.mcp.conftest import opened, server

pytestmark = pytest.mark.heavy


def commands(place: Path, servers: Servers) -> ServerCommands:
    files = FileCommands(place / "config", servers._workspace)  # pyright: ignore[reportPrivateUsage]
    return ServerCommands(files, servers)


async def test_a_prompt_is_a_command(tmp_path: Path) -> None:
    given = {"desk": server("prompts")}
    async with opened(tmp_path, given) as servers:
        await servers.settle()
        found = await commands(tmp_path, servers).listed()
        assert list(found.commands) == ["desk:review"]
        one = found.commands["desk:review"]
        assert (one.argument_hint, one.description) == ("file [why]", "Reviews.")
    async with opened(tmp_path, given) as servers:
        # Listed from what is known, and started by the call.
        source = commands(tmp_path, servers)
        assert list((await source.listed()).commands) == ["desk:review"]
        assert not servers.servers["desk"].is_open
        text, limits = await expanded("/desk:review a.py for my peace", source, ())
        assert limits is None
        assert text == (
            "Command: /desk:review a.py for my peace\n\n"
            "(The following is the text of the tool server desk.)\n"
            "Look at a.py because of: for my peace"
        )
        text, _ = await expanded("/desk:review 'a b.py' \"my peace\"", source, ())
        assert text.endswith("Look at a b.py because of: my peace")
        with pytest.raises(AgentLsError, match="needs file: /desk:review file"):
            await expanded("/desk:review", source, ())


async def test_a_file_of_the_user_wins(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "commands" / "desk"
    folder.mkdir(parents=True)
    (folder / "review.md").write_text("My own words about $1.\n")
    async with opened(tmp_path, {"desk": server("prompts")}) as servers:
        await servers.settle()
        text, _ = await expanded("/desk:review a.py", commands(tmp_path, servers), ())
        assert text.endswith("My own words about a.py.")


async def test_a_server_that_fails_is_said(tmp_path: Path) -> None:
    async with opened(tmp_path, {"desk": server("bad prompts")}) as servers:
        await servers.settle()
        with pytest.raises(AgentLsError, match="desk refused"):
            await expanded("/desk:review a.py", commands(tmp_path, servers), ())


async def test_prompts_are_commands_before_the_first_start(tmp_path: Path) -> None:
    given = {"desk": server("prompts"), "bad": server("ends at start")}
    async with opened(tmp_path, given) as servers:
        source = commands(tmp_path, servers)
        assert list((await source.listed()).commands) == ["desk:review"]
        text, _ = await expanded("/desk:review a.py", source, ())
        assert text.endswith("Look at a.py because of: None")
        await source.listed()
        # What failed is not started again by each look.
        assert servers.servers["bad"].failures == 1


async def test_a_command_of_a_slow_server_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_ls.mcp.servers._QUIET_S", 0.1)
    monkeypatch.setattr("agent_ls.mcp.servers._LISTING_S", 0.1)
    told: list[str] = []
    given = {"desk": server("slow at start prompts")}
    async with opened(tmp_path, given, tell=told.append) as servers:
        source = commands(tmp_path, servers)
        first = await source.listed()
        assert (list(first.commands), first.waiting) == ([], ("desk",))
        with pytest.raises(AgentLsError, match=r"no command /x\..* still starting.*: desk\."):
            await expanded("/x", source, ())
        last = await source.listed("desk:review")
        assert (list(last.commands), last.waiting) == (["desk:review"], ())
    (words,) = told
    assert words.startswith("The tool server desk is still starting.")


async def test_prompts_that_cannot_be_listed_cost_no_tool(tmp_path: Path) -> None:
    told: list[str] = []
    async with opened(tmp_path, {"desk": server("unlisted prompts")}, tell=told.append) as servers:
        await servers.settle()
        assert list(servers.tools) == ["desk/do"]
    words = "tool server desk: its prompts cannot be listed: ValidationError"
    assert any(one.startswith(words) for one in told)
