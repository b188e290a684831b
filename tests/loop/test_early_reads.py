"""Reads start while the model still streams; nothing else does, nor counts if the stream breaks.

What happened first is told by the order in one log, which the workspace and the journal share.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent_ls.assembly import open_sessions
from agent_ls.domain.edits import EditOutcome, FileEdit, TextFile
from agent_ls.domain.events import AttemptFinished, Ephemeral, StoredEvent, ToolCallFinished
from agent_ls.domain.modes import Mode
from agent_ls.loop.ports.workspace import Root
from agent_ls.session.session import Session
from agent_ls.settings import load_settings
from agent_ls.workspace.disk import DiskWorkspace
from tests.loop.conftest import Stage
from tests.support.scripted import scripted
from tests.support.turns import run_turn_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

_SLOW = "chunk = 1\nbetween_ms = 25\n"
"""What follows the call takes a second or so to stream."""
_READ = """
[[answer.call]]
tool = "read_file"
arguments = { path = "a.txt" }
"""
_WRITE = """
[[answer.call]]
tool = "write_file"
arguments = { path = "b.txt", content = "two, and quite a lot of it" }
"""
_DONE = '[[answer]]\ntext = "Done."\n'


class LoggingWorkspace(DiskWorkspace):
    """The disk, and a log of when it was read and changed."""

    def __init__(self, root: Path, log: list[str]) -> None:
        super().__init__((Root("project", root, is_trusted=True),))
        self._log = log
        self.has_read = asyncio.Event()
        self.holds_first = False

    async def read(self, path: str) -> TextFile:
        # Whoever runs a call looks at its file first, right before the tool does.
        # Files with instructions are looked for by reading; here are none.
        is_there = (self.roots[0].path / path).exists()
        if is_there and self._log[-1:] != [f"read {path}"]:
            self._log.append(f"read {path}")
        if path == "a.txt":
            self.has_read.set()
        if path == "a.txt" and self.holds_first:
            self.holds_first = False
            return await self.held(path)
        return await super().read(path)

    async def held(self, path: str) -> TextFile:
        """Read for as long as nobody breaks it off."""
        self._log.append(f"hold {path}")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self._log.append(f"drop {path}")
            raise
        raise AssertionError

    async def apply(self, edit: FileEdit) -> EditOutcome:
        self._log.append(f"change {edit.path}")
        return await super().apply(edit)


class Log:
    """Puts the ends of streams and of calls into the same log."""

    def __init__(self, log: list[str]) -> None:
        self._log = log

    def on_event(self, stored: StoredEvent) -> None:
        match stored.event:
            case AttemptFinished(failure=failure):
                self._log.append("stream broke" if failure else "stream ended")
            case ToolCallFinished(result=result):
                self._log.append(result.error or "result")
            case _:
                pass

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        """Nothing to tell."""


async def tighten(session: Session, workspace: LoggingWorkspace) -> None:
    """Let every call be asked about as soon as a file has been read."""
    await workspace.has_read.wait()
    await session.set_mode(Mode.ASK_ALL)


async def check(
    tmp_path: Path,
    stage: Stage,
    scenario: str,
    settings: str = "",
    *answers: str,
    holds_first: bool = False,
) -> list[str]:
    """Run a turn and return what happened, in order; the project's rules are read besides."""
    root = tmp_path.resolve() / "project"
    await asyncio.to_thread(root.mkdir)
    (root / "a.txt").write_text("one\n")
    (root / "other.txt").write_text("other\n")
    log: list[str] = []
    loaded = load_settings(
        command_line={
            "model": "openai/scripted",
            "mode": "auto",
            "store_url": str(tmp_path / "store.db"),
            "policies": {"transport": {"first_wait_s": 0.01}},
            "loop": {"early_reads": settings != "off"},
        },
        environment={},
    )
    async with scripted(scenario, port=stage.port):
        workspace = LoggingWorkspace(root, log)
        workspace.holds_first = holds_first
        sessions = await open_sessions(
            loaded.settings, workspace, is_attended=True, provider=stage.host
        )
        try:
            session = await sessions.create()
            session.follow(Log(log))
            async with asyncio.TaskGroup() as group:
                if answers:
                    group.create_task(tighten(session, workspace))
                await run_turn_of(session, "Do it.", answers)
        finally:
            await sessions.close()
    return [one for one in log if not one.endswith(("AGENTS.md", "CLAUDE.md"))]


async def test_a_read_starts_before_the_stream_has_ended(tmp_path: Path, stage: Stage) -> None:
    scenario = f"{_SLOW}[[answer]]{_READ}{_WRITE}{_DONE}"
    happened = await check(tmp_path, stage, scenario)
    # What was read early is the result: it is not read again for it.
    assert happened[:3] == ["read a.txt", "stream ended", "result"]


async def test_early_reads_can_be_switched_off(tmp_path: Path, stage: Stage) -> None:
    scenario = f"{_SLOW}[[answer]]{_READ}{_WRITE}{_DONE}"
    happened = await check(tmp_path, stage, scenario, "off")
    assert happened[0] == "stream ended"
    assert "read a.txt" in happened


async def test_a_write_waits_for_the_clean_end_of_the_stream(tmp_path: Path, stage: Stage) -> None:
    scenario = f"{_SLOW}[[answer]]{_WRITE}{_READ}{_DONE}"
    happened = await check(tmp_path, stage, scenario)
    assert happened.index("stream ended") < happened.index("change b.txt")


async def test_what_was_read_for_a_stream_that_then_breaks_does_not_count(
    tmp_path: Path, stage: Stage
) -> None:
    broken = "[[answer]]\ncut_after = 40"
    happened = await check(tmp_path, stage, f"{_SLOW}{broken}{_READ}{_WRITE}{_DONE}")
    assert happened == ["read a.txt", "stream broke", "stream ended"]


async def test_a_read_that_still_runs_when_its_stream_breaks_is_cancelled(
    tmp_path: Path, stage: Stage
) -> None:
    broken = "[[answer]]\ncut_after = 40"
    scenario = f"{_SLOW}{broken}{_READ}{_WRITE}{_DONE}"
    happened = await check(tmp_path, stage, scenario, holds_first=True)
    assert "hold a.txt" in happened
    assert happened.index("drop a.txt") < happened.index("stream ended")


async def test_an_early_read_is_not_the_result_of_a_call_that_was_changed_since(
    tmp_path: Path, stage: Stage
) -> None:
    scenario = f"{_SLOW}[[answer]]{_READ}{_WRITE}{_DONE}"
    happened = await check(
        tmp_path,
        stage,
        scenario,
        "",
        'amend: {"path": "other.txt"}',
        "allow_once",
        "allow_once",
    )
    assert happened[0] == "read a.txt"
    assert "read other.txt" in happened
