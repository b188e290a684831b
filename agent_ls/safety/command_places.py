"""Finds the places that a command's plain words name, for rules, and where no sandbox holds it.

A search, not a proof: text cannot show everything that a command does.
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
from agent_ls.safety.shell_parts import (
    TEMPORARY,
    UNKNOWN,
    Part,
    at_home,
    base_name,
    read_parts,
    scripts_in,
    spellings,
)
from agent_ls.safety.text import visible_line
from agent_ls.safety.views import EDITS, LOOKS, WORK, deletes_widely, view_words

Use = Literal["read", "write", "make", "delete", "any"]
"""What a program does with a place, as far as its name tells; ``make``: without a text."""

_MAX_PLACES = 2_000
_MAX_FITTING = 200
_MAX_DEPTH = 3
_DEVICES = ("/dev/", "/proc/self/fd/")
_LANGUAGES = frozenset({"sed", "awk", "gawk", "perl"})
_SPEAKERS = frozenset({"git", "echo", "printf", "gh"})
"""Programs whose texts are for people."""
_IN_TEXT = re.compile(r"[\w.~-]*(?:/[\w.~-]+)+|(?<![\w)\]])\.\w[\w.-]*")
"""A path within a text, such as a program behind ``python -c``."""
_OUTPUT = re.compile(r"-\w*[oO]|--out(?:put(?:-\w+)?|file|dir)?")
_JOINED_OUTPUT = re.compile(r"(-[oO]|--out[\w-]*=|of=)(.+)", re.DOTALL)
_DELETERS = frozenset({"rm", "rmdir", "unlink"})
_MAKERS = frozenset({"mkdir", "touch"})
_WRITERS = (EDITS | {"tee", "chown", "chgrp"}) - _DELETERS
_COPIERS = frozenset({"cp", "ln", "rsync", "install"})
"""They write to their last operand and only read the others."""
_OUTSIDE = "is outside the workspace, and the command would change it"


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
    reason = next((one for part in text.parts if (one := _deletes_widely(part, cwd, roots))), "")
    for number, named in enumerate(named_places(command, cwd, roots)):
        if number >= _MAX_PLACES:
            return "The command names more places than can be checked."
        if len(named.path) > MAX_PATH_BYTES:
            return f"{_shown(named)} is longer than a path can be."
        if UNKNOWN in named.path:
            if named.use in ("write", "delete"):
                reason = reason or f"It changes {_shown(named)}, which only the shell knows."
            continue
        if own.hold(named.place) or (named.use != "read" and names_own(named.names)):
            if named.use != "read":
                why = "belongs to agent-ls itself; only the person changes it."
                return Deny(f"{_shown(named)} {why}")
            reason = reason or f"{_shown(named)} belongs to agent-ls itself and may hold keys."
        if not reason and (why := _reason(named, roots)):
            reason = f"{_shown(named)} {why}."
    return reason


def _deletes_widely(part: Part, cwd: Path, roots: Sequence[Root]) -> str:
    wide = deletes_widely(part.words, cwd, roots)
    return f"The command is not plain: {wide}." if wide else ""


def named_places(command: str, cwd: Path, roots: Sequence[Root]) -> Iterator[Named]:
    """Yield the places that a command's words name. Looks at the disk."""
    for word, use, folders in _written(command, cwd, 0):
        for path in spellings(word):
            for folder in folders:
                for place in _places(path, use, folder):
                    yield Named(path, use, place, frozenset(_names(place, roots)))


def _written(command: str, cwd: Path, depth: int) -> Iterator[tuple[str, Use, tuple[Path, ...]]]:
    """Yield each word that may be a path, with its use and the folders that it may start from."""
    text = read_parts(command)
    if text is None:
        return
    folders = text.folders(cwd)
    for part in text.parts:
        for one, use in _operands(part):
            yield one, use, folders
        if depth < _MAX_DEPTH:
            for script in scripts_in(part):
                yield from _written(script, cwd, depth + 1)
    for one in text.others:
        yield one, "any", folders
    for one in text.reads:
        yield one, "read", folders
    for one in text.writes:
        yield one, "write", folders


def _operands(part: Part) -> Iterator[tuple[str, Use]]:
    """Yield the words of a program that may be paths, and the values of its options."""
    use, last = _use(part), ""
    operands = [one for one in part.words[1:] if one and not one.startswith("-")]
    goal = part.words[part.words.index("-t") + 1] if "-t" in part.words[:-1] else operands[-1:]
    is_language = any(base_name(one) in _LANGUAGES for one in part.words)
    for word in part.words[1:]:
        is_output, last = bool(_OUTPUT.fullmatch(last)), word
        joined = _JOINED_OUTPUT.match(word)
        value = joined[2] if joined else word.partition("=")[2]
        if part.name == "git" and ":" in word:
            # A file of a revision.
            value = word.partition(":")[2]
        if value:
            yield value, "write" if joined else use
        if re.search(r"[\s'\"()]", word) and part.name not in _SPEAKERS:
            for one in _IN_TEXT.findall(word):
                yield one, "any"
        if (
            word.startswith("-")
            or re.search(r"\s", word)
            or (is_language and _is_program_text(word))
        ):
            # An option, or a text, is no path.
            continue
        is_source = part.name in _COPIERS and len(operands) > 1 and word != operands[-1]
        yield word, "write" if is_output else "read" if is_source else use
        if is_source and goal:
            # The goal may be a folder.
            yield f"{''.join(goal)}/{base_name(word.rstrip('/'))}", use


def _is_program_text(word: str) -> bool:
    return word.startswith("/") and not Path(word).parent.is_dir()


def _use(part: Part) -> Use:
    if part.name == "git":
        return "read"
    names = {base_name(one) for one in part.words}
    if names & _DELETERS:
        return "delete"
    if names & _MAKERS:
        return "make"
    kind = view_words(part.words, Path("/"), ()).kind
    # `find -delete` asks, as a wide deletion does, and writes none the less.
    if names & _WRITERS or kind == "edit" or (part.name in LOOKS and kind != "look"):
        return "write"
    return "read" if part.name in LOOKS or part.name in WORK else "any"


def _places(path: str, use: Use, folder: Path) -> Iterator[Path]:
    """Yield what a word may stand for: as written, with links resolved, and what a pattern fits."""
    written = Path(os.path.normpath(folder / at_home(path.replace(UNKNOWN, "_"))))
    if not re.search(r"[*?]", path):
        # Brackets that fit nothing, or are quoted, are those of a name.
        yield written
    with suppress(ValueError):
        # To remove a link does not touch what it leads to.
        is_entry = use == "delete" and written.is_symlink()
        real = real_path(written.parent) / written.name if is_entry else real_path(written)
        if real != written:
            yield real
    if re.search(r"[*?\[]", path):
        # Path.glob knows no absolute patterns.
        for name in islice(iglob(at_home(path), root_dir=folder), _MAX_FITTING):  # noqa: PTH207
            yield folder / name


def _reason(named: Named, roots: Sequence[Root]) -> str:
    place = named.place
    if str(place).startswith(_DEVICES):
        return ""
    if names_secret(set(named.names)):
        return "looks like a file that holds secrets"
    if has_other_names(place):
        return IS_HARD_LINK
    if named.use == "read":
        return ""
    root = next((one.path for one in roots if is_inside(place, (one,))), None)
    if root is not None and (why := steers(named.names)):
        return why
    if root is not None:
        is_loaded = named.use == "write" and is_loaded_later(named.names, place, root)
        return "is run by builds, tests or tools later" if is_loaded else ""
    if named.use == "any":
        return ""
    temporary = [real_path(Path(one)) for one in (*TEMPORARY, os.environ.get("TMPDIR")) if one]
    # What leads there from the workspace, by links or dots, was hardly meant as temporary.
    is_named = named.path.startswith("/")
    takes_all = any(one.path.is_relative_to(place) for one in roots)
    is_free = (
        is_named
        and not takes_all
        and any(place.is_relative_to(one) and place != one for one in temporary)
    )
    return "" if is_free else _OUTSIDE


def _names(place: Path, roots: Sequence[Root]) -> set[str]:
    """Return the names of a path, relative to its root if it is inside one."""
    below = (components_below(place, root.path) for root in roots)
    return names_of(next((one for one in below if one is not None), place.parts[1:]))


def _shown(named: Named) -> str:
    return visible_line(named.path.replace(UNKNOWN, "…")[:200])
