"""Closed files with findings: when they are read, and who is told of what other programs did."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.findings import Finding
from agent_ls.loop.state.state import SessionState
from agent_ls.lsp.marks.closed_findings import ClosedFindings
from agent_ls.lsp.workspace.closed_files import ClosedFiles

FINDING = Finding(path="a.py", checker="ruff", message="m")


@dataclass
class Place:
    """Files on a disk, of which some are open, and what was told of them."""

    folder: Path
    open: set[str] = field(default_factory=set)
    states: list[SessionState] = field(default_factory=list)
    told: asyncio.Queue[tuple[str, list[str]] | None] = field(default_factory=asyncio.Queue)
    """What they say, and None when it was another text than before."""
    read: list[str] = field(default_factory=list)
    reading: asyncio.Event = field(default_factory=asyncio.Event)
    held: asyncio.Event | None = None
    """While it is not set, reading does not end."""

    def closed(self, paths: Iterable[str]) -> list[tuple[str, Path]]:
        return [(path, self.folder / path) for path in paths if path not in self.open]

    async def saved_lines(self, path: str) -> list[str]:
        self.read.append(path)
        self.reading.set()
        if self.held is not None:
            await self.held.wait()
        file = self.folder / path
        return file.read_text().splitlines() if file.exists() else []

    def write(self, path: str, text: str) -> None:
        (self.folder / path).write_text(text)

    def findings(self, *paths: str) -> ClosedFindings:
        self.states.append(
            SessionState(
                session_id="s", findings=MappingProxyType(dict.fromkeys(paths, (FINDING,)))
            )
        )
        return ClosedFindings(
            lambda: self.states,
            self,
            # To it everything that was ever written has settled.
            ClosedFiles(self.closed, pause_s=0, now_ns=lambda: time.time_ns() + 10**12),
            lambda uri, lines: self.told.put_nowait((Path(uri).name, lines)),
            lambda: self.told.put_nowait(None),
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    here = Place(tmp_path)
    here.write("a.py", "x")
    return here


async def check(place: Place, *expected: tuple[str, list[str]] | None) -> None:
    """The next things that are told are these."""
    async with asyncio.timeout(60):
        assert [await place.told.get() for _ in expected] == list(expected)
    assert place.told.empty()


async def test_a_change_on_the_disk_is_told_once(place: Place) -> None:
    place.open.add("open.py")
    findings = place.findings("a.py", "open.py")
    findings.look()
    await check(place, ("a.py", ["x"]))
    place.write("a.py", "zz")
    await check(place, ("a.py", ["zz"]), None)
    (place.folder / "a.py").unlink()
    await check(place, ("a.py", []), None)
    findings.close()


async def test_only_what_has_changed_is_read(place: Place) -> None:
    place.write("b.py", "y")
    findings = place.findings("a.py", "b.py")
    findings.look()
    await check(place, ("a.py", ["x"]), ("b.py", ["y"]))
    place.write("b.py", "zz")
    await check(place, ("a.py", ["x"]), ("b.py", ["zz"]), None)
    findings.look()
    await check(place, ("a.py", ["x"]), ("b.py", ["zz"]))
    assert place.read == ["a.py", "b.py", "b.py"]
    findings.close()


async def test_what_was_reported_of_is_told_anew(place: Place) -> None:
    findings = place.findings("a.py")
    findings.look()
    await check(place, ("a.py", ["x"]))
    reported = e.FindingsReported(paths=("a.py",), findings=(FINDING,))
    findings.on_event(e.StoredEvent(session_id="s", seq=1, at_ms=0, event=reported))
    await check(place, ("a.py", ["x"]))
    findings.close()


async def test_what_changed_before_a_look_that_was_cut_off_is_told_by_the_next(
    place: Place,
) -> None:
    findings = place.findings("a.py")
    findings.look()
    await check(place, ("a.py", ["x"]))
    place.held = asyncio.Event()
    place.reading.clear()
    place.write("a.py", "zz")
    async with asyncio.timeout(60):
        await place.reading.wait()
    findings.look()
    place.held.set()
    await check(place, ("a.py", ["zz"]), None)
    findings.close()


async def test_without_findings_nobody_looks(place: Place) -> None:
    before = asyncio.all_tasks()
    findings = place.findings("a.py")
    findings.look()
    await check(place, ("a.py", ["x"]))
    place.states.clear()
    findings.look()
    async with asyncio.timeout(60):
        while tasks := asyncio.all_tasks() - before:
            await asyncio.wait(tasks)
    assert place.told.empty()
