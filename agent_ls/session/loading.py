"""Loads a stored session and settles what a dead process left open in it."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.domain.errors import JournalHalted, StoreError
from agent_ls.domain.events import StoredEvent
from agent_ls.loop.ports.clock import Clock
from agent_ls.loop.ports.store import Store
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.folding import fold_all
from agent_ls.loop.state.recorder import Recorder
from agent_ls.session.background import settle_background
from agent_ls.session.child_ends import settle_children
from agent_ls.session.repair import repair

_MOST_TRIES = 5


async def load_settled(
    session_id: str, store: Store, workspace: Workspace, clock: Clock, *, is_dry_run: bool
) -> Recorder:
    """Return the recorder of a session whose lease is held.

    Errors: ``StoreError`` when the session is unknown, of a running sub-agent or of the other kind
    (dry run or not), or another process keeps writing it.
    """
    for tries_left in reversed(range(_MOST_TRIES)):
        journal = await store.load(session_id)
        if not journal:
            raise StoreError(f"there is no session {session_id}; list them to see which are")
        refuse_other_kind(journal, is_dry_run=is_dry_run)
        recorder = Recorder(session_id, store, clock, journal)
        if recorder.state.is_child and recorder.state.is_running:
            raise StoreError(
                f"{session_id} belongs to a sub-agent; open the session that started it"
            )
        try:
            await settle_children(recorder, workspace, store)
            await settle_background(recorder)
            await repair(recorder, workspace, store)
        except JournalHalted:
            # A process with a loose lease was settling the same session; it has lost the lease now.
            if not tries_left:
                raise
        else:
            return recorder
    raise AssertionError("the last try raises or returns")


def refuse_other_kind(journal: Sequence[StoredEvent], *, is_dry_run: bool) -> None:
    """Keep dry runs and real sessions apart, as the model would take simulated effects for real.

    Errors: ``StoreError`` when only one of session and process is a dry run.
    """
    state = fold_all(journal[:1])
    if state.is_dry_run and not is_dry_run:
        raise StoreError(
            f"session {state.session_id} is a dry run: nothing of it was done, so it cannot go "
            "on for real; begin a new session, or go on with dry_run"
        )
    if is_dry_run and not state.is_dry_run:
        raise StoreError(
            f"session {state.session_id} is no dry run, so it cannot go on as one; "
            "begin a new session, or go on without dry_run"
        )
