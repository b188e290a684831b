"""Translates a session's events to the protocol's updates.

Owns only the mapping: no sending and no time. The live stream and the replay of a stored session
differ in one thing: live, the client has the user's words already and the answer as it streams.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final, Literal, assert_never

from acp import schema

from agent_ls.acp.diffs import Place, of_texts
from agent_ls.acp.outbox import Later, Update
from agent_ls.domain import events as e
from agent_ls.domain.calls import Effect, ToolKind, ToolResult
from agent_ls.domain.edits import MoveFile, text_of
from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.pictures import Picture
from agent_ls.domain.plans import PlanItem, PlanStatus
from agent_ls.domain.stops import StopReason
from agent_ls.domain.usage import Usage
from agent_ls.loop.state.state import SessionState
from agent_ls.loop.state.undelivered import Undelivered
from agent_ls.safety.text import label, visible
from agent_ls.session.titles import call_title, parsed

_MAX_RESULT_CHARACTERS: Final = 20_000
_MAX_OUTPUT_CHARACTERS: Final = 8_000
"""Of a running command's output: the end is shown."""
_MAX_DIFFS: Final = 20
_TITLE_CHARACTERS: Final = 120
_UNSHOWN: Final = (ToolKind.READ, ToolKind.SEARCH)
"""Kinds whose results are long, and in the user's own files."""

Updates = Sequence[Update | Later]
Content = schema.ContentToolCallContent | schema.FileEditToolCallContent


class Translation:
    """Translates one session's events, fed in order."""

    def __init__(
        self,
        tool_kinds: Mapping[str, ToolKind],
        place: Place,
        stored: Callable[[str], Awaitable[bytes | None]],
        *,
        is_replay: bool = False,
        state: SessionState | None = None,
    ) -> None:
        """``tool_kinds`` by tool name; ``stored`` reads a content that an event names.

        ``state`` is the session's so far; None: it is fed from its first event.
        """
        self._tool_kinds = tool_kinds
        self._place = place
        self._stored = stored
        self._is_replay = is_replay
        self._title = state.title if state else ""
        self._used = state.usage if state else Usage()
        self._undelivered = Undelivered()
        if state is not None:
            self._undelivered.begin(state)
        self._window_tokens = 0
        self._kinds: dict[str, ToolKind] = {}
        self._titles: dict[str, str] = {}
        self._changes: dict[str, list[tuple[str, str | None, str | None]]] = {}
        """By call: path, and the stored contents before and after."""
        self._befores: dict[tuple[str, str], e.EditIntended] = {}
        self._outputs: dict[str, str] = {}
        self._streamed = ""
        """The step whose text has been streamed."""
        self._said = ""
        """The step that the last text belongs to."""

    def feed(self, event: e.Event) -> Updates:
        """Return the updates for the next event, possibly none."""
        unread = self._undelivered.feed(event)
        if isinstance(event, e.CancelRequested):
            return [message_chunk(_unread(unread))] if unread else []
        for part in (self._of_conversation, self._of_call, self._of_edit, self._of_question):
            if (updates := part(event)) is not None:
                return updates
        return []

    def feed_piece(self, piece: e.Ephemeral) -> Updates:
        """Return the updates for a piece that is not stored."""
        match piece:
            case e.TextStreamed():
                self._streamed = piece.step_id
                return [self._message(piece.text, piece.step_id)]
            case e.ReasoningStreamed():
                return [_thought(piece.text)]
            case e.AttemptDiscarded():
                if self._streamed != piece.step_id:
                    return []
                self._streamed = ""
                return [message_chunk("\n\n*(What was said last does not count.)*\n\n")]
            case e.CallOutputStreamed():
                output = self._outputs.get(piece.call_id, "") + piece.text
                self._outputs[piece.call_id] = output[-_MAX_OUTPUT_CHARACTERS:]
                return [_progress(piece.call_id, content=[fenced(self._outputs[piece.call_id])])]
            case _:
                assert_never(piece)

    def _of_conversation(self, event: e.Event) -> Updates | None:
        match event:
            case e.TurnStarted():
                return self._began(event)
            case e.PromptQueued() if self._is_replay and event.kind == "steer":
                return [_said_by_user(event.text), *self._images_of(event)]
            case e.ModeChanged():
                mode = schema.CurrentModeUpdate(
                    session_update="current_mode_update", current_mode_id=event.mode
                )
                return [mode]
            case e.RequestPrepared():
                self._window_tokens = event.window_tokens
                return []
            case e.Answered():
                return self._answered(event)
            case e.AttemptFinished(
                failure=ProviderFailure.NO_IMAGES | ProviderFailure.BAD_IMAGE, message=words
            ):
                # The turn goes on without what the user sent.
                return [_thought(f"\n\n{words}\n\n"), *self._usage(event.usage)]
            case e.AttemptFinished():
                return self._usage(event.usage)
            case e.PlanUpdated():
                return [_plan(event.items)]
            case e.TurnEnded():
                return self._ended(event)
            case _:
                return _of_policies(event)

    def _began(self, event: e.TurnStarted) -> Updates:
        updates: list[Update | Later] = []
        if self._is_replay:
            updates.append(_said_by_user(event.prompt))
            updates += self._images_of(event)
        if not self._title:
            self._title = label(event.prompt, _TITLE_CHARACTERS)
            updates.append(
                schema.SessionInfoUpdate(session_update="session_info_update", title=self._title)
            )
        return updates

    def _answered(self, event: e.Answered) -> Updates:
        message, step_id = event.message, event.step_id
        updates: list[Update] = []
        if self._is_replay and message.reasoning:
            updates.append(_thought(message.reasoning))
        if message.text.strip() and self._streamed != step_id:
            updates.append(self._message(message.text, step_id))
        self._streamed = ""
        for call in message.calls:
            title = self._titles[call.id] = call_title(call.tool, call.arguments_json)
            kind = self._kinds[call.id] = self._tool_kinds.get(call.tool, ToolKind.OTHER)
            updates.append(
                schema.ToolCallStart(
                    session_update="tool_call",
                    tool_call_id=call.id,
                    title=title,
                    kind=kind.value,
                    status="pending",
                    raw_input=parsed(call.arguments_json),
                )
            )
        return updates

    def _usage(self, used: Usage) -> Updates:
        self._used += used
        if self._is_replay or not self._window_tokens or not used.total_tokens:
            return []
        cost = self._used.known_cost_usd
        return [
            schema.UsageUpdate(
                session_update="usage_update",
                used=used.total_tokens,
                size=self._window_tokens,
                cost=None if cost is None else schema.Cost(amount=cost, currency="USD"),
            )
        ]

    def _ended(self, event: e.TurnEnded) -> Updates:
        """Say why the turn ended early; live, the answer to the prompt tells of an error.

        A final output, such as a review, was told by no message yet.
        """
        if event.stop is StopReason.FINAL_OUTPUT and event.output.strip():
            return [message_chunk(f"\n\n{event.output}")]
        if not event.failure_reason or event.stop is StopReason.CANCELLED:
            return []
        is_told = event.stop is StopReason.ERROR and not self._is_replay
        return [] if is_told else [message_chunk(f"\n\n*{event.failure_reason}*\n")]

    def _of_call(self, event: e.Event) -> Updates | None:
        match event:
            case e.ToolCallStarted():
                # A command's path is the folder that it runs in.
                paths = () if event.effect is Effect.EXECUTE else event.paths
                places = [place for path in paths if (place := self._place(path))]
                locations = [schema.ToolCallLocation(path=place) for place in places]
                return [_progress(event.call_id, status="in_progress", locations=locations or None)]
            case e.ToolCallFinished():
                return [partial(self._finished, event.result)]
            case _:
                return None

    async def _finished(self, result: ToolResult) -> Update:
        """Return the update for a finished call: its diffs, else its text."""
        content: list[Content] = []
        for path, before, after in self._changes.pop(result.call_id, [])[:_MAX_DIFFS]:
            texts = [await self._text(before), await self._text(after)]
            if texts[0] != texts[1]:
                content += await asyncio.to_thread(of_texts, path, *texts)
        self._outputs.pop(result.call_id, None)
        kind = self._kinds.pop(result.call_id, ToolKind.OTHER)
        named = self._titles.pop(result.call_id, "")
        is_shown = result.outcome != "ok" or kind not in (*_UNSHOWN, ToolKind.EDIT)
        if result.text.strip() and is_shown:
            text = result.text[:_MAX_RESULT_CHARACTERS]
            content.insert(0, fenced(text) if kind is ToolKind.EXECUTE else text_content(text))
        for image in result.images:
            if (block := await self._image(image)) is not None:
                content.append(schema.ContentToolCallContent(type="content", content=block))
        status = "failed" if result.error or result.bad_exit else "completed"
        # The protocol has no status for it, and clients show a tick for "completed".
        title = f"{named} ({result.not_run})".lstrip() if result.not_run else None
        return _progress(result.call_id, status=status, content=content or None, title=title)

    def _images_of(self, said: e.TurnStarted | e.PromptQueued) -> list[Later]:
        return [partial(self._shown_image, one) for one in said.images]

    async def _shown_image(self, image: Picture) -> Update:
        """Return an image of the user's; its words when its bytes are gone."""
        block = await self._image(image) or _text_block(image.words())
        return schema.UserMessageChunk(session_update="user_message_chunk", content=block)

    async def _image(self, image: Picture) -> schema.ImageContentBlock | None:
        data = await self._stored(image.digest)
        if data is None:
            return None
        encoded = b64encode(data).decode()
        return schema.ImageContentBlock(type="image", data=encoded, mime_type=image.media_type)

    async def _text(self, digest: str | None) -> str | None:
        data = None if digest is None else await self._stored(digest)
        return None if data is None else text_of(data)[0]

    def _of_edit(self, event: e.Event) -> Updates | None:
        match event:
            case e.EditIntended():
                self._befores[event.call_id, event.edit.path] = event
            case e.EditApplied(status="applied"):
                intended = self._befores.pop((event.call_id, event.path), None)
                is_move = intended is not None and isinstance(intended.edit, MoveFile)
                before = intended.before_blob if intended and not is_move else None
                if not is_move:
                    self._changed(event.call_id, event.path, before, event.after_blob)
            case e.CommandChanged(images=None) if event.is_before_known:
                self._changed(event.call_id, event.path, event.before_blob, event.after_blob)
            case _:
                return None
        return []

    def _changed(self, call_id: str, path: str, before: str | None, after: str | None) -> None:
        if (place := self._place(path)) is not None:
            self._changes.setdefault(call_id, []).append((place, before, after))

    def _of_question(self, event: e.Event) -> Updates | None:
        match event:
            case e.QuestionAsked(question=question):
                asked = schema.ToolCallStart(
                    session_update="tool_call",
                    tool_call_id=question.id,
                    title=label(question.text, _TITLE_CHARACTERS),
                    kind="other",
                    status="pending",
                    content=[text_content(visible(question.text))],
                )
                return [asked]
            case e.QuestionResolved():
                words = event.answer.text or "Nobody answered."
                content = [text_content(words)]
                return [_progress(event.question_id, status="completed", content=content)]
            case _:
                return None

    def _message(self, text: str, step_id: str) -> Update:
        """Return a piece of an answer; the text of another step begins a paragraph."""
        is_other, self._said = self._said not in ("", step_id), step_id
        return message_chunk(f"\n\n{text}" if is_other else text)


def _of_policies(event: e.Event) -> Updates | None:
    """Return what happens beside the conversation as thoughts, which clients show folded."""
    match event:
        case e.RecoveryChosen(action="retry" | "switch_model", text=text) | e.GateFailed(text=text):
            words = text
        case e.Compacted():
            words = f"The conversation was shortened: {event.why}"
        case _:
            return None
    return [_thought(f"\n\n{words}\n\n")] if words else []


def _plan(items: Sequence[PlanItem]) -> schema.AgentPlanUpdate:
    """Return the whole plan; a blocked item is pending, which its text says."""
    entries = [
        schema.PlanEntry(
            content=f"{one.text} (blocked)" if one.status is PlanStatus.BLOCKED else one.text,
            priority="medium",
            status="pending" if one.status is PlanStatus.BLOCKED else one.status.value,
        )
        for one in items
    ]
    return schema.AgentPlanUpdate(session_update="plan", entries=entries)


def text_content(text: str) -> schema.ContentToolCallContent:
    """Return a text to show with a call."""
    return schema.ContentToolCallContent(type="content", content=_text_block(text))


def fenced(text: str) -> schema.ContentToolCallContent:
    """Return plain output between Markdown fences that it does not contain."""
    fence = "```"
    while fence in text:
        fence += "`"
    return text_content(f"{fence}\n{text.rstrip()}\n{fence}")


def _text_block(text: str) -> schema.TextContentBlock:
    return schema.TextContentBlock(type="text", text=text)


def message_chunk(text: str) -> schema.AgentMessageChunk:
    """Return words of the agent's side."""
    return schema.AgentMessageChunk(session_update="agent_message_chunk", content=_text_block(text))


def _unread(prompts: Sequence[e.PromptQueued]) -> str:
    """Return what a stop took from the queue: the protocol cannot put it back where it was typed.

    What the client attached is left out; it still has that.
    """
    quoted = [
        "\n".join(f"> {line}" for line in visible(one.as_typed()).strip().splitlines())
        for one in prompts
    ]
    return "\n\n*Stopped before the agent read this:*\n\n" + "\n\n".join(quoted) + "\n"


def _thought(text: str) -> schema.AgentThoughtChunk:
    return schema.AgentThoughtChunk(session_update="agent_thought_chunk", content=_text_block(text))


def _said_by_user(text: str) -> schema.UserMessageChunk:
    block = _text_block(text)
    return schema.UserMessageChunk(session_update="user_message_chunk", content=block)


def _progress(
    call_id: str,
    *,
    status: Literal["in_progress", "completed", "failed"] | None = None,
    content: Sequence[Content] | None = None,
    locations: list[schema.ToolCallLocation] | None = None,
    title: str | None = None,
) -> schema.ToolCallProgress:
    """Return an update that holds only what is given: the rest stays as it was."""
    given = {"status": status, "content": content, "locations": locations, "title": title}
    values = {name: value for name, value in given.items() if value is not None}
    always = {"session_update": "tool_call_update", "tool_call_id": call_id}
    return schema.ToolCallProgress.model_validate({**always, **values})
