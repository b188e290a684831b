"""Landlock and seccomp, where bubblewrap cannot run: what holds, and what a command still can."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from agent_ls.safety.sandbox.builder import open_builder
from agent_ls.safety.sandbox.confinement import Confinement
from agent_ls.safety.sandbox.landlock import Landlock, find_landlock
from agent_ls.safety.sandbox.probe import SandboxOptions, probe
from agent_ls.workspace.runner import ShellRunner
from tests.support.sandboxes import Ran, installed_bubblewrap, run_confined

_PYTHON = str(Path(sys.executable).resolve())


READ, WRITE = "read-only", "workspace-write"


@pytest.fixture(scope="module")
def landlock() -> Landlock:
    """The sandbox; where it does not work the test is skipped."""
    found = probe(SandboxOptions(use="landlock"))
    if not isinstance(found.sandbox, Landlock):
        pytest.skip(found.why)
    return found.sandbox


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace with a repository and secrets, next to a folder outside."""
    top = tmp_path.resolve() / "work"
    (top / ".git" / "hooks").mkdir(parents=True)
    (top / "src" / "deep" / "conf").mkdir(parents=True)
    (top / "lib").mkdir()
    (top / "a.txt").write_text("text\n")
    (top / "src" / "deep" / "conf" / ".env").write_text("KEY=canary\n")
    outside = tmp_path.resolve() / "outside"
    outside.mkdir()
    (outside / "file").write_text("canary\n")
    (top / "src" / "link").symlink_to(outside)
    return top


@pytest.fixture
def run(landlock: Landlock, folder: Path) -> Runs:
    """Runs a command in the workspace."""
    return Runs(landlock, folder)


class Runs:
    """Runs commands in one workspace."""

    def __init__(self, sandbox: Landlock, folder: Path) -> None:
        self.sandbox = sandbox
        self.folder = folder

    def __call__(
        self,
        command: str,
        view: str = "workspace-write",
        *,
        network: tuple[str, ...] = (),
        inside: bool = False,
    ) -> Ran:
        """Run a command; ``inside`` of a sandbox in which no namespaces can be had."""
        confinement = Confinement(
            "read-only" if view == "read-only" else "workspace-write",
            roots=(self.folder,),
            readable=(Path(sys.base_prefix).resolve(),),
            protected=(self.folder / ".git", self.folder / ".envrc"),
            hidden=(self.folder / "src" / "deep" / "conf" / ".env",),
            network=network,
        )
        outer: tuple[str, ...] = ()
        if inside:
            program = str(installed_bubblewrap().program)
            outer = (program, "--unshare-user", "--disable-userns", "--dev-bind", "/", "/")
        return run_confined(confinement, command, sandbox=self.sandbox, inside=outer)


def test_it_is_found_by_running_it(landlock: Landlock) -> None:
    assert find_landlock() == landlock


@pytest.mark.parametrize(
    "view, command",
    [
        pytest.param(READ, "cat a.txt; ls src", id="look-reads"),
        pytest.param(READ, "echo x > $TMPDIR/x && cat $TMPDIR/x", id="look-has-a-place"),
        pytest.param(READ, "cd $(mktemp -d) && seq 9 > x && cp x y && sort -R x | sort -no x && "
                     "diff x y && cat <<< b", id="look-keeps-what-it-needs"),
        pytest.param(WRITE, "echo new > a.txt", id="work-changes-a-file-at-the-top"),
        pytest.param(WRITE, "mkdir lib/b && echo x > lib/b/c && mv lib/b/c lib", id="work-below"),
        pytest.param(WRITE, "ln -s c lib/d && > lib/f && ln lib/f lib/e", id="links"),
        pytest.param(WRITE, "echo x > lib/c && chmod +x lib/c", id="work-changes-modes"),
        pytest.param(WRITE, "cat <(echo a) <<< b && (sleep 0 & wait)", id="pipes-and-children"),
        pytest.param(WRITE, "git --version && uname -a && date", id="programs"),
        pytest.param(WRITE, "yes | head -n 1; test ${PIPESTATUS[0]} = 141", id="broken-pipes-end"),
        pytest.param(WRITE, "(ulimit -f 1; head -c 9999 /dev/zero > lib/x); test $? = 153",
                     id="long-files-end"),
        pytest.param(WRITE, "head -qc 2 /dev/zero /dev/random /dev/urandom > /dev/null && "
                     "! (echo x > /dev/full) 2> /dev/null", id="devices"),
        pytest.param(WRITE, f"{_PYTHON} -c 'import os; os.ttyname(os.openpty()[1])'",
                     id="a-terminal-of-its-own"),
        pytest.param(WRITE, "test $PWD -ef . && test -f a.txt", id="begins-in-the-folder"),
        pytest.param(WRITE, f"{_PYTHON} -c 'import ssl, subprocess, tempfile, multiprocessing'",
                     id="python"),
    ],
)  # fmt: skip
def test_ordinary_commands_work(run: Runs, view: str, command: str) -> None:
    done = run(f"/bin/bash -c {quoted(command)}", view)
    assert done.code == 0, done.output


def quoted(command: str) -> str:
    """Return the text as one word of a shell."""
    return "'" + command.replace("'", "'\\''") + "'"


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("cat ../outside/file", id="a-file-outside"),
        pytest.param("cat src/link/file", id="through-a-link"),
        pytest.param("ls ../outside", id="a-folder-outside"),
        pytest.param("ls ~", id="the-home-folder"),
        pytest.param("cat src/deep/conf/.env", id="a-hidden-file"),
        pytest.param(
            "ln src/deep/conf/.env lib/e && cat lib/e", id="a-hidden-file-by-another-name"
        ),
        pytest.param("mv src/deep/conf/.env lib/e && cat lib/e", id="a-hidden-file-moved"),
        pytest.param("mv src/deep/conf lib/e && cat lib/e/.env", id="its-folder-moved"),
        pytest.param("cp -r src $TMPDIR/c; cat $TMPDIR/c/deep/conf/.env", id="a-copy-of-all"),
        pytest.param("cat /proc/$PPID/environ", id="variables-of-the-parent"),
        pytest.param("cat /proc/1/environ", id="variables-of-another-process"),
        pytest.param("cat /proc/$PPID/root/etc/shadow", id="the-root-of-another-process"),
        pytest.param("cat /etc/shadow", id="passwords"),
        pytest.param("ls /tmp", id="the-shared-tmp"),
    ],
)
@pytest.mark.parametrize("view", ["read-only", "workspace-write"])
def test_what_cannot_be_read(run: Runs, view: str, command: str) -> None:
    done = run(command, view)
    assert done.code != 0
    assert "canary" not in done.output


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("echo x > ../outside/file", id="a-file-outside"),
        pytest.param("echo x > ../outside/new", id="a-new-file-outside"),
        pytest.param(": > ../outside/file", id="emptied"),
        pytest.param("truncate -s 0 ../outside/file", id="cut-short"),
        pytest.param("rm ../outside/file", id="removed"),
        pytest.param("mv ../outside/file lib/x", id="moved-in"),
        pytest.param("mv a.txt ../outside/x", id="moved-out"),
        pytest.param("ln ../outside/file lib/x && echo x > lib/x", id="a-second-name"),
        pytest.param("echo x > src/link/file", id="through-a-link"),
        pytest.param("ln -s ../../outside lib/m && echo x > lib/m/new", id="through-a-new-link"),
        pytest.param("mkdir ../outside/new", id="a-folder-outside"),
        pytest.param("echo x > .git/hooks/pre-commit", id="a-hook"),
        pytest.param("ln a.txt .git/hooks/x; ln -s ../../a.txt .git/hooks/x", id="a-link-as-hook"),
        pytest.param("mv lib .git/hooks/", id="moved-into-a-protected-folder"),
        pytest.param("mv .git g", id="a-protected-folder-renamed"),
        pytest.param("rmdir .git/hooks", id="a-protected-folder-emptied"),
        pytest.param("echo x > .envrc", id="an-absent-name"),
        pytest.param("mkdir .envrc", id="an-absent-name-as-folder"),
        pytest.param("ln -s a.txt .envrc", id="an-absent-name-as-link"),
        pytest.param("mv lib .envrc", id="an-absent-name-by-renaming"),
        pytest.param("touch ~/.agent-ls-probe", id="home"),
        pytest.param("touch /tmp/agent-ls-probe", id="the-shared-tmp"),
        pytest.param("touch /dev/shm/agent-ls-probe", id="shared-memory"),
        pytest.param("touch /usr/agent-ls-probe /etc/agent-ls-probe", id="the-system"),
        pytest.param("kill -0 1", id="a-signal-to-another-process"),
        pytest.param("kill -0 $PPID", id="a-signal-to-the-supervisor"),
        pytest.param("mount -t tmpfs none lib", id="a-mount"),
        pytest.param("unshare -rm mount -t tmpfs none lib", id="a-mount-in-a-namespace"),
        pytest.param("unshare -r true", id="a-namespace"),
        pytest.param("mknod lib/null c 1 3", id="a-device"),
        pytest.param("chown 1 a.txt", id="another-owner"),
    ],
)
def test_what_cannot_be_changed(run: Runs, command: str) -> None:
    before = _state(run.folder.parent)
    done = run(command)
    assert done.code != 0, done.output
    assert _state(run.folder.parent) == before
    assert not Path("/tmp/agent-ls-probe").exists()


def _state(folder: Path) -> list[tuple[str, str]]:
    """Return what could have been harmed: all outside, and the protected and absent names."""
    kept = [folder / "outside", folder / "work" / ".git"]
    found = [one for top in kept for one in (top, *top.rglob("*"))]
    found += [one for one in (folder / "work").iterdir() if one.name.startswith(".")]
    return sorted((str(one), one.read_text() if one.is_file() else "") for one in found)


def test_look_changes_nothing(run: Runs) -> None:
    done = run("echo x > a.txt; echo x > lib/b; rm a.txt; mkdir lib/c; touch b; true", READ)
    assert done.output.count("Permission denied") == 5
    assert (run.folder / "a.txt").read_text() == "text\n"
    assert not list((run.folder / "lib").iterdir())


_SETS = {
    "modes": "os.chmod({0!r}, 0o777)",
    "open-files": "os.fchmod(os.open({0!r}, 0), 0o777)",
    "owners": "os.chown({0!r}, -1, os.getgid())",
    "times": "os.utime({0!r}, (1, 1))",
    "attributes": "os.setxattr({0!r}, 'user.a', b'a')",
    "no-attributes": "os.removexattr({0!r}, 'user.a')",
}


@pytest.mark.parametrize("code", _SETS.values(), ids=_SETS.keys())
@pytest.mark.parametrize("file", ["../outside/file", "a.txt"])
def test_look_changes_no_metadata(run: Runs, code: str, file: str) -> None:
    def state() -> tuple[int, int, int]:
        found = (run.folder / file).stat()
        return found.st_mode, found.st_mtime_ns, found.st_ctime_ns

    before = state()
    call = code.format(str(run.folder / file))
    done = run(f"{_PYTHON} -c {quoted(f'import os; {call}')}", "read-only")
    assert "PermissionError" in done.output
    assert state() == before


# From 3.13 on a traceback quotes the code, so the code must not hold the word.
_SOCKET = "import socket; socket.socket({}).connect({!r}); print('rea' + 'ched')"


@pytest.mark.parametrize("inside", [False, True], ids=["own-network", "without-namespaces"])
@pytest.mark.parametrize("kind", ["AF_INET", "AF_UNIX", "AF_INET, socket.SOCK_DGRAM", "AF_VSOCK"])
def test_sockets_outside_are_not_reached(
    run: Runs, tmp_path: Path, kind: str, inside: bool
) -> None:
    place = str(tmp_path.resolve() / "work" / "s")
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        local.bind(place)
        local.listen()
        to = {"AF_UNIX": place, "AF_VSOCK": (2, 1)}.get(kind, server.getsockname())
        code = _SOCKET.format(f"socket.{kind}", to)
        if "DGRAM" in kind:
            code = _SOCKET.format(f"socket.{kind}", ("198.51.100.1", 9))
        done = run(f"{_PYTHON} -c {quoted(code)}", inside=inside)
    assert "reached" not in done.output
    assert "Error" in done.output


@pytest.mark.parametrize(
    "call, error",
    [
        pytest.param("l.syscall(425, 1, bytes(120))", 38, id="io-uring"),
        pytest.param("l.syscall(435, bytes(88), 88)", 38, id="clone3"),
        pytest.param("l.syscall(56 | 0x40000000, 0, 0)", 38, id="other-numbers-of-calls"),
        pytest.param("l.syscall(56, 0x10000000 | 17, 0, 0, 0, 0)", 1, id="clone-into-a-namespace"),
        pytest.param("l.syscall(308, 0, 0)", 1, id="setns"),
        pytest.param("l.syscall(272, 0x10000000)", 1, id="unshare"),
        pytest.param("l.syscall(250, 0, 0)", 1, id="keys"),
        pytest.param("l.syscall(248, b'user', b'a', b'b', 1, -2)", 1, id="a-new-key"),
        pytest.param("l.syscall(249, b'user', b'a', None, 0)", 1, id="an-old-key"),
        pytest.param("l.socket(16, 3, 0) * 0 - 1", 0, id="netlink-is-allowed"),
        pytest.param("l.socket(1, 1, 0)", 13, id="a-socket-file"),
        pytest.param("l.socket(17, 3, 3)", 13, id="packets"),
        pytest.param("l.socketpair(1, 2, 0, bytes(8))", 13, id="pair-of-datagram-sockets"),
        pytest.param("l.socketpair(1, 2 | 0x80800, 0, bytes(8))", 13, id="pair-with-flags"),
        pytest.param("l.socketpair(1, 1, 0, bytes(8)) - 1", 0, id="pair-of-streams-is-allowed"),
        pytest.param("l.prctl(22, 0, 0, 0, 0)", 1, id="no-other-filter"),
    ],
)
def test_system_calls(run: Runs, call: str, error: int) -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("this machine has other numbers")
    code = f"import ctypes; l = ctypes.CDLL(None, use_errno=True); r = {call}; "
    code += "print(r, ctypes.get_errno())"
    if "no-other" in call or call.startswith("l.prctl"):
        code = code.replace("print(r", "r = -1 if l.prctl(21, 0, 0, 0, 0) == 2 else 0; print(r")
        assert run(f"{_PYTHON} -c {quoted(code)}").output.startswith("-1")
        return
    assert run(f"{_PYTHON} -c {quoted(code)}").output.split() == ["-1", str(error)]


def test_all_capabilities_are_gone(run: Runs) -> None:
    done = run("grep -h -e ^Cap -e ^NoNew /proc/self/status")
    assert [line.split()[1].lstrip("0") for line in done.output.splitlines()] == [""] * 5 + ["1"]


def test_its_temporary_folder_ends_with_the_command(run: Runs) -> None:
    place = Path(run("echo $TMPDIR").output.strip())
    assert place.name.startswith("agent-ls-")
    assert not place.exists()


def test_a_network_by_host_needs_namespaces(landlock: Landlock, folder: Path) -> None:
    confinement = Confinement("workspace-write", roots=(folder,), network=("pypi.org",))
    with pytest.raises(OSError, match="cannot be limited"):
        Landlock(has_namespaces=False).wrap(confinement, ("true",), cwd=folder, env={})


def test_all_hosts_share_the_network(run: Runs) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = _SOCKET.format("", server.getsockname())
        assert run(f"{_PYTHON} -c {quoted(code)}", network=("*",)).output == "reached\n"


async def test_a_refused_command_says_what_landlock_cannot_allow(run: Runs) -> None:
    builder = open_builder(run.sandbox, SandboxOptions(), lambda: [run.folder])
    runner = ShellRunner(builder)
    try:
        refused = await runner.run("mkdir build", cwd=run.folder, timeout_s=20)
        allowed = await runner.run("mkdir lib/build", cwd=run.folder, timeout_s=20)
    finally:
        builder.end()
    assert refused.exit_code == 1
    assert "[sandbox: no command can add" in refused.output
    assert (allowed.exit_code, allowed.output) == (0, "")
