"""What a command may see and change of a workspace, by who allowed it: run for real."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_ls.loop.ports.commands import Bounds
from agent_ls.safety.sandbox import bubblewrap
from agent_ls.safety.sandbox.bubblewrap import Bubblewrap
from agent_ls.safety.sandbox.builder import SandboxBuilder, open_builder
from agent_ls.safety.sandbox.confinement import Wrapped
from agent_ls.safety.sandbox.probe import SandboxOptions
from agent_ls.workspace.runner import ShellRunner
from tests.support.sandboxes import installed_bubblewrap

pytestmark = pytest.mark.heavy

_COMMIT = "git -c user.name=x -c user.email=x@x commit -q --allow-empty -m two"


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a workspace in its folder ``app``, and folders beside it."""
    base = tmp_path_factory.mktemp("base").resolve()
    top = base / "top"
    for folder in ("app/.vscode", "app/deep"):
        (top / folder).mkdir(parents=True)
    for name in ("read", "write", "config/agent-ls"):
        (base / name).mkdir(parents=True)
        (base / name / "x").write_text("beside\n")
    for name, text in {
        "other.txt": "other\n",
        "app/a.txt": "text\n",
        "app/deep/.env": "KEY=sample\n",
        "app/.vscode/tasks.json": "{}\n",
    }.items():
        (top / name).write_text(text)
    run = {"cwd": top, "check": True, "capture_output": True}
    subprocess.run(["git", "init", "-q"], **run)
    subprocess.run(["git", "add", "."], **run)
    subprocess.run(["sh", "-c", _COMMIT.replace("two", "one")], **run)
    (top / ".git" / "info" / "exclude").write_text("own.env\n")
    (top / "app" / "deep" / "own.env").write_text("KEY=canary\n")
    return top


@pytest.fixture
def builder(top: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SandboxBuilder]:
    """Confines commands to ``app``; one folder beside may be read, and one written."""
    base = top.parent
    monkeypatch.setenv("XDG_CONFIG_HOME", str(base / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(base / "state"))
    write = (str(base / "write"), str(base / "gone"), "relative", str(base / "config"))
    options = SandboxOptions(read=(str(base / "read"),), write=write)
    made = open_builder(installed_bubblewrap(), options, lambda: [top / "app"])
    yield made
    made.end()


LOOK, WORK = Bounds("read-only"), Bounds("workspace-write")
MODE, USER = (
    Bounds("workspace-write", consent="mode"),
    Bounds("workspace-write", consent="user"),
)


@pytest.mark.parametrize(
    "bounds, command, seen",
    [
        pytest.param(LOOK, "cat a.txt", "text", id="look-reads"),
        pytest.param(LOOK, "echo x > n || echo held", "held", id="look-writes-nothing"),
        pytest.param(LOOK, "echo x > ../../write/n || echo held", "held", id="look-nowhere"),
        pytest.param(LOOK, "cat deep/own.env || echo held", "held", id="look-no-secret"),
        pytest.param(LOOK, "cat deep/.env", "KEY=sample", id="look-what-git-has"),
        pytest.param(LOOK, "git status --porcelain; echo clean", "clean", id="git-sees-no-change"),
        pytest.param(
            LOOK, "git status; cat deep/own.env || echo held", "held", id="git-lifts-no-mask"
        ),
        pytest.param(WORK, "echo x > n && cat n && rm n", "x", id="work-writes"),
        pytest.param(WORK, "cat deep/own.env || echo held", "held", id="work-no-secret"),
        pytest.param(
            WORK, "git status --porcelain && echo clean", "clean", id="work-masks-nothing-of-git"
        ),
        pytest.param(MODE, "cat deep/own.env || echo held", "held", id="a-mode-shows-no-secret"),
        pytest.param(USER, "cat deep/own.env", "KEY=canary", id="a-user-shows-secrets"),
        pytest.param(WORK, f"{_COMMIT} || echo held", "held", id="work-commits-not"),
        pytest.param(MODE, f"{_COMMIT} && echo done", "done", id="a-mode-commits"),
        pytest.param(USER, f"true && {_COMMIT} && echo done", "done", id="a-user-commits"),
        pytest.param(
            USER, f"g=git; $g{_COMMIT[3:]} || echo held", "held", id="only-git-by-its-name"
        ),
        pytest.param(
            USER, "git status -s; echo x > ../.git/hooks/n || echo held", "held", id="no-hook"
        ),
        pytest.param(
            USER, "git status -s; echo x >> ../.git/config || echo held", "held", id="no-setting"
        ),
        pytest.param(
            USER, "git status -s; echo x > ../n || echo held", "held", id="nothing-beside"
        ),
        pytest.param(USER, "git status -s; cat ../other.txt", "other", id="git-reads-beside"),
        pytest.param(USER, "cat ../other.txt || echo held", "held", id="no-git-reads-not-beside"),
        pytest.param(USER, "echo x > .vscode/tasks.json || echo held", "held", id="no-task"),
        pytest.param(
            WORK,
            "ls -A | grep -v -e '^.vscode$' -e ^a -e ^deep | wc -l",
            "0",
            id="nothing-stands-for-absent-names",
        ),
        pytest.param(WORK, "cat ../../read/x", "beside", id="may-be-read"),
        pytest.param(WORK, "echo x > ../../read/n || echo held", "held", id="may-not-be-written"),
        pytest.param(WORK, "echo x > ../../write/n && echo done", "done", id="may-be-written"),
        pytest.param(
            USER, "cat ../../config/agent-ls/x || echo held", "held", id="never-our-settings"
        ),
        pytest.param(WORK, "echo x > /tmp/n && cat /tmp/n", "x", id="a-tmp-of-its-own"),
        pytest.param(WORK, "echo x > /var/tmp/n && cat /var/tmp/n", "x", id="another-tmp"),
        pytest.param(WORK, "echo x > ~/.cache/n && cat ~/.cache/n", "x", id="a-cache"),
        pytest.param(WORK, "echo x > /n || echo held", "held", id="no-top-folder"),
        pytest.param(WORK, "ls -A ~", ".cache", id="an-empty-home"),
        pytest.param(LOOK, "ls -A ~ | wc -l", "0", id="look-at-an-empty-home"),
        pytest.param(WORK, "ls /tmp/left /var/tmp/left | wc -l", "2", id="tmp-lasts"),
        pytest.param(
            LOOK, "ls /tmp/left /var/tmp/left | wc -l", "0", id="look-at-no-tmp-of-others"
        ),
        pytest.param(
            LOOK, "test ! -e /etc/shadow && grep -c ^root: /etc/passwd", "1", id="parts-of-etc"
        ),
        pytest.param(USER, "echo x >> /etc/passwd || echo held", "held", id="no-change-of-etc"),
        pytest.param(WORK, "env | grep -c -e XDG -e TMPDIR", "0", id="no-names-of-places"),
    ],
)
async def test_what_a_command_may(
    builder: SandboxBuilder, top: Path, bounds: Bounds, command: str, seen: str
) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(top.parent / "home"), "TMPDIR": "/x"}
    names = ("RUNTIME_DIR", "CONFIG_HOME", "DATA_HOME", "STATE_HOME", "CACHE_HOME")
    env |= {f"XDG_{name}": "/x" for name in names}
    for name in ("tmp", "var-tmp"):
        # What an earlier command left.
        (builder.place / name / "left").touch()
    ran = await ShellRunner(builder).run(
        f"({command}) 2>/dev/null", cwd=top / "app", timeout_s=20, env=env, bounds=bounds
    )
    assert ran.output.splitlines()[-1:] == [seen], ran.output
    assert ("canary" in ran.output) is (seen == "KEY=canary")


async def test_more_of_etc_may_be_read(top: Path) -> None:
    """A copy of its usual parts stands for /etc elsewhere, and nothing can be added to a copy."""
    options = SandboxOptions(read=("/etc/skel",))
    builder = open_builder(installed_bubblewrap(), options, lambda: [top / "app"])
    try:
        ran = await ShellRunner(builder).run(
            "ls -d /etc/skel && grep -c ^root: /etc/passwd", cwd=top / "app", timeout_s=20
        )
    finally:
        builder.end()
    assert ran.output.splitlines() == ["/etc/skel", "1"]


async def test_where_more_is_secret_than_can_be_covered_nothing_runs(
    builder: SandboxBuilder, tmp_path: Path
) -> None:
    root = tmp_path.resolve()
    for number in range(301):
        (root / f"{number}.pem").touch()
    crowded = replace(builder, roots=lambda: [root])
    with pytest.raises(OSError, match=r"301 secrets and control files.*300: ask to run it with"):
        crowded.wrapped(["true"], WORK, cwd=root, env={})
    with pytest.raises(OSError, match=r"kept from 300$"):
        crowded.wrapped_checker(["true"], cwd=root, env={})
    (root / "0.pem").unlink()
    crowded.wrapped(["true"], WORK, cwd=root, env={}).end()


@pytest.mark.parametrize(
    "home, seen", [pytest.param("home", "other", id="around"), pytest.param("top", "", id="home")]
)
def test_a_checker_sees_the_repository_around_unless_it_holds_the_home_folder(
    builder: SandboxBuilder, top: Path, home: str, seen: str
) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(top.parent / home)}
    script = "cat ../other.txt; cat a.txt deep/own.env; echo x > n"
    wrapped = builder.wrapped_checker(["/bin/sh", "-c", script], cwd=top / "app", env=env)
    try:
        ran = subprocess.run(
            wrapped.argv, env=dict(wrapped.env), capture_output=True, check=False, text=True
        )
    finally:
        wrapped.end()
    assert ran.stdout.split() == [*seen.split(), "text"], ran.stderr
    assert not (top / "app" / "n").exists()


class _Renaming:
    """Bubblewrap, and a program that puts a link in a folder's place before it mounts."""

    def __init__(self, inner: Bubblewrap, folder: Path, link: str) -> None:
        self._inner, self._folder, self._link = inner, folder, link

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def wrap(self, *words: Any, **more: Any) -> Wrapped:
        wrapped = self._inner.wrap(*words, **more)
        self._folder.rename(self._folder.with_name("moved"))
        self._folder.symlink_to(self._link)
        return wrapped


@pytest.mark.parametrize("is_checked", [True, False], ids=["checked", "positive-control"])
@pytest.mark.parametrize("at", ["deep", "deep/er"])
async def test_a_link_in_a_folders_place_leads_no_command_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str, is_checked: bool
) -> None:
    workspace, outside = tmp_path.resolve() / "ws", tmp_path.resolve() / "outside"
    for folder in (workspace / "deep" / "er", outside / "er"):
        folder.mkdir(parents=True)
        (folder / "own.env").write_text("KEY=canary\n")
        (folder.parent / "own.env").write_text("KEY=canary\n")
    if not is_checked:
        monkeypatch.setattr(bubblewrap, "_planned", lambda *_: {})
    link = os.path.relpath(outside, (workspace / at).parent)
    options = SandboxOptions(read=(str(outside),))
    sandbox: Any = _Renaming(installed_bubblewrap(), workspace / at, link)
    builder = open_builder(sandbox, options, lambda: [workspace])
    try:
        ran = await ShellRunner(builder).run(
            "echo x > ../outside/n", cwd=workspace, timeout_s=20, bounds=WORK
        )
    finally:
        builder.end()
    assert (outside / "n").exists() is not is_checked, ran.output
    if is_checked:
        assert ran.exit_code == 126
        assert "was renamed while the sandbox was made. Run it again." in ran.output


@pytest.mark.parametrize("name", ["a b", "tab\there", "back\\slash", "new\nline", "ümlaut"])
async def test_a_folder_of_any_name_is_mounted_as_planned(tmp_path: Path, name: str) -> None:
    workspace = tmp_path.resolve() / name
    (workspace / name).mkdir(parents=True)
    (workspace / name / "own.env").write_text("KEY=canary\n")
    builder = open_builder(installed_bubblewrap(), SandboxOptions(), lambda: [workspace])
    try:
        command = "cat */own.env; echo done; env | grep -c PLANNED"
        ran = await ShellRunner(builder).run(command, cwd=workspace, timeout_s=20, bounds=WORK)
    finally:
        builder.end()
    assert "canary" not in ran.output
    assert ran.output.splitlines()[-2:] == ["done", "0"]


async def test_what_lies_on_a_mount_of_the_systems_is_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its root in the kernel's table is that of the mount, as of a container's volume."""
    workspace = tmp_path.resolve() / "ws"
    (workspace / "volume" / "deep").mkdir(parents=True)
    (workspace / "volume" / "deep" / "own.env").write_text("KEY=canary\n")
    monkeypatch.setattr(bubblewrap, "_mount_points", lambda: {str(workspace / "volume")})
    builder = open_builder(installed_bubblewrap(), SandboxOptions(), lambda: [workspace])
    try:
        wrapped = builder.wrapped(["true"], WORK, cwd=workspace, env=dict(os.environ))
    finally:
        builder.end()
    planned = {one for name, one in wrapped.env.items() if name.startswith(bubblewrap.PLANNED)}
    assert planned >= {f"@{workspace}", f".{workspace}/volume", f".{workspace}/volume/deep"}


def test_ending_leaves_nothing(top: Path) -> None:
    made = open_builder(installed_bubblewrap(), SandboxOptions(), lambda: [top / "app"])
    assert {one.name for one in made.place.iterdir()} >= {"tmp", "var-tmp", "cache"}
    made.end()
    assert not made.place.exists()
