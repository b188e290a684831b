"""The user's toolchains in the sandbox: found under the names that PATH gives, and no more."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_ls.loop.ports.commands import Bounds
from agent_ls.safety.sandbox import surroundings
from agent_ls.safety.sandbox.builder import open_builder
from agent_ls.safety.sandbox.probe import SandboxOptions, probe
from agent_ls.safety.sandbox.surroundings import copied_etc, toolchains
from agent_ls.workspace.runner import ShellRunner

pytestmark = pytest.mark.heavy


@pytest.fixture
def place(repository: Path) -> Iterator[Path]:
    """A folder with a home and a workspace, not below /tmp, which a sandbox hides anyway."""
    (repository / ".cache").mkdir(exist_ok=True)
    top = Path(tempfile.mkdtemp(prefix="home-", dir=repository / ".cache")).resolve()
    (top / "real").mkdir()
    (top / "work").mkdir()
    yield top
    shutil.rmtree(top)


def _program(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\necho ran\n")
    path.chmod(0o755)


LINKED: dict[str, tuple[str, dict[str, str], str]] = {
    "a-folder": ("dotfiles/bin/tool", {"bin": "dotfiles/bin"}, "bin"),
    "a-program": ("dotfiles/x/tool", {"mine/tool": "../dotfiles/x/tool"}, "mine"),
    "fnm": (
        ".local/share/fnm/v/installation/bin/tool",
        {".local/state/fnm_multishells/1": "../../share/fnm/v/installation"},
        ".local/state/fnm_multishells/1/bin",
    ),
    "a-profile": (
        "store/p/bin/tool",
        {".nix-profile": "profiles/now", "profiles/now": "../store/p"},
        ".nix-profile/bin",
    ),
    "a-version": ("sdk/1.2/bin/tool", {"sdk/current": "1.2"}, "sdk/current/bin"),
    "nothing": (".cargo/bin/tool", {}, ".cargo/bin"),
}
"""Where the program is, the links, and the entry of PATH; all in the home folder."""


@pytest.mark.parametrize("is_home_linked", [False, True], ids=["home", "linked-home"])
@pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("name", LINKED)
async def test_a_program_behind_links_runs(
    place: Path, name: str, sandbox: str, is_home_linked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = probe(SandboxOptions(use="bubblewrap" if sandbox == "bubblewrap" else "landlock"))
    if found.sandbox is None:
        pytest.skip(found.why)
    program, links, entry = LINKED[name]
    _program(place / "real" / program)
    for link, target in links.items():
        (place / "real" / link).parent.mkdir(parents=True, exist_ok=True)
        (place / "real" / link).symlink_to(target)
    (place / "real" / ".ssh").mkdir()
    (place / "real" / ".ssh" / "id_rsa").write_text("canary")
    home = place / "real"
    if is_home_linked:
        home = place / "home"
        home.symlink_to("real")
    monkeypatch.setenv("HOME", str(home))
    env = {"PATH": f"{home / entry}:/usr/bin:/bin"}
    builder = open_builder(found.sandbox, SandboxOptions(), lambda: [place / "work"])
    try:
        ran = await ShellRunner(builder).run(
            "tool; cat ~/.ssh/id_rsa ../real/.ssh/id_rsa",
            cwd=place / "work",
            timeout_s=20,
            env=env,
            bounds=Bounds("read-only"),
        )
    finally:
        builder.end()
    assert ran.output.startswith("ran\n"), ran.output
    assert "canary" not in ran.output


@pytest.mark.parametrize(
    "entry",
    [".config/bin", ".config", ".local/share/bin", ".local/share", ".local/sbin", ".local", ".",
     ".cache/bin", "bin", "linked/bin", "linked", "dotfiles/bin"],
)  # fmt: skip
def test_no_entry_of_path_shows_more_than_programs(place: Path, entry: str) -> None:
    home = place / "real"
    for name in (".config", ".local/share", ".cache", "dotfiles"):
        (home / name / "bin").mkdir(parents=True)
        (home / name / "lib").mkdir()
    (home / ".local" / "sbin").mkdir()
    (home / ".local" / "lib").mkdir()
    (home / "dotfiles" / "lib").rmdir()
    (home / "linked").symlink_to(".config")
    (home / "bin").mkdir()
    seen = [one.resolve() for one in toolchains({"HOME": str(home), "PATH": str(home / entry)})]
    kept = [home / one for one in (".config", ".local", ".local/share", ".cache", "dotfiles", ".")]
    assert not [one for one in kept if any(one.is_relative_to(path) for path in seen)]


def test_a_toolchain_that_is_installed_meanwhile_is_found(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin"}
    assert toolchains(environment) == ()
    (tmp_path / ".cargo" / "bin").mkdir(parents=True)
    assert toolchains(environment) == (tmp_path / ".cargo" / "bin",)


def test_etc_is_copied_again_when_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    etc, copies = tmp_path / "etc", tmp_path / "copies"
    (etc / "ssl" / "certs").mkdir(parents=True)
    copies.mkdir()
    (etc / "hosts").write_text("first\n")
    (etc / "shadow").write_text("secret\n")
    (etc / "localtime").symlink_to("/usr/share/zoneinfo/UTC")
    (etc / "ssl" / "certs" / "a.pem").symlink_to("../../gone")
    monkeypatch.setattr(surroundings, "_ETC", etc)
    monkeypatch.setattr(surroundings, "_ETC_FOLDERS", (etc, etc / "ssl"))
    first = copied_etc(copies, network=False)
    assert copied_etc(copies, network=False) == first
    assert sorted(path.name for path in first.iterdir()) == ["hosts", "localtime", "ssl"]
    assert (first / "localtime").readlink() == Path("/usr/share/zoneinfo/UTC")
    assert (first / "ssl" / "certs" / "a.pem").readlink() == Path("../../gone")
    os.utime(etc / "hosts", (1, 1))
    (etc / "passwd").write_text("root\n")
    (etc / "hosts").write_text("second\n")
    second = copied_etc(copies, network=False)
    assert (second / "hosts").read_text() == "second\n"
    assert (second / "passwd").read_text() == "root\n"
    assert (first / "hosts").read_text() == "first\n", "a command that runs keeps what it has"
