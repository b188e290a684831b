"""Whose lease is over: only a process that is seen to be gone where it ran is called dead."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys

import pytest

from agent_ls.session.held_leases import is_dead, own_identity

_HOST, _PID, _PLACE = own_identity().split(":")
_GONE = "999999999"
_BOOT, _NAMESPACE = _PLACE.split(".")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has namespaces of processes")
@pytest.mark.parametrize(
    "owner, dead",
    [
        pytest.param(f"{_HOST}:{_PID}:{_PLACE}:x:1", False, id="it-lives"),
        pytest.param(f"{_HOST}:{_GONE}:{_PLACE}:x:1", True, id="it-is-gone"),
        pytest.param(f"{_HOST}:{_GONE}:{_PLACE}:x:1:looks", True, id="it-looked-and-is-gone"),
        pytest.param(f"other:{_GONE}:{_PLACE}:x:1", False, id="another-host"),
        pytest.param(f"{_HOST}:{_GONE}:{_BOOT}.1:x:1", False, id="another-namespace"),
        pytest.param(f"{_HOST}:{_GONE}:{'0' * 32}.{_NAMESPACE}:x:1", False, id="another-start"),
        pytest.param(f"{_HOST}:{_GONE}:ses_1:1", True, id="an-older-version-that-is-gone"),
        pytest.param(f"{_HOST}:{_PID}:ses_1:1", False, id="an-older-version-that-lives"),
        pytest.param(f"{_HOST}:{_GONE}:x", True, id="an-older-version-without-a-count"),
        pytest.param(f"{_HOST}:{_GONE}:-:x:1", False, id="a-place-that-its-owner-did-not-know"),
        pytest.param(f"{_HOST}:{'9' * 30}:{_PLACE}:x:1", True, id="no-number-of-a-process"),
        pytest.param("deleting", False, id="no-process"),
        pytest.param("", False, id="nothing"),
    ],
)
def test_which_owner_is_dead(owner: str, dead: bool) -> None:
    assert is_dead(owner) is dead


@pytest.fixture
def inside() -> tuple[str, ...]:
    """Starts a program in another namespace of processes, which shows the /proc of this one."""
    unshare = shutil.which("unshare")
    words = (str(unshare), "--user", "--map-root-user", "--pid", "--fork")
    if unshare is None or subprocess.run([*words, "--mount-proc", "true"], check=False).returncode:
        pytest.skip("no namespaces of processes here")
    return words


def test_a_living_owner_is_not_dead_to_a_process_that_does_not_see_it(
    inside: tuple[str, ...],
) -> None:
    owners = (f"{own_identity()}:x:1", f"{_HOST}:{_GONE}:{_PLACE}:x:1")
    code = (
        "import psutil, socket, sys; from agent_ls.session.held_leases import is_dead;"
        "print(socket.gethostname(), psutil.pid_exists(int(sys.argv[1])),"
        " *map(is_dead, sys.argv[2:]))"
    )
    said = subprocess.run(
        [*inside, "--mount-proc", sys.executable, "-c", code, str(os.getpid()), *owners],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    # The same host, where our process is not seen.
    assert said.split() == [socket.gethostname(), "False", "False", "False"]


def test_a_living_owner_elsewhere_is_not_dead_here(inside: tuple[str, ...]) -> None:
    code = (
        "from agent_ls.session.held_leases import own_identity;"
        "print(own_identity(), flush=True); input()"
    )
    with subprocess.Popen(
        [*inside, sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        host, pid, place = process.stdout.readline().strip().split(":")
        assert (host, place != _PLACE) == (_HOST, True)
        # Also where a process has the same number here, and where none has it.
        assert not is_dead(f"{host}:{pid}:{place}:x:1")
        assert not is_dead(f"{host}:{_GONE}:{place}:x:1")
        process.communicate("\n")


def test_a_living_owner_is_not_dead_where_proc_shows_other_processes(
    inside: tuple[str, ...],
) -> None:
    code = """if True:
        import os, subprocess
        from agent_ls.session.held_leases import is_dead, own_identity
        host, _, place = own_identity().split(":")
        living = [subprocess.Popen(["sleep", "60"])]
        while len(living) < 300 and os.path.exists(f"/proc/{living[-1].pid}"):
            living.append(subprocess.Popen(["sleep", "60"]))
        print(*(is_dead(f"{host}:{one.pid}:{place}:x:1") for one in living))
        last = living[-1]
        last.kill()
        last.wait()
        print(is_dead(f"{host}:{last.pid}:{place}:x:1"))
    """
    said = subprocess.run(
        [*inside, sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
    before, after = said.splitlines()
    assert set(before.split()) == {"False"}
    assert after == "True"
