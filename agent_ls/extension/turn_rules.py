"""What the ``allowed-tools`` of a command or a skill lets run without asking in its turn.

It takes no tool away: Claude Code's documentation says that every tool remains callable, and that
the permissions still hold for those that the list does not name.
"""

from __future__ import annotations

from collections.abc import Mapping

from agent_ls.domain.rules import parse_rule
from agent_ls.extension.files import Place
from agent_ls.extension.front_matter import allowed_in
from agent_ls.safety.prefixes import is_offered


def rules_of(value: str, place: Place, variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return the rules of a list of tools that count, as ``run_command: git add *``.

    The user's own files may allow what the user may. A workspace's file only counts for commands
    that an approval offers to allow by pattern: it changes with each pull, which nobody is asked
    about.
    """
    for name, text in variables.items():
        value = value.replace(f"${{{name}}}", text)
    rules = allowed_in(value)
    if place.top is None:
        return rules
    return tuple(one for one in rules if is_offered(parse_rule(one)))
