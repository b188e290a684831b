"""Finds the places that a command's words name, for rules, and where no sandbox holds it.

A search, not a proof: text cannot show everything that a command does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from glob import iglob
from itertools import islice, pairwise
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
    ShellText,
    at_home,
    base_name,
    read_parts,
    scripts_in,
    spellings,
)
from agent_ls.safety.text import visible_line, words
from agent_ls.safety.view_table import EDITS, READER_CHANGES, READERS, RUN_OTHERS, WORK, operands_of
from agent_ls.safety.views import deletes_widely, view_words

Use = Literal["read", "write", "make", "delete", "any"]
"""What a program does with a place, as far as its name tells; ``make``: without a text."""

_MAX_PLACES = 2_000
_MAX_FITTING = 200
_MAX_DEPTH = 3
_SPEAKERS = frozenset({"git", "echo", "printf", "gh"})
"""Programs whose texts are for people."""
_PIECE = re.compile(r"[^\s'\"()<=:@]+")
"""What of a word may be a path: an option's value, a file of a revision, a name in a text."""
_VALUE = re.compile(r"(?:^-\w|^@|=)[@<]?(?=(.+))", re.DOTALL)
"""What is joined to an option or a name: ``of=x``, ``--into=x``, ``-Cx``, ``@x``."""
_GIT_VALUE = re.compile(r"[=:](?=(.+))", re.DOTALL)
"""Of a revision too. What git's single letters take is mostly a text to look for."""
_LETTERS_JOINED = frozenset({"curl", "wget", "sort"})
_OUTPUT_VALUE = re.compile(r"-\w{1,4}?[oO]([^-].*)", re.DOTALL)
"""Behind several letters: ``-sSLo``. To most other programs that is a word, such as ``-count``."""
_MAX_VALUES = 8
_WITH_BLANKS = re.compile(r"[\w./~+,@][\w./~+,@ -]{0,255}")
"""A word with blanks that is a path rather than a text."""
_OUTPUT = re.compile(r"-\w*[oO]|--?(?:key)?out[\w-]*|-t")
_JOINED_OUTPUT = re.compile(r"-o.|-O..|--(?:out|target-dir)[\w-]*=|of=")
_DELETERS = frozenset({"rm", "rmdir", "unlink"})
_MAKERS = frozenset({"mkdir", "touch", "mktemp"})
_WRITE_SECOND = frozenset({"uniq", "xxd"})
"""They read their first operand and write the second."""
_GIT_MAKER = re.compile(r"(?:init|clone|worktree (?:add|move|remove))\b")
"""Subcommands of git that make or remove a folder."""
_GIT_VALUES = words("-C -c -b -B -o -j --branch --depth --origin --reference --git-dir --work-tree")
_SED_OUTPUT = re.compile(r"(?:^|[^\w]|[\dgpIM])w[ \t]+(\S[^\n]{0,4000})")
_AWK_OUTPUT = re.compile(r">[ \t]*\"([^\"\n]{1,4000})\"")
_TEXT_OUTPUT = {
    "sed": _SED_OUTPUT,
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _AWK_OUTPUT),
}
"""What the text of such a program writes to."""
_WRITERS = EDITS | {"tee", "chown", "chgrp"}
_COPIERS = frozenset({"cp", "ln", "rsync", "install"})
"""They write to their last operand and only read the others."""
_MOVERS = _COPIERS | {"mv"}
_GOAL = re.compile(r"(?:--target-directory=|-t)(.+)", re.DOTALL)
_GOAL_OPTION = re.compile(r"-\w*t|--target-directory")


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
                reason = reason or f"It changes {shown}, which only the shell knows."
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
    folders = text.folders(cwd)
    if text.begins_in:
        # No word of the rest may name it.
        yield from (
            Named(text.begins_in[-1], "read", one, frozenset(_names(one, roots))) for one in folders
        )
    for word, use in _all_words(text, folders):
        for path in spellings(word):
            for place in (one for folder in folders for one in _places(path, folder)):
                yield Named(path, use, place, frozenset(_names(place, roots)))
    for script in (one for part in text.parts for one in scripts_in(part) if depth < _MAX_DEPTH):
        for folder in folders:
            yield from named_places(script, folder, roots, depth + 1)


def _all_words(text: ShellText, folders: Sequence[Path]) -> Iterator[tuple[str, Use]]:
    for part in text.parts:
        yield from _words(part)
        yield from _copies(part, folders)
        for one in _outputs(part):
            yield one, "write"
    for one in text.others:
        yield one, "any"
    for one in text.reads:
        yield one, "read"
    for one in text.writes:
        yield one, "write"


def _words(part: Part) -> Iterator[tuple[str, Use]]:
    """Yield the words of a program, and parts of them, that may be paths."""
    use = _use(part)
    copied = _copied(part)
    # To most programs that read, such as grep, -o means something else.
    writes_with_o = "-o" in READER_CHANGES.get(part.name, ())
    may_output = part.name not in READERS or use != "read" or writes_with_o
    for before, word in pairwise(part.words):
        is_output = may_output and (_OUTPUT.fullmatch(before) or _JOINED_OUTPUT.match(word))
        found: Use = "write" if is_output else "read" if word in copied else use
        is_text = bool(re.search(r"\s", word))
        if is_text and part.name in _SPEAKERS:
            continue
        # In a text, such as sed's, the name of the program tells nothing of it.
        of_text: Use = "any" if found == "write" else found
        for one in dict.fromkeys((word, *_values(part, word))):
            if not one.startswith("-") and not is_text:
                yield one, found
            elif _WITH_BLANKS.fullmatch(one):
                yield one, of_text
        is_joined = part.name in _LETTERS_JOINED and not is_text
        if is_joined and (output := _OUTPUT_VALUE.fullmatch(word)):
            yield output[1], "write"
        for one in _PIECE.findall(word):
            piece = one[2:] if re.match(r"-\w", one) else one
            if piece != word and re.search(r"[./]", piece):
                yield piece, "any" if is_text else found


def _copied(part: Part) -> list[str]:
    """Return the words of a program that it only reads, to write the last one."""
    if part.name == "git":
        operands = operands_of(part.words[1:], _GIT_VALUES)
        # ``git clone x`` writes to the folder where it runs.
        return operands[1 : max(len(operands) - 1, 2)] if operands[:1] == ["clone"] else []
    operands = [one for one in part.words[1:] if not one.startswith("-")]
    return [one for one in operands if one != operands[-1]] if part.name in _COPIERS else []


def _outputs(part: Part) -> Iterator[str]:
    """Yield the files that a program mostly for reading writes all the same."""
    operands = [one for one in part.words[1:] if not one.startswith("-") or one == "-"]
    if part.name in _WRITE_SECOND and len(operands) > 1:
        yield operands[-1]
    if output := _TEXT_OUTPUT.get(part.name):
        for word in part.words[1:]:
            yield from output.findall(word)


def _values(part: Part, word: str) -> Iterator[str]:
    pattern = _GIT_VALUE if part.name == "git" else _VALUE
    values = (found[1] for found in islice(pattern.finditer(word), _MAX_VALUES))
    return (one for one in values if len(one) <= MAX_PATH_BYTES)


def _copies(part: Part, folders: Sequence[Path]) -> Iterator[tuple[str, Use]]:
    """Yield what a program makes in the folder that it copies, links or moves files to."""
    at = next((at for at, one in enumerate(part.words) if base_name(one) in _MOVERS), None)
    if at is None or (at > 0 and part.name not in RUN_OTHERS):
        return
    name, words = base_name(part.words[at]), part.words[at + 1 :]
    sources = [one for one in words if not one.startswith("-")]
    goals = [found[1] for one in words if (found := _GOAL.fullmatch(one))]
    goals += [one for option, one in pairwise(words) if _GOAL_OPTION.fullmatch(option)]
    if name == "rsync":
        # Its -t keeps times.
        goals = []
    if goals:
        goal = goals[-1]
    elif len(sources) > 1:
        goal = sources.pop()
    else:
        # Only a link may be made without naming its place.
        goal = "." if name == "ln" else ""
    if not goal or UNKNOWN in goal or not (goals or _may_be_folder(goal, folders)):
        return
    for source in (one for word in sources if word != goal for one in spellings(word)):
        is_pattern = bool(re.search(r"[*?\[]", source))
        found = {source} if not re.search(f"[*?{UNKNOWN}]", source) else set[str]()
        for folder in folders if is_pattern else ():
            found.update(_fitting(source, folder))
        for one in sorted(found):
            yield f"{goal}/{base_name(one.rstrip('/'))}", "write"


def _may_be_folder(goal: str, folders: Sequence[Path]) -> bool:
    places = [folder / at_home(goal) for folder in folders]
    # The methods of Path raise for a name that is too long.
    if goal.endswith("/") or any(map(os.path.isdir, places)):
        return True
    # What is not there yet, and has an ending, is most likely a file.
    return not any(map(os.path.exists, places)) and not Path(goal).suffix


def _use(part: Part) -> Use:
    names = {base_name(one) for one in part.words}
    if part.name == "git":
        sub = " ".join(operands_of(part.words[1:], _GIT_VALUES)[:2])
        return "make" if _GIT_MAKER.match(sub) else "read"
    if names & _DELETERS:
        return "delete"
    if names & _MAKERS:
        return "make"
    kind = view_words(part.words, Path("/"), ()).kind
    # `find -delete` asks, as a wide deletion does, and writes none the less.
    if names & _WRITERS or kind == "edit" or (part.name in READERS and kind != "read-only"):
        return "write"
    return "read" if part.name in READERS or part.name in WORK else "any"


def _places(path: str, folder: Path) -> Iterator[Path]:
    """Yield what a word may stand for: as written, with links resolved, and what a pattern fits."""
    spelled = folder / at_home(path.replace(UNKNOWN, "_"))
    found = dict.fromkeys(_as_led(spelled))
    if re.search(r"[*?]", path):
        # Brackets that fit nothing, or are quoted, are those of a name.
        found.pop(Path(os.path.normpath(spelled)))
    yield from found
    for name in _fitting(path, folder) if re.search(r"[*?\[]", path) else ():
        yield from dict.fromkeys(_as_led(folder / name))


def _as_led(spelled: Path) -> Iterator[Path]:
    """Yield where a path leads by its text, and with its links resolved.

    Both before and after ``..`` is taken away: the system follows ``link`` first in ``link/..``.
    """
    written = Path(os.path.normpath(spelled))
    yield written
    with suppress(ValueError):
        yield real_path(written)
        yield real_path(spelled)


def _fitting(pattern: str, folder: Path) -> Iterator[str]:
    # Path.glob knows no absolute patterns.
    return islice(iglob(at_home(pattern), root_dir=folder), _MAX_FITTING)  # noqa: PTH207 - as said


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
    around = (named.place, *named.place.parents) if named.use == "make" else named.place.parents
    return any(one in around for one in folders)


def _names(place: Path, roots: Sequence[Root]) -> set[str]:
    """Return the names of a path, relative to its root if it is inside one."""
    below = (components_below(place, root.path) for root in roots)
    return names_of(next((one for one in below if one is not None), place.parts[1:]))
