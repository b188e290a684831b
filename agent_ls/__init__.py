"""agent-ls: a coding agent that lives in your language server.

``async for event in agent_ls.run("…")`` carries out a prompt; ``__init__.pyi`` has its types. Only
the version is loaded here, because every agent-ls process pays for `import agent_ls`.
"""

from __future__ import annotations

__version__ = "0.1.0"

_LATER = {
    "run": "agent_ls.headless:run",
    "run_events": "agent_ls.domain.run_events",
    "AgentLsError": "agent_ls.domain.errors:AgentLsError",
}
"""Where each public name is, imported when it is first asked for."""


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    place, _, inner = _LATER[name].partition(":")
    module = import_module(place)
    return getattr(module, inner) if inner else module
