"""Closed files with findings: when they are read, and who is told of what other programs did."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from types import MappingProxyType

from agent_ls.domain import events as e
from agent_ls.domain.findings import Finding
from agent_ls.loop.state import SessionState
from agent_ls.lsp.closed_files import ClosedFiles

FINDING = Finding(path="a.py", checker="ruff", message="m")


@dataclass
class Place:
    """Files on a disk, of which some are open, and what was told of them."""

    texts: dict[str, list[str]]
    open: set[str] = field(default_factory=set)
    states: list[SessionState] = field(default_factory=list)
    told: asyncio.Queue[tuple[str, list[str]] | None] = field(default_factory=asyncio.Queue)
    """What was read, and None when it was another text than before."""

    def open_uri(self, path: str) -> str | None:
        return f"u:{path}" if path in self.open else None

    def uri(self, path: str) -> str | None:
        return f"u:{path}"

    async def saved_lines(self, path: str) -> list[str]:
        return self.texts.get(path, [])

    def files(self, *paths: str) -> ClosedFiles:
        self.states.append(
            SessionState(
                session_id="s", findings=MappingProxyType(dict.fromkeys(paths, (FINDING,)))
            )
        )
        return ClosedFiles(
            lambda: self.states,
            self,
            lambda uri, lines: self.told.put_nowait((uri, lines)),
            lambda: self.told.put_nowait(None),
            pause_s=0,
        )


async def check(place: Place, *expected: tuple[str, list[str]] | None) -> None:
    """The next things that are told are these."""
    async with asyncio.timeout(20):
        assert [await place.told.get() for _ in expected] == list(expected)
    assert place.told.empty()


async def test_a_change_on_the_disk_is_told_once() -> None:
    place = Place({"a.py": ["x"], "open.py": ["y"]}, {"open.py"})
    files = place.files("a.py", "open.py")
    files.look()
    await check(place, ("u:a.py", ["x"]))
    place.texts["a.py"] = ["z"]
    await check(place, ("u:a.py", ["z"]), None)
    del place.texts["a.py"]
    await check(place, ("u:a.py", []), None)
    files.close()


async def test_what_was_reported_of_is_read_anew() -> None:
    place = Place({"a.py": ["x"]})
    files = place.files("a.py")
    files.look()
    await check(place, ("u:a.py", ["x"]))
    reported = e.FindingsReported(paths=("a.py",), findings=(FINDING,))
    files.on_event(e.StoredEvent(session_id="s", seq=1, at_ms=0, event=reported))
    await check(place, ("u:a.py", ["x"]))
    files.close()


async def test_without_findings_nobody_looks() -> None:
    place = Place({"a.py": ["x"]})
    files = place.files("a.py")
    files.look()
    await check(place, ("u:a.py", ["x"]))
    place.states.clear()
    # One look may be under way; after it there is none.
    for _ in range(10):
        await asyncio.sleep(0)
    place.texts["a.py"] = ["z"]
    for _ in range(10):
        await asyncio.sleep(0)
    assert place.told.empty()
