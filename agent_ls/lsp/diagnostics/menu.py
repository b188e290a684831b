"""The order of the code actions at one place, short and stable.

What waits comes first, then *Keep*, *Undo* and *More…*, then one thing to ask for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from lsprotocol import types

from agent_ls.lsp.diagnostics.offers import OF_THE_WHOLE, action, is_wanted

_MOST_CHANGES = 2
"""Keep and undo."""
_MORE = "Agent: More…"


def _none() -> list[types.CodeAction]:
    return []


@dataclass(slots=True)
class Menu:
    """The code actions at one place, each list in its order."""

    waiting: list[types.CodeAction] = field(default_factory=_none)
    """Answers to what waits, and how to stop what runs."""
    changes: list[types.CodeAction] = field(default_factory=_none)
    """Keep and undo first."""
    asking: list[types.CodeAction] = field(default_factory=_none)
    """What to ask the agent for; the most likely first."""
    seldom: list[types.CodeAction] = field(default_factory=_none)

    def shown(self) -> list[types.CodeAction]:
        """Return the short menu."""
        rest = self.rest()
        head = [*self.waiting, *self.changes[:_MOST_CHANGES]]
        if len(rest) > 1:
            return [*head, _more(rest), *self.asking[:1]]
        # A single one needs no second menu.
        return [*head, *self.asking[:1], *rest]

    def rest(self) -> list[types.CodeAction]:
        """Return what stands behind *More…*."""
        return [*self.changes[_MOST_CHANGES:], *self.asking[1:], *self.seldom]

    def wanted(self, only: Sequence[types.CodeActionKind | str]) -> list[types.CodeAction]:
        """Return all actions of these kinds: who names kinds has a menu for them."""
        every = chain(self.waiting, self.changes, self.asking, self.seldom)
        return [one for one in every if is_wanted(one, only)]


def _more(rest: Sequence[types.CodeAction]) -> types.CodeAction:
    """Return the action that shows the rest; it carries their commands."""
    choices = [
        {"title": one.title, "command": one.command.command, "arguments": one.command.arguments}
        for one in rest
        if one.command is not None
    ]
    is_of_lines = any(one.kind != OF_THE_WHOLE for one in rest)
    kind = types.CodeActionKind.QuickFix if is_of_lines else OF_THE_WHOLE
    return action(_MORE, "agent-ls.more", {"choices": choices}, kind=kind)
