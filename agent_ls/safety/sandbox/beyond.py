"""What a command asks for beyond the sandbox, in words for the approval."""

from __future__ import annotations

from collections.abc import Iterable

from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.ports.commands import Boundary
from agent_ls.safety.text import visible_line


def beyond(
    planned: PlannedCall, boundary: Boundary, *, granted: frozenset[str] = frozenset()
) -> str:
    """Return what the call wants beyond the sandbox and the granted hosts.

    Shape: empty for nothing, or without a sandbox.
    """
    if boundary != "sandbox":
        return ""
    is_outside = bool(getattr(planned.arguments, "outside_sandbox", False))
    hosts: tuple[str, ...] = tuple(getattr(planned.arguments, "network", ()))
    reason = str(getattr(planned.arguments, "reason", ""))
    hosts = tuple(one for one in hosts if one.lower() not in granted)
    return in_words(hosts, is_outside=is_outside, reason=reason)


def in_words(hosts: Iterable[str], *, is_outside: bool, reason: str) -> str:
    """Return what is wanted, payload first: the place, the hosts, and the model's reason."""
    wanted = ["outside the sandbox"] if is_outside else []
    wanted += [f"network: {', '.join(visible_line(one) for one in hosts)}"] if hosts else []
    if not wanted:
        return ""
    why = f" ({visible_line(reason)[:300]})" if reason else ""
    return f"{'; '.join(wanted)}{why}"
