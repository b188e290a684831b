"""``trust``: lists, adds and forgets folders whose own tools and settings are used."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from agent_ls.cli.output import print_json
from agent_ls.domain.errors import SettingsError
from agent_ls.safety.text import visible_line
from agent_ls.safety.trust import TrustedFolders, trust_file
from agent_ls.settings import load_settings
from agent_ls.trusting import switched_on

_DECLINED = 1


def trust(arguments: argparse.Namespace) -> int:
    """Trust or forget a folder, then list the trusted folders. Errors: ``SettingsError``.

    The user is asked first; without a terminal only ``--yes`` trusts.
    """
    trusted = TrustedFolders(trust_file())
    if arguments.folder is not None:
        folder = Path(arguments.folder).expanduser().resolve()
        if not folder.is_dir():
            # The user cannot have reviewed a folder that does not exist yet.
            raise SettingsError(f"there is no folder {visible_line(str(folder))}")
        if not _agrees(folder, arguments):
            return 0 if arguments.show else _DECLINED
        trusted.trust(folder)
    if arguments.forget is not None:
        # The folder may have become a link since, so accept both names.
        named = Path(arguments.forget).expanduser().absolute()
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


def _agrees(folder: Path, arguments: argparse.Namespace) -> bool:
    """Say what trusting the folder would switch on, and whether the user wants that.

    Errors: ``SettingsError`` when nobody can be asked.
    """
    found = asyncio.run(switched_on(folder, load_settings().settings))
    if arguments.show and arguments.json:
        print_json({"on": found.on, "off": found.off})
        return False
    place = sys.stdout if arguments.show else sys.stderr
    place.write(f"{visible_line(str(folder))}\n{found.words}\n")
    if arguments.show:
        return False
    if arguments.yes:
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise SettingsError("nobody is there to be asked; add --yes if you trust this folder")
    sys.stderr.write("Trust this folder? [y/N] ")
    sys.stderr.flush()
    is_agreed = sys.stdin.readline().strip().lower() in ("y", "yes")
    if not is_agreed:
        sys.stderr.write("Not trusted.\n")
    return is_agreed
