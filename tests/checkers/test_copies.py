"""A copy of a folder that follows what changes, keeps what programs wrote, and goes in the end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import platformdirs
import pytest

from agent_ls.checkers.copies import FolderCopy
from agent_ls.workspace.ignore import walk
from tests.checkers.projects import Texts, listing, write

PROJECT = {
    ".gitignore": "made\n",
    "a.py": "1\n",
    "deep/er/b.py": "2\n",
    "deep/made/c.py": "3\n",
    "node_modules/dep/index.js": "4\n",
    "venv/bin/python": "5\n",
    ".git/config": "6\n",
    ".mypy_cache/state": "7\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "ws", PROJECT)
    return (tmp_path / "ws").resolve()


def check(kept: FolderCopy, texts: Texts, expected: Texts) -> Path:
    """Bring the kept up to date; assert what it holds, and that the folder stayed as it was."""
    before = listing(kept.folder)
    copy = kept.refresh(walk(kept.folder), texts)
    for name, text in expected.items():
        place = copy / name
        assert (place.read_bytes().decode() if place.exists() else None) == text, name
    assert listing(kept.folder) == before
    return copy


def test_it_holds_the_files_the_given_texts_and_links_to_installed_packages(folder: Path) -> None:
    kept = FolderCopy(folder)
    copy = check(
        kept,
        {"a.py": "one\r\n", "deep/er/b.py": None, "new/n.py": "n", "é/\U0001f600": "x"},
        {
            "a.py": "one\r\n", "deep/er/b.py": None, "new/n.py": "n", "é/\U0001f600": "x",
            "deep/made/c.py": "3\n", "node_modules/dep/index.js": "4\n", "venv/bin/python": "5\n",
            ".git/config": None, ".mypy_cache/state": None,
        },
    )  # fmt: skip
    linked = {str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_symlink()}
    assert linked == {"deep/made", "node_modules", "venv"}
    assert copy.name == "ws"


def test_it_follows_the_folder_and_the_texts(folder: Path) -> None:
    kept = FolderCopy(folder)
    first = check(kept, {"a.py": "one", "new": "x"}, {"a.py": "one", "new": "x"})
    (folder / "deep" / "er" / "b.py").write_text("two\n")
    (folder / "deep" / "made").rename(folder / "deep" / "kept")
    again = check(
        kept, {}, {"a.py": "1\n", "new": None, "deep/er/b.py": "two\n", "deep/kept/c.py": "3\n"}
    )
    assert again == first
    assert not (first / "deep" / "made").is_symlink()
    # What was a file is a folder, and the other way round.
    check(kept, {"a.py": None, "a.py/x": "1"}, {"a.py/x": "1"})
    check(kept, {}, {"a.py": "1\n", "a.py/x": None})


def test_a_text_that_is_another_again_is_newer_than_what_was_made_of_it(folder: Path) -> None:
    kept = FolderCopy(folder)
    copy = check(kept, {}, {"a.py": "1\n"})
    times = [(copy / "a.py").stat().st_mtime_ns]
    for text in ("one", None, "one", None):
        copy = kept.refresh(walk(folder), {} if text is None else {"a.py": text})
        times.append((copy / "a.py").stat().st_mtime_ns)
    assert times == sorted(times)
    assert len(set(times)) == len(times)


def test_what_stayed_the_same_is_left_alone_and_what_a_program_wrote_is_undone(
    folder: Path,
) -> None:
    kept = FolderCopy(folder)
    copy = check(kept, {"deep/er/b.py": "two"}, {})
    (copy / "state").write_text("what a program remembers")
    (copy / "a.py").write_text("mended by a program")
    before = (copy / "deep" / "er" / "b.py").stat()
    check(kept, {"deep/er/b.py": "two"}, {"a.py": "1\n", "state": "what a program remembers"})
    after = (copy / "deep" / "er" / "b.py").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_links_between_the_folders_own_packages_lead_into_the_copy(folder: Path) -> None:
    write(folder, {"packages/own/index.js": "own\n"})
    for name in ("own", "@scope/own"):
        link = folder / "node_modules" / name
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(folder / "packages" / "own")
    kept = FolderCopy(folder)
    for text in ("unsaved", "newer"):
        expected = dict.fromkeys(
            ("node_modules/own/index.js", "node_modules/@scope/own/index.js"), text
        )
        expected["node_modules/dep/index.js"] = "4\n"
        check(kept, {"packages/own/index.js": text}, expected)


def test_what_is_above_the_folder_is_found(folder: Path) -> None:
    write(folder.parent, {"shared.json": "{}", "node_modules/up/index.js": "", ".git/config": ""})
    check(
        FolderCopy(folder),
        {},
        {"../shared.json": "{}", "../node_modules/up/index.js": "", "../.git/config": None},
    )


def test_what_a_dead_process_left_is_removed_and_a_living_ones_stays(folder: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        dead.wait()
    place = platformdirs.user_cache_path("agent-ls") / "shadow"
    write(place, {f"{dead.pid}-left/x": "", f"{os.getpid()}-mine/x": "", "other/x": ""})
    (place / f"{dead.pid}-left" / "link").symlink_to(folder)
    kept = FolderCopy(folder)
    check(kept, {}, {"a.py": "1\n"})
    left = {path.name for path in place.iterdir()}
    assert f"{dead.pid}-left" not in left
    assert {f"{os.getpid()}-mine", "other"} <= left


def test_a_copy_that_was_swept_away_is_made_again(folder: Path) -> None:
    kept = FolderCopy(folder)
    copy = check(kept, {}, {"a.py": "1\n"})
    copy.rename(copy.with_name("elsewhere"))
    check(kept, {}, {"a.py": "1\n", "deep/er/b.py": "2\n"})
