"""One conversation: takes prompts, runs its turns in order, takes decisions.

Owns only this interface. The recorder has the events, the runner runs turns, ``approvals`` has what
waits for the user, and the loop does the work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Literal

from agent_ls.domain.approvals import ApprovalAnswer, QuestionAnswer
from agent_ls.domain.attachments import Attachment
from agent_ls.domain.code_review import REVIEW_SCHEMA
from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.events import (
    Anchor,
    CancelRequested,
    CompactionRequested,
    EffortChanged,
    ModeChanged,
    ModelChanged,
    PolicySilenced,
    PromptQueued,
    QueuedPromptChanged,
    ResumeDeclined,
    SessionArchived,
    SessionRenamed,
    StoredEvent,
    TurnEnded,
    WrapUpRequested,
)
from agent_ls.domain.focus import Focus
from agent_ls.domain.goals import Goal
from agent_ls.domain.model_families import model_meant
from agent_ls.domain.modes import Mode
from agent_ls.domain.pictures import PictureData
from agent_ls.loop.evidence.output_schema import Schema
from agent_ls.loop.machine.turn_hooks import ask_at_end
from agent_ls.loop.ports.approval import Approver
from agent_ls.loop.ports.event_listener import EventListener
from agent_ls.loop.ports.store import Journals
from agent_ls.loop.services import Services
from agent_ls.loop.state.recorder import Recorder
from agent_ls.loop.state.state import SessionState
from agent_ls.loop.turn import Turn
from agent_ls.loop.window import WindowUse, window_use
from agent_ls.review.ledger import Selection
from agent_ls.review.review import Review
from agent_ls.safety.text import plain_output_slowly
from agent_ls.session.amending import CallText, text_of, with_text
from agent_ls.session.approvals import Approvals
from agent_ls.session.custom_commands import expanded
from agent_ls.session.prompt_images import named_in, prompt_text, stored
from agent_ls.session.turn_runner import TurnRunner

BuildKit = Callable[[Approver, Recorder], Services]


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
        """``build_kit`` builds the parts around this session's approver.

        ``claim`` makes a loose lease firm, or raises; ``claimed`` does so for a block.
        """
        self._recorder, self._journals = recorder, journals
        self._approvals = Approvals(recorder, is_attended=is_attended, undo=self._undo)
        self._services = build_kit(self._approvals, recorder)
        self.review = Review(
            recorder,
            workspace=self._services.workspace,
            journals=journals,
            blobs=self._services.blobs,
            ids=self._services.ids,
            order=self._services.order,
            watch=self._services.watch,
            claim=claim,
            claimed=claimed,
        )
        self._claimed = claimed
        self._runner = TurnRunner(self._services, recorder)
        self._in_order = asyncio.Lock()

    @property
    def id(self) -> str:
        """Return the session's id."""
        return self._recorder.session_id

    @property
    def state(self) -> SessionState:
        """Return the current state, folded from the journal."""
        return self._recorder.state

    @property
    def is_busy(self) -> bool:
        """Say whether a turn runs or is about to start, or the conversation is being shortened."""
        state = self.state
        waits = bool(state.queue) or state.is_compaction_asked
        return state.is_running or (self._runner.is_at_work and waits)

    @property
    def is_cut_off(self) -> bool:
        """Say whether a dead process left a turn or a queue that waits for a resume."""
        has_work = self.state.is_running or bool(self.state.queue)
        return has_work and not self._runner.is_at_work

    @property
    def is_closed(self) -> bool:
        """Say whether it takes nothing any more; opened again, it continues from the store."""
        return self._runner.is_closed or self._recorder.is_halted

    def follow(self, reader: EventListener) -> None:
        """Pass every later event to ``reader``."""
        self._recorder.follow(reader)

    async def journal(self) -> list[StoredEvent]:
        """Return all events in order, including those still being stored."""
        stored = await self._journals.load(self.id)
        last = stored[-1].seq if stored else 0
        turn = self.state.turn
        return [*stored, *(one for one in turn.events if one.seq > last)] if turn else stored

    async def stored(self) -> None:
        """Return once all events up to now are stored. Errors: ``StoreError``."""
        await self._journals.append((), durable=True)

    async def window(self) -> WindowUse | None:
        """Return what fills the model's window; None before the first turn."""
        return await window_use(Turn(self._services, self._recorder)) if self.state.turn else None

    async def content(self, digest: str) -> bytes | None:
        """Return a file's content that an event names by its digest; None when it is gone.

        Errors: ``StoreError`` when it cannot be read.
        """
        return await self._services.blobs.get_blob(digest)

    async def submit(
        self,
        prompt: str,
        *,
        anchor: Anchor | None = None,
        goal: Goal | None = None,
        output_schema: Schema | None = None,
        focus: Focus | None = None,
        note: str = "",
        when_busy: Literal["steer", "follow_up"] = "steer",
        images: Sequence[PictureData] = (),
        attachments: Sequence[Attachment] = (),
        searched: str | None = None,
    ) -> str:
        """Start a turn and return its id at once; while one runs, queue the prompt.

        A ``steer`` joins the running turn, a ``follow_up`` waits for its end. An interrupted turn
        is resumed by a steer and ended by a follow-up. A queued steer keeps only its text, images,
        attachments and ``focus``.

        ``images`` go with the prompt, and so do those that it names as ``@path``; ``attachments``
        do, and the resources of tool servers that it names as ``@server:uri``. Only ``searched``
        is looked through for such names: what the user typed; None: all of the prompt.

        A prompt ``/NAME …`` calls a custom command; one that limits its turn never steers. ``note``
        is appended to the expanded prompt.

        With a ``goal`` the prompt may be empty. With an ``output_schema`` the turn's output is JSON
        that fits it. ``focus`` is the user's place in the editor.

        Errors: ``StoreError`` when the prompt cannot be stored, ``AgentLsError`` when it is empty,
        calls a command that does not exist or names a broken image.
        """
        searched = prompt if searched is None else searched
        # To read images, commands and files takes a while, and prompts stay in their order.
        async with self._in_order:
            commands = self._services.custom_commands
            named, lines = await named_in(searched, self._services.workspace)
            images = (*images, *named)
            prompt, limits = await expanded(prompt, commands, self._services.tools, self.id)
            attachments = (*attachments, *await commands.attached(searched))
            if limits is not None:
                when_busy = "follow_up"
                model = model_meant(limits.model, self.state.model, self._services.named_models)
                limits = limits.model_copy(update={"model": model})
                if limits.output == "review":
                    if output_schema is not None:
                        raise AgentLsError("A review gives findings, so it takes no schema.")
                    output_schema = REVIEW_SCHEMA
            if note:
                prompt = f"{prompt}\n\n{note}"
            if goal is not None:
                prompt = goal.as_prompt(prompt)
            prompt = prompt_text(prompt, images, lines)
            if not prompt.strip():
                raise AgentLsError("The prompt is empty: say what to do.")
            if self.is_closed:
                raise AgentLsError(
                    f"Session {self.id} was closed here; open it again (agent-ls.session.resume)."
                )
            pictures = await stored(images, self._services.blobs)
            said = PromptQueued(
                text=prompt,
                kind=when_busy,
                images=pictures,
                attachments=attachments,
                anchor=anchor,
                goal=goal,
                output_schema=output_schema,
                focus=focus,
                limits=limits,
            )
        # Outside the lock: a turn begins when the store has it, and the next prompt waits there.
        return await self._take(said)

    async def _take(self, said: PromptQueued) -> str:
        """Start a turn with the prompt, or queue it; return the turn's id."""
        if self.state.turn is None or not (self.state.is_running or self.state.queue):
            try:
                return await self._runner.begin(said)
            finally:
                # Also when the caller was cancelled: an accepted prompt must run.
                self._runner.wake()
        if self.is_cut_off and said.kind == "follow_up":
            # The interrupted turn was not resumed: cancel it and clear its queue.
            await self._recorder.emit(CancelRequested(by="prompt"))
        if said.kind == "steer":
            said = PromptQueued(
                text=said.text,
                kind="steer",
                focus=said.focus,
                images=said.images,
                attachments=said.attachments,
            )
        said = said.model_copy(update={"id": self._services.ids.new("pmt")})
        turn_id = self.state.turn.turn_id
        try:
            await self._recorder.emit(said)
        finally:
            # As above: the prompt is queued even if the caller was cancelled.
            self._runner.wake()
        return turn_id

    async def change_queued(
        self,
        prompt_id: str,
        *,
        text: str | None = None,
        when_busy: Literal["steer", "follow_up"] | None = None,
        before: str | None = None,
        is_dropped: bool = False,
    ) -> bool:
        """Change a prompt that waits, or drop it; False when it waits no more.

        ``before`` is the id of the prompt that it goes before; empty: the end.
        Errors: ``AgentLsError`` where it cannot join the running turn, or has no words left.
        """
        queued = next((one for one in self.state.queue if one.id == prompt_id), None)
        if not prompt_id or queued is None:
            return False
        if text is not None and not text.strip():
            raise AgentLsError("The prompt is empty: drop it instead.")
        is_other = when_busy not in (None, queued.kind)
        if is_other and (queued.limits or queued.goal or queued.output_schema):
            raise AgentLsError("It begins a turn of its own, so it waits for the turn's end.")
        await self._recorder.emit(
            QueuedPromptChanged(
                prompt_id=prompt_id,
                text=queued.text if is_other and text is None else text,
                kind=when_busy if is_other else None,
                before=before,
                is_dropped=is_dropped,
            )
        )
        return True

    def resume(self) -> bool:
        """Resume an interrupted turn or its queue; False when there is neither, or it runs."""
        return self._runner.wake()

    async def decline(self) -> bool:
        """Record that the user does not want to resume now; False when nothing is interrupted.

        The turn can still be resumed. Errors: ``StoreError`` when another process has resumed it.
        """
        if not self.is_cut_off:
            return False
        async with self._claimed():
            await self._recorder.emit(ResumeDeclined())
        return True

    async def note(self, event: SessionRenamed | SessionArchived) -> None:
        """Record what lists show of the session. Errors: as of ``decline``."""
        async with self._claimed():
            await self._recorder.emit(event)

    async def cancel(self, by: str) -> bool:
        """Stop the running turn and clear the queue; False when there is neither.

        A later prompt starts a new turn.
        """
        if not self.is_busy:
            return False
        try:
            await self._recorder.emit(CancelRequested(by=by))
        finally:
            # Wake the runner too: an interrupted turn needs it to end.
            self._runner.wake()
            self._runner.interrupt()
        return True

    async def wrap_up(self, by: str, text: str = "") -> bool:
        """Let the running turn finish in good order; False when none runs.

        ``text`` says what its last answer should contain.
        """
        if not self.state.is_running:
            return False
        await self._recorder.emit(WrapUpRequested(by=by, text=text))
        return True

    async def compact(self, by: str) -> None:
        """Shorten the conversation before the running turn's next step, else now.

        Returns at once; ``CompactionSettled`` tells what came of it.
        Errors: ``AgentLsError`` when there is nothing to shorten, or the turn was cut off.
        """
        if self.state.turn is None:
            raise AgentLsError("There is no conversation to shorten yet.")
        if self.is_cut_off:
            raise AgentLsError("The turn was cut off: go on with it or stop it first.")
        if self.is_closed:
            raise AgentLsError(f"Session {self.id} was closed here; open it again.")
        try:
            if not self.state.is_compaction_asked:
                await self._recorder.emit(CompactionRequested(by=by))
        finally:
            self._runner.wake()

    async def resolve_approval(self, approval_id: str | None, answer: ApprovalAnswer) -> bool:
        """Settle an approval, by default the oldest; False when it is already settled."""
        return await self._approvals.resolve_approval(approval_id, answer)

    def text_of(self, approval_id: str) -> CallText | None:
        """Return a call that waits as one text to change; None where it is none, or is settled."""
        return text_of(approval_id, self._approvals.proposed(approval_id), self.state)

    async def amend(self, approval_id: str, text: str) -> bool:
        """Run a call that waits with another text; False when it is already settled.

        Errors: ``AgentLsError`` where that cannot be; it stays pending.
        """
        found, workspace = self.text_of(approval_id), self._services.workspace
        answer = await with_text(found, approval_id, self.state, workspace, text)
        return await self.resolve_approval(approval_id, answer)

    async def resolve_question(self, question_id: str | None, answer: QuestionAnswer) -> bool:
        """Settle a question, by default the oldest; False when it is already settled."""
        return await self._approvals.resolve_question(question_id, answer)

    async def _undo(self, paths: Collection[str]) -> None:
        for path in paths:
            await self.review.decide("undo", Selection(path=path))

    async def set_mode(self, mode: Mode) -> None:
        """Switch the mode, from the next decision on."""
        if mode is not self.state.mode:
            await self._recorder.emit(ModeChanged(mode=mode))

    async def set_model(self, model: str) -> None:
        """Switch the model, from the next request on."""
        if model != self.state.model:
            await self._recorder.emit(ModelChanged(model=model))

    async def set_effort(self, effort: str) -> None:
        """Switch how much the model thinks, from the next request on; empty: as the setting."""
        if effort != self.state.effort:
            await self._recorder.emit(EffortChanged(effort=effort))

    async def silence(self, origin: str) -> None:
        """Turn a policy off for this session."""
        if origin not in self.state.silenced:
            await self._recorder.emit(PolicySilenced(origin=origin))

    async def background_output(self, name: str) -> str:
        """Return what a background program has printed, as far as it is kept.

        Errors: ``ToolError`` if there is none of this name here.
        """
        if self._services.background is None:
            return ""
        found = await self._services.background.output(name, after_bytes=0, wait_s=0)
        return await plain_output_slowly(found.text)

    async def stop_background(self, name: str) -> None:
        """End a background program with everything it has started.

        Errors: ``ToolError`` if there is none of this name here.
        """
        if self._services.background is not None:
            await self._services.background.stop(name)

    async def wait_idle(self) -> TurnEnded | None:
        """Wait until no turn runs; return how this process's last turn ended.

        Errors: an exception that broke the turn, ``StoreError`` above all.
        """
        return await self._runner.wait()

    async def close(self, stopped_by: str = "") -> None:
        """Close the session, and wait until nothing runs any more.

        A running turn stays open and can be resumed; with ``stopped_by`` it is cancelled. An
        interrupted turn stays as it is.
        """
        try:
            if not stopped_by:
                self._runner.leave_open()
            elif self._runner.is_at_work:
                await self.cancel(stopped_by)
        finally:
            await self._runner.close()
            if self._services.background is not None:
                await self._services.background.close()
            if not stopped_by and self._runner.has_ended_turn and not self._recorder.is_halted:
                await ask_at_end(self._services.hooks, self._recorder)
            await self.review.close()
