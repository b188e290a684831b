"""Trusts folders, after the user has seen what that switches on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from agent_ls.domain.errors import AgentLsError
from agent_ls.lsp import wire
from agent_ls.lsp.connection.options import without_defaults
from agent_ls.lsp.connection.uris import uri_to_path
from agent_ls.lsp.editor_context import EditorContext
from agent_ls.safety.text import visible_line
from agent_ls.trusting import SwitchedOn, switched_on

_TRUST = "Trust"
_MAX_LINES = 30
"""Shown in one message."""


async def answer(context: EditorContext, asked: wire.TrustParams) -> wire.TrustResult:
    """Return what trusting the folders would switch on; trust them if the user has agreed."""
    folders = _folders(context, asked)
    found = await _found(context, folders)
    if asked.is_agreed:
        _trust(context, folders)
    return wire.TrustResult(
        folders=[
            wire.TrustOffer(
                uri=context.workspace.uri_at(folder),
                is_trusted=context.trust.is_trusted(folder),
                switches_on=list(one.on),
                stays_off=list(one.off),
            )
            for folder, one in found.items()
        ]
    )


async def ask(context: EditorContext, asked: wire.TrustParams) -> wire.TrustResult:
    """Do the same, and ask the user in a message if they have not agreed.

    An editor without such messages shows the list, and then has a code action for the yes.
    """
    result = await answer(context, asked)
    if not asked.is_agreed and not any(one.switches_on for one in result.folders):
        context.editor.say("info", "There is nothing to trust here.")
    elif not asked.is_agreed:
        folders = _folders(context, asked)
        words = _words(result)
        if context.editor.asks_choices:
            context.spawn_told(_choose(context, folders, words), "Trust")
        else:
            _show(context, folders, words)
    return result


async def _choose(context: EditorContext, folders: Sequence[Path], words: str) -> None:
    if await context.editor.choose(words, [_TRUST, "Not now"]) == _TRUST:
        async with context.settings_lock.work():
            _trust(context, folders)
    elif not context.editor.asks_choices:
        # It has just refused to ask.
        _show(context, folders, words)


def _show(context: EditorContext, folders: Sequence[Path], words: str) -> None:
    context.trust_shown.update(folders)
    context.editor.say("warning", f"{words}\nTo agree, use the code action “Agent: Trust …”.")


def _folders(context: EditorContext, asked: wire.TrustParams) -> list[Path]:
    """Return the folders that are meant. Errors: ``AgentLsError`` for one that is not there."""
    context.refresh_roots()
    # A missing folder is not trusted: anything may later appear under its path.
    folders = [root.path for root in context.workspace.roots if root.path.is_dir()]
    if asked.folder is not None:
        folders = [uri_to_path(asked.folder) or Path(asked.folder).expanduser()]
    if not folders or not all(one.is_absolute() and one.is_dir() for one in folders):
        raise AgentLsError(
            "agent-ls.trust needs a folder that is there: its URI, or an absolute path."
        )
    # An editor may name a folder by a link; trust and the roots know its real place.
    return [one.resolve() for one in folders]


async def _found(context: EditorContext, folders: Sequence[Path]) -> dict[Path, SwitchedOn]:
    editor = without_defaults(context.editor_settings)
    found = await asyncio.gather(*(switched_on(one, context.settings, editor) for one in folders))
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


def _trust(context: EditorContext, folders: Sequence[Path]) -> None:
    for one in folders:
        context.trust.trust(one)
    context.trust_shown.difference_update(folders)
    context.refresh_roots()
    # The sessions' skills and kinds of sub-agents are read when they are opened.
    context.spawn(context.reload(is_forced=True))
    names = ", ".join(map(str, folders))
    context.editor.say("info", f"Trusted: {names}. Its own tools and settings count now.")
