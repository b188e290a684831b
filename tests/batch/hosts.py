"""Three hosts on one machine: network namespaces with names and addresses of their own.

The hub has a bridge, the scheduler, the database and the user; the others are workers.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.batch.conftest import write_prices

HUB = "10.9.0.1"
_PROGRAMS = ("unshare", "nsenter", "ip", "hostname")


@dataclass
class Host:
    """A namespace, held by a process that sleeps."""

    pid: int
    address: str
    number: int
    env: dict[str, str] = field(default_factory=dict[str, str])

    def words(self, *command: str | Path) -> list[str]:
        """Return the command line that runs a command on this host."""
        entered = ["nsenter", "-t", str(self.pid), "-n", "-u"]
        return [*entered, *map(str, command)]

    def start(self, *command: str | Path, log: Path) -> subprocess.Popen[bytes]:
        """Start a program in a process group of its own; the caller ends it."""
        with log.open("ab") as file:
            return subprocess.Popen(
                self.words(*command), env=self.env, stdin=subprocess.DEVNULL, stdout=file,
                stderr=file, start_new_session=True,
            )  # fmt: skip

    def agent(self, *words: str) -> list[str]:
        """Return the command line that runs agent-ls on this host."""
        return self.words(sys.executable, "-P", "-m", "agent_ls", *words)


def _do(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr}")


@contextmanager
def three_hosts(folder: Path, env: Mapping[str, str]) -> Generator[tuple[Host, Host, Host]]:
    """Make the hub and two workers, each with a home folder of its own; all end with the block."""
    if os.geteuid() != 0 or any(shutil.which(one) is None for one in _PROGRAMS):
        pytest.skip("this machine does not let tests make network namespaces")
    with ExitStack() as stack:
        hosts: list[Host] = []
        for number in (1, 2, 3):
            held = stack.enter_context(
                subprocess.Popen(("unshare", "-n", "-u", "sh", "-c", "echo; exec sleep 100000"),
                                 stdout=subprocess.PIPE)
            )  # fmt: skip
            stack.callback(held.kill)
            assert held.stdout is not None
            # It has its namespaces once it speaks.
            if held.stdout.readline() != b"\n":
                pytest.skip("this machine does not let tests make network namespaces")
            home = folder / f"host{number}"
            write_prices(home)
            own = {**env, "HOME": str(home)}
            hosts.append(Host(held.pid, f"10.9.0.{number}", number, own))
        hub, *others = hosts
        _do(*hub.words("ip", "link", "add", "br0", "type", "bridge"))
        _do(*hub.words("ip", "addr", "add", f"{HUB}/24", "dev", "br0"))
        _do(*hub.words("ip", "link", "set", "br0", "up"))
        for one in hosts:
            _do(*one.words("ip", "link", "set", "lo", "up"))
            _do(*one.words("hostname", f"host{one.number}"))
        for one in others:
            here, there = f"v{one.number}", f"e{one.number}"
            pair = ("ip", "link", "add", here, "type", "veth", "peer", "name", there)
            _do(*hub.words(*pair, "netns", str(one.pid)))
            _do(*hub.words("ip", "link", "set", here, "master", "br0", "up"))
            _do(*one.words("ip", "addr", "add", f"{one.address}/24", "dev", there))
            _do(*one.words("ip", "link", "set", there, "up"))
        yield hub, others[0], others[1]


def set_link(hub: Host, host: Host, state: str) -> None:
    """Set a host's cable ``up`` or ``down``."""
    _do(*hub.words("ip", "link", "set", f"v{host.number}", state))


def end_group(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Kill programs with the groups that they lead."""
    for one in processes:
        try:
            os.killpg(one.pid, 9)
        except ProcessLookupError:
            continue
        finally:
            one.wait()
