"""Finds the places that a command's plain words name, for rules, and where no sandbox holds it.

A search, not a proof: it reads no options, and knows what a program does by its name alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from glob import iglob
from itertools import islice
from pathlib import Path
from typing import Literal

from agent_ls.domain.verdicts import Deny
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.control_files import (
    IS_HARD_LINK,
    has_other_names,
    is_loaded_later,
    names_of,
    names_own,
    names_secret,
    steers,
)
from agent_ls.safety.own_places import OwnPlaces
from agent_ls.safety.paths import MAX_PATH_BYTES, components_below, is_inside, real_path
from agent_ls.safety.shell import (
    TEMPORARY,
    UNKNOWN,
    Part,
    at_home,
    base_name,
    read_parts,
    scripts_in,
)
from agent_ls.safety.text import visible_line
from agent_ls.safety.view_table import EDITS, READERS, RUN_OTHERS, WORK
from agent_ls.safety.views import classify_words, deletes_widely

Use = Literal["read", "write", "delete", "any"]
"""What a program does with a place, as far as its name tells."""

_MAX_PLACES = 2_000
_MAX_FITTING = 200
_MAX_DEPTH = 3
_MAX_FOLDERS = 16
_SPEAKERS = frozenset({"git", "echo", "printf", "gh"})
"""Programs whose texts are for people."""
_COPIERS = frozenset({"cp", "ln", "rsync", "install"})
"""They write to their last word and only read the others."""
_DELETERS = frozenset({"rm", "rmdir", "unlink"})
_WRITERS = EDITS | {"tee", "chown", "chgrp", "mkdir", "touch", "curl", "wget"}
_VALUE = re.compile(r"(?:[\w-]*=|-\w)?[@<]?([^-].*)", re.DOTALL)
"""A word without what it is joined to: ``of=x``, ``--into=x``, ``-Cx``, ``f=@x``."""
_BETWEEN = re.compile(r"[\s'\"()<>=:@,;|&{}]+")
"""What parts a word into texts that may be paths."""


@dataclass(frozen=True, slots=True)
class Named:
    """A place that a command names."""

    path: str
    """As written."""
    use: Use
    place: Path
    """Absolute; with links resolved, or as written."""
    names: frozenset[str]
    """Its names below its root."""


def judge_places(command: str, cwd: Path, roots: Sequence[Root]) -> Deny | str:
    """Return a Deny, or the reason to ask in every mode for a place that a command names.

    Shape: Deny if it may change agent-ls's own files. A reason if it touches a place for secrets,
    changes files that steer other programs, or files outside; else empty.
    """
    text = read_parts(command)
    if text is None:
        return "Its text cannot be read."
    own = OwnPlaces.now()
    wide = (deletes_widely(part.words, cwd, roots) for part in text.parts)
    reason = next((f"The command is not plain: {one}." for one in wide if one), "")
    for number, named in enumerate(named_places(command, cwd, roots)):
        shown = visible_line(named.path.replace(UNKNOWN, "…")[:200])
        if number >= _MAX_PLACES:
            return "The command names more places than can be checked."
        if len(named.path) > MAX_PATH_BYTES:
            return f"{shown} is longer than a path can be."
        if UNKNOWN in named.path:
            if named.use in ("write", "delete"):
                reason = reason or f"It changes {shown}; “…” is only known when it runs."
            continue
        if own.hold(named.place) or (named.use != "read" and names_own(named.names)):
            if named.use != "read":
                return Deny(f"{shown} belongs to agent-ls itself; only the user changes it.")
            reason = reason or f"{shown} belongs to agent-ls itself and may hold keys."
        if not reason and (why := _reason(named, roots)):
            reason = f"{shown} {why}."
    return reason


def named_places(command: str, cwd: Path, roots: Sequence[Root], depth: int = 0) -> Iterator[Named]:
    """Yield the places that a command's words name. Looks at the disk."""
    text = read_parts(command)
    if text is None:
        return
    folders = list(_folders(text.parts, cwd))
    words: list[tuple[str, Use, tuple[Path, ...]]] = [
        (word, use, here)
        for part, here in zip(text.parts, folders, strict=True)
        for word, use in _words(part)
    ]
    words.extend((one, "any", (cwd,)) for one in text.others)
    words.extend((one, "read", here) for one in text.reads for here in {*folders, (cwd,)})
    for word, at in text.writes:
        words.append((word, "write", folders[max(at - 1, 0)] if folders else (cwd,)))
    for word, use, here in words:
        for folder in here:
            for place in _places(word, folder):
                yield Named(word, use, place, frozenset(_names(place, roots)))
    for part, here in zip(text.parts, folders, strict=True):
        for script in scripts_in(part) if depth < _MAX_DEPTH else ():
            for folder in here:
                yield from named_places(script, folder, roots, depth + 1)


def _folders(parts: Sequence[Part], cwd: Path) -> Iterator[tuple[Path, ...]]:
    """Yield for each program where it runs, if each ``cd`` before it leads where it says."""
    here = (cwd,)
    for part in parts:
        yield here
        goals = [one for one in part.words[1:] if one == "-" or not one.startswith("-")]
        goal = (goals or ["~"])[0]
        if part.name in ("cd", "pushd") and UNKNOWN not in goal:
            led = [place for one in here for place in _as_led(one / at_home(goal))]
            # The methods of Path raise for a name that is too long.
            is_sure = goal != "-" and (all(map(os.path.isdir, led)) or not cwd.exists())
            here = tuple(dict.fromkeys((*(() if is_sure else (cwd, *here)), *led)))[:_MAX_FOLDERS]


def _words(part: Part) -> Iterator[tuple[str, Use]]:
    """Yield the words of a program, and parts of them, that may be paths."""
    use = _use(part)
    is_copy = part.name in _COPIERS and not any(one.startswith(("-t", "--t")) for one in part.words)
    for word in part.words[1:]:
        if "://" in word or (part.name in _SPEAKERS and re.search(r"\s", word)):
            continue
        found: Use = "read" if is_copy and word != part.words[-1] else use
        value = _VALUE.fullmatch(word)
        for one in dict.fromkeys((word, value[1] if value else "-")):
            if not one.startswith("-"):
                yield one, found
        for piece in set(_BETWEEN.split(word)) - {"", word}:
            if re.search(r"[./]", piece):
                # In a text, such as sed's, the name of the program tells nothing of it.
                yield piece, "read" if found == "read" else "any"


def _use(part: Part) -> Use:
    names = {base_name(one) for one in part.words[: None if part.name in RUN_OTHERS else 1]}
    if names & _DELETERS:
        return "delete"
    # `find -delete` asks, as a wide deletion does, and writes none the less.
    is_reader = part.name in READERS
    if names & _WRITERS or (
        is_reader and classify_words(part.words, Path("/"), ()).kind != "read-only"
    ):
        return "write"
    return "read" if is_reader or part.name in WORK or part.name == "git" else "any"


def _places(path: str, folder: Path) -> Iterator[Path]:
    """Yield what a word may stand for: as written, with links resolved, and what a pattern fits."""
    spelled = folder / at_home(path.replace(UNKNOWN, "_"))
    if not re.search(r"[*?]", path):
        # Brackets that fit nothing, or are quoted, are those of a name.
        yield from _as_led(spelled)
    if re.search(r"[*?\[]", path):
        # Path.glob knows no absolute patterns.
        fitting = iglob(at_home(path), root_dir=folder)  # noqa: PTH207 - as said
        for name in islice(fitting, _MAX_FITTING):
            yield from _as_led(folder / name)


def _as_led(spelled: Path) -> Iterator[Path]:
    """Yield where a path leads by its text, and with its links resolved.

    Both before and after ``..`` is taken away: the system follows ``link`` first in ``link/..``.
    """
    written = Path(os.path.normpath(spelled))
    found = {written: None}
    with suppress(ValueError):
        found |= {real_path(written): None, real_path(spelled): None}
    yield from found


def _reason(named: Named, roots: Sequence[Root]) -> str:
    place = named.place
    if str(place).startswith(("/dev/", "/proc/self/fd/")):
        return ""
    if names_secret(set(named.names)):
        return "looks like a file that holds secrets"
    if has_other_names(place):
        return IS_HARD_LINK
    if named.use == "read":
        return ""
    root = next((one.path for one in roots if is_inside(place, (one,))), None)
    if root is not None:
        is_loaded = named.use == "write" and is_loaded_later(named.names, place, root)
        return steers(named.names) or (
            "is run by builds, tests or tools later" if is_loaded else ""
        )
    # What begins with a slash may be a pattern.
    is_path = Path(*place.parts[:2]).exists() or not named.path.startswith("/")
    is_path |= bool(re.fullmatch(r"/[^/]+", named.path))
    is_outside = named.use != "any" and is_path and not _is_temporary(named, roots)
    return "is outside the workspace, and the command would change it" if is_outside else ""


def _is_temporary(named: Named, roots: Sequence[Root]) -> bool:
    """Say whether a place is meant as temporary; what dots or links lead to hardly is."""
    if not named.path.startswith("/") or any(one.path.is_relative_to(named.place) for one in roots):
        return False
    folders = [real_path(Path(one)) for one in (*TEMPORARY, os.environ.get("TMPDIR")) if one]
    return any(one in named.place.parents for one in folders)


def _names(place: Path, roots: Sequence[Root]) -> set[str]:
    """Return the names of a path, relative to its root if it is inside one."""
    below = (components_below(place, root.path) for root in roots)
    return names_of(next((one for one in below if one is not None), place.parts[1:]))
