"""The single task of a session that runs turns, while one is open or a prompt is queued.

Nothing else calls ``run_turn`` for the session, so no turn ever has two machines. Callers emit an
event and wake the runner, which reads from the state what to do.
"""

from __future__ import annotations

import asyncio
import contextlib

from agent_ls.domain.errors import ProviderError, StoreError
from agent_ls.domain.events import CancelRequested, PromptQueued, TurnEnded, TurnStarted
from agent_ls.domain.stops import STATUS, StopReason
from agent_ls.loop.machine.compact import compact_as_asked
from agent_ls.loop.machine.machine import run_turn
from agent_ls.loop.services import Services
from agent_ls.loop.state.recorder import Recorder
from agent_ls.loop.state.state import SessionState
from agent_ls.loop.turn import Turn


class TurnRunner:
    """Runs the turns of one session, one after the other."""

    def __init__(self, services: Services, recorder: Recorder) -> None:
        """Nothing runs before ``wake``."""
        self._services = services
        self._recorder = recorder
        self._task: asyncio.Task[None] | None = None
        self._turn: asyncio.Task[TurnEnded | None] | None = None
        self._compaction: asyncio.Task[None] | None = None
        """One that runs between two turns."""
        self._running: Turn | None = None
        self._storing: asyncio.Future[None] | None = None
        """Done when it is known whether the newest turn's start is stored."""
        self._ended: TurnEnded | None = None
        self.is_closed = False
        self._is_left = False

    @property
    def is_at_work(self) -> bool:
        """Say whether the runner works; otherwise an open turn was interrupted."""
        return self._is_running or self._is_storing

    @property
    def has_ended_turn(self) -> bool:
        """Say whether a turn has ended in this process."""
        return self._ended is not None

    async def begin(self, prompt: PromptQueued) -> str:
        """Start a turn and return its id; ``wake`` runs it.

        Errors: ``StoreError`` when it cannot be stored; the turn is then ended and never runs.
        """
        turn_id = self._services.ids.new("trn")
        stored = self._storing = asyncio.get_running_loop().create_future()
        try:
            await self._recorder.emit(
                TurnStarted(
                    turn_id=turn_id,
                    prompt=prompt.text,
                    anchor=prompt.anchor,
                    goal=prompt.goal,
                    output_schema=prompt.output_schema,
                    focus=prompt.focus,
                    limits=prompt.limits,
                    images=prompt.images,
                    attachments=prompt.attachments,
                )
            )
        except StoreError as error:
            await self._take_back(turn_id, str(error))
            raise
        finally:
            stored.set_result(None)
        return turn_id

    def wake(self) -> bool:
        """Start the worker if there is work and none runs; say whether it was started."""
        if self._is_running or not self._has_work:
            return False
        self._task = asyncio.create_task(self._work(), name=f"turns of {self._recorder.session_id}")
        return True

    def interrupt(self) -> None:
        """Cancel the running turn or compaction; one that has not started sees it in the state."""
        if self._turn is not None:
            self._turn.cancel()
        if self._compaction is not None:
            self._compaction.cancel()

    def leave_open(self) -> None:
        """Break off the running turn without ending it, so that another process can resume it.

        A cancelled turn still ends.
        """
        self.is_closed = True
        turn = self._state.turn
        if turn is None or turn.ended is not None or turn.events.of(CancelRequested):
            return
        self._is_left = True
        if self._running is not None:
            self._running.is_left = True
        self.interrupt()

    async def wait(self) -> TurnEnded | None:
        """Wait until no work is left; return how this process's last turn ended.

        Errors: an exception that broke a turn, ``StoreError`` above all.
        """
        while (task := self._task) is not None:
            await asyncio.shield(task)
            if self._task is task:
                break
        return self._ended

    async def close(self) -> None:
        """Wait until the running turn has ended; no other turn starts."""
        self.is_closed = True
        if self._compaction is not None:
            # Nobody waits for it any more.
            self._compaction.cancel()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def _state(self) -> SessionState:
        return self._recorder.state

    @property
    def _is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    @property
    def _is_storing(self) -> bool:
        return self._storing is not None and not self._storing.done()

    @property
    def _has_work(self) -> bool:
        if self._is_left:
            return False
        waits = bool(self._state.queue) or self._state.is_compaction_asked
        return self._state.is_running or (waits and not self.is_closed)

    async def _work(self) -> None:
        while self._has_work:
            if self._storing is not None and self._is_storing:
                await asyncio.wait([self._storing])
            elif self._state.is_running:
                await self._run()
            elif self._state.is_compaction_asked:
                await self._compact()
            else:
                await self.begin(self._state.queue[0])

    async def _run(self) -> None:
        """Run the open turn to its end."""
        running = self._running = Turn(self._services, self._recorder)
        turn = self._turn = asyncio.create_task(run_turn(running))
        try:
            await asyncio.wait([turn])
        finally:
            self._turn = self._running = None
        # A task cancelled before its first step has not ended its turn; the worker runs it again.
        if not turn.cancelled():
            self._ended = turn.result() or self._ended

    async def _compact(self) -> None:
        """Shorten the conversation between two turns, unless a stop or the end interrupts it."""
        compaction = self._compaction = asyncio.create_task(self._shorten())
        try:
            await asyncio.wait([compaction])
        finally:
            self._compaction = None
        if not compaction.cancelled():
            compaction.result()

    async def _shorten(self) -> None:
        turn = Turn(self._services, self._recorder)
        # Without the window's size it goes by the conversation's.
        with contextlib.suppress(ProviderError):
            await turn.learn_facts()
        await compact_as_asked(turn)

    async def _take_back(self, turn_id: str, why: str) -> None:
        """End a turn whose start could not be stored; the store may take both events later."""
        turn = self._state.turn
        if turn is None or turn.turn_id != turn_id or turn.ended is not None:
            return
        stop = StopReason.ERROR
        with contextlib.suppress(StoreError):
            await self._recorder.emit(
                TurnEnded(
                    turn_id=turn_id, stop=stop, status=STATUS[stop], output="", failure_reason=why
                )
            )
