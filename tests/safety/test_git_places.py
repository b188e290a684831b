"""Where repositories keep what steers git, so that no command of the agent changes it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from agent_ls.safety.git_places import Repositories, git_led_to, git_steering


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A folder with an empty data folder of git."""
    top = tmp_path.resolve() / "proj"
    for name in ("hooks", "objects"):
        (top / ".git" / name).mkdir(parents=True)
    for name in ("HEAD", "config"):
        _write(top / ".git" / name)
    return top


def _write(place: Path, text: str | bytes = "") -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(text if isinstance(text, bytes) else text.encode())


def test_submodules_and_worktrees_steer_git_and_a_branch_named_config_does_not(top: Path) -> None:
    steering = {
        *("config", "config.worktree", "commondir", "info/attributes"),
        *("modules/a/config", "modules/a/info/attributes", "modules/a/hooks/pre-push"),
        *("modules/a/modules/b/c/config", "worktrees/w/config.worktree", "worktrees/w/commondir"),
    }
    others = {
        *("HEAD", "info/exclude", "refs/heads/config", "lfs/config", "modules/a/refs/heads/config"),
        *("modules/a/logs/refs/heads/config", "modules/a/objects/config", "modules/a/info/config"),
        *("modules/a/lfs/config", "modules/a/hooks/config"),
    }
    for name in steering | others:
        _write(top / ".git" / name)
    found = {place.relative_to(top / ".git").as_posix() for place in git_steering(top / ".git")}
    assert found == steering - {"modules/a/hooks/pre-push"} | {"hooks", "modules/a/hooks"}


def check(root: Path, *expected: tuple[Path, Path]) -> None:
    """Assert the data folder and the top of the repositories of a root."""
    found = Repositories.of((root,))
    assert tuple(zip(found.folders, found.tops, strict=True)) == expected


def test_the_repository_at_or_above_a_folder_is_found(top: Path) -> None:
    inner = top / "src" / "deep"
    inner.mkdir(parents=True)
    for root in (top, inner):
        check(root, (top / ".git", top))
    (inner / ".git").symlink_to(top / ".git")
    check(inner)
    check(top.parent)


def test_a_worktree_shares_the_repository_that_knows_it(top: Path) -> None:
    tree, own = top.parent / "tree", top / ".git" / "worktrees" / "tree"
    _write(tree / ".git", f"gitdir: {own}\n")
    check(tree)
    _write(own / "gitdir", f"{tree}/.git\n")
    check(tree, (top / ".git", tree))
    _write(own / "gitdir", f"{top}/.git\n")
    check(tree)


def test_a_link_to_a_folder_above_makes_no_repository_of_it(top: Path) -> None:
    root = top.parent / "worktrees" / "p"
    _write(root / "s" / ".git", "gitdir: w/worktrees/p\n")
    (root / "s" / "w").symlink_to(top.parent)
    _write(root / "gitdir", f"{root}/s/.git\n")
    assert Repositories.of((root,)).with_nested([root / "s" / ".git"]).folders == ()


@pytest.mark.parametrize("back", ["{tree}/.git\n", "../../../../tree/.git\n"])
@pytest.mark.parametrize("pointer", ["{own}\n", "../proj/.git/worktrees/x\n"])
def test_a_worktree_may_be_linked_by_relative_paths(pointer: str, back: str, top: Path) -> None:
    tree, own = top.parent / "tree", top / ".git" / "worktrees" / "x"
    _write(tree / ".git", f"gitdir: {pointer.format(own=own)}")
    _write(own / "gitdir", back.format(tree=tree))
    check(tree, (top / ".git", tree))
    _write(own / "gitdir", "../../../other/.git\n")
    check(tree)


def test_a_git_file_may_lead_into_its_own_folder(top: Path) -> None:
    shutil.rmtree(top / ".git")
    _write(top / ".git", "gitdir: ./.bare\n")
    check(top)
    _write(top / ".bare" / "HEAD", "ref: refs/heads/main\n")
    check(top, (top / ".bare", top))
    _write(top / ".git", "gitdir: .\n")
    _write(top / "HEAD")
    check(top)


def test_nested_repositories_are_added_each_once(top: Path) -> None:
    _write(top / "a" / ".git" / "HEAD")
    tree, own = top / "tree", top / ".git" / "worktrees" / "tree"
    _write(tree / ".git", f"gitdir: {own}\n")
    _write(own / "gitdir", f"{tree}/.git\n")
    found = Repositories.of((top,)).with_nested([top / ".git", top / "a" / ".git", tree / ".git"])
    assert found.folders == (top / ".git", top / "a" / ".git")
    assert found.tops == (top, top / "a", tree)


@pytest.mark.parametrize(
    "pointer",
    ["gitdir: ../proj/.git/worktrees/none\n", b"\xff\n", "", b"gitdir: ../proj\0/.git\n"],
)
def test_a_git_file_of_another_kind_names_no_repository(pointer: str | bytes, top: Path) -> None:
    tree = top.parent / "tree"
    _write(tree / ".git", pointer)
    _write(top / ".git/worktrees/x/gitdir", f"{tree}/.git\n")
    check(tree)


def test_a_git_file_that_names_no_place_of_worktrees_is_not_believed(top: Path) -> None:
    tree, own = top.parent / "tree", top.parent / "odd" / "tree"
    _write(tree / ".git", f"gitdir: {own}\n")
    _write(own / "gitdir", f"{tree}/.git\n")
    check(tree)


@pytest.mark.parametrize(
    "line, led_to",
    [
        ("hooksPath = scripts/hooks", "scripts/hooks"),
        ('\tHOOKSPATH="scripts/my hooks" ; ours', "scripts/my hooks"),
        ("path = ../own.cfg", "own.cfg"),
        ("path = own.cfg # ours", ".git/own.cfg"),
        ("path = ~/own.cfg", "../home/own.cfg"),
        ("worktree = ../x", None),
        ("mypath = ../x", None),
    ],
)
def test_settings_lead_to_hooks_from_the_top_and_to_more_settings_from_where_they_stand(
    line: str, led_to: str | None, top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(top.parent / "home"))
    _write(top / ".git/config", b"[user]\n\tname = \xff\n[core]\n" + line.encode() + b"\n")
    expected = [] if led_to is None else [Path(f"{top}/{led_to}").resolve()]
    assert list(git_led_to(top / ".git", top)) == expected


def test_settings_are_followed_from_one_file_to_the_next(top: Path) -> None:
    _write(top / ".git/config", "[include]\n\tpath = ../team.cfg\n")
    _write(top / "team.cfg", "[include] path = more/own.cfg\n[core]\n\thooksPath = tools/a\n")
    _write(top / "more/own.cfg", "[core] hooksPath = tools/b\n[include]\n\tpath = ../team.cfg\n")
    _write(top / ".git/config.worktree", "[core]\n\thooksPath = tools/c\n")
    names = ("team.cfg", "tools/c", "more/own.cfg", "tools/a", "tools/b", "team.cfg")
    assert list(git_led_to(top / ".git", top)) == [top / name for name in names]


def test_linked_hooks_lead_to_their_targets(top: Path) -> None:
    (top / ".git/hooks/pre-push").symlink_to("../../push.sh")
    _write(top / ".git/hooks/pre-commit")
    assert list(git_led_to(top / ".git", top)) == [top / "push.sh"]
    (top / ".git/hooks").rename(top / "hooks")
    (top / ".git/hooks").symlink_to(top / "hooks")
    assert top / "hooks" in git_led_to(top / ".git", top)
    assert list(git_led_to(top / "none", top)) == []


def test_a_submodule_has_its_data_in_the_repository_that_knows_it(top: Path) -> None:
    tree, own = top / "libs" / "a", top / ".git" / "modules" / "libs" / "a"
    _write(tree / ".git", "gitdir: ../../.git/modules/libs/a\n")
    check(tree)
    _write(own / "config", "[core]\n\tbare = false\n\tworktree = ../../../../libs/a\n")
    check(tree, (own, tree))
    _write(own / "config", "[core]\n\tbare = false\n\tworktree = ../../../../libs\n")
    check(tree)


@pytest.mark.timeout(60)
def test_a_pipe_and_a_device_say_nothing_and_are_not_waited_for(top: Path) -> None:
    (top / ".git" / "config").unlink()
    os.mkfifo(top / ".git" / "config")
    assert list(git_led_to(top / ".git", top)) == []
    (top / ".git" / "config").unlink()
    (top / ".git" / "config").symlink_to("/dev/zero")
    assert list(git_led_to(top / ".git", top)) == []
    os.mkfifo(top / "sub")
    assert list(Repositories.of([top]).with_nested([top / "sub"]).folders) == [top / ".git"]
