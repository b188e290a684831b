"""``setup``: asks for a model and a key, tries them, and writes them into the user's own files.

Nothing is written before the model has answered, unless the user says so. Works at a terminal and
with lines from a pipe.
"""

from __future__ import annotations

import argparse
import asyncio
import getpass
import importlib
import importlib.util
import os
import sys

from agent_ls import catalogue
from agent_ls.cli.toml_edits import set_values
from agent_ls.diagnosis import probe_model
from agent_ls.domain.errors import ProviderError, SettingsError
from agent_ls.extras import install_command
from agent_ls.safety.keys import key_problem
from agent_ls.safety.text import visible, visible_line
from agent_ls.settings import load_settings, user_file

_NOT_WRITTEN = 1
_KEYS_FILE = "credentials.toml"
_SERVICE = "agent-ls"
_EXAMPLES = (
    "anthropic/claude-sonnet-5-5, openai/gpt-5, ollama_chat/qwen3 (local), "
    "openai/NAME with --api-base for a server of your own"
)


def setup(arguments: argparse.Namespace) -> int:
    """Ask, try and write; return the exit code.

    Errors: ``SettingsError`` if an answer is missing or wrong, or a file cannot be written.
    """
    if arguments.keyring and importlib.util.find_spec("keyring") is None:
        raise SettingsError(
            "--keyring needs a package that is not installed. Leave it out to keep the key in a "
            f"file, or install the package: {install_command('keyring')}"
        )
    model = arguments.model or _ask(f"Which model? For example {_EXAMPLES}\nmodel: ")
    if "/" not in model and not arguments.api_base:
        named = visible_line(model)
        raise SettingsError(f"{named} names no provider: PROVIDER/NAME, such as {_EXAMPLES}.")
    place = catalogue.KEY_PLACE(model.partition("/")[0])
    options = _provider(arguments.api_base)
    if options.api_base:
        _say(f"Requests go to {visible_line(options.api_base)}; --api-base URL changes that.")
    # An account has no key; `login` signs in.
    key = "" if place.sign_in else _key(model, options.api_base, place.variable)
    _say(f"Asking {visible_line(model)} for one word …")
    # The environment of this process alone: nothing is stored yet.
    env = {**os.environ, **({"AGENT_LS_API_KEY": key} if key else {})}
    answer = asyncio.run(probe_model(catalogue.PROVIDER(options, env=env), model))
    _say(visible(answer.line))
    if answer.state != "ok" and not (arguments.force or _agrees("Write it all the same?")):
        _say("Nothing was written.")
        return _NOT_WRITTEN
    _write(model, arguments.api_base, key, keyring=arguments.keyring)
    return 0


def _key(model: str, api_base: str, variable: str) -> str:
    """Return a key that the user gives; empty if there is one already, or none is needed."""
    try:
        need = asyncio.run(catalogue.KEYS().need(model, api_base))
    except ProviderError as error:
        raise SettingsError(error.message) from None
    if not need.is_missing:
        if need.problem:
            raise SettingsError(need.problem)
        _say("A key is there already, or none is needed.")
        return ""
    key = _ask(f"Its key, as in {variable}; it is not shown\nkey: ", is_secret=True)
    if problem := key_problem(key):
        raise SettingsError(f"The key {problem}.")
    return key


def _provider(api_base: str) -> catalogue.PROVIDER_OPTIONS:
    """Return how models are reached, as set so far and by this address. Errors: as ``setup``."""
    options = load_settings(folders=[], command_line={}).settings.provider
    if not api_base:
        return options
    try:
        return type(options).model_validate({**options.model_dump(), "api_base": api_base})
    except ValueError:
        raise SettingsError(f"{visible_line(api_base)} is no address: https://…/v1") from None


def _write(model: str, api_base: str, key: str, *, keyring: bool) -> None:
    settings = user_file()
    provider = model.partition("/")[0]
    if key and keyring:
        try:
            importlib.import_module("keyring").set_password(_SERVICE, provider, key)
        except Exception as error:
            # Backends raise exceptions of their own: no session bus, locked.
            raise SettingsError(f"the keyring did not take the key: {error}") from None
        _say("The key is in the keyring.")
    elif key:
        keys = settings.with_name(_KEYS_FILE)
        set_values(keys, {(provider, "api_key"): key}, "keys")
        _say(f"The key is in {keys}, which only you can read.")
    values = {("", "model"): model}
    if api_base:
        values["provider", "api_base"] = api_base
    set_values(settings, values, "settings")
    _say(f'The model is in {settings}. Try it: agent-ls "what is this project?"')


def _ask(prompt: str, *, is_secret: bool = False) -> str:
    """Return an answer that is not empty. Errors: ``SettingsError`` at the end of input."""
    if is_secret and sys.stdin.isatty():
        sys.stderr.write(prompt.rpartition("\n")[0] + "\n")
        answer = getpass.getpass(prompt.rpartition("\n")[2], sys.stderr)
    else:
        sys.stderr.write(prompt)
        sys.stderr.flush()
        answer = sys.stdin.readline()
        if not sys.stdin.isatty():
            sys.stderr.write("\n")
    if not answer.strip():
        raise SettingsError("there was no answer, so nothing was written.")
    return answer.strip()


def _agrees(question: str) -> bool:
    """Say whether the user typed yes; silence and the end of input are a no."""
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    if not sys.stdin.isatty():
        sys.stderr.write("\n")
    return answer.strip().lower() in ("y", "yes")


def _say(words: str) -> None:
    sys.stderr.write(f"{words}\n")
    sys.stderr.flush()
