"""Whatever fails while a file is written, it is as it was or as it should be, and nothing is left.

The system's calls fail here, each at every place where a write makes it.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_ls.domain.edits import ChangeText, CreateFile, DeleteFile, MoveFile, Replacement
from agent_ls.loop.ports.workspace import Root
from agent_ls.workspace.disk import DiskWorkspace

_CALLS = (
    "open", "write", "fsync", "fchmod", "rename", "link", "unlink", "mkdir", "read", "fstat",
    "pwrite", "ftruncate",
)  # fmt: skip
pytestmark = pytest.mark.heavy

_ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES)
_MOST_CALLS = 40
_BEFORE = {"a.txt": b"one\ntwo\n"}
_AFTER = {
    "change": {"a.txt": b"one\n2\n"},
    "change in place": {"a.txt": b"one\n2\n"},
    "create": {"a.txt": b"one\ntwo\n", "new/b.txt": b"new\n"},
    "delete": {},
    "move": {"new/b.txt": b"one\ntwo\n"},
}


def workspace(folder: Path) -> DiskWorkspace:
    return DiskWorkspace([Root(name="proj", path=folder.resolve(), is_trusted=True)])


def files(folder: Path) -> dict[str, bytes]:
    found = (one for one in folder.rglob("*") if one.is_file())
    return {one.relative_to(folder).as_posix(): one.read_bytes() for one in found}


@contextmanager
def failing(call: str, number: int, error: int) -> Iterator[list[int]]:
    """Let the ``number``-th such call of a worker thread fail; yields how many there were."""
    real: Any = getattr(os, call)
    seen: list[int] = []

    def fail(*arguments: Any, **more: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            seen.append(len(seen) + 1)
            if seen[-1] == number:
                raise OSError(error, os.strerror(error))
        return real(*arguments, **more)

    setattr(os, call, fail)
    try:
        yield seen
    finally:
        setattr(os, call, real)


async def check(folder: Path, kind: str, call: str, number: int, error: int) -> bool:
    """Carry out one edit with one fault; say whether there was one."""
    for name, content in _BEFORE.items():
        (folder / name).write_bytes(content)
    if kind == "change in place":
        os.link(folder / "a.txt", folder.with_suffix(".linked"))
    disk = workspace(folder)
    version = (await disk.read("a.txt")).version
    change = ChangeText(
        path="a.txt", base_version=version, replacements=(Replacement(start=4, end=7, text="2"),)
    )
    edit = {
        "change": change,
        "change in place": change,
        "create": CreateFile(path="new/b.txt", text="new\n"),
        "delete": DeleteFile(path="a.txt", base_version=version),
        "move": MoveFile(path="a.txt", new_path="new/b.txt", base_version=version),
    }[kind]
    with failing(call, number, error) as seen:
        outcome = await disk.apply(edit)
    where = f"{kind}: {call} number {number} fails with {errno.errorcode[error]}"
    now = {name: content for name, content in files(folder).items() if ".tmp" not in name}
    assert now == (_AFTER[kind] if outcome.status == "applied" else _BEFORE), where
    is_unlink = call == "unlink"
    # Only when taking the temporary file away is what fails can it be left.
    assert is_unlink or files(folder) == now, where
    assert outcome.status == "applied" or outcome.reason, where
    return len(seen) >= number


@pytest.mark.parametrize("kind", list(_AFTER))
@pytest.mark.parametrize("call", _CALLS)
async def test_a_fault_anywhere_leaves_the_files_whole(
    tmp_path: Path, kind: str, call: str
) -> None:
    for error in _ERRORS:
        for number in range(1, _MOST_CALLS):
            folder = tmp_path / f"{error}-{number}"
            folder.mkdir()
            if not await check(folder, kind, call, number, error):
                break
        else:
            pytest.fail(f"{call} was called more than {_MOST_CALLS} times")


_COUNTER = """
import asyncio, sys
from pathlib import Path
from agent_ls.domain.edits import ChangeText, Replacement
from agent_ls.loop.ports.workspace import Root
from agent_ls.workspace.disk import DiskWorkspace

async def main(folder, rounds):
    disk = DiskWorkspace([Root("x", Path(folder), False)])
    for _ in range(rounds):
        while True:
            file = await disk.read("count.txt")
            number, end = file.text.partition("\\n")[0], file.text.index("\\n")
            one_more = (Replacement(start=0, end=end, text=str(int(number) + 1)),)
            edit = ChangeText(path="count.txt", base_version=file.version, replacements=one_more)
            outcome = await disk.apply(edit)
            if outcome.status == "applied":
                break
            assert outcome.status == "stale", outcome

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


def test_processes_that_write_one_file_lose_nothing(tmp_path: Path) -> None:
    # So long that another process has time between the last look and the write.
    rest = "\n" + "x" * 1_500_000
    (tmp_path / "count.txt").write_text(f"0{rest}")
    command = [sys.executable, "-c", _COUNTER, str(tmp_path.resolve()), "20"]
    writers = [subprocess.Popen(command) for _ in range(3)]
    assert [one.wait(timeout=120) for one in writers] == [0, 0, 0]
    assert (tmp_path / "count.txt").read_text() == f"60{rest}"
    assert [one.name for one in tmp_path.iterdir()] == ["count.txt"]
