"""Split a check by folder: the changed files, and all texts that differ from the disk."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent_ls.checkers.copies import FolderCopy
from agent_ls.domain.errors import WorkspaceError
from agent_ls.loop.ports.workspace import Listed, Root, Workspace


@dataclass(frozen=True, slots=True)
class Overlay:
    """The part of a check in one root."""

    root: Root
    changed: tuple[Path, ...]
    """Absolute paths of the files to check; empty if the root only has unsaved texts."""
    texts: Mapping[Path, str | None]
    """Texts that differ from the disk: changed and unsaved files; None: deleted."""


async def overlays(
    workspace: Workspace, texts: Mapping[str, str | None], checker: str
) -> tuple[list[Overlay], list[str]]:
    """Return the parts, and messages about files that the checker cannot see."""
    problems: list[str] = []
    changed = _located(workspace, texts, checker, problems)
    try:
        unsaved = {file.path: file.text for file in await workspace.dirty()}
    except WorkspaceError as error:
        unsaved = {}
        problems.append(f"{checker} does not see unsaved texts: {error}")
    by_root: dict[Root, dict[Path, str | None]] = {}
    for (root, path), text in (_located(workspace, unsaved, checker, []) | changed).items():
        by_root.setdefault(root, {})[path] = text
    parts = [
        Overlay(root, tuple(path for at, path in changed if at == root), known)
        for root, known in by_root.items()
    ]
    return parts, problems


def _located(
    workspace: Workspace, texts: Mapping[str, str | None], checker: str, problems: list[str]
) -> dict[tuple[Root, Path], str | None]:
    found: dict[tuple[Root, Path], str | None] = {}
    for name, text in texts.items():
        try:
            found[workspace.locate(name)] = text
        except WorkspaceError as error:
            problems.append(f"{checker} did not check {name}: {error}")
    return found


def folders_up(file: Path, root: Root) -> Iterator[Path]:
    """Yield the folders from a file's folder up to the root."""
    for folder in file.parents:
        if not folder.is_relative_to(root.path):
            return
        yield folder


@dataclass(frozen=True, slots=True)
class Copies:
    """One checker's folder copies, for programs that read only the disk."""

    _copies: dict[Path, FolderCopy] = field(default_factory=dict[Path, FolderCopy], init=False)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    """One run at a time, because a copy holds one set of texts."""

    @contextlib.asynccontextmanager
    async def of(
        self, part: Overlay, workspace: Workspace
    ) -> AsyncGenerator[tuple[FolderCopy, str]]:
        """Yield the copy with the part's texts, and a note on files missing from it.

        Errors: ``OSError``, ``WorkspaceError``.
        """
        root = part.root.path
        names = await _names(root, workspace)
        texts = {path.relative_to(root).as_posix(): text for path, text in part.texts.items()}
        async with self._turn:
            copy = self._copies.setdefault(root, FolderCopy(root))
            await asyncio.to_thread(copy.refresh, names, texts)
            yield copy, names.gap


async def _names(root: Path, workspace: Workspace) -> Listed:
    shown = workspace.shown(root) or "."
    front = "" if shown == "." else f"{shown}/"
    found = await workspace.files(shown)
    names = (name.removeprefix(front) for name in found)
    return Listed(names, is_cut=found.is_cut, unnamed=found.unnamed)
