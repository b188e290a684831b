"""The calls of one answer beside each other, and what a stop leaves of them to its turn."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.approvals import ApprovalAnswer, ApprovalChoice
from agent_ls.domain.calls import Effect
from agent_ls.domain.edits import EditOutcome, FileEdit
from agent_ls.loop.extension_points import CommandWatch
from agent_ls.loop.ports.approval import Approver
from agent_ls.loop.ports.commands import CommandChange, CommandMark
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.services import Services
from agent_ls.loop.state.recorder import Recorder
from agent_ls.session.session import BuildKit, Session
from agent_ls.session.sessions import Sessions
from tests.loop.conftest import Stage
from tests.support.turns import TURN_LIMIT_S

pytestmark = pytest.mark.asyncio(loop_scope="session")


class Watch:
    """Sees the events, and lets a test wait for one."""

    def __init__(self, session: Session) -> None:
        self.events: list[e.Event] = []
        self._news = asyncio.Event()
        session.follow(self)

    def on_event(self, stored: e.StoredEvent) -> None:
        self.events.append(stored.event)
        self._news.set()

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        pass

    async def until(self, is_there: Callable[[e.Event], bool]) -> None:
        async with asyncio.timeout(TURN_LIMIT_S):
            while not any(map(is_there, self.events)):
                self._news.clear()
                await self._news.wait()

    def of(self, kind: type[e.Event]) -> list[e.Event]:
        return [one for one in self.events if isinstance(one, kind)]


def call(tool: str, arguments: str) -> str:
    return f'[[answer.call]]\ntool = "{tool}"\narguments = {arguments}\n'


async def test_calls_that_wait_for_a_yes_do_not_hold_up_a_read_and_never_run_more_than_may(
    tmp_path: Path, stage: Stage
) -> None:
    """Two writes wait for one yes while there is one place: the read has it, and then they."""
    (tmp_path / "r.txt").write_text("R\n")
    scenario = "[[answer]]\n"
    scenario += "".join(
        call("write_file", f'{{ path = "{name}.txt", content = "x" }}') for name in "ab"
    )
    scenario += call("read_file", '{ path = "r.txt" }') + '[[answer]]\ntext = "Done."\n'
    settings = "loop = { max_parallel_calls = 1, early_reads = false }"
    async with stage.opened(tmp_path, scenario, settings_toml=settings) as sessions:
        session = await sessions.create()
        watch = Watch(session)
        await session.submit("Begin.")
        await watch.until(lambda event: isinstance(event, e.ToolCallFinished))
        [finished] = watch.of(e.ToolCallFinished)
        assert isinstance(finished, e.ToolCallFinished)
        assert finished.effect is Effect.READ
        assert watch.of(e.ApprovalResolved) == []
        await watch.until(lambda event: isinstance(event, e.ApprovalRequested))
        yes = ApprovalAnswer(choice=ApprovalChoice.ALLOW_ONCE, by="test")
        assert await session.resolve_approval(None, yes)
        await session.wait_idle()
        running, most = 0, 0
        for event in watch.events:
            running += isinstance(event, e.ToolCallStarted) - isinstance(event, e.ToolCallFinished)
            most = max(most, running)
        assert most == 1


@dataclasses.dataclass
class SlowWorkspace:
    """The workspace, where an edit takes until the test says so."""

    inner: Workspace
    begun: asyncio.Event
    goes_on: asyncio.Event

    async def apply(self, edit: FileEdit) -> EditOutcome:
        self.begun.set()
        await self.goes_on.wait()
        return await self.inner.apply(edit)

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


@dataclasses.dataclass
class SlowWatch:
    """The look at the files after a command, which takes until the test says so."""

    inner: CommandWatch
    begun: asyncio.Event
    goes_on: asyncio.Event

    async def changes(self, mark: CommandMark) -> list[CommandChange]:
        self.begun.set()
        await self.goes_on.wait()
        return list(await self.inner.changes(mark))

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


def slowed(sessions: Sessions, part: str, begun: asyncio.Event, goes_on: asyncio.Event) -> None:
    """Put the slow part in front of the real one."""
    builder = sessions._kit_builder
    slow = {"workspace": SlowWorkspace, "watch": SlowWatch}[part]

    def changed() -> BuildKit:
        built = builder()

        def build(approver: Approver, recorder: Recorder) -> Services:
            services = built(approver, recorder)
            return dataclasses.replace(
                services, **{part: slow(getattr(services, part), begun, goes_on)}
            )

        return build

    sessions._kit_builder = changed


async def test_what_a_command_changed_is_waited_for_when_the_turn_is_stopped(
    tmp_path: Path, stage: Stage
) -> None:
    """Also when it is stopped twice."""
    scenario = "[[answer]]\n" + call("run_command", '{ command = "echo made > made.txt" }')
    begun, goes_on = asyncio.Event(), asyncio.Event()
    settings = 'mode = "auto"\nloop.cancel_grace_s = 0.01\n'
    async with stage.opened(tmp_path, scenario, settings_toml=settings) as sessions:
        slowed(sessions, "watch", begun, goes_on)
        session = await sessions.create()
        watch = Watch(session)
        await session.submit("Begin.")
        async with asyncio.timeout(TURN_LIMIT_S):
            await begun.wait()
        assert await session.cancel("test")
        await asyncio.wait([asyncio.ensure_future(session.wait_idle())], timeout=0.1)
        assert session.state.is_running
        assert await session.cancel("again")
        goes_on.set()
        await session.wait_idle()
        kinds = [type(one) for one in watch.events]
        assert kinds.index(e.CommandChanged) < kinds.index(e.TurnEnded)
