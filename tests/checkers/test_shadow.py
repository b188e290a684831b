"""A tree of links that looks like the disk with some texts changed, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import platformdirs
import pytest

from agent_ls.checkers.shadow import shadow_tree
from tests.checkers.projects import listing, write


def shadows() -> list[str]:
    place = platformdirs.user_cache_path("agent-ls") / "shadow"
    return sorted(path.name for path in place.iterdir()) if place.exists() else []


def check(root: Path, texts: dict[str, str | None], expected: dict[str, str | None]) -> None:
    """Assert what some paths hold in the shadow (None: not there), and that all is undone."""
    before, others = listing(root), shadows()
    with shadow_tree({root / name: text for name, text in texts.items()}) as shadow:
        inside = shadow.inside(root)
        for name, text in expected.items():
            path = inside / name
            assert (path.read_bytes().decode() if path.exists() else None) == text
    assert listing(root) == before
    assert shadows() == others


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, {"ws/a": "1", "ws/d/b": "2", "ws/d/e/c": "3", "above": "4"})
    (tmp_path / "ws" / "loop").symlink_to(tmp_path / "ws")
    return tmp_path.resolve() / "ws"


def test_changed_new_and_deleted_files_are_so_and_the_rest_is_as_it_was(root: Path) -> None:
    check(
        root,
        {"d/b": "two\r\n", "d/e/c": None, "new/deep/f": "", "é/\U0001f600": "x"},
        {"a": "1", "d/b": "two\r\n", "d/e/c": None, "new/deep/f": "", "é/\U0001f600": "x",
         "../above": "4", "loop/d/b": "2"},
    )  # fmt: skip


def test_a_failure_inside_leaves_nothing_behind(root: Path) -> None:
    others = shadows()
    with pytest.raises(ValueError, match="odd"), shadow_tree({root / "a": "x"}):
        raise ValueError("odd")
    assert shadows() == others


def test_what_a_dead_process_left_is_removed_and_a_living_ones_stays(root: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        dead.wait()
    place = platformdirs.user_cache_path("agent-ls") / "shadow"
    write(place, {f"{dead.pid}-left/x": "", f"{os.getpid()}-mine/x": "", "other/x": ""})
    (place / f"{dead.pid}-left" / "link").symlink_to(root)
    with shadow_tree({root / "a": "x"}):
        assert f"{dead.pid}-left" not in shadows()
        assert {f"{os.getpid()}-mine", "other"} <= set(shadows())
    assert (root / "a").read_text() == "1"
