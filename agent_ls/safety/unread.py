"""Says which files searches leave out: those that a rule of the user keeps from being read."""

from __future__ import annotations

from collections.abc import Iterable

from agent_ls.loop.ports.approval import Rules
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.safety.rule_limits import FileRules


def unread_files(
    names: Iterable[str], below: str, workspace: Workspace, rules: Rules | None
) -> set[str]:
    """Return those of these files that a search below a path leaves out.

    A denied file always is; one that a rule asks about is not if the rule is about the whole path,
    for which the user was asked. Looks at the disk: call it off the event loop.
    """
    roots = [root.path for root in workspace.roots]
    held = FileRules.of(rules.patterns(roots), roots) if rules is not None else FileRules()
    if not held.rules:
        return set()

    def kinds(name: str) -> frozenset[str]:
        root, place = workspace.locate(name)
        return held.kinds(str(place), str(root.path))

    tops = [root.name for root in workspace.roots] if below == "." and len(roots) > 1 else [below]
    asked = frozenset({"ask read"}).intersection(*map(kinds, tops))
    return {name for name in names if kinds(name) & {"deny read", "ask read"} - asked}
