"""Finds grants for commands that ended because a call changed a file that commands run.

Derived from the events, so that a crash after the change cannot keep a grant alive.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.events import GrantsRevoked
from agent_ls.domain.rules import GRANT
from agent_ls.loop.ports.people import Rules
from agent_ls.loop.ports.workspace import Root
from agent_ls.loop.state.state import SessionState
from agent_ls.safety.control_files import is_executed_later

_COMMANDS = ("run_command", f"{GRANT}run_command")


def stale_grants(
    state: SessionState, roots: Sequence[Root], rules: Rules | None
) -> GrantsRevoked | None:
    """Return the revocation of grants older than such a change; None if there are none.

    A grant was for what the command did then. Which files a command runs cannot be known.
    """
    saved = rules.granted([root.path for root in roots]) if rules is not None else ()
    given = {**dict.fromkeys(set(saved) - state.revoked, 0), **state.grants}
    commands = {rule: seq for rule, seq in given.items() if rule.startswith(_COMMANDS)}
    oldest = min(commands.values(), default=state.seq)
    changed = {
        path: seq
        for path, seq in state.changed_at.items()
        if seq > oldest and steers_commands(path, roots)
    }
    newest = max(changed.values(), default=0)
    stale = tuple(sorted(rule for rule, seq in commands.items() if seq < newest))
    if not stale:
        return None
    why = f"{', '.join(changed)} was changed, and commands may run it."
    return GrantsRevoked(grants=stale, why=why)


def steers_commands(path: str, roots: Sequence[Root]) -> bool:
    """Say whether commands may run the file at this path."""
    try:
        return is_executed_later(path, roots)
    except WorkspaceError:
        return False
