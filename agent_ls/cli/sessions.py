"""``sessions``: lists, searches, forks, names, hides, exports and deletes stored sessions.

No action needs a model, so no model host is started.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import sys
import time
from pathlib import Path

from agent_ls.assembly import SystemClock
from agent_ls.cli.output import print_json, write_for_owner
from agent_ls.cli.session_costs import cost_lines, cost_rows
from agent_ls.cli.stored import find_session, folder_uri, open_named_store, open_stored
from agent_ls.domain.errors import SettingsError, UsageError
from agent_ls.domain.events import SessionArchived, SessionRenamed
from agent_ls.domain.ids import Ids
from agent_ls.domain.stops import STATUS_WORDS, TurnStatus
from agent_ls.loop.ports.store import Leases, SessionSummary
from agent_ls.loop.state.recorder import Recorder
from agent_ls.observers.report.words import money
from agent_ls.safety.text import label, visible, visible_line
from agent_ls.session.forking import fork_journal, fork_seq_after
from agent_ls.session.held_leases import HeldLeases, is_dead, is_loose_lease, own_identity

_DECLINED = 1
_TITLE_CHARACTERS = 80
_CUT_OFF = "cut off"


def sessions(arguments: argparse.Namespace) -> int:
    """Run the action and return its exit code. Errors: ``SettingsError``, ``StoreError``."""
    do = {
        "search": _search,
        "fork": _fork,
        "rename": _rename,
        "archive": _archive,
        "export": _export,
        "costs": _costs,
        "delete": _delete,
    }.get(arguments.action, _list)
    return asyncio.run(do(arguments))


async def _list(arguments: argparse.Namespace) -> int:
    """Print the sessions of the folder, newest first, each with its sub-agents below it.

    Those in which nobody has said anything are left out, and archived ones unless ``--all``.
    """
    async with open_named_store(arguments) as store:
        found: list[SessionSummary] = []
        for one in await store.sessions([folder_uri(arguments)]):
            if one.is_empty or (one.is_archived and not arguments.all):
                continue
            # Sub-agents in the order they were started.
            family = [one, *reversed(await store.sessions(parent_id=one.session_id))]
            if not await _is_held(store, one.session_id):
                family = [stopped(member) for member in family]
            found += family
    if arguments.json:
        print_json([dataclasses.asdict(one) for one in found])
        return 0
    for one in found:
        sys.stdout.write(session_line(one) + "\n")
    if not found:
        sys.stderr.write("No sessions in this folder yet.\n")
    return 0


async def _is_held(leases: Leases, session_id: str) -> bool:
    """Say whether a process that may be alive runs the session, not only views it."""
    holder = await leases.lease_owner(session_id)
    return holder is not None and not (is_dead(holder) or is_loose_lease(holder))


def stopped(one: SessionSummary) -> SessionSummary:
    """Return the row of a session that no process runs: an unfinished turn was cut off."""
    is_open = one.status in (TurnStatus.RUNNING, TurnStatus.WAITING)
    return dataclasses.replace(one, status=_CUT_OFF) if is_open else one


async def _search(arguments: argparse.Namespace) -> int:
    """Print the prompts and answers that contain every word; return 1 if none, like grep."""
    words = " ".join(arguments.words)
    if not words.strip():
        raise UsageError("sessions search: give at least one word to look for.")
    async with open_named_store(arguments) as store:
        hits = await store.search(words, None if arguments.everywhere else [folder_uri(arguments)])
    if arguments.json:
        print_json([dataclasses.asdict(one) for one in hits])
    else:
        for hit in hits:
            who = "you  " if hit.said_by == "user" else "agent"
            sys.stdout.write(f"{hit.session_id}  {_when(hit.at_ms)}  {who}  {visible(hit.text)}\n")
    if not hits:
        sys.stderr.write(f"Nobody said {words!r} in this folder's sessions.\n")
    return 0 if hits else 1


async def _fork(arguments: argparse.Namespace) -> int:
    """Fork a session after one of its turns; print the new session's id."""
    clock = SystemClock()
    async with open_named_store(arguments) as store:
        source = await find_session(store, arguments.session, folder_uri(arguments))
        journal = await store.load(source)
        last_seq = fork_seq_after(journal, arguments.at)
        new_id = Ids(clock.now_ms).new("ses")
        await store.append(fork_journal(journal, new_id, last_seq), durable=True)
    sys.stdout.write(f"{new_id}\n")
    sys.stderr.write("The conversation branched off; the files are as they are now.\n")
    if sys.stdout.isatty():
        sys.stderr.write(f"To talk to it: agent-ls resume {new_id}\n")
    return 0


async def _rename(arguments: argparse.Namespace) -> int:
    """Give a session another title."""
    title = label(" ".join(arguments.title), _TITLE_CHARACTERS)
    if not title:
        raise UsageError("rename: the title is empty.")
    session_id = await _noted(arguments, SessionRenamed(title=title))
    sys.stdout.write(f"{session_id} is called “{title}” now.\n")
    return 0


async def _archive(arguments: argparse.Namespace) -> int:
    """Hide a session from lists, or show it again."""
    session_id = await _noted(arguments, SessionArchived(is_archived=not arguments.undo))
    did = "in lists again" if arguments.undo else "archived; `sessions list --all` still shows it"
    sys.stdout.write(f"{session_id} is {did}.\n")
    return 0


async def _noted(arguments: argparse.Namespace, event: SessionRenamed | SessionArchived) -> str:
    """Record what lists show of the named session; return its id.

    Errors: ``StoreError`` when another process writes it.
    """
    clock = SystemClock()
    async with open_named_store(arguments) as store:
        session_id = await find_session(store, arguments.session, folder_uri(arguments))
        leases = HeldLeases(store, f"{own_identity()}:{Ids(clock.now_ms).new('ses')}")
        lease = await leases.take(session_id)
        try:
            journal = await store.load(session_id)
            await Recorder(session_id, store, clock, journal).emit(event)
        finally:
            await leases.release(lease)
    return session_id


async def _export(arguments: argparse.Namespace) -> int:
    """Print a session as Markdown, or write it to a file of the user's."""
    from agent_ls.cli.exporting import markdown_of

    async with open_stored(arguments) as (_, journal):
        text = markdown_of(journal[0].session_id, journal)
    if arguments.out is None:
        sys.stdout.write(visible(text) if sys.stdout.isatty() else text)
        return 0
    try:
        write_for_owner(Path(arguments.out), text)
    except OSError as error:
        raise SettingsError(
            f"{arguments.out} cannot be written: {error.strerror}. Give --out another place."
        ) from None
    return 0


async def _costs(arguments: argparse.Namespace) -> int:
    """Print what a session has used, turn by turn."""
    async with open_stored(arguments) as (_, journal):
        if arguments.json:
            print_json(cost_rows(journal))
        else:
            sys.stdout.writelines(f"{line}\n" for line in cost_lines(journal))
    return 0


async def _delete(arguments: argparse.Namespace) -> int:
    """Delete sessions for good, after the user has confirmed."""
    async with open_named_store(arguments) as store:
        # Find all sessions before deleting any, so that a mistyped id deletes nothing.
        uri = folder_uri(arguments)
        named = [await find_session(store, one, uri) for one in arguments.session]
        for session_id in dict.fromkeys(named):
            title = {one.session_id: one.title for one in await store.sessions(parent_id=None)}
            if not (arguments.yes or _may_delete(session_id, title.get(session_id, ""))):
                sys.stderr.write(f"{session_id} was kept.\n")
                return _DECLINED
            holder = await store.lease_owner(session_id)
            if holder is not None and is_dead(holder):
                await store.release(session_id, holder)
            # A sub-agent's session is gone already if its parent was named before it.
            is_deleted = await store.delete(session_id)
            sys.stdout.write(f"{session_id} is {'deleted' if is_deleted else 'gone already'}.\n")
    return 0


def _may_delete(session_id: str, title: str) -> bool:
    """Ask the user to confirm. Errors: ``SettingsError`` without a terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise SettingsError(
            f"deleting {session_id} cannot be undone and nobody is there to be asked; "
            "add --yes if you mean it."
        )
    sys.stderr.write(f"Delete {session_id} “{visible(title)}” for good? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _when(at_ms: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at_ms / 1000))


def session_line(one: SessionSummary) -> str:
    """Return a session's row in a list."""
    turns = "turn" if one.turns == 1 else "turns"
    status = STATUS_WORDS.get(one.status, one.status).lower()
    if one.parent_id:
        return (
            f"  └ {one.session_id}  {visible_line(one.agent)}  {status}  "
            f"{money(one.cost_usd, of_tokens=one.turns)}  {visible_line(one.title)}"
        )
    kind = f"({one.kind}) " if one.kind else ""
    return (
        f"{one.session_id}  {_when(one.updated_ms)}  {status:<11}  {one.turns} {turns}  "
        f"{money(one.cost_usd, of_tokens=one.turns)}  {kind}{visible_line(one.title)}"
    )
