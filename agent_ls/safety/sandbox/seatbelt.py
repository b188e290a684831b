"""Confinement by ``sandbox-exec`` of macOS. Only the text of the profile is tested, not its effect.

Source: the profiles of macOS in ``/System/Library/Sandbox/Profiles``. The last rule that fits wins.
"""

from __future__ import annotations

import platform
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from agent_ls.safety.sandbox.confinement import ALL_HOSTS, Confinement, Wrapped

_PROGRAM = Path("/usr/bin/sandbox-exec")
_SYSTEM = (
    *(
        "/usr",
        "/bin",
        "/sbin",
        "/System",
        "/Library",
        "/opt",
        "/nix",
        "/dev",
        "/Applications/Xcode.app",
    ),
    *("/private/etc", "/private/var/db/timezone", "/private/var/select", "/private/var/db/dyld"),
)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper", "/dev/ptmx")
_SERVICES = (
    "com.apple.system.opendirectoryd.libinfo",
    "com.apple.system.opendirectoryd.membership",
    "com.apple.system.notification_center",
    "com.apple.logd",
)
_HEAD = """\
(version 1)
(deny default)
(allow process-exec process-fork)
(allow signal process-info* (target same-sandbox))
(allow sysctl-read)
(allow ipc-posix-sem)
(allow file-read-metadata)
(allow file-read-data (literal "/"))
"""


@dataclass(frozen=True, slots=True)
class Seatbelt:
    """Runs commands with ``sandbox-exec``."""

    name: ClassVar[str] = "seatbelt"
    shows_texts: ClassVar[bool] = False
    hint: ClassVar[str] = ""
    remains: ClassVar[str] = (
        "It was never tried on a Mac; commands see names of files and processes outside"
    )

    def wrap(
        self,
        confinement: Confinement,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
    ) -> Wrapped:
        """Return how to start the command confined; it starts in ``cwd`` as given to the runner.

        Errors: ``OSError``.
        """
        if confinement.network not in ((), ALL_HOSTS):
            raise OSError("seatbelt cannot limit the network to hosts; grant all or none")
        own = Path(tempfile.mkdtemp(prefix="agent-ls-")).resolve()
        kept = confinement.tmp if confinement.view == "workspace-write" else None
        temporary, cache = (kept / "tmp", kept / "cache") if kept else (own, own)
        argv = (str(_PROGRAM), "-p", profile(confinement, (temporary, cache)), *command)
        inner = {**env, "TMPDIR": str(temporary), "XDG_CACHE_HOME": str(cache)}
        return Wrapped(argv, inner, lambda: shutil.rmtree(own, ignore_errors=True))


def find_seatbelt() -> Seatbelt:
    """Return the sandbox of macOS. Errors: ``OSError`` elsewhere."""
    if platform.system() != "Darwin" or not _PROGRAM.exists():
        raise OSError(f"not on {platform.system()}")
    return Seatbelt()


def profile(confinement: Confinement, temporary: Sequence[Path]) -> str:
    """Return the profile for a confinement; commands always change the ``temporary`` folders."""
    return _HEAD + "".join(f"{rule}\n" for rule in _rules(confinement, temporary))


def _rules(confinement: Confinement, temporary: Sequence[Path]) -> Iterator[str]:
    inside = (*confinement.roots, *confinement.writable)
    yield _rule("allow mach-lookup", "global-name", _SERVICES)
    yield _rule(
        "allow file-read*", "subpath", (*map(Path, _SYSTEM), *confinement.readable, *inside)
    )
    yield _rule("allow file-write* file-ioctl", "literal", map(Path, _DEVICES))
    if confinement.view == "workspace-write":
        yield _rule("allow file-write*", "subpath", inside)
        kept = (*confinement.protected, *confinement.hidden, *confinement.linked)
        if kept:
            yield _rule("deny file-write*", "subpath", kept)
        # Else they would leave their place together with a folder above them.
        above = sorted({one for path in kept for one in _between(path, inside)})
        if above:
            yield _rule("deny file-write-unlink", "literal", above)
    if confinement.hidden:
        yield _rule("deny file-read*", "subpath", confinement.hidden)
    yield _rule("allow file-read* file-write*", "subpath", temporary)
    if confinement.network == ALL_HOSTS:
        yield "(allow network* system-socket)"


def _rule(what: str, kind: str, names: Iterable[Path | str]) -> str:
    return f"({what} {' '.join(f'({kind} {_quoted(name)})' for name in names)})"


def _quoted(name: Path | str) -> str:
    text = str(name).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _between(path: Path, folders: Iterable[Path]) -> Iterator[Path]:
    """Yield the folders above the path, up to and with the one of these that it is in."""
    for above in path.parents:
        if any(above.is_relative_to(folder) for folder in folders):
            yield above
