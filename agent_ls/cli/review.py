"""``diff``, ``keep``, ``undo``, ``redo``, ``restore`` and ``review``: deciding without an editor.

No model is needed. Nothing of a session that another process writes is changed.
"""

from __future__ import annotations

import argparse
import asyncio
import shlex
import sys
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from agent_ls.assembly import open_disk_workspace, open_sessions
from agent_ls.cli.changes import Outcome, decide, newest_turn, restore, turn_diff, turn_named
from agent_ls.cli.event_lines import failure_as_event
from agent_ls.cli.options import command_line_settings, folder_of
from agent_ls.cli.stored import find_session, folder_uri, open_named_store
from agent_ls.domain.errors import (
    ProviderError,
    ProviderFailure,
    SessionHeld,
    StoreError,
    UsageError,
)
from agent_ls.domain.review import HunkState, ReviewDecision
from agent_ls.domain.sentences import counted
from agent_ls.domain.stops import EXIT_PARTIAL
from agent_ls.loop.ports.models import ModelEvent, ModelFacts, ModelList, ModelRequest
from agent_ls.loop.ports.store import Store
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.review.followed_ledger import stored_ledger
from agent_ls.review.ledger import Ledger, Selection, TurnLedger
from agent_ls.safety.text import visible, visible_line
from agent_ls.session.session import Session
from agent_ls.session.sessions import Sessions
from agent_ls.settings import load_settings

_NOTHING = 1
_OF_BASE = (
    *("mode", "model", "max_steps", "budget_usd", "timeout", "step_timeout", "dry_run"),
    *("evaluate", "json", "json_stream", "verbose", "quiet", "no_stream", "plain", "log_file"),
)
"""The options of ``review`` that mean nothing without ``--base``."""
_SEARCHED = 8
"""How many of the newest sessions are searched for changes."""


class NoModel:
    """A provider for work that asks no model."""

    async def start(self, model: str = "") -> None:
        """Start nothing."""

    async def close(self) -> None:
        """End nothing."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Refuse."""
        raise ProviderError(ProviderFailure.NO_MODEL, "A review asks no model.")
        yield  # an async generator, as the port wants

    async def facts(self, model: str) -> ModelFacts:
        """Return that nothing is known."""
        return ModelFacts(0, 0)

    async def models(self, model: str = "") -> ModelList:
        """Return none."""
        return ModelList()


@dataclass(frozen=True, slots=True)
class _Found:
    """The session that is meant, as it is stored."""

    session_id: str
    ledger: Ledger


def review(arguments: argparse.Namespace) -> int:
    """Run one of the commands; return the exit code."""
    if arguments.command == "review":
        _refuse_words(arguments)
        if arguments.base is not None:
            from agent_ls.cli.own_prompts import review_since

            return review_since(arguments)
        if given := [name for name in _OF_BASE if getattr(arguments, name)]:
            flag = f"--{given[0].replace('_', '-')}"
            raise UsageError(f"review: {flag} is of the agent's own review: give --base, too.")
    if getattr(arguments, "all", False) and arguments.turn is not None:
        raise UsageError(f"{arguments.command}: --all is of all turns, so name none.")
    return asyncio.run(_review(arguments))


def _refuse_words(arguments: argparse.Namespace) -> None:
    """Say how to review a revision, or anything else, by the agent. Errors: ``UsageError``."""
    with failure_as_event(arguments):
        if arguments.words:
            words: list[str] = arguments.words
            revision = shlex.quote(words[0]) if len(words) == 1 else "REVISION"
            raise UsageError(
                "review: to let the agent look for defects since a revision: "
                f"agent-ls review --base {revision}; in anything else: agent-ls run '/review …'. "
                "Alone it shows the open changes, for you to decide about."
            )


async def _review(arguments: argparse.Namespace) -> int:
    folder = folder_of(arguments)
    workspace = open_disk_workspace([folder])
    state: HunkState = "undone" if arguments.command == "redo" else "open"
    async with open_named_store(arguments) as store:
        found = await _find(store, arguments, state)
    if found is None:
        sys.stderr.write(
            f"There is nothing to {arguments.command} in the newest sessions of this folder; "
            "--session ID names an older one.\n"
        )
        return _NOTHING
    if arguments.command == "diff":
        return await _diff(found, workspace, arguments)
    loaded = load_settings(folders=[folder], command_line=command_line_settings(arguments))
    sessions = await open_sessions(loaded.settings, workspace, is_attended=True, provider=NoModel())
    try:
        session = await _opened(sessions, found.session_id)
        if arguments.command == "restore":
            turn = turn_named(found.ledger, arguments.turn)
            done = await restore(session, turn.turn_id, is_dry=arguments.is_dry)
            return print_outcome(done, what="restore")
        if arguments.command == "review":
            from agent_ls.cli.review_keys import review_by_keys

            return await review_by_keys(session, workspace)
        return await _decide(found, session, arguments, state)
    finally:
        await sessions.close()


async def _opened(sessions: Sessions, session_id: str) -> Session:
    try:
        return await sessions.open(session_id, to_look=True)
    except SessionHeld as error:
        raise StoreError(f"{error}. Its changes can be decided about there") from None


async def _find(store: Store, arguments: argparse.Namespace, state: HunkState) -> _Found | None:
    """Return the named session, or the newest one with changes in this state.

    A turn that is named counts also when nothing of it is open: it is one of the newest session
    that changed files.
    """
    uri = folder_uri(arguments)
    if arguments.session is not None:
        session_id = await find_session(store, arguments.session, uri)
        return _Found(session_id, await stored_ledger(session_id, store))
    has_name = getattr(arguments, "turn", None) is not None
    # What a dry run simulated is nowhere but in its own session.
    sessions = [one for one in await store.sessions([uri]) if one.turns and not one.is_dry_run]
    newest = sessions[:_SEARCHED]
    for one in newest:
        ledger = await stored_ledger(one.session_id, store)
        touched = any(turn.files or turn.lost for turn in ledger.turns.values())
        if newest_turn(ledger, state) is not None or (has_name and touched):
            return _Found(one.session_id, ledger)
    return None


async def _diff(found: _Found, workspace: Workspace, arguments: argparse.Namespace) -> int:
    turn = _turn(found.ledger, arguments.turn, "open")
    _check_file(turn, arguments.file)
    text = await turn_diff(workspace, turn, arguments.file) if turn else ""
    if turn is None or not text:
        sys.stderr.write("Nothing is left to be shown there: all was kept or taken back.\n")
        return _NOTHING
    sys.stderr.write(f"{_name(found, turn)}\n")
    if arguments.stat:
        files = (one for one in turn.files.values() if arguments.file in (None, one.path))
        for file in sorted(files, key=lambda one: one.path):
            sizes = [one.size for one in file.hunks if one.state != "undone"]
            added, removed = sum(one[0] for one in sizes), sum(one[1] for one in sizes)
            sys.stdout.write(f"{visible_line(file.path)}  +{added} -{removed}\n")
    else:
        show_diff(text)
    return 0


async def _decide(
    found: _Found, session: Session, arguments: argparse.Namespace, state: HunkState
) -> int:
    decision: ReviewDecision = arguments.command
    if arguments.all:
        chosen = Selection(path=arguments.file)
        return print_outcome(await decide(session, decision, chosen), what=decision)
    turn = _turn(found.ledger, arguments.turn, state)
    if turn is None:
        sys.stderr.write(f"There is nothing to {decision}.\n")
        return _NOTHING
    _check_file(turn, arguments.file)
    sys.stderr.write(f"{_name(found, turn)}\n")
    chosen = Selection(turn_id=turn.turn_id, path=arguments.file)
    return print_outcome(await decide(session, decision, chosen), what=decision)


def _check_file(turn: TurnLedger | None, path: str | None) -> None:
    """Refuse a file that the turn did not change. Errors: ``StoreError``."""
    if turn is not None and path is not None and not turn.at(path):
        changed = ", ".join(sorted(one.path for one in turn.files.values()))
        raise StoreError(f"turn {turn.turn_id} changed no {path}, only {changed}")


def _turn(ledger: Ledger, named: str | None, state: HunkState) -> TurnLedger | None:
    return newest_turn(ledger, state) if named is None else turn_named(ledger, named)


def _name(found: _Found, turn: TurnLedger) -> str:
    number = list(found.ledger.turns).index(turn.turn_id) + 1
    files = counted(len(turn.files), "file")
    prompt = visible_line(turn.prompt.strip().partition("\n")[0][:100])
    return f"Turn {number} of …{found.session_id[-6:]}: {prompt} ({files})"


def print_outcome(outcome: Outcome, what: str = "") -> int:
    """Print what came of a decision; return the exit code."""
    for line in outcome.lines:
        sys.stdout.write(f"{visible(line)}\n")
    for clash in outcome.clashes:
        sys.stdout.write(
            "\nThe file is left as it is. Below, - is the file now and + is the file as the "
            "decision alone would have it.\n"
        )
        show_diff(clash)
    if not outcome.is_whole:
        return EXIT_PARTIAL
    is_nothing = outcome.lines == (f"There is nothing to {what}.",)
    return _NOTHING if is_nothing else 0


def show_diff(text: str) -> None:
    """Print a diff: at a terminal with colours and line numbers, elsewhere as it is."""
    if not sys.stdout.isatty():
        sys.stdout.write(text)
        return
    import shutil

    from agent_ls.cli.chat.paint import Painter

    sys.stdout.write(Painter().diff(text, shutil.get_terminal_size().columns) + "\n")
