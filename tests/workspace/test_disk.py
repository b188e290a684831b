"""Files on disk: what is read, what is written, and what is left alone."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest

from agent_ls.domain.edits import (
    ChangeText,
    CreateFile,
    DeleteFile,
    EditOutcome,
    FileEdit,
    MoveFile,
    Replacement,
)
from agent_ls.domain.errors import PathRefused, WorkspaceError
from agent_ls.loop.ports import Root
from agent_ls.workspace.disk import DiskWorkspace


def workspace(*folders: Path) -> DiskWorkspace:
    return DiskWorkspace([Root(folder.name, folder.resolve(), False) for folder in folders])


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


async def check(folder: Path, edit: FileEdit) -> EditOutcome:
    return await workspace(folder).apply(edit)


async def change_of(folder: Path, path: str, old: str, new: str) -> ChangeText:
    file = await workspace(folder).read(path)
    at = file.text.index(old)
    replacement = Replacement(start=at, end=at + len(old), text=new)
    return ChangeText(path=path, base_version=file.version, replacements=(replacement,))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"one\ntwo\n", id="plain"),
        pytest.param(b"one\r\ntwo\r\nthree\n", id="mixed-line-ends"),
        pytest.param(b"one\rtwo", id="carriage-returns-without-a-final-newline"),
        pytest.param(b"\xef\xbb\xbfone\ntwo\n", id="a-byte-order-mark"),
        pytest.param("one \x0c two \u2028 \U0001f600 e\u0301\n".encode(), id="odd-characters"),
    ],
)
async def test_a_change_keeps_every_other_byte(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(content)
    outcome = await check(tmp_path, await change_of(tmp_path, "a.txt", "one", "ONE"))
    assert outcome.status == "applied"
    assert file.read_bytes() == content.replace(b"one", b"ONE")
    assert outcome.version == (await workspace(tmp_path).read("a.txt")).version


async def test_a_change_keeps_permissions_and_leaves_no_other_file(tmp_path: Path) -> None:
    file = tmp_path / "run.sh"
    file.write_text("echo one\n")
    file.chmod(0o751)
    await check(tmp_path, await change_of(tmp_path, "run.sh", "one", "two"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o751
    assert names(tmp_path) == ["run.sh"]


async def test_a_change_of_a_file_that_moved_on_is_stale_and_changes_nothing(
    tmp_path: Path,
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one\n")
    edit = await change_of(tmp_path, "a.txt", "one", "two")
    file.write_text("one, and more\n")
    assert (await check(tmp_path, edit)).status == "stale"
    assert file.read_text() == "one, and more\n"


async def test_a_new_file_gets_its_folders_and_ordinary_permissions(tmp_path: Path) -> None:
    outcome = await check(tmp_path, CreateFile(path="new/deep/a.txt", text="ä\n"))
    file = tmp_path / "new" / "deep" / "a.txt"
    other = tmp_path / "other"
    other.touch()
    assert outcome.status == "applied"
    assert file.read_bytes() == "ä\n".encode()
    assert file.stat().st_mode == other.stat().st_mode


async def test_nothing_is_created_over_something(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("mine")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    outcome = await check(tmp_path, CreateFile(path="a.txt", text="theirs"))
    assert (outcome.status, (tmp_path / "a.txt").read_text()) == ("refused", "mine")
    assert names(tmp_path) == ["a.txt", "dangling"]


async def test_a_file_is_deleted_and_moved_only_as_it_was_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    version = (await workspace(tmp_path).read("a.txt")).version
    moved = await check(tmp_path, MoveFile(path="a.txt", base_version=version, new_path="d/b.txt"))
    assert moved.status == "applied"
    assert (tmp_path / "d" / "b.txt").read_text() == "one"
    stale = await check(tmp_path, DeleteFile(path="d/b.txt", base_version="sha256:other"))
    assert stale.status == "stale"
    gone = await check(tmp_path, DeleteFile(path="d/b.txt", base_version=version))
    assert (gone.status, (tmp_path / "d" / "b.txt").exists()) == ("applied", False)


async def test_a_move_over_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "b.txt").write_text("two")
    version = (await workspace(tmp_path).read("a.txt")).version
    outcome = await check(tmp_path, MoveFile(path="a.txt", base_version=version, new_path="b.txt"))
    assert outcome.status == "refused"
    assert [(tmp_path / name).read_text() for name in ("a.txt", "b.txt")] == ["one", "two"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        pytest.param(lambda file: None, "does not exist", id="missing"),
        pytest.param(lambda file: file.mkdir(), "is a folder", id="a-folder"),
        pytest.param(lambda file: os.mkfifo(file), "no ordinary file", id="a-pipe"),
        pytest.param(lambda file: file.write_bytes(b"a\0b"), "binary", id="binary"),
        pytest.param(lambda file: file.write_bytes(b"a\xffb"), "not UTF-8 (byte 1)", id="latin"),
        pytest.param(
            lambda file: os.truncate(os.open(file, os.O_CREAT | os.O_WRONLY), 50 * 2**20),
            "too large to read (50.0 MB",
            id="fifty-megabytes",
        ),
    ],
)
async def test_what_cannot_be_read_says_why(tmp_path: Path, make: object, words: str) -> None:
    assert callable(make)
    make(tmp_path / "a")
    with pytest.raises(WorkspaceError, match=re.escape(words)):
        await workspace(tmp_path).read("a")


async def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("x")
    (inside / "link").symlink_to(outside)
    for path in ("link/secret", "../out/secret", str(outside / "secret")):
        with pytest.raises(PathRefused):
            await workspace(inside).read(path)


async def test_ignored_files_are_not_listed_and_inner_rules_win(tmp_path: Path) -> None:
    for name in ("a.py", "b.log", "keep/c.log", "build/x.py", ".git/config", ".hidden"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / ".gitignore").write_text("*.log\nbuild/\n")
    (tmp_path / "keep" / ".gitignore").write_text("!c.log\n")
    assert await workspace(tmp_path).files() == [
        ".gitignore",
        ".hidden",
        "a.py",
        "keep/.gitignore",
        "keep/c.log",
    ]
    assert await workspace(tmp_path).files("keep") == ["keep/.gitignore", "keep/c.log"]


async def test_several_folders_are_told_apart_by_their_names(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(name)
    both = workspace(tmp_path / "one", tmp_path / "two")
    assert await both.files() == ["one/a.txt", "two/a.txt"]
    assert (await both.read("two/a.txt")).text == "two"
    assert [entry.name for entry in await both.list_dir(".")] == ["one", "two"]
    with pytest.raises(PathRefused, match="one/, two/"):
        await both.read("a.txt")


async def test_a_folder_lists_its_folders_first(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a.txt").write_text("123")
    entries = await workspace(tmp_path).list_dir(".")
    assert [(one.name, one.is_dir, one.size_bytes) for one in entries] == [
        ("b", True, 0),
        ("a.txt", False, 3),
    ]
