"""Attacks on the reading of commands, in many forms: each of them asks. None is ever run here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from agent_ls.domain.verdicts import Allow, Ask
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.commands import READ_ONLY_ENV, decide
from agent_ls.safety.programs import child_path
from tests.safety.tables import rows

_SECRET = "OUTSIDE-SECRET"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder full of traps, beside one that it may not reach."""
    base = tmp_path.resolve()
    top = base / "proj"
    for folder in ("a/b/c", "3", "-P", "src/deep", "left", "right", "-x", "names"):
        (top / folder).mkdir(parents=True)
    for program in ("3/ls", "-P/ls", "src/run.sh"):
        (top / program).write_text(f"#!/bin/sh\ntouch {base}/ran\n")
        (top / program).chmod(0o755)
    (base / "x").write_text(_SECRET)
    (base / "outside").mkdir()
    (base / "outside/x").write_text(_SECRET)
    (base / "outside/inner").mkdir()
    (base / "outside/inner/y").write_text("inside")
    (top / "x").write_text("x\n")
    (top / "README.md").write_text("text\n")
    (top / "src/a.py").write_text("text\n")
    (top / "left/x").symlink_to(base / "x")
    (top / "right/x").write_text("other")
    (top / "mods/node_modules").mkdir(parents=True)
    (top / "mods/node_modules/x").symlink_to(base / "x")
    (top / "jump").symlink_to(base / "outside/inner")
    (top / "near").symlink_to("a/b/c")
    (top / "resp").write_text(f"8 {base}/x\n")
    (top / "list").write_text(f"{base}/x\n")
    (top / f"names/q {base.name}").write_text("")
    (top / ".env").write_text(_SECRET)
    (top / "src/id_rsa").write_text(_SECRET)
    (top / "src/deep/id_rsa").write_text(_SECRET)
    (top / "-x/.env").write_text(_SECRET)
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    return top


_ALL = [*rows("attacks_by_state"), *rows("attacks_by_place"), *rows("attacks_by_readers")]


@pytest.mark.parametrize("chunk", range(10))
def test_no_attack_runs_unasked(chunk: int, project: Path) -> None:
    roots = (Root("proj", project, is_trusted=True),)
    some = _ALL[chunk::10]
    assert [one for one in some if isinstance(decide(one, project, roots), Allow)] == []


def test_awk_that_writes_behind_a_line_end_asks(project: Path) -> None:
    command = """awk 'BEGIN {for(i=0;i<1;print "a",\n"b" > "out") i++}'"""
    assert isinstance(decide(command, project, (Root("proj", project, True),)), Ask)


@pytest.mark.parametrize(
    "command",
    [
        *("rg -g '.env' OUT", "rg -g '.e*' OUT .", "rg --glob=.env OUT", "rg --iglob '*' OUT"),
        *("rg --no-config OUT", "rg --hidden OUT", "rg -. OUT", "rg -uu OUT"),
        *("rg --unrestricted --unrestricted OUT", "rg --ignore-file x OUT"),
    ],
)
def test_rg_asks_where_it_may_read_hidden_files(command: str, tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    (folder / ".env").write_text(_SECRET)
    roots = (Root("folder", folder, is_trusted=True),)
    assert not isinstance(decide(command, folder, roots), Allow)
    assert decide("rg -t py OUT", folder, roots) == Allow()
    assert decide("rg -g '*.py' OUT", folder, roots) == Allow()


@pytest.mark.skipif(shutil.which("rg", path=child_path()) is None, reason="needs ripgrep")
@pytest.mark.parametrize("name", [".gitignore", ".ignore", ".rgignore"])
@pytest.mark.parametrize("place", ["..", ".", "sub"])
@pytest.mark.parametrize("command", ["rg KEY", "rg KEY .", "rg -t sh KEY", "rg KEY sub"])
def test_rg_reads_no_hidden_file_that_an_ignore_file_names(
    command: str, place: str, name: str, tmp_path: Path
) -> None:
    folder = tmp_path.resolve() / "top"
    for inner in (folder, folder / "sub", folder / ".github"):
        (inner / ".git").mkdir(parents=True)
        for file in (".env", ".profile", "plain.txt"):
            (inner / file).write_text(f"KEY of {file}\n")
    (folder / place / name).write_text("!.*\n!.env\n!.profile\n!*\n")
    roots = (Root("folder", folder, is_trusted=True),)
    assert decide(command, folder, roots) == Allow()
    for asked in (command, "rg KEY .github/"):
        done = subprocess.run(
            ["sh", "-c", asked],
            cwd=folder,
            env={"PATH": child_path(), **READ_ONLY_ENV},
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        assert ".env" not in done.stdout
        assert ".profile" not in done.stdout
        assert "plain.txt" in done.stdout or "-t sh" in asked
