"""``explain``: what the rules would decide about a command or a file, and why. Nothing runs."""

from __future__ import annotations

import argparse
import asyncio
import sys
from dataclasses import replace
from typing import cast

from agent_ls.assembly import open_disk_workspace
from agent_ls.cli.explain_batch import explain_batch
from agent_ls.cli.judging import Kind, Question, boundary_here, judge
from agent_ls.cli.options import command_line_settings, folder_of, tell_problems
from agent_ls.cli.output import print_json
from agent_ls.domain.errors import UsageError
from agent_ls.safety.rules import SavedRules, rules_file
from agent_ls.safety.text import visible_line
from agent_ls.settings import load_settings

_SIGNS = {"allow": "✓ runs without asking", "ask": "? asks first", "deny": "✗ never runs"}


def explain(arguments: argparse.Namespace) -> int:
    """Print the rules' decision; nothing runs."""
    folder = folder_of(arguments)
    loaded = load_settings(folders=[folder], command_line=command_line_settings(arguments))
    tell_problems(loaded)
    roots = open_disk_workspace([folder]).roots
    settings, saved = loaded.settings, SavedRules(rules_file(), loaded.settings.rules)
    if arguments.batch:
        return explain_batch(roots, settings, saved)
    if arguments.subject is None:
        raise UsageError("say what to explain: command, path or write, and the subject")
    mode, kind = settings.mode, cast("Kind", arguments.kind)
    question = Question(kind, arguments.subject, roots, mode, saved, settings)
    with boundary_here(settings.sandbox, lambda: [root.path for root in roots]) as boundary:
        found = asyncio.run(judge(replace(question, boundary=boundary)))
    # A path that is no path is refused like one that may not be used.
    decision = "deny" if found.decision == "error" else found.decision
    if arguments.json:
        print_json(
            {
                "what": question.subject,
                "mode": mode.value,
                "decision": decision,
                "decided_by": found.decided_by,
                "reason": found.reason,
                "every_time": found.every_time,
                "view": found.view,
            }
        )
        return 0
    always = ", in every mode" if found.every_time else f" in mode {mode.value}"
    sys.stdout.write(f"{_SIGNS[decision]}{always}: {visible_line(question.subject)}\n")
    by = "" if decision == "allow" else f"{found.decided_by}: "
    sys.stdout.write(f"  {by}{visible_line(found.reason)}\n")
    return 0
