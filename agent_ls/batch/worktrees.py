"""Named worktrees of a user's repository, for ``agent-ls run --worktree NAME``.

They lie in the user's state folder, with a bare repository of ours: the user's repository is only
read. ``refs/made/NAME`` names the commit that a worktree began with, plus what was merged since.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import platformdirs

from agent_ls.batch.checkouts import Checkout, bare_of, check_out, existing
from agent_ls.batch.git import git, of_bare
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.images import MAX_KEPT_BYTES, FileImage, is_text
from agent_ls.domain.permissions import PERMISSIONS, Modes
from agent_ls.loop.ports.commands import CommandChange
from agent_ls.processes.file_locks import held_file, lock_now, lock_shared, locked
from agent_ls.safety.git_places import top_of
from agent_ls.workspace.disk_files import MAX_BYTES

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_PLAIN, _EXECUTABLE = "100644", "100755"
_PLAIN_MODE, _EXECUTABLE_MODE = 0o644, 0o755
_KINDS = {"120000": "a symbolic link", "160000": "a repository of its own"}
_ABSENT = "000000"
_DEPTH = 3
"""A worktree lies in ``HASH/worktrees/NAME`` below the place of all."""


@dataclass(frozen=True, slots=True)
class TreeChange:
    """One file that differs between the base of a worktree and the worktree."""

    path: str
    modes: tuple[str, str]
    """Of git, before and after; ``000000``: no file."""
    blobs: tuple[str, str]
    """Of git, before and after."""


@dataclass(frozen=True, slots=True)
class Worktrees:
    """The worktrees of one repository."""

    top: Path
    """The top folder of the user's repository, resolved."""

    @property
    def place(self) -> Path:
        """Return the folder of all that belongs to them."""
        name = hashlib.sha256(os.fsencode(self.top)).hexdigest()[:16]
        return _all_places() / name

    @property
    def _bare(self) -> Path:
        return bare_of(self.place, str(self.top))

    def folder(self, name: str) -> Path:
        """Return where a worktree is, or would be. Errors: ``WorkspaceError`` for a bad name."""
        if not _NAME.fullmatch(name):
            raise WorkspaceError(
                f"a worktree cannot be named {name!r}: use letters, digits, dashes and "
                "underscores, at most 64, and begin with a letter or digit"
            )
        return self.place / "worktrees" / name

    @asynccontextmanager
    async def entered(self, name: str) -> AsyncGenerator[tuple[Checkout, bool]]:
        """Yield a worktree to work in, made from ``HEAD`` if there is none, and whether it is new.

        Several may work in it; nobody merges or drops it meanwhile.
        Errors: ``WorkspaceError``.
        """
        self.folder(name)
        is_new = False
        async with self._locked(name) as descriptor:
            while True:
                await asyncio.to_thread(lock_shared, descriptor)
                found = await self.find(name)
                if found is not None:
                    break
                # Another process may make it, or drop it, before this one has the lock.
                await locked(descriptor)
                if await self.find(name) is None:
                    await self._make(name)
                    is_new = True
            yield found, is_new

    @asynccontextmanager
    async def held(self, name: str) -> AsyncGenerator[Checkout | None]:
        """Yield a worktree in which nobody works; None if somebody deleted its folder.

        Errors: ``WorkspaceError`` if there is none, or a run works in it.
        """
        self.folder(name)
        if name not in await self.names():
            raise WorkspaceError(
                f"there is no worktree {name}; `agent-ls worktrees list` shows which there are"
            )
        async with self._locked(name) as descriptor:
            try:
                lock_now(descriptor)
            except BlockingIOError:
                raise WorkspaceError(
                    f"a run works in the worktree {name}; try again once it has ended"
                ) from None
            yield await self.find(name)

    async def is_in_use(self, name: str) -> bool:
        """Say whether a run works in it."""
        async with self._locked(name) as descriptor:
            try:
                lock_now(descriptor)
            except BlockingIOError:
                return True
            return False

    async def names(self) -> list[str]:
        """Return the names of the worktrees, sorted; also of those whose folder is gone."""
        if not (self._bare / "HEAD").is_file():
            return []
        said = await self._git("for-each-ref", "--format=%(refname)", "refs/made/")
        return sorted(one.removeprefix("refs/made/") for one in said.decode().split())

    async def find(self, name: str) -> Checkout | None:
        """Return a worktree; None if there is none, or its folder is gone."""
        folder = self.folder(name)
        if name not in await self.names():
            return None
        base = (await self._git("rev-parse", "--verify", f"refs/made/{name}")).decode().strip()
        return existing(self.place, folder, str(self.top), base)

    async def drop(self, name: str) -> None:
        """Delete a worktree with all its files; the caller holds it."""
        folder = self.folder(name)
        async with self._alone():
            await self._git("update-ref", "-d", f"refs/made/{name}")
            await self._git("update-ref", "-d", f"refs/agent-ls/{name}")
            await Checkout(folder, self._bare, "", ()).remove()

    async def merged(self, name: str, checkout: Checkout, done: Iterable[TreeChange]) -> None:
        """Record that these changes are in the user's files."""
        index = self._bare / f"index-{name}"
        rows = b"".join(_index_row(one) for one in done)
        try:
            await checkout.git("read-tree", checkout.base_commit, index=index)
            await checkout.git("update-index", "-z", "--index-info", index=index, data=rows)
            tree = (await checkout.git("write-tree", index=index)).decode().strip()
        finally:
            index.unlink(missing_ok=True)
        parent = ("-p", checkout.base_commit)
        made = await checkout.git("commit-tree", tree, *parent, data=b"Merged\n")
        await self._git("update-ref", f"refs/made/{name}", made.decode().strip())

    async def _make(self, name: str) -> None:
        # Not from inside: the repository's own configuration can name programs that git would run.
        away = partial(git, cwd=self.place, avoid=[self.top], is_fetch=True)
        if not await away("ls-remote", "--", str(self.top), "HEAD"):
            raise WorkspaceError(
                f"{self.top} has no commit yet, and a worktree begins with one: commit first"
            )
        async with self._alone():
            made = await check_out(self.place, self.folder(name), str(self.top), "HEAD", "")
            # Last: what has no such name was not made whole.
            await self._git("update-ref", f"refs/made/{name}", made.base_commit)

    async def _git(self, *words: str) -> bytes:
        return await git(*words, cwd=self._bare, avoid=[self.top], env=of_bare(self._bare))

    @asynccontextmanager
    async def _alone(self) -> AsyncGenerator[None]:
        """Let no other process make or drop worktrees of this repository."""
        async with self._locked("") as descriptor:
            await locked(descriptor)
            yield

    def _locked(self, name: str) -> AbstractAsyncContextManager[int]:
        return held_file(self.place / f"{name}.lock")


@asynccontextmanager
async def in_use(folder: Path) -> AsyncGenerator[None]:
    """Let nobody merge or drop the worktree around a folder until the block ends."""
    below = folder.relative_to(_all_places().resolve()).parts
    async with held_file(_all_places() / below[0] / f"{below[2]}.lock") as descriptor:
        await asyncio.to_thread(lock_shared, descriptor)
        yield


def is_in_worktree(folder: Path) -> bool:
    """Say whether a resolved folder is a worktree of ours, or inside of one."""
    places = _all_places().resolve()
    return folder.is_relative_to(places) and len(folder.relative_to(places).parts) >= _DEPTH


def worktrees_of(folder: Path) -> Worktrees:
    """Return the worktrees of the repository around a resolved folder.

    Errors: ``WorkspaceError`` if there is none that has files.
    """
    if folder.is_relative_to(_all_places().resolve()):
        raise WorkspaceError(
            f"{folder} is a worktree itself; run this in the repository that it was made from"
        )
    top = top_of(folder)
    if top is None:
        is_bare = (folder / "HEAD").is_file() and (folder / "objects").is_dir()
        what = "a bare repository, without files to merge into" if is_bare else "in no repository"
        raise WorkspaceError(f"{folder} is {what}: worktrees need a git repository with files")
    return Worktrees(top)


async def tree_changes(checkout: Checkout, tree: str) -> list[TreeChange]:
    """Return what a tree changes of the worktree's base, by path."""
    words = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames")
    said = await checkout.git(*words, checkout.base_commit, tree)
    fields = iter(os.fsdecode(said).split("\0")[:-1])
    found: list[TreeChange] = []
    for facts, path in zip(fields, fields, strict=True):
        old, new, before, after, _ = facts.removeprefix(":").split(" ")
        found.append(TreeChange(path, (old, new), (before, after)))
    return found


async def as_command_changes(
    checkout: Checkout, changes: Sequence[TreeChange], top: Path
) -> tuple[list[CommandChange], dict[str, str]]:
    """Return changes of the files in ``top``, and why the others cannot be merged, by path."""
    why = {one.path: reason for one in changes if (reason := _hindrance(one))}
    wanted = [one for one in changes if one.path not in why]
    sizes = await _sizes(checkout, {oid for one in wanted for oid in _blobs(one)})
    for one in wanted:
        if any(sizes[oid] > MAX_KEPT_BYTES for oid in _blobs(one)):
            why[one.path] = f"it is larger than {MAX_KEPT_BYTES // 2**20} MiB; copy it yourself"
    wanted = [one for one in wanted if one.path not in why]
    contents = await _contents(checkout, {oid for one in wanted for oid in _blobs(one)})
    return [_change(one, contents, top / one.path) for one in wanted], why


async def notes_on(checkout: Checkout) -> list[str]:
    """Return what a new worktree lacks, for the user."""
    notes: list[str] = []
    listed = await checkout.git("ls-tree", "-r", "-z", checkout.base_commit)
    links = [one for one in listed.split(b"\0") if one.startswith(b"160000 ")]
    if links:
        notes.append("submodules are empty folders in it")
    with suppress(OSError):
        if "filter=" in (checkout.folder / ".gitattributes").read_text("utf-8", "replace"):
            notes.append("filters do not run for it: files of Git LFS are only pointers there")
    return notes


def _all_places() -> Path:
    return platformdirs.user_state_path("agent-ls-work") / "trees"


def _blobs(change: TreeChange) -> list[str]:
    return [oid for mode, oid in zip(change.modes, change.blobs, strict=True) if mode != _ABSENT]


def _hindrance(change: TreeChange) -> str:
    """Return why a change cannot be merged; empty if it can."""
    for mode in change.modes:
        if mode in _KINDS:
            return f"it is or was {_KINDS[mode]}; change it yourself"
    if change.blobs[0] == change.blobs[1]:
        return f"only its permissions changed, to {change.modes[1][-3:]}; change them yourself"
    try:
        change.path.encode()
    except UnicodeEncodeError:
        return "its name is not UTF-8; copy it yourself"
    return ""


def _change(change: TreeChange, contents: Mapping[str, bytes], place: Path) -> CommandChange:
    before, after = (
        None if mode == _ABSENT else contents[oid]
        for mode, oid in zip(change.modes, change.blobs, strict=True)
    )
    modes = _modes(change, place)
    sides = [one for one in (before, after) if one is not None]
    images = None
    if not all(is_text(one) and len(one) <= MAX_BYTES for one in sides):
        images = _image(before, modes[0]), _image(after, modes[1])
    return CommandChange(change.path, before, after, images=images, modes=modes)


def _modes(change: TreeChange, place: Path) -> Modes:
    """Return the permissions before and after; None: they stay as they are, or there is no file."""
    before, after = change.modes
    if before == after or (before == _ABSENT and after == _PLAIN):
        return None, None
    if before == _ABSENT:
        return None, _EXECUTABLE_MODE
    try:
        # Git knows of one bit only; the others, such as those of a private file, are the user's.
        mode = place.stat().st_mode & PERMISSIONS
    except OSError:
        mode = _PLAIN_MODE if before == _PLAIN else _EXECUTABLE_MODE
    if after == _ABSENT:
        return mode, None
    # As git does it: who may read the file may run it.
    return mode, mode & ~0o111 | ((mode & 0o444) >> 2 if after == _EXECUTABLE else 0)


def _image(data: bytes | None, mode: int | None) -> FileImage | None:
    if data is None:
        return None
    digest = hashlib.sha256(data).hexdigest()
    return FileImage(
        size_bytes=len(data), digest=digest, mode=mode, is_kept=True, is_text=is_text(data)
    )


async def _sizes(checkout: Checkout, blobs: Iterable[str]) -> Mapping[str, int]:
    """Return the sizes in bytes of files' contents."""
    said = await checkout.git("cat-file", "--batch-check", data=_lines(blobs))
    rows = [one.split(" ") for one in said.decode().splitlines()]
    return {oid: int(size) for oid, _, size in rows}


def _lines(blobs: Iterable[str]) -> bytes:
    return "".join(f"{oid}\n" for oid in sorted(blobs)).encode()


async def _contents(checkout: Checkout, blobs: Iterable[str]) -> Mapping[str, bytes]:
    said = await checkout.git("cat-file", "--batch", data=_lines(blobs))
    found: dict[str, bytes] = {}
    at = 0
    while (end := said.find(b"\n", at)) >= 0:
        oid, _, size = said[at:end].decode().split(" ")
        found[oid] = said[end + 1 : end + 1 + int(size)]
        at = end + 2 + int(size)
    return found


def _index_row(change: TreeChange) -> bytes:
    return f"{change.modes[1]} {change.blobs[1]}\t".encode() + os.fsencode(change.path) + b"\0"
