"""The settings under which git looks around: a repository's programs are not run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from agent_ls.loop.ports.commands import Boundary
from agent_ls.safety.commands import read_only_env
from agent_ls.safety.git_config import CLEAN_GIT, HELD_GIT
from agent_ls.safety.programs import child_path


def _repository(base: Path, config: str) -> tuple[Path, Path]:
    """Make a repository with one commit, a change, and a configuration that would run a trap."""
    repository, mark = base / "repo", base / "ran"
    trap = base / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    trap.chmod(0o755)
    hooks = base / "hooks"
    hooks.mkdir()
    for hook in ("post-index-change", "post-checkout", "pre-commit"):
        (hooks / hook).symlink_to(trap)
    run = {"cwd": repository, "check": True, "capture_output": True}
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    (repository / "a.txt").write_text("one\n")
    (repository / ".gitattributes").write_text("*.txt diff=x filter=x\n")
    subprocess.run(["git", "add", "."], **run)
    identity = ["-c", "user.name=x", "-c", "user.email=x@x"]
    subprocess.run(["git", *identity, "commit", "-qm", "one"], **run)
    (repository / "a.txt").write_text("two\n")
    with (repository / ".git/config").open("a") as file:
        file.write(config.format(trap=trap, folder=hooks))
    return repository, mark


@pytest.mark.parametrize("boundary", ["sandbox", "missing"])
def test_git_ignores_the_users_settings_and_changes_nothing(
    tmp_path: Path, boundary: Boundary
) -> None:
    repository, mark = _repository(tmp_path.resolve(), "")
    trap = tmp_path.resolve() / "trap"
    (tmp_path / ".gitconfig").write_text(f"[diff]\n\texternal = {trap}\n")
    os.utime(repository / ".gitattributes", (1, 1))
    index = (repository / ".git/index").read_bytes()
    for command in ("status", "diff"):
        done = subprocess.run(
            ["git", command],
            cwd=repository,
            env={"PATH": child_path(), "HOME": str(tmp_path), **read_only_env(boundary)},
            check=False,
            capture_output=True,
        )
        assert b"a.txt" in done.stdout
        assert not mark.exists()
        # To compare, git always notes which files it has found unchanged.
        assert command == "diff" or (repository / ".git/index").read_bytes() == index


def test_a_git_of_any_age_gets_the_same_settings(tmp_path: Path) -> None:
    old, new = {"GIT_CONFIG_PARAMETERS"}, {"GIT_CONFIG_COUNT"}
    listed: list[set[str]] = []
    for left_out in (new, old):
        env = {name: value for name, value in CLEAN_GIT.items() if name not in left_out}
        done = subprocess.run(
            ["git", "config", "--list", "-z"],
            cwd=tmp_path,
            env={"PATH": child_path(), **env},
            check=True,
            capture_output=True,
            text=True,
        )
        listed.append(set(done.stdout.split("\0")))
    assert listed[0] == listed[1]
    assert "core.hookspath\n/dev/null" in listed[0]


@pytest.mark.parametrize("env, is_read", [(CLEAN_GIT, False), (HELD_GIT, True)])
def test_a_repository_of_another_user_is_read_only_where_a_view_holds_git(
    tmp_path: Path, env: dict[str, str], is_read: bool
) -> None:
    repository, mark = _repository(tmp_path.resolve(), "")
    done = subprocess.run(
        ["git", "status", "--short"],
        cwd=repository,
        # As git's own tests say that the repository is another user's.
        env={"PATH": child_path(), "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1", **env},
        check=False,
        capture_output=True,
    )
    assert (done.returncode == 0, b"a.txt" in done.stdout) == (is_read, is_read)
    assert not mark.exists()
