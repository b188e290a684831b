"""Where no sandbox holds commands: says whether a program plainly reads files of the workspace.

Only plain words of a short list: programs with few letters as options, and operands that each name
one place of the workspace. Everything else asks; a sandbox is what makes most commands run unasked.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
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
_VALUED = {"head": "nc", "tail": "nc", "cut": "dfc", "nl": "b", "grep": "ABCm"}
"""The letters that take a value: the rest of their word, else the next word."""
_VALUE = re.compile(r"\+?\d+|[,:;.\t ]|\d+(,\d+)*")
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
    is_known = all(one in _LETTERS[name] or one.isdigit() for word in options for one in word[1:])
    operands = _operands(name, rest)
    if not is_known or operands is None:
        return False
    files = list(operands)
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


def _operands(name: str, rest: Sequence[str]) -> list[str] | None:
    """Return the words that are no options and no values of options; None if that is not plain."""
    found: list[str] = []
    takes_next = False
    for word in rest:
        if takes_next:
            takes_next = False
            if not _VALUE.fullmatch(word):
                return None
        elif word[:1] == "-" and word != "-":
            valued = [at for at, one in enumerate(word) if at and one in _VALUED.get(name, "")]
            takes_next = bool(valued) and valued[0] == len(word) - 1
        else:
            found.append(word)
    return None if takes_next else found


def _prints_lines(rest: Sequence[str]) -> bool:
    is_print = len(rest) == 3 and rest[0] == "-n" and bool(_SED.fullmatch(rest[1]))
    return is_print and not rest[2].startswith("-")


def _finds_names(rest: Sequence[str]) -> bool:
    if not rest or rest[0][:1] in "-!(":
        return False
    words = iter(rest[1:])
    for word in words:
        if _FIND_VALUE.fullmatch(word):
            if "/" in next(words, "/"):
                return False
        elif not _FIND.fullmatch(word):
            return False
    return True


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
