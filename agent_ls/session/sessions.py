"""All sessions of one server: made, found again after a crash, listed, closed."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

from agent_ls.domain.errors import StoreError
from agent_ls.domain.events import SessionCreated
from agent_ls.domain.ids import Ids
from agent_ls.domain.modes import Mode
from agent_ls.loop.folding import fold_all
from agent_ls.loop.ports.checks import CompileChecks
from agent_ls.loop.ports.clock import Clock
from agent_ls.loop.ports.store import SessionSummary, Store
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.recorder import Recorder
from agent_ls.session.forking import forked, place_of_turn
from agent_ls.session.held_leases import HeldLeases, Lease
from agent_ls.session.loading import load_settled, refuse_other_kind
from agent_ls.session.open_changes import has_open_changes
from agent_ls.session.session import BuildKit, Session

_log = logging.getLogger(__name__)

_RENEW_S = 20.0
_KEPT = 8
"""So many sessions stay open; of more, those that were used longest ago and do nothing close."""
_LOOKED_AT = 8
"""So many of the newest sessions are looked at for open changes."""


class Sessions:
    """The sessions that this process may write."""

    def __init__(
        self,
        *,
        store: Store,
        workspace: Workspace,
        checks: CompileChecks,
        clock: Clock,
        ids: Ids,
        build_kit: BuildKit,
        mode: Mode,
        model: str,
        is_attended: bool,
        is_dry_run: bool = False,
        on_close: Callable[[], Awaitable[None]],
        on_taken: Callable[[str], None] = lambda _session_id: None,
    ) -> None:
        """Take the parts and the defaults of new sessions.

        ``on_close`` ends what they use; ``on_taken`` hears of sessions that others went on with.
        """
        self.checks = checks
        """The checkers that their turns ask."""
        self._is_dry_run = is_dry_run
        self._store = store
        self._on_close, self._on_taken = on_close, on_taken
        self._workspace = workspace
        self._clock = clock
        self._ids = ids
        self._build_kit = build_kit
        self._mode = mode
        self._model = model
        self._is_attended = is_attended
        self._leases = HeldLeases(store, f"{socket.gethostname()}:{os.getpid()}:{ids.new('ses')}")
        self._open: dict[str, Session] = {}
        """The one that was used last comes last."""
        self._lease_of: dict[Session, Lease] = {}
        """Those of the open ones, and of the ones that are just closing."""
        self._set_aside: set[str] = set()
        """Closed here while their faces may still know them."""
        self._decided: dict[str, int] = {}
        """When sessions were written last that were seen without open changes, by id."""
        self._opening = asyncio.Lock()
        self._renewing: asyncio.Task[None] | None = None

    @property
    def root_uris(self) -> tuple[str, ...]:
        """Return the folders' URIs, sorted, as sessions remember them."""
        return tuple(sorted(root.path.as_uri() for root in self._workspace.roots))

    async def create(self, *, mode: Mode | None = None, model: str | None = None) -> Session:
        """Begin a new session."""
        session_id = self._ids.new("ses")
        lease = await self._leases.take(session_id)
        recorder = Recorder(session_id, self._store, self._clock)
        await recorder.emit(
            SessionCreated(
                session_id=session_id,
                roots=self.root_uris,
                mode=mode or self._mode,
                model=model or self._model,
                dry_run=self._is_dry_run,
            )
        )
        return await self._opened(recorder, lease)

    async def fresh(self, *, mode: Mode | None = None, model: str | None = None) -> Session:
        """Return a session in which nothing was said yet: an old one nobody has open, or a new one.

        For faces that need a session before the person says anything: looking leaves none behind.
        """
        for one in await self.list():
            if one.turns or one.status != "new" or one.session_id in self._open:
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
        """Load a session and settle what a dead process left open; its turn does not go on.

        One that is opened ``to_look`` goes to whoever wants to use it, here or elsewhere.
        Errors: ``StoreError`` when it is unknown, another process writes it, or one of the two
        is a dry run and the other is not.
        """
        async with self._opening:
            known = self._open.get(session_id)
            if known is not None:
                is_current = to_look or await self._tighten(known)
                # It may have been left while that was asked.
                is_here = self._open.pop(session_id, None) is known
                if is_here and is_current and not known.is_closed:
                    self._open[session_id] = known
                    return known
                # The store takes nothing of it any more; what is stored is the truth.
                await self._given_back(known, "reloading")
            try:
                lease = await self._leases.take(session_id, is_loose=to_look)
            except StoreError:
                if known is not None:
                    self._on_taken(session_id)
                raise
            try:
                recorder = await load_settled(
                    session_id,
                    self._store,
                    self._workspace,
                    self._clock,
                    is_dry_run=self._is_dry_run,
                )
                return await self._opened(recorder, lease)
            except BaseException:
                await self._leases.release(lease)
                raise

    async def resume(self, session_id: str) -> Session:
        """Open a session and go on with its turn if that was cut off."""
        session = await self.open(session_id)
        session.resume()
        return session

    async def list(self) -> list[SessionSummary]:
        """Return the sessions of these folders, newest first."""
        return await self._store.sessions(self.root_uris)

    async def interrupted(self) -> list[SessionSummary]:
        """Return the sessions of these folders whose turn was cut off, newest first."""
        found: list[SessionSummary] = []
        for one in await self.list():
            known = self._open.get(one.session_id)
            if known is not None and known.is_cut_off:
                # It was opened to be looked at, and nobody said yet that it goes on.
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
        """Return the newest session of these folders with changes to decide about, of those that
        nobody has open; what is older than the last few is not looked at.
        """
        for one in [one for one in await self.list() if one.turns][:_LOOKED_AT]:
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
                # Whoever opens it is told; what is open in older ones is there all the same.
                _log.warning("no look at %s for open changes: %s", one.session_id, error)
                continue
            self._decided[one.session_id] = one.updated_ms
        return None

    async def fork(self, session_id: str, *, turn: str | None = None) -> Session:
        """Begin a session that knows what another one knew after a turn: its id, or number from 1.

        By default after the newest turn that is over. The files are not taken back.
        Errors: ``StoreError`` when there is no such session or turn, the turn still runs, or one
        is a dry run and the other is not.
        """
        known = self._open.get(session_id)
        journal = await (known.journal() if known else self._store.load(session_id))
        if not journal:
            raise StoreError(f"there is no session {session_id}; list them to see which are")
        refuse_other_kind(journal, is_dry_run=self._is_dry_run)
        new_id = self._ids.new("ses")
        events = forked(journal, new_id, place_of_turn(journal, turn), self._clock.now_ms())
        await self._store.append(events, durable=True)
        return await self.open(new_id)

    async def find(self, session_id: str) -> Session | None:
        """Return a session that is open here, or was until it had to be closed.

        Errors: ``StoreError`` when another process writes it meanwhile.
        """
        if session_id not in self._open and session_id not in self._set_aside:
            return None
        return await self.open(session_id)

    async def close(self) -> None:
        """End what runs, give the leases back, close what the sessions use.

        What fails on the way is logged, and keeps nothing of the rest from being done.
        """
        if self._renewing is not None:
            self._renewing.cancel()
        ended = await asyncio.gather(
            *(session.close() for session in self._open.values()), return_exceptions=True
        )
        self._open.clear()
        released = await asyncio.gather(
            *(self._leases.release(lease) for lease in self._leases.held),
            return_exceptions=True,
        )
        for failure in (*ended, *released):
            if isinstance(failure, StoreError):
                _log.warning("a session did not close in order: %s", failure)
            elif isinstance(failure, Exception):
                _log.error("a session did not close in order", exc_info=failure)
        self._lease_of.clear()
        await self._on_close()

    async def _is_my_kind(self, session_id: str) -> bool:
        first = await self._store.beginning(session_id)
        return first is not None and fold_all([first]).is_dry_run is self._is_dry_run

    async def _opened(self, recorder: Recorder, lease: Lease) -> Session:
        session = Session(
            recorder,
            self._store,
            self._build_kit,
            is_attended=self._is_attended,
            claim=lambda: self._claim(session),
            claimed=lambda: self._claimed(session),
        )
        self._set_aside.discard(session.id)
        self._lease_of[session] = lease
        idle = [one for one in self._open.values() if one.is_cut_off or not one.is_busy]
        self._open[session.id] = session
        if self._renewing is None:
            self._renewing = asyncio.create_task(self._renew_leases())
        for one in idle[: max(0, len(self._open) - _KEPT)]:
            await self._leave(one, "making room")
        return session

    async def _leave(self, session: Session, by: str) -> None:
        """Close one session and give its lease back; whoever looks for it opens it again."""
        self._open.pop(session.id, None)
        self._set_aside.add(session.id)
        await self._given_back(session, by)

    async def _given_back(self, session: Session, by: str) -> None:
        try:
            await session.close(by)
        except StoreError as error:
            _log.warning("session %s did not close in order: %s", session.id, error)
        lease = self._lease_of.pop(session, None)
        try:
            if lease is not None:
                await self._leases.release(lease)
        except StoreError as error:
            _log.warning("could not give the lease on %s back: %s", session.id, error)

    def _is_open(self, session: Session) -> bool:
        """Say whether it is open, and not another that was loaded in its place."""
        return self._open.get(session.id) is session

    async def _claim(self, session: Session) -> None:
        """Hold a session for certain before something is decided in it.

        Errors: ``StoreError`` when another process went on with it while it was looked at, or it
        was closed here.
        """
        is_held = self._is_open(session) and await self._tighten(session)
        await self._refuse_lost(session, is_held=is_held)

    @asynccontextmanager
    async def _claimed(self, session: Session) -> AsyncGenerator[None]:
        """Hold a session for certain meanwhile; then it is looked at again, if it was before.

        Errors: as of ``_claim``.
        """
        is_held = self._is_open(session)
        if is_held:
            is_unwritten = partial(self._is_unwritten, session)
            async with self._leases.firmly(self._lease_of[session], is_unwritten) as is_held:
                if is_held and self._is_open(session):
                    yield
                    return
        await self._refuse_lost(session, is_held=is_held)

    async def _refuse_lost(self, session: Session, *, is_held: bool) -> None:
        if not self._is_open(session):
            raise StoreError(
                f"session {session.id} was closed here; open it again (agent-ls.session.resume)"
            )
        if not is_held:
            await self._taken(session)
            raise StoreError(
                f"another agent-ls went on with session {session.id}; look at its changes there, "
                "or again here when it is closed"
            )

    async def _tighten(self, session: Session) -> bool:
        lease = self._lease_of[session]
        return await self._leases.tighten(lease, partial(self._is_unwritten, session))

    async def _is_unwritten(self, session: Session) -> bool:
        journal = await self._store.load(session.id)
        return not journal or journal[-1].seq <= session.state.seq

    async def _taken(self, session: Session) -> None:
        await self._leave(session, "another agent-ls")
        if session.id not in self._open:
            self._on_taken(session.id)

    async def _renew_leases(self) -> None:
        while True:
            await self._clock.sleep(_RENEW_S)
            for session in list(self._open.values()):
                # Meanwhile some were left, and may have been opened anew.
                if self._is_open(session):
                    await self._renew(session)

    async def _renew(self, session: Session) -> None:
        is_unwritten = partial(self._is_unwritten, session)
        try:
            is_held = await self._leases.renew(self._lease_of[session], is_unwritten)
            if not is_held and self._is_open(session):
                _log.warning("another agent-ls took over session %s", session.id)
                await self._taken(session)
        except StoreError as error:
            _log.warning("could not renew the lease on %s: %s", session.id, error)
        except Exception as error:
            # The others' leases would be over within a minute.
            _log.error("could not renew the lease on %s", session.id, exc_info=error)
