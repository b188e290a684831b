"""One conversation: takes prompts, runs its turns one after the other, takes decisions.

Owns what may be asked of it and nothing else: what happened is the recorder's, what runs is the
runner's, who decides is in ``approvals``, what the loop does is the loop's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
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
    WrapUpRequested,
)
from agent_ls.domain.focus import Focus
from agent_ls.domain.goals import Goal
from agent_ls.domain.modes import Mode
from agent_ls.loop.evidence.output_schema import Schema
from agent_ls.loop.kit import Kit
from agent_ls.loop.ports.people import Approver
from agent_ls.loop.ports.reader import Reader
from agent_ls.loop.ports.store import Journals
from agent_ls.loop.state.recorder import Recorder
from agent_ls.loop.state.state import SessionState
from agent_ls.review.review import Review
from agent_ls.session.approvals import Approvals
from agent_ls.session.turn_runner import TurnRunner

BuildKit = Callable[[Approver, Recorder], Kit]


class Session:
    """One open session."""

    def __init__(
        self,
        recorder: Recorder,
        journals: Journals,
        build_kit: BuildKit,
        *,
        is_attended: bool,
        claim: Callable[[], Awaitable[None]],
        claimed: Callable[[], AbstractAsyncContextManager[None]],
    ) -> None:
        """Take the journal's recorder and what builds the parts around this session's approver.

        ``claim`` makes sure that nobody else writes what was only looked at, or raises; ``claimed``
        does so for a while.
        """
        self._recorder, self._journals = recorder, journals
        self._approvals = Approvals(recorder, is_attended=is_attended)
        self._kit = build_kit(self._approvals, recorder)
        self.review = Review(
            recorder,
            workspace=self._kit.workspace,
            journals=journals,
            blobs=self._kit.blobs,
            ids=self._kit.ids,
            order=self._kit.order,
            watch=self._kit.watch,
            claim=claim,
            claimed=claimed,
        )
        self._runner = TurnRunner(self._kit, recorder)

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
        return self.state.is_running or (self._runner.is_at_work and bool(self.state.queue))

    @property
    def is_cut_off(self) -> bool:
        """Say whether a dead process left something to do, and nobody said yet that it goes on."""
        has_work = self.state.is_running or bool(self.state.queue)
        return has_work and not self._runner.is_at_work

    @property
    def is_closed(self) -> bool:
        """Say whether it takes nothing any more; opened again it goes on from what is stored."""
        return self._runner.is_closed or self._recorder.is_halted

    def follow(self, reader: Reader) -> None:
        """Show every later event to ``reader``."""
        self._recorder.follow(reader)

    async def journal(self) -> list[StoredEvent]:
        """Return every event so far, in order, those that are still being written too."""
        stored = await self._journals.load(self.id)
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
        focus: Focus | None = None,
        when_busy: Literal["steer", "follow_up"] = "steer",
    ) -> str:
        """Start a turn and return its id at once; while one runs, queue for it or after it.

        A turn that was cut off goes on with words that steer it; a prompt for afterwards ends it.
        With a ``goal`` the prompt is further words to it and may be empty; what steers is words.
        With an ``output_schema`` the turn's output is JSON that fits it; ``focus`` is where the
        person is in the editor.

        Errors: ``StoreError`` when the prompt cannot be stored, ``AgentLsError`` when it is empty.
        """
        if goal is not None:
            prompt = goal.as_prompt(prompt)
        if not prompt.strip():
            raise AgentLsError("The prompt is empty: say what to do.")
        if self.is_closed:
            raise AgentLsError(
                f"Session {self.id} was closed here; open it again (agent-ls.session.resume)."
            )
        said = PromptQueued(
            text=prompt,
            kind=when_busy,
            anchor=anchor,
            goal=goal,
            output_schema=output_schema,
            focus=focus,
        )
        if self.state.turn is None or not (self.state.is_running or self.state.queue):
            try:
                return await self._runner.begin(said)
            finally:
                # A prompt that was taken is carried out, whoever stops waiting for its id.
                self._runner.wake()
        if self.is_cut_off and when_busy == "follow_up":
            # Nobody said that it should go on: it only ends, and what waited behind it goes.
            await self._recorder.emit(CancelRequested(by="prompt"))
        if when_busy == "steer":
            said = PromptQueued(text=prompt, kind=when_busy, focus=focus)
        turn_id = self.state.turn.turn_id
        try:
            await self._recorder.emit(said)
        finally:
            # As above: it is in the queue, whoever stops waiting.
            self._runner.wake()
        return turn_id

    def resume(self) -> bool:
        """Go on with a turn that was cut off, or with what waited for its end.

        False when there is neither, or it already runs.
        """
        return self._runner.wake()

    async def cancel(self, by: str) -> bool:
        """Stop the running turn and drop what waits for its end; False when there is neither.

        What is said after this begins a turn of its own.
        """
        if not self.is_busy:
            return False
        try:
            await self._recorder.emit(CancelRequested(by=by))
        finally:
            # One that a dead process left open goes on only to end.
            self._runner.wake()
            self._runner.interrupt()
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
        return await self._approvals.resolve_approval(approval_id, answer)

    async def resolve_question(self, question_id: str | None, answer: QuestionAnswer) -> bool:
        """Settle one question, the oldest when no id is given; False when it is settled."""
        return await self._approvals.resolve_question(question_id, answer)

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
        return await self._runner.wait()

    async def close(self, stopped_by: str = "") -> None:
        """Leave what runs open, so that it can be resumed, or with ``stopped_by`` end it; wait
        until nothing works any more. A turn that was cut off stays as it is.
        """
        try:
            if not stopped_by:
                self._runner.leave_open()
            elif self._runner.is_at_work:
                await self.cancel(stopped_by)
        finally:
            await self._runner.close()
            await self.review.close()
