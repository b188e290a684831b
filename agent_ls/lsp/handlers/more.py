"""Shows the actions behind *More…*, and runs the one that the user chooses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lsprotocol import types

from agent_ls.lsp import wire
from agent_ls.lsp.editor_context import EditorContext


class MenuChoice(wire.Deciding):
    """One action of the menu."""

    title: wire.Name
    command: wire.Name
    arguments: list[Any] | None = None


class MoreParams(wire.Deciding):
    """Show these actions."""

    choices: list[MenuChoice]


async def more(context: EditorContext, asked: MoreParams) -> None:
    """Let the user choose in a message with buttons.

    Where the editor has none, the code actions are these for a while, or until a command runs.
    """
    # Later: some editors block until a command is answered. An editor that shows the errors of its
    # commands does not learn of this one's: the command that it sent has succeeded by then.
    choosing = _choose(context, asked.choices)
    if context.editor.shows_failures:
        context.spawn_told(choosing, "Agent")
    else:
        context.spawn(choosing)


async def _choose(context: EditorContext, choices: Sequence[MenuChoice]) -> None:
    by_title = {one.title: one for one in choices}
    title = await context.editor.choose("Agent", list(by_title))
    if title is not None:
        chosen = by_title[title]
        params = types.ExecuteCommandParams(chosen.command, arguments=chosen.arguments)
        await context.execute(params)
    elif not context.editor.asks_choices:
        context.show_rest()
        context.editor.say("info", "Open the code actions again: they now show the others.")
