"""Decides which calls may run at the same time. Pure.

Reads run beside reads, and so do commands that the guards found to only look. A write runs beside
calls on other files; calls on the same file run in order. Other commands and DELEGATE run alone
unless marked independent. Source: S0 batches, S1 reactive scheduling.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from agent_ls.domain.calls import Effect
from agent_ls.loop.extension_points import PlannedCall, ReferringCall

_Call = PlannedCall | ReferringCall
Name = Callable[[str], str]
"""Maps every spelling of a path to one name."""

_ALONE = frozenset({Effect.EXECUTE, Effect.DELEGATE})


def conflicts(later: _Call, earlier: _Call, name: Name) -> bool:
    """Say whether ``later`` must wait for ``earlier``, which the model wrote before it."""
    effects = {_effect(later), _effect(earlier)}
    if effects == {Effect.READ}:
        return False
    if not all(map(_is_apart, (later, earlier))):
        return True
    if effects & _ALONE:
        return False
    mine, others = _places(later, name), _places(earlier, name)
    # A call without paths may touch every file.
    return not mine or not others or any(_overlap(a, b) for a in mine for b in others)


def _is_apart(planned: _Call) -> bool:
    """Say whether the call may run beside others; EXECUTE and DELEGATE must set ``independent``."""
    arguments = getattr(planned, "arguments", None)
    return _effect(planned) not in _ALONE or getattr(arguments, "independent", False) is True


def _effect(planned: _Call) -> Effect:
    return Effect.READ if _only_looks(planned) else planned.effect


def _only_looks(planned: _Call) -> bool:
    return isinstance(planned, PlannedCall) and planned.reads_only


def _places(planned: _Call, name: Name) -> list[str]:
    if planned.effect is Effect.EXECUTE:
        # A command's path is the folder that it runs in, not what it looks at.
        return []
    return [posixpath.normpath(name(path).replace("\\", "/")) for path in planned.paths]


def _overlap(one: str, other: str) -> bool:
    if "." in (one, other):
        return True
    return one == other or one.startswith(other + "/") or other.startswith(one + "/")
