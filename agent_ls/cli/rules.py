"""``rules``: lists rules with where they come from, and adds and removes saved ones."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Literal

from agent_ls.cli.options import folder_of, tell_problems
from agent_ls.cli.output import print_json
from agent_ls.domain.errors import SettingsError
from agent_ls.domain.rules import Decision, PatternRule, parse_rule
from agent_ls.safety.rules import Rule, SavedRules, rules_file
from agent_ls.safety.text import visible_line
from agent_ls.settings import load_settings

_SAVED: dict[Decision, Literal["allow", "ask", "reject"]] = {
    "allow": "allow",
    "ask": "ask",
    "deny": "reject",
}


def rules(arguments: argparse.Namespace) -> int:
    """List the rules that hold in the folder, and all saved ones; returns the exit code."""
    folder = folder_of(arguments)
    loaded = load_settings(folders=[folder])
    tell_problems(loaded)
    saved = SavedRules(rules_file())
    if arguments.add is not None:
        rule = _parsed(arguments.add)
        saved.add(rule.grant, [folder], _SAVED[rule.decision])
    if arguments.remove is not None:
        saved.forget(_named(arguments.remove, saved.all()))
    written = loaded.settings.rules.patterns
    if arguments.json:
        print_json([one.model_dump() for one in (*saved.all(), *written)])
        return 0
    if not (written or saved.all()):
        sys.stdout.write("There are no rules.\n")
    for number, one in enumerate(saved.all(), 1):
        where = ", ".join(map(visible_line, one.folders)) or "every folder"
        what = visible_line(one.grant.removeprefix("rule "))
        sys.stdout.write(f"{number:>3}  {one.decision:<6}  {what}  in {where} (saved)\n")
    for one in written:
        where = visible_line(one.source) or "settings"
        sys.stdout.write(f"  -  {one.decision:<6}  {visible_line(one.notation)}  from {where}\n")
    return 0


def _parsed(text: str) -> PatternRule:
    """Return the rule that a person wrote; without a subject it is about commands."""
    try:
        return parse_rule(text)
    except ValueError as error:
        decision, _, words = text.strip().partition(" ")
        if decision not in _SAVED or not words or ":" in words:
            raise SettingsError(str(error)) from None
        return parse_rule(f"{decision} run_command: {words}")


def _named(text: str, found: Sequence[Rule]) -> Rule:
    """Return the saved rule with this number or text."""
    for number, one in enumerate(found, 1):
        names = (str(number), one.grant, f"{one.decision} {one.grant.removeprefix('rule ')}")
        if text in names:
            return one
    raise SettingsError(
        f"there is no saved rule {text}; see agent-ls rules. Rules of settings are removed there."
    )
