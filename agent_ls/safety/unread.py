"""Says which files searches leave out: those that a rule of the user keeps from being read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from agent_ls.domain.errors import SettingsError, ToolError
from agent_ls.loop.ports.approval import Rules
from agent_ls.loop.ports.workspace import Root, Workspace
from agent_ls.safety.rule_limits import NO_RULES, FileRules

_KEPT = frozenset({"deny read", "ask read"})


@dataclass(frozen=True, slots=True)
class Unread:
    """The files below a path that a search leaves out, by the names that the model uses."""

    roots: tuple[Root, ...] = ()
    rules: FileRules = NO_RULES
    asked: frozenset[str] = frozenset()
    """Kinds of rules about the whole path, for which the user was asked."""
    met: set[str] = field(default_factory=set[str])
    """Those that were left out so far, to be told."""

    def __contains__(self, name: str) -> bool:
        if not self.rules.rules:
            return False
        root, path = _place(name, self.roots)
        is_kept = root is None or bool(self.rules.kinds(path, str(root.path)) & _KEPT - self.asked)
        if is_kept:
            self.met.add(name)
        return is_kept

    def among(self, names: Iterable[str]) -> set[str]:
        """Return those of these files that are left out."""
        return {name for name in names if name in self} if self.rules.rules else set()


def unread_below(below: str, workspace: Workspace, rules: Rules | None) -> Unread:
    """Return what a search below a path leaves out.

    A denied file always is; one that a rule asks about is not if the rule is about the whole path.
    Looks at the disk: call it off the event loop. Errors: ``ToolError`` if rules cannot be read.
    """
    roots = tuple(workspace.roots)
    folders = [root.path for root in roots]
    try:
        patterns = rules.patterns(folders) if rules is not None else ()
    except SettingsError as error:
        raise ToolError(f"{error} Tell the user.") from error
    held = FileRules.of((one for one in patterns if one.subject == "read"), folders)
    if not held.rules:
        return Unread()
    tops = [root.name for root in roots] if below == "." and len(roots) > 1 else [below]
    places = [_place(one, roots) for one in tops]
    about = [held.about_all(path, str(root.path)) for root, path in places if root is not None]
    asked = frozenset({"ask read"}).intersection(*about) if about else frozenset[str]()
    return Unread(roots, held, asked)


def _place(name: str, roots: tuple[Root, ...]) -> tuple[Root | None, str]:
    """Return a file's folder of the workspace and its path; links are not followed."""
    if len(roots) == 1:
        root, below = roots[0], name
    else:
        first, _, below = name.partition("/")
        root = next((one for one in roots if one.name == first), None)
    if root is None:
        return None, ""
    return root, str(root.path) if below in ("", ".") else f"{root.path}/{below}"
