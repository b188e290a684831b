"""Where no sandbox holds commands: says whether a program plainly reads files of the workspace.

Only plain words of a short list: programs with few letters as options, and operands that each name
one place of the workspace. Everything else asks; a sandbox is what makes most commands run unasked.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.control_files import has_other_names, names_of, names_secret
from agent_ls.safety.paths import components_below, is_inside, real_path
from agent_ls.safety.programs import child_path, lies_in

_LETTERS = {
    "ls": "aAlhtrS1dF", "cat": "nAbs", "head": "ncq", "tail": "ncq", "wc": "lwcm", "pwd": "",
    "echo": "", "true": "", "false": "", "sort": "nrubfhV", "uniq": "cdui", "cut": "dfc",
    "nl": "ba", "stat": "", "file": "b", "diff": "uqw", "cmp": "s", "basename": "", "dirname": "",
    "tr": "dsc", "rev": "", "date": "", "whoami": "", "uname": "a", "which": "", "md5sum": "",
    "sha256sum": "", "grep": "nivwlLchHoEFqABCm",
}  # fmt: skip
"""Programs, and the letters that their options may have; a number may always stand among them."""
_TEXTS = frozenset({"echo", "tr", "basename", "dirname", "which", "date"})
"""Programs whose operands are no files."""
_SHORT_VALUE = re.compile(r"\+?\d+|[,:;.\t ]|\d+(,\d+)*")
"""What may stand behind an option that takes a value."""
_TAKES_VALUE = re.compile(r"-\w*[ncdfABCm]")
_SED = re.compile(r"(\d+|\$)(,(\d+|\$))?p")
_FIND = re.compile(r"-(print|not|o|a)|!")
_FIND_VALUE = re.compile(r"-(name|iname|type|maxdepth|mindepth|size)")
_VERSIONS = ("--version", "-V")


def reads_plainly(words: Sequence[str], folder: Path, roots: Sequence[Root]) -> bool:
    """Say whether a program with these words plainly reads in a folder. Looks at the disk."""
    name, rest = words[0], words[1:]
    if not _is_systems(name, roots) or not _is_inside(".", folder, roots):
        return False
    if name in ("sed", "find"):
        is_known = _prints_lines(rest) if name == "sed" else _finds_names(rest)
        return is_known and _is_inside(rest[2 if name == "sed" else 0], folder, roots)
    if name not in _LETTERS:
        return False
    if name == "echo" or (len(rest) == 1 and rest[0] in _VERSIONS):
        return True
    options = [one for one in rest if one[:1] == "-" and one != "-"]
    if any(not (one in _LETTERS[name] or one.isdigit()) for word in options for one in word[1:]):
        return False
    operands = [one for one in rest if one not in options]
    values = {
        at
        for at, (option, one) in enumerate(pairwise(words))
        if _TAKES_VALUE.fullmatch(option) and _SHORT_VALUE.fullmatch(one)
        if not os.path.lexists(folder / one)
    }
    files = [one for at, one in enumerate(rest) if one not in options and at not in values]
    if name in _TEXTS:
        return name != "date" or all(one.startswith("+") for one in operands)
    if name == "grep":
        del files[:1]
    # uniq writes its second operand, and diff follows the links in folders.
    if name == "uniq" and len(operands) > 1:
        return False
    if name == "diff" and any((folder / one).is_dir() for one in operands):
        return False
    return all(_is_inside(one, folder, roots) and one[:1] != "+" for one in files)


def _prints_lines(rest: Sequence[str]) -> bool:
    is_print = len(rest) == 3 and rest[0] == "-n" and bool(_SED.fullmatch(rest[1]))
    return is_print and not rest[2].startswith("-")


def _finds_names(rest: Sequence[str]) -> bool:
    if not rest or rest[0][:1] in "-!(":
        return False
    return all(
        _FIND.fullmatch(one)
        or _FIND_VALUE.fullmatch(one)
        or (_FIND_VALUE.fullmatch(option) and "/" not in one)
        for option, one in pairwise(rest)
    )


def _is_systems(name: str, roots: Sequence[Root]) -> bool:
    """Say whether a name stands for a program outside of the workspace, if for any."""
    found = shutil.which(name, path=child_path()) if "/" not in name else None
    if found is None:
        return name in ("cd", "echo", "true", "false", "pwd")
    is_shim = "shims" in Path(found).parts
    return not is_shim and not lies_in(Path(found), [one.path for one in roots])


def _is_inside(word: str, folder: Path, roots: Sequence[Root]) -> bool:
    """Say whether a word names one place of the workspace that holds no secret."""
    try:
        real = real_path(folder / word)
        if not is_inside(real, roots) or has_other_names(real):
            return False
        kind = real.is_dir() or real.is_file() or not real.exists()
    except (OSError, ValueError):
        return False
    below = next((one for root in roots if (one := components_below(real, root.path))), ())
    is_secret = names_secret(names_of(below)) or names_secret(names_of(Path(word).parts))
    return kind and not is_secret and ".git" not in below
