"""Finds the secrets that a program reads with a whole folder, as in ``grep -r x .docker``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.control_files import names_of, names_secret
from agent_ls.safety.paths import real_path
from agent_ls.safety.shell_parts import UNKNOWN, Part, at_home

_RECURSIVE = re.compile(r"-\w*[rR]\w*|--.*recurs.*")
_ANY = re.compile(r".*", re.DOTALL)
_READ_WHOLE = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "diff"), _RECURSIVE),
    "cp": re.compile(r"-\w*[aRr]\w*|--recursive|--archive"),
    **dict.fromkeys(("rg", "ag", "ack", "tar", "rsync"), _ANY),
    "zip": _RECURSIVE,
}
"""Programs that read whole folders, and the option with which they do."""
_LEAVE_DOTS_OUT = frozenset({"rg", "ag", "ack"})
_WITH_DOTS = re.compile(r"-\w*[u.]|--hidden|--unrestricted|--no-ignore")
_MAX_NAMES = 1_000


def secrets_read_with(part: Part, folders: Sequence[Path], roots: Sequence[Root]) -> Iterator[str]:
    """Yield a secret right below each folder that a program reads whole.

    None for all of a root: nearly every search is there, and many roots hold a ``.env``.
    """
    option = _READ_WHOLE.get(part.name)
    if option is None or not any(map(option.fullmatch, part.words[1:])):
        return
    is_dotted = part.name not in _LEAVE_DOTS_OUT or any(map(_WITH_DOTS.match, part.words[1:]))
    for word in (*(one for one in part.words[1:] if UNKNOWN not in one), "."):
        for folder in folders:
            real = real_path(folder / at_home(word))
            if any(one.path.is_relative_to(real) for one in roots):
                continue
            for name in islice(_names(real), _MAX_NAMES):
                if (is_dotted or name[0] != ".") and names_secret(names_of((real.name, name))):
                    yield f"{word}/{name}"
                    break


def _names(folder: Path) -> Iterator[str]:
    with suppress(OSError):
        yield from (one.name for one in folder.iterdir())
