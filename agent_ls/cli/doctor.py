"""``doctor``: tells what works on this machine, and how to fix the rest."""

from __future__ import annotations

import argparse
import asyncio
import sys
from dataclasses import asdict

from agent_ls.cli.options import command_line_settings, folder_of
from agent_ls.cli.output import print_json
from agent_ls.diagnosis import diagnosed
from agent_ls.settings import load_settings


def doctor(arguments: argparse.Namespace) -> int:
    """Print the findings; return 1 if something is wrong."""
    folder = folder_of(arguments)
    loaded = load_settings(folders=[folder], command_line=command_line_settings(arguments))
    found = asyncio.run(diagnosed(loaded, folder, asks_model=arguments.probe))
    if arguments.json:
        print_json([asdict(one) for one in found])
    else:
        sys.stdout.write("".join(f"{one.line}\n" for one in found))
    return 1 if any(one.state == "wrong" for one in found) else 0
