"""``rules``: lists rules with where they come from, and adds and removes saved ones."""

from __future__ import annotations

import argparse
import sys

from agent_ls.catalogue import TOOLS
from agent_ls.cli.options import folder_of, tell_problems
from agent_ls.cli.output import print_json
from agent_ls.safety.rule_list import add, listed, remove
from agent_ls.safety.rules import SavedRules, rules_file
from agent_ls.settings import load_settings


def rules(arguments: argparse.Namespace) -> int:
    """List the rules that hold in the folder, and all saved ones; returns the exit code."""
    folder = folder_of(arguments)
    loaded = load_settings(folders=[folder])
    tell_problems(loaded)
    saved = SavedRules(rules_file(), loaded.settings.rules)
    if arguments.add is not None:
        names = [one.name for one in TOOLS]
        if note := add(saved, arguments.add, [folder], names):
            sys.stderr.write(f"agent-ls: {note}\n")
    if arguments.remove is not None:
        remove(saved, arguments.remove)
    if arguments.json:
        found = [{**one.model_dump(), "decision": one.word} for one in saved.all()]
        print_json([*found, *(one.model_dump() for one in saved.options.patterns)])
    else:
        sys.stdout.write("".join(f"{line}\n" for line in listed(saved)))
    return 0
