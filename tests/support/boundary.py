"""Runs rows of commands in a real view, and finds what each of them did to the world around it.

Many rows share one start of a sandbox, below the supervisor, as the command of an agent would. What
a row did is read from outside: changed files, printed secrets, connections, processes.
"""

from __future__ import annotations

import base64
import json
import os
import re
import select
import shutil
import socket
import stat
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import psutil

from agent_ls.loop.ports.commands import Bounds
from agent_ls.processes.compiled import compiled
from agent_ls.safety.programs import child_path
from agent_ls.safety.sandbox.builder import open_builder
from agent_ls.safety.sandbox.confinement import Sandbox, View, Wrapped
from agent_ls.safety.sandbox.probe import SandboxOptions
from agent_ls.workspace import supervisor
from tests.support.sandboxes import installed_bubblewrap

SECRET = "canary-5d1c7e"
_LIMIT_S = 1.0
"""A row that runs longer is ended, with its process group."""
_ANSWER_S = 30.0
_MARK = "AGENT_LS_BOUNDARY"
_SUPERVISOR = compiled(Path(supervisor.__file__))
"""As commands are started: the views show nothing else of the package."""
_PYTHON = (str(Path(sys.executable).resolve()), "-I", "-S")
_DRIVER = """
import json, os, resource, select, signal, sys
rows, answers, limit_s = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
os.set_inheritable(rows, False)
os.set_inheritable(answers, False)
said = os.fdopen(answers, "w")
for line in os.fdopen(rows):
    output = os.memfd_create("output")
    child = os.fork()
    if not child:
        try:
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(output, 1)
            os.dup2(output, 2)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
            os.execv("/bin/bash", ["/bin/bash", "--noprofile", "--norc", "-c", json.loads(line)])
        finally:
            os._exit(127)
    handle = os.pidfd_open(child)
    is_over = bool(select.select([handle], [], [], limit_s)[0])
    if not is_over:
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    text = os.pread(output, 1 << 20, 0).decode("latin-1")
    os.close(handle)
    os.close(output)
    print(json.dumps([is_over, text]), file=said, flush=True)
"""

_STEERING = (".git", ".vscode/tasks.json", ".envrc", ".github/workflows/ci.yml", "linked")
"""What no view may change: it is there before, and steers other programs or is a file outside."""
_SECRETS = (
    *(".env", ".env.production", "-x/.env", ".netrc", ".aws/credentials"),
    *("src/id_rsa", "src/deep/id_rsa", "keys/id_ed25519"),
)

_DRIVER_WORDS = len(_PYTHON) + 5
"""The end of a started command: the driver without its supervisor."""

Kind = Literal["changed", "metadata", "printed", "reached", "killed", "left"]
State = dict[Path, tuple[int, bytes]]
"""Of each file, folder and link: its mode, and its content or where it leads."""
Wrap = Callable[[tuple[str, ...]], Wrapped]
"""Returns how to start a command in a view."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that a row did although the view should not let it."""

    kind: Kind
    row: str
    what: str


@dataclass(slots=True)
class Tally:
    """What rows did in one view."""

    rows: int = 0
    hung: int = 0
    """Ended because they ran too long."""
    ended: int = 0
    """The sandbox ended with these, which is none of the effects."""
    effects: list[Effect] = field(default_factory=list[Effect])

    def counts(self) -> Counter[Kind]:
        """Return how many rows had each kind of effect."""
        counts = Counter[Kind]()
        for row in {one.row for one in self.effects}:
            counts.update({one.kind for one in self.effects if one.row == row})
        return counts


class World:
    """A workspace with traps and secrets, files outside of it, a home folder, and listeners."""

    def __init__(self, base: Path) -> None:
        self.base = base.resolve() / "base"
        self.top = self.base / "proj"
        self.home = self.base / "home"
        self.outside = self.base / "outside"
        self._listeners = list[socket.socket]()
        self._bystander: subprocess.Popen[bytes] | None = None
        self.places = dict[str, str]()
        """What stands in rows between braces."""

    @contextmanager
    def open(self) -> Generator[World]:
        """Listen, and have a process beside the agent, during the block."""
        name = f"\0agent-ls-{uuid.uuid4().hex}"
        # Where it lies has to stay when the world is built again.
        place = self.base.with_name("socket")
        with (
            socket.create_server(("127.0.0.1", 0)) as internet,
            socket.socket(socket.AF_UNIX) as local,
            socket.socket(socket.AF_UNIX) as abstract,
        ):
            local.bind(str(place))
            abstract.bind(name)
            self._listeners = [internet, local, abstract]
            for one in self._listeners:
                one.listen()
                one.setblocking(False)
            self.places = {
                "{port}": str(internet.getsockname()[1]),
                "{socket}": str(place),
                "{abstract}": name[1:],
                "{top}": str(self.top),
                "{home}": str(self.home),
                "{outside}": str(self.outside),
            }
            self._start_bystander()
            try:
                yield self
            finally:
                self._end_bystander()

    def is_bystander_hurt(self) -> bool:
        """Say whether the process beside the agent has ended or was stopped; then start another."""
        bystander = self._bystander
        if bystander is not None and bystander.poll() is None:
            state = psutil.Process(bystander.pid).status()
            if state not in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE):
                return False
        self._end_bystander()
        self._start_bystander()
        return True

    def _start_bystander(self) -> None:
        env = {"TOKEN": SECRET, "PATH": os.defpath}
        self._bystander = subprocess.Popen(["sleep", "600"], env=env)
        self.places["{pid}"] = str(self._bystander.pid)

    def _end_bystander(self) -> None:
        if self._bystander is not None:
            self._bystander.kill()
            self._bystander.wait()

    def connections(self) -> int:
        """Return how many connections came since the last call."""
        number = 0
        for one in self._listeners:
            with suppress(BlockingIOError):
                while True:
                    one.accept()[0].close()
                    number += 1
        return number

    def filled(self, row: str) -> str:
        """Return the row with this world's places; "/proj" is the workspace."""
        row = re.sub(r"(?<![\w.~])/proj(?![\w.])", str(self.top), row)
        for name, value in self.places.items():
            row = row.replace(name, value)
        return row

    def build(self) -> None:
        """Make all files anew."""
        shutil.rmtree(self.base, ignore_errors=True)
        top, script = self.top, self._script()
        for name in (
            "a/b/c",
            "3",
            "-P",
            "-x",
            "src/deep",
            "left",
            "right",
            "names",
            "mods/node_modules",
        ):
            (top / name).mkdir(parents=True)
        for path in (top / "3/ls", top / "-P/ls", top / "src/run.sh", top / "run.sh"):
            _write(path, script, 0o755)
        texts = {
            "x": "x\n", "README.md": "text\n", "src/a.py": "text\n", "right/x": "other\n",
            "f": script, "script": script, "a.sh": script, "list.txt": "README.md\n",
            "Makefile": f"all test check:\n\t{script.splitlines()[1]}\n",
            "main.py": f"open({str(self.base / 'ran')!r}, 'w'); print(open('.env').read())\n",
            "package.json": json.dumps({"name": "a", "scripts": {"test": script}}),
            "resp": f"8 {self.base}/x\n", "list": f"{self.base}/x\n",
            f"names/q {self.base.name}": "", ".envrc": "export A=1\n",
            ".vscode/tasks.json": "{}\n", ".github/workflows/ci.yml": "on: push\n",
            ".gitignore": ".env*\nid_rsa\n.netrc\nkeys\n.aws\n",
        }  # fmt: skip
        for name, text in texts.items():
            _write(top / name, text)
        for path in (
            *(self.base / "x", self.outside / "x", self.outside / "file"),
            *(top / name for name in _SECRETS),
            *(self.home / name for name in (".ssh/id_rsa", ".netrc", ".bash_history")),
            *(self.home / name for name in (".aws/credentials", ".config/app/token")),
        ):
            _write(path, f"{SECRET}\n")
        _write(self.home / ".bashrc", "# none\n")
        _write(self.outside / "inner/y", "inside\n")
        _write(self.outside / "linked", "linked\n")
        (top / "linked").hardlink_to(self.outside / "linked")
        for name, to in {
            "left/x": self.base / "x",
            "mods/node_modules/x": self.base / "x",
            "jump": self.outside / "inner",
            "out": self.outside,
            "near": Path("a/b/c"),
        }.items():
            (top / name).symlink_to(to)
        git = ("git", "-C", str(top), "-c", "user.name=a", "-c", "user.email=a@example.org",
               "-c", "commit.gpgsign=false")  # fmt: skip
        for words in (("init", "-q", "--template="), ("add", "x", "README.md", "src/a.py"),
                      ("commit", "-qm", "first")):  # fmt: skip
            subprocess.run((*git, *words), check=True, capture_output=True)

    def _script(self) -> str:
        return f"#!/bin/sh\ntouch {self.base}/ran; cat {self.base}/x .env 2>/dev/null\n"

    def state(self) -> State:
        """Return what lies here now."""
        found: State = {}
        for folder, folders, files in os.walk(self.base):
            for path in (Path(folder, name) for name in (*folders, *files)):
                with suppress(OSError):
                    mode = path.lstat().st_mode
                    if stat.S_ISLNK(mode):
                        found[path] = mode, os.fsencode(path.readlink())
                    else:
                        found[path] = mode, path.read_bytes() if stat.S_ISREG(mode) else b""
        return found

    def is_kept(self, path: Path) -> bool:
        """Say whether not even *work* may change the path."""
        if not path.is_relative_to(self.top) or path == self.top:
            return True
        name = path.relative_to(self.top)
        return any(name.is_relative_to(one) for one in _STEERING) or name in map(Path, _SECRETS)

    def restore(self, before: State, changed: Iterable[Path]) -> bool:
        """Give these paths back what they had; say whether that worked.

        Files keep their inodes, as a running sandbox knows them by these.
        """
        paths = sorted(changed, key=lambda path: len(path.parts))
        with suppress(OSError):
            for path in reversed(paths):
                if path not in before or _kind(path) != stat.S_IFMT(before[path][0]):
                    _remove(path)
            for path in paths:
                if path in before:
                    _put(path, *before[path])
        return self.state() == before


def rows_in(rows: Iterable[str], world: World, wrap: Wrap, view: View | None) -> Tally:
    """Run the rows, and return what they did that the view should not allow; None: anything."""
    tally = Tally()
    running: _Running | None = None
    before: State = {}
    folder = 0
    for row in rows:
        if running is None:
            world.build()
            running = _Running(world, wrap)
            if running.run("true") is None:
                raise RuntimeError(f"the sandbox does not start: {running.told()}")
            # What the sandbox itself puts into the folders is there now.
            before, folder = world.state(), world.top.stat().st_ino
        answer = running.run(world.filled(row))
        tally.rows += 1
        after = world.state()
        changed = [path for path in {*before, *after} if before.get(path) != after.get(path)]
        tally.effects += _effects(row, world, view, (before, after), changed)
        if answer is not None:
            tally.hung += not answer[0]
            if any(form in answer[1] for form in _FORMS):
                tally.effects.append(Effect("printed", row, answer[1][:200]))
        is_whole = not changed or world.restore(before, changed)
        # The started sandbox stands in the folder that was there then.
        is_whole = is_whole and world.top.stat().st_ino == folder
        tally.ended += answer is None
        if answer is None or not is_whole:
            tally.effects += running.end(row)
            running = None
    if running is not None:
        tally.effects += running.end("the last one")
        # A signal may need a moment.
        tally.effects += _effects("the last one", world, view, (before, before), [])
    return tally


def _effects(
    row: str, world: World, view: View | None, states: tuple[State, State], changed: list[Path]
) -> Iterator[Effect]:
    before, after = states
    forbidden = [path for path in changed if view != "workspace-write" or world.is_kept(path)]
    modes = [path for path in forbidden if _content(before, path) == _content(after, path)]
    if others := sorted(str(path) for path in forbidden if path not in modes):
        yield Effect("changed", row, ", ".join(others))
    elif modes:
        yield Effect("metadata", row, ", ".join(sorted(map(str, modes))))
    for path in changed:
        if _holds_secret(after, path) and not _holds_secret(before, path):
            yield Effect("printed", row, f"into {path}")
    if world.connections():
        yield Effect("reached", row, "a listener")
    if world.is_bystander_hurt():
        yield Effect("killed", row, "a process outside")


def _content(state: State, path: Path) -> tuple[int, bytes] | None:
    """Return all but the mode's rights."""
    found = state.get(path)
    return found and (stat.S_IFMT(found[0]), found[1])


def _holds_secret(state: State, path: Path) -> bool:
    return path in state and SECRET.encode() in state[path][1]


def _forms(text: str) -> Iterator[str]:
    """Yield how a secret may be printed: as it is, backwards, in hexadecimal, in base 64."""
    yield text
    yield text[::-1]
    yield text.encode().hex()
    yield text.encode().hex().upper()
    for shift, spoilt in enumerate((0, 2, 3)):
        # Only the middle is the same whatever stands before and behind it.
        data = bytes(shift) + text.encode()
        yield base64.b64encode(data).decode()[spoilt : len(data) // 3 * 4]


_FORMS = tuple(_forms(SECRET))


class _Running:
    """A started sandbox that takes rows."""

    def __init__(self, world: World, wrap: Wrap) -> None:
        self._mark = uuid.uuid4().hex
        self._errors = os.memfd_create("errors")
        rows, self._rows = os.pipe()
        self._answers, answers = os.pipe()
        limits = SandboxOptions().limits().in_words()
        # The status of the supervisor is not looked at.
        status = os.open(os.devnull, os.O_WRONLY)
        driver = (*_PYTHON, "-c", _DRIVER, str(rows), str(answers), str(_LIMIT_S))
        self._wrapped = wrap((*_PYTHON, str(_SUPERVISOR), str(status), limits, *driver))
        self._process = subprocess.Popen(
            self._wrapped.argv,
            env={**self._wrapped.env, _MARK: self._mark},
            cwd=world.top,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            pass_fds=(status, rows, answers),
        )
        for descriptor in (status, rows, answers):
            os.close(descriptor)
        self._said = b""

    def run(self, row: str) -> tuple[bool, str] | None:
        """Return whether the row came to its end, and its output; None: the sandbox has ended."""
        try:
            os.write(self._rows, json.dumps(row).encode() + b"\n")
            while b"\n" not in self._said:
                if not select.select([self._answers], [], [], _ANSWER_S)[0]:
                    return None
                if not (data := os.read(self._answers, 1 << 16)):
                    return None
                self._said += data
        except OSError:
            return None
        line, _, self._said = self._said.partition(b"\n")
        is_over, text = json.loads(line)
        return is_over, text

    def told(self) -> str:
        """Return what the sandbox itself wrote."""
        return os.pread(self._errors, 4_096, 0).decode(errors="replace")

    def end(self, row: str) -> Iterator[Effect]:
        """End the sandbox; yield what lives on."""
        os.close(self._rows)
        try:
            self._process.wait(_ANSWER_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._process.communicate()
        os.close(self._answers)
        os.close(self._errors)
        self._wrapped.end()
        # The first process inside of a sandbox ends after the one that started it.
        deadline_s = time.monotonic() + _ANSWER_S
        while (left := list(self._living())) and time.monotonic() < deadline_s:
            time.sleep(0.05)
        for one, line in left:
            yield Effect("left", row, line)
            one.kill()

    def _living(self) -> Iterator[tuple[psutil.Process, str]]:
        for one in psutil.process_iter():
            with suppress(psutil.Error):
                if one.environ().get(_MARK) == self._mark and one.is_running():
                    yield one, " ".join(one.cmdline())


@contextmanager
def in_view(world: World, sandbox: Sandbox, view: View) -> Generator[Wrap]:
    """Provide the view of a sandbox on the world's workspace."""
    env = {"PATH": child_path(), "HOME": str(world.home), "LANG": "C.UTF-8"}
    world.build()
    builder = open_builder(sandbox, SandboxOptions(), lambda: [world.top])
    try:
        yield lambda argv: builder.wrapped(argv, Bounds(view), cwd=world.top, env=env)
    finally:
        builder.end()


def without_view(world: World, *, shares_network: bool) -> Wrap:
    """Return a start in which a row can do to the world what it wants, and nothing elsewhere."""
    env = {"PATH": child_path(), "HOME": str(world.home), "LANG": "C.UTF-8"}
    options = (
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
        *("--tmpfs", "/tmp", "--tmpfs", str(Path.home())),
        *(word for one in (sys.base_prefix, sys.prefix, str(_SUPERVISOR.parent))
          for word in ("--ro-bind", one, one)),
        *("--bind", str(world.base), str(world.base)),
        *("--ro-bind", world.places["{socket}"], world.places["{socket}"]),
        *("--unshare-all", "--die-with-parent", "--new-session", "--chdir", str(world.top)),
        *(("--share-net",) if shares_network else ()),
    )  # fmt: skip
    program = str(installed_bubblewrap().program)
    return lambda argv: Wrapped((program, *options, "--", *argv), env)


def without_supervisor(world: World) -> Wrap:
    """Return a start with nothing around it, for harmless rows: what lives on is left."""
    env = {"PATH": child_path(), "HOME": str(world.home), "LANG": "C.UTF-8"}
    return lambda argv: Wrapped(argv[-_DRIVER_WORDS:], env)


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def _kind(path: Path) -> int:
    try:
        return stat.S_IFMT(path.lstat().st_mode)
    except OSError:
        return 0


def _remove(path: Path) -> None:
    if _kind(path) == stat.S_IFDIR:
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _put(path: Path, mode: int, content: bytes) -> None:
    if stat.S_ISDIR(mode):
        path.mkdir(exist_ok=True)
    elif stat.S_ISLNK(mode):
        path.unlink(missing_ok=True)
        path.symlink_to(os.fsdecode(content))
        return
    else:
        path.write_bytes(content)
    path.chmod(stat.S_IMODE(mode))
