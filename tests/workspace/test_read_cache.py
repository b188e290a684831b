"""Texts that were read before: when they are used again, and when the disk is asked anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_ls.domain.edits import ChangeText, Replacement, TextFile
from agent_ls.domain.errors import WorkspaceError
from agent_ls.loop.ports.workspace import Root
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.read_cache import ReadCache, Signature

NOW_NS = 1_000_000_000_000
OLD = Signature(1, 2, 3, 4, 5)
A, B, C = (Path(f"/{name}") for name in "abc")


@pytest.fixture(autouse=True)
def _now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_ls.workspace.read_cache.time_ns", lambda: NOW_NS)


def text(length: int = 3) -> TextFile:
    return TextFile(path="a", text="x" * length, version="1")


def test_a_file_that_is_as_it_was_is_not_read_again() -> None:
    made = ReadCache()
    made.put(A, OLD, text())
    assert made.get(A, OLD) == text()
    for field in range(5):
        values = [1, 2, 3, 4, 5]
        values[field] += 1
        assert made.get(A, Signature(*values)) is None


def test_a_file_that_has_just_changed_is_not_kept() -> None:
    made, new = ReadCache(), Signature(1, 2, 3, NOW_NS - 10**9, 5)
    made.put(A, new, text())
    assert made.get(A, new) is None


def test_the_texts_used_last_are_kept_and_none_that_is_too_large() -> None:
    made = ReadCache(max_bytes=40)
    for place in (A, B):
        made.put(place, OLD, text(10))
    assert made.get(A, OLD) == text(10)
    for place in (C, B):
        made.put(place, OLD, text(10 if place is C else 21))
    assert made.get(B, OLD) is None
    assert made.get(A, OLD) == text(10)
    assert made.get(C, OLD) == text(10)


class Counted(ReadCache):
    """Counts what was found, in a time in which every file is old."""

    hits = 0

    def get(self, place: Path, signature: Signature) -> TextFile | None:
        found = super().get(place, signature)
        self.hits += found is not None
        return found


async def test_agents_of_one_workspace_share_what_was_read_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_ls.workspace.read_cache.time_ns", lambda: 2**62)
    counted = Counted()
    workspace = DiskWorkspace((Root("proj", tmp_path.resolve(), is_trusted=True),), counted)
    (tmp_path / "a.txt").write_text("one")
    first = await workspace.read("a.txt")
    assert await workspace.read("a.txt") == first
    assert counted.hits == 1
    edit = ChangeText(
        path="a.txt",
        base_version=first.version,
        replacements=(Replacement(start=0, end=3, text="two"),),
    )
    assert (await workspace.apply(edit)).status == "applied"
    assert (await workspace.read("a.txt")).text == "two"
    assert counted.hits == 1


def settled(path: Path, content: str, *, age_s: int = 10) -> None:
    """Write a file that has not changed for a while, as far as its times say."""
    path.write_text(content)
    at_ns = path.stat().st_mtime_ns - age_s * 10**9
    os.utime(path, ns=(at_ns, at_ns))


async def test_a_reader_never_sees_an_older_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    workspace = DiskWorkspace((Root("proj", tmp_path.resolve(), is_trusted=True),))
    file = tmp_path / "a.txt"
    for content in ("one", "two", "six"):
        # The same size, and times that were set back: what a careless tool leaves behind.
        settled(file, content)
        assert (await workspace.read("a.txt")).text == content
        assert (await workspace.read("./a.txt")).path == "./a.txt"
    file.unlink()
    with pytest.raises(WorkspaceError):
        await workspace.read("a.txt")
