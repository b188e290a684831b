"""``mcp``: lists tool servers, approves and forgets them, and logs in at remote ones."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from agent_ls.assembly import open_disk_workspace, open_tool_servers
from agent_ls.cli.options import command_line_settings, folder_of, tell_problems
from agent_ls.cli.output import print_json
from agent_ls.domain.errors import SettingsError, ToolError
from agent_ls.domain.sentences import counted
from agent_ls.mcp.known_server import Server
from agent_ls.mcp.servers import Servers
from agent_ls.safety.text import visible, visible_line
from agent_ls.settings import load_settings

_DECLINED = 1


def mcp(arguments: argparse.Namespace) -> int:
    """Carry out the action and return the exit code. Errors: ``SettingsError``."""
    return asyncio.run(_run(arguments, folder_of(arguments)))


async def _run(arguments: argparse.Namespace, folder: Path) -> int:
    loaded = load_settings(folders=[folder], command_line=command_line_settings(arguments))
    tell_problems(loaded)
    workspace = open_disk_workspace([folder])
    async with open_tool_servers(loaded.settings, workspace, _warn) as servers:
        return await _act(servers, arguments)


async def _act(servers: Servers, arguments: argparse.Namespace) -> int:
    try:
        await servers.look()
        for problem in servers.problems:
            _warn(visible_line(problem))
        if arguments.action in (None, "list"):
            _list(servers, as_json=arguments.json)
            return 0
        if arguments.server not in servers.servers:
            names = ", ".join(servers.servers) or "none"
            raise SettingsError(
                f"there is no tool server {visible_line(arguments.server)} here; those are: {names}"
            )
        return await _change(servers, arguments)
    except ToolError as error:
        raise SettingsError(visible(error.text)) from None


async def _change(servers: Servers, arguments: argparse.Namespace) -> int:
    name: str = arguments.server
    match arguments.action:
        case "approve":
            return await _approve(servers, name, is_sure=arguments.yes)
        case "forget":
            await servers.forget(name)
            sys.stdout.write(f"{name} is forgotten.\n")
        case _:
            await servers.login(name, lambda page: _show_page(name, page))
            sys.stdout.write(f"You are logged in at {name}.\n")
    return 0


def _list(servers: Servers, *, as_json: bool) -> None:
    found = servers.servers
    if as_json:
        print_json([_facts(name, one) for name, one in found.items()])
        return
    if not found:
        sys.stdout.write(
            "No tool server is configured. A table [mcp.servers.NAME] in config.toml, with "
            "`command` or `url`, names one; `agent-ls doctor` says where that file is.\n"
        )
    for name, one in found.items():
        shown = one.plan.shown.split("\n")
        sys.stdout.write(f"{name}: {visible_line(one.state)}\n  {shown[0]}\n  {shown[-1]}\n")


def _facts(name: str, one: Server) -> dict[str, object]:
    return {
        "server": name,
        "place": one.plan.place,
        "state": one.state,
        "approved": one.is_approved,
        "tools": [tool.name for tool in one.tools],
    }


async def _approve(servers: Servers, name: str, *, is_sure: bool) -> int:
    """Show what would start, ask, start it, and show and ask again what it changed."""
    if not _is_yes(f"{servers.start_shown(name)}\nStart this?", is_sure=is_sure):
        return _DECLINED
    refused: ToolError | None = None
    try:
        await servers.start(name)
    except ToolError as error:
        refused = error
    if change := servers.change(name):
        if not _is_yes(f"{change}\nApprove these changes?", is_sure=is_sure):
            return _DECLINED
        await servers.accept(name)
    elif refused is not None:
        raise refused
    one = servers.servers[name]
    sys.stdout.write(f"{name} is approved, with {counted(len(one.tools), 'tool')}:\n")
    for tool in one.tools:
        sys.stdout.write(f"  {tool.name}: {visible_line(tool.description)[:100]}\n")
    for problem in one.problems:
        sys.stdout.write(f"  {problem}\n")
    return 0


def _is_yes(question: str, *, is_sure: bool) -> bool:
    """Ask the user to confirm. Errors: ``SettingsError`` without a terminal."""
    if is_sure:
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise SettingsError(f"{question} There is no terminal to ask at: add --yes if you mean it.")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _warn(words: str) -> None:
    sys.stderr.write(f"agent-ls: {words}\n")


def _show_page(name: str, page: str) -> None:
    sys.stderr.write(f"To log in at {name}, open this page:\n{visible_line(page)}\n")
    sys.stderr.flush()
