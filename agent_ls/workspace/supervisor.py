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

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from contextlib import suppress
    from typing import NoReturn
else:
    import _signal as signal

    class suppress:  # contextlib takes 3 ms to import
        """Ends a block at these errors."""

        def __init__(self, *kinds):
            self._kinds = kinds

        def __enter__(self):
            pass

        def __exit__(self, kind, _error, _traceback):
            return kind is not None and issubclass(kind, self._kinds)


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
_PAGE = resource.getpagesize()
_RESTS = 10
"""After an exact look at the memory none for so many times as long: it costs 35 ms for each GiB."""
_PLANNED = "AGENT_LS_PLANNED_MOUNT_"
_NOT_STARTED = 126
_RENAMED = (
    b"sandbox: the command was not started, because a file or folder of the workspace was renamed "
    b"while the sandbox was made. Run it again.\n"
)
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
    planned = [os.environ.pop(name) for name in list(os.environ) if name.startswith(_PLANNED)]
    if planned and not _are_mounted(planned):
        os.write(2, _RENAMED)
        if sys.argv[1]:
            with suppress(OSError):
                os.write(int(sys.argv[1]), str(_NOT_STARTED).encode())
        return _NOT_STARTED
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
    code = _wait(child, wake, _Watch(limits) if limits else None)
    if isinstance(code, bytes):
        with suppress(OSError):
            os.write(status, code)
        # The end of this process ends its sandbox, or agent-ls ends what it left.
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
    """Adopt orphans; behind a sandbox also leave the user's keys, and hide this process."""
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


def _wait(child: int, wake: int, watch: _Watch | None) -> int | bytes | None:
    """Return the child's exit code, None if standard input closed first, or the limit passed."""
    while True:
        code = _reap(child)
        if code is not None:
            return code
        if watch is not None and (beyond := watch.limit_beyond()):
            return beyond
        ready, _, _ = select.select([0, wake], [], [], _LOOK_S if watch is not None else None)
        if wake in ready:
            os.read(wake, 4_096)
        if 0 in ready:
            return None


class _Watch:
    """Watches that the processes below this one stay within their limits."""

    def __init__(self, limits: dict[str, int]) -> None:
        self._processes = limits.get("processes")
        self._bytes = limits.get("memory_bytes")
        self._rests_until_s = 0.0
        self._folders: dict[str, int] = {}
        """The folders of this sandbox that lie in memory, and what they held at the start."""
        if self._bytes:
            self._folders = {path: _held(path) for path in _folders_in_memory()}

    def limit_beyond(self) -> bytes:
        """Return the name of the limit that the processes are beyond, or nothing."""
        pages = _descendants()
        if self._processes and len(pages) > self._processes:
            return b"processes"
        if self._bytes and self._is_too_large(pages, self._bytes):
            for pid in pages:
                _signal(pid, signal.SIGKILL, pages)
            return b"memory"
        return b""

    def _is_too_large(self, pages: dict[int, int], most: int) -> bool:
        files = sum(max(_held(path) - before, 0) for path, before in self._folders.items())
        # Each process counts shared pages and those of files as its own: never too little.
        if files + sum(pages.values()) * _PAGE <= most:
            return False
        now_s = time.monotonic()
        if now_s < self._rests_until_s:
            return False
        # Pages of a process that was forked during a look are counted twice in it.
        is_too_large = all(
            files + sum(_own_bytes(pid, number * _PAGE) for pid, number in pages.items()) > most
            for _ in range(2)
        )
        ended_s = time.monotonic()
        self._rests_until_s = ended_s + _RESTS * (ended_s - now_s)
        return is_too_large


def _are_mounted(planned: list[str]) -> bool:
    """Say whether these mounts, as ``bubblewrap.py`` planned them, show what was meant.

    A program in the background may have put a link in a folder's place while they were made. Now
    nothing can move them any more.
    """
    found: dict[str, set[str]] = {}
    untold: set[str] = set()
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
        for line in file:
            _, _, _, shown, place, rest = line.split(" ", 5)
            found.setdefault(place, set()).add(shown)
            if " - nfs" in rest:
                # The table says "/" for whatever is shown of it.
                untold.add(place)
    outer = [one[1:] for one in planned if one[0] == "@"]
    for one in planned:
        place = one[1:]
        if place not in found:
            return False
        if one[0] == "=" and place not in untold:
            above = [top for top in outer if place.startswith(f"{top.rstrip('/')}/")]
            rests = [(top, place[len(top.rstrip("/")) :]) for top in above]
            wanted = {f"{top.rstrip('/')}{rest}" for name, rest in rests for top in found[name]}
            if found[place].isdisjoint(wanted):
                return False
    return True


def _folders_in_memory() -> list[str]:
    """Return where a file system of bubblewrap's own lies in memory; nothing in another sandbox."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
            mounts = [line.split(" ") for line in file]
    except OSError:
        return []
    if not any(mount[3:5] == ["/newroot", "/"] for mount in mounts):
        return []
    whole = [one for one in mounts if one[3] == "/" and one[one.index("-") + 1] == "tmpfs"]
    return [one[4].replace("\\040", " ") for one in whole]


def _held(folder: str) -> int:
    """Return the bytes of a file system in memory."""
    with suppress(OSError):
        facts = os.statvfs(folder)
        return (facts.f_blocks - facts.f_bfree) * facts.f_frsize
    return 0


def _own_bytes(pid: int, otherwise: int) -> int:
    """Return a process's share of memory that is no copy of a file; ``otherwise`` if unreadable."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:  # noqa: PTH123
            rows = [line.split() for line in file]
    except OSError:
        return otherwise
    shares = {row[0]: int(row[1]) for row in rows if row[0].startswith(b"Pss")}
    # Kernels before 5.9 do not tell the pages of files apart.
    names = (b"Pss_Anon:", b"Pss_Shmem:") if b"Pss_Anon:" in shares else (b"Pss:",)
    return sum(shares.get(name, 0) for name in names) * 1024


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


def _signal(pid: int, number: int, living: dict[int, int]) -> None:
    """Send a signal to the process, but not to another one that reused its pid."""
    with suppress(OSError, ValueError, IndexError):
        if not hasattr(os, "pidfd_open"):
            os.kill(pid, number)
            return
        handle = os.pidfd_open(pid)
        try:
            _, parent, _ = _facts(pid)
            if parent == os.getpid() or parent in living:
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)


def _descendants() -> dict[int, int]:
    """Return the living descendants of this process and their pages; empty without /proc.

    The pages are those in memory, also shared ones.
    """
    try:
        # Orphans become children of this process, so without children there is nothing to look for.
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return {}
    children: dict[int, list[int]] = {}
    pages: dict[int, int] = {}
    try:
        names = os.listdir("/proc")  # noqa: PTH208 - pathlib would double the start-up
    except OSError:
        return {}
    for name in names:
        if not name.isdigit():
            continue
        with suppress(OSError, ValueError, IndexError):
            state, parent, number = _facts(int(name))
            if state != b"Z":
                children.setdefault(parent, []).append(int(name))
                pages[int(name)] = number
    found: list[int] = []
    stack = [os.getpid()]
    while stack:
        below = children.get(stack.pop(), [])
        found += below
        stack += below
    return {pid: pages[pid] for pid in found}


def _facts(pid: int) -> tuple[bytes, int, int]:
    """Return the state, the parent and the pages in memory of a process."""
    # Importing pathlib would double the start-up time; so the PTH rules are off here.
    with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
        words = file.read().rpartition(b")")[2].split()
    return words[0], int(words[1]), int(words[21])


def _names(pids: dict[int, int]) -> list[str]:
    names: list[str] = []
    for pid in list(pids)[:20]:
        with suppress(OSError), open(f"/proc/{pid}/comm", "rb") as file:  # noqa: PTH123
            names.append(" ".join(file.read().decode(errors="replace").split()))
    return names


if __name__ == "__main__":
    # Python would take down its modules first, which takes 2 ms.
    os._exit(main())
