"""All sessions of one server: creates, opens, lists and closes them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence

from agent_ls.domain.errors import StoreError
from agent_ls.domain.events import (
    SessionArchived,
    SessionCreated,
    SessionRenamed,
    StoredEvent,
    TurnStarted,
)
from agent_ls.domain.ids import Ids
from agent_ls.domain.modes import Mode
from agent_ls.loop.ports.checks import CompileChecks
from agent_ls.loop.ports.clock import Clock
from agent_ls.loop.ports.codeintel import CodeIntel
from agent_ls.loop.ports.commands import CommandChange
from agent_ls.loop.ports.extension import Commands
from agent_ls.loop.ports.models import ModelList
from agent_ls.loop.ports.store import SessionSummary, Store
from agent_ls.loop.ports.tools import ToolSource
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.folding import fold_all
from agent_ls.loop.state.recorder import Recorder
from agent_ls.review.followed_ledger import has_open_changes
from agent_ls.session.forking import fork_journal, fork_seq_after, fork_seq_before
from agent_ls.session.held_leases import HeldLeases, Lease, account_name, own_identity
from agent_ls.session.loading import load_settled, refuse_other_kind
from agent_ls.session.open_sessions import OpenSessions
from agent_ls.session.session import BuildKit, Session
from agent_ls.session.undone_changes import undone_turn

_log = logging.getLogger(__name__)

_SEARCHED = 500
"""How many prompts and answers a search finds at most."""
_REVIEW_SEARCHED = 8
"""How many of the newest sessions are searched for open changes."""


class Sessions:
    """The sessions that this process may write."""

    def __init__(
        self,
        *,
        store: Store,
        workspace: Workspace,
        checks: CompileChecks,
        custom_commands: Commands,
        code: CodeIntel,
        tool_source: ToolSource | None = None,
        models: Callable[[], Awaitable[ModelList]],
        clock: Clock,
        ids: Ids,
        kit_builder: Callable[[], BuildKit],
        mode: Mode,
        model: str,
        is_attended: bool,
        is_dry_run: bool = False,
        on_close: Callable[[], Awaitable[None]],
        on_taken: Callable[[str], None] = lambda _session_id: None,
    ) -> None:
        """``mode`` and ``model`` are the defaults of new sessions.

        ``kit_builder`` reads files, so it is called in a thread, for each session.
        ``models`` lists those that can be used. ``on_close`` closes what the sessions use.
        ``on_taken`` is called with the id of a session that another process has continued.
        """
        self.checks = checks
        """The checkers used by the sessions' turns."""
        self.custom_commands = custom_commands
        self.code = code
        self.tool_source = tool_source
        self.models = models
        """Returns the models that can be used. Errors: ``ProviderError``."""
        self._is_dry_run = is_dry_run
        self._store = store
        self._on_close = on_close
        self._workspace = workspace
        self._clock = clock
        self._ids = ids
        self._kit_builder = kit_builder
        self._mode = mode
        self._model = model
        self._is_attended = is_attended
        self._leases = HeldLeases(store, f"{own_identity()}:{ids.new('ses')}")
        self._open = OpenSessions(store, self._leases, clock, on_taken)
        self._decided: dict[str, int] = {}
        """By id, the ``updated_ms`` at which a session had no open changes left."""
        self._opening = asyncio.Lock()
        self._empty: set[str] = set()
        """Ids of the sessions that were begun or opened here before anything was said in them."""

    @property
    def root_uris(self) -> tuple[str, ...]:
        """Return the folders' URIs, sorted, as sessions store them."""
        return tuple(sorted(root.path.as_uri() for root in self._workspace.roots))

    async def create(self, *, mode: Mode | None = None, model: str | None = None) -> Session:
        """Create a session."""
        session_id = self._ids.new("ses")
        self._empty.add(session_id)
        lease = await self._leases.take(session_id)
        recorder = Recorder(session_id, self._store, self._clock)
        await recorder.emit(self._creation(session_id, mode or self._mode, model or self._model))
        return await self._opened(recorder, lease)

    def _creation(self, session_id: str, mode: Mode, model: str) -> SessionCreated:
        return SessionCreated(
            session_id=session_id,
            roots=self.root_uris,
            mode=mode,
            model=model,
            dry_run=self._is_dry_run,
            user=account_name(),
        )

    async def fresh(self, *, mode: Mode | None = None, model: str | None = None) -> Session:
        """Return a session without prompts: a stored one that is free, or a new one.

        For faces that need a session before the first prompt. Reuse avoids empty sessions.
        """
        for one in await self.list(with_empty=True):
            if not one.is_empty or one.session_id in self._open:
                continue
            if not await self._leases.is_free(one.session_id):
                continue
            try:
                session = await self.open(one.session_id)
            except StoreError as error:
                _log.info("could not take over %s: %s", one.session_id, error)
                break
            await session.set_mode(mode or self._mode)
            await session.set_model(model or self._model)
            return session
        return await self.create(mode=mode, model=model)

    async def open(self, session_id: str, *, to_look: bool = False) -> Session:
        """Load a session and settle what a dead process left open; its turn is not resumed.

        A session opened ``to_look`` is given to any process that wants to use it.
        Errors: ``StoreError`` when it is unknown, of the other kind (dry run or not), or another
        process writes it.
        """
        async with self._opening:
            was_open = session_id in self._open
            known = await self._open.used(session_id, to_look=to_look)
            if known is not None:
                return known
            try:
                lease = await self._leases.take(session_id, is_loose=to_look)
            except StoreError:
                if was_open:
                    self._open.on_taken(session_id)
                raise
            try:
                recorder = await load_settled(
                    session_id,
                    self._store,
                    self._workspace,
                    self._clock,
                    is_dry_run=self._is_dry_run,
                )
                if not recorder.state.turns:
                    self._empty.add(session_id)
                return await self._opened(recorder, lease)
            except BaseException:
                await self._leases.release(lease)
                raise

    async def resume(self, session_id: str) -> Session:
        """Open a session and resume its interrupted turn."""
        session = await self.open(session_id)
        session.resume()
        return session

    async def list(
        self, *, everywhere: bool = False, with_empty: bool = False, parent_id: str = ""
    ) -> list[SessionSummary]:
        """Return the sessions of these folders, newest first, or those of all folders.

        Sessions in which nobody has said anything are left out unless ``with_empty``.
        ``parent_id`` selects the sub-agents of a session, in the order in which they started.
        """
        if parent_id:
            found = await self._store.sessions(parent_id=parent_id)
            return sorted(found, key=lambda one: one.session_id)
        found = await self._store.sessions(None if everywhere else self.root_uris)
        return [one for one in found if with_empty or not one.is_empty]

    async def search(self, words: str, *, everywhere: bool = False) -> dict[str, str]:
        """Return an excerpt by session of prompts and answers that contain all the words.

        Only the newest hits count.
        """
        roots = None if everywhere else self.root_uris
        hits = await self._store.search(words, roots, limit=_SEARCHED)
        return {hit.session_id: hit.text for hit in reversed(hits)}

    async def note(self, session_id: str, event: SessionRenamed | SessionArchived) -> None:
        """Record what lists show of a session, which need not be open.

        Errors: ``StoreError`` when there is none, or another process writes it.
        """
        known = self._open.get(session_id)
        if known is not None:
            await known.note(event)
            return
        async with self._opening:
            lease = await self._leases.take(session_id)
            try:
                journal = await self.journal(session_id)
                await Recorder(session_id, self._store, self._clock, journal).emit(event)
            finally:
                await self._leases.release(lease)

    async def journal(self, session_id: str) -> Sequence[StoredEvent]:
        """Return all events of a session, which need not be open.

        Errors: ``StoreError`` when there is none of this id.
        """
        known = self._open.get(session_id)
        journal = await (known.journal() if known else self._store.load(session_id))
        if not journal:
            raise StoreError(f"there is no session {session_id}; list them to see which are")
        return journal

    async def leave(self, session_id: str) -> None:
        """Close a session, if it is open, and let others have it; it can be opened again."""
        if (known := self._open.get(session_id)) is not None:
            await self._open.leave(known, "user")

    async def delete(self, session_id: str) -> None:
        """Delete a session and its sub-agents' sessions for good.

        Errors: ``StoreError`` when it works, is unknown, or another process writes it.
        """
        known = self._open.get(session_id)
        if known is not None and known.is_busy and not known.is_cut_off:
            raise StoreError(f"session {session_id} works right now; stop it, then delete it")
        async with self._opening:
            await self._open.drop(session_id)
            # A dead process may still hold it.
            await self._leases.release(await self._leases.take(session_id))
            if not await self._store.delete(session_id):
                raise StoreError(f"there is no session {session_id}; list them to see which are")

    async def interrupted(self) -> list[SessionSummary]:
        """Return the sessions of these folders with an interrupted turn, newest first."""
        found: list[SessionSummary] = []
        for one in await self.list():
            known = self._open.get(one.session_id)
            if known is not None and known.is_cut_off:
                # It was opened for review only; its turn still waits for a resume.
                found.append(one)
            elif (
                known is None
                and one.status in ("running", "waiting")
                and await self._leases.is_free(one.session_id)
                and await self._is_my_kind(one.session_id)
            ):
                found.append(one)
        return found

    async def to_review(self) -> SessionSummary | None:
        """Return the newest free session of these folders with open changes.

        Only the last few sessions are searched.
        """
        for one in [one for one in await self.list() if one.turns][:_REVIEW_SEARCHED]:
            known_at = self._decided.get(one.session_id)
            if one.session_id in self._open or known_at == one.updated_ms:
                continue
            if not await self._leases.is_free(one.session_id, to_look=True):
                continue
            try:
                if await self._is_my_kind(one.session_id) and await has_open_changes(
                    one.session_id, self._store
                ):
                    return one
            except StoreError as error:
                # Opening that session reports the error; older ones can still be reviewed.
                _log.warning("no look at %s for open changes: %s", one.session_id, error)
                continue
            self._decided[one.session_id] = one.updated_ms
        return None

    async def fork(
        self, session_id: str, *, turn: str | None = None, is_before: bool = False
    ) -> Session:
        """Fork a session after a turn (its id, or its number from 1); files stay as they are.

        Without ``turn``: after the newest finished turn. With ``is_before``: as it was before the
        turn, which may still run.
        Errors: ``StoreError`` when there is no such session or turn, the turn still runs, or the
        session is of the other kind (dry run or not).
        """
        journal = await self.journal(session_id)
        refuse_other_kind(journal, is_dry_run=self._is_dry_run)
        new_id = self._ids.new("ses")
        if turn is not None and is_before:
            place = fork_seq_before(journal, turn)
        else:
            place = fork_seq_after(journal, turn)
        events = fork_journal(journal, new_id, place)
        await self._store.append(events, durable=True)
        return await self.open(new_id)

    async def with_undone(
        self, prompt: str, output: str, changes: Sequence[CommandChange]
    ) -> Session:
        """Create a session with one turn whose changes, made elsewhere, are all undone.

        ``redo`` merges them into the files. Errors: ``StoreError``.
        """
        session_id = self._ids.new("ses")
        created = self._creation(session_id, self._mode, self._model)
        begun = TurnStarted(turn_id=self._ids.new("trn"), prompt=prompt)
        journal = await undone_turn(
            created,
            begun,
            output,
            changes,
            blobs=self._store,
            at_ms=self._clock.now_ms(),
            new_id=lambda: self._ids.new("rev"),
        )
        # At once: no other process may find the changes before they are undone.
        await self._store.append(journal, durable=True)
        return await self.open(session_id)

    async def content(self, digest: str) -> bytes | None:
        """Return the bytes that an event of any session names by a digest; None: they are gone.

        Errors: ``StoreError`` when they cannot be read.
        """
        return await self._store.get_blob(digest)

    async def sub_agent(self, session_id: str) -> list[StoredEvent]:
        """Return what a sub-agent has done so far; empty for the id of anything else.

        Errors: ``StoreError`` when it cannot be read.
        """
        first = await self._store.beginning(session_id)
        if first is None or not fold_all([first]).is_child:
            return []
        return await self._store.load(session_id)

    async def find(self, session_id: str) -> Session | None:
        """Return a session that was opened here, reopened if it had to be closed; else None.

        Errors: ``StoreError`` when another process writes it.
        """
        return await self.open(session_id) if self._open.is_known(session_id) else None

    @property
    def is_settled(self) -> bool:
        """Say whether closing waits for no decision that is under way."""
        return self._open.is_settled

    async def settled(self) -> None:
        """Wait for the decisions that are under way."""
        await self._open.settled()

    async def close(self, *, is_kept: Callable[[str], bool] = lambda _session_id: True) -> None:
        """Close the sessions, release their leases, and close what they use.

        A session that was used here and is still empty is deleted unless ``is_kept``.
        """
        await self._open.close()
        left = [one for one in self._empty if not is_kept(one)]
        if left:
            await self._delete_empty(left)
        await self._on_close()

    async def _delete_empty(self, session_ids: Collection[str]) -> None:
        try:
            for one in await self._store.sessions():
                if one.session_id in session_ids and one.is_empty:
                    await self._store.delete(one.session_id)
        except StoreError as error:
            # Another process uses it, or the store is away; lists leave it out.
            _log.info("an empty session was not deleted: %s", error)

    async def _is_my_kind(self, session_id: str) -> bool:
        first = await self._store.beginning(session_id)
        return first is not None and fold_all([first]).is_dry_run is self._is_dry_run

    async def _opened(self, recorder: Recorder, lease: Lease) -> Session:
        build_kit = await asyncio.to_thread(self._kit_builder)
        session = Session(
            recorder,
            self._store,
            build_kit,
            is_attended=self._is_attended,
            claim=lambda: self._open.claim(session),
            claimed=lambda: self._open.claimed(session),
        )
        await self._open.add(session, lease)
        return session
