"""A dry run: what would be there is seen, and nothing is touched."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from agent_ls.domain.edits import (
    ChangeText,
    CreateFile,
    DeleteFile,
    FileEdit,
    MoveFile,
    Replacement,
)
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.permissions import ModeChange
from agent_ls.loop.ports.workspace import Look, Root
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.dry_run import DryRunner, DryRunWorkspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = (tmp_path / "proj").resolve()
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("one\n")
    (folder / "sub" / "b.txt").write_text("two\n")
    return folder


@pytest.fixture
def workspace(root: Path) -> DryRunWorkspace:
    return DryRunWorkspace(DiskWorkspace([Root(name="proj", path=root, is_trusted=True)]))


async def version(workspace: DryRunWorkspace, path: str) -> str:
    return (await workspace.read(path)).version


def written(root: Path) -> dict[str, str]:
    return {
        one.relative_to(root).as_posix(): one.read_text()
        for one in sorted(root.rglob("*"))
        if one.is_file()
    }


async def check(
    workspace: DryRunWorkspace, root: Path, edit: FileEdit, status: str, files: dict[str, str]
) -> None:
    """Apply an edit; assert how it ends and which files there seem to be, and that none is."""
    before = written(root)
    assert (await workspace.apply(edit)).status == status
    assert {name: (await workspace.read(name)).text for name in await workspace.files()} == files
    assert written(root) == before


A, B = {"a.txt": "one\n"}, {"sub/b.txt": "two\n"}


async def test_every_kind_of_edit_is_seen_and_nothing_is_touched(workspace, root) -> None:
    create = CreateFile(path="new/c.txt", text="three\n")
    await check(workspace, root, create, "applied", {**A, **B, "new/c.txt": "three\n"})
    assert await workspace.exists("new")
    assert [one.name for one in await workspace.list_dir("new")] == ["c.txt"]
    assert [one.name for one in await workspace.list_dir(".")] == ["new", "sub", "a.txt"]
    assert await workspace.snapshot("new/c.txt") == b"three\n"
    move = MoveFile(path="a.txt", base_version=await version(workspace, "a.txt"), new_path="d.txt")
    await check(workspace, root, move, "applied", {"d.txt": "one\n", "new/c.txt": "three\n", **B})
    assert not await workspace.exists("a.txt")
    gone = DeleteFile(path="sub/b.txt", base_version=await version(workspace, "sub/b.txt"))
    await check(workspace, root, gone, "applied", {"d.txt": "one\n", "new/c.txt": "three\n"})
    assert await workspace.list_dir("sub") == []
    again = CreateFile(path="sub/b.txt", text="2\n")
    files = {"d.txt": "one\n", "new/c.txt": "three\n", "sub/b.txt": "2\n"}
    await check(workspace, root, again, "applied", files)
    assert {one.path for one in await workspace.dirty()} == set(files)


async def test_permissions_are_the_real_files_and_stay(workspace, root) -> None:
    (root / "a.txt").chmod(0o751)
    goes = ModeChange(base=0o751, goal=0o600)
    await workspace.permit("a.txt", goes)
    assert await workspace.mode("a.txt") == 0o751
    edit = ChangeText(
        path="a.txt", base_version=await version(workspace, "a.txt"), replacements=(), mode=goes
    )
    await check(workspace, root, edit, "applied", {**A, **B})
    assert await workspace.mode("a.txt") is None
    assert (root / "a.txt").stat().st_mode & 0o777 == 0o751


async def test_edits_are_refused_as_real_ones_are(workspace, root) -> None:
    change = (Replacement(start=0, end=3, text="1"),)
    old = await version(workspace, "a.txt")
    first = ChangeText(path="a.txt", base_version=old, replacements=change)
    await check(workspace, root, first, "applied", {"a.txt": "1\n", **B})
    await check(workspace, root, first, "stale", {"a.txt": "1\n", **B})
    there = CreateFile(path="sub/b.txt", text="")
    await check(workspace, root, there, "refused", {"a.txt": "1\n", **B})
    onto = MoveFile(
        path="a.txt", base_version=await version(workspace, "a.txt"), new_path="sub/b.txt"
    )
    await check(workspace, root, onto, "refused", {"a.txt": "1\n", **B})
    for path in ("../out.txt", "missing.txt"):
        with pytest.raises(WorkspaceError):
            await workspace.apply(DeleteFile(path=path, base_version="x"))


async def test_a_file_on_disk_that_changes_is_seen_until_it_is_simulated(workspace, root) -> None:
    (root / "a.txt").write_text("other\n")
    assert (await workspace.read("a.txt")).text == "other\n"


async def test_no_command_runs(root) -> None:
    outcome = await DryRunner().run("touch x", cwd=root, timeout_s=1)
    assert (outcome.end, outcome.exit_code) == ("simulated", None)
    assert not (root / "x").exists()


async def test_what_was_seen_is_compared_with_what_would_be_there(workspace, root) -> None:
    looks = [
        Look("a.txt", version=await version(workspace, "a.txt")),
        Look("sub/b.txt", version=await version(workspace, "sub/b.txt")),
        Look("c.txt", digest=hashlib.sha256(b"new\n").hexdigest()),
        Look("d.txt"),
    ]
    holds = [is_same for _, is_same in await workspace.compare(looks)]
    assert holds == [True, True, False, True]
    whole = Replacement(start=0, end=4, text="1\n")
    base = looks[0].version or ""
    await workspace.apply(ChangeText(path="a.txt", base_version=base, replacements=(whole,)))
    await workspace.apply(CreateFile(path="c.txt", text="new\n"))
    await workspace.apply(CreateFile(path="d.txt", text=""))
    holds = [is_same for _, is_same in await workspace.compare(looks)]
    assert holds == [False, True, True, False]
    left = Look("a.txt", version=await version(workspace, "a.txt"))
    await workspace.apply(DeleteFile(path="d.txt", base_version=await version(workspace, "d.txt")))
    assert await workspace.compare([left, Look("./d.txt")]) == [("a.txt", True), ("d.txt", True)]
