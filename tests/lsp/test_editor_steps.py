"""What the user saves, deletes or types beside a command is theirs; the rest is the command's."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from agent_ls.domain.calls import ToolCall
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.ports.commands import CommandMark
from agent_ls.loop.ports.workspace import Root
from agent_ls.lsp.connection.documents import Change, DocumentStore
from agent_ls.lsp.workspace.editor_workspace import EditorWorkspace
from agent_ls.lsp.workspace.saving import SaveFallback
from agent_ls.tools.run_command import RunCommand, RunCommandArguments
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.runner import ShellRunner
from agent_ls.workspace.tree_watch import TreeWatch

_CALL = ToolCall(id="cal_1", provider_id="p", tool="run_command", arguments_json="{}")


class CannotSave:
    """An editor that cannot be asked to save, as most cannot."""

    saves = False
    follows_disk = True

    async def save(self, uris: list[str]) -> bool:
        return False

    def say(self, level: str, text: str) -> None:
        pass


class Beside:
    """A user's editor, and commands beside it."""

    def __init__(self, root: Path, fallback: SaveFallback = "ask") -> None:
        self.root = root
        self.documents = DocumentStore()
        disk = DiskWorkspace([Root("work", root, is_trusted=True)])
        editor = cast(Any, CannotSave())
        self.workspace = EditorWorkspace(disk, self.documents, editor, save_fallback=fallback)
        self.watch = TreeWatch(self.workspace)

    def uri(self, path: str) -> str:
        return (self.root / path).as_uri()

    def open(self, path: str, text: str | None = None) -> None:
        data = (self.root / path).read_bytes().decode() if text is None else text
        self.documents.open(self.uri(path), "python", 1, data)

    def type(self, path: str, text: str) -> None:
        self.documents.change(self.uri(path), 2, [Change(text)])

    def save(self, path: str, text: str, encoding: str = "utf-8", *, told: bool = True) -> None:
        """Save this text as an editor does: it shows it, writes it, and tells, mostly."""
        self.type(path, text)
        (self.root / path).write_bytes(text.encode(encoding))
        if told:
            self.documents.save(self.uri(path))

    def write(self, path: str, text: str) -> None:
        """Write a file as a command does."""
        (self.root / path).write_bytes(text.encode())

    async def begin(self) -> CommandMark:
        tool = RunCommand(self.workspace, ShellRunner())
        planned = PlannedCall(_CALL, tool, RunCommandArguments(command="make it so"))
        mark = await self.watch.begin(planned)
        assert mark is not None
        return mark

    async def end(self, mark: CommandMark) -> list[tuple[str, bytes | None, bytes | None]]:
        """Return what the command changed."""
        return [(one.path, one.before, one.after) for one in await self.watch.changes(mark)]


@pytest.fixture
def beside(tmp_path: Path) -> Beside:
    root = tmp_path.resolve() / "work"
    root.mkdir()
    for name in ("a.py", "b.py"):
        (root / name).write_text("x = 1\n")
    (root / "sub").mkdir()
    (root / "sub/c.py").write_text("c  =  1\n")
    (root / "latin.py").write_bytes("x = 'é'\n".encode("latin-1"))
    (root / "wide.py").write_bytes("x = 'é'\n".encode("utf-16"))
    return Beside(root)


def _save_by_a_link(at: Beside) -> None:
    (at.root / "link.py").symlink_to("a.py")
    at.open("link.py")
    at.save("link.py", "x = 2\n")
    at.documents.close(at.uri("link.py"))


def _save_a_new_one(at: Beside) -> None:
    at.open("new.py", "")
    at.save("new.py", "x = 2\n")


def _save_in(path: str, encoding: str) -> Callable[[Beside], None]:
    def do(at: Beside) -> None:
        text = (at.root / path).read_bytes().decode(encoding)
        at.open(path, text)
        at.save(path, text + "y = 1\n", encoding)

    return do


def _delete_a_closed_one(at: Beside) -> None:
    (at.root / "latin.py").unlink()
    at.workspace.note_step(at.uri("latin.py"))


def _delete_a_folder(at: Beside) -> None:
    shutil.rmtree(at.root / "sub")
    at.workspace.note_step(at.uri("sub"))


def _move(at: Beside) -> None:
    (at.root / "latin.py").rename(at.root / "moved.py")
    for name in ("latin.py", "moved.py"):
        at.workspace.note_step(at.uri(name))


def _move_a_folder(at: Beside) -> None:
    (at.root / "sub").rename(at.root / "moved")
    for name in ("sub", "moved"):
        at.workspace.note_step(at.uri(name))


def _copy(at: Beside) -> None:
    shutil.copy(at.root / "latin.py", at.root / "copy.py")
    at.workspace.note_step(at.uri("copy.py"))


_DONE = {
    "saved": lambda at: at.save("a.py", "x = 2\n"),
    "saved-by-a-link": _save_by_a_link,
    "saved-new": _save_a_new_one,
    "saved-latin-1": _save_in("latin.py", "latin-1"),
    "deleted-while-closed": _delete_a_closed_one,
    "deleted-with-its-folder": _delete_a_folder,
    "moved": _move,
    "moved-with-its-folder": _move_a_folder,
    "copied": _copy,
    "typed": lambda at: at.type("a.py", "x = 2\n"),
}


@pytest.mark.parametrize("do", _DONE.values(), ids=_DONE)
async def test_what_the_user_does_meanwhile_is_no_commands_doing(
    beside: Beside, do: Callable[[Beside], object]
) -> None:
    beside.open("a.py")
    mark = await beside.begin()
    do(beside)
    beside.write("b.py", "built\n")
    assert await beside.end(mark) == [("b.py", b"x = 1\n", b"built\n")]
    assert await beside.end(await beside.begin()) == []


async def test_what_a_command_makes_of_a_saved_text_is_its_doing(beside: Beside) -> None:
    beside.open("a.py")
    mark = await beside.begin()
    beside.save("a.py", "y  =  3\n")
    beside.write("a.py", "x = 1\n")
    # Also when that is what it was before the save.
    assert await beside.end(mark) == [("a.py", b"y  =  3\n", b"x = 1\n")]


async def test_a_text_that_the_editor_loads_again_is_still_the_commands_doing(
    beside: Beside,
) -> None:
    beside.open("a.py")
    mark = await beside.begin()
    beside.write("a.py", "x = 2\n")
    beside.type("a.py", "x = 2\n")
    assert await beside.end(mark) == [("a.py", b"x = 1\n", b"x = 2\n")]


async def test_what_is_written_for_the_editor_was_there_before_the_command(tmp_path: Path) -> None:
    beside = Beside(tmp_path.resolve(), "write")
    beside.write("a.py", "x = 1\n")
    beside.open("a.py")
    beside.type("a.py", "x  =  2\n")
    beside.open("new.py", "")
    beside.type("new.py", "y\n")
    mark = await beside.begin()
    assert list((await beside.workspace.save_dirty()).paths) == []
    beside.write("a.py", "x = 2\n")
    assert await beside.end(mark) == [("a.py", b"x  =  2\n", b"x = 2\n")]
