"""One conversation: takes prompts, runs its turns one after the other, takes decisions.

Owns the running task and nothing else: what happened is the recorder's, who decides is in
``approvals``, what the loop does is the loop's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Literal

from agent_ls.domain.approvals import ApprovalAnswer, QuestionAnswer
from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.events import (
    Anchor,
    CancelRequested,
    ModeChanged,
    ModelChanged,
    PolicySilenced,
    PromptQueued,
    StoredEvent,
    TurnEnded,
    TurnStarted,
    WrapUpRequested,
)
from agent_ls.domain.goals import Goal
from agent_ls.domain.modes import Mode
from agent_ls.domain.stops import StopReason
from agent_ls.loop.kit import Kit
from agent_ls.loop.machine import run_turn
from agent_ls.loop.output_schema import Schema
from agent_ls.loop.ports import Approver, Reader
from agent_ls.loop.recorder import Recorder
from agent_ls.loop.state import SessionState
from agent_ls.loop.turn import Turn
from agent_ls.session.approvals import Approvals
from agent_ls.session.review import Review

_log = logging.getLogger(__name__)

BuildKit = Callable[[Approver, Recorder], Kit]


class Session:
    """One open session."""

    def __init__(self, recorder: Recorder, build_kit: BuildKit, *, is_attended: bool) -> None:
        """Take the journal's recorder and what builds the parts around this session's approver."""
        self._recorder = recorder
        self._approvals = Approvals(recorder, is_attended=is_attended)
        self._kit = build_kit(self._approvals, recorder)
        self.review = Review(
            recorder,
            workspace=self._kit.workspace,
            store=self._kit.store,
            ids=self._kit.ids,
            order=self._kit.order,
        )
        self._task: asyncio.Task[TurnEnded | None] | None = None
        self._ended: TurnEnded | None = None
        self._is_closing = False

    @property
    def id(self) -> str:
        """Return the session's id."""
        return self._recorder.session_id

    @property
    def state(self) -> SessionState:
        """Return what the journal adds up to now."""
        return self._recorder.state

    @property
    def is_busy(self) -> bool:
        """Say whether a turn runs, or one is about to begin with what was said for afterwards."""
        is_at_work = self._task is not None and not self._task.done()
        return self.state.is_running or (is_at_work and bool(self.state.queue))

    def follow(self, reader: Reader) -> None:
        """Show every later event to ``reader``."""
        self._recorder.follow(reader)

    async def journal(self) -> list[StoredEvent]:
        """Return every event so far, in order, those that are still being written too."""
        stored = await self._kit.store.load(self.id)
        last = stored[-1].seq if stored else 0
        turn = self.state.turn
        return [*stored, *(one for one in turn.events if one.seq > last)] if turn else stored

    async def submit(
        self,
        prompt: str,
        *,
        anchor: Anchor | None = None,
        goal: Goal | None = None,
        output_schema: Schema | None = None,
        when_busy: Literal["steer", "follow_up"] = "steer",
    ) -> str:
        """Start a turn and return its id at once; while one runs, queue for it or after it.

        With a ``goal`` the prompt is further words to it and may be empty; what steers is words.
        With an ``output_schema`` the turn's output is JSON that fits it.

        Errors: ``StoreError`` when the prompt cannot be stored, ``AgentLsError`` when it is empty.
        """
        if goal is not None:
            prompt = goal.as_prompt(prompt)
        if not prompt.strip():
            raise AgentLsError("The prompt is empty: say what to do.")
        running = self.state.turn
        if self.state.is_running and running is not None:
            queued = PromptQueued(text=prompt, kind=when_busy)
            if when_busy == "follow_up":
                more = {"anchor": anchor, "goal": goal, "output_schema": output_schema}
                queued = queued.model_copy(update=more)
            await self._recorder.emit(queued)
            # A turn that a dead process left open goes on with these words.
            self.resume()
            return running.turn_id
        return await self._start(prompt, anchor, goal, output_schema)

    async def _start(
        self,
        prompt: str,
        anchor: Anchor | None = None,
        goal: Goal | None = None,
        output_schema: Schema | None = None,
    ) -> str:
        turn_id = self._kit.ids.new("trn")
        await self._recorder.emit(
            TurnStarted(
                turn_id=turn_id,
                prompt=prompt,
                anchor=anchor,
                goal=goal,
                output_schema=output_schema,
            )
        )
        self._run()
        return turn_id

    def _run(self) -> None:
        """Run the turn that the state says is open, in a task of the session's own."""
        self._task = asyncio.create_task(self._walk(), name=f"turn of {self.id}")

    async def _walk(self) -> TurnEnded:
        ended = await run_turn(Turn(self._kit, self._recorder))
        self._ended = ended
        if ended.stop is not StopReason.CANCELLED:
            await self._next_in_queue()
        return ended

    async def _next_in_queue(self) -> None:
        """Begin the next turn with what the person said for after this one."""
        if self.state.is_running or self._is_closing:
            return
        for queued in self.state.queue:
            await self._start(queued.text, queued.anchor, queued.goal, queued.output_schema)
            return

    def resume(self) -> bool:
        """Go on with a turn that was cut off, or with what waited for its end.

        False when there is neither, or it already runs.
        """
        if self._task is not None and not self._task.done():
            return False
        if self.state.is_running:
            self._run()
            return True
        if self.state.queue:
            # The process died between the end of a turn and the next one's beginning.
            self._task = asyncio.create_task(self._begin_queued(), name=f"queue of {self.id}")
            return True
        return False

    async def _begin_queued(self) -> TurnEnded | None:
        await self._next_in_queue()
        return self._ended

    async def cancel(self, by: str) -> bool:
        """Stop the running turn; False when none runs."""
        if not self.state.is_running:
            return False
        await self._recorder.emit(CancelRequested(by=by))
        if self.resume():
            # It had no task any more; it goes on only to end.
            return True
        # One that has just begun must come as far as where it can be cancelled in order.
        await asyncio.sleep(0)
        if self._task is not None:
            self._task.cancel()
        return True

    async def wrap_up(self, by: str, text: str = "") -> bool:
        """Let the running turn come to an end in good order; False when none runs.

        ``text`` says what its last answer should hold.
        """
        if not self.state.is_running:
            return False
        await self._recorder.emit(WrapUpRequested(by=by, text=text))
        return True

    async def resolve_approval(self, approval_id: str | None, answer: ApprovalAnswer) -> bool:
        """Settle one approval, the oldest when no id is given; False when it is settled."""
        return self._approvals.resolve_approval(approval_id, answer)

    async def resolve_question(self, question_id: str | None, answer: QuestionAnswer) -> bool:
        """Settle one question, the oldest when no id is given; False when it is settled."""
        return self._approvals.resolve_question(question_id, answer)

    async def set_mode(self, mode: Mode) -> None:
        """Switch the permission mode, from the next decision on."""
        if mode is not self.state.mode:
            await self._recorder.emit(ModeChanged(mode=mode))

    async def set_model(self, model: str) -> None:
        """Switch the model, from the next request on."""
        if model != self.state.model:
            await self._recorder.emit(ModelChanged(model=model))

    async def silence(self, origin: str) -> None:
        """Tell one policy to leave this session alone."""
        if origin not in self.state.silenced:
            await self._recorder.emit(PolicySilenced(origin=origin))

    async def wait_idle(self) -> TurnEnded | None:
        """Wait until no turn runs and return how the last one of this process ended.

        Errors: what broke the turn without an end, ``StoreError`` above all.
        """
        while (task := self._task) is not None:
            await asyncio.shield(task)
            if self._task is task:
                break
        return self._ended

    async def close(self, by: str = "shutdown") -> None:
        """Stop what runs and wait until it has ended."""
        self._is_closing = True
        await self.cancel(by)
        while (task := self._task) is not None:
            await asyncio.gather(task, return_exceptions=True)
            if self._task is task:
                break
        await self.review.close()
