"""The client that the official conformance suite starts: the tool servers of a session, and a user.

The suite gives the server's address as the last argument, and the rest in variables.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import urllib.request
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from agent_ls.domain.approvals import QuestionAnswer
from agent_ls.domain.errors import ToolError
from agent_ls.mcp.configured import ServerOptions
from agent_ls.mcp.servers import Servers
from tests.mcp.conftest import opened

DOCUMENT = "https://conformance-test.local/client-metadata.json"
"""The suite's example of a client metadata document; nothing serves it."""
ARGUMENTS = {"add_numbers": {"a": 5, "b": 3}}
MOST_LOGINS = 2


def oauth_of(scenario: str, given: dict[str, str]) -> dict[str, str]:
    """Return what a user would write in their settings for the client that a scenario gives."""
    is_by_itself = "client-credentials" in scenario
    found = {
        "client_id": given.get("client_id", DOCUMENT if scenario.endswith("cimd") else ""),
        "client_secret": given.get("client_secret", ""),
        "private_key": given.get("private_key_pem", ""),
        "signing_algorithm": given.get("signing_algorithm", ""),
        "grant": "client_credentials" if is_by_itself else "",
    }
    return {name: value for name, value in found.items() if value}


def tell(words: str) -> None:
    """Show what a user would be told; the suite shows it when a scenario fails."""
    sys.stderr.write(f"{words}\n")


def browse(page: str) -> None:
    """Open a page as the user's browser does."""
    asyncio.get_running_loop().run_in_executor(None, lambda: urllib.request.urlopen(page).read())


async def take_default(
    _question: str, options: tuple[str, ...], default: str = ""
) -> QuestionAnswer:
    """Answer a question as a user who takes the default, else what is offered first."""
    return QuestionAnswer(text=default or options[0], by="user")


async def call(servers: Servers, name: str) -> None:
    tool = servers.tools[name]
    arguments = tool.Arguments.model_validate(ARGUMENTS.get(name.split("/")[1], {}))
    await tool.run(arguments, SimpleNamespace(is_approved=False, ask=take_default))


async def use(servers: Servers) -> None:
    """Call every tool, and log in where one says that it wants a login."""
    logins = 0
    await servers.settle()
    if "wants a login" in servers.servers["suite"].state:
        logins += 1
        await servers.login("suite", browse)
        await servers.settle()
    for name in sorted(servers.tools):
        while True:
            try:
                await call(servers, name)
                break
            except ToolError as error:
                if "wants a login" not in error.text or logins == MOST_LOGINS:
                    raise
                logins += 1
                await servers.login("suite", browse)
    if not servers.servers["suite"].is_open:
        raise SystemExit(servers.servers["suite"].state)


async def main() -> None:
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    given: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    options = {"url": sys.argv[-1], "timeout_s": 20, "oauth": oauth_of(scenario, given)}
    with TemporaryDirectory() as place:
        os.environ["XDG_DATA_HOME"] = place
        suite = {"suite": ServerOptions.model_validate(options)}
        async with opened(Path(place), suite, tell=tell) as servers:
            await use(servers)


if __name__ == "__main__":
    asyncio.run(main())
