"""``agent-ls serve``: takes standard input and output away before anything else is imported."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NoReturn

from agent_ls.lsp.connection.stdio import leave, take_stdio


def run_stdio(settings: Sequence[str] = ()) -> NoReturn:
    """Serve the client on standard input and output until it leaves, then end the process.

    ``settings`` are ``KEY=VALUE`` words from the command line.
    """
    pipes = take_stdio()
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    # Only now: whatever a library prints while it is imported goes to standard error.
    from agent_ls.lsp.server import create_server

    leave(create_server(_tree(settings)).run(pipes))


def _tree(settings: Sequence[str]) -> dict[str, Any]:
    """Return ``a.b=x`` words as ``{"a": {"b": "x"}}``; what is no setting is told later."""
    tree: dict[str, Any] = {}
    for word in settings:
        key, _, value = word.partition("=")
        *path, last = key.strip().split(".")
        place = tree
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    return tree
