"""Opens the session that a command line means."""

from __future__ import annotations

import argparse

from agent_ls.cli.stored import the_one_meant
from agent_ls.domain.errors import SessionHeld, StoreError
from agent_ls.session.session import Session
from agent_ls.session.sessions import Sessions


async def first_session(sessions: Sessions, arguments: argparse.Namespace) -> Session:
    """Return the named session, with ``-c`` the last one of this folder, else a new one.

    Errors: ``StoreError`` when there is none, or another process writes it.
    """
    named: str | None = arguments.session
    if named is None and arguments.goes_on:
        found = [one for one in await sessions.list() if not one.is_archived]
        if not found:
            raise StoreError("there is no session in this folder yet; `agent-ls` begins one")
        return await _opened(sessions, found[0].session_id)
    return await (sessions.create() if named is None else open_named(sessions, named))


async def open_named(sessions: Sessions, named: str) -> Session:
    """Open a session by its full id, or by the end of an id in this folder."""
    is_whole = named.startswith("ses_")
    found = named if is_whole else the_one_meant(await sessions.list(), named)
    return await _opened(sessions, found)


async def _opened(sessions: Sessions, session_id: str) -> Session:
    try:
        return await sessions.open(session_id)
    except SessionHeld as error:
        raise StoreError(f"{error}. `agent-ls fork {session_id}` begins a copy of it") from None


async def cut_off_session(sessions: Sessions) -> Session:
    """Open the newest session of this folder whose turn was cut off.

    Errors: ``StoreError`` when there is none.
    """
    cut_off = await sessions.interrupted()
    if cut_off:
        return await sessions.open(cut_off[0].session_id)
    newest = [f" --session {one.session_id}" for one in await sessions.list()][:1]
    raise StoreError(
        "no session of this folder was cut off, so there is none to resume; "
        f'`agent-ls run{"".join(newest)} "…"` '
        + ("says more to the newest one" if newest else "begins one")
    )
