"""Sends ``agent/update`` to a client that opted in, merging bursts.

Owns buffering and timing; ``updates.py`` translates the events.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from agent_ls.domain import events as e
from agent_ls.domain.calls import ToolKind
from agent_ls.domain.errors import AgentLsError
from agent_ls.loop.state.state import SessionState
from agent_ls.lsp import wire
from agent_ls.lsp.updates import ENDS_PIECES, Translation

MERGE_S = 0.05
"""Updates within this time go out as one notification."""

_SLICE_S = 0.005
_MAX_HISTORIES = 4

_URGENT = (wire.PermissionRequested, wire.QuestionAsked, wire.TurnEndedUpdate)
_CHUNKS = (wire.AgentMessageChunk, wire.AgentThoughtChunk, wire.ToolCallOutput)

Send = Callable[[wire.UpdateParams], None]


@dataclass(slots=True)
class _Partial:
    """A streaming answer as a list of pieces; joining at every piece would be quadratic."""

    step_id: str
    text: list[str] = field(default_factory=list[str])
    thought: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class _Stream:
    """The unsent updates of one session, and its partial answer."""

    translation: Translation
    seq: int = 0
    pending: list[wire.Update] = field(default_factory=list[wire.Update])
    timer: asyncio.TimerHandle | None = None
    has_events: bool = False
    """Some of what is pending may not be stored yet."""
    unstored: list[wire.UpdateParams] = field(default_factory=list[wire.UpdateParams])
    """What is sent once its events are stored, and what follows that."""
    sending: asyncio.Task[None] | None = None
    partial: _Partial | None = None


@dataclass(slots=True)
class _History:
    """The updates of a session's stored events."""

    translation: Translation
    seq: int = 0
    updates: list[wire.Update] = field(default_factory=list[wire.Update])

    def feed(self, stored: e.StoredEvent) -> None:
        """Add the updates of an event, once."""
        if stored.seq > self.seq:
            self.seq = stored.seq
            self.updates += self.translation.feed(stored.event)


class Publisher:
    """An EventListener of all sessions that sends updates to the client."""

    def __init__(
        self,
        send: Send,
        tool_kinds: Mapping[str, ToolKind],
        uri_of: Callable[[str], str | None],
    ) -> None:
        """``tool_kinds`` by tool name; ``uri_of`` maps the agent's paths to URIs."""
        self._send = send
        self._tool_kinds = tool_kinds
        self._uri_of = uri_of
        self._streams: dict[str, _Stream] = {}
        self._stored: Callable[[], Awaitable[None]] | None = None
        self._histories: dict[str, _History] = {}
        """Of the sessions that were asked for last."""

    def begin(
        self, state: SessionState, stored: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """Follow a session from this state; a snapshot has what came before.

        ``stored`` waits until all events up to now are stored. Clients remember what they were
        shown, so a server that is killed must have stored it.
        """
        self._stored = stored
        stream = self._stream(state.session_id)
        stream.seq = state.seq
        stream.translation.begin(state)
        # A session that is loaded again may lack what could not be stored.
        self._histories.pop(state.session_id, None)

    def on_event(self, stored: e.StoredEvent) -> None:
        """Queue the updates of an event."""
        stream = self._stream(stored.session_id)
        stream.seq = stored.seq
        stream.has_events = True
        if isinstance(stored.event, ENDS_PIECES):
            stream.partial = None
        self._queue(stored.session_id, stream, stream.translation.feed(stored.event))

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        """Queue a streamed piece."""
        stream = self._stream(session_id)
        update = stream.translation.of_ephemeral(piece)
        _add_piece(stream, update)
        self._queue(session_id, stream, [update])

    def flush(self, session_id: str) -> None:
        """Send the queued updates now, or as soon as their events are stored."""
        stream = self._stream(session_id)
        if stream.timer is not None:
            stream.timer.cancel()
            stream.timer = None
        if stream.pending:
            params = wire.UpdateParams(
                session_id=session_id, seq=stream.seq, updates=stream.pending
            )
            stream.pending = []
            if self._stored is None or not (stream.has_events or stream.unstored):
                self._send(params)
                return
            stream.has_events = False
            stream.unstored.append(params)
            if stream.sending is None:
                stream.sending = asyncio.create_task(self._send_stored(stream, self._stored))

    async def _send_stored(self, stream: _Stream, stored: Callable[[], Awaitable[None]]) -> None:
        try:
            while ready := tuple(stream.unstored):
                # What cannot be stored is shown all the same: the session stops and says so.
                with suppress(AgentLsError):
                    await stored()
                # A snapshot sends all at once.
                if stream.unstored[:1] and stream.unstored[0] is ready[0]:
                    self._send_first(stream, len(ready))
        finally:
            stream.sending = None

    def _send_first(self, stream: _Stream, number: int) -> None:
        sent = stream.unstored[:number]
        del stream.unstored[:number]
        for params in sent:
            self._send(params)

    def snapshot(
        self, state: SessionState, journal: list[e.StoredEvent], *, is_interrupted: bool = False
    ) -> wire.SnapshotResult:
        """Return a session's snapshot, given its whole journal; flushes first."""
        self.flush(state.session_id)
        stream = self._stream(state.session_id)
        self._send_first(stream, len(stream.unstored))
        history = self._history(state.session_id)
        for stored in journal:
            history.feed(stored)
        partial = stream.partial
        return wire.SnapshotResult(
            session=session_info(state, is_interrupted=is_interrupted),
            seq=state.seq,
            updates=list(history.updates),
            partial=wire.PartialAnswer(
                step_id=partial.step_id,
                text="".join(partial.text),
                thought="".join(partial.thought),
            )
            if partial
            else None,
        )

    async def catch_up(self, session_id: str, journal: list[e.StoredEvent]) -> None:
        """Translate a journal for a snapshot, and let other messages in between.

        What was translated is kept: a long session would be translated anew each time.
        """
        history, loop = self._history(session_id), asyncio.get_running_loop()
        begun_s = loop.time()
        for stored in journal:
            history.feed(stored)
            if loop.time() - begun_s > _SLICE_S:
                await asyncio.sleep(0)
                begun_s = loop.time()

    def _history(self, session_id: str) -> _History:
        known = self._histories.pop(session_id, None) or _History(self._translation())
        self._histories[session_id] = known
        while len(self._histories) > _MAX_HISTORIES:
            self._histories.pop(next(iter(self._histories)))
        return known

    def _translation(self) -> Translation:
        return Translation(self._tool_kinds, self._uri_of)

    def _stream(self, session_id: str) -> _Stream:
        return self._streams.setdefault(session_id, _Stream(self._translation()))

    def _queue(self, session_id: str, stream: _Stream, updates: list[wire.Update]) -> None:
        for update in updates:
            _append(stream.pending, update)
        if any(isinstance(one, _URGENT) for one in updates):
            self.flush(session_id)
        elif stream.pending and stream.timer is None:
            loop = asyncio.get_running_loop()
            stream.timer = loop.call_later(MERGE_S, self.flush, session_id)


def droppable_size(params: wire.UpdateParams) -> int | None:
    """Return the size of updates that a slow client may miss; None if it needs any of them.

    Only chunks may be missed: the whole answer and the call's whole result follow.
    """
    size = 0
    for update in params.updates:
        if not isinstance(update, _CHUNKS):
            return None
        size += len(update.content.text)
    return size


def joined(older: wire.UpdateParams, newer: wire.UpdateParams) -> wire.UpdateParams:
    """Return one notification with the updates of both."""
    updates = list(older.updates)
    for update in newer.updates:
        _append(updates, update)
    return newer.model_copy(update={"updates": updates})


def session_info(state: SessionState, *, is_interrupted: bool) -> wire.SessionInfo:
    """Return a session's summary for clients; ``is_interrupted`` as ``Session.is_cut_off``."""
    return wire.SessionInfo(
        session_id=state.session_id,
        title=state.title,
        mode=state.mode,
        model=state.model,
        status=state.status,
        turns=state.turns,
        is_interrupted=is_interrupted,
    )


def _append(pending: list[wire.Update], update: wire.Update) -> None:
    """Add an update; a chunk is joined with the previous chunk of the same source."""
    last = pending[-1] if pending else None
    if (
        isinstance(update, _CHUNKS)
        and type(last) is type(update)
        and _source(last) == _source(update)
    ):
        assert isinstance(last, _CHUNKS)
        joined = wire.TextContent(text=last.content.text + update.content.text)
        pending[-1] = last.model_copy(update={"content": joined})
    else:
        pending.append(update)


def _source(update: wire.Update | None) -> str:
    match update:
        case wire.AgentMessageChunk() | wire.AgentThoughtChunk():
            return update.step_id
        case wire.ToolCallOutput():
            return update.tool_call_id
        case _:
            return ""


def _add_piece(stream: _Stream, piece: wire.Update) -> None:
    match piece:
        case wire.AgentMessageChunk() | wire.AgentThoughtChunk():
            if stream.partial is None or stream.partial.step_id != piece.step_id:
                stream.partial = _Partial(piece.step_id)
            is_text = isinstance(piece, wire.AgentMessageChunk)
            (stream.partial.text if is_text else stream.partial.thought).append(piece.content.text)
        case wire.ChunksDiscarded():
            stream.partial = None
        case _:
            pass
