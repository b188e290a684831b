"""Merges the changes of a worktree into the user's files, as changes that can be reviewed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from agent_ls.assembly import open_disk_workspace, open_sessions
from agent_ls.batch.checkouts import Checkout
from agent_ls.batch.worktrees import TreeChange, as_command_changes
from agent_ls.cli.changes import Outcome, merge
from agent_ls.cli.options import command_line_settings, tell_problems
from agent_ls.cli.review import NoModel, print_outcome
from agent_ls.domain.sentences import sentence
from agent_ls.domain.stops import EXIT_PARTIAL
from agent_ls.domain.verdicts import Ask, Deny
from agent_ls.loop.ports.commands import CommandChange
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.safety.control_files import judge_write
from agent_ls.safety.text import visible_line
from agent_ls.settings import load_settings


async def merge_into(
    top: Path,
    name: str,
    checkout: Checkout,
    changes: Sequence[TreeChange],
    arguments: argparse.Namespace,
) -> tuple[int, list[TreeChange]]:
    """Merge into the files of ``top``; return the exit code and what is merged wholly."""
    workspace = open_disk_workspace([top])
    left: dict[str, str] = {}
    remarks: list[str] = []
    for one in changes:
        verdict = judge_write(one.path, workspace.roots)
        if isinstance(verdict, Deny):
            left[one.path] = verdict.reason
        elif isinstance(verdict, Ask):
            remarks.append(verdict.reason)
    allowed = [one for one in changes if one.path not in left]
    contents, others = await as_command_changes(checkout, allowed, top)
    left |= others
    code, merged = 0, list[str]()
    if contents:
        session_id, outcome, merged = await _merge(workspace, top, name, contents, arguments)
        code = print_outcome(outcome)
        _say_what_next(top, session_id, outcome)
    for remark in remarks:
        sys.stderr.write(f"Look at this before you keep it: {visible_line(sentence(remark))}\n")
    for path, why in left.items():
        sys.stdout.write(f"{visible_line(sentence(f'{path}: not merged, {why}'))}\n")
    done = [one for one in changes if one.path in merged]
    return EXIT_PARTIAL if left else code, done


async def _merge(
    workspace: Workspace,
    top: Path,
    name: str,
    changes: Sequence[CommandChange],
    arguments: argparse.Namespace,
) -> tuple[str, Outcome, list[str]]:
    """Return the session that has the changes, what came of them, and the files merged wholly."""
    loaded = load_settings(folders=[top], command_line=command_line_settings(arguments))
    tell_problems(loaded)
    sessions = await open_sessions(loaded.settings, workspace, is_attended=True, provider=NoModel())
    try:
        words = f"Merge the worktree {name}"
        session = await sessions.with_undone(words, "These changes came from it.", changes)
        return session.id, *await merge(session)
    finally:
        await sessions.close()


def _say_what_next(top: Path, session_id: str, outcome: Outcome) -> None:
    where = "" if top.samefile(".") else f" --workspace {top}"
    which = f"--session {session_id[-6:]}{where}"
    words = (
        f"`agent-ls review {which}` decides about each change, "
        f"`agent-ls undo --all {which}` takes all of them back."
    )
    sys.stderr.write(f"{visible_line(words)}\n")
    if not outcome.is_whole:
        sys.stderr.write(
            "What is left stays in the worktree. Make your file agree with it, or the worktree's "
            "with yours, and merge again.\n"
        )
