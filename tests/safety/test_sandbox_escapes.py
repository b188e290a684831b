"""Attempts to get out of the sandbox, each run for real in both views: none has an effect.

Every attempt is judged alike: nothing beside the workspace changes, nor what steers programs in it;
no canary is printed; nothing is reached, killed or left running. A *look* changes nothing at all.
"""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from agent_ls.loop.ports.commands import Bounds
from agent_ls.safety.sandbox.builder import open_builder
from agent_ls.safety.sandbox.probe import SandboxOptions
from agent_ls.workspace.runner import ShellRunner
from tests.support.sandboxes import installed_bubblewrap

pytestmark = pytest.mark.heavy

CANARY = "canary-3f9a"
PYTHON = shlex.quote(str(Path(sys.executable).resolve()))

SHELL = {
    # Writing beside the workspace.
    "write beside": "echo x > ../outside/new",
    "overwrite beside": "echo x > ../outside/file",
    "append beside": "echo x >> $OUTSIDE/file",
    "delete beside": "rm -f ../outside/file",
    "move out": "mv a.txt ../outside/",
    "copy out": "cp a.txt $OUTSIDE/new",
    "make a folder beside": "mkdir ../new",
    "through a link": "echo x > link/new; rm -f link/file",
    "through a new link": "ln -s $OUTSIDE out && echo x > out/new",
    "hard link of a file outside": "ln $OUTSIDE/file got && echo x > got",
    "change the mode outside": "chmod 777 ../outside/file",
    "touch the root": "touch /new /usr/new /etc/new /opt/new",
    "replace a program": "cp a.txt /usr/bin/env; cp a.txt /bin/sh",
    "change the resolver": "echo x > /etc/hosts; echo x > /etc/ld.so.preload; echo x > /etc/passwd",
    "write into the home folder": "echo x > $HOME/.bashrc; echo x > $HOME/.profile",
    "write keys": "mkdir -p $HOME/.ssh; echo x > $HOME/.ssh/authorized_keys",
    "crontab": "crontab a.txt; echo x > /var/spool/cron/crontabs/root; echo x > /etc/cron.d/x",
    "rename the workspace": "mv ../work ../other",
    "remove the workspace": "rmdir ../work; rm -rf ../work/.git",
    # What steers programs in the workspace.
    "a hook of git": "echo x > .git/hooks/post-commit; chmod +x .git/hooks/post-commit",
    "secrets beside the word git": "echo 'a git b'; git status; cat .env deep/.env",
    "git's configuration": "git config core.fsmonitor /tmp/x; echo x >> .git/config",
    "git's attributes": "mkdir -p .git/info; echo x > .git/info/attributes",
    "git's head": "echo x > .git/HEAD; git commit --allow-empty -m x; git update-ref HEAD x",
    "move git's folder": "mv .git git2; mkdir .git; echo x > .git/config",
    "remove git's folder": "rm -rf .git",
    "replace git's folder by a link": "ln -sfn $OUTSIDE .git",
    "an existing file of an editor": "echo x > .vscode/tasks.json; echo x > .vscode/new",
    "an existing file by rename": "echo x > y; mv y .vscode/tasks.json; mv .vscode v",
    "an existing file deeper": "echo x > sub/.vscode/tasks.json; rm -rf sub/.vscode",
    "rename the folder above": "mv sub sub2; mkdir -p sub/.vscode; echo x > sub/.vscode/tasks.json",
    "exchange by the parent": "mkdir t; mv sub t/; mv t/sub sub",
    # Reading.
    "a key": "cat $HOME/.ssh/id_rsa ~/.ssh/*; find / -name id_rsa -exec cat {} +",
    "history": "cat $HOME/.bash_history; cat ~/.aws/credentials ~/.cargo/credentials.toml",
    "the whole home folder": "grep -r canary $HOME",
    "a file beside": "cat ../outside/file; cat link/file; cat $OUTSIDE/*",
    "a secret of the workspace": "cat .env; cat deep/.env; cat < .env; cp .env y; cat y",
    "a secret by a hard link": "ln .env y; cat y; ln deep/.env z; cat z",
    "a secret by rename": "mv .env y; cat y; mv deep deep2; cat deep2/.env",
    "a secret by a link": "ln -s .env y; cat y; cat env-link",
    "a secret through /proc": "cat /proc/self/cwd/.env /proc/self/root/$OUTSIDE/file",
    "a secret by unmounting": "umount .env; umount -l .env; cat .env",
    "passwords": f"cat /etc/shadow /etc/sudoers && echo {CANARY}",
    "environments of other processes": "cat /proc/*/environ; cat /proc/$VICTIM/environ",
    "descriptors of other processes": "cat /proc/$VICTIM/fd/*; ls -l /proc/$VICTIM/cwd/",
    # Processes.
    "kill a process": "kill -9 $VICTIM; kill -9 -1",
    "kill by name": "pkill -9 sleep; killall -9 sleep",
    "debug a process": "gdb -p $VICTIM -batch; strace -p $VICTIM; cat /proc/$VICTIM/mem",
    "change priorities": "renice 19 $VICTIM; kill -STOP $VICTIM",
    "a daemon": "setsid nohup sleep $LONG >/dev/null 2>&1 & disown; exit 0",
    "a daemon that forks twice": "(setsid sh -c 'sleep $LONG & sleep $LONG &' &)",
    "an own scheduler": 'echo "sleep $LONG" | at now; systemd-run --user sleep $LONG',
    # Privileges.
    "a mount": "mount -t tmpfs x .git; mount --bind . .git; echo x > .git/config",
    "mounts made writable": "mount -o remount,bind,rw .git; echo x > .git/config",
    "a user namespace": f"unshare -Urm sh -c 'mount -t tmpfs x .git && echo {CANARY}'",
    "any namespace": f"unshare -n true && echo {CANARY}; nsenter -t 1 -a true && echo {CANARY}x",
    "setuid": "cp /bin/sh s; chmod 4755 s; sudo -n id; su -c id",
    "another root": f"chroot . /bin/true && echo {CANARY}",
    "a device": "mknod d b 8 0 && cat d; cat /dev/mem; cat /dev/kmsg",
    "kernel settings": "echo x > /proc/sys/kernel/core_pattern; echo b > /proc/sysrq-trigger",
    "control groups": "mkdir /sys/fs/cgroup/x; echo 1 > /sys/fs/cgroup/cgroup.procs",
    "a sandbox in the sandbox": "bwrap --bind / / sh -c 'echo x > .git/config'",
    "modules": f"insmod a.txt && echo {CANARY}",
    # Other ways to the outside.
    "shared memory": "cat /dev/shm/$SHM; rm -f /dev/shm/*; echo x > /dev/shm/left-$SHM",
    "temporary files": "rm -rf /tmp/*; echo x > /tmp/left-$SHM; echo x > /var/tmp/left-$SHM",
    "a socket file": "curl -s --unix-socket $OUTSIDE/docker.sock http://x/; ls $OUTSIDE",
    "the local network": "exec 3<>/dev/tcp/127.0.0.1/$TCP && echo x >&3",
    "a named host": "curl -s -m 2 http://localhost:$TCP/; curl -s -m 2 http://127.0.0.1:$TCP/",
    "a datagram": "echo x > /dev/udp/127.0.0.1/$UDP",
    "a very large file": "truncate -s 10G big; dd if=/dev/zero of=big bs=1 count=1 seek=10G",
}
"""Attempts by commands. Some of the programs need not be installed."""

CODE = {
    "a socket file": """
        import socket
        s = socket.socket(socket.AF_UNIX)
        s.connect(OUTSIDE + "/docker.sock")
        s.send(b"x")
    """,
    "an abstract socket": """
        import socket
        s = socket.socket(socket.AF_UNIX)
        s.connect("\\0" + os.environ["SHM"])
        s.send(b"x")
    """,
    "a port of this machine": """
        import socket
        for host in ("127.0.0.1", "::1", "0.0.0.0"):
            try:
                socket.create_connection((host, int(os.environ["TCP"])), 1).send(b"x")
            except OSError:
                pass
    """,
    "an interface to packets": """
        import socket
        s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        print("CANARY")
    """,
    "tracing a process": """
        import ctypes
        libc = ctypes.CDLL(None)
        if libc.ptrace(16, int(os.environ["VICTIM"]), 0, 0) == 0:
            print("CANARY")
    """,
    "keys of the session": """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        key = libc.syscall(250, 10, -3, b"user", CANARY_NAME.encode(), 0)
        if key > 0:
            print("CANARY")
    """,
    "input for a terminal": """
        import fcntl
        for name in ("/dev/tty", "/dev/pts/0", "/dev/console"):
            try:
                fcntl.ioctl(os.open(name, os.O_RDWR), 0x5412, b"x")
                print("CANARY")
            except OSError:
                pass
    """,
    "the control pipe of the supervisor": """
        for pid in os.listdir("/proc"):
            for fd in "0 3 4 5".split():
                try:
                    os.write(os.open(f"/proc/{pid}/fd/{fd}", os.O_WRONLY), b"x")
                except OSError:
                    pass
    """,
    "a mount by system call": """
        import ctypes
        libc = ctypes.CDLL(None)
        libc.mount(b"tmpfs", os.fsencode(WORK + "/.git"), b"tmpfs", 0, None)
        open(WORK + "/.git/config", "w").write("x")
    """,
    "leaving the root by an open folder": """
        here = os.open(".", os.O_RDONLY)
        os.chroot("sub")
        os.fchdir(here)
        for _ in range(64):
            os.chdir("..")
        print(open("." + OUTSIDE + "/file").read())
    """,
    "opening by handle": """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        buffer = (ctypes.c_char * 128)()
        ctypes.cast(buffer, ctypes.POINTER(ctypes.c_uint32))[0] = 120
        mount = ctypes.c_int()
        if libc.name_to_handle_at(-100, b".env", buffer, ctypes.byref(mount), 0) == 0:
            fd = libc.open_by_handle_at(os.open(".", os.O_RDONLY), buffer, os.O_RDONLY)
            print(os.read(fd, 99))
    """,
    "a race for a secret": """
        for _ in range(200):
            try:
                os.rename("deep", "deep2")
                os.rename("deep2", "deep")
            except OSError:
                pass
            try:
                print(open("deep/.env").read(), open("deep2/.env").read())
            except OSError:
                pass
    """,
}
"""Attempts by system calls, as Python."""

ATTEMPTS = {
    **SHELL,
    **{
        f"python: {name}": f"{PYTHON} -c "
        + shlex.quote(
            "import os\nOUTSIDE, WORK = os.environ['OUTSIDE'], os.environ['WORK']\n"
            + textwrap.dedent(code)
            .replace('"CANARY"', repr(CANARY))
            .replace("CANARY_NAME", repr(CANARY))
        )
        for name, code in CODE.items()
    },
}
_STEERING = (".git", ".vscode", "sub/.vscode", ".env", "deep/.env")


@dataclass(slots=True)
class World:
    """A workspace, and what an escape could reach."""

    place: Path
    victim: subprocess.Popen[bytes]
    listening: list[socket.socket]
    shm: Path
    seen: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def work(self) -> Path:
        return self.place / "work"

    def variables(self) -> dict[str, str]:
        tcp, udp = (str(one.getsockname()[1]) for one in self.listening[:2])
        places = {"OUTSIDE": str(self.place / "outside"), "WORK": str(self.work)}
        return places | {
            "VICTIM": str(self.victim.pid),
            "TCP": tcp,
            "UDP": udp,
            "SHM": self.shm.name,
            "LONG": self.long(),
        }

    def long(self) -> str:
        """Return how many seconds to sleep: a number that no other test's processes have."""
        return str(900_000 + self.victim.pid)

    def was_reached(self) -> bool:
        """Say whether anything has come in over a socket."""
        for one in self.listening:
            with suppress(BlockingIOError):
                if one.type == socket.SOCK_DGRAM:
                    one.recvfrom(9)
                else:
                    one.accept()[0].close()
                return True
        return False


def _state(top: Path) -> dict[str, str]:
    """Return all files and folders with what they are and hold."""
    found: dict[str, str] = {}
    for path in sorted(top.rglob("*")):
        facts = path.lstat()
        held = path.read_bytes().hex() if path.is_file() and not path.is_symlink() else ""
        target = str(path.readlink()) if path.is_symlink() else ""
        found[path.relative_to(top).as_posix()] = f"{facts.st_mode:o} {target}{held}"
    return found


def _fill(place: Path) -> None:
    for name, text in {
        "home/.ssh/id_rsa": CANARY,
        "home/.bash_history": CANARY,
        "home/.aws/credentials": CANARY,
        "home/.cargo/credentials.toml": CANARY,
        "outside/file": CANARY,
        "work/a.txt": "text\n",
        "work/.env": CANARY,
        "work/deep/.env": CANARY,
        "work/.vscode/tasks.json": "{}",
        "work/sub/.vscode/tasks.json": "{}",
    }.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    (place / "work" / "link").symlink_to("../outside")
    (place / "work" / "env-link").symlink_to("deep/.env")
    subprocess.run(["git", "init", "-q", place / "work"], check=True)


@pytest.fixture(scope="module")
def template(repository: Path) -> Iterator[Path]:
    """A filled place, not below /tmp, which a sandbox hides anyway."""
    installed_bubblewrap()
    (repository / ".cache").mkdir(exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix="escapes-", dir=repository / ".cache")).resolve()
    _fill(place / "template")
    yield place
    shutil.rmtree(place)


@pytest.fixture
def world(template: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    place = template / uuid.uuid4().hex[:8]
    shutil.copytree(template / "template", place, symlinks=True)
    monkeypatch.setenv("HOME", str(place / "home"))
    shm = Path("/dev/shm") / f"escape-{uuid.uuid4().hex}"
    shm.write_text(CANARY)
    listening = [
        socket.socket(socket.AF_INET),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        socket.socket(socket.AF_UNIX),
        socket.socket(socket.AF_UNIX),
    ]
    # A path of a socket is short, so it is bound from inside of its folder.
    here = os.open(place / "outside", os.O_RDONLY)
    addresses = (
        ("127.0.0.1", 0),
        ("127.0.0.1", 0),
        f"/proc/self/fd/{here}/docker.sock",
        f"\0{shm.name}",
    )
    for one, address in zip(listening, addresses, strict=True):
        one.bind(address)
        one.setblocking(False)
        if one.type == socket.SOCK_STREAM:
            one.listen()
    os.close(here)
    with subprocess.Popen(["sleep", "300"], env={"KEY": CANARY, "PATH": os.defpath}) as victim:
        world = World(place, victim, listening, shm)
        world.seen = _state(place)
        yield world
        victim.kill()
    for one in listening:
        one.close()
    shm.unlink(missing_ok=True)
    shutil.rmtree(place, ignore_errors=True)


def _is_kept(name: str, view: str) -> bool:
    """Say whether a command of this view may not change what has this name."""
    inside = name.removeprefix("work/")
    if view == "read-only" or inside == name:
        return True
    return any(inside == one or inside.startswith(f"{one}/") for one in _STEERING)


def _alive(world: World) -> list[str]:
    found: list[str] = []
    for one in psutil.process_iter():
        with suppress(psutil.Error):
            if world.long() in one.cmdline() or one.environ().get("WORK") == str(world.work):
                found.append(" ".join(one.cmdline()))
    return found


@pytest.mark.story("sandbox escapes")
@pytest.mark.parametrize("view", ["read-only", "workspace-write"])
@pytest.mark.parametrize("name", ATTEMPTS)
async def test_no_attempt_has_an_effect(world: World, name: str, view: str) -> None:
    builder = open_builder(installed_bubblewrap(), SandboxOptions(), lambda: [world.work])
    try:
        outcome = await ShellRunner(builder).run(
            ATTEMPTS[name],
            cwd=world.work,
            timeout_s=20,
            env=world.variables(),
            bounds=Bounds("read-only" if view == "read-only" else "workspace-write"),
        )
    finally:
        builder.end()
    now = _state(world.place)
    names = {one for one in {*world.seen, *now} if _is_kept(one, view)}
    assert {one: now.get(one) for one in names} == {one: world.seen.get(one) for one in names}
    assert CANARY not in outcome.output
    assert world.victim.poll() is None
    assert psutil.Process(world.victim.pid).status() != psutil.STATUS_STOPPED
    assert not world.was_reached()
    assert _alive(world) == []
    assert world.shm.read_text() == CANARY
    left = [Path(one) / f"left-{world.shm.name}" for one in ("/dev/shm", "/tmp", "/var/tmp")]
    assert not any(map(Path.exists, left))
    big = world.work / "big"
    assert not big.exists() or big.stat().st_size < 5 * 2**30


def test_there_are_at_least_sixty_attempts() -> None:
    assert len(ATTEMPTS) >= 60


async def test_each_kind_of_effect_is_noticed_without_a_sandbox(world: World) -> None:
    """The checks above can fail: the same commands without a sandbox do what they attempt."""
    runner = ShellRunner()
    for name in (
        "write beside",
        "an existing file of an editor",
        "a hook of git",
        "a datagram",
        "the local network",
    ):
        await runner.run(ATTEMPTS[name], cwd=world.work, timeout_s=20, env=world.variables())
    assert (await runner.run("cat .env", cwd=world.work, timeout_s=20)).output == CANARY
    assert world.was_reached()
    now = _state(world.place)
    changed = {one for one in {*world.seen, *now} if now.get(one) != world.seen.get(one)}
    assert {"outside/new", "work/.vscode/new", "work/.git/hooks/post-commit"} <= changed
