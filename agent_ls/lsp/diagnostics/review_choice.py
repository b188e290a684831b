"""Which of the agent's changes a review command's argument selects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic.alias_generators import to_camel

from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.review import HunkState
from agent_ls.lsp.connection.uris import uri_to_path
from agent_ls.lsp.diagnostics.reviews import Change, Reviews
from agent_ls.lsp.wire import Deciding, Line, Name
from agent_ls.review.file_changes import FileLedger
from agent_ls.review.ledger import Selection, TurnLedger
from agent_ls.session.session import Session


class ReviewArgument(Deciding):
    """The argument of ``agent-ls.review.*`` as an object: changes that fit every given field."""

    uri: Name | None = None
    """A file; with ``line`` only the changes on that line."""
    line: Line | None = None
    """0-based."""
    last_line: Line | None = None
    turn_id: Name | None = None
    call_id: Name | None = None
    """A call of the turn, for ``agent-ls.restore``."""
    hunk_ids: Annotated[list[Name], Field(min_length=1)] | None = None
    session_id: Name | None = None
    everything: Literal[True] | None = None
    """All changes of all sessions; stands alone."""

    @model_validator(mode="before")
    @classmethod
    def _from_words(cls, given: object) -> object:
        if given == "all":
            return {"everything": True}
        if isinstance(given, str):
            return {"turnId" if given.startswith("trn_") else "uri": given}
        return given

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.everything and self.model_fields_set != {"everything"}:
            raise ValueError("everything stands alone")
        if self.last_line is not None and self.line is not None and self.last_line < self.line:
            raise ValueError("lastLine is before line")
        return self

    def refuse(self, *names: str, because: str) -> None:
        """Raise ``AgentLsError`` if one of these arguments is set: it would be ignored."""
        said = [name for name in names if getattr(self, name) is not None]
        if said:
            keys = ", ".join(to_camel(name) for name in said)
            raise AgentLsError(f"agent-ls: {keys} is not understood here: {because}.")


class Chooser:
    """Resolves review arguments to changes."""

    def __init__(self, reviews: Reviews, shown: Any) -> None:
        """``shown`` maps an absolute path to the agent's name for it, or None."""
        self._reviews = reviews
        self._shown = shown

    async def chosen(
        self, asked: ReviewArgument, state: HunkState
    ) -> list[tuple[Session, Selection]]:
        """Return the selected changes, one selection per session.

        An empty argument selects the newest turn that has changes in ``state``.
        Errors: ``AgentLsError`` for an invalid or unknown argument.
        """
        if asked.everything:
            return [(one, Selection()) for one in await self._sessions()]
        if asked == ReviewArgument():
            return await self._newest(state)
        asked.refuse("call_id", because="only agent-ls.restore goes back to a call")
        if asked.line is None:
            asked.refuse("last_line", because="without line it means nothing")
        elif asked.uri is None:
            asked.refuse("line", because="without uri it means nothing")
        path = None if asked.uri is None else await self.path(asked.uri)
        ids = asked.session_id, asked.turn_id
        if asked.uri is not None and (asked.line is not None or not await self._knows(path)):
            await self.named(*ids, None, asked.hunk_ids)
            # A line without changes is no error: the selection is empty.
            return await self._on_lines(asked, asked.uri, asked.line or 0, state)
        return await self.named(*ids, path, asked.hunk_ids)

    async def named(
        self,
        session_id: str | None,
        turn_id: str | None,
        path: str | None,
        hunk_ids: Sequence[str] | None,
    ) -> list[tuple[Session, Selection]]:
        """Return the changes with these ids and this path, one selection per session.

        Errors: ``AgentLsError`` for an unknown id or path, and for a hunk id in several sessions.
        """
        turns = await self.turns(session_id, turn_id)
        files = [
            (session, one)
            for session, turn in turns
            for one in turn.files.values()
            if path in (None, one.path)
        ]
        if path is not None and not files:
            raise AgentLsError(f"The agent changed no {path} there.")
        if hunk_ids is None:
            meant = {session.id: session for session, _ in (turns if path is None else files)}
            return [(one, Selection(turn_id, path)) for one in meant.values()]
        chosen: dict[str, tuple[Session, set[str]]] = {}
        for hunk_id in hunk_ids:
            session = _only(hunk_id, files)
            chosen.setdefault(session.id, (session, set()))[1].add(hunk_id)
        return [
            (session, Selection(turn_id, path, frozenset(ids))) for session, ids in chosen.values()
        ]

    async def turns(
        self, session_id: str | None, turn_id: str | None
    ) -> list[tuple[Session, TurnLedger]]:
        """Return the matching turns of all sessions, newest first.

        Errors: ``AgentLsError`` for an unknown id.
        """
        if session_id is not None and session_id not in [
            one.id for one in self._reviews.sessions()
        ]:
            raise AgentLsError(f"No changes are known of a session {session_id}.")
        found = [
            (session, turn)
            async for session, turn in self._reviews.turns()
            if session_id in (None, session.id) and turn_id in (None, turn.turn_id)
        ]
        if turn_id is not None and not found:
            raise AgentLsError(f"No changes are known of a turn {turn_id}.")
        return found

    async def turn(self, session_id: str | None, turn_id: str) -> tuple[Session, TurnLedger]:
        """Return the turn with this id.

        Errors: ``AgentLsError`` for an unknown id, or a turn in several sessions: a forked session
        has the turns of its source.
        """
        found = await self.turns(session_id, turn_id)
        if len(found) > 1:
            raise _ambiguous(f"a turn {turn_id}", [session.id for session, _ in found])
        return found[0]

    async def path(self, uri: str) -> str:
        """Return the agent's name for a file.

        Errors: ``AgentLsError`` for a file outside the open folders that no turn changed.
        """
        found = uri_to_path(uri)
        shown = self._shown(found.resolve()) if found else None
        if shown is None and not await self._knows(uri):
            raise AgentLsError(f"{uri} is no file of the open folders.")
        return shown or uri

    async def _knows(self, path: str | None) -> bool:
        return any([bool(turn.at(path or "")) async for _, turn in self._reviews.turns()])

    async def _on_lines(
        self, asked: ReviewArgument, uri: str, line: int, state: HunkState
    ) -> list[tuple[Session, Selection]]:
        last = line if asked.last_line is None else asked.last_line
        changes = [
            one
            for one in await self._reviews.of(uri, state)
            if one.touches(line, last)
            and asked.turn_id in (None, one.turn.turn_id)
            and asked.session_id in (None, one.session.id)
            and (asked.hunk_ids is None or one.placed.hunk.id in asked.hunk_ids)
        ]
        return by_session(changes)

    async def _sessions(self) -> list[Session]:
        found: dict[str, Session] = {}
        async for session, _ in self._reviews.turns():
            found[session.id] = session
        return list(found.values())

    async def _newest(self, state: HunkState) -> list[tuple[Session, Selection]]:
        lost: list[tuple[Session, Selection]] = []
        async for session, turn in self._reviews.turns():
            if any(file.those(state) for file in turn.files.values()):
                return [(session, Selection(turn_id=turn.turn_id))]
            if turn.lost and not lost:
                lost = [(session, Selection(turn_id=turn.turn_id))]
        # There is nothing to decide about, but something to tell.
        return lost


def by_session(changes: Iterable[Change]) -> list[tuple[Session, Selection]]:
    """Return selections of exactly these changes, one per session."""
    found: dict[str, tuple[Session, set[str]]] = {}
    for one in changes:
        found.setdefault(one.session.id, (one.session, set()))[1].add(one.placed.hunk.id)
    return [(session, Selection(hunks=frozenset(ids))) for session, ids in found.values()]


def _only(hunk_id: str, files: Iterable[tuple[Session, FileLedger]]) -> Session:
    """Return the only session with this hunk id; several sessions may use the same id."""
    found = {
        session.id: session
        for session, file in files
        if any(one.id == hunk_id for one in file.hunks)
    }
    if not found:
        raise AgentLsError(
            f"There is no such change any more: {hunk_id}; agent-ls.review.list names those there "
            "are."
        )
    if len(found) > 1:
        raise _ambiguous(f"a change {hunk_id}", found)
    return next(iter(found.values()))


def _ambiguous(what: str, session_ids: Iterable[str]) -> AgentLsError:
    return AgentLsError(
        f"More than one session has {what}: say with sessionId which is meant, of "
        f"{', '.join(session_ids)}."
    )
