"""Overrides git configuration that can name programs, or refuses it.

``CLEAN_GIT`` overrides what can be overridden. Other settings pass only if ``git_settings.toml``
lists them as harmless.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

_TABLE: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("git_settings.toml").read_text("utf-8")
)
_OVERRIDES = _TABLE["overrides"]
_HARMLESS_SECTIONS = frozenset(_TABLE["harmless"]["sections"].split())
_HARMLESS_KEYS = frozenset(_TABLE["harmless"]["keys"].split())

CLEAN_GIT: dict[str, str] = {
    **_TABLE["environment"],
    # Before 2.31 git knew only this form; both say the same.
    "GIT_CONFIG_PARAMETERS": " ".join(f"'{key}={value}'" for key, value in _OVERRIDES.items()),
    "GIT_CONFIG_COUNT": str(len(_OVERRIDES)),
    **{f"GIT_CONFIG_KEY_{n}": key for n, key in enumerate(_OVERRIDES)},
    **{f"GIT_CONFIG_VALUE_{n}": value for n, value in enumerate(_OVERRIDES.values())},
}
"""The environment under which a repository's hooks, pagers, monitors and helpers do not run."""


def config_objection(setting: str, value: str) -> str:
    """Say why a setting of a repository may run a program; empty for one that does not.

    ``setting`` is as git writes it: section and key in lower case, the subsection unchanged.
    """
    section, _, rest = setting.partition(".")
    name = f"{section}.*.{rest.rpartition('.')[2]}" if "." in rest else setting
    if name == "core.bare" and value.lower() in ("false", "no", "off", "0"):
        return ""
    if section in _HARMLESS_SECTIONS or name in _HARMLESS_KEYS:
        return ""
    return f"the repository's configuration sets {name}, which may run or read something else"
