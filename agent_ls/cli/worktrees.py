"""``worktrees``: lists, shows, merges and drops what ``run --worktree`` made."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from agent_ls.batch.checkouts import Checkout
from agent_ls.batch.worktrees import TreeChange, Worktrees, tree_changes, worktrees_of
from agent_ls.cli.options import folder_of
from agent_ls.cli.output import print_json
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.sentences import counted
from agent_ls.safety.text import visible_line

_NOTHING = 1
_MOST_NAMED = 20


def worktrees(arguments: argparse.Namespace) -> int:
    """Run the action and return its exit code. Errors: ``WorkspaceError``, ``SettingsError``."""
    repository = worktrees_of(folder_of(arguments))
    actions = {"list": _list, "diff": _diff, "merge": _merge, "drop": _drop}
    return asyncio.run(actions[arguments.action](repository, arguments))


@dataclass(frozen=True, slots=True)
class _Row:
    """One worktree, as it is listed."""

    name: str
    folder: str
    base_commit: str
    files: list[str]
    """What is not merged."""
    is_in_use: bool
    problem: str
    """Why ``files`` is not known; empty if it is."""

    @property
    def line(self) -> str:
        how = f"{counted(len(self.files), 'file')} not merged" if self.files else "all merged"
        words = [self.problem or how, *(["a run works in it"] if self.is_in_use else [])]
        return visible_line(f"{self.name}  {', '.join(words)}  {self.folder}")


async def _list(repository: Worktrees, arguments: argparse.Namespace) -> int:
    rows = [await _row(repository, name) for name in await repository.names()]
    if arguments.json:
        print_json([asdict(row) for row in rows])
        return 0
    for row in rows:
        sys.stdout.write(f"{row.line}\n")
    if not rows:
        sys.stderr.write("There are none; `agent-ls run --worktree NAME` makes one.\n")
    return 0


async def _row(repository: Worktrees, name: str) -> _Row:
    files: list[str] = []
    problem = ""
    checkout = await repository.find(name)
    try:
        if checkout is None:
            problem = "its folder is gone"
        else:
            files = [one.path for one in await _changes(checkout)]
    except WorkspaceError as error:
        # One that git cannot read must not hide the others.
        problem = str(error)
    return _Row(
        name=name,
        folder=str(repository.folder(name)),
        base_commit=checkout.base_commit if checkout else "",
        files=files,
        is_in_use=await repository.is_in_use(name),
        problem=problem,
    )


async def _diff(repository: Worktrees, arguments: argparse.Namespace) -> int:
    checkout = _there(await repository.find(arguments.name), arguments.name)
    patch = await checkout.diff(await checkout.tree())
    if not patch:
        sys.stderr.write("All its changes are merged.\n")
        return _NOTHING
    if sys.stdout.isatty():
        from agent_ls.cli.review import show_diff

        show_diff(patch.decode(errors="replace"))
    else:
        sys.stdout.buffer.write(patch)
    return 0


async def _merge(repository: Worktrees, arguments: argparse.Namespace) -> int:
    # Here, since nothing else needs what sessions need.
    from agent_ls.cli.worktree_merge import merge_into

    name: str = arguments.name
    async with repository.held(name) as held:
        checkout = _there(held, name)
        changes = await _changes(checkout)
        if not changes:
            sys.stderr.write(f"There is nothing to merge: {name} has no other changes.\n")
            return _NOTHING
        code, merged = await merge_into(repository.top, name, checkout, changes, arguments)
        if merged:
            await repository.merged(name, checkout, merged)
    return code


async def _drop(repository: Worktrees, arguments: argparse.Namespace) -> int:
    name: str = arguments.name
    async with repository.held(name) as checkout:
        inner: list[str] = []
        try:
            changes = await _changes(checkout) if checkout else []
            inner = await checkout.inner(await checkout.tree()) if checkout else []
        except WorkspaceError as error:
            if not arguments.force:
                raise WorkspaceError(
                    f"what was changed in {name} cannot be read ({error}); --force deletes it "
                    "all the same"
                ) from None
            changes = []
        if (changes or inner) and not arguments.force:
            sys.stderr.write(f"agent-ls: {name} has changes that are not merged:\n")
            _name(changes)
            for one in inner:
                sys.stderr.write(
                    f"{one}/ has files that no merge brings home: copy them yourself\n"
                )
            sys.stderr.write(
                f"`agent-ls worktrees merge {name}` merges them; `agent-ls worktrees drop {name} "
                "--force` deletes them.\n"
            )
            return _NOTHING
        await repository.drop(name)
    if changes:
        sys.stderr.write("Deleted, with these changes that were not merged:\n")
        _name(changes)
    else:
        sys.stderr.write(f"Deleted {name}.\n")
    return 0


def _there(checkout: Checkout | None, name: str) -> Checkout:
    if checkout is None:
        raise WorkspaceError(
            f"there is no worktree {name}, or its folder is gone; `agent-ls worktrees list` shows "
            f"which there are, `agent-ls worktrees drop {name}` forgets one"
        )
    return checkout


async def _changes(checkout: Checkout) -> list[TreeChange]:
    return await tree_changes(checkout, await checkout.tree())


def _name(changes: Sequence[TreeChange]) -> None:
    for one in changes[:_MOST_NAMED]:
        sys.stderr.write(f"  {visible_line(one.path)}\n")
    if len(changes) > _MOST_NAMED:
        sys.stderr.write(f"  … and {counted(len(changes) - _MOST_NAMED, 'more file')}\n")
