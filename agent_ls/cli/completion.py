"""``completion``: prints what makes a shell complete commands, options and their values."""

from __future__ import annotations

import argparse
import sys

import shtab

from agent_ls.cli.parser import build_parser

_COMPLETES = {"FILE": shtab.FILE, "PATH": shtab.FILE, "FOLDER": shtab.DIRECTORY}
"""What completes a value, by how the help names it."""


def completion(arguments: argparse.Namespace) -> int:
    """Print the script for a shell; return the exit code."""
    parser = build_parser()
    for action in (action for one in (parser, *parser.below()) for action in one._actions):
        if action.metavar in _COMPLETES:
            action.complete = _COMPLETES[action.metavar]  # type: ignore[attr-defined] - shtab's way
    sys.stdout.write(f"{shtab.complete(parser, arguments.shell)}\n")
    return 0
