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


class Time:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic_s(self) -> float:
        return self.seconds


def cache(**options: float) -> tuple[ReadCache, Time]:
    clock = Time()
    made = ReadCache(now_ns=lambda: NOW_NS, monotonic_s=clock.monotonic_s, **options)  # type: ignore[arg-type]
    return made, clock


def text(length: int = 3) -> TextFile:
    return TextFile(path="a", text="x" * length, version="1")


def check(found: TextFile | None, expected: TextFile | None) -> None:
    """Assert what the cache gives."""
    assert found == expected


def test_a_file_that_is_as_it_was_is_not_read_again() -> None:
    made, _ = cache()
    made.put(A, OLD, text())
    check(made.get(A, OLD), text())


@pytest.mark.parametrize("field", range(5))
def test_whatever_changes_about_the_file_makes_it_read_again(field: int) -> None:
    made, _ = cache()
    made.put(A, OLD, text())
    values = [1, 2, 3, 4, 5]
    values[field] += 1
    check(made.get(A, Signature(*values)), None)
    check(made.get(A, OLD), None)


def test_a_text_is_kept_for_five_minutes() -> None:
    made, clock = cache()
    made.put(A, OLD, text())
    clock.seconds = 300.0
    check(made.get(A, OLD), text())
    clock.seconds = 300.1
    check(made.get(A, OLD), None)


def test_a_file_that_has_just_changed_is_not_kept() -> None:
    made, _ = cache()
    made.put(A, Signature(1, 2, 3, NOW_NS - 10**9, 5), text())
    check(made.get(A, Signature(1, 2, 3, NOW_NS - 10**9, 5)), None)


def test_the_texts_used_last_are_kept() -> None:
    made, _ = cache(max_bytes=40)
    for place in (A, B):
        made.put(place, OLD, text(10))
    check(made.get(A, OLD), text(10))
    made.put(C, OLD, text(10))
    check(made.get(B, OLD), None)
    check(made.get(A, OLD), text(10))
    check(made.get(C, OLD), text(10))


def test_a_text_that_is_too_large_pushes_nothing_out() -> None:
    made, _ = cache(max_bytes=40)
    made.put(A, OLD, text(10))
    made.put(B, OLD, text(21))
    check(made.get(B, OLD), None)
    check(made.get(A, OLD), text(10))


def test_the_cache_can_be_emptied() -> None:
    made, _ = cache()
    made.put(A, OLD, text())
    made.clear()
    check(made.get(A, OLD), None)


class Counted(ReadCache):
    """Counts what was found, in a time in which every file is old."""

    def __init__(self) -> None:
        super().__init__(now_ns=lambda: 2**62)
        self.hits = 0

    def get(self, place: Path, signature: Signature) -> TextFile | None:
        found = super().get(place, signature)
        self.hits += found is not None
        return found


async def test_agents_of_one_workspace_share_what_was_read_until_it_changes(tmp_path: Path) -> None:
    counted = Counted()
    workspace = DiskWorkspace((Root("proj", tmp_path.resolve(), is_trusted=True),), counted)
    (tmp_path / "a.txt").write_text("one")
    first = await workspace.read("a.txt")
    check(await workspace.read("a.txt"), first)
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


async def test_a_reader_never_sees_an_older_text(tmp_path: Path) -> None:
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
