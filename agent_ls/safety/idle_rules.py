"""Says why a denial or a question by pattern can never apply, for the user who wrote it.

A rule is tried on what its own pattern names: one that does not even cover that covers nothing.
Looks at the disk, so call it off the event loop.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from agent_ls.domain.rules import PatternRule
from agent_ls.safety.named_programs import named_programs
from agent_ls.safety.path_patterns import PathPattern, patterns_of, unquoted
from agent_ls.safety.rule_limits import read_limit
from agent_ls.safety.rule_matching import fits_loosely
from agent_ls.safety.shell import at_home

_OPERATORS = frozenset({"&&", "||", ";", "|", "&", ">", ">>", "<"})
_NO_HOST = re.compile(r"[/\s]|:(?!\d+$)")


def why_idle(rule: PatternRule, folders: Sequence[Path], tools: Collection[str]) -> str:
    """Return why a denial or a question never applies; empty: it may.

    ``tools`` are the names of our own tools.
    """
    if rule.decision == "allow":
        return ""
    match rule.subject:
        case "run_command":
            return _of_command(rule)
        case "tool":
            return _of_tool(rule.pattern, tools)
        case "host":
            is_name = rule.pattern.startswith("[") or not _NO_HOST.search(rule.pattern)
            return "" if is_name else "a host is a name alone, as in pypi.org or *.example.com"
        case "read" | "edit":
            return _of_files(rule.pattern, [str(folder.resolve()) for folder in folders])


def _of_command(rule: PatternRule) -> str:
    is_list = not _OPERATORS.isdisjoint(rule.words)
    programs = [] if is_list else named_programs(rule.pattern.replace("*", "x"))
    if programs is None or any(fits_loosely(rule, words) for words in programs):
        return ""
    return (
        "no program is called like that. It is about one program and its words, as in git push *, "
        "without && or variables"
    )


def _of_tool(pattern: str, tools: Collection[str]) -> str:
    if "/" in pattern or any(fnmatchcase(one, pattern.lower()) for one in tools):
        return ""
    return f"a server's tool is SERVER/TOOL, and those of agent-ls are {', '.join(sorted(tools))}"


def _of_files(pattern: str, tops: Sequence[str]) -> str:
    parts = [one for one in patterns_of(pattern) if not one.startswith("!")]
    if any(one.startswith("../") for one in parts):
        return "it leads out of the folder: write the whole path, as in //home/me/secrets/**"
    limit = read_limit(pattern, tuple(tops))
    samples = [sample for one in parts if (sample := _sample(one))]
    if len(samples) < len(parts):
        # What fits a class of characters is not known here.
        return ""
    names = {posixpath.normpath(one).strip("/").lower() for one in samples}
    if not any(limit.covers({one}, {one}) for one in names):
        return "no path is written like that, or all that it covers is left out again"
    if len(parts) == 1 and (first := _first_folder(parts[0], tops)):
        return (
            f"it counts from the top of the folder, which has no {first}; for the top of the disk, "
            f"write /{parts[0]}"
        )
    return ""


def _sample(part: str) -> str:
    """Return a path that a pattern names; empty where that is not certain."""
    part = at_home(part) if part.startswith("~/") else part
    spelled = PathPattern(part, is_wide=True).spellings
    if not spelled or re.search(r"(?<!\\)\[", spelled[0]):
        return ""
    return unquoted(re.sub(r"(?<!\\)[*?]+", "x", spelled[0]))


def _first_folder(part: str, tops: Sequence[str]) -> str:
    """Return the first folder of a path that is there on the disk, and not in the workspace."""
    first = part.split("/")[1] if part.startswith("/") and not part.startswith("//") else ""
    is_plain = bool(first) and not re.search(r"[*?\[{\\]", first)
    is_in_workspace = any(
        part.startswith(f"{top}/") or (Path(top) / first).exists() for top in tops
    )
    return first if is_plain and not is_in_workspace and Path("/", first).exists() else ""
