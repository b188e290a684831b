"""Attacks in many forms: where no sandbox holds commands, each of them asks. None is run here."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agent_ls.domain.verdicts import Allow
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.commands import decide_command
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
    assert [one for one in some if isinstance(decide_command(one, project, roots), Allow)] == []
