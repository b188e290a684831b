"""Files that somebody else may have put there are read only where that ends."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_ls.processes.reading import read_file


def test_an_ordinary_file_is_read_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one")
    (tmp_path / "b").symlink_to("a")
    assert read_file(tmp_path / "b", max_bytes=3) == b"one"
    with pytest.raises(OSError, match="larger than 2 bytes"):
        read_file(tmp_path / "b", max_bytes=2)


def test_what_would_never_end_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "link", "zero"):
        with pytest.raises(OSError, match="no ordinary file"):
            read_file(tmp_path / name)
    with pytest.raises(IsADirectoryError):
        read_file(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "none")


def test_a_file_that_says_it_is_empty_is_not_read_without_end() -> None:
    with pytest.raises(OSError, match="larger than 4 bytes"):
        read_file(Path("/proc/self/mounts"), max_bytes=4)
