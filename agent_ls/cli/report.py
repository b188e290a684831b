"""``report``: one page of HTML that shows what a session did."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import webbrowser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import platformdirs

from agent_ls import __version__
from agent_ls.cli.output import write_for_owner
from agent_ls.cli.stored import open_stored
from agent_ls.domain.errors import SettingsError
from agent_ls.loop.ports.store import Blobs
from agent_ls.observers.report.page import page
from agent_ls.observers.trace import SessionTrace
from agent_ls.observers.tracing import trace_of
from agent_ls.safety.programs import path_outside


def report(arguments: argparse.Namespace) -> int:
    """Write the page and print where it is; ``--out -`` prints the page itself."""
    session, text = asyncio.run(_page(arguments))
    if arguments.out == "-":
        sys.stdout.write(text)
        return 0
    # The default place is outside the project's folder.
    usual = platformdirs.user_state_path("agent-ls") / "reports" / f"{session.session_id}.html"
    path = Path(arguments.out).resolve() if arguments.out else usual
    _write(path, text)
    sys.stdout.write(f"{path}\n")
    if arguments.open and not _open(path, session):
        sys.stderr.write("agent-ls: no browser was found; open the file yourself.\n")
    return 0


def _open(path: Path, session: SessionTrace) -> bool:
    """Open the page in the browser; False if there is none. A program of a workspace is none."""
    folders = (unquote(urlsplit(one).path) for one in session.roots)
    os.environ["PATH"] = path_outside([Path(one).resolve() for one in (".", *folders)])
    return webbrowser.open(path.as_uri())


async def _page(arguments: argparse.Namespace) -> tuple[SessionTrace, str]:
    async with open_stored(arguments) as (store, journal):
        session = trace_of(journal)
        return session, page(session, await _blobs(session, store), __version__)


async def _blobs(session: SessionTrace, blobs: Blobs) -> dict[str, bytes]:
    edits = [one for turn in session.turns for call in turn.calls for one in call.edits]
    wanted = {digest for one in edits for digest in (one.before_blob, one.after_blob) if digest}
    found = {digest: await blobs.get_blob(digest) for digest in sorted(wanted)}
    return {digest: data for digest, data in found.items() if data is not None}


def _write(path: Path, text: str) -> None:
    try:
        write_for_owner(path, text)
    except OSError as error:
        raise SettingsError(
            f"The report {path} cannot be written: {error.strerror}. Give --out another place."
        ) from None
