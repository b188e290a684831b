"""Trusts folders, after the person has seen what that switches on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from agent_ls.domain.errors import AgentLsError
from agent_ls.lsp import wire
from agent_ls.lsp.connection.options import without_defaults
from agent_ls.lsp.connection.uris import uri_to_path
from agent_ls.lsp.edge import Edge
from agent_ls.safety.text import visible_line
from agent_ls.trusting import SwitchedOn, switched_on

_TRUST = "Trust"
_MAX_LINES = 30
"""Shown in one message."""


async def answer(edge: Edge, asked: wire.TrustParams) -> wire.TrustResult:
    """Return what trusting the folders would switch on; trust them if the person has agreed."""
    folders = _folders(edge, asked)
    found = await _found(edge, folders)
    if asked.is_agreed:
        _trust(edge, folders)
    return wire.TrustResult(
        folders=[
            wire.TrustOffer(
                uri=edge.workspace.uri_at(folder),
                is_trusted=edge.trust.is_trusted(folder),
                switches_on=list(one.on),
                stays_off=list(one.off),
            )
            for folder, one in found.items()
        ]
    )


async def ask(edge: Edge, asked: wire.TrustParams) -> wire.TrustResult:
    """Do the same, and ask the person in a message if they have not agreed.

    An editor without such messages shows the list, and then has a code action for the yes.
    """
    result = await answer(edge, asked)
    if not asked.is_agreed and not any(one.switches_on for one in result.folders):
        edge.editor.say("info", "There is nothing to trust here.")
    elif not asked.is_agreed:
        folders = _folders(edge, asked)
        words = _words(result)
        if edge.server.profile.message_requests:
            edge.spawn(_choose(edge, folders, words))
        else:
            edge.trust_shown.update(folders)
            edge.editor.say("warning", f"{words}\nTo agree, use the code action “Agent: Trust …”.")
    return result


async def _choose(edge: Edge, folders: Sequence[Path], words: str) -> None:
    if await edge.editor.choose(words, [_TRUST, "Not now"]) == _TRUST:
        async with edge.changeover.work():
            _trust(edge, folders)


def _folders(edge: Edge, asked: wire.TrustParams) -> list[Path]:
    """Return the folders that are meant. Errors: ``AgentLsError`` for one that is not there."""
    edge.refresh_roots()
    # A missing folder is not trusted: anything may later appear under its path.
    folders = [root.path for root in edge.workspace.roots if root.path.is_dir()]
    if asked.folder is not None:
        folders = [uri_to_path(asked.folder) or Path(asked.folder).expanduser()]
    if not folders or not all(one.is_absolute() and one.is_dir() for one in folders):
        raise AgentLsError(
            "agent-ls.trust needs a folder that is there: its URI, or an absolute path."
        )
    return folders


async def _found(edge: Edge, folders: Sequence[Path]) -> dict[Path, SwitchedOn]:
    editor = without_defaults(edge.editor_settings)
    found = await asyncio.gather(*(switched_on(one, edge.settings, editor) for one in folders))
    return dict(zip(folders, found, strict=True))


def _words(result: wire.TrustResult) -> str:
    lines: list[str] = []
    for one in result.folders:
        found = SwitchedOn(tuple(one.switches_on), tuple(one.stays_off))
        name = visible_line(str(uri_to_path(one.uri)))
        lines += [f"Trust {name}?", *found.words.splitlines()]
    left = len(lines) - _MAX_LINES
    if left > 0:
        lines[_MAX_LINES:] = [f"… and {left} more; `agent-ls trust --show FOLDER` lists all."]
    return "\n".join(lines)


def _trust(edge: Edge, folders: Sequence[Path]) -> None:
    for one in folders:
        edge.trust.trust(one)
    edge.trust_shown.difference_update(folders)
    edge.refresh_roots()
    # The sessions' skills and kinds of sub-agents are read when they are opened.
    edge.spawn(edge.reload(is_forced=True))
    names = ", ".join(map(str, folders))
    edge.editor.say("info", f"Trusted: {names}. Its own tools and settings count now.")
