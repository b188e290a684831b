"""``trust``: the folders whose own tools and settings count, one more of them, or one less."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from agent_ls.domain.errors import SettingsError
from agent_ls.domain.stops import EXIT_CONFIGURATION
from agent_ls.safety.text import visible_line
from agent_ls.safety.trust import TrustedFolders, trust_file


def trust(arguments: argparse.Namespace) -> int:
    """Trust a folder or forget one, and list those that are trusted; returns the exit code."""
    try:
        return _trust(TrustedFolders(trust_file()), arguments)
    except SettingsError as error:
        sys.stderr.write(f"agent-ls: {error}\n")
        return EXIT_CONFIGURATION


def _trust(trusted: TrustedFolders, arguments: argparse.Namespace) -> int:
    if arguments.folder is not None:
        folder = Path(arguments.folder).resolve()
        if not folder.is_dir():
            # What is put there later, nobody has seen yet.
            raise SettingsError(f"there is no folder {visible_line(str(folder))}")
        trusted.trust(folder)
    if arguments.forget is not None:
        # A folder may have become a link since; it is forgotten by either name.
        named = Path(arguments.forget).absolute()
        known, folder = trusted.listed(), named.resolve()
        if not {named, folder} & set(known):
            above = next((one for one in known if one in folder.parents), None)
            why = "is not trusted; see agent-ls trust"
            if above is not None:
                why = f"is trusted because {visible_line(str(above))} is; forget that one"
            raise SettingsError(f"{visible_line(str(folder))} {why}")
        trusted.forget(named)
    found = [str(one) for one in trusted.listed()]
    if arguments.json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        return 0
    if not found:
        sys.stdout.write("No folder is trusted.\n")
    for one in found:
        sys.stdout.write(f"{visible_line(one)}\n")
    return 0
