"""Git ends in the sandbox as it does outside: each story runs in both, in two equal worlds."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_ls.loop.ports.commands import Bounds
from agent_ls.safety.sandbox.builder import SandboxBuilder, open_builder
from agent_ls.safety.sandbox.probe import SandboxOptions
from agent_ls.workspace.runner import ShellRunner
from tests.support.sandboxes import installed_bubblewrap

pytestmark = pytest.mark.heavy

_WHEN = "2026-01-01T00:00:00Z"
_FILES = {
    "a.py": "x = 1\n",
    ".env": "KEY=sample\n",
    "certs/server.key": "key of a test\n",
    ".secrets/known": "known\n",
    ".vscode/tasks.json": "{}\n",
    ".github/workflows/ci.yml": "on: push\n",
    ".gitattributes": "*.txt text\n",
    ".gitignore": "*.local\n",
    "pkg/b.py": "y = 1\n",
}


@dataclass(frozen=True, slots=True)
class World:
    """A place with repositories, in which the workspace is one folder."""

    place: Path

    @property
    def env(self) -> dict[str, str]:
        dates = {f"GIT_{who}_DATE": _WHEN for who in ("AUTHOR", "COMMITTER")}
        return {"PATH": os.environ["PATH"], "HOME": str(self.place / "home"), **dates}

    def git(self, *words: str, at: str = "main") -> str:
        """Run git outside of the sandbox; return what it prints, with places by name."""
        done = subprocess.run(
            ["git", *words], cwd=self.place / at, env=self.env, capture_output=True, text=True
        )
        text = (done.stdout + done.stderr).replace(str(self.place), "PLACE")
        # Columns are as wide as the longest name.
        return re.sub(" +", " ", text)

    def state(self, at: str) -> dict[str, object]:
        """Return what a later user of git meets, and the files."""
        files = {
            path.relative_to(self.place).as_posix(): path.read_bytes()
            for path in sorted(self.place.rglob("*"))
            if path.is_file() and {".git", ".bare"}.isdisjoint(path.relative_to(self.place).parts)
        }
        asked = (
            ("status", "--porcelain", "--branch"),
            ("log", "--all", "--format=%H %s %D"),
            ("worktree", "list"),
            ("stash", "list"),
            ("fsck",),
        )
        return {" ".join(one): self.git(*one, at=at) for one in asked} | {"files": files}


def _main(world: World, files: Mapping[str, str] = _FILES) -> None:
    """A repository with tracked files that have names of secrets, and a hook of the user's."""
    top = world.place / "main"
    (world.place / "home").mkdir(parents=True)
    (world.place / "home" / ".gitconfig").write_text(
        '[user]\n\tname = me\n\temail = me@example.org\n[protocol "file"]\n\tallow = always\n'
    )
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    world.git("init", "-q", "-b", "trunk")
    world.git("add", "-A")
    world.git("commit", "-qm", "one")
    world.git("branch", "side")
    world.git("config", "pull.rebase", "true")
    (top / ".git" / "hooks" / "post-commit").write_text("#!/bin/sh\necho hook\n")
    (top / ".git" / "hooks" / "post-commit").chmod(0o755)
    (top / "own.local").write_text("KEY=real\n")


def _linked(world: World) -> None:
    _main(world)
    world.git("worktree", "add", "-q", "../tree", "-b", "w")


def _linked_relative(world: World) -> None:
    """As newer versions of git link a work tree with ``worktree.useRelativePaths``."""
    _linked(world)
    (world.place / "tree" / ".git").write_text("gitdir: ../main/.git/worktrees/tree\n")
    (world.place / "main/.git/worktrees/tree/gitdir").write_text("../../../../tree/.git\n")


def _inner_tree(world: World) -> None:
    _main(world)
    world.git("worktree", "add", "-q", "trees/w", "-b", "w")


def _submodule(world: World) -> None:
    _main(world)
    (world.place / "super").mkdir()
    world.git("init", "-q", "-b", "trunk", at="super")
    world.git("submodule", "add", "-q", "../main", "lib", at="super")
    world.git("commit", "-qm", "super", at="super")
    world.git("switch", "-q", "-c", "w", at="super/lib")


def _bare_with_trees(world: World) -> None:
    _main(world)
    (world.place / "proj").mkdir()
    world.git("clone", "-q", "--bare", "main", "proj/.bare", at=".")
    (world.place / "proj" / ".git").write_text("gitdir: ./.bare\n")
    world.git("worktree", "add", "-q", "side", "side", at="proj")


def _several(world: World) -> None:
    """A folder that is no repository and holds two."""
    _main(world)
    (world.place / "all").mkdir()
    (world.place / "main").rename(world.place / "all" / "main")
    world.git("worktree", "add", "-q", "../tree", "-b", "w", at="all/main")


def _empty(world: World) -> None:
    """An empty workspace beside a repository in which nothing steers other programs."""
    _main(world, {"a.py": "x = 1\n", "pkg/b.py": "y = 1\n"})
    (world.place / "new").mkdir()


_COMMIT = "echo 'z = 1' >> a.py && echo new > new.txt && git add -A && git commit -qm two"
_STASH = "echo new > new.txt; echo 'z = 2' >> a.py; git stash -u && ls && git stash pop"

STORIES: dict[str, tuple[Callable[[World], None], str, list[str]]] = {
    "a commit": (_main, "main", [_COMMIT]),
    "a commit of one file": (_main, "main", ["echo z >> a.py && git commit -qam two"]),
    "branches": (_main, "main", ["git switch -c n", _COMMIT, "git switch trunk", "git merge n"]),
    "a rebase": (
        _main, "main", [_COMMIT, "git switch side && echo > s && git add s && git commit -m s",
                        "git rebase trunk"],
    ),
    "a stash": (_main, "main", [_STASH]),
    "a stash alone": (_main, "main", ["echo new > new.txt && git stash -u && git stash list"]),
    "a reset": (_main, "main", [_COMMIT, "git reset --hard HEAD~1", "git clean -fd"]),
    "a tag and a move": (_main, "main", ["git mv pkg src && git commit -qm mv && git tag v1"]),
    "nothing to commit": (_main, "main", ["git commit -m none"]),
    "a work tree": (_main, "main", ["git worktree add wt -b n", f"cd wt && {_COMMIT}"]),
    "a work tree that goes": (
        _main, "main", ["git worktree add wt -b n", "git worktree remove wt", "git branch -D n"],
    ),
    "a work tree that goes by force": (
        _inner_tree, "main", ["echo z > trees/w/new", "git worktree remove trees/w",
                              "git worktree remove --force trees/w"],
    ),
    "a work tree that moves": (_inner_tree, "main", ["git worktree move trees/w trees/v"]),
    "a work tree in one command": (
        _main, "main", ["git worktree add wt -b n && git worktree remove wt && git worktree prune"],
    ),
    "in a work tree inside": (_inner_tree, "main", [f"cd trees/w && {_COMMIT}", "git status"]),
    "a clone": (_main, "main", ["git clone -q . c", f"cd c && {_COMMIT}"]),
    "a clone of a clone": (_main, "main", ["git clone . c && cd c && git switch -c n"]),
    "a clone into the workspace": (_empty, "new", ["git clone -q ../main .", _COMMIT]),
    "a new repository": (
        _empty, "new", ["git init -q -b trunk . && echo 1 > a.py", _COMMIT, "git log --oneline"],
    ),
    "a linked work tree": (_linked, "tree", ["git status", _COMMIT, _STASH]),
    "a linked work tree by relative paths": (
        _linked_relative, "tree", ["git status", _COMMIT, _STASH],
    ),
    "a submodule": (_submodule, "super/lib", ["git status", _COMMIT, _STASH]),
    "a repository with a submodule": (
        _submodule, "super", [f"cd lib && {_COMMIT}", "git add lib && git commit -qm up",
                              "git submodule status"],
    ),
    "a folder below": (_main, "main/pkg", ["git status", "echo z >> b.py; git commit -qam two"]),
    "a folder below with all": (_main, "main/pkg", ["echo z > n; git add -A; git commit -qm two"]),
    "a folder below a linked work tree": (
        _linked, "tree/pkg", ["echo z >> b.py; git commit -qam two"],
    ),
    "a bare repository with work trees": (
        _bare_with_trees, "proj", ["git worktree add new -b new", f"cd side && {_COMMIT}"],
    ),
    "a folder of repositories": (
        _several, "all", [f"cd main && {_COMMIT}", f"cd tree && {_COMMIT}"],
    ),
    "what is no repository": (_empty, "new", ["git status", "git log"]),
}  # fmt: skip


def _builder(world: World, root: str) -> SandboxBuilder:
    # A workspace in which something is cloned from beside it.
    options = SandboxOptions(read=(str(world.place / "main"),) if root == "new" else ())
    return open_builder(installed_bubblewrap(), options, lambda: [world.place / root])


@pytest.fixture
def worlds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[World, World]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return World(tmp_path.resolve() / "outside"), World(tmp_path.resolve() / "inside")


@pytest.mark.parametrize("name", STORIES)
async def test_git_ends_as_outside(worlds: tuple[World, World], name: str) -> None:
    make, root, commands = STORIES[name]
    outside, inside = worlds
    for world in worlds:
        make(world)
    builder = _builder(inside, root)
    try:
        for command in commands:
            free = await ShellRunner().run(
                command, cwd=outside.place / root, timeout_s=30, env=outside.env
            )
            held = await ShellRunner(builder).run(
                command,
                cwd=inside.place / root,
                timeout_s=30,
                env=inside.env,
                bounds=Bounds(consent="mode"),
            )
            assert (command, held.exit_code) == (command, free.exit_code), held.output
            assert "sandbox" not in held.output or "could not write config" in held.output
            assert "new here" not in held.output
    finally:
        builder.end()
    at = root if root != "all" else "all/main"
    assert inside.state(at) == outside.state(at)


_LOOKS = {
    name: (make, root)
    for name, make, root in (
        ("a repository", _main, "main"),
        ("a linked work tree", _linked, "tree"),
        ("a linked work tree by relative paths", _linked_relative, "tree"),
        ("a work tree inside", _inner_tree, "main"),
        ("a submodule", _submodule, "super/lib"),
        ("a repository with a submodule", _submodule, "super"),
        ("a folder below", _main, "main/pkg"),
        ("a bare repository with work trees", _bare_with_trees, "proj/side"),
    )
}


@pytest.mark.parametrize(
    "bounds", [Bounds("read-only"), Bounds("workspace-write")], ids=["read-only", "workspace-write"]
)
@pytest.mark.parametrize("name", _LOOKS)
async def test_git_says_the_same_as_outside(
    worlds: tuple[World, World], name: str, bounds: Bounds
) -> None:
    make, root = _LOOKS[name]
    outside, inside = worlds
    for world in worlds:
        make(world)
        if bounds.view == "read-only":
            (world.place / root / "prod.env").write_text("KEY=real\n")
    builder = _builder(inside, root)
    command = "git status; git diff; git log --stat; git ls-files -s; git rev-parse --show-toplevel"
    try:
        free = await ShellRunner().run(
            command, cwd=outside.place / root, timeout_s=30, env=outside.env
        )
        held = await ShellRunner(builder).run(
            command, cwd=inside.place / root, timeout_s=30, env=inside.env, bounds=bounds
        )
    finally:
        builder.end()
    assert held.output.replace("/inside/", "/outside/") == free.output
    assert ("prod.env" in held.output) is (bounds.view == "read-only")


_HELD = {
    "a submodule": (_main, "main", "git submodule add ../main lib"),
    "a setting": (_main, "main", "git config user.name other"),
    "a remote": (_main, "main", "git remote add x https://example.org/x"),
    "a setting of a submodule": (_submodule, "super", "git -C lib config core.pager x"),
    "a setting of a work tree's repository": (_linked, "tree", "git config core.pager x"),
}


@pytest.mark.parametrize("name", _HELD)
async def test_what_needs_the_configuration_says_how_to_ask(
    worlds: tuple[World, World], name: str
) -> None:
    make, root, command = _HELD[name]
    world = worlds[1]
    make(world)
    before = {one: one.read_bytes() for one in world.place.rglob("config") if one.is_file()}
    builder = _builder(world, root)
    try:
        held = await ShellRunner(builder).run(
            command,
            cwd=world.place / root,
            timeout_s=30,
            env=world.env,
            bounds=Bounds(consent="user"),
        )
    finally:
        builder.end()
    assert "outside_sandbox" in held.output
    assert {one: one.read_bytes() for one in before} == before


@pytest.mark.parametrize(
    "command, is_seen",
    [
        pytest.param("cat .env certs/server.key .secrets/known", True, id="as-git-has-them"),
        pytest.param("cat own.local || echo held", True, id="no-secret-by-its-name"),
        pytest.param("cat prod.env", False, id="that-git-does-not-have"),
        pytest.param("cat .secrets/own", False, id="that-git-does-not-have-in-a-folder"),
        pytest.param("cat pkg/.env", False, id="that-is-not-as-git-has-it"),
        pytest.param("cat staged.env", False, id="that-a-command-made-git-list"),
    ],
)
@pytest.mark.parametrize("view", ["read-only", "workspace-write"])
async def test_secrets_are_visible_as_git_has_them(
    worlds: tuple[World, World], command: str, is_seen: bool, view: str
) -> None:
    world = worlds[1]
    _main(world)
    top = world.place / "main"
    (top / "pkg" / ".env").write_text("KEY=\n")
    world.git("add", "-A")
    for name in ("prod.env", ".secrets/own", "pkg/.env", "staged.env"):
        (top / name).write_text("KEY=real\n")
    empty = world.git("hash-object", "-w", "--stdin").strip()
    world.git("update-index", "--add", "--cacheinfo", f"100644,{empty},staged.env")
    builder = _builder(world, "main")
    try:
        ran = await ShellRunner(builder).run(
            f"{command} 2>/dev/null",
            cwd=top,
            timeout_s=30,
            bounds=Bounds(
                "read-only" if view == "read-only" else "workspace-write", consent="mode"
            ),
        )
    finally:
        builder.end()
    assert ("real" in ran.output) is ("local" in command)
    assert (ran.exit_code == 0) is is_seen


async def test_a_command_changes_a_work_tree_only_where_it_is_seen(
    worlds: tuple[World, World],
) -> None:
    """To remove one, git must be free to delete what steers other programs in it."""
    world = worlds[1]
    _inner_tree(world)
    builder = _builder(world, "main")
    tree = world.place / "main" / "trees" / "w"
    runner, bounds = ShellRunner(builder), Bounds(consent="mode")
    try:
        held = await runner.run(
            "git status; echo x > trees/w/.git; echo x > trees/w/.vscode/tasks.json",
            cwd=world.place / "main", timeout_s=30, bounds=bounds,
        )  # fmt: skip
        assert held.exit_code
        assert (tree / ".vscode" / "tasks.json").read_text() == "{}\n"
        said = await runner.run(
            "git worktree list; echo 'gitdir: ../evil' > trees/w/.git; "
            "echo x > trees/w/.vscode/tasks.json; echo x > .vscode/tasks.json",
            cwd=world.place / "main", timeout_s=30, bounds=bounds,
        )  # fmt: skip
    finally:
        builder.end()
    assert "trees/w/.git" in said.output
    assert "trees/w/.vscode" in said.output
    assert (world.place / "main" / ".vscode" / "tasks.json").read_text() == "{}\n"
