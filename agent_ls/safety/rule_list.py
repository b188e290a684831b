"""Lists rules for a person, and adds and removes saved ones in their words."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Literal

from agent_ls.domain.errors import SettingsError
from agent_ls.domain.rules import GRANT, Decision, PatternRule, parse_rule
from agent_ls.safety.idle_rules import why_idle
from agent_ls.safety.rules import Rule, SavedRules
from agent_ls.safety.text import visible_line

_SAVED: dict[Decision, Literal["allow", "ask", "reject"]] = {
    "allow": "allow",
    "ask": "ask",
    "deny": "reject",
}


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
    why = why_idle(rule, folders, tools)
    named = visible_line(f"{rule.decision} {rule.notation}")
    return f"The rule “{named}” is saved, but never applies: {why}." if why else ""


def remove(rules: SavedRules, text: str) -> None:
    """Remove the saved rule with this number or text. Errors: ``SettingsError``."""
    rules.forget(_named(text, rules.all()))


def _parsed(text: str) -> PatternRule:
    """Return the rule that a person wrote; without a subject it is about commands."""
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
