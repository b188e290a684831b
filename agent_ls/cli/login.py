"""``login`` and ``logout``: sign in with an account instead of a key, and out again."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from difflib import get_close_matches

from agent_ls import catalogue
from agent_ls.cli.output import print_json
from agent_ls.domain.errors import ProviderError, SettingsError
from agent_ls.safety.text import visible, visible_line
from agent_ls.settings import load_settings

_FAILED = 1
_MINUTE_S = 60


def login(arguments: argparse.Namespace) -> int:
    """Sign in, or list the accounts if none is named; return the exit code.

    Errors: ``SettingsError`` for an unknown name.
    """
    if arguments.account is None:
        _list(as_json=arguments.json)
        return 0
    about = _account(arguments.account)
    try:
        asyncio.run(_sign_in(about))
    except ProviderError as error:
        sys.stderr.write(f"agent-ls: {visible(error.message)}\n")
        return _FAILED
    sys.stdout.write(
        f"You are signed in at {about.title}. `agent-ls models {about.provider}/` lists its "
        f"models; `agent-ls logout {about.name}` signs out.\n"
    )
    return 0


def logout(arguments: argparse.Namespace) -> int:
    """Delete the tokens of an account; return the exit code.

    Errors: ``SettingsError`` for an unknown name, or if they cannot be deleted.
    """
    about = _account(arguments.account)
    was_there = about.forget(os.environ)
    done = "You are signed out of" if was_there else "You were not signed in at"
    sys.stdout.write(f"{done} {about.title}.\n")
    return 0


async def _sign_in(about: catalogue.SIGN_IN) -> None:
    host = catalogue.PROVIDER(load_settings(folders=[], command_line={}).settings.provider)
    try:
        async for code in host.sign_in(about):
            sys.stderr.write(
                f"To sign in at {about.title}:\n"
                f"1. Open {visible_line(code.page)}\n"
                f"2. Enter the code {visible_line(code.user_code)}\n"
                f"The code counts for {code.valid_s / _MINUTE_S:.0f} minutes. Give it to nobody, "
                "and enter no code that somebody gave you. Waiting …\n"
            )
            sys.stderr.flush()
    finally:
        await host.close()


def _account(name: str) -> catalogue.SIGN_IN:
    """Return the account of this name or provider. Errors: ``SettingsError``."""
    known = {one.provider: one for one in catalogue.SIGN_INS.values()} | dict(catalogue.SIGN_INS)
    if name in known:
        return known[name]
    near = get_close_matches(name, known, 1)
    meant = f" Did you mean {known[near[0]].name}?" if near else ""
    raise SettingsError(
        f"there is no account {visible_line(name)} to sign in with, only "
        f"{', '.join(catalogue.SIGN_INS)}.{meant} For other providers "
        "`agent-ls setup` asks for a key."
    )


def _list(*, as_json: bool) -> None:
    rows = [(one, _state(one)) for one in catalogue.SIGN_INS.values()]
    if as_json:
        facts = [
            {"account": one.name, "title": one.title, "provider": one.provider, "state": state}
            for one, state in rows
        ]
        print_json(facts)
        return
    for one, state in rows:
        sys.stdout.write(
            f"{one.name}: {state}\n  {one.title}, for models named {one.provider}/NAME; needs "
            f"{one.plan}. `{one.command}`\n"
        )


def _state(about: catalogue.SIGN_IN) -> str:
    try:
        return "signed in" if about.is_there(os.environ) else "not signed in"
    except PermissionError as error:
        return str(error)
