"""Opening below a root: no link is followed, not even one swapped in between check and use."""

from __future__ import annotations

import os
import threading
from pathlib import Path, PurePath

import pytest

from agent_ls.safety.beneath import (
    HAS_DESCRIPTORS,
    folder_beneath,
    has_openat2,
    open_beneath,
    rename_new,
    walk_beneath,
)

pytestmark = pytest.mark.skipif(not HAS_DESCRIPTORS, reason="no descriptors of folders here")

_WAYS = ["openat2", "walk"]


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


def check(way: str, root: Path, below: str) -> str:
    """Return what opening ``below`` reads, through the chosen way."""
    if way == "walk":
        top = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            descriptor = walk_beneath(top, PurePath(below), os.O_RDONLY | os.O_NOFOLLOW, 0)
        finally:
            os.close(top)
    else:
        if not has_openat2():
            pytest.skip("this kernel has no openat2")
        descriptor = open_beneath(root, PurePath(below), os.O_RDONLY)
    with os.fdopen(descriptor) as file:
        return file.read()


@pytest.mark.parametrize("way", _WAYS)
def test_a_file_inside_is_opened(root: Path, way: str) -> None:
    assert check(way, root, "dir/file") == "inside"


@pytest.mark.parametrize("way", _WAYS)
@pytest.mark.parametrize(
    "below", ["link/file", "link-file", "inner/file", "../outside/file", "dir/../../outside/file"]
)
def test_links_and_dots_are_not_followed(root: Path, way: str, below: str) -> None:
    with pytest.raises(OSError, match=r".*"):
        check(way, root, below)


@pytest.mark.parametrize("way", _WAYS)
@pytest.mark.parametrize(
    "rounds", [1_000, pytest.param(100_000, marks=[pytest.mark.long, pytest.mark.timeout(900)])]
)
def test_a_folder_swapped_for_a_link_is_never_followed(root: Path, way: str, rounds: int) -> None:
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
                seen.add(check(way, root, "dir/file"))
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


def test_a_rename_never_replaces(root: Path) -> None:
    (root / "a").write_text("a")
    with folder_beneath(root, PurePath()) as folder:
        rename_new(folder, "a", folder, "b")
        (root / "c").write_text("c")
        with pytest.raises(FileExistsError):
            rename_new(folder, "c", folder, "b")
    assert (root / "b").read_text() == "a"
    assert (root / "c").read_text() == "c"
