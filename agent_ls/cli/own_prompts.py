"""``review --base`` and ``commit``: turns whose prompt is ours."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from subprocess import SubprocessError

from agent_ls.cli.event_lines import failure_as_event
from agent_ls.cli.options import folder_of
from agent_ls.cli.run import run
from agent_ls.domain.errors import SettingsError, UsageError
from agent_ls.domain.shipped_commands import COMMIT, OWN_PREFIX, REVIEW
from agent_ls.safety.sandbox import own_git
from agent_ls.safety.text import label

_SHOWN_CHARACTERS = 80


def review_since(arguments: argparse.Namespace) -> int:
    """Let the agent review what changed since a revision; return the exit code."""
    with failure_as_event(arguments):
        if arguments.session is not None:
            raise UsageError("review: --base begins a session of its own, so name none.")
        if arguments.dry_run:
            raise UsageError("review: a dry run runs no git. A review changes nothing anyway.")
        # Some versions of argparse make a list of ``--base=--``.
        revision = "".join(arguments.base) or "--"
        _check_revision(folder_of(arguments), revision)
    arguments.prompt = [f"/{OWN_PREFIX}{REVIEW.name}", shlex.quote(revision)]
    return run(arguments)


def commit(arguments: argparse.Namespace) -> int:
    """Let the agent propose a commit; return the exit code."""
    with failure_as_event(arguments):
        if arguments.dry_run:
            raise UsageError(
                "commit: a dry run runs no git, so it sees no changes. Without --dry-run you are "
                "asked before anything is committed."
            )
    arguments.prompt = [f"/{OWN_PREFIX}{COMMIT.name}", *arguments.words]
    return run(arguments)


def _check_revision(folder: Path, revision: str) -> None:
    """Refuse what git does not know: a review of nothing would find nothing.

    Errors: ``SettingsError``.
    """
    asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    try:
        is_known = own_git.run(folder, [folder], *asked).returncode == 0
    except (OSError, SubprocessError) as error:
        raise SettingsError(f"review: git cannot be asked: {error}.") from None
    if revision.startswith("-") or not is_known:
        raise SettingsError(
            f"review: {label(revision, _SHOWN_CHARACTERS)} names no commit here. Give a branch, a "
            "tag or a commit of the git repository that holds the folder. A repository that "
            "belongs to another user can be read only if a sandbox works here."
        )
