"""Read the shell command that models write around a patch: ``cd FOLDER && apply_patch <<'EOF'``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from posixpath import join, normpath

from agent_ls.edits.requests import Refused

_CALL = re.compile(
    r"(?P<before>.*?)\b(?:apply_?patch|git apply|patch)\b(?: +-\S+)*"
    r"[ \t]*(?:<<-?[ \t]*\S+|[\"']|<\()?\s*",
    re.S,
)
_CD = re.compile(
    r"(?P<above>.*\n)?[ \t]*(?:\S*sh +-\w*c +[\"'])?cd +(?P<folder>'[^']+'|\"[^\"]+\"|[^\s;&|'\"]+)"
    r"[ \t]*(?:&&|;|\n)\s*",
    re.S,
)
_COMMAND = re.compile(r"\s*(?:cd [^\n;&|]+(?:&&|;|\n)\s*)?apply_?patch\s*(?:<<|[\"'])")
_MOVES = re.compile(r"\b(?:cd|pushd|popd)\b")
_ELSEWHERE = re.compile(
    r"\b(?:git|patch)\b[^\n]*\s(?:-d|-C|--directory|--work-tree|--git-dir)[\s=]"
)
"""Options that name the folder of a patch."""
_UNCERTAIN = Refused(
    "It is not certain in which folder the patch is to be applied: before `apply_patch` "
    "there may only be `cd FOLDER &&`. Leave the command away, and write each path as "
    "seen from the workspace folder.",
    "malformed",
)
_SHELLS_OWN = re.compile(r"[$`~*?\\]|^-")
"""A folder that only a shell can name."""


def folder_of_call(lines: Sequence[str]) -> str | Refused:
    """Return the folder that the command above a patch goes to; '' if it goes nowhere."""
    said = "\n".join(lines)
    if _ELSEWHERE.search(said):
        return _UNCERTAIN
    call = _CALL.fullmatch(said)
    if call is None or not _MOVES.search(call["before"]):
        return ""
    match = _CD.fullmatch(call["before"])
    folder = match["folder"].strip("'\"") if match else ""
    if match is None or _MOVES.search(match["above"] or "") or _SHELLS_OWN.search(folder):
        return _UNCERTAIN
    return folder


def is_patch_call(command: str) -> bool:
    """Tell whether a shell command does nothing but give a patch to a program for patches."""
    return "*** Begin Patch" in command and bool(_COMMAND.match(command))


def path_below(folder: str, path: str) -> str:
    """Return the path as seen from where the command was given."""
    return normpath(join(folder, path)) if folder else path
