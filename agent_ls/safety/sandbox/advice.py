"""What a user can do to get a sandbox, or a better one."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from agent_ls.domain.sentences import sentence
from agent_ls.safety.sandbox.bubblewrap import find_bubblewrap
from agent_ls.safety.sandbox.probe import ProbeResult

_SYSTEM = Path("/proc/sys")
_SWITCHES = {
    "kernel/unprivileged_userns_clone": ("0", "The kernel gives users no namespaces"),
    "user/max_user_namespaces": ("0", "The kernel gives users no namespaces"),
    "kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "AppArmor refuses namespaces to programs without a profile, as on Ubuntu 24.04: give bwrap "
        "a profile with `userns,`",
    ),
}
"""Switches of the kernel: the value that keeps bubblewrap from running, and what it means."""


def advice(system: Path = _SYSTEM) -> tuple[str, ...]:
    """Return what to install or to switch, in sentences without a full stop."""
    if platform.system() != "Linux":
        return ()
    return (*_install(), *_switches(system))


def banner(probed: ProbeResult, told: Path) -> str:
    """Return what a user is told when no sandbox works; empty if they know it already.

    ``told`` is the file that remembers what was told.
    """
    if probed.sandbox is not None or not probed.why:
        return ""
    with suppress(OSError):
        if told.read_text("utf-8") == probed.why:
            return ""
    with suppress(OSError):
        told.parent.mkdir(parents=True, exist_ok=True)
        told.write_text(probed.why, "utf-8")
    sentences = (
        f"agent-ls found no working sandbox, so it asks before more commands ({probed.why})",
        *advice(),
        'To do without one, write sandbox.use = "off" into your settings',
    )
    return " ".join(map(sentence, sentences))


def _install() -> Iterator[str]:
    try:
        find_bubblewrap()
    except OSError:
        yield "Install bubblewrap from your system's packages, such as `apt install bubblewrap`"


def _switches(system: Path) -> Iterator[str]:
    for name, (closed, meaning) in _SWITCHES.items():
        with suppress(OSError):
            if (system / name).read_text("ascii").strip() == closed:
                yield f"{meaning} ({name.replace('/', '.')} is {closed})"
