"""Files with names outside of the workspace are read-only to commands: run for real."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_ls.loop.ports.commands import Bounds
from agent_ls.safety.sandbox.builder import SandboxBuilder, open_builder
from agent_ls.safety.sandbox.hard_links import MAX_LINKED
from agent_ls.safety.sandbox.probe import SandboxOptions, probe
from agent_ls.workspace.runner import ShellRunner

pytestmark = pytest.mark.heavy

_PYTHON = shlex.quote(str(Path(sys.executable).resolve()))
_TEXT = "outside\n"


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a workspace of two folders, and files outside with names in there."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    base = tmp_path.resolve()
    for name in ("top/sub/deep", "top/.venv/lib", "top/node_modules/a", "more/sub", "out"):
        (base / name).mkdir(parents=True)
    for name in ("hard.txt", "sub/hard.txt", ".venv/lib/hard.py", "node_modules/a/hard.js"):
        _link(base, name)
    (base / "top" / "a.txt").write_text("own\n")
    (base / "top" / "sub" / "deep" / "own.txt").write_text("own\n")
    os.link(base / "top" / "a.txt", base / "top" / "sub" / "b.txt")
    os.link(base / "top" / "sub" / "deep" / "own.txt", base / "more" / "sub" / "own.txt")
    return base


def _link(base: Path, name: str) -> None:
    out = base / "out" / name.replace("/", "-")
    out.write_text(_TEXT)
    (base / "top" / name).parent.mkdir(parents=True, exist_ok=True)
    os.link(out, base / "top" / name)


@pytest.fixture(params=["bubblewrap", "landlock"])
def builder(base: Path, request: pytest.FixtureRequest) -> Iterator[SandboxBuilder]:
    """Confines by each sandbox of this machine; ``out`` may be read."""
    options = SandboxOptions(use=request.param, read=(str(base / "out"),))
    found = probe(options)
    if found.sandbox is None:
        pytest.skip(found.why)
    # The first folder is within another one, so that names in it must not count twice.
    made = open_builder(
        found.sandbox, options, lambda: [base / "top", base / "top" / "sub", base / "more"]
    )
    yield made
    made.end()


async def _run(builder: SandboxBuilder, command: str, bounds: Bounds = Bounds()) -> str:  # noqa: B008
    ran = await ShellRunner(builder).run(
        command, cwd=builder.roots()[0], timeout_s=60, bounds=bounds
    )
    return ran.output


def _outside(base: Path) -> set[str]:
    return {one.read_text() for one in (base / "out").iterdir() if one.is_file()}


@pytest.mark.parametrize(
    "command",
    [
        *("echo x > {}", "echo x >> {}", "truncate -s 0 {}", "sed -i.bak s/out/in/ {}"),
        *("cp a.txt {}", "dd if=a.txt of={} conv=notrunc", "ln {} new; echo x > new"),
        *("mv {} sub/new; echo x > sub/new", "ln {} sub/deep/n; echo x >> sub/deep/n"),
        "{python} -c \"import mmap; f = open('{}', 'r+b'); mmap.mmap(f.fileno(), 0)[0] = 65\"",
        "mv sub gone; echo x > gone/hard.txt; mv .venv v; echo x > v/lib/hard.py",
        "ln -s {} soft; echo x > soft",
    ],
)
async def test_no_command_writes_through_another_name(
    builder: SandboxBuilder, base: Path, command: str
) -> None:
    for name in ("hard.txt", "sub/hard.txt", ".venv/lib/hard.py", "node_modules/a/hard.js"):
        await _run(builder, command.replace("{python}", _PYTHON).replace("{}", name))
    assert _outside(base) == {_TEXT}


async def test_no_command_reads_a_secret_by_another_name(
    builder: SandboxBuilder, base: Path
) -> None:
    top = base / "top"
    (top / ".env").write_text("TOKEN=needle\n")
    (top / ".ssh").mkdir()
    (top / ".ssh" / "id_rsa").write_text("needle\n")
    os.link(top / ".env", top / "notes.txt")
    os.link(top / ".ssh" / "id_rsa", top / "sub" / "deep" / "k.txt")
    command = "rev notes.txt; rev sub/deep/k.txt; rev a.txt"
    for view in ("read-only", "workspace-write"):
        said = await _run(builder, command, Bounds(view=view))
        assert "nwo" in said
        assert "eldeen" not in said


async def test_a_command_that_fails_on_it_says_why(builder: SandboxBuilder) -> None:
    said = await _run(builder, "echo x > hard.txt")
    assert "hard links" in said
    assert "hard.txt" in said
    assert "hard links" not in await _run(builder, "false")


async def test_a_file_all_of_whose_names_are_inside_can_be_written(
    builder: SandboxBuilder, base: Path
) -> None:
    await _run(builder, "echo x > sub/b.txt; echo y > sub/deep/own.txt; echo z > new")
    assert (base / "top" / "a.txt").read_text() == "x\n"
    assert (base / "more" / "sub" / "own.txt").read_text() == "y\n"


async def test_links_in_the_workspace_are_made_and_written(
    builder: SandboxBuilder, base: Path
) -> None:
    await _run(builder, "ln sub/deep/own.txt sub/deep/c; echo x > sub/deep/c")
    await _run(builder, "echo y >> sub/deep/c")
    assert (base / "more" / "sub" / "own.txt").read_text() == "x\ny\n"


@pytest.mark.parametrize("name", ["a.txt", "sub/b.txt", "node_modules/a/late.js"])
async def test_a_name_that_is_made_outside_between_commands_counts(
    builder: SandboxBuilder, base: Path, name: str
) -> None:
    await _run(builder, "true")
    if not (base / "top" / name).exists():
        (base / "top" / name).write_text("own\n")
    os.link(base / "top" / name, base / "late")
    await _run(builder, f"echo x > {name}")
    assert (base / "late").read_text() == "own\n"


@pytest.mark.parametrize("name", ["x", "sub/deep/x", "/tmp/x"])
async def test_no_command_makes_a_name_of_what_it_may_only_read(
    builder: SandboxBuilder, base: Path, name: str
) -> None:
    said = await _run(
        builder, f"ln {base}/out/hard.txt {name} || echo refused; echo changed > {name}"
    )
    assert "refused" in said
    assert _outside(base) == {_TEXT}
    assert (base / "out" / "hard.txt").stat().st_nlink == 2


async def test_of_more_files_than_can_be_held_whole_folders_are_read_only(
    builder: SandboxBuilder, base: Path
) -> None:
    for number in range(MAX_LINKED):
        _link(base, f"node_modules/.pnpm/p{number}/lib/index.js")
        _link(base, f"node_modules/.pnpm/p{number}/lib/other.js")
    (base / "top" / "node_modules" / ".cache").mkdir()
    files = "node_modules/.pnpm/p*/lib/*.js hard.txt .venv/lib/hard.py"
    await _run(builder, f"for f in {files}; do echo x > $f; done; echo x > node_modules/.pnpm/new")
    assert _outside(base) == {_TEXT}
    assert not (base / "top" / "node_modules" / ".pnpm" / "new").exists()
    # What lies beside is as it was.
    await _run(builder, "echo x > node_modules/.cache/new; echo x > sub/deep/new")
    assert (base / "top" / "node_modules" / ".cache" / "new").exists()
    assert (base / "top" / "sub" / "deep" / "new").exists()


# With Landlock nothing can be added to a repository.
@pytest.mark.parametrize("builder", ["bubblewrap"], indirect=True)
async def test_a_clone_shares_objects_with_a_repository_outside(
    builder: SandboxBuilder, base: Path
) -> None:
    def git(*words: str, at: Path) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "gc.auto=0")
        run = subprocess.run(["git", *who, *words], cwd=at, capture_output=True, text=True)
        return run.stdout

    origin, clone = base / "origin", base / "top"
    git("init", "-q", str(origin), at=base)
    (origin / "f").write_text("f\n")
    git("add", ".", at=origin)
    git("commit", "-qm", "one", at=origin)
    git("clone", "-q", "--local", "--bare", str(origin), str(clone / ".git"), at=base)
    git("config", "core.bare", "false", at=clone)
    shared = [one for one in (clone / ".git" / "objects").rglob("*") if one.is_file()]
    assert {one.stat().st_nlink for one in shared} == {2}
    who = "-c user.name=a -c user.email=a@example.org"
    said = await _run(
        builder,
        "for f in .git/objects/*/*; do chmod u+w $f; echo broken > $f; done; "
        f"git {who} add a.txt; git {who} commit -qm two; git {who} log --format=%s",
        Bounds(consent="mode"),
    )
    assert "two\none" in said
    assert git("log", "-p", "--format=%s", at=origin).startswith("one")
