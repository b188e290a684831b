"""``agent-ls serve``: takes over standard input and output before any other import."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NoReturn

from agent_ls.processes.stdio import leave, take_stdio


def run_stdio(settings: Sequence[str] = (), beside: str | None = None) -> NoReturn:
    """Serve the client on standard input and output until it leaves, then end the process.

    ``settings`` are ``KEY=VALUE`` words from the command line. ``beside`` is the command of
    another language server, whose work goes through this one.
    """
    pipes = take_stdio()
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    # Late: what a library prints on import must go to standard error.
    from agent_ls.lsp.server import create_server

    leave(create_server(_tree(settings), beside).run(pipes))


def _tree(settings: Sequence[str]) -> dict[str, Any]:
    """Return ``a.b=x`` words as ``{"a": {"b": "x"}}``; invalid keys are reported later."""
    tree: dict[str, Any] = {}
    for word in settings:
        key, _, value = word.partition("=")
        *path, last = key.strip().split(".")
        place = tree
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    return tree
