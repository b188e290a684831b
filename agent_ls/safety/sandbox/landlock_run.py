"""Confine this process by Landlock, seccomp and a network of its own, and become the command.

Started by its path, with the options that ``landlock.py`` writes. It imports nothing of the
project, and little else, because each command waits for it. Without a command its exit code tells
whether it can have a network of its own.
Source: the kernel's ``userspace-api/landlock.rst`` and ``userspace-api/seccomp_filter.rst``.
"""

from __future__ import annotations

import _socket
import ctypes
import os
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PATH_BENEATH = 1
_NEW_USER, _NEW_NET = 0x1000_0000, 0x4000_0000
_SET_DEATH_SIGNAL, _SET_SECCOMP, _DROP_BOUND, _NO_NEW_PRIVILEGES = 1, 22, 24, 38
_FILTER = 2
_CAPABILITIES = 64
_SET_INTERFACE, _IS_UP = 0x8914, 0x41

_READ_DIR = 1 << 3
_READ = 1 << 0 | 1 << 2 | _READ_DIR
"""Execute files, read files, list folders."""
_ALL = (1 << 15) - 1
"""All rights of Landlock's third version, the first that can forbid to truncate a file."""
_DEVICE_CONTROL = 1 << 15
_ON_FILES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | _DEVICE_CONTROL
_SCOPED = 0b11
"""No signals to processes outside, and no abstract sockets of theirs."""

_OPTIONS = (
    *("--chdir", "--share-net", "--keep-metadata"),
    *("--read", "--write", "--protect", "--hide", "--device"),
)
_KILL = 9
_IGNORED = (13, 25)
"""Broken pipes and files that are too long."""

_MACHINES = {
    # The machine's number, and those of socket, socketpair and clone; then those that are refused:
    # unshare, setns, add_key, request_key, keyctl.
    "x86_64": (0xC000_003E, 41, 53, 56, (272, 308, 248, 249, 250)),
    "aarch64": (0xC000_00B7, 198, 199, 220, (97, 268, 217, 218, 219)),
}
_ABSENT_CALLS = (425, 426, 427, 435)
"""io_uring, which would open sockets past the filter, and clone3; programs do without."""
_METADATA_CALLS = {
    # Those that set modes, owners, times and attributes, for which Landlock has no rule.
    "x86_64": (*range(90, 95), 132, *range(188, 191), *range(197, 200), 235, 260, 261, 268, 280),
    "aarch64": (5, 6, 7, 14, 15, 16, *range(52, 56), 88),
}
_NEWER_METADATA_CALLS = (452, 463, 466, 469)
"""fchmodat2, setxattrat, removexattrat and file_setattr, on every machine."""
_FIRST_OF_X32 = 0x4000_0000
_UNIX, _INET, _INET6, _NETLINK, _DATAGRAM = 1, 2, 10, 16, 2
_EPERM, _EACCES, _ENOSYS = 1, 13, 38

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Confine this process; run the command of the arguments."""
    options, command = _options(sys.argv[1:])
    _libc.prctl(_SET_DEATH_SIGNAL, _KILL, 0, 0, 0)
    has_network = bool(options["--share-net"]) or _enter_namespaces()
    if not command:
        sys.exit(0 if has_network else 1)
    os.chdir(*options["--chdir"])
    _drop_capabilities()
    _check(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no new privileges")
    _restrict_files(options)
    _restrict_calls(has_network=has_network, keeps_metadata=bool(options["--keep-metadata"]))
    # Python ignores these signals, and the command would inherit that.
    for number in _IGNORED:
        _libc.signal(number, None)
    os.execv(command[0], command)


def _options(words: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Return the values of each option, and the command behind ``--``."""
    end = words.index("--")
    options: dict[str, list[str]] = {name: [] for name in _OPTIONS}
    for name, value in zip(words[:end:2], words[1:end:2], strict=True):
        options[name].append(value)
    return options, words[end + 1 :]


def _check(result: int, what: str) -> int:
    if result < 0:
        sys.exit(f"landlock: {what}: {os.strerror(ctypes.get_errno())}")
    return result


def _enter_namespaces() -> bool:
    """Get a network with nothing but loopback; return False if the system does not allow it."""
    user, group = os.getuid(), os.getgid()
    if _libc.unshare(_NEW_USER | _NEW_NET) < 0:
        return False
    try:
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123 - a quick start
                file.write(text)
        asking = _socket.socket(_INET, _DATAGRAM)
        up = _libc.ioctl(
            asking.fileno(),
            ctypes.c_ulong(_SET_INTERFACE),
            struct.pack("16sH22x", b"lo", _IS_UP),
        )
        asking.close()
    except OSError:
        # The new network lacks loopback. Sockets that the filter refuses give a clearer error.
        return False
    return up >= 0


def _drop_capabilities() -> None:
    """Give up what the super-user and the owner of a namespace may do."""
    for number in range(_CAPABILITIES):
        _libc.prctl(_DROP_BOUND, number, 0, 0, 0)
    header = struct.pack("Ii", 0x2008_0522, 0)
    _check(_libc.capset(header, bytes(24)), "capabilities")


def _restrict_files(options: dict[str, list[str]]) -> None:
    version = _check(_libc.syscall(_CREATE_RULESET, None, 0, 1), "landlock")
    handled = _ALL | (_DEVICE_CONTROL if version >= 5 else 0)
    attributes = struct.pack("QQQ", handled, 0, _SCOPED if version >= 6 else 0)
    # Older kernels know a shorter structure.
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _check(_libc.syscall(_CREATE_RULESET, attributes, size, 0), "landlock")
    hidden, writable = options["--hide"], options["--write"]
    for path in options["--read"] + writable:
        for part, is_whole in _carved(path, hidden):
            _allow(ruleset, part, (_READ if is_whole else _READ_DIR) & handled)
    for path in writable:
        for part, is_whole in _carved(path, hidden + options["--protect"]):
            if is_whole:
                _allow(ruleset, part, handled)
    for path in options["--device"]:
        _allow(ruleset, path, _ON_FILES & handled)
    _check(_libc.syscall(_RESTRICT_SELF, ruleset, 0), "landlock")
    os.close(ruleset)


def _carved(path: str, without: list[str]) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a folder around these paths, each with whether all below it is included.

    A rule covers all that is below a folder. So a folder above one of the paths is yielded as not
    whole, followed by the parts of its entries.
    """
    if path in without:
        return
    above = path.rstrip("/") + "/"
    is_whole = not any(one.startswith(above) for one in without)
    yield path, is_whole
    if not is_whole:
        try:
            names = os.listdir(path)  # noqa: PTH208 - a quick start
        except OSError:
            return
        for name in names:
            yield from _carved(above + name, without)


def _allow(ruleset: int, path: str, rights: int) -> None:
    """Allow rights on a path and all below it; what is gone or a link needs no rule."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    mode = os.fstat(descriptor).st_mode
    if mode & 0o170000 != 0o120000 and _is_at(descriptor, path):
        allowed = rights if mode & 0o170000 == 0o040000 else rights & _ON_FILES
        rule = struct.pack("=Qi", allowed, descriptor)
        if allowed:
            _check(_libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0), path)
    os.close(descriptor)


def _is_at(descriptor: int, path: str) -> bool:
    """Say whether no link led elsewhere: a program in the background may have made one."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}") == path  # noqa: PTH115 - a quick start
    except OSError:
        return False


def _restrict_calls(*, has_network: bool, keeps_metadata: bool) -> None:
    """Refuse sockets that lead outside, and namespaces, in which more of the kernel is open.

    Landlock does not look at the sockets of the file system, such as those of a container engine,
    nor at the metadata of files. A filter sees no paths, so it can only keep all metadata as it is.
    """
    number, socket_call, pair_call, clone_call, refused = _MACHINES[os.uname().machine]
    if keeps_metadata:
        refused = (*refused, *_METADATA_CALLS[os.uname().machine], *_NEWER_METADATA_CALLS)
    families = (_NETLINK, _INET, _INET6) if has_network else (_NETLINK,)
    program = [
        _load(4), *_unless(number, _fail(_ENOSYS)),
        _load(0), _step(0x35, _FIRST_OF_X32, 0, 1), _fail(_ENOSYS),
        *_for_each(_ABSENT_CALLS, _fail(_ENOSYS)),
        *_for_each(refused, _fail(_EPERM)),
        # The first argument of clone.
        *_call(clone_call, [_load(16), _step(0x45, _NEW_USER, 0, 1), _fail(_EPERM)]),
        *_call(socket_call, [_load(16), *_for_each(families, _PASS), _fail(_EACCES)]),
        # A pair of datagram sockets can be connected anew. The type has flags above its 4 bits.
        *_call(pair_call, [_load(24), _step(0x54, 0xF), *_for_each((_DATAGRAM,), _fail(_EACCES))]),
        _PASS,
    ]  # fmt: skip
    code = ctypes.create_string_buffer(b"".join(program))
    pointer = struct.pack("HxxxxxxQ", len(program), ctypes.addressof(code))
    _check(_libc.prctl(_SET_SECCOMP, _FILTER, pointer, 0, 0), "seccomp")


def _step(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("HBBI", code, then, otherwise, value)


def _load(offset: int) -> bytes:
    """Load 32 bits of the call's description: 0 is its number, 4 the machine, from 16 arguments."""
    return _step(0x20, offset)


def _fail(error: int) -> bytes:
    return _step(0x06, 0x0005_0000 | error)


_PASS = _step(0x06, 0x7FFF_0000)


def _unless(value: int, then: bytes) -> list[bytes]:
    return [_step(0x15, value, 1, 0), then]


def _for_each(values: tuple[int, ...], then: bytes) -> list[bytes]:
    return [one for value in values for one in (_step(0x15, value, 0, 1), then)]


def _call(number: int, steps: list[bytes]) -> list[bytes]:
    """Return the steps for one system call; they end with a verdict, else the call passes."""
    return [_step(0x15, number, 0, len(steps) + 1), *steps, _PASS]


if __name__ == "__main__":
    try:
        main()
    except (OSError, MemoryError) as error:
        sys.exit(f"landlock: {error}")
