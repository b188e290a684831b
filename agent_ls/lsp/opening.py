"""Loads the agent behind an answered ``initialize``: modules, message types, settings, store."""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Mapping
from typing import Any

from lsprotocol import types

from agent_ls.lsp import wire
from agent_ls.lsp.connection.asking import ClientError
from agent_ls.lsp.connection.language_server import AgentLanguageServer
from agent_ls.lsp.connection.options import SECTION, settings_in, settings_of
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.server import COMMANDS, FEATURES

_log = logging.getLogger(__name__)

_CONFIGURATION_S = 1.0


async def open_edge(
    server: AgentLanguageServer, options: Mapping[str, Any], command_line: Mapping[str, Any]
) -> Edge:
    """Return the edge, ready for requests; what could not be opened is told to the person."""
    for method in wire.METHODS:
        server.custom_method(method.name, method.params, method.result)
    await asyncio.to_thread(_import_handlers)
    edge = Edge(server, command_line, settings_in(options))
    edge.editor_settings = {**edge.initial_settings, **await configuration(server)}
    await edge.open()
    return edge


async def configuration(server: AgentLanguageServer) -> dict[str, Any]:
    """Return what the editor's own settings say, where it can be asked."""
    if not server.profile.configuration:
        return {}
    params = types.ConfigurationParams(items=[types.ConfigurationItem(section=SECTION)])
    try:
        answer = await server.ask_client(
            types.WORKSPACE_CONFIGURATION, params, timeout_s=_CONFIGURATION_S
        )
    except ClientError as error:
        _log.info("no configuration: %s", error)
        return {}
    return settings_of(answer[0]) if answer else {}


def _import_handlers() -> None:
    """Import all handlers now, so that the first request of each does not wait for the disk."""
    modules = {module for module, _ in FEATURES.values()}
    modules |= {place.partition(".")[0] for place in COMMANDS.values()}
    for module in sorted(modules):
        importlib.import_module(f"agent_ls.lsp.handlers.{module}")
