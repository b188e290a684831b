"""From the command line's words to settings."""

from __future__ import annotations

import argparse
from typing import Any, cast

from agent_ls.domain.errors import SettingsError

_FLAGS = {
    "dry_run": ("dry_run",),
    "mode": ("mode",),
    "model": ("model",),
    "max_steps": ("policies", "step_limit", "max_steps"),
    "budget_usd": ("policies", "budget", "max_cost_usd"),
    "timeout": ("policies", "wall_clock", "limit_s"),
    "step_timeout": ("loop", "step_timeout_s"),
}


def command_line_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what flags and ``--set`` say, as a settings tree; flags win."""
    tree = parse_sets(getattr(arguments, "set", []))
    for flag, keys in _FLAGS.items():
        if (value := getattr(arguments, flag, None)) is not None:
            _put(tree, keys, value)
    return tree


def parse_sets(words: list[str]) -> dict[str, Any]:
    """Return ``KEY=VALUE`` words as a settings tree.

    Errors: ``SettingsError`` for a word without ``=``.
    """
    tree: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise SettingsError(f"--set {word}: write it as KEY=VALUE, such as mode=auto")
        _put(tree, tuple(key.strip().split(".")), value)
    return tree


def _put(tree: dict[str, Any], keys: tuple[str, ...], value: object) -> None:
    place = tree
    for key in keys[:-1]:
        inner = place.setdefault(key, {})
        if not isinstance(inner, dict):
            raise SettingsError(f"--set {key}=… and {'.'.join(keys)}=… cannot both hold")
        place = cast("dict[str, Any]", inner)
    place[keys[-1]] = value
