"""``models``: lists the models that can be used with the keys and sign-ins that are there."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence

from agent_ls import catalogue
from agent_ls.cli.options import command_line_settings, folder_of, tell_problems
from agent_ls.cli.output import print_json
from agent_ls.loop.ports.models import ListedModel, ModelList
from agent_ls.safety.text import visible_line
from agent_ls.settings import Settings, load_settings

_HEAD = ("model", "window", "$ in", "$ out", "tools", "images", "effort")
_UNKNOWN = "?"


def models(arguments: argparse.Namespace) -> int:
    """Print the list and return the exit code. Errors: ``SettingsError``, ``ProviderError``."""
    folder = folder_of(arguments)
    loaded = load_settings(folders=[folder], command_line=command_line_settings(arguments))
    tell_problems(loaded)
    found = asyncio.run(_found(loaded.settings))
    words = [word.lower() for word in arguments.words]
    rows = [one for one in found.models if all(word in one.name.lower() for word in words)]
    for problem in found.problems:
        sys.stderr.write(f"agent-ls: {visible_line(problem)}\n")
    if arguments.json:
        print_json([one.model_dump(mode="json") for one in rows])
    elif rows:
        sys.stdout.write(_table([_HEAD, *map(_cells, rows)]))
        sys.stderr.write("Prices are in USD per million tokens. ? stands for what is not known.\n")
    else:
        sys.stderr.write(_nothing(found, arguments.words))
    return 0


async def _found(settings: Settings) -> ModelList:
    host = catalogue.PROVIDER(settings.provider)
    try:
        return await host.models(settings.model)
    finally:
        await host.close()


def _nothing(found: ModelList, words: Sequence[str]) -> str:
    if found.models:
        return f"None of {len(found.models)} models has {' '.join(words)} in its name.\n"
    return (
        "There is no key yet, and no server is set: `agent-ls setup` asks for a key, or takes an "
        "address with --api-base, and `agent-ls login` shows where you can sign in.\n"
    )


def _cells(one: ListedModel) -> tuple[str, ...]:
    return (
        visible_line(one.name),
        f"{one.window_tokens:,}" if one.window_tokens else _UNKNOWN,
        _price(one.input_usd),
        _price(one.output_usd),
        _yes(one.has_tools),
        _yes(one.takes_images),
        _UNKNOWN if one.efforts is None else " ".join(one.efforts) or "no",
    )


def _price(usd: float | None) -> str:
    return _UNKNOWN if usd is None else f"{usd:.4g}"


def _yes(value: bool | None) -> str:
    return _UNKNOWN if value is None else "yes" if value else "no"


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "".join(f"{line}\n" for line in lines)
