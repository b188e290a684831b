"""Opening below a root: no link is followed, not even one swapped in between check and use."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path, PurePath

import pytest

from agent_ls.safety.beneath import folder_beneath, open_beneath, rename_new


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with links out of it."""
    base = tmp_path.resolve()
    (base / "root" / "dir").mkdir(parents=True)
    (base / "root" / "dir" / "file").write_text("inside")
    (base / "outside").mkdir()
    (base / "outside" / "file").write_text("outside")
    (base / "root" / "link").symlink_to(base / "outside")
    (base / "root" / "link-file").symlink_to(base / "outside" / "file")
    (base / "root" / "inner").symlink_to("dir")
    return base / "root"


def check(root: Path, below: str) -> str:
    """Return what opening ``below`` reads."""
    with os.fdopen(open_beneath(root, PurePath(below), os.O_RDONLY)) as file:
        return file.read()


def test_a_file_inside_is_opened(root: Path) -> None:
    assert check(root, "dir/file") == "inside"


@pytest.mark.parametrize(
    "below", ["link/file", "link-file", "inner/file", "../outside/file", "dir/../../outside/file"]
)
def test_links_and_dots_are_not_followed(root: Path, below: str) -> None:
    with pytest.raises(OSError, match=r".*"):
        check(root, below)


@pytest.mark.parametrize(
    "rounds", [1_000, pytest.param(100_000, marks=[pytest.mark.long, pytest.mark.timeout(900)])]
)
def test_a_folder_swapped_for_a_link_is_never_followed(root: Path, rounds: int) -> None:
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            (root / "dir").rename(root / "aside")
            (root / "dir").symlink_to(root.parent / "outside")
            (root / "dir").unlink()
            (root / "aside").rename(root / "dir")

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        seen: set[str] = set()
        for _ in range(rounds):
            try:
                seen.add(check(root, "dir/file"))
            except OSError:
                seen.add("refused")
    finally:
        done.set()
        swapper.join()
    assert "outside" not in seen
    assert seen <= {"inside", "refused"}


def test_folders_are_made_on_the_way_but_not_through_links(root: Path) -> None:
    with folder_beneath(root, PurePath("new/deep"), create=True) as folder:
        assert os.fstat(folder).st_ino == (root / "new/deep").stat().st_ino
    with pytest.raises(OSError, match=r".*"), folder_beneath(root, PurePath("link/x"), create=True):
        pass
    assert not (root.parent / "outside" / "x").exists()


def test_a_folder_is_made_only_when_it_should_be_and_a_file_is_none(root: Path) -> None:
    for below, error in (("new", FileNotFoundError), ("dir/file", NotADirectoryError)):
        with pytest.raises(error), folder_beneath(root, PurePath(below)):
            pass
    assert not (root / "new").exists()


def test_the_root_itself_is_a_folder_below_it(root: Path) -> None:
    with folder_beneath(root, PurePath()) as folder:
        assert os.fstat(folder).st_ino == root.stat().st_ino


def test_a_pipe_is_opened_without_waiting_for_its_writer(root: Path) -> None:
    os.mkfifo(root / "pipe")
    assert check(root, "pipe") == ""


def test_no_descriptor_stays_open(root: Path) -> None:
    before = len(list(Path("/dev/fd").iterdir()))
    check(root, "dir/file")
    with pytest.raises(OSError, match=r".*"):
        check(root, "dir/link/file")
    for below, create in (("new/deep", True), ("dir", False)):
        with folder_beneath(root, PurePath(below), create=create):
            pass
    assert len(list(Path("/dev/fd").iterdir())) == before


@pytest.mark.parametrize("platform", [sys.platform, "darwin"])
def test_a_rename_never_replaces(
    platform: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    (root / "a").write_text("a")
    with folder_beneath(root, PurePath()) as folder:
        rename_new(folder, "a", folder, "b")
        (root / "c").write_text("c")
        with pytest.raises(FileExistsError):
            rename_new(folder, "c", folder, "b")
        rename_new(folder, "link-file", folder, "renamed")
        with pytest.raises(OSError, match=r".*"):
            rename_new(folder, "dir", folder, "dir/inner")
    assert (root / "b").read_text() == "a"
    assert (root / "c").read_text() == "c"
    assert not (root / "a").exists()
    assert (root / "renamed").is_symlink()


@pytest.mark.skipif(sys.platform != "linux", reason="needs the renameat2 of Linux")
def test_a_rename_works_where_no_hard_link_can_be_made(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "link")
    with folder_beneath(root, PurePath("dir")) as folder:
        rename_new(folder, "file", folder, "new")
    assert (root / "dir/new").read_text() == "inside"
