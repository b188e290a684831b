"""Which calls may run at the same time. Pure.

READ with READ always; a WRITE with anything on another file; the same file in order;
EXECUTE and DELEGATE alone. Source: seed 000 batches, seed 001 reactive scheduling.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from agent_ls.domain.calls import Effect
from agent_ls.loop.sockets import PlannedCall, ReferringCall

_Call = PlannedCall | ReferringCall
Name = Callable[[str], str]
"""Gives one file one name, however a call spells it."""

_ALONE = frozenset({Effect.EXECUTE, Effect.DELEGATE})


def conflicts(later: _Call, earlier: _Call, name: Name) -> bool:
    """Say whether ``later`` must wait until ``earlier``, written before it, is finished."""
    effects = {later.effect, earlier.effect}
    if effects == {Effect.READ}:
        return False
    if not all(map(_is_apart, (later, earlier))):
        return True
    if effects & _ALONE:
        return False
    mine, others = _places(later, name), _places(earlier, name)
    # A call that names no file looks at, or changes, everything.
    return not mine or not others or any(_overlap(a, b) for a in mine for b in others)


def _is_apart(planned: _Call) -> bool:
    """Say whether the call may run beside others; those that can do anything must say so."""
    arguments = getattr(planned, "arguments", None)
    return planned.effect not in _ALONE or getattr(arguments, "independent", False) is True


def _places(planned: _Call, name: Name) -> list[str]:
    return [posixpath.normpath(name(path).replace("\\", "/")) for path in planned.paths]


def _overlap(one: str, other: str) -> bool:
    if "." in (one, other):
        return True
    return one == other or one.startswith(other + "/") or other.startswith(one + "/")
