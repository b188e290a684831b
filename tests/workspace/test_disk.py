"""Files on disk: what is read, what is written, and what is left alone."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import stat
import subprocess
import sys
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
from agent_ls.domain.permissions import ModeChange
from agent_ls.loop.ports.workspace import Root
from agent_ls.workspace import disk, listing
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


async def test_a_change_takes_permissions_along_that_nobody_else_has_set(tmp_path: Path) -> None:
    file = tmp_path / "run.sh"
    file.write_text("echo one\n")
    for mode, after in [(0o644, 0o755), (0o640, 0o640), (0o4644, 0o4755)]:
        file.chmod(mode)
        edit = await change_of(tmp_path, "run.sh", "echo", "echo echo")
        goes = ModeChange(base=0o644, goal=0o755)
        outcome = await check(tmp_path, edit.model_copy(update={"mode": goes}))
        assert outcome.status == "applied"
        assert stat.S_IMODE(file.stat().st_mode) == after


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o444, 0o666, 0o200])
async def test_a_new_file_gets_the_permissions_it_is_to_have(tmp_path: Path, mode: int) -> None:
    await check(tmp_path, CreateFile(path="new/a.txt", text="a\n", mode=0o6000 | mode))
    assert stat.S_IMODE((tmp_path / "new/a.txt").stat().st_mode) == mode
    assert await workspace(tmp_path).mode("new/a.txt") == mode


async def test_permissions_are_those_of_files_alone(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.txt").write_text("a\n")
    (tmp_path / "a.txt").chmod(0o4711)
    (tmp_path / "link").symlink_to("a.txt")
    found = [await place.mode(name) for name in ("a.txt", "link", "folder", "missing")]
    assert found == [0o711, 0o711, None, None]


@pytest.mark.parametrize("name", ["missing", "folder", "../out.txt"])
async def test_permissions_that_cannot_be_set_cost_nothing_but_are_logged(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "work/folder").mkdir(parents=True)
    (tmp_path / "out.txt").touch(0o644)
    await workspace(tmp_path / "work").permit(name, ModeChange(base=0o644, goal=0o777))
    assert name in caplog.text
    assert stat.S_IMODE((tmp_path / "out.txt").stat().st_mode) == 0o644


_WITHOUT_MODES = """
import asyncio, ctypes, struct, sys
from pathlib import Path
from agent_ls.domain.edits import CreateFile
from agent_ls.loop.ports.workspace import Root
from agent_ls.workspace.disk import DiskWorkspace

def refuse(number):
    # The kernel answers this call with EPERM, as it does on a file system without modes.
    steps = (0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7FFF0000)
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in steps))
    program = struct.pack("HP", len(steps), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, program) == 0, ctypes.get_errno()

refuse(int(sys.argv[2]))
disk = DiskWorkspace([Root("x", Path(sys.argv[1]), False)])
print(asyncio.run(disk.apply(CreateFile(path="run.sh", text="a\\n", mode=0o755))).status)
"""
_FCHMOD = {"x86_64": 91, "aarch64": 52}


@pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine not in _FCHMOD,
    reason="this machine has other system calls",
)
def test_a_file_system_without_permissions_takes_files_all_the_same(tmp_path: Path) -> None:
    number = str(_FCHMOD[os.uname().machine])
    command = [sys.executable, "-c", _WITHOUT_MODES, str(tmp_path.resolve()), number]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.stdout == "applied\n", ran.stderr
    assert (tmp_path / "run.sh").read_text() == "a\n"
    # Nobody else may read what was perhaps nobody else's, not for a moment either.
    assert stat.S_IMODE((tmp_path / "run.sh").stat().st_mode) == 0o600
    assert "755" in ran.stderr


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
        pytest.param(lambda file: file.write_bytes(b"a" * 99_999 + b"\0"), "binary", id="late-nul"),
        pytest.param(lambda file: file.write_bytes(b"\xff\xfea\0b"), "binary", id="half-utf-16"),
        pytest.param(lambda file: file.symlink_to(file), "cannot be resolved", id="a-loop"),
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


async def test_a_write_protected_file_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one")
    edit = await change_of(tmp_path, "a.txt", "one", "two")
    file.chmod(0o444)
    outcome = await check(tmp_path, edit)
    assert (outcome.status, file.read_text()) == ("refused", "one")
    assert "write-protected" in outcome.reason


@pytest.mark.parametrize("path", ["a.txt/", "folder", "folder/", ".", "new.", "../x", "a\0"])
async def test_what_names_no_file_is_not_written(tmp_path: Path, path: str) -> None:
    (tmp_path / "folder").mkdir()
    outcome = await check(tmp_path, CreateFile(path=path, text="x"))
    assert outcome.status == "refused"
    assert outcome.reason
    assert names(tmp_path) == ["folder"]


async def test_of_several_creations_at_once_one_wins(tmp_path: Path) -> None:
    disk = workspace(tmp_path)
    edits = [CreateFile(path="a.txt", text=f"{number}") for number in range(8)]
    outcomes = await asyncio.gather(*map(disk.apply, edits))
    (won,) = [number for number, one in enumerate(outcomes) if one.status == "applied"]
    assert (tmp_path / "a.txt").read_text() == f"{won}"
    assert names(tmp_path) == ["a.txt"]


async def test_of_several_changes_of_one_version_one_wins(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    disk = workspace(tmp_path)
    edits = [await change_of(tmp_path, "a.txt", "one", f"{number}") for number in range(8)]
    outcomes = await asyncio.gather(*map(disk.apply, edits))
    assert sorted(one.status for one in outcomes) == ["applied"] + ["stale"] * 7
    (won,) = [number for number, one in enumerate(outcomes) if one.status == "applied"]
    assert (tmp_path / "a.txt").read_text() == f"{won}"


_WRITER = """
import asyncio, resource, sys
from pathlib import Path
from agent_ls.domain.edits import ChangeText, Replacement
from agent_ls.loop.ports.workspace import Root
from agent_ls.workspace.disk import DiskWorkspace

async def main(folder, rounds, limit):
    disk = DiskWorkspace([Root("x", Path(folder), False)])
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    for number in range(rounds):
        file = await disk.read("a.txt")
        text = str(number % 10) * 100_000
        whole = (Replacement(start=0, end=len(file.text), text=text),)
        edit = ChangeText(path="a.txt", base_version=file.version, replacements=whole)
        outcome = await disk.apply(edit)
        print(outcome.status, outcome.reason, flush=True)

asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
"""


def _writer(folder: Path, rounds: int, limit: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _WRITER, str(folder), str(rounds), str(limit)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_write_that_fails_half_way_damages_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("before")
    with _writer(tmp_path.resolve(), 1, 50_000) as process:
        said, _ = process.communicate(timeout=60)
    assert "refused" in said
    assert "larger than the system allows" in said
    assert (tmp_path / "a.txt").read_text() == "before"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize(
    "rounds", [3, pytest.param(300, marks=[pytest.mark.long, pytest.mark.timeout(1_800)])]
)
def test_a_kill_leaves_the_text_before_or_after(tmp_path: Path, rounds: int) -> None:
    for number in range(rounds):
        (tmp_path / "a.txt").write_text("9" * 100_000)
        with _writer(tmp_path.resolve(), 10_000, 0) as process:
            assert process.stdout is not None
            for _ in range(number % 7 + 1):
                assert process.stdout.readline().startswith("applied")
            process.kill()
        text = (tmp_path / "a.txt").read_text()
        assert len(text) == 100_000
        assert len(set(text)) == 1


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


async def test_odd_entries_neither_stop_a_walk_nor_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # ripgrep waits for a pipe in the place of its rules.
    monkeypatch.setattr(listing, "_LIMIT_S", 1.0)
    inside, outside = tmp_path / "in", tmp_path / "out"
    (inside / "sub").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret").touch()
    (inside / "a.txt").touch()
    (inside / "near").symlink_to("a.txt")
    (inside / "far").symlink_to(outside / "secret")
    (inside / "folder").symlink_to(outside)
    (inside / "self").symlink_to("self")
    (inside / "sub" / "up").symlink_to("..")
    os.mkfifo(inside / ".gitignore")
    os.mkfifo(inside / "pipe")
    (inside / os.fsdecode(b"latin-\xff")).touch()
    async with asyncio.timeout(60):
        # Links are listed only where git tracks them; what they lead to has its own name.
        found = await workspace(inside).files()
    assert found == ["a.txt"]
    assert found.notes == ("left out: 1 file with a name that is not UTF-8",)


async def test_a_failure_that_nobody_waits_for_is_no_news(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = workspace(tmp_path)
    for _ in range(50):
        reading = asyncio.ensure_future(files.read("gone.py"))
        await asyncio.sleep(0)
        reading.cancel()
        await asyncio.wait([reading])
    (tmp_path / "there.py").write_text("x\n")
    await asyncio.gather(*(files.read("there.py") for _ in range(50)))
    gc.collect()
    assert not caplog.messages


async def test_a_very_deep_folder_is_walked(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=folder)
        inner = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    (tmp_path / "a.txt").touch()
    assert await workspace(tmp_path).files() == ["a.txt"]
    # Python's own removal would call itself once per folder.
    await asyncio.to_thread(subprocess.run, ["rm", "-rf", str(tmp_path / "d")], check=True)


async def test_the_project_tree_is_short_and_honest(tmp_path: Path) -> None:
    for number in range(60):
        (tmp_path / f"package_{number:02}").mkdir()
        (tmp_path / f"package_{number:02}" / "a.py").touch()
        (tmp_path / f"file_{number:02}.txt").touch()
    (tmp_path / "package_07" / "b.py").touch()
    (tmp_path / "ignore\nprevious").touch()
    tree = await workspace(tmp_path).describe()
    assert len(tree) <= 600
    assert "package_07/ (2)" in tree
    assert re.search(r"and \d+ more folders", tree)
    assert "and 49 more" in tree


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
    (tmp_path / ".agent-ls-0123456789abcdef.tmp").write_text("on its way")
    entries = await workspace(tmp_path).list_dir(".")
    assert [(one.name, one.is_dir, one.size_bytes) for one in entries] == [
        ("b", True, 0),
        ("a.txt", False, 3),
    ]


async def test_the_tree_of_a_large_project_ends_where_it_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "_MAX_DESCRIBED", 100)
    for name, count in {"src/deep": 250, "docs": 3, "build": 5}.items():
        (tmp_path / name).mkdir(parents=True)
        for number in range(count):
            (tmp_path / name / f"{number}.py").touch()
    (tmp_path / "a.txt").touch()
    (tmp_path / ".gitignore").write_text("build\n")
    place = workspace(tmp_path)
    expected = "docs/ (3)\nsrc/ (200+)\nsrc/deep/ (200+)\n.gitignore, a.txt"
    assert await place.describe() == expected
    for number in range(60):
        (tmp_path / f"package_{number:02}").mkdir()
        (tmp_path / f"package_{number:02}" / "a.py").touch()
    tree = await workspace(tmp_path).describe()
    assert len(tree) <= 600
    assert "and more folders" in tree
