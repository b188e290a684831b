"""The tool servers that a client names with a session, as settings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from acp import schema

ToolServer = (
    schema.HttpMcpServer | schema.SseMcpServer | schema.AcpMcpServer | schema.McpServerStdio
)

_LONGEST_NAME = 20


def settings_of(servers: Iterable[ToolServer]) -> dict[str, Any]:
    """Return the servers as ``mcp.servers`` settings; those of other transports are left out."""
    found: dict[str, Any] = {}
    for one in servers:
        name = re.sub(r"[^A-Za-z0-9]+", "-", one.name)[:_LONGEST_NAME].strip("-")
        match one:
            case schema.McpServerStdio():
                variables = {each.name: each.value for each in one.env}
                found[name] = {"command": one.command, "args": one.args, "env": variables}
            case schema.HttpMcpServer():
                headers = {each.name: each.value for each in one.headers}
                found[name] = {"url": one.url, "headers": headers}
            case schema.SseMcpServer() | schema.AcpMcpServer():
                pass
    return {"mcp": {"servers": found}} if found else {}
