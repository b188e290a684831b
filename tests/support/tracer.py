"""What a server and everything below it did, as strace saw it: programs, connections, changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_CALLS = (
    "execve,execveat,connect,open,openat,openat2,creat,rename,renameat,renameat2,unlink,unlinkat,"
    "mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,mknod,mknodat,truncate,chmod,fchmodat,"
    "clone,clone3,fork,vfork"
)
_SANDBOX = re.compile(r'execve\("[^"]*/bwrap", .* = 0$')
_STARTED = re.compile(r'execve(?:at)?\((?:[^"]*, )?"([^"]+)", (.*), .* = 0$')
_CONNECTED = re.compile(r"connect\(.*sa_family=AF_INET6?, sin6?_port=htons\((\d+)\)")
_OPENED = re.compile(
    r'(?:open|openat|openat2|creat)\((?:[^"]*<([^>]*)>, )?"([^"]*)", (?:\{flags=)?([A-Z_|]+).* = \d'
)
_CHANGED = re.compile(
    r"(?:rename|unlink|mkdir|rmdir|link|symlink|mknod|truncate|chmod|fchmod)(?:at2?)?\(.* = 0$"
)
_NAMED = re.compile(r'(?:<([^>]*)>, )?"([^"]*)"')
_BORN = re.compile(r"(?:clone3?|v?fork)\(.* = (\d+)(?: /\* (\d+) in strace's PID NS \*/)?$")
_RESUMED = re.compile(r"<\.\.\. (\w+) resumed>")
_WRITES = re.compile("O_WRONLY|O_RDWR|O_CREAT|O_TRUNC")
_LATE = 5_000
"""So many calls after a child's first one the call that made it has returned, also on a loaded
machine; a number is given again only after six times as many processes."""


def traced(command: Sequence[str], trace: Path) -> tuple[str, ...]:
    """Return the words that run a command under strace, which writes to a file."""
    strace = ("strace", "-f", "-qq", "-y", "-s400", "--decode-pids=pidns", "--seccomp-bpf")
    return (*strace, "-e", f"trace={_CALLS}", "-e", "signal=none", "-o", str(trace), *command)


@dataclass(frozen=True)
class Act:
    """One traced call that starts, connects or changes something."""

    line: str
    program: str | None = None
    """What was started."""
    words: str = ""
    """Its arguments, as strace shows them."""
    port: int | None = None
    """Where it connected to, or tried to."""
    places: tuple[Path, ...] = ()
    """What it changed, or opened to write."""
    is_confined: bool = False
    """It was done inside of bubblewrap, where places and ports are others."""


def acts(trace: str, folder: Path) -> list[Act]:
    """Return what was done, in order; relative paths without a folder are below ``folder``."""
    calls = list(_whole(trace))
    lineage = _Lineage(calls)
    found: list[Act] = []
    for at, (pid, call) in enumerate(calls):
        confined = lineage.is_confined(pid, at)
        if started := _STARTED.search(call):
            found.append(Act(call, program=started[1], words=started[2], is_confined=confined))
        elif connected := _CONNECTED.search(call):
            found.append(Act(call, port=int(connected[1]), is_confined=confined))
        elif places := _changed(call):
            found.append(
                Act(call, places=tuple(folder / one for one in places), is_confined=confined)
            )
    return found


class _Lineage:
    """Which process made which, and which became a sandbox.

    A number is used again after 32,768 processes, so each birth begins another process.
    """

    def __init__(self, calls: Sequence[tuple[str, str]]) -> None:
        self._births: dict[str, list[tuple[int, str]]] = {}
        self._sandboxes: dict[str, list[int]] = {}
        for at, (pid, call) in enumerate(calls):
            if born := _BORN.search(call):
                self._births.setdefault(born[2] or born[1], []).append((at, pid))
            if _SANDBOX.search(call):
                self._sandboxes.setdefault(pid, []).append(at)

    def is_confined(self, pid: str, at: int) -> bool:
        """Say whether the process that makes the call at this place descends from a sandbox."""
        seen: set[tuple[str, int]] = set()
        while True:
            births = self._births.get(pid, [])
            # A child may be seen at work before the call that made it has returned, under load long
            # before. Without an earlier process of its number the first birth is its own.
            known = [one for one in births if one[0] <= at + _LATE] or births[:1]
            begun, parent = known[-1] if known else (-1, "")
            if any(begun - _LATE <= one <= at for one in self._sandboxes.get(pid, [])):
                return True
            if not parent or (pid, begun) in seen:
                return False
            seen.add((pid, begun))
            pid, at = parent, begun


def _whole(trace: str) -> Iterator[tuple[str, str]]:
    """Yield process and call of each line; what another call interrupted is put together."""
    begun: dict[tuple[str, str], str] = {}
    for line in trace.splitlines():
        pid, _, call = line.partition(" ")
        call = call.lstrip()
        if call.endswith(" <unfinished ...>"):
            begun[pid, call.split("(", 1)[0]] = call.removesuffix(" <unfinished ...>")
        elif resumed := _RESUMED.match(call):
            yield pid, begun.pop((pid, resumed[1]), "") + call[resumed.end() :]
        else:
            yield pid, call


def _changed(call: str) -> list[Path]:
    """Return the places that a call changed or opened to write."""
    if opened := _OPENED.search(call):
        if _WRITES.search(opened[3]) or call.startswith("creat("):
            return [Path(opened[1] or "", opened[2])]
        return []
    if _CHANGED.search(call):
        places = [Path(at, name) for at, name in _NAMED.findall(call)]
        # Where a link leads is only its content.
        return places[1:] if call.startswith("symlink") else places
    return []
