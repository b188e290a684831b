"""What a file has beside its text is there after an edit, an undo of which writes it again."""

from __future__ import annotations

import errno
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_ls.domain.edits import ChangeText, EditOutcome, Replacement
from agent_ls.loop.ports.workspace import Root
from agent_ls.workspace import keeping
from agent_ls.workspace.disk import DiskWorkspace

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems keep them otherwise")


async def edit(folder: Path, text: str = "2") -> EditOutcome:
    disk = DiskWorkspace([Root(name="proj", path=folder.resolve(), is_trusted=True)])
    version = (await disk.read("a.txt")).version
    change = (Replacement(start=4, end=7, text=text),)
    return await disk.apply(ChangeText(path="a.txt", base_version=version, replacements=change))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "proj"
    place.mkdir()
    (place / "a.txt").write_text("one\ntwo\n")
    return place


def texts(folder: Path) -> dict[str, str]:
    return {one.name: one.read_text() for one in folder.iterdir()}


@pytest.mark.parametrize("text", ["2", "a much longer line than before"])
async def test_the_other_names_of_a_file_keep_its_text(folder: Path, text: str) -> None:
    outside = folder.parent / "deployed.txt"
    os.link(folder / "a.txt", outside)
    (folder / "a.txt").chmod(0o640)
    assert (await edit(folder, text)).status == "applied"
    assert texts(folder) == {"a.txt": f"one\n{text}\n"}
    assert outside.read_text() == f"one\n{text}\n"
    assert outside.stat().st_nlink == 2
    assert outside.stat().st_mode & 0o777 == 0o640


async def test_a_package_managers_store_is_not_written_through_a_link(tmp_path: Path) -> None:
    store, folder = tmp_path / "store.js", tmp_path / "node_modules"
    folder.mkdir()
    store.write_text("one\ntwo\n")
    os.link(store, folder / "a.txt")
    assert (await edit(folder)).status == "applied"
    assert store.read_text() == "one\ntwo\n"
    assert texts(folder) == {"a.txt": "one\n2\n"}


def set_attribute(file: Path, name: str, value: bytes) -> None:
    try:
        os.setxattr(file, name, value)
    except OSError as error:
        pytest.skip(f"no {name} here: {error}")


def access_list(user: int) -> bytes:
    """Return an access list: user rw, another user r, group r, mask r, others nothing."""
    none = 0xFFFFFFFF
    entries = [(1, 6, none), (2, 4, user), (4, 4, none), (16, 4, none), (32, 0, none)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *one) for one in entries)


@only_linux
async def test_extended_attributes_stay(folder: Path) -> None:
    set_attribute(folder / "a.txt", "user.comment", b"mine")
    set_attribute(folder / "a.txt", "user.empty", b"")
    assert (await edit(folder)).status == "applied"
    found = {one: os.getxattr(folder / "a.txt", one) for one in os.listxattr(folder / "a.txt")}
    assert (found["user.comment"], found["user.empty"]) == (b"mine", b"")


@only_linux
async def test_an_access_list_stays_and_the_folders_own_is_not_added(folder: Path) -> None:
    set_attribute(folder, "system.posix_acl_default", access_list(4242))
    assert (await edit(folder)).status == "applied"
    assert "system.posix_acl_access" not in os.listxattr(folder / "a.txt")
    set_attribute(folder / "a.txt", "system.posix_acl_access", access_list(4711))
    mode = (folder / "a.txt").stat().st_mode
    (folder / "a.txt").write_text("one\ntwo\n")
    assert (await edit(folder)).status == "applied"
    assert os.getxattr(folder / "a.txt", "system.posix_acl_access") == access_list(4711)
    assert (folder / "a.txt").stat().st_mode == mode


def _not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise PermissionError(errno.EPERM, "no")

    monkeypatch.setattr(os, "setxattr", fail)


def _busy(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(errno.EBUSY, "a mount point")

    monkeypatch.setattr(os, "rename", fail)


@only_linux
@pytest.mark.parametrize("hinder", [_not_given, _busy])
async def test_what_a_new_file_cannot_have_is_kept_by_writing_in_place(
    folder: Path, hinder: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_attribute(folder / "a.txt", "user.comment", b"mine")
    before = (folder / "a.txt").stat().st_ino
    hinder(monkeypatch)
    assert (await edit(folder)).status == "applied"
    assert os.getxattr(folder / "a.txt", "user.comment") == b"mine"
    assert (folder / "a.txt").stat().st_ino == before
    assert texts(folder) == {"a.txt": "one\n2\n"}


async def test_a_file_that_cannot_be_written_in_place_is_as_before(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.link(folder / "a.txt", folder.parent / "other.txt")
    real = os.ftruncate
    failures = [errno.ENOSPC]

    def fail(descriptor: int, length: int) -> None:
        if failures:
            raise OSError(failures.pop(), "no space")
        real(descriptor, length)

    monkeypatch.setattr(os, "ftruncate", fail)
    outcome = await edit(folder, "x")
    assert (outcome.status, outcome.reason) == ("refused", "a.txt: the disk is full.")
    assert texts(folder) == {"a.txt": "one\ntwo\n"}


async def test_a_half_written_file_leaves_its_copy_and_says_where(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.link(folder / "a.txt", folder.parent / "other.txt")

    def fail(*_: Any) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(os, "ftruncate", fail)
    outcome = await edit(folder, "x")
    assert outcome.status == "refused"
    [copy] = texts(folder).keys() - {"a.txt"}
    assert f"Its content from before is in {copy}, in the same folder" in outcome.reason
    assert (folder / copy).read_text() == "one\ntwo\n"


@only_linux
def test_a_file_that_is_mounted_by_itself_is_changed(folder: Path) -> None:
    """As a container has single files of the host."""
    host = folder.parent / "host.txt"
    host.write_text("one\ntwo\n")
    program = (
        "import asyncio, pathlib; from tests.workspace.test_keeping import edit;"
        f"print(asyncio.run(edit(pathlib.Path({str(folder)!r}))).status)"
    )
    script = f'mount --bind "{host}" "{folder}/a.txt" || exit 9; exec "$0" -c "$1"'
    command = ["unshare", "-rm", "sh", "-c", script, sys.executable, program]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("this machine has no unshare")
    if done.returncode == 9 or "unshare" in done.stderr:
        pytest.skip(f"this machine mounts nothing: {done.stderr}")
    assert done.stdout.strip() == "applied", done.stderr
    assert host.read_text() == "one\n2\n"
    assert texts(folder) == {"a.txt": "one\ntwo\n"}


if sys.platform == "darwin":

    def test_macos_gives_attributes(tmp_path: Path) -> None:
        files = [tmp_path / "a", tmp_path / "b"]
        for one in files:
            one.write_text("x")
        subprocess.run(["xattr", "-w", "user.comment", "mine", files[0]], check=True)
        with files[0].open() as source, files[1].open("r+") as target:
            assert keeping.give_attributes(source.fileno(), target.fileno())
        found = subprocess.run(["xattr", files[1]], capture_output=True, text=True, check=True)
        assert "user.comment" in found.stdout
