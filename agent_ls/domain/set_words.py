"""``KEY=VALUE`` words, as ``--set`` and the tasks of batches have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from agent_ls.domain.errors import SettingsError


def parse_sets(words: Sequence[str]) -> dict[str, Any]:
    """Return ``KEY=VALUE`` words as a settings tree.

    Errors: ``SettingsError`` for a word without ``=``.
    """
    tree: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise SettingsError(f"--set {word}: write it as KEY=VALUE, such as mode=auto")
        put_setting(tree, tuple(key.strip().split(".")), value)
    return tree


def put_setting(tree: dict[str, Any], keys: tuple[str, ...], value: object) -> None:
    """Set a value in a settings tree. Errors: ``SettingsError`` if a part of its key holds one."""
    place = tree
    for key in keys[:-1]:
        inner = place.setdefault(key, {})
        if not isinstance(inner, dict):
            raise SettingsError(f"--set {key}=… and {'.'.join(keys)}=… cannot both hold")
        place = cast("dict[str, Any]", inner)
    place[keys[-1]] = value
