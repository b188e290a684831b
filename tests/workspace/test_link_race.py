"""Edits while a folder is exchanged for a link again and again: none lands outside."""

from __future__ import annotations

import ctypes
import os
import threading
from pathlib import Path

import pytest

from agent_ls.domain.edits import ChangeText, CreateFile, DeleteFile, MoveFile, Replacement
from agent_ls.domain.errors import WorkspaceError
from agent_ls.loop.ports.workspace import Root
from agent_ls.workspace.disk import DiskWorkspace

_AT_FOLDER, _EXCHANGE = -100, 2


def _exchange(root: Path, done: threading.Event) -> None:
    """Let a folder and a link change names, each time in one go."""
    one, other = (os.fsencode(root / name) for name in ("dir", "link"))
    exchange = ctypes.CDLL(None, use_errno=True).renameat2
    while not done.is_set():
        assert exchange(_AT_FOLDER, one, _AT_FOLDER, other, _EXCHANGE) == 0


async def _edit(workspace: DiskWorkspace, number: int) -> str:
    """Create a file, change it, move it and delete it; return how far that came."""
    path, new = f"dir/{number}", f"dir/{number}-moved"
    reached = "nothing"
    try:
        created = await workspace.apply(CreateFile(path=path, text="in\n"))
        reached = created.status
        version = (await workspace.read(path)).version
        change = ChangeText(
            path=path, base_version=version, replacements=(Replacement(start=0, end=2, text="on"),)
        )
        await workspace.apply(change)
        version = (await workspace.read(path)).version
        await workspace.apply(MoveFile(path=path, base_version=version, new_path=new))
        await workspace.apply(DeleteFile(path=new, base_version=version))
    except WorkspaceError:
        return reached
    return "all"


@pytest.mark.parametrize(
    "rounds", [100, pytest.param(25_000, marks=[pytest.mark.long, pytest.mark.timeout(1_800)])]
)
async def test_no_edit_lands_outside(tmp_path: Path, rounds: int) -> None:
    root, outside = tmp_path.resolve() / "root", tmp_path.resolve() / "outside"
    (root / "dir").mkdir(parents=True)
    outside.mkdir()
    (root / "link").symlink_to(outside)
    for number in range(rounds):
        (outside / str(number)).write_text("kept")
    workspace = DiskWorkspace([Root("root", root, is_trusted=False)])
    done = threading.Event()
    exchanging = threading.Thread(target=_exchange, args=(root, done))
    exchanging.start()
    try:
        reached = {await _edit(workspace, number) for number in range(rounds)}
    finally:
        done.set()
        exchanging.join()
    assert reached - {"nothing"}
    assert sorted(one.name for one in outside.iterdir()) == sorted(map(str, range(rounds)))
    assert {one.read_text() for one in outside.iterdir()} == {"kept"}
