"""Decides whether a path may be read or written: files that control programs ask or are denied.

Judges the name as it was written and the place it leads to, each also without its disguise.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.verdicts import Allow, Ask, Deny
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.disguises import undisguised
from agent_ls.safety.git_places import Repositories, git_led_to
from agent_ls.safety.name_patterns import (
    EXECUTED_LATER,
    EXECUTED_LATER_AS_WRITTEN,
    NOT_SECRET,
    OURS,
    SECRET,
    STEERING,
)
from agent_ls.safety.own_places import OwnPlaces
from agent_ls.safety.paths import Place, components_below, locate, real_path

NOT_WALKED = frozenset({".git", "node_modules", ".venv", "venv", "site-packages", "__pycache__"})
"""Folders of third-party code, where files named like secrets are test data."""
IS_HARD_LINK = "is a hard link, so its content may belong elsewhere"
_WRITES_HARD_LINK = (
    "is a hard link: a change shows under its other names too, and an undone deletion does not "
    "link them again"
)
PathVerdict = Allow | Ask | Deny

_LINKED_STORES = frozenset({"node_modules", ".venv", "venv", "site-packages", ".pnpm-store"})
"""Package managers hard-link files into these folders."""
_COPY = re.compile(
    r"#?([^/#~]+)(?:[#~]|[._-](?:bak|backup|old|orig|save|saved|copy|tmp|sw[op]|rej|\d{1,8}))+$"
)
"""Suffixes of backup copies."""


def judge_read(path: str, roots: Sequence[Root]) -> PathVerdict:
    """Decide on reading a file or folder: secrets ask, paths outside are denied."""
    if path == "." and len(roots) > 1:
        # With several folders, the top is only the list of their names.
        return Allow()
    try:
        place = locate(path, roots)
    except WorkspaceError as error:
        return Deny(str(error), whatever_tool=True)
    if is_secret(place):
        return Ask(f"{path} looks like a file that holds secrets.", broad=False)
    if OwnPlaces.now().hold(place.absolute):
        return Ask(f"{path} belongs to agent-ls itself and may hold keys.", broad=False)
    if has_other_names(place.absolute):
        return Ask(f"{path} {IS_HARD_LINK}.", broad=False)
    return Allow()


def judge_write(path: str, roots: Sequence[Root]) -> PathVerdict:
    """Decide on creating, changing, moving or deleting a file.

    Shape: Deny for agent-ls's own files in every mode. An Ask that no earlier grant answers for
    files that steer other programs, run later, hold secrets or are hard links. Else Allow.
    """
    try:
        place = locate(path, roots)
    except WorkspaceError as error:
        return Deny(str(error), whatever_tool=True)
    names, own = _names(place), OwnPlaces.now()
    if names_own(names) or own.hold(place.absolute) or own.lie_in(place.absolute):
        return Deny(
            f"{path} belongs to agent-ls itself; only the user changes it.", whatever_tool=True
        )
    if why := steers(names) or _is_led_to(place):
        return Ask(f"{path} {why}.", broad=False)
    if _makes_repository(place.absolute, place.root.path):
        return Ask(f"{path} makes git obey the settings in its folder.", broad=False)
    if is_loaded_later(names, place.absolute, place.root.path):
        return Ask(f"{path} is run by builds, tests or tools later.", broad=False)
    if is_secret(place):
        return Ask(f"{path} looks like a file that holds secrets.", broad=False)
    if has_other_names(place.absolute):
        return Ask(f"{path} {_WRITES_HARD_LINK}.", broad=False)
    return Allow()


def is_executed_later(path: str, roots: Sequence[Root]) -> bool:
    """Say whether later commands execute this file, so that editing it revokes command grants.

    Errors: ``WorkspaceError`` for a path that ``locate`` refuses.
    """
    place = locate(path, roots)
    names = _names(place)
    if place.absolute.name in EXECUTED_LATER_AS_WRITTEN:
        return True
    return any(_is_any(names, one) for one in (EXECUTED_LATER, *(p for _, p in STEERING)))


def is_secret(place: Place) -> bool:
    """Say whether the place is named like a file with secrets."""
    return any(has_secret_name(parts) for parts in (place.spelled, place.below.parts))


def has_secret_name(parts: Iterable[str]) -> bool:
    """Say whether these path components, as written or undisguised, name a file with secrets."""
    return names_secret(names_of(parts))


def names_secret(names: set[str]) -> bool:
    """Say whether one of these names is that of a file with secrets, or of its backup copy."""
    names = names | {_COPY.sub(r"\1", one) for one in names}
    return any(SECRET.search(one) and not NOT_SECRET.search(one) for one in names)


def names_own(names: Iterable[str]) -> bool:
    """Say whether one of these names always belongs to agent-ls."""
    return _is_any(names, OURS)


def is_loaded_later(names: Iterable[str], place: Path, top: Path) -> bool:
    """Say whether builds, tests or tools load this file: by its name, or as part of an environment.

    A virtual environment may have any name; it is looked for below ``top``.
    """
    if place.name in EXECUTED_LATER_AS_WRITTEN or _is_any(names, EXECUTED_LATER):
        return True
    around = (one for one in place.parents if components_below(one, top))
    # Path.exists raises for a name that is too long.
    return any(os.path.exists(one / "pyvenv.cfg") for one in around)  # noqa: PTH110


def _makes_repository(place: Path, top: Path) -> bool:
    """Say whether git takes the folder of a file, or one above it, for a repository without work
    tree, or would with this file.
    """
    around = [one for one in place.parents if one.is_relative_to(top)]
    return place.name in ("HEAD", "commondir") or any(
        (one / "HEAD").exists() and ((one / "objects").is_dir() or (one / "commondir").exists())
        for one in around
    )


def _is_led_to(place: Place) -> str:
    """Say why a file of the workspace steers programs by another name; empty for none."""
    top = place.root.path
    repositories = Repositories.of((top,))
    for folder, above in repositories.places:
        if any(place.absolute.is_relative_to(one) for one in git_led_to(folder, above)):
            return "steers git, whose settings or hooks lead to it"
    for entry in top.iterdir() if top.is_dir() else ():
        if entry.is_symlink() and (why := steers(names_of((entry.name,)))):
            target = real_path(entry)
            if target != top and place.absolute.is_relative_to(target):
                return f"{why}, since the link {entry.name} leads to it"
    return ""


def steers(names: Iterable[str]) -> str:
    """Say what a file with one of these names controls; empty for nothing."""
    return next((why for why, pattern in STEERING if _is_any(names, pattern)), "")


def _names(place: Place) -> set[str]:
    """Return the names of a place, as written and as resolved."""
    return names_of(place.spelled) | names_of(place.below.parts)


def names_of(parts: Iterable[str]) -> set[str]:
    """Return a path in lower case, as written and undisguised."""
    written = tuple(parts)
    return {"/".join(map(str.lower, written)), "/".join(map(undisguised, written))}


def _is_any(names: Iterable[str], pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(name) for name in names)


def has_other_names(place: Path) -> bool:
    """Say whether the file has a second hard link, which may be outside the workspace."""
    if _LINKED_STORES & set(place.parts):
        return False
    try:
        facts = place.lstat()
    except OSError:
        return False
    return stat.S_ISREG(facts.st_mode) and facts.st_nlink > 1
