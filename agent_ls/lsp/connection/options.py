"""Reads the client's settings, in the several ways clients send them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, cast

from lsprotocol import types

from agent_ls.lsp.connection.asking import ClientError
from agent_ls.lsp.connection.language_server import AgentLanguageServer
from agent_ls.settings import Settings

_log = logging.getLogger(__name__)

_SECTION = "agent-ls"
_OURS = ("agent", "settings")


async def configuration(server: AgentLanguageServer) -> dict[str, Any]:
    """Return the editor's settings; empty if it cannot be asked or does not answer."""
    if not server.profile.configuration:
        return {}
    params = types.ConfigurationParams(items=[types.ConfigurationItem(section=_SECTION)])
    try:
        answer = await server.ask_client(types.WORKSPACE_CONFIGURATION, params)
    except ClientError as error:
        _log.info("no configuration: %s", error)
        return {}
    return settings_of(answer[0]) if answer else {}


def settings_in(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings in ``initializationOptions``: ``settings``, or all but ``agent``."""
    under = options.get("settings")
    if isinstance(under, dict):
        return dict(cast("dict[str, Any]", under))
    return {key: value for key, value in options.items() if key not in _OURS}


def settings_of(value: object) -> dict[str, Any]:
    """Return the settings in a client's configuration, with or without our section name."""
    if not isinstance(value, dict):
        return {}
    found = cast("dict[str, Any]", value)
    section = found.get(_SECTION, found)
    return dict(cast("dict[str, Any]", section)) if isinstance(section, dict) else {}


def without_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that differ from the defaults: some editors send every setting.

    In an untrusted folder each of them would otherwise be refused with a message.
    """
    return _without(values, Settings().model_dump(mode="json"))


def _without(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in values.items():
        default = defaults.get(key)
        if isinstance(value, Mapping) and isinstance(default, Mapping):
            inner = _without(cast("Mapping[str, Any]", value), cast("Mapping[str, Any]", default))
            if inner:
                kept[key] = inner
        elif value is not None and (key not in defaults or value != default):
            kept[key] = value
    return kept
