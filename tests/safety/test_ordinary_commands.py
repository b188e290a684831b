"""Commands that people and models run all day only to look: none of them asks."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from agent_ls.domain.verdicts import Allow
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.commands import decide
from tests.safety.tables import rows

_SECOND = 'def main():\n    """TODO: say more."""\n    print("x")\n'


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a commit, a secret beside it, and some files to look at."""
    top = tmp_path_factory.mktemp("base").resolve() / "proj"
    for folder in ("src/pkg", "tests", "docs", "build"):
        (top / folder).mkdir(parents=True)
    for name in ("src/a.py", "src/pkg/b.py", "src/pkg/__init__.py", "tests/test_a.py"):
        (top / name).write_text(_SECOND)
    for name in ("README.md", "CHANGELOG.md", "docs/guide.md", "docs/notes v1.txt", "app.log"):
        (top / name).write_text("one two\nthree\n")
    (top / "package.json").write_text('{"scripts": {"test": "jest"}}')
    (top / "data.csv").write_text("a,b\n1,2\n")
    (top / "pyproject.toml").write_text("[project]\n")
    (top / "Makefile").write_text("all:\n")
    (top / ".gitignore").write_text("build/\n.env\nweb/\n")
    run = {"cwd": top, "check": True, "capture_output": True}
    subprocess.run(["git", "init", "-q", "-b", "main"], **run)
    subprocess.run(["git", "add", "."], **run)
    subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "one"], **run
    )
    (top / ".env").write_text("KEY=1\n")
    # Packages hold samples of keys, and files that are one with those of a cache.
    packages = top / "web/node_modules/dep"
    packages.mkdir(parents=True)
    (packages / "server.key").write_text("sample")
    (packages / "index.js").write_text("main")
    os.link(packages / "index.js", top.parent / "cached")
    (top / "web/id_rsa").symlink_to("../README.md")
    return top


@pytest.mark.parametrize("command", rows("ordinary"))
def test_an_ordinary_look_is_never_asked_about(command: str, project: Path) -> None:
    assert decide(command, project, (Root("proj", project, is_trusted=True),)) == Allow()
