"""Lists rules for a user, and adds and removes saved ones in their words.

Looks at the disk, so call it off the event loop.
"""

from __future__ import annotations

import contextlib
import fnmatch
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Literal

from agent_ls.domain.errors import SettingsError
from agent_ls.domain.rules import GRANT, Decision, PatternRule, parse_rule
from agent_ls.safety.named_programs import named_programs
from agent_ls.safety.path_patterns import patterns_of
from agent_ls.safety.rule_matching import fits_loosely
from agent_ls.safety.rules import Rule, SavedRules
from agent_ls.safety.text import visible_line

_SAVED: dict[Decision, Literal["allow", "ask", "reject"]] = {
    "allow": "allow",
    "ask": "ask",
    "deny": "reject",
}
_OPERATORS = frozenset({"&&", "||", ";", "|", "&", ">", ">>", "<"})
_NO_HOST = re.compile(r"[/\s]|:(?!\d+$)")


def listed(rules: SavedRules) -> list[str]:
    """Return a line for each rule: the saved ones by number, then those of the settings."""
    lines: list[str] = []
    for number, one in enumerate(rules.all(), 1):
        where = ", ".join(map(visible_line, one.folders)) or "every folder"
        what = visible_line(one.grant.removeprefix(GRANT))
        lines.append(f"{number:>3}  {one.word:<6}  {what}  in {where} (saved)")
    for one in rules.options.patterns:
        where = visible_line(one.source) or "settings"
        lines.append(f"  -  {one.decision:<6}  {visible_line(one.notation)}  from {where}")
    return lines or ["There are no rules."]


def add(rules: SavedRules, text: str, folders: Sequence[Path], tools: Collection[str] = ()) -> str:
    """Save the rule that a user wrote; return a line if it can never apply, else nothing.

    ``tools`` are the names of our own tools. Errors: ``SettingsError``.
    """
    rule = _parsed(text)
    rules.add(rule.grant, folders, _SAVED[rule.decision])
    why = _why_idle(rule, folders, tools)
    named = visible_line(f"{rule.decision} {rule.notation}")
    return f"The rule “{named}” is saved, but never applies: {why}." if why else ""


def remove(rules: SavedRules, text: str) -> None:
    """Remove the saved rule with this number or text. Errors: ``SettingsError``."""
    rules.forget(_named(text, rules.all()))


def _parsed(text: str) -> PatternRule:
    """Return the rule that a user wrote; without a subject it is about commands."""
    try:
        return parse_rule(text)
    except ValueError as error:
        decision, _, words = text.strip().partition(" ")
        if decision not in _SAVED:
            raise SettingsError(
                f"{text[:100]!r} is no rule: begin with allow, ask or deny, as in allow pytest * "
                "or deny read: secrets/**"
            ) from None
        if not words or ":" in words:
            raise SettingsError(str(error)) from None
        return parse_rule(f"{decision} run_command: {words}")


def _named(text: str, found: Sequence[Rule]) -> Rule:
    said = " ".join(text.split())
    written = [said]
    with contextlib.suppress(SettingsError):
        rule = _parsed(text)
        written.append(f"{rule.decision} {rule.notation}")
    for number, one in enumerate(found, 1):
        names = (str(number), one.grant, f"{one.word} {one.grant.removeprefix(GRANT)}")
        if any(each in names for each in written):
            return one
    raise SettingsError(
        f"there is no saved rule {text}; see agent-ls rules. Rules of settings are removed there."
    )


def _why_idle(rule: PatternRule, folders: Sequence[Path], tools: Collection[str]) -> str:
    """Return why a denial or a question can never apply; empty: it may."""
    pattern = rule.pattern
    match rule.subject if rule.decision != "allow" else "":
        case "run_command" if not _names_program(rule):
            return (
                "no program is called like that. It is about one program and its words, as in "
                "git push *, without && or variables"
            )
        case "tool" if "/" not in pattern and not fnmatch.filter(tools, pattern.lower()):
            ours = ", ".join(sorted(tools))
            return f"a server's tool is SERVER/TOOL, and those of agent-ls are {ours}"
        case "host" if not pattern.startswith("[") and _NO_HOST.search(pattern):
            return "a host is a name alone, as in pypi.org or *.example.com"
        case "read" | "edit":
            return _why_no_file(patterns_of(pattern), [str(one.resolve()) for one in folders])
        case _:
            return ""


def _names_program(rule: PatternRule) -> bool:
    """Say whether a rule covers the program that its own pattern names."""
    is_list = not _OPERATORS.isdisjoint(rule.words)
    programs = [] if is_list else named_programs(rule.pattern.replace("*", "x"))
    return programs is None or any(fits_loosely(rule, words) for words in programs)


def _why_no_file(parts: Sequence[str], tops: Sequence[str]) -> str:
    """Return why a pattern covers no file: it goes up, or begins where it was not meant to."""
    if any(".." in one.split("/") for one in parts):
        return "no path is matched with .. in it: write it whole, as in //home/me/secrets/**"
    part, first = parts[0], "".join(parts[0].split("/")[1:2])
    is_top = len(parts) == 1 and part.startswith("/") and not part.startswith("//")
    is_top &= bool(first) and not re.search(r"[*?\[{\\]", first)
    if is_top and not any(part.startswith(f"{top}/") or Path(top, first).exists() for top in tops):
        why = f"it counts from the top of the folder, which has no {first}"
        is_there = Path("/", first).exists()
        return f"{why}; for the top of the disk, write /{part}" if is_there else ""
    return ""
