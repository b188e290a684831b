"""What git shows as not committed in a folder, without the files that may not be told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from subprocess import SubprocessError
from typing import NamedTuple

from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.verdicts import Allow
from agent_ls.loop.ports.workspace import Root, Workspace
from agent_ls.processes.launching import start_piped
from agent_ls.safety.control_files import judge_read
from agent_ls.safety.ripgrep import repository_above
from agent_ls.safety.sandbox import own_git
from agent_ls.safety.sandbox.builder import held
from agent_ls.safety.sandbox.confinement import Wrapped
from agent_ls.safety.text import visible_line

_LIMIT_S = 5.0
_MAX_BYTES = 1_000_000
_MAX_NEW = 100
_MAX_LEFT_OUT = 200
_NAMES = ("diff", "HEAD", "--name-only", "--no-renames", "-z")
_DIFF = ("diff", "HEAD", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")
_NEW = ("ls-files", "--others", "--exclude-standard", "-z")


class GitChanges(NamedTuple):
    """The changes of one folder."""

    text: str
    """A diff against the last commit, then the names of new files; empty: nothing changed."""
    note: str
    """What is left out; empty: nothing."""


async def git_changes(root: Root, workspace: Workspace) -> GitChanges | None:
    """Return what is not committed in a folder of the workspace, as it is on disk.

    None: it is in no repository. Errors: ``AgentLsError`` for a folder that is not trusted, without
    a sandbox, and if git fails.
    """
    top = await asyncio.to_thread(repository_above, root.path)
    if top is None:
        return None
    if not root.is_trusted:
        raise AgentLsError(
            f"The changes of {root.name} are not attached: git may run what its repository names. "
            "Trust the folder first."
        )
    git = partial(_git, root.path, [one.path for one in workspace.roots], top)
    listed = await git(*_NAMES, "--", _below(root.path, top))
    if len(listed) >= _MAX_BYTES:
        # A name that is not read could be that of a file with secrets.
        raise AgentLsError(f"{root.name} has too many changed files to attach their changes.")
    names = _names(listed)
    new = _names(await git(*_NEW, "--", _below(root.path, top)))
    secret = [one for one in names if not _may_be_told(top / one, workspace)]
    if len(secret) > _MAX_LEFT_OUT:
        raise AgentLsError(f"Too many changed files of {root.name} look like secrets.")
    without = [f":(exclude,top,literal){one}" for one in secret]
    diff = (await git(*_DIFF, "--", _below(root.path, top), *without)).decode(errors="replace")
    told = [shown for one in new if (shown := _told(top / one, workspace))]
    more = f"\n… and {len(told) - _MAX_NEW:,} more" if len(told) > _MAX_NEW else ""
    added = "\n".join(["New files:", *told[:_MAX_NEW]]) + more if told else ""
    left_out = len(secret) + len(new) - len(told)
    files = "1 file" if left_out == 1 else f"{left_out} files"
    note = f"without {files} that may hold secrets" if left_out else ""
    return GitChanges("\n".join(one for one in (diff.rstrip("\n"), added) if one), note)


def _below(folder: Path, top: Path) -> str:
    """Return where git looks, from the repository's top folder."""
    return f":(top,literal){folder.relative_to(top).as_posix()}" if folder != top else ":(top)"


def _names(said: bytes) -> list[str]:
    return said.decode(errors="replace").split("\0")[:-1]


def _may_be_told(path: Path, workspace: Workspace) -> bool:
    shown = workspace.shown(path)
    return shown is not None and isinstance(judge_read(shown, workspace.roots), Allow)


def _told(path: Path, workspace: Workspace) -> str:
    shown = workspace.shown(path)
    return visible_line(shown) if shown and _may_be_told(path, workspace) else ""


async def _git(folder: Path, folders: Sequence[Path], top: Path, *arguments: str) -> bytes:
    """Return what git says, of very much the beginning.

    Errors: ``AgentLsError`` if it fails or is slow.
    """
    said = bytearray()
    try:
        async with held(partial(_wrapped, folder, folders, top, arguments)) as wrapped:
            git = await start_piped(wrapped.argv, cwd=folder, env=wrapped.env)
            try:
                async with asyncio.timeout(_LIMIT_S):
                    await git.feed(b"")
                    while len(said) < _MAX_BYTES and (piece := await git.stdout.read(2**16)):
                        said += piece
                    is_whole = len(said) < _MAX_BYTES
                    code = await git.program.wait() if is_whole else 0
            finally:
                await asyncio.shield(asyncio.ensure_future(git.end()))
    except TimeoutError:
        raise AgentLsError(f"git did not show the changes within {_LIMIT_S:g} s.") from None
    except (OSError, SubprocessError) as error:
        raise AgentLsError(f"git cannot show the changes: {error}.") from None
    if code:
        raise AgentLsError("git cannot show the changes; is there a commit yet?")
    return bytes(said)


def _wrapped(folder: Path, folders: Sequence[Path], top: Path, arguments: Sequence[str]) -> Wrapped:
    """Return how to start git. It may run filters: outside of a sandbox it must not.

    Errors: ``OSError`` and ``SubprocessError``.
    """
    if own_git.view_of(folder) is None:
        raise OSError("no sandbox holds what git may run for changed files")
    # From the top: in a view, git does not look for it beyond the folder.
    return own_git.wrapped(("-C", str(top), *arguments), folder, folders)
