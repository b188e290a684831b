"""The sandbox: what a confined command sees and changes, run for real."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import pytest

from agent_ls.safety.sandbox.confinement import Confinement
from agent_ls.safety.sandbox.probe import SandboxOptions, probe
from tests.support.sandboxes import installed_bubblewrap, run_confined


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace with a repository and a secret."""
    installed_bubblewrap()
    top = tmp_path.resolve() / "work"
    (top / ".git" / "hooks").mkdir(parents=True)
    (top / "a.txt").write_text("text\n")
    (top / "deep" / "conf").mkdir(parents=True)
    (top / "deep" / "conf" / ".env").write_text("KEY=canary\n")
    return top


def _confined(folder: Path, view: str) -> Confinement:
    return Confinement(
        "read-only" if view == "read-only" else "workspace-write",
        roots=(folder,),
        protected=(folder / ".git", folder / ".envrc"),
        hidden=(folder / "deep" / "conf" / ".env",),
    )


def test_a_working_sandbox_is_found_by_running_it() -> None:
    installed_bubblewrap()
    found = probe(SandboxOptions(use="bubblewrap"))
    assert found.sandbox is not None, found.why
    assert found.sandbox.name == "bubblewrap"


def test_a_sandbox_that_does_not_work_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'no permission' >&2; exit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = probe(SandboxOptions(use="bubblewrap"))
    assert (found.sandbox, found.why) == (None, "bubblewrap: no permission")


def test_a_user_may_want_none() -> None:
    assert probe(SandboxOptions(use="off")).sandbox is None


def test_work_changes_the_workspace_and_look_does_not(folder: Path) -> None:
    assert run_confined(_confined(folder, "read-only"), "echo new > b.txt").code != 0
    assert not (folder / "b.txt").exists()
    assert (
        run_confined(_confined(folder, "workspace-write"), "echo new > b.txt; mv a.txt c.txt").code
        == 0
    )
    assert sorted(one.name for one in folder.iterdir()) == [".git", "b.txt", "c.txt", "deep"]


@pytest.mark.parametrize("view", ["read-only", "workspace-write"])
def test_a_secret_cannot_be_opened(folder: Path, view: str) -> None:
    ran = run_confined(_confined(folder, view), "cat deep/conf/.env; cat a.txt")
    assert "canary" not in ran.output
    assert "text" in ran.output


def test_a_protected_folder_cannot_be_moved_away_with_its_parent(folder: Path) -> None:
    ran = run_confined(
        _confined(folder, "workspace-write"), "mv deep other || mv deep/conf deep/other"
    )
    assert ran.code != 0
    assert (folder / "deep" / "conf" / ".env").exists()


def test_nothing_stands_for_a_protected_name_that_is_absent(folder: Path) -> None:
    ran = run_confined(_confined(folder, "workspace-write"), "ls -A; echo x > .envrc; ls -d .envrc")
    assert ran.output.split() == [".git", "a.txt", "deep", ".envrc"]
    assert sorted(one.name for one in folder.iterdir()) == [".envrc", ".git", "a.txt", "deep"]


def test_a_home_folder_that_is_the_workspace_gets_no_cache(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(folder))
    (folder.parent / "tmp" / "cache").mkdir(parents=True)
    for name in ("tmp", "var-tmp"):
        (folder.parent / "tmp" / name).mkdir()
    confinement = replace(_confined(folder, "workspace-write"), tmp=folder.parent / "tmp")
    assert ".cache" not in run_confined(confinement, "ls -A").output
    assert not (folder / ".cache").exists()


def test_a_program_that_commands_may_change_confines_nothing(folder: Path) -> None:
    (folder / "bwrap").write_bytes(b"")
    inside = type(installed_bubblewrap())(folder / "bwrap")
    with pytest.raises(OSError, match="may change"):
        inside.wrap(_confined(folder, "workspace-write"), ("/bin/true",), cwd=folder, env={})


@pytest.mark.parametrize(
    "network, is_reached",
    [
        pytest.param((), False, id="none"),
        pytest.param(("localhost:1",), False, id="by-host"),
        pytest.param(("*",), True, id="all"),
    ],
)
def test_only_a_shared_network_has_ways_out(
    folder: Path, network: tuple[str, ...], is_reached: bool
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        confinement = Confinement("workspace-write", roots=(folder,), network=network)
        command = f"exec 9<>/dev/tcp/127.0.0.1/{server.getsockname()[1]}"
        assert (run_confined(confinement, f"bash -c '{command}'").code == 0) is is_reached
