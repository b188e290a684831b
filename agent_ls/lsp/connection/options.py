"""What a client says of its settings, in whichever of the ways clients have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from agent_ls.settings import Settings

SECTION = "agent-ls"
_OURS = ("agent", "settings")


def settings_in(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings in ``initializationOptions``: under ``settings``, or all but ours."""
    under = options.get("settings")
    if isinstance(under, dict):
        return dict(cast("dict[str, Any]", under))
    return {key: value for key, value in options.items() if key not in _OURS}


def settings_of(value: object) -> dict[str, Any]:
    """Return the settings in what a client sends of its configuration, with our section or not."""
    if not isinstance(value, dict):
        return {}
    found = cast("dict[str, Any]", value)
    section = found.get(SECTION, found)
    return dict(cast("dict[str, Any]", section)) if isinstance(section, dict) else {}


def without_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is as it is by default: some editors send every setting they know.

    Before a folder is trusted each of them would be refused, and the person told.
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
