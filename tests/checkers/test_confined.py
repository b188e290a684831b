"""Checkers in the sandbox: what the model may have planted has no effect, and the others work."""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import platformdirs
import pytest

from agent_ls.checkers.command_options import CheckCommand
from agent_ls.checkers.commands import CommandChecker
from agent_ls.checkers.ruff import Ruff, RuffOptions
from agent_ls.checkers.tsc import Tsc, TscOptions
from agent_ls.domain.findings import CheckReport
from agent_ls.safety.sandbox.builder import SandboxBuilder, open_builder
from agent_ls.safety.sandbox.probe import SandboxOptions, probe
from tests.checkers.conftest import INSTALLED
from tests.checkers.projects import told, workspace, write

pytestmark = pytest.mark.heavy

CANARY = "canary-77c1"
Confine = Callable[[Path], SandboxBuilder]
PROLOGUE = """\
import os, shutil, socket, sys
from pathlib import Path
real, outside, home, here = Path(sys.argv[1]), Path(sys.argv[2]), Path.home(), Path.cwd()

def tried(work, *arguments):
    try:
        words = str(work(*arguments)).strip() + " [done]"
    except OSError as error:
        words = f"{type(error).__name__} [refused]"
    print(f"deep/b.txt:1:1: warning: {words}")

"""
PLANTED = {
    "write outside": "tried((outside / 'new').write_text, 'x')",
    "overwrite outside": "tried((outside / 'kept').write_text, 'x')",
    "write into the workspace": "tried((real / 'a.txt').write_text, 'x')",
    "write through a link of the copy": "tried(Path('node_modules/p/index.js').write_text, 'x')",
    "a hook of git": "tried((real / '.git' / 'hooks' / 'pre-commit').write_text, 'x')",
    "settings of ours": "tried((real / '.agent-ls').mkdir)",
    "write into the home folder": "tried((home / '.bashrc').write_text, 'x')",
    "read the home folder": "tried((home / '.netrc').read_text)",
    "read a secret": "tried((real / '.env').read_text)",
    "read a secret in the copy": "tried(Path('.env').read_text)",
    "read beside the workspace": "tried((outside / 'kept').read_text)",
    "connect": "tried(socket.create_connection, ('127.0.0.1', int(sys.argv[3])), 2)",
    "a socket of this machine": (
        "tried(lambda: socket.socket(socket.AF_UNIX).connect(str(outside / 'socket')))"
    ),
    "signal its parents": "tried(os.kill, int(sys.argv[4]), 9)",
    "lead our reading astray": (
        "Path('a.txt').unlink(); Path('a.txt').symlink_to(outside / 'kept')\n"
        "print('a.txt:1:1: warning: look [x]')"
    ),
    "lead our writing astray": "shutil.rmtree('deep'); Path('deep').symlink_to(outside)",
    "lead all our writing astray": (
        "tried(here.rename, here.with_name('moved')); tried(here.symlink_to, outside)"
    ),
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with a secret; our cache lies in it, as usual."""
    made = tmp_path.resolve() / "home"
    write(made, {".netrc": CANARY})
    monkeypatch.setenv("HOME", str(made))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert platformdirs.user_cache_path().is_relative_to(made)
    return made


@pytest.fixture
def folder(home: Path) -> Path:
    """A workspace with what may be planted and a secret, beside another folder."""
    top = home / "work"
    write(
        top,
        {
            "a.txt": "one\n", "deep/b.txt": "two\n", ".env": CANARY,
            "node_modules/p/index.js": "1\n", ".git/hooks/x": "", ".git/HEAD": "ref: x\n",
        },
    )  # fmt: skip
    write(home / "outside", {"kept": CANARY, "b.txt": CANARY})
    return top


@pytest.fixture(params=["bubblewrap", "landlock"])
def confine(request: pytest.FixtureRequest) -> Iterator[Confine]:
    """Returns what confines the checkers of a workspace, by each sandbox of this machine."""
    # The programs of this checkout lie in no place where a user has theirs.
    prefixes = (INSTALLED, Path(sys.prefix), Path(sys.base_prefix))
    options = SandboxOptions(use=request.param, read=tuple(map(str, prefixes)))
    found = probe(options)
    if found.sandbox is None:
        pytest.skip(found.why)
    sandbox, opened = found.sandbox, list[SandboxBuilder]()

    def make(*roots: Path) -> SandboxBuilder:
        opened.append(open_builder(sandbox, options, lambda: roots))
        return opened[-1]

    yield make
    for one in opened:
        one.end()


def _listing(folder: Path) -> dict[str, str | None]:
    paths = (path for path in folder.rglob("*") if ".cache" not in path.parts)
    return {str(path): path.read_text() if path.is_file() else None for path in paths}


@pytest.mark.parametrize("script", PLANTED.values(), ids=PLANTED.keys())
async def test_what_was_planted_has_no_effect(folder: Path, confine: Confine, script: str) -> None:
    outside = folder.parent / "outside"
    (folder / "planted.py").write_text(PROLOGUE + script)
    before = _listing(folder.parent)
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        local.bind(str(outside / "socket"))
        local.listen()
        checker = CommandChecker(
            workspace(folder),
            _planted(folder, str(outside), str(server.getsockname()[1]), str(os.getpid())),
            confine(folder),
        )
        first = await checker.check({"a.txt": "new\n", "deep/b.txt": "new\n"})
        # This one writes where the first one may have led it.
        second = await checker.check({"a.txt": "newer\n", "deep/b.txt": None})
        server.setblocking(False)
        local.setblocking(False)
        for one in (server, local):
            with pytest.raises(BlockingIOError):
                one.accept()
        (outside / "socket").unlink()
    for report in (first, second):
        assert (report.problems, report.checkers) == ((), ("planted",)), script
        assert CANARY not in report.model_dump_json(), script
    assert _listing(folder.parent) == before


def _planted(folder: Path, *arguments: str, **values: Any) -> CheckCommand:
    command = " ".join((sys.executable, str(folder / "planted.py"), str(folder), *arguments))
    return CheckCommand.model_validate(
        {"name": "planted", "command": command, "files": ["*.txt"], **values}
    )


async def test_a_user_may_let_a_command_out(folder: Path, confine: Confine) -> None:
    (folder / "planted.py").write_text(PROLOGUE + PLANTED["write outside"])
    outside = folder.parent / "outside"
    options = _planted(folder, str(outside), sandbox=False)
    await CommandChecker(workspace(folder), options, confine(folder)).check({"a.txt": "new\n"})
    assert (outside / "new").exists()


@pytest.mark.parametrize("trusted", [True, False])
async def test_ruff_finds_the_same(folder: Path, confine: Confine, trusted: bool) -> None:
    write(folder, {"ruff.toml": 'line-length = 20\n[lint]\nselect = ["E501", "F"]\n'})
    texts = {"a.py": "import os\nx = 'long, long, long, long'\n", "deep/b.py": "import sys\n"}

    async def check(builder: SandboxBuilder | None) -> CheckReport:
        checker = Ruff(workspace(folder, trusted=trusted), RuffOptions(), builder)
        try:
            return await checker.check(texts)
        finally:
            await checker.end()

    report = await check(confine(folder))
    assert report == await check(None)
    assert bool(report.findings)


@pytest.mark.heavy
async def test_tsc_finds_the_same(folder: Path, confine: Confine, typescript: Path) -> None:
    composite = {"composite": True, "strict": True}
    write(
        folder,
        {
            "lib/tsconfig.json": {"compilerOptions": composite, "include": ["*.ts"]},
            "lib/l.ts": "export const n: number = 1\n",
            "app/tsconfig.json": {"compilerOptions": composite, "references": [{"path": "../lib"}]},
            "app/a.ts": "import { n } from '../lib/l'\nconst s: string = n\n",
            "tsconfig.json": {"files": [], "references": [{"path": "app"}, {"path": "lib"}]},
        },
    )  # fmt: skip
    options = TscOptions(typescript=str(typescript))

    async def check(builder: SandboxBuilder | None) -> CheckReport:
        checker = Tsc(workspace(folder), options, builder)
        return await checker.check({"lib/l.ts": "export const n: number = 'x'\n"})

    report = await check(confine(folder))
    assert report == await check(None)
    assert told(report) == [("app/a.ts", 1, 6, "TS2322"), ("lib/l.ts", 0, 13, "TS2322")]


async def test_a_planted_typescript_has_no_effect(folder: Path, confine: Confine) -> None:
    package = folder / "node_modules" / "typescript"
    write(
        package,
        {
            "package.json": {"name": "typescript", "version": "5.9.9"},
            "bin/tsc": f"require('fs').writeFileSync('{folder.parent}/outside/new', 'x')\n",
        },
    )
    checker = Tsc(workspace(folder), TscOptions(), confine(folder))
    report = await checker.check({"a.ts": "let x: string = 1\n"})
    assert re.search("EROFS|EACCES|ENOENT", report.problems[0])
    assert not (folder.parent / "outside" / "new").exists()


async def test_what_is_above_in_the_repository_is_found(home: Path, confine: Confine) -> None:
    """A folder of a larger repository, with the packages and a secret at the top."""
    top = home / "large"
    write(
        top, {".git/HEAD": "ref: x\n", "note": "above\n", ".env": CANARY, "part/deep/b.txt": "x\n"}
    )
    script = "tried(Path('../note').read_text)\ntried(Path('../.env').read_text)\n"
    write(top / "part", {"planted.py": PROLOGUE + script})
    options = _planted(top / "part", str(home))
    report = await CommandChecker(workspace(top / "part"), options, confine(top / "part")).check(
        {"deep/b.txt": "new\n"}
    )
    assert [one.code for one in report.findings] == ["done", "refused"]


async def test_a_program_that_the_sandbox_does_not_show_is_said(
    folder: Path, confine: Confine
) -> None:
    program = folder.parent / "ruff"
    program.write_text("#!/bin/nowhere\n")
    program.chmod(0o755)
    checker = Ruff(workspace(folder), RuffOptions(command=str(program)), confine(folder))
    (problem,) = (await checker.check({"a.py": "x\n"})).problems
    await checker.end()
    assert "could not be started" in problem
    assert "sandbox.read" in problem
