"""What a confined command finds of the kernel, in each sandbox, and how a failed start reads."""

from __future__ import annotations

import errno
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from agent_ls.safety.sandbox.builder import SandboxBuilder, open_builder
from agent_ls.safety.sandbox.confinement import Confinement, Wrapped
from agent_ls.safety.sandbox.landlock import Landlock
from agent_ls.safety.sandbox.probe import SandboxOptions, probe
from agent_ls.workspace.runner import ShellRunner

pytestmark = pytest.mark.heavy

_PYTHON = shlex.quote(str(Path(sys.executable).resolve()))


@pytest.fixture(params=["bubblewrap", "landlock"])
def builder(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[SandboxBuilder]:
    """Confines by each sandbox of this machine."""
    found = probe(SandboxOptions(use=request.param))
    if found.sandbox is None:
        pytest.skip(found.why)
    made = open_builder(found.sandbox, SandboxOptions(), lambda: [tmp_path.resolve()])
    yield made
    made.end()


@pytest.mark.parametrize(
    "code, printed",
    [
        pytest.param("import socket; [socket.socket(f) for f in (socket.AF_INET, "
                     "socket.AF_INET6)]", "", id="internet"),
        pytest.param("import socket; socket.socketpair()", "", id="a-pair"),
        pytest.param("import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); "
                     "print(socket.if_nameindex()[0][1])", "lo", id="interfaces"),
        pytest.param("import socket; socket.socket(40, 1)", "Error", id="virtual-machines"),
        pytest.param("import socket; socket.socket(17, 3, 3)", "Error", id="packets"),
        pytest.param("import socket; socket.socket(38, 5)", "Error", id="cryptography"),
        pytest.param("import ctypes; l = ctypes.CDLL(None, use_errno=True); print([(l.syscall("
                     "number, 1, bytes(120), 0, 0, 0), ctypes.get_errno()) for number in "
                     "(425, 426, 427)])", str([(-1, errno.ENOSYS)] * 3), id="io-uring"),
        pytest.param("open('/proc/sys/vm/swappiness', 'a')", "Error", id="kernel-settings"),
    ],
)  # fmt: skip
async def test_what_of_the_kernel_opens(builder: SandboxBuilder, code: str, printed: str) -> None:
    folder = builder.roots()[0]
    ran = await ShellRunner(builder).run(
        f"{_PYTHON} -c {shlex.quote(code)}", cwd=folder, timeout_s=20
    )
    assert (printed in ran.output) if printed else ran.output == ""
    assert (ran.exit_code == 0) is (printed != "Error")


class _Broken(Landlock):
    """A Landlock that sends a command to a folder that is gone."""

    def wrap(
        self,
        confinement: Confinement,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
    ) -> Wrapped:
        """Wrap it with another folder."""
        return super().wrap(confinement, command, cwd=cwd / "gone", env=env)


@pytest.mark.parametrize("builder", ["landlock"], indirect=True)
async def test_a_landlock_that_does_not_start_says_why(builder: SandboxBuilder) -> None:
    broken = replace(builder, sandbox=_Broken(has_namespaces=True))
    with pytest.raises(OSError, match=r"could not be set up: landlock: .*gone"):
        await ShellRunner(broken).run("true", cwd=builder.roots()[0], timeout_s=20)
