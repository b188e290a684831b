"""``trust``: lists, adds and forgets folders whose own tools and settings are used."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from agent_ls.cli.output import print_json
from agent_ls.domain.errors import SettingsError
from agent_ls.safety.text import visible_line
from agent_ls.safety.trust import TrustedFolders, trust_file


def trust(arguments: argparse.Namespace) -> int:
    """Trust or forget a folder, then list the trusted folders. Errors: ``SettingsError``."""
    trusted = TrustedFolders(trust_file())
    if arguments.folder is not None:
        folder = Path(arguments.folder).resolve()
        if not folder.is_dir():
            # The user cannot have reviewed a folder that does not exist yet.
            raise SettingsError(f"there is no folder {visible_line(str(folder))}")
        trusted.trust(folder)
    if arguments.forget is not None:
        # The folder may have become a link since, so accept both names.
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
        print_json(found)
        return 0
    if not found:
        sys.stdout.write("No folder is trusted.\n")
    for one in found:
        sys.stdout.write(f"{visible_line(one)}\n")
    return 0
