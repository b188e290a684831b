"""Converts command line options to settings."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from agent_ls.domain.errors import SettingsError
from agent_ls.domain.set_words import parse_sets, put_setting
from agent_ls.settings import LoadedSettings, load_settings

NO_MODEL = (
    "No model is set. `agent-ls setup` asks for one, tries it and writes it down. Or give --model, "
    "or set AGENT_LS_MODEL. `agent-ls demo` needs none."
)
_FLAGS = {
    "dry_run": ("dry_run",),
    "mode": ("mode",),
    "model": ("model",),
    "max_steps": ("policies", "step_limit", "max_steps"),
    "budget_usd": ("policies", "budget", "max_cost_usd"),
    "timeout": ("policies", "wall_clock", "limit_s"),
    "step_timeout": ("loop", "step_timeout_s"),
    "evaluate": ("policies", "self_evaluation", "level"),
}


def command_line_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return flags and ``--set`` options as a settings tree; flags win."""
    tree = parse_sets(getattr(arguments, "set", []))
    for flag, keys in _FLAGS.items():
        if (value := getattr(arguments, flag, None)) is not None:
            put_setting(tree, keys, value)
    return tree


def conversation_settings(
    arguments: argparse.Namespace, folder: Path, defaults: dict[str, Any] | None = None
) -> LoadedSettings:
    """Return the settings for talking to a model in a folder.

    Errors: ``SettingsError`` for mistakes of the user's, and where no model is set.
    """
    loaded = load_settings(
        folders=[folder], command_line=command_line_settings(arguments), defaults=defaults or {}
    )
    tell_problems(loaded)
    if not loaded.settings.model:
        raise SettingsError(NO_MODEL)
    return loaded


def folder_of(arguments: argparse.Namespace) -> Path:
    """Return the workspace's folder. Errors: ``SettingsError`` if it is not a folder."""
    folder = Path(arguments.workspace).resolve()
    if not folder.is_dir():
        raise SettingsError(f"{folder} is not a folder: give --workspace an existing one.")
    return folder


def tell_problems(loaded: LoadedSettings) -> None:
    """Print which settings were ignored.

    Errors: ``SettingsError`` for mistakes in the user's own settings, because a mistyped limit
    must not become no limit.
    """
    if loaded.own_problems:
        raise SettingsError("\nagent-ls: ".join(loaded.own_problems))
    for problem in loaded.problems:
        sys.stderr.write(f"agent-ls: {problem}\n")
