"""The folder that ``run`` works in: the one that is named, or a worktree of its repository."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from pathlib import Path

from agent_ls.cli.options import folder_of
from agent_ls.domain.errors import WorkspaceError
from agent_ls.safety.text import visible_line

_PLACE = "agent-ls-work"
"""A folder above all worktrees."""


@contextmanager
def working_folder(arguments: argparse.Namespace, tell: Callable[[str], None]) -> Generator[Path]:
    """Provide the folder to work in; a worktree is in use until the block ends.

    With ``--worktree``, ``arguments.workspace`` names the folder in it from then on.
    Errors: ``SettingsError``, ``WorkspaceError``.
    """
    folder = folder_of(arguments)
    if arguments.worktree is None and _PLACE not in folder.parts:
        yield folder
        return
    with asyncio.Runner() as runner:
        entering = _entered(folder, arguments.worktree, tell)
        inside = runner.run(entering.__aenter__())
        arguments.workspace = str(inside)
        try:
            yield inside
        finally:
            runner.run(entering.__aexit__(None, None, None))


@asynccontextmanager
async def _entered(
    folder: Path, name: str | None, tell: Callable[[str], None]
) -> AsyncGenerator[Path]:
    # Here, since elsewhere nothing of it is needed.
    from agent_ls.batch.worktrees import in_use, is_in_worktree, notes_on, worktrees_of

    if name is None:
        # Such as a session that is resumed in its worktree.
        async with in_use(folder) if is_in_worktree(folder) else nullcontext():
            yield folder
        return
    repository = worktrees_of(folder)
    async with repository.entered(name) as (checkout, is_new):
        inside = checkout.folder / folder.relative_to(repository.top)
        if not inside.is_dir():
            raise WorkspaceError(
                f"the worktree {name} has no folder {folder.relative_to(repository.top)}: it is "
                "not in the commit that it was made from"
            )
        what = "new, without what is not committed here" if is_new else "goes on"
        tell(f"worktree {name} ({what}): {visible_line(str(inside))}")
        if is_new:
            for note in await notes_on(checkout):
                tell(note)
        yield inside
