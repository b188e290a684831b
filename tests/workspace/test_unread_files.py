"""What commands change is known in full where git holds what was in the files before."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_ls.loop.ports.commands import CommandChange
from agent_ls.safety.sandbox.builder import open_builder
from agent_ls.safety.sandbox.probe import SandboxOptions
from agent_ls.workspace import tree_watch
from agent_ls.workspace.git_blobs import clean_files
from agent_ls.workspace.tree_watch import TreeWatch
from tests.support.sandboxes import installed_bubblewrap
from tests.workspace.test_tree_watch import check, workspace

_GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")


def _git(folder: Path, *words: str) -> None:
    subprocess.run([*_GIT, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A repository with files of each kind, where few files count as many."""
    monkeypatch.setattr(tree_watch, "_MANY", 0)
    folder = (tmp_path / "proj").resolve()
    (folder / "sub").mkdir(parents=True)
    _git(folder, "init", "-q")
    (folder / ".gitattributes").write_text("*.bat eol=crlf\n")
    for name in ("same.txt", "sub/same.txt", "edited.txt", "hidden.txt", "mode.txt", "gone.txt"):
        (folder / name).write_text(f"of {name}\n")
    (folder / "run.bat").write_bytes(b"of run.bat\r\n")
    _git(folder, "add", "-A")
    _git(folder, "commit", "-qm", "x")
    _git(folder, "update-index", "--assume-unchanged", "hidden.txt")
    (folder / "edited.txt").write_text("uncommitted\n")
    (folder / "hidden.txt").write_text("uncommitted\n")
    (folder / "new.txt").write_text("untracked\n")
    builder = open_builder(installed_bubblewrap(), SandboxOptions(), lambda: [folder])
    yield folder
    builder.end()


def test_only_files_that_git_holds_as_they_are_stay_unread(folder: Path) -> None:
    found = clean_files(folder, [folder])
    # A line end that git changes makes another size.
    same = [name for name, blob in found.items() if blob.size == (folder / name).stat().st_size]
    assert sorted(same) == [
        *(".gitattributes", "gone.txt", "mode.txt", "same.txt", "sub/same.txt"),
    ]
    assert sorted(clean_files(folder / "sub", [folder])) == ["same.txt"]


async def test_what_was_in_each_file_before_is_known(folder: Path) -> None:
    before = {one: one.read_bytes() for one in folder.rglob("*.*t") if ".git" not in one.parts}
    watch = TreeWatch(workspace(folder))

    def change() -> None:
        for place in before:
            place.write_bytes(b"later\n")
        (folder / "gone.txt").unlink()
        (folder / "sub").rename(folder / "moved")
        # What git held is known although git is gone from its index, too.
        _git(folder, "rm", "-q", "--cached", "same.txt")

    changes = {one.path: one for one in await check(watch, folder, change)}
    later = {
        str(place.relative_to(folder)): CommandChange(
            str(place.relative_to(folder)), data, b"later\n"
        )
        for place, data in before.items()
    }
    later["gone.txt"] = CommandChange("gone.txt", b"of gone.txt\n", None)
    later["sub/same.txt"] = CommandChange("sub/same.txt", b"of sub/same.txt\n", None)
    later["moved/same.txt"] = CommandChange("moved/same.txt", None, b"later\n")
    assert changes == later


async def test_the_same_text_written_again_is_no_change(folder: Path) -> None:
    watch = TreeWatch(workspace(folder))
    assert await check(watch, folder, lambda: (folder / "same.txt").touch()) == ()
    text = (folder / "same.txt").read_bytes()
    assert await check(watch, folder, lambda: (folder / "same.txt").write_bytes(text)) == ()


async def test_a_file_is_told_without_its_text_when_the_repository_goes(folder: Path) -> None:
    watch = TreeWatch(workspace(folder))

    def change() -> None:
        (folder / "same.txt").write_text("later\n")
        subprocess.run(["rm", "-rf", ".git"], cwd=folder, check=True)

    changes = {one.path: one for one in await check(watch, folder, change)}
    assert not changes["same.txt"].is_before_known
    assert changes["same.txt"].after == b"later\n"
