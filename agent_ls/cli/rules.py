"""``rules``: lists what the user always allows or rejects, and forgets single rules."""

from __future__ import annotations

import argparse
import sys

from agent_ls.cli.output import print_json
from agent_ls.domain.errors import SettingsError
from agent_ls.safety.rules import SavedRules, rules_file
from agent_ls.safety.text import visible_line


def rules(arguments: argparse.Namespace) -> int:
    """List the rules, or forget one; returns the exit code."""
    saved = SavedRules(rules_file())
    found = saved.all()
    if arguments.forget is not None:
        number = int(arguments.forget)
        if not 1 <= number <= len(found):
            raise SettingsError(f"there is no rule {number}; see agent-ls rules")
        saved.forget(found[number - 1])
        found = saved.all()
    if arguments.json:
        print_json([one.model_dump() for one in found])
        return 0
    if not found:
        sys.stdout.write("Nothing is always allowed or rejected.\n")
    for number, one in enumerate(found, 1):
        where = ", ".join(map(visible_line, one.folders))
        sys.stdout.write(f"{number:>3}  {one.decision:<6}  {visible_line(one.grant)}  in {where}\n")
    return 0
