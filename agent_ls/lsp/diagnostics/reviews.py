"""Where the agent's open changes stand in documents, for all sessions of one editor.

Owns placing changes in the current text and announcing that they moved. Deciding about changes is
the session's part (``review/review.py``).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from agent_ls.domain import events as e
from agent_ls.domain.errors import AgentLsError, WorkspaceError
from agent_ls.domain.review import HunkState
from agent_ls.domain.sentences import counted
from agent_ls.loop.off_loop import off_loop
from agent_ls.lsp.connection.documents import DocumentStore
from agent_ls.lsp.connection.uris import uri_to_path
from agent_ls.lsp.workspace.editor_workspace import EditorWorkspace
from agent_ls.review.file_changes import FileLedger
from agent_ls.review.hunks import lines_of
from agent_ls.review.ledger import Ledger, TurnLedger
from agent_ls.review.places import HunkPlace, placed
from agent_ls.session.session import Session

_log = logging.getLogger(__name__)

_SETTLE_S = 0.2


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the agent and its current place."""

    session: Session
    turn: TurnLedger
    file: FileLedger
    placed: HunkPlace
    bottom: int
    """The last line an editor shows of the document, 0-based."""

    @property
    def first_line(self) -> int:
        """Return the first line, 0-based; for deleted lines, the line after them."""
        return min(self.placed.first, self.bottom)

    @property
    def last_line(self) -> int:
        """Return the last line, 0-based."""
        return max(self.first_line, min(self.placed.past - 1, self.bottom))

    @property
    def is_of_last_turn(self) -> bool:
        """Say whether its turn is the session's last."""
        last = self.session.state.turn
        return last is not None and last.turn_id == self.turn.turn_id

    def touches(self, first_line: int, last_line: int) -> bool:
        """Say whether the change shares a line with ``first_line`` to ``last_line``."""
        return self.first_line <= last_line and first_line <= self.last_line


class Reviews:
    """The changes of one editor's sessions; an EventListener of each session."""

    def __init__(
        self,
        documents: DocumentStore,
        workspace: EditorWorkspace,
        sessions: Callable[[], Iterable[Session]],
        changed: Callable[[], None],
        warn: Callable[[str], None],
    ) -> None:
        """``changed`` is called when changes come or go; ``warn`` shows a message to the user."""
        self._documents, self._workspace = documents, workspace
        self.sessions, self._changed, self._warn = sessions, changed, warn
        self._warned_of = set[str]()
        self._kept: dict[tuple[str, HunkState], tuple[object, list[Change]]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def on_event(self, stored: e.StoredEvent) -> None:
        """Announce soon that the changes are different."""
        if self._timer is None and isinstance(
            stored.event,
            e.EditApplied
            | e.CommandChanged
            | e.ChildEnded
            | e.ReviewDecided
            | e.ReviewApplied
            | e.FileRenamed,
        ):
            self._timer = asyncio.get_running_loop().call_later(_SETTLE_S, self._tell)

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        """Ignore streamed pieces."""

    def _tell(self) -> None:
        self._timer = None
        self._changed()

    async def of(self, uri: str, state: HunkState = "open") -> list[Change]:
        """Return the changes of a file in this state, in line order.

        A change that a newer turn changed again is left out.
        """
        document = self._documents.get(uri)
        path = uri_to_path(uri if document is None else document.uri)
        # Not a file URI: perhaps a path as the agent names it.
        shown = uri if path is None else self._workspace.shown(path.resolve())
        if shown is None:
            return []
        if document is None:
            there = await self.in_closed(shown, state)
            return [] if there is None else there[1]
        # A hover in a file that no session changed does not wait for a ledger.
        sessions = [one for one in self.sessions() if one.review.may_have(shown)]
        # A reopened session has the same id but a new review object, so ids alone are no cache key.
        now = (document.revision, [(one.review, one.review.version) for one in sessions])
        kept = self._kept.get((document.uri, state))
        if kept is not None and kept[0] == now:
            return kept[1]
        found = await self._in_text(sessions, shown, document.text, state)
        self._kept = {
            key: value for key, value in self._kept.items() if self._documents.get(key[0])
        }
        self._kept[document.uri, state] = now, found
        return found

    async def closed(self, most_files: int) -> dict[str, list[tuple[str, str, FileLedger]]]:
        """Return open changes of files not open in the editor: session id, turn id and ledger.

        Shape: by path, at most ``most_files``, newest turns first; includes files that other
        programs deleted.
        """
        found: dict[str, list[tuple[str, str, FileLedger]]] = {}
        async for session, turn in self.turns():
            for file in turn.files.values():
                if file.open():
                    found.setdefault(file.path, []).append((session.id, turn.turn_id, file))
        closed = self._workspace.closed_places(
            path for path, files in found.items() if any(file.has_place for _, _, file in files)
        )
        return {path: found[path] for path, _ in islice(closed, most_files)}

    async def in_closed(
        self, path: str, state: HunkState = "open"
    ) -> tuple[str, list[Change]] | None:
        """Return a closed file's text and its changes in this state; None when the file is gone.

        A binary file has the text "" and only its opaque changes.
        """
        sessions, text = list(self.sessions()), await self.text(path)
        if text is not None:
            return text, await self._in_text(sessions, path, text, state)
        try:
            is_there = await self._workspace.exists(path)
        except WorkspaceError:
            is_there = False
        if not is_there:
            return None
        changes = await self._in_text(sessions, path, "", state)
        return "", [one for one in changes if one.placed.hunk.kind == "opaque"]

    async def _in_text(
        self, sessions: Iterable[Session], path: str, text: str, state: HunkState
    ) -> list[Change]:
        """Return a file's changes in this state, placed in this text, in line order."""
        found: list[Change] = []
        # Editors show no line after the final line end.
        bottom = max(0, len(lines_of(text.removesuffix("\n"))) - 1)
        async for session, turn in self.turns(sessions):
            for file in turn.at(path):
                places = await self._placed(file, text) if file.those(state) else []
                changes = [
                    Change(session, turn, file, one, bottom)
                    for one in places
                    if one.hunk.state == state
                ]
                found += [one for one in changes if not _is_covered(one, found)]
        return sorted(found, key=lambda one: (one.first_line, one.last_line))

    async def at(
        self, uri: str, first_line: int, last_line: int, state: HunkState = "open"
    ) -> list[Change]:
        """Return the changes in this state that touch these lines."""
        return [one for one in await self.of(uri, state) if one.touches(first_line, last_line)]

    async def turns(
        self, sessions: Iterable[Session] | None = None
    ) -> AsyncIterator[tuple[Session, TurnLedger]]:
        """Yield all turns, newest first; a session whose review fails is logged and skipped."""
        for session in reversed(list(self.sessions() if sessions is None else sessions)):
            try:
                ledger = await session.review.ledger()
            except AgentLsError as error:
                _log.warning("no review of %s: %s", session.id, error)
                continue
            self._tell_lost(session, ledger)
            for turn in reversed(list(ledger.turns.values())):
                yield session, turn

    def _tell_lost(self, session: Session, ledger: Ledger) -> None:
        """Warn once per session whose journal lacks events: its review may be incomplete."""
        if ledger.lost_events and session.id not in self._warned_of:
            self._warned_of.add(session.id)
            self._warn(
                f"The store lacks {counted(ledger.lost_events, 'event')} of {session.id}. Changes "
                "of the agent's may be missing from its review, which can neither show nor undo "
                "those; compare your files with a commit or another copy."
            )

    async def text(self, path: str) -> str | None:
        """Return a file's text, the buffer's if open; None when unreadable."""
        try:
            return (await self._workspace.read(path)).text
        except WorkspaceError:
            return None

    async def text_with(self, file: FileLedger) -> str | None:
        """Return the text in which to place a file's changes: normally the buffer's.

        If buffer and disk diverged: the disk's text if it holds more of the agent's changes
        unchanged, as after a command that changed a file with unsaved text.
        """
        try:
            seen = await self._workspace.read(file.path)
        except WorkspaceError:
            return None
        if not seen.is_apart:
            return seen.text
        unsaved = await self._left_in(file, seen.text)
        return seen.on_disk if await self._left_in(file, seen.on_disk) > unsaved else seen.text

    async def _left_in(self, file: FileLedger, text: str | None) -> int:
        """Return how many open changes the text holds unchanged since the agent made them."""
        if text is None or not file.has_place:
            return int(text is None and not file.has_place)
        places = await self._placed(file, text)
        return sum(one.hunk.state == "open" and not one.is_changed for one in places)

    async def places(self, file: FileLedger) -> list[HunkPlace]:
        """Return the current places of a file's changes; whole-file changes are at line 0."""
        found = await self._placed(file, await self.text_with(file) or "")
        there = {one.hunk.id for one in found}
        whole = (one for one in file.hunks if one.kind != "text" and one.id not in there)
        return [*(HunkPlace(one, 0, 0, False) for one in whole), *found]

    async def _placed(self, file: FileLedger, text: str) -> list[HunkPlace]:
        return await off_loop(len(text), lambda: placed(file, text))


def place_beside(
    places: Sequence[tuple[str, int]], here: tuple[str, int], step: int
) -> tuple[str, int]:
    """Return the next of the sorted places after ``here``, or with ``step`` -1 the previous one.

    Wraps around at both ends.
    """
    if step > 0:
        return next((one for one in places if one > here), places[0])
    return next((one for one in reversed(places) if one < here), places[-1])


def _is_covered(change: Change, newer: Iterable[Change]) -> bool:
    """Say whether a newer turn changed the same place, so that the newer change goes first."""
    return change.placed.is_changed and any(
        one.turn is not change.turn and one.touches(change.first_line, change.last_line)
        for one in newer
    )
