"""What may be done with a place in the workspace: files that steer programs ask or are denied.

Judges the name as it was written and the place it leads to, each also without its disguise.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.verdicts import Allow, Ask, Deny
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.disguises import undisguised
from agent_ls.safety.name_patterns import (
    EXECUTED_LATER,
    EXECUTED_LATER_AS_WRITTEN,
    NOT_SECRET,
    OURS,
    SECRET,
    STEERING,
)
from agent_ls.safety.own_places import holds_own, is_own
from agent_ls.safety.paths import Place, locate

IS_HARD_LINK = "is a hard link, so its content may belong elsewhere"
PathVerdict = Allow | Ask | Deny

_LINKED_STORES = frozenset({"node_modules", ".venv", "venv", "site-packages", ".pnpm-store"})
"""Package managers link files into these by design."""
_COPY = re.compile(
    r"#?([^/#~]+)(?:[#~]|[._-](?:bak|backup|old|orig|save|saved|copy|tmp|sw[op]|rej|\d{1,8}))+$"
)
"""What editors, tools and people add to the name of a copy."""


def judge_read(path: str, roots: Sequence[Root]) -> PathVerdict:
    """Say whether a file or folder may be read: secrets ask, what leads out is denied."""
    if path == "." and len(roots) > 1:
        # The top of several folders is the list of their names.
        return Allow()
    try:
        place = locate(path, roots)
    except WorkspaceError as error:
        return Deny(str(error), whatever_tool=True)
    if is_secret(place):
        return Ask(f"{path} looks like a file that holds secrets.", broad=False)
    if is_own(place.absolute):
        return Ask(f"{path} belongs to agent-ls itself and may hold keys.", broad=False)
    if has_other_names(place.absolute):
        return Ask(f"{path} {IS_HARD_LINK}.", broad=False)
    return Allow()


def judge_write(path: str, roots: Sequence[Root]) -> PathVerdict:
    """Say whether a file may be created, changed, moved or deleted.

    Shape: Deny for our own control files in every mode; an Ask that no earlier grant answers for
    files that steer other programs, that a later command runs, that hold secrets or that have
    another name; else Allow.
    """
    try:
        place = locate(path, roots)
    except WorkspaceError as error:
        return Deny(str(error), whatever_tool=True)
    names = _names(place)
    if names_own(names) or is_own(place.absolute) or holds_own(place.absolute):
        return Deny(
            f"{path} belongs to agent-ls itself; only the person changes it.", whatever_tool=True
        )
    if why := steers(names):
        return Ask(f"{path} {why}.", broad=False)
    if is_loaded_later(names, place.absolute, place.root.path):
        return Ask(f"{path} is run by builds, tests or tools later.", broad=False)
    if is_secret(place):
        return Ask(f"{path} looks like a file that holds secrets.", broad=False)
    if has_other_names(place.absolute):
        # Many editors write into the file where it is, so under its other names too.
        return Ask(f"{path} {IS_HARD_LINK}.", broad=False)
    return Allow()


def is_executed_later(path: str, roots: Sequence[Root]) -> bool:
    """Say whether commands do what this file says, so that an edit ends grants for commands.

    Errors: ``WorkspaceError`` for a path that ``locate`` refuses.
    """
    place = locate(path, roots)
    names = _names(place)
    if place.absolute.name in EXECUTED_LATER_AS_WRITTEN:
        return True
    return any(_is_any(names, one) for one in (EXECUTED_LATER, *(p for _, p in STEERING)))


def is_secret(place: Place) -> bool:
    """Say whether secrets are kept under such a name."""
    return any(has_secret_name(parts) for parts in (place.spelled, place.below.parts))


def has_secret_name(parts: Iterable[str]) -> bool:
    """Say whether these components, as written or undisguised, name a file of secrets."""
    return names_secret(names_of(parts))


def names_secret(names: set[str]) -> bool:
    """Say whether secrets are kept under one of these names."""
    names = names | {_COPY.sub(r"\1", one) for one in names}
    return any(SECRET.search(one) and not NOT_SECRET.search(one) for one in names)


def names_own(names: Iterable[str]) -> bool:
    """Say whether one of these names is always that of a file of ours."""
    return _is_any(names, OURS)


def is_loaded_later(names: Iterable[str], place: Path, top: Path) -> bool:
    """Say whether builds, tests or tools load what lies there, by name or in an environment.

    A virtual environment may have any name; it is looked for below ``top``.
    """
    if place.name in EXECUTED_LATER_AS_WRITTEN or _is_any(names, EXECUTED_LATER):
        return True
    around = (one for one in place.parents if one != top and one.is_relative_to(top))
    return any((one / "pyvenv.cfg").exists() for one in around)


def steers(names: Iterable[str]) -> str:
    """Return what other program a file under these names steers; empty for none."""
    return next((why for why, pattern in STEERING if _is_any(names, pattern)), "")


def _names(place: Place) -> set[str]:
    """Return what the place is called, as it was written and as it resolves."""
    return names_of(place.spelled) | names_of(place.below.parts)


def names_of(parts: Iterable[str]) -> set[str]:
    """Return what a place is called: as its components are written, and undisguised."""
    written = tuple(parts)
    return {"/".join(map(str.lower, written)), "/".join(map(undisguised, written))}


def _is_any(names: Iterable[str], pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(name) for name in names)


def has_other_names(place: Path) -> bool:
    """Say whether the file has another name somewhere, which may be outside."""
    if _LINKED_STORES & set(place.parts):
        return False
    try:
        facts = place.lstat()
    except OSError:
        return False
    return stat.S_ISREG(facts.st_mode) and facts.st_nlink > 1
