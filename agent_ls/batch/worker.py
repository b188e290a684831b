"""What Dask calls on a worker: JSON text in, JSON text out, and no exception.

The worker's own settings say where the store is, so that no password travels.
"""

from __future__ import annotations

import asyncio
import json
import socket

import platformdirs

from agent_ls import __version__
from agent_ls.batch.attempt import RUNS, Host, attempt
from agent_ls.domain.errors import AgentLsError
from agent_ls.processes.launching import get_ready
from agent_ls.settings import load_settings, store_place
from agent_ls.store.sql_store import open_store

_hosts: dict[asyncio.AbstractEventLoop, Host] = {}
"""A worker has one event loop and keeps its store open."""


async def run_task(request: str) -> str:
    """Run a task: ``{"version", "batch", "task"}`` gives ``{"outcome"}`` or ``{"error"}``."""
    asked = json.loads(request)
    if asked["version"] != __version__:
        return _error(
            f"it has agent-ls {__version__}, and the batch was started by {asked['version']}: "
            "install the same version on all machines",
            is_final=True,
        )
    try:
        # Its imports take longer than a checkout, beside which they go on.
        await get_ready(RUNS)
        outcome = await attempt(_host(), asked["batch"], asked["task"])
    except AgentLsError as error:
        return _error(str(error))
    except Exception as error:
        return _error(f"{type(error).__name__}: {error}")
    if outcome == "unknown":
        return _error(
            f"its store {_host().store.shown} does not have batch {asked['batch']}: set "
            "AGENT_LS_STORE_URL on all workers to the same PostgreSQL database",
            is_final=True,
        )
    return json.dumps({"outcome": outcome})


def _error(words: str, *, is_final: bool = False) -> str:
    """Return an error; a final one would come again on every try."""
    return json.dumps({"error": f"worker on {socket.gethostname()}: {words}", "final": is_final})


def _host() -> Host:
    loop = asyncio.get_running_loop()
    if loop not in _hosts:
        host = socket.gethostname()
        # Beside our own state, which tools may not touch. Hosts may share a home folder.
        place = platformdirs.user_state_path("agent-ls-work") / host
        _hosts[loop] = Host(open_store(store_place(load_settings().settings)), place)
    return _hosts[loop]
