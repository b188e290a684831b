"""``completion``: prints what makes a shell complete commands, options and their values."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import cast

import shtab

from agent_ls.cli.parser import build_parser

_COMPLETES = {"FILE": shtab.FILE, "PATH": shtab.FILE, "FOLDER": shtab.DIRECTORY}
"""What completes a value, by how the help names it."""


def completion(arguments: argparse.Namespace) -> int:
    """Print the script for a shell; return the exit code."""
    parser = build_parser()
    for action in _actions(parser):
        if action.metavar in _COMPLETES:
            action.complete = _COMPLETES[action.metavar]  # type: ignore[attr-defined] - shtab's way
    sys.stdout.write(f"{shtab.complete(parser, arguments.shell)}\n")
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        # Only the choice of a command has parsers behind its names.
        if isinstance(choices := cast(object, action.choices), dict):
            for below in cast("dict[str, argparse.ArgumentParser]", choices).values():
                yield from _actions(below)
