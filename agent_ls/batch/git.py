"""Runs git in repositories of our own, for batches and worktrees: no hooks or filters of others."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from agent_ls.domain.errors import WorkspaceError
from agent_ls.processes.launching import start_piped
from agent_ls.safety.git_config import CLEAN_GIT
from agent_ls.safety.programs import find_outside, path_outside

_LIMIT_S = 600.0
_ERRORS = ("fatal:", "error:", "ERROR:")
_MAX_REASON_CHARS = 500
_MAX_BYTES = 256 * 2**20
_NO_HOOKS = ("-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "maintenance.auto=false")
_OURS = {
    name: value
    for role in ("AUTHOR", "COMMITTER")
    for name, value in (
        (f"GIT_{role}_NAME", "agent-ls"),
        (f"GIT_{role}_EMAIL", "agent-ls@localhost"),
    )
}
FIXED_DATE = {"GIT_AUTHOR_DATE": "@0 +0000", "GIT_COMMITTER_DATE": "@0 +0000"}
"""So that every host makes the same commit of the same files."""


def of_bare(bare: Path) -> dict[str, str]:
    """Return the environment in which git works in a bare repository of ours.

    Its settings are the repository's own, whatever a command wrote into a ``commondir``.
    """
    return {"GIT_DIR": str(bare), "GIT_COMMON_DIR": str(bare)}


async def git(
    *arguments: str,
    cwd: Path,
    avoid: Sequence[Path],
    env: Mapping[str, str] | None = None,
    data: bytes = b"",
    is_fetch: bool = False,
) -> bytes:
    """Run git to its end and return what it prints; programs in ``avoid`` are never used.

    With ``is_fetch`` it has the user's own settings and credentials, but never asks for any.
    Errors: ``WorkspaceError`` if it fails or takes too long.
    """
    program = find_outside("git", avoid)
    if program is None:
        raise WorkspaceError("git is not installed on this machine, and this needs it")
    clean = {**_OURS, "GIT_TERMINAL_PROMPT": "0"}
    if is_fetch:
        clean = {**os.environ, **clean}
        clean = {name: value for name, value in clean.items() if name not in _PLACES}
    else:
        clean |= CLEAN_GIT
    clean |= {"PATH": path_outside(avoid), **(env or {})}
    command = (str(program), *_NO_HOOKS, *arguments)
    running = await start_piped(command, cwd=cwd, env=clean)
    try:
        async with asyncio.timeout(_LIMIT_S):
            said, problem, _ = await asyncio.gather(
                _all(running.stdout), _all(running.stderr), running.feed(data)
            )
            code = await running.program.wait()
    except TimeoutError:
        raise WorkspaceError(f"git {arguments[0]} took more than {_LIMIT_S:.0f} s") from None
    finally:
        await asyncio.shield(asyncio.ensure_future(running.end()))
    if code:
        words = _reason(problem.decode(errors="replace")) or f"exit code {code}"
        raise WorkspaceError(f"git {_verb(arguments)} failed: {words}")
    return said


_PLACES = frozenset(
    {"GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"}
)
"""These of a caller's own environment would send git elsewhere."""


def _verb(arguments: tuple[str, ...]) -> str:
    return next((one for one in arguments if not one.startswith("-")), "")


def _reason(said: str) -> str:
    """Return what git says of a failure: its errors, and the line before the first of them."""
    lines = [one.strip() for one in said.splitlines() if one.strip()]
    first = next((at for at, one in enumerate(lines) if one.startswith(_ERRORS)), len(lines) - 1)
    named = [one for one in lines[first:] if one.startswith(_ERRORS)] or lines[-1:]
    return "; ".join([*lines[max(first - 1, 0) : max(first, 0)], *named])[:_MAX_REASON_CHARS]


async def _all(reader: asyncio.StreamReader) -> bytes:
    said = bytearray()
    while piece := await reader.read(2**16):
        said += piece
        if len(said) > _MAX_BYTES:
            raise WorkspaceError(f"git printed more than {_MAX_BYTES // 2**20} MiB")
    return bytes(said)
