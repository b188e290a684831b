"""Finds the programs that a shell command runs, for rules: leniently to deny, strictly to allow.

To deny it is a search: it looks through quotes, wrappers, nested shells and substitutions, and says
when it cannot see a program's name.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.paths import is_inside, real_path
from agent_ls.safety.plain_reads import reads_plainly
from agent_ls.safety.shell_parts import (
    SHELLS,
    UNKNOWN,
    Part,
    base_name,
    read_parts,
    scripts_in,
    spellings,
)
from agent_ls.safety.text import has_hidden
from agent_ls.safety.view_table import RUN_OTHERS, WRAPPERS
from agent_ls.safety.views import sort_write, view_words

_MAX_DEPTH = 3
_MAX_LISTS = 32
_MAX_WRAPPED = 100
_MAX_FOUND = 2_000


def named_programs(command: str, depth: int = 0) -> list[tuple[str, ...]] | None:
    """Return the words of every program that may run, its name first; None if they are not seen.

    Shape: the name without its folder. A wrapped program comes after its wrapper. A name may hold
    ``UNKNOWN`` or be a pattern.
    """
    found: list[tuple[str, ...]] = []
    # A variable may have another value than the text shows, so its name counts as unknown, too.
    for text in (read_parts(command), read_parts(command, follows=False)):
        if text is None or not text.is_certain:
            return None
        for part in text.parts:
            if part.fed_by and not _is_told(part):
                # A shell runs a text that is none of its words.
                return None
            found += islice(_programs(part), _MAX_FOUND)
            if len(found) > _MAX_FOUND:
                return None
            for script in scripts_in(part) if part.name in RUN_OTHERS else ():
                inner = named_programs(script, depth + 1) if depth < _MAX_DEPTH else None
                if inner is None:
                    return None
                found += inner
        for script in (one for one in text.others if re.search(r"\s", one)):
            # Such as an editor that a variable names.
            found += named_programs(script, depth + 1) or () if depth < _MAX_DEPTH else ()
    return list(dict.fromkeys(found))


_READ_INPUT = SHELLS | {"source", ".", "at", "batch"}


def _is_told(part: Part) -> bool:
    """Say whether no program of a part runs what it reads."""
    is_shell = any(base_name(one) in _READ_INPUT for one in part.words)
    return not is_shell or any(re.fullmatch(r"-\w*c", one) for one in part.words)


def _programs(part: Part) -> Iterator[tuple[str, ...]]:
    spelled = (spellings(one) for one in part.words)
    for written in islice(itertools.product(*spelled), _MAX_LISTS):
        runs_others = base_name(written[0]) in RUN_OTHERS or " ".join(written[:2]) in WRAPPERS
        ends = min(len(written), _MAX_WRAPPED) if runs_others else 1
        for at in range(ends):
            name = base_name(written[at])
            yield name, *written[at + 1 :]
            if name.startswith("git-"):
                yield "git", name.removeprefix("git-"), *written[at + 1 :]


def is_covered(
    command: str,
    cwd: Path,
    roots: Sequence[Root],
    covers: Callable[[Sequence[str], Path], bool],
    *,
    is_held: bool,
) -> bool:
    """Say whether each program of a command may run unasked, or ``covers`` it in its folder.

    ``is_held``: a sandbox holds the command. A text that is not read with certainty is never
    covered. Looks at the disk.
    """
    text = read_parts(command)
    if text is None or not text.is_certain or text.functions or has_hidden(command):
        return False
    if not is_held and (not text.is_plain or text.reads or text.writes or text.sets_for_one):
        return False
    folders = text.folders(cwd)

    def is_free(part: Part) -> bool:
        if is_held:
            return view_words(part.words, cwd, roots).kind in ("read-only", "workspace-write")
        return all(reads_plainly(part.words, folder, roots) for folder in folders)

    for part in text.parts:
        if any(UNKNOWN in one for one in part.words) and not (is_held and is_free(part)):
            return False
        if is_free(part) or (part.name == "cd" and all(_is_in(one, roots) for one in folders)):
            continue
        if not all(covers(part.words, folder) for folder in folders):
            return False
    return all(sort_write(one, folders, roots).kind == "workspace-write" for one in text.writes)


def _is_in(folder: Path, roots: Sequence[Root]) -> bool:
    return is_inside(real_path(folder), roots)
