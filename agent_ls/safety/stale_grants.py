"""Finds grants for commands that ended because a call changed a file that commands run.

Derived from the events, so that a crash after the change cannot keep a grant alive.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.events import GrantsRevoked
from agent_ls.domain.rules import GRANT
from agent_ls.loop.ports.approval import Rules
from agent_ls.loop.ports.workspace import Root
from agent_ls.loop.state.state import SessionState
from agent_ls.safety.control_files import is_executed_later

_COMMANDS = ("run_command", f"{GRANT}run_command")
_OUTSIDE = re.compile(r"run_command\{[^}]*outside the sandbox")
_MAX_NAMED = 5


def stale_grants(
    state: SessionState, roots: Sequence[Root], rules: Rules | None
) -> GrantsRevoked | None:
    """Return the revocation of grants older than such a change; None if there are none.

    A grant was for what the command did then. Which files a command runs cannot be known, so a
    file that builds and tools run ends it by its name; and a grant for outside the sandbox ends
    with any change, which may be of what it runs. Inside, the sandbox holds that.
    """
    saved = rules.granted([root.path for root in roots]) if rules is not None else ()
    given = {**dict.fromkeys(set(saved) - state.revoked, 0), **state.grants}
    commands = {rule: seq for rule, seq in given.items() if rule.startswith(_COMMANDS)}
    oldest = min(commands.values(), default=state.seq)
    changed = {path: seq for path, seq in state.changed_at.items() if seq > oldest}
    steering = {path for path in changed if steers_commands(path, roots)}
    ended = {
        rule: {path for path in any_of if changed[path] > given[rule]}
        for rule in commands
        if (any_of := changed if is_for_outside(rule) else steering)
    }
    stale = tuple(sorted(rule for rule, paths in ended.items() if paths))
    if not stale:
        return None
    causes = [path for path in changed if any(path in ended[rule] for rule in stale)]
    names = ", ".join(causes[:_MAX_NAMED])
    rest = f" and {len(causes) - _MAX_NAMED} more" if len(causes) > _MAX_NAMED else ""
    why = f"{names}{rest} was changed, and commands may run it."
    return GrantsRevoked(grants=stale, why=why)


def is_for_outside(rule: str) -> bool:
    """Say whether a grant is for a command outside the sandbox."""
    return _OUTSIDE.match(rule) is not None


def steers_commands(path: str, roots: Sequence[Root]) -> bool:
    """Say whether commands may run the file at this path."""
    try:
        return is_executed_later(path, roots)
    except WorkspaceError:
        return False
