"""Closed files: when one counts as changed, and who is told of it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent_ls.lsp.workspace.closed_files import ClosedFiles, Stamp


class Watched(ClosedFiles):
    """Tells of each look."""

    def __init__(self, places: Callable[[Iterable[str]], list[tuple[str, Path]]]) -> None:
        super().__init__(places, pause_s=0)
        self.looks: asyncio.Queue[None] = asyncio.Queue()

    async def _looked_at(self, places: Collection[Path]) -> dict[Path, Stamp]:
        self.looks.put_nowait(None)
        return await super()._looked_at(places)


@dataclass
class Place:
    """A folder with a file that somebody follows."""

    folder: Path
    told: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.file.write_text("one")
        self.files = Watched(self.closed)

    @property
    def file(self) -> Path:
        return self.folder / "a.py"

    def closed(self, paths: Iterable[str]) -> list[tuple[str, Path]]:
        return [(path, self.folder / path) for path in paths if not path.startswith("open")]

    async def looked(self) -> None:
        """Wait until a second look begins, so that what the first one finds has been told."""
        while not self.files.looks.empty():
            self.files.looks.get_nowait()
        async with asyncio.timeout(60):
            for _ in range(2):
                await self.files.looks.get()


def _again(file: Path) -> None:
    file.write_text("one")


def _replaced_by_one_like_it(file: Path) -> None:
    facts, other = file.stat(), file.with_name("other")
    other.write_text("two")
    os.utime(other, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    other.rename(file)


@pytest.mark.parametrize(
    "do",
    [
        pytest.param(lambda file: file.write_text("longer"), id="longer"),
        pytest.param(_again, id="written-again"),
        pytest.param(_replaced_by_one_like_it, id="replaced-by-one-of-its-size-and-time"),
        pytest.param(Path.unlink, id="deleted"),
    ],
)
async def test_a_change_is_told_and_nothing_else(
    tmp_path: Path, do: Callable[[Path], object]
) -> None:
    here = Place(tmp_path)
    files = here.files
    files.follow(here.told.set, await files.stamps(["a.py"]))
    await here.looked()
    assert not here.told.is_set()
    do(here.file)
    async with asyncio.timeout(60):
        await here.told.wait()
    files.follow(here.told.set, await files.stamps(["a.py"]))
    here.told.clear()
    await here.looked()
    assert not here.told.is_set()
    files.follow(here.told.set, {})


async def test_each_is_told_of_its_own_files(tmp_path: Path) -> None:
    here, other = Place(tmp_path), asyncio.Event()
    (tmp_path / "b.py").touch()
    files = here.files
    files.follow(here.told.set, await files.stamps(["a.py"]))
    files.follow(other.set, await files.stamps(["b.py"]))
    (tmp_path / "b.py").write_text("longer")
    async with asyncio.timeout(60):
        await other.wait()
    assert not here.told.is_set()
    files.follow(here.told.set, {})
    files.follow(other.set, {})


async def test_nothing_is_looked_at_while_nobody_follows_anything(tmp_path: Path) -> None:
    here = Place(tmp_path)
    files, before = here.files, asyncio.all_tasks()
    files.follow(here.told.set, await files.stamps(["open.py"]))
    assert asyncio.all_tasks() == before
    files.follow(here.told.set, await files.stamps(["a.py"]))
    await here.looked()
    [watching] = asyncio.all_tasks() - before
    files.follow(here.told.set, {})
    async with asyncio.timeout(60):
        await asyncio.wait([watching])
    files.follow(here.told.set, {})
    assert asyncio.all_tasks() == before
