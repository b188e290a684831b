"""Collect facts about the machine and folders for the system prompt; only reads files and git."""

from __future__ import annotations

import asyncio
import os
import platform
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from subprocess import SubprocessError

from agent_ls.loop.ports.checks import CompileChecks
from agent_ls.loop.ports.environment import RULE_FILES, OuterRules
from agent_ls.loop.ports.workspace import Root, Workspace
from agent_ls.processes.launching import start_piped
from agent_ls.safety.made_files import is_undecided
from agent_ls.safety.sandbox import own_git
from agent_ls.safety.sandbox.builder import held
from agent_ls.safety.sandbox.confinement import Wrapped
from agent_ls.safety.text import visible_line
from agent_ls.workspace.runner import SHELL

_MAX_RULES_BYTES = 65_536
_MAX_HEAD_BYTES = 1_000
_BRANCH = "ref: refs/heads/"
_GIT_STATUS = (
    "status",
    "--porcelain=v1",
    "--branch",
    "-z",
    "--no-renames",
    "--ignore-submodules=all",
)
_GIT_S = 2.0
"""Time limit for git status."""


@dataclass(frozen=True, slots=True)
class MachineEnvironment:
    """The ``Surroundings`` port for folders on this machine."""

    workspace: Workspace
    checks: CompileChecks
    user_folder: Path
    """The folder of the user's own rules."""

    async def facts(self) -> tuple[str, ...]:
        """Return sentences about the system, folders, git and checkers."""
        roots = self.workspace.roots
        folders = [root.path for root in roots]
        checkers = await self.checks.here()
        states = await asyncio.gather(*(_git(root, folders) for root in roots))
        return (
            f"System: {_system()}. Commands run in {Path(SHELL).name}.",
            _folders(roots),
            *(state for state in states if state),
            f"Checkers: {', '.join(checkers) or 'none found'}.",
        )

    async def rules(self) -> tuple[OuterRules, ...]:
        """Return the user's rules, then those of the folders above the roots, outermost first."""
        return await asyncio.to_thread(self._rules)

    def _rules(self) -> tuple[OuterRules, ...]:
        own = self.user_folder / RULE_FILES[0]
        text = _own_text(own, _MAX_RULES_BYTES, follows=True).strip()
        found = {own: OuterRules(f"{own}, the user's own", text, is_trusted=True)} if text else {}
        for root in self.workspace.roots:
            for folder in folders_above(root.path):
                for path in (folder / name for name in RULE_FILES):
                    if is_undecided(path):
                        continue
                    if text := _own_text(path, _MAX_RULES_BYTES).strip():
                        rules = OuterRules(visible_line(str(path)), text, root.is_trusted)
                        found.setdefault(path, rules)
                        break
        return tuple(found.values())


def _system() -> str:
    name = platform.system()
    with suppress(OSError):
        return f"{name} ({platform.freedesktop_os_release()['PRETTY_NAME']})"
    return name


def _folders(roots: Sequence[Root]) -> str:
    if len(roots) == 1:
        return f"Workspace: {visible_line(str(roots[0].path))}; paths are relative to it."
    named = (f"{visible_line(root.name)}/ is {visible_line(str(root.path))}" for root in roots)
    return f"Workspace: several folders; paths begin with the folder's name: {', '.join(named)}."


def _git_folder(folder: Path) -> Path | None:
    """Return the nearest repository at or above a folder, if the user or root owns it."""
    for place in (folder, *folder.parents):
        with suppress(OSError):
            (place / ".git").lstat()
            return place if _is_own(place.stat()) else None
    return None


def folders_above(folder: Path) -> Iterator[Path]:
    """Yield the folders above this one inside its repository, outermost first."""
    top = _git_folder(folder)
    if top is not None:
        yield from reversed([up for up in folder.parents if up.is_relative_to(top)])


def _is_own(status: os.stat_result) -> bool:
    """Tell whether the user or root owns it; files of other users are ignored."""
    return not hasattr(os, "getuid") or status.st_uid in (os.getuid(), 0)


def _own_text(path: Path, most_bytes: int, *, follows: bool = False) -> str:
    """Return the beginning of a regular file that the user owns; empty if there is none.

    ``follows`` allows a link; not for files in a repository, where a link could expose any file.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    if not follows:
        flags |= getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError):
        return ""
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or not _is_own(status):
            return ""
        return os.read(descriptor, most_bytes).decode(errors="replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


async def _git(root: Root, folders: Sequence[Path]) -> str:
    """Return branch and state of a folder's repository; if untrusted, only what HEAD says."""
    top = await asyncio.to_thread(_git_folder, root.path)
    if top is None:
        return ""
    state = await _state(root.path, folders) if root.is_trusted else ""
    if not state:
        head = await asyncio.to_thread(_own_text, top / ".git" / "HEAD", _MAX_HEAD_BYTES)
        is_known = head.startswith(_BRANCH)
        state = f"branch {head.removeprefix(_BRANCH).strip()}" if is_known else "a repository"
    return f"Git: {visible_line(f'{root.name}/: {state}')}."


async def _state(folder: Path, folders: Sequence[Path]) -> str:
    """Return the branch and the number of uncommitted files; empty if git fails or is slow."""
    try:
        async with held(partial(_status, folder, folders)) as wrapped:
            git = await start_piped(wrapped.argv, cwd=folder, env=wrapped.env)
            try:
                async with asyncio.timeout(_GIT_S):
                    await git.feed(b"")
                    said = await git.stdout.read()
                    code = await git.program.wait()
            finally:
                await asyncio.shield(asyncio.ensure_future(git.end()))
    except (OSError, SubprocessError):
        return ""
    if code:
        return ""
    head, *entries = said.decode(errors="replace").split("\0")[:-1]
    branch = head.removeprefix("## ").removeprefix("No commits yet on ").partition("...")[0]
    if not entries:
        return f"branch {branch}, nothing uncommitted"
    new = sum(one.startswith("??") for one in entries)
    return f"branch {branch}, {len(entries) - new} changed and {new} new files uncommitted"


def _status(folder: Path, folders: Sequence[Path]) -> Wrapped:
    """Return how to start git status. It may run filters: outside of a sandbox it must not.

    Errors: ``OSError`` and ``SubprocessError``.
    """
    if own_git.view_of(folder) is None:
        raise OSError("no sandbox holds the filters that git runs for changed files")
    return own_git.wrapped(_GIT_STATUS, folder, folders)
