"""Finds the programs that a shell command runs, for rules: leniently to deny, strictly to allow.

To deny it is a search: it looks through quotes, wrappers and nested shells, and says when it cannot
see a program's name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.paths import is_inside, real_path
from agent_ls.safety.plain_reads import reads_plainly
from agent_ls.safety.shell import SHELLS, UNKNOWN, Part, base_name, read_parts, scripts_in
from agent_ls.safety.text import has_hidden
from agent_ls.safety.view_table import RUN_OTHERS, WRAPPERS
from agent_ls.safety.views import classify_words

_MAX_DEPTH = 3
_MAX_WRAPPED = 100
_MAX_FOUND = 2_000
_MAX_PLAIN_CHARS = 500
_READ_INPUT = SHELLS | {"source", ".", "at", "batch"}


def named_programs(command: str, depth: int = 0) -> list[tuple[str, ...]] | None:
    """Return the words of every program that may run, its name first; None if they are not seen.

    Shape: the name without its folder. A wrapped program comes after its wrapper. A name may hold
    ``UNKNOWN`` or be a pattern.
    """
    text = read_parts(command)
    if text is None or not text.is_certain or depth > _MAX_DEPTH:
        return None
    if any(part.fed_by and _runs_input(part) for part in text.parts):
        return None
    found = [words for part in text.parts for words in _programs(part)][: _MAX_FOUND + 1]
    scripts = [one for part in text.parts if part.name in RUN_OTHERS for one in scripts_in(part)]
    # A variable may name an editor.
    scripts += [one for one in text.others if re.search(r"\s", one)]
    for script in scripts:
        inner = named_programs(script, depth + 1)
        if inner is None or len(found) > _MAX_FOUND:
            return None
        found += inner
    return None if len(found) > _MAX_FOUND else found


def _runs_input(part: Part) -> bool:
    """Say whether a shell runs what it reads, which is none of its words."""
    is_shell = any(base_name(one) in _READ_INPUT for one in part.words)
    return is_shell and not any(re.fullmatch(r"-\w*c", one) for one in part.words)


def _programs(part: Part) -> Iterator[tuple[str, ...]]:
    runs_others = part.name in RUN_OTHERS or " ".join(part.words[:2]) in WRAPPERS
    for at in range(min(len(part.words), _MAX_WRAPPED) if runs_others else 1):
        name, rest = base_name(part.words[at]), part.words[at + 1 :]
        yield name, *rest
        if name.startswith("git-"):
            yield "git", name.removeprefix("git-"), *rest


def is_covered(
    command: str,
    cwd: Path,
    roots: Sequence[Root],
    covers: Callable[[Sequence[str], Path], bool],
    *,
    is_held: bool,
) -> bool:
    """Say whether each program of a command may run unasked, or ``covers`` it where it may run.

    ``is_held``: a sandbox holds the command. A text that is not read with certainty is never
    covered. Looks at the disk.
    """
    text = read_parts(command)
    if text is None or not text.is_certain or text.functions or has_hidden(command):
        return False
    if not is_held and (not text.is_plain or text.reads or text.writes or text.sets_for_one):
        return False
    folders = [cwd]
    for at, words in enumerate(part.words for part in text.parts):
        if words[0] == "cd":
            is_piped = any(one.fed_by == "program" for one in text.parts[at : at + 2])
            is_odd = len(words) != 2 or words[1][:1] in ("", "-", "~") or UNKNOWN in words[1]
            if is_piped or is_odd:
                return False
            led = [real_path(one / words[1]) for one in folders]
            # To the shell ``link/..`` is another folder than to programs.
            is_same = ".." not in words[1] or led == [_written(one / words[1]) for one in folders]
            if not is_same or not all(is_inside(one, roots) for one in led):
                return False
            folders = list(dict.fromkeys((*folders, *led)))
        elif not _is_free(words, folders, roots, is_held=is_held):
            is_known = not any(UNKNOWN in one for one in words)
            if not is_known or not all(covers(words, one) for one in folders):
                return False
    return bool(text.parts)


def is_plain_read(command: str, cwd: Path, roots: Sequence[Root]) -> bool:
    """Say whether a command plainly reads. Looks at the disk (links, secrets, programs)."""
    is_short = len(command) <= _MAX_PLAIN_CHARS and "\\" not in command
    is_short = is_short and command.replace("\n", " ").isprintable()
    return is_short and is_covered(
        command, cwd, roots, lambda _words, _folder: False, is_held=False
    )


def _written(place: Path) -> Path:
    return Path(os.path.normpath(place))


def _is_free(
    words: Sequence[str], folders: Sequence[Path], roots: Sequence[Root], *, is_held: bool
) -> bool:
    """Say whether a program needs no rule."""
    if is_held:
        return classify_words(words, folders[0], roots).kind in ("read-only", "workspace-write")
    return all(reads_plainly(words, one, roots) for one in folders)
