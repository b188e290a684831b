"""A checkout for each task: one bare repository for each source on a host, one worktree a task.

Nothing is written to the source and nothing is pushed: what a task changed leaves the host as a
patch in the store, and stays on the host as a branch of the bare repository.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import shutil
import socket
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agent_ls.batch.git import FIXED_DATE, git, of_bare
from agent_ls.domain.edits import MoveFile
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.events import (
    ChildEnded,
    ChildStarted,
    CommandChanged,
    CommandChangesLeftOut,
    EditApplied,
    EditIntended,
)
from agent_ls.domain.images import FileImage
from agent_ls.loop.ports.store import Store
from agent_ls.loop.state.folding import fold_all
from agent_ls.loop.state.state import TurnState
from agent_ls.processes.file_locks import held_file, locked
from agent_ls.safety.paths import components_below

_EMPTY = "an empty folder"
_MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class Checkout:
    """A worktree on this host."""

    folder: Path
    bare: Path
    base_commit: str
    avoid: tuple[Path, ...]
    """Folders whose programs are never run."""

    @property
    def _env(self) -> Mapping[str, str]:
        # Not by the worktree's own ``.git``: the agent may have replaced it.
        places = {"GIT_DIR": str(self._data), "GIT_WORK_TREE": str(self.folder)}
        return {**of_bare(self.bare), **places}

    @property
    def _ended(self) -> str:
        return f"refs/agent-ls-ended/{self.folder.name}"

    @property
    def _data(self) -> Path:
        return self.bare / "worktrees" / self.folder.name

    async def patch(self, branch: str) -> bytes:
        """Return what changed since the base as a patch, and keep it as a branch of ``bare``.

        Empty if nothing changed. Files that git ignores are left out.
        """
        tree = await self.tree()
        patch, made, _ = await asyncio.gather(
            self.diff(tree),
            self.git("commit-tree", tree, "-p", self.base_commit, data=f"{branch}\n".encode()),
            self._check_inner(tree),
        )
        refs = [self._ended, f"refs/heads/{branch}"] if patch else [self._ended]
        rows = "".join(f"update {ref} {made.decode().strip()}\n" for ref in refs)
        await self.git("update-ref", "--stdin", data=rows.encode())
        return patch

    async def kept_patch(self) -> bytes | None:
        """Return the patch that ``patch`` once returned on this host; None if it never did.

        Since then a check may have changed the files.
        """
        found = await self.git("for-each-ref", "--format=%(tree)", self._ended)
        return await self.diff(found.decode().strip()) if found.strip() else None

    async def tree(self) -> str:
        """Store the files as they are and return the id of their tree.

        Files that git ignores are left out; the worktree's own index stays as it is.
        """
        index = self._data / "index"
        copy = index.with_name(f"index.{secrets.token_hex(8)}")
        try:
            if index.is_file():
                # It knows which files are unchanged, so that git does not read them all.
                await asyncio.to_thread(shutil.copyfile, index, copy)
            await self.git("add", "--all", "--", ".", index=copy)
            return (await self.git("write-tree", index=copy)).decode().strip()
        finally:
            copy.unlink(missing_ok=True)

    async def inner(self, tree: str) -> list[str]:
        """Return the folders with files that a tree does not hold, as git takes them for others'.

        These are repositories that were made inside, and what was written into the empty folder of
        a submodule.
        """
        base, now = await asyncio.gather(self._links(self.base_commit), self._links(tree))
        made = [path for path, commit in now.items() if base.get(path) != commit]
        return made + [
            one for one in base if await asyncio.to_thread(_is_filled, self.folder / one)
        ]

    async def _links(self, tree: str) -> dict[str, bytes]:
        """Return the commits of the repositories that a tree names, by path."""
        said = await self.git("ls-tree", "-r", "-z", tree)
        rows = [one.partition(b"\t") for one in said.split(b"\0") if one.startswith(b"160000 ")]
        return {os.fsdecode(path): facts for facts, _, path in rows}

    async def _check_inner(self, tree: str) -> None:
        if found := await self.inner(tree):
            raise WorkspaceError(
                f"a patch cannot hold {', '.join(found[:_MAX_NAMED])}: a repository of its own, or "
                f"files in a submodule's folder. The checkout stays on {socket.gethostname()} in "
                f"{self.folder}"
            )

    async def diff(self, tree: str) -> bytes:
        """Return the patch from the base to a tree."""
        diff = ("diff-tree", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff")
        return await self.git(*diff, "--no-textconv", self.base_commit, tree)

    async def git(self, *words: str, data: bytes = b"", index: Path | None = None) -> bytes:
        """Run git in the worktree, by default with its index. Errors: ``WorkspaceError``."""
        env = {**self._env, **({"GIT_INDEX_FILE": str(index)} if index else {})}
        return await git(*words, cwd=self.folder, avoid=self.avoid, env=env, data=data)

    async def remove(self) -> None:
        """Delete the worktree; its branch stays."""
        await asyncio.to_thread(_delete, self.folder)
        await asyncio.to_thread(_delete, self._data)


def worktree_of(place: Path, batch_id: str, task_id: str, plays: int = 0) -> Path:
    """Return where a task is worked on; its last part is the same on all hosts.

    A session is found by its folder, so a task that is played again has another one.
    """
    # No task's id has a plus sign.
    return place / "worktrees" / f"{batch_id}-{task_id}{f'+{plays}' if plays else ''}"


async def check_out(
    place: Path, folder: Path, repository: str, ref: str, base_commit: str
) -> Checkout:
    """Make a worktree anew and return it.

    ``base_commit`` is the commit that an earlier attempt began with; empty: resolve ``ref``.
    Errors: ``WorkspaceError``.
    """
    avoid = _avoid(folder, repository)
    bare = await _bare(place, repository, avoid)
    # A fetch fails where another one changes a shallow repository, or a worktree is half made.
    async with held_file(bare.with_name(f"{bare.name}.lock")) as descriptor:
        await locked(descriptor)
        made = await _begin(bare, folder, repository, ref, base_commit, avoid)
    await made.git("reset", "--quiet", "--hard")
    return made


async def _begin(
    bare: Path,
    folder: Path,
    repository: str,
    ref: str,
    base_commit: str,
    avoid: tuple[Path, ...],
) -> Checkout:
    """Make a worktree without its files."""
    here = partial(git, cwd=bare, avoid=avoid, env=of_bare(bare))
    pinned = f"refs/agent-ls/{folder.name}"
    if repository and (not _is_folder(repository) or _has_git(Path(repository))):
        # A shallow clone, as CI makes, gives nothing without the second word.
        fetch = ("fetch", "--update-shallow", "--no-write-fetch-head", "--quiet", "--no-tags")
        refs = f"+{base_commit or ref}:{pinned}"
        await here(*fetch, "--", repository, refs, is_fetch=True)
    else:
        await _import(bare, repository, pinned, folder, avoid)
    commit = (await here("rev-parse", f"{pinned}^{{commit}}")).decode().strip()
    if base_commit and commit != base_commit:
        raise WorkspaceError(
            f"{repository or _EMPTY} is not as it was when the task began on another host"
        )
    made = Checkout(folder, bare, commit, avoid)
    await made.remove()
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    add = ("worktree", "add", "--quiet", "--force", "--detach", "--no-checkout")
    await here(*add, str(folder), commit)
    return made


def existing(place: Path, folder: Path, repository: str, base_commit: str) -> Checkout | None:
    """Return the worktree that an earlier attempt left on this host, if there is one."""
    bare = bare_of(place, repository)
    is_here = folder.is_dir() and (bare / "worktrees" / folder.name).is_dir()
    if not is_here or not base_commit:
        return None
    return Checkout(folder, bare, base_commit, _avoid(folder, repository))


def bare_of(place: Path, repository: str) -> Path:
    """Return where a source's bare repository lies."""
    return place / "repositories" / _name(repository)


def lay_over(source: Path, folder: Path) -> None:
    """Copy a folder's files over those of a checkout, whatever a task put in their place.

    Errors: ``WorkspaceError``, ``OSError``.
    """
    if not source.is_dir():
        raise WorkspaceError(f"{source} is not a folder of this host")
    for place, folders, files in os.walk(source):
        below = folder / Path(place).relative_to(source)
        for name in (*folders, *files):
            # A copy would go through a link, or into a file that has another name outside.
            if (below / name).is_symlink() or (below / name).is_file():
                (below / name).unlink()
            elif name in files:
                # Into a folder of this name, the file would be copied.
                _delete(below / name)
    shutil.copytree(source, folder, dirs_exist_ok=True, symlinks=True)


async def restore(checkout: Checkout, turn: TurnState, store: Store) -> None:
    """Write into a fresh worktree what the session had changed on another host.

    Errors: ``WorkspaceError`` if the store does not have all of it.
    """
    started = turn.events.of(ChildStarted)
    over = {one.child_id for one in turn.events.of(ChildEnded)}
    for one in started:
        # The turn's own events have what an ended sub-agent wrote, but texts alone.
        if one.child_id in over:
            await _restore_child(checkout, one.child_id, store)
    for path, (digest, mode) in _files_of(turn).items():
        data = await store.get_blob(digest) if digest else None
        if digest and data is None:
            raise _Unkept(f"the store no longer has {path}")
        await asyncio.to_thread(_put, checkout.folder, path, data, mode)
    for one in started:
        if one.child_id not in over:
            await _restore_child(checkout, one.child_id, store)


async def _restore_child(checkout: Checkout, session_id: str, store: Store) -> None:
    child = fold_all(await store.load(session_id))
    if child.turn is not None:
        await restore(checkout, child.turn, store)


class _Unkept(WorkspaceError):
    """What a run left on another host is not in the store."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}, so another machine cannot go on with this task; "
            "`agent-ls batch resume --failed` begins it anew"
        )


def _files_of(turn: TurnState) -> dict[str, tuple[str | None, int | None]]:
    """Return the digest and the mode of each file as the turn left it; no digest: it is gone.

    Errors: ``WorkspaceError`` if the store was not given all of it.
    """
    for left in turn.events.of(CommandChangesLeftOut):
        raise _Unkept(f"a command changed {left.left_files} files more than the store was given")
    modes = _modes_of(turn)
    found = {path: file.after_blob for path, file in turn.touched.items()}
    for change in turn.events.of(CommandChanged):
        if change.images is None:
            # Not in the state if the text before is unknown.
            found.setdefault(change.path, change.after_blob)
    for path, image in _others_of(turn).items():
        if image is not None and not (image.is_kept and image.digest):
            raise _Unkept(f"the store was not given {path}, which is too large")
        found[path] = image.digest if image is not None else None
        if image is not None and image.mode is not None:
            modes[path] = image.mode
    return {path: (digest, modes.get(path)) for path, digest in found.items()}


def _others_of(turn: TurnState) -> dict[str, FileImage | None]:
    """Return what commands left last that is not in the state, as it is no text; None: gone."""
    found = dict[str, FileImage | None]()
    for stored in turn.events:
        match stored.event:
            case CommandChanged(images=(_, after), path=path):
                found[path] = after
            case CommandChanged(path=path) | EditApplied(status="applied", path=path):
                found.pop(path, None)
            case ChildEnded(files=files):
                for file in files:
                    found.pop(file.path, None)
            case _:
                pass
    return found


def _modes_of(turn: TurnState) -> dict[str, int]:
    """Return the modes that texts got last; a text that was there keeps its mode when edited."""
    found = dict[str, int]()
    for stored in turn.events:
        match stored.event:
            case EditIntended(edit=MoveFile(new_path=path), before_mode=int(mode)):
                found[path] = mode
            case EditApplied(status="applied", path=path, after_mode=int(mode)):
                found[path] = mode
            case CommandChanged(path=path, after_mode=int(mode)):
                found[path] = mode
            case _:
                pass
    return found


def _put(folder: Path, path: str, data: bytes | None, mode: int | None) -> None:
    place = folder / path
    # Also by links: what the journal names was inside of the folder where it was changed. A file
    # behind a link was changed there, but the link itself was deleted.
    real = place.parent.resolve() / place.name if data is None else place.resolve()
    if components_below(real, folder.resolve()) is None or ".." in Path(path).parts:
        raise WorkspaceError(f"{path} is not inside of the checkout")
    if data is None:
        place.unlink(missing_ok=True)
        return
    real.parent.mkdir(parents=True, exist_ok=True)
    real.write_bytes(data)
    if mode is not None:
        real.chmod(mode)


def _avoid(folder: Path, repository: str) -> tuple[Path, ...]:
    # PATH may begin with a folder of the source, such as that of an activated virtual environment.
    return (folder, Path(repository)) if _is_folder(repository) else (folder,)


async def _bare(place: Path, repository: str, avoid: Sequence[Path]) -> Path:
    bare = bare_of(place, repository)
    if not (bare / "HEAD").is_file():
        bare.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Several workers may begin at once: each makes one, and the first to move it wins.
        made = bare.with_name(f"{bare.name}.{secrets.token_hex(8)}")
        await git("init", "--quiet", "--bare", str(made), cwd=bare.parent, avoid=avoid)
        try:
            made.rename(bare)
        except OSError:
            await asyncio.to_thread(shutil.rmtree, made)
    return bare


def _name(repository: str) -> str:
    return hashlib.sha256(repository.encode()).hexdigest()[:16] + ".git"


def _is_folder(repository: str) -> bool:
    return repository.startswith("/")


def _has_git(folder: Path) -> bool:
    return (folder / ".git").exists() or (folder / "HEAD").is_file()


async def _import(
    bare: Path, repository: str, pinned: str, folder: Path, avoid: Sequence[Path]
) -> None:
    """Make a commit of a plain folder's files; the same files give the same commit."""
    index = bare / f"index-{folder.name}"
    env = {**of_bare(bare), "GIT_INDEX_FILE": str(index), **FIXED_DATE}
    here = partial(git, cwd=bare, avoid=avoid, env=env)
    try:
        if repository:
            if not await asyncio.to_thread(Path(repository).is_dir):
                raise WorkspaceError(f"{repository} is not a folder of this host")
            await here("--work-tree", repository, "-C", repository, "add", "--all", "--force", ".")
        tree = (await here("write-tree")).decode().strip()
        made = await here("commit-tree", tree, data=b"Begin\n")
        await here("update-ref", pinned, made.decode().strip())
    finally:
        index.unlink(missing_ok=True)


def _is_filled(folder: Path) -> bool:
    """Say whether a submodule's folder has files although it was never fetched."""
    return folder.is_dir() and not (folder / ".git").exists() and any(folder.iterdir())


def _delete(folder: Path) -> None:
    if not folder.exists():
        return
    # A task may leave folders that not even their owner may change.
    for place, _, _ in os.walk(folder):
        Path(place).chmod(stat.S_IRWXU)
    shutil.rmtree(folder)
