"""Finds the files that hold a name with ripgrep, so that only these have to be parsed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from agent_ls.processes.launching import start_piped
from agent_ls.safety.ripgrep import find_ripgrep, has_rules_between, walk_environment, walk_flags

_LIMIT_S = 5.0
_FLAGS = (
    *("--files-with-matches", "--null", "--fixed-strings", "--text"),
    # The index reads none that are larger than 1,000,000 bytes.
    "--max-filesize=1M",
)


async def files_with(
    word: str, root: Path, roots: Sequence[Path], below: str, *, ignores_case: bool
) -> list[str] | None:
    """Return the listed files below a folder of a root whose text holds a word.

    None where that cannot be said: without ripgrep, after a while, or by other rules than its own.
    What git tracks although a rule excludes it is left out.
    """
    if not (word.isascii() and word.isidentifier()):
        return None
    flags = await asyncio.to_thread(_walk, root, roots, below)
    if flags is None:
        return None
    options = [*_FLAGS, *(("--ignore-case",) if ignores_case else ()), f"--regexp={word}"]
    try:
        piped = await start_piped(
            [*flags, *options, "--", "./" if below == "." else f"./{below}"],
            cwd=root,
            env=walk_environment(),
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(_LIMIT_S):
            await piped.feed(b"")
            said = await piped.stdout.read()
            code = await piped.program.wait()
    except TimeoutError:
        return None
    finally:
        await asyncio.shield(asyncio.ensure_future(piped.end()))
    if code not in (0, 1):
        return None
    return sorted(name.removeprefix("./") for name in os.fsdecode(said).split("\0")[:-1])


def _walk(root: Path, roots: Sequence[Path], below: str) -> list[str] | None:
    """Return how to start a walk; None where ripgrep's rules are not all that count."""
    program = find_ripgrep(roots)
    if program is None or has_rules_between(root, below):
        return None
    return [program, *walk_flags(root, below)]
