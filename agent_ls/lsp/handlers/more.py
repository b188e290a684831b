"""Shows the actions behind *More…*, and runs the one that the person chooses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lsprotocol import types

from agent_ls.lsp import wire
from agent_ls.lsp.edge import Edge


class MenuChoice(wire.Deciding):
    """One action of the menu."""

    title: wire.Name
    command: wire.Name
    arguments: list[Any] | None = None


class MoreParams(wire.Deciding):
    """Show these actions."""

    choices: list[MenuChoice]


async def more(edge: Edge, asked: MoreParams) -> None:
    """Let the person choose in a message with buttons.

    Where the editor has none, the code actions are these until one is taken.
    """
    # Later: some editors block until a command is answered.
    edge.spawn(_choose(edge, asked.choices))


async def _choose(edge: Edge, choices: Sequence[MenuChoice]) -> None:
    by_title = {one.title: one for one in choices}
    title = await edge.editor.choose("Agent", list(by_title))
    if title is not None:
        chosen = by_title[title]
        params = types.ExecuteCommandParams(chosen.command, arguments=chosen.arguments)
        await edge.execute(params)
    elif not edge.editor.asks_choices:
        edge.show_rest()
        edge.editor.say("info", "Open the code actions again: they now show the others.")
