"""Run one command as a child and end everything it started. Started by its path.

On Linux, orphaned descendants of the command become children of this process. So it finds even a
process that left its session and environment. It imports nothing of the project. It ends everything
when its standard input closes: then the server stopped the command or died.
"""

from __future__ import annotations

# Each command waits for these imports: json, platform and signal would triple their time.
import ctypes
import errno
import os
import resource
import select
import struct
import sys
import time
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import NoReturn
else:
    import _signal as signal

_SET_DUMPABLE = 4
_SET_CHILD_SUBREAPER = 36
_KEYCTL = {"x86_64": 250, "aarch64": 219}
"""Numbers of the system call, which the C library has no function for."""
_JOIN_SESSION_KEYRING = 1
_SET_SECCOMP, _SET_NO_NEW_PRIVILEGES = 22, 38
_SOCKET = {"x86_64": (0xC000_003E, 41), "aarch64": (0xC000_00B7, 198)}
"""The machine in the kernel's filters, and the number of the system call ``socket``."""
_FAMILIES = (1, 2, 10, 16)
_IO_URING = (425, 426, 427)
"""Set-up, enter and register, on every machine: a filter does not see what is asked through it."""
_FAIL = 0x0005_0000
"""Ends a system call with the error that is added."""
_LOOK_S = 0.1
_TOO_MANY = -1
_LINGER_S = 0.2
_TERM_GRACE_S = 0.5
_KILL_S = 1.0
_POLL_S = 0.02


def main() -> int:
    """Run ``argv[3:]``; write its exit code and leftover processes to descriptor ``argv[1]``.

    ``argv[2]`` holds the limits as ``name=number`` with commas; an empty text stands for none.
    Without a descriptor this process becomes the command, with its own input.
    """
    pairs = (one.split("=") for one in sys.argv[2].split(",") if one)
    limits, command = {name: int(number) for name, number in pairs}, sys.argv[3:]
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            _leave_parent(ctypes.CDLL(None), is_limited=bool(limits))
    if not sys.argv[1]:
        _become(command, limits)
    status = int(sys.argv[1])
    wake, wakened = os.pipe()
    os.set_blocking(wakened, False)
    signal.signal(signal.SIGCHLD, _note)
    signal.set_wakeup_fd(wakened, warn_on_full_buffer=False)
    # Such signals often go to a whole group; this process must outlive the group.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _note)
    child = _start(command, status, limits)
    _let_go_of_output()
    code = _wait(child, wake, limits.get("processes"))
    if code == _TOO_MANY:
        with suppress(OSError):
            os.write(status, b"too many")
        # The end of this process ends its sandbox; to signal so many would take too long.
        return 1
    if code is not None:
        _linger(child, wake)
    left = _names(_descendants())
    _end_all(child, wake)
    with suppress(OSError):
        os.write(status, "\n".join((str(code), *left)).encode())
    return 0


def _note(_number: int, _frame: object) -> None:
    """Do nothing: the wake-up descriptor makes ``select`` return."""


def _leave_parent(libc: ctypes.CDLL, *, is_limited: bool) -> None:
    """Adopt orphans; behind a sandbox also leave the person's keys, and hide this process."""
    libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if is_limited:
        libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
        if number := _KEYCTL.get(os.uname().machine):
            libc.syscall(number, _JOIN_SESSION_KEYRING, None)


def _refuse_calls(libc: ctypes.CDLL) -> None:
    """Refuse sockets that lead past a network namespace, such as to a virtual machine's host.

    Only local ones and those of the internet remain, and those that list interfaces. Without
    io_uring programs use ordinary calls.
    """
    if (facts := _SOCKET.get(os.uname().machine)) is None:
        return
    machine, number = facts
    steps = [(0x20, 0, 0, 4), (0x15, 1, 0, machine), (0x06, 0, 0, _FAIL | errno.ENOSYS)]
    steps += [(0x20, 0, 0, 0), (0x35, 0, 1, 0x4000_0000), (0x06, 0, 0, _FAIL | errno.ENOSYS)]
    for call in _IO_URING:
        steps += [(0x15, 0, 1, call), (0x06, 0, 0, _FAIL | errno.ENOSYS)]
    steps += [(0x15, 0, 2 + len(_FAMILIES), number), (0x20, 0, 0, 16)]
    steps += [(0x15, len(_FAMILIES) - at, 0, one) for at, one in enumerate(_FAMILIES)]
    steps += [(0x06, 0, 0, _FAIL | errno.EAFNOSUPPORT), (0x06, 0, 0, 0x7FFF_0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in steps))
    program = struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code))
    libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    libc.prctl(_SET_SECCOMP, 2, program, 0, 0)


def _limit(limits: dict[str, int]) -> None:
    """Set the limits of this process and its children, never above those it has."""
    wanted = {
        resource.RLIMIT_FSIZE: limits.get("file_bytes"),
        resource.RLIMIT_NOFILE: limits.get("open_files"),
        resource.RLIMIT_CORE: 0,
    }
    for kind, number in wanted.items():
        if number is not None:
            hard = resource.getrlimit(kind)[1]
            number = number if hard == resource.RLIM_INFINITY else min(number, hard)
            resource.setrlimit(kind, (number, number))


def _start(command: list[str], status: int, limits: dict[str, int]) -> int:
    """Start the command in its own session, without input; return its pid."""
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        os.close(status)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        signal.set_wakeup_fd(-1)
        _become(command, limits)
    finally:
        os._exit(127)


def _become(command: list[str], limits: dict[str, int]) -> NoReturn:
    """Replace this process by the command, within its limits."""
    try:
        # Restore the defaults: a new program would inherit ignored signals.
        for name in ("SIGPIPE", "SIGXFSZ", "SIGCHLD", "SIGTERM", "SIGINT", "SIGHUP"):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        if limits:
            _limit(limits)
            if sys.platform == "linux":
                _refuse_calls(ctypes.CDLL(None))
        os.execv(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def _let_go_of_output() -> None:
    """Close the output here, so that it ends when the command's processes do."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 2)


def _wait(child: int, wake: int, most_processes: int | None) -> int | None:
    """Return the child's exit code; None if standard input closed first; or ``_TOO_MANY``."""
    while True:
        code = _reap(child)
        if code is not None:
            return code
        if most_processes and len(_descendants()) > most_processes:
            return _TOO_MANY
        ready, _, _ = select.select([0, wake], [], [], _LOOK_S if most_processes else None)
        if wake in ready:
            os.read(wake, 4_096)
        if 0 in ready:
            return None


def _linger(child: int, wake: int) -> None:
    """After a normal exit, give background processes a moment to end by themselves."""
    deadline_s = time.monotonic() + _LINGER_S
    while _descendants() and time.monotonic() < deadline_s:
        if 0 in select.select([0, wake], [], [], _POLL_S)[0]:
            return
        _reap(child)


def _reap(child: int) -> int | None:
    """Reap all ended processes; return the child's exit code if it is among them."""
    found: int | None = None
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == child:
                code = os.waitstatus_to_exitcode(ended[1])
                found = code if code >= 0 else 128 - code
    return found


def _end_all(child: int, wake: int) -> None:
    """Terminate all descendants, then kill them, until none is left or time is up."""
    for number, limit_s in ((signal.SIGTERM, _TERM_GRACE_S), (signal.SIGKILL, _KILL_S)):
        deadline_s = time.monotonic() + limit_s
        told: set[int] = set()
        while True:
            _reap(child)
            living = _descendants()
            if not living or time.monotonic() >= deadline_s:
                break
            for pid in living:
                # Send SIGTERM once to each process, also to new ones; repeat SIGKILL.
                if pid not in told or number == signal.SIGKILL:
                    told.add(pid)
                    _signal(pid, number, living)
            if select.select([wake], [], [], _POLL_S)[0]:
                os.read(wake, 4_096)


def _signal(pid: int, number: int, living: list[int]) -> None:
    """Send a signal to the process, but not to another one that reused its pid."""
    with suppress(OSError, ValueError, IndexError):
        if not hasattr(os, "pidfd_open"):
            os.kill(pid, number)
            return
        handle = os.pidfd_open(pid)
        try:
            _, parent = _state_and_parent(pid)
            if parent == os.getpid() or parent in living:
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)


def _descendants() -> list[int]:
    """Return the living descendants of this process; empty without /proc."""
    try:
        # Orphans become children of this process, so without children there is nothing to look for.
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return []
    children: dict[int, list[int]] = {}
    try:
        names = os.listdir("/proc")  # noqa: PTH208 - pathlib would double the start-up
    except OSError:
        return []
    for name in names:
        if not name.isdigit():
            continue
        with suppress(OSError, ValueError, IndexError):
            state, parent = _state_and_parent(int(name))
            if state != b"Z":
                children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    stack = [os.getpid()]
    while stack:
        below = children.get(stack.pop(), [])
        found += below
        stack += below
    return found


def _state_and_parent(pid: int) -> tuple[bytes, int]:
    # Importing pathlib would double the start-up time; so the PTH rules are off here.
    with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
        state, parent = file.read().rpartition(b")")[2].split()[:2]
    return state, int(parent)


def _names(pids: list[int]) -> list[str]:
    names: list[str] = []
    for pid in pids[:20]:
        with suppress(OSError), open(f"/proc/{pid}/comm", "rb") as file:  # noqa: PTH123
            names.append(" ".join(file.read().decode(errors="replace").split()))
    return names


if __name__ == "__main__":
    sys.exit(main())
