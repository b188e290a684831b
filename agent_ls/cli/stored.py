"""Finds the session that a command line names, and reads its journal without its lease."""

from __future__ import annotations

import argparse
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from agent_ls.cli.options import command_line_settings, tell_problems
from agent_ls.domain.errors import StoreError
from agent_ls.domain.events import StoredEvent
from agent_ls.loop.ports.store import SessionIndex, SessionSummary, Store
from agent_ls.settings import load_settings, store_place
from agent_ls.store.sql_store import open_store

_MIN_NAMED_CHARS = 4
"""A shorter name may come from an empty variable in a script."""


@asynccontextmanager
async def open_stored(
    arguments: argparse.Namespace,
) -> AsyncGenerator[tuple[Store, list[StoredEvent]]]:
    """Yield the store and the journal of the named session, by default the folder's newest.

    Errors: ``StoreError`` if there is none.
    """
    async with open_named_store(arguments) as store:
        session_id = await find_session(store, arguments.session, folder_uri(arguments))
        yield store, await store.load(session_id)


@asynccontextmanager
async def open_named_store(arguments: argparse.Namespace) -> AsyncGenerator[Store]:
    """Yield the store named by the settings and the command line.

    Errors: ``SettingsError`` for a mistake in them, so that no other store is used instead.
    """
    loaded = load_settings(command_line=command_line_settings(arguments))
    tell_problems(loaded)
    store = open_store(store_place(loaded.settings))
    try:
        yield store
    finally:
        await store.close()


async def find_session(index: SessionIndex, named: str | None, folder_uri: str) -> str:
    """Return the only session id that ends in ``named``; for None, the folder's newest.

    Errors: ``StoreError`` if none or several match.
    """
    if named is None:
        found = [one for one in await index.sessions([folder_uri]) if not one.is_empty]
        if not found:
            raise StoreError(
                f"no session of {folder_uri} is stored; name one, or give --workspace its folder"
            )
        return found[0].session_id
    return the_one_meant(await index.sessions(parent_id=None), named)


def the_one_meant(sessions: Sequence[SessionSummary], named: str) -> str:
    """Return the only session id that ends in ``named``.

    Errors: ``StoreError`` if none or several match, or ``named`` is too short.
    """
    if len(named) < _MIN_NAMED_CHARS:
        raise StoreError(f"{named!r} is too short: give at least {_MIN_NAMED_CHARS} characters")
    found = [one.session_id for one in sessions if one.session_id.endswith(named)]
    if len(found) != 1:
        raise StoreError(
            f"{len(found) or 'no'} sessions end in {named}; `agent-ls sessions` lists them"
        )
    return found[0]


def folder_uri(arguments: argparse.Namespace) -> str:
    """Return the URI of the folder that the command line names."""
    return Path(arguments.workspace).resolve().as_uri()
