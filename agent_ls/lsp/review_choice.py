"""What the commands of the review take: which of the agent's changes are meant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.mistakes import mistakes_said
from agent_ls.domain.review import HunkState
from agent_ls.lsp.reviews import Change, Reviews
from agent_ls.lsp.uris import uri_to_path
from agent_ls.lsp.wire import Wire
from agent_ls.session.review_ledger import Selection
from agent_ls.session.session import Session


class ReviewArgument(Wire):
    """The argument of ``agent-ls.review.*`` when it is an object; the more is said, the fewer.

    A key that is not known is an error: left out, the argument would mean more than was said.
    """

    model_config = ConfigDict(extra="forbid")

    uri: str | None = None
    """A file; with ``line`` only the changes on that line."""
    line: int | None = None
    """0-based."""
    last_line: int | None = None
    turn_id: str | None = None
    call_id: str | None = None
    """A call of the turn, for ``agent-ls.restore``."""
    hunk_ids: list[str] | None = None
    session_id: str | None = None

    def refuse(self, *names: str, because: str) -> None:
        """Refuse what would be left unheard. Errors: ``AgentLsError`` when one of these is said."""
        said = [name for name in names if getattr(self, name) is not None]
        if said:
            keys = ", ".join(to_camel(name) for name in said)
            raise AgentLsError(f"agent-ls: {keys} is not understood here: {because}.")


class Chooser:
    """Finds the changes that an argument means."""

    def __init__(self, reviews: Reviews, shown: Any) -> None:
        """Take the changes, and how a path outside becomes one of the agent's."""
        self._reviews = reviews
        self._shown = shown

    async def chosen(self, argument: Any, state: HunkState) -> list[tuple[Session, Selection]]:
        """Return the changes by session.

        Nothing means the newest turn that has some; words are ``all``, a turn's id, or a file.
        Errors: ``AgentLsError`` for an argument that is not understood, or a part of one.
        """
        if argument == "all":
            return [(one, Selection()) for one in await self._sessions()]
        asked = read_argument(argument)
        if asked == ReviewArgument():
            return await self._newest(state)
        asked.refuse("call_id", because="only agent-ls.restore goes back to a call")
        if asked.line is None:
            asked.refuse("last_line", because="without line it means nothing")
        elif asked.uri is None:
            asked.refuse("line", because="without uri it means nothing")
        else:
            return await self._on_lines(asked, asked.uri, asked.line, state)
        if asked.turn_id is not None and asked.turn_id not in await self._turn_ids():
            raise AgentLsError(f"No changes are known of a turn {asked.turn_id}.")
        path = None if asked.uri is None else self._path(asked.uri)
        hunks = None if asked.hunk_ids is None else frozenset(asked.hunk_ids)
        return [
            (one, Selection(asked.turn_id, path, hunks))
            for one in await self._sessions()
            if asked.session_id in (None, one.id)
        ]

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

    async def _turn_ids(self) -> set[str]:
        return {turn.turn_id async for _, turn in self._reviews.turns()}

    async def _newest(self, state: HunkState) -> list[tuple[Session, Selection]]:
        async for session, turn in self._reviews.turns():
            if any(file.those(state) for file in turn.files.values()):
                return [(session, Selection(turn_id=turn.turn_id))]
        return []

    def _path(self, uri: str) -> str:
        path = uri_to_path(uri)
        return (self._shown(path.resolve()) if path else None) or uri


def read_argument(argument: Any) -> ReviewArgument:
    """Return what a command was given. Errors: ``AgentLsError`` when it is not understood."""
    if isinstance(argument, str):
        if argument.startswith("trn_"):
            return ReviewArgument(turn_id=argument)
        return ReviewArgument(uri=argument)
    try:
        return ReviewArgument.model_validate({} if argument is None else argument)
    except ValidationError as error:
        raise AgentLsError(
            f"agent-ls.review: the argument is not understood: {mistakes_said(error)}."
        ) from None


def by_session(changes: Iterable[Change]) -> list[tuple[Session, Selection]]:
    """Return the selections that mean exactly these changes."""
    found: dict[str, tuple[Session, set[str]]] = {}
    for one in changes:
        found.setdefault(one.session.id, (one.session, set()))[1].add(one.placed.hunk.id)
    return [(session, Selection(hunks=frozenset(ids))) for session, ids in found.values()]
