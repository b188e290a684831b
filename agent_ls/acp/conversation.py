"""One session as its client sees it: updates go out, prompts and answers come in."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping, Sequence
from typing import Final, Literal

from acp import Client, RequestError, schema

from agent_ls.acp.diffs import from_unified
from agent_ls.acp.editor_files import SESSION, EditorFiles
from agent_ls.acp.outbox import Outbox, Update
from agent_ls.acp.prompt_blocks import Block, read_prompt
from agent_ls.acp.translation import Content, Translation, fenced, message_chunk, text_content
from agent_ls.domain import events as e
from agent_ls.domain.approvals import (
    ApprovalAnswer,
    ApprovalChoice,
    ApprovalRequest,
    Question,
    QuestionAnswer,
)
from agent_ls.domain.calls import ToolKind
from agent_ls.domain.errors import AgentLsError, WorkspaceError
from agent_ls.domain.goals import split_goal
from agent_ls.domain.stops import StopReason
from agent_ls.safety.text import visible, visible_line
from agent_ls.session.session import Session
from agent_ls.session.titles import choice_name

_log = logging.getLogger(__name__)

_KINDS: Final[
    Mapping[str, Literal["allow_once", "allow_always", "reject_once", "reject_always"]]
] = {
    ApprovalChoice.ALLOW_ONCE: "allow_once",
    ApprovalChoice.ALLOW_SESSION: "allow_always",
    ApprovalChoice.ALLOW_PREFIX: "allow_always",
    ApprovalChoice.ALLOW_ALWAYS: "allow_always",
    ApprovalChoice.REJECT_ONCE: "reject_once",
    ApprovalChoice.REJECT_ALWAYS: "reject_always",
}
"""The protocol's kind of each choice; it has none for changed arguments."""

_STOPS: Final[Mapping[StopReason, Literal["max_tokens", "max_turn_requests", "refusal"]]] = {
    StopReason.MAX_STEPS: "max_turn_requests",
    StopReason.BUDGET_LIMIT: "max_tokens",
    StopReason.CONTEXT_FULL: "max_tokens",
    StopReason.REFUSAL: "refusal",
}
"""Every other stop is an end of the turn, whose last words tell why."""

_IN_WORDS: Final = "in-words"
_NO_ANSWER: Final = "no-answer"
_INTERNAL_ERROR: Final = -32603


class Conversation:
    """A reader of one session, and the way back to it."""

    def __init__(
        self,
        session: Session,
        workspace: EditorFiles,
        client: Client,
        tool_kinds: Mapping[str, ToolKind],
    ) -> None:
        """Show every later event of the session to the client."""
        self.session = session
        self.workspace = workspace
        self._client = client
        self._tool_kinds = tool_kinds
        self._outbox = Outbox(lambda update: client.session_update(session.id, update))
        self._translation = Translation(
            tool_kinds, self._place, session.content, state=session.state
        )
        self._asking: dict[str, asyncio.Task[None]] = {}
        """Requests to the client that wait for the user, by approval or question."""
        self._ends: dict[str, asyncio.Future[e.TurnEnded]] = {}
        """What prompts wait for, by turn."""
        self._is_stopping = False
        session.follow(self)

    async def prompt(self, blocks: Sequence[Block]) -> schema.PromptResponse:
        """Carry out a prompt and return how its turn ended; while one runs, steer it.

        Errors: ``RequestError`` with the reason when the turn failed.
        """
        read = await read_prompt(blocks, self.workspace)
        words, goal = read.words, None
        if all(isinstance(one, schema.TextContentBlock) for one in blocks):
            # Names of files that the editor adds are no part of a goal.
            words, goal = split_goal(words)
        SESSION.set(self.session.id)
        if self._is_stopping:
            await self.session.wait_idle()
        if not self.session.is_busy:
            self.workspace.begin_turn()
        turn_id = await self.session.submit(
            words,
            goal=goal,
            images=read.images,
            attachments=read.attachments,
            searched=read.typed,
        )
        ended = await self._end_of(turn_id)
        await self._outbox.flush()
        if ended is None:
            raise AgentLsError("The turn was broken off; load the session again to go on with it.")
        if ended.stop is StopReason.ERROR:
            why = ended.failure_reason or "The turn failed; the log says why."
            raise RequestError(_INTERNAL_ERROR, why)
        is_cancelled = ended.stop is StopReason.CANCELLED
        return schema.PromptResponse(
            stop_reason="cancelled" if is_cancelled else _STOPS.get(ended.stop, "end_turn"),
        )

    async def _end_of(self, turn_id: str) -> e.TurnEnded | None:
        """Wait for a turn's end; None when it was broken off.

        Words that came too late for a turn run in one of their own, whose end then counts.
        """
        # A prompt that steers waits for the same end as the turn's own.
        end = self._ends.setdefault(turn_id, asyncio.get_running_loop().create_future())
        idle = asyncio.ensure_future(self.session.wait_idle())
        try:
            await asyncio.wait([end, idle], return_when=asyncio.FIRST_COMPLETED)
            return end.result() if end.done() else idle.result()
        finally:
            idle.cancel()
            self._ends.pop(turn_id, None)

    async def cancel(self) -> None:
        """Stop the running turn; the prompt's answer says so."""
        self._is_stopping = self.session.is_busy
        await self.session.cancel("user")

    async def replay(self) -> None:
        """Send the whole session again, for a client that opens it; return when it is sent."""
        translation = Translation(
            self._tool_kinds, self._place, self.session.content, is_replay=True
        )
        for stored in await self.session.journal():
            for update in translation.feed(stored.event):
                self._outbox.put(update)
        if self.session.is_cut_off:
            words = "The turn was cut off here. Your next message goes on with it."
            self._outbox.put(message_chunk(f"\n\n*{words}*\n"))
        await self._outbox.flush()

    def say(self, update: Update) -> None:
        """Send an update that belongs to no event."""
        self._outbox.put(update)

    def on_event(self, stored: e.StoredEvent) -> None:
        """Send the updates of an event, and ask the user what it asks."""
        for update in self._translation.feed(stored.event):
            self._outbox.put(update)
        match stored.event:
            case e.ApprovalRequested(request=request):
                self._ask(request.id, self._approve(request))
            case e.QuestionAsked(question=question):
                self._ask(question.id, self._answer(question))
            case e.ApprovalResolved(approval_id=subject) | e.QuestionResolved(question_id=subject):
                self._settled(subject)
            case e.TurnEnded():
                self._is_stopping = False
                if (end := self._ends.pop(stored.event.turn_id, None)) is not None:
                    end.set_result(stored.event)
            case _:
                pass

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        """Send a streamed piece."""
        for update in self._translation.feed_piece(piece):
            self._outbox.put(update)

    def _ask(self, subject: str, asking: Coroutine[None, None, None]) -> None:
        task = self._asking[subject] = asyncio.create_task(asking)
        task.add_done_callback(lambda _: self._asking.pop(subject, None))

    def _settled(self, subject: str) -> None:
        """Stop waiting for the client when something else has settled what it was asked."""
        task = self._asking.get(subject)
        if task is not None and task is not asyncio.current_task():
            task.cancel()

    async def _approve(self, request: ApprovalRequest) -> None:
        preview = request.preview
        place = self._place(preview.path) if preview.path else None
        payload: Sequence[Content] = from_unified(preview.payload, self._place) or [
            fenced(preview.payload)
        ]
        call = schema.ToolCallUpdate(
            tool_call_id=request.call_id,
            title=preview.title,
            kind=preview.kind.value,
            status="pending",
            content=[*payload, text_content(request.reason)],
            locations=[schema.ToolCallLocation(path=place, line=preview.line)] if place else None,
        )
        options = [
            schema.PermissionOption(
                option_id=choice, name=choice_name(choice, preview), kind=_KINDS[choice]
            )
            for choice in request.choices
            if choice in _KINDS
        ]
        chosen = await self._chosen(call, options)
        if chosen is None:
            await self.cancel()
        else:
            answer = ApprovalAnswer(choice=ApprovalChoice(chosen))
            await self._resolve(self.session.resolve_approval(request.id, answer))

    async def _answer(self, question: Question) -> None:
        call = schema.ToolCallUpdate(
            tool_call_id=question.id,
            status="pending",
            content=[text_content(visible(question.text))],
        )
        names = {str(number): one for number, one in enumerate(question.options)}
        options = [
            schema.PermissionOption(option_id=one, name=visible_line(name), kind="allow_once")
            for one, name in (names or {_NO_ANSWER: "Go on without an answer"}).items()
        ]
        stop = "Stop here; I answer with my next message"
        options.append(schema.PermissionOption(option_id=_IN_WORDS, name=stop, kind="reject_once"))
        chosen = await self._chosen(call, options)
        if chosen is None or chosen == _IN_WORDS:
            await self.cancel()
            return
        by = "nobody" if chosen == _NO_ANSWER else "user"
        answer = QuestionAnswer(text=names.get(chosen, ""), by=by)
        await self._resolve(self.session.resolve_question(question.id, answer))

    async def _chosen(
        self, call: schema.ToolCallUpdate, options: list[schema.PermissionOption]
    ) -> str | None:
        """Return the chosen option's id; None when the user wants none of it, or cannot say."""
        await self._outbox.flush()
        try:
            said = await self._client.request_permission(
                session_id=self.session.id, tool_call=call, options=options
            )
        except (RequestError, ValueError) as error:
            _log.warning("the client could not ask the user: %s", error)
            return None
        except ConnectionError:
            # The session is closed and the turn stays open: whoever loads it is asked again.
            raise asyncio.CancelledError from None
        outcome = said.outcome
        offered = {one.option_id for one in options}
        is_chosen = isinstance(outcome, schema.AllowedOutcome) and outcome.option_id in offered
        return outcome.option_id if is_chosen else None

    async def _resolve(self, resolving: Coroutine[None, None, bool]) -> None:
        try:
            await resolving
        except AgentLsError as error:
            _log.warning("an answer was not taken: %s", error)

    def _place(self, path: str) -> str | None:
        try:
            return str(self.workspace.locate(path)[1])
        except WorkspaceError:
            return None
