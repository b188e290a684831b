"""The kept list of files is that of a new walk, whatever happens in the folder."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_ls.workspace.folder_events import FolderEvents
from agent_ls.workspace.kept_listing import KeptListing
from agent_ls.workspace.listing import FolderFiles, list_files

_NAMES = ("a.py", "b.log", "keep.log", ".ignore", ".gitignore", "c.tmp", ".env")
_FOLDERS = ("src", "logs", "build", "__pycache__", "sub", ".vscode")
_RULES = ("*.log\n!keep.log\n", "build/\n", "*.tmp\n", "sub/*\n", "")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    root = (tmp_path / "root").resolve()
    for folder in ("src/sub", "logs", "build", "empty/inner", "other"):
        (root / folder).mkdir(parents=True)
    for name in ("src/a.py", "src/sub/a.py", "logs/b.log", "build/out.o", "build/kept.txt"):
        (root / name).write_text("x\n")
    (root / ".gitignore").write_text("*.log\nbuild/\n")
    _git(root, "init", "-q")
    _git(root, "add", "-f", ".gitignore", "src", "build/kept.txt")
    return root


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def _kept(listing: KeptListing, root: Path) -> FolderFiles:
    found = listing.files([root])
    assert found is not None
    return found


def _nested(root: Path) -> None:
    _git(root / "src/sub", "init", "-q")
    (root / "src/sub/new.log").touch()


_CHANGES: dict[str, Callable[[Path], object]] = {
    "made": lambda at: (at / "src/new.py").touch(),
    "made in an empty folder": lambda at: (at / "empty/inner/a.py").touch(),
    "made beside ignored ones": lambda at: (at / "logs/a.py").touch(),
    "made and ignored": lambda at: (at / "src/new.log").touch(),
    "removed": lambda at: (at / "src/a.py").unlink(),
    "tracked and removed": lambda at: (at / "build/kept.txt").unlink(),
    "a folder is moved": lambda at: (at / "src").rename(at / "moved"),
    "a folder is swapped": lambda at: (
        (at / "src").rename(at / "tmp"),
        (at / "other").rename(at / "src"),
        (at / "tmp").rename(at / "other"),
        (at / "other/late.py").touch(),
    ),
    "a folder is removed and made again": lambda at: (
        shutil.rmtree(at / "src"),
        (at / "src/deep/er").mkdir(parents=True),
        (at / "src/deep/er/a.py").touch(),
    ),
    "a link takes a folder's place": lambda at: (
        (at / "src").rename(at / "moved"),
        (at / "src").symlink_to("moved"),
    ),
    "a rule comes": lambda at: (at / "src/.gitignore").write_text("sub/\n"),
    "a rule goes": lambda at: (at / ".gitignore").unlink(),
    "a rule outside of the folder": lambda at: (at / ".git/info/exclude").write_text("a.py\n"),
    "tracked now": lambda at: (
        _git(at, "add", "-f", "logs/b.log"),
        (at / "logs/c.log").touch(),
    ),
    "tracked no more": lambda at: _git(at, "rm", "-q", "--cached", "build/kept.txt"),
    "another repository inside": _nested,
    "temporary files": lambda at: (at / f".agent-ls-{'0' * 16}.tmp").touch(),
    "no text": lambda at: (at / "src" / "a\udce9.py").touch(),
    "a folder that cannot be read": lambda at: (at / "src").chmod(0),
    "many": lambda at: [(at / "src" / f"{number}.py").touch() for number in range(20_000)],
}


@pytest.mark.heavy
@pytest.mark.parametrize("change", _CHANGES.values(), ids=_CHANGES)
def test_each_change_is_in_the_list(root: Path, change: Callable[[Path], object]) -> None:
    listing = KeptListing(root)
    touched = listing.follow()
    before = _kept(listing, root)
    assert before == list_files(root, [root])
    assert touched.take() is None
    assert touched.take() == set()
    change(root)
    after = _kept(listing, root)
    assert after == list_files(root, [root])
    names = touched.take()
    if names is not None:
        gone = {*before.walked, *before.tracked}.symmetric_difference(
            (*after.walked, *after.tracked)
        )
        assert gone <= names
    if (root / "src").is_dir():
        (root / "src").chmod(0o755)
    assert _kept(listing, root) == list_files(root, [root])


def test_what_is_written_is_named_and_what_is_only_read_is_not(root: Path) -> None:
    listing = KeptListing(root)
    touched = listing.follow()
    _kept(listing, root)
    touched.take()
    (root / "src/a.py").read_text()
    assert listing.refresh([root])
    assert touched.take() == set()
    (root / "src/a.py").write_text("y\n")
    (root / "src/sub/a.py").chmod(0o600)
    assert listing.refresh([root])
    assert touched.take() == {"src/a.py", "src/sub/a.py"}
    assert listing.files([root], "src/sub") == list_files(root, [root], "src/sub")
    assert listing.files([root], "build") is None


@pytest.mark.parametrize("seed", range(6))
def test_any_changes_leave_the_same_list_as_a_new_walk(root: Path, seed: int) -> None:
    chance = random.Random(seed)
    listing = KeptListing(root)
    _kept(listing, root)
    for _ in range(25):
        for _ in range(chance.randint(1, 4)):
            _change(root, chance)
        assert _kept(listing, root) == list_files(root, [root])


def _change(root: Path, chance: random.Random) -> None:
    folders = [root, *(one for one in root.rglob("*") if one.is_dir() and ".git" not in one.parts)]
    at = chance.choice(folders)
    place = at / chance.choice(_NAMES)
    match chance.randint(0, 5):
        case 0 | 1 if not place.is_dir():
            place.write_text(chance.choice(_RULES))
        case 2:
            (at / chance.choice(_FOLDERS)).mkdir(exist_ok=True)
        case 3 if at != root:
            goal = chance.choice(folders) / chance.choice(_FOLDERS)
            if not goal.exists() and not goal.is_relative_to(at):
                at.rename(goal)
        case 4 if at != root:
            shutil.rmtree(at)
        case _:
            place.unlink(missing_ok=True)


def test_a_folder_on_a_disk_that_others_may_change_is_not_relied_on() -> None:
    with pytest.raises(OSError, match="other machines"):
        FolderEvents("/proc/self")
