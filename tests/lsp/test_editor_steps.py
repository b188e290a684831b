"""What the person saves, deletes or types beside a command is theirs; the rest is the command's."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from agent_ls.domain.calls import ToolCall
from agent_ls.loop.ports.commands import CommandMark
from agent_ls.loop.ports.workspace import Root
from agent_ls.loop.sockets import PlannedCall
from agent_ls.lsp.connection.documents import Change, DocumentStore
from agent_ls.lsp.workspace import editor_steps
from agent_ls.lsp.workspace.editor_workspace import EditorWorkspace
from agent_ls.lsp.workspace.saving import SaveFallback
from agent_ls.tools.run_command import RunCommand, RunCommandArguments
from agent_ls.workspace import editors_part
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.runner import ShellRunner
from agent_ls.workspace.tree_watch import TreeWatch

_CALL = ToolCall(id="cal_1", provider_id="p", tool="run_command", arguments_json="{}")


class CannotSave:
    """An editor that cannot be asked to save, as most cannot."""

    saves = False

    async def save(self, uris: list[str]) -> bool:
        return False

    def advise_saving(self, paths: list[str]) -> None:
        pass


class Beside:
    """A person's editor, and commands beside it."""

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
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Beside:
    # A busy machine may be slow between two steps of a test.
    for module in (editors_part, editor_steps):
        monkeypatch.setattr(module, "REACTION_NS", 10**10)
    root = tmp_path.resolve() / "work"
    root.mkdir()
    for name in ("a.py", "b.py"):
        (root / name).write_text("x = 1\n")
    (root / "sub").mkdir()
    (root / "sub/c.py").write_text("c  =  1\n")
    (root / "latin.py").write_bytes("x = 'é'\n".encode("latin-1"))
    (root / "wide.py").write_bytes("x = 'é'\n".encode("utf-16"))
    return Beside(root)


def _save_late(at: Beside) -> None:
    at.save("a.py", "x = 2\n", told=False)


def _save_and_type_on(at: Beside) -> None:
    at.type("a.py", "x = 2\n")
    at.write("a.py", "x = 2\n")
    at.type("a.py", "x = 23\n")
    at.documents.save(at.uri("a.py"))


def _save_by_a_link(at: Beside) -> None:
    (at.root / "link.py").symlink_to("a.py")
    at.open("link.py")
    at.save("link.py", "x = 2\n")
    at.documents.close(at.uri("link.py"))


def _save_a_new_one(at: Beside) -> None:
    at.open("new.py", "")
    at.save("new.py", "x = 2\n")


def _save_many(at: Beside) -> None:
    for number in range(100):
        path = f"new{number}.py"
        at.open(path, "")
        at.save(path, "x = 2\n")


def _delete(at: Beside) -> None:
    at.documents.close(at.uri("a.py"))
    (at.root / "a.py").unlink()


def _delete_and_close(at: Beside) -> None:
    (at.root / "a.py").unlink()
    at.documents.close(at.uri("a.py"))


def _save_in(path: str, encoding: str) -> Callable[[Beside], None]:
    def do(at: Beside) -> None:
        text = (at.root / path).read_bytes().decode(encoding)
        at.open(path, text)
        at.save(path, text + "y = 1\n", encoding)

    return do


def _delete_a_closed_one(at: Beside) -> None:
    (at.root / "latin.py").unlink()
    at.workspace.steps.note_taken(at.uri("latin.py"))


def _delete_a_folder(at: Beside) -> None:
    shutil.rmtree(at.root / "sub")
    at.workspace.steps.note_taken(at.uri("sub"))


def _move(at: Beside) -> None:
    (at.root / "latin.py").rename(at.root / "moved.py")
    at.workspace.steps.note_moved(at.uri("latin.py"), at.uri("moved.py"))


def _move_a_folder(at: Beside) -> None:
    (at.root / "sub").rename(at.root / "moved")
    at.workspace.steps.note_moved(at.uri("sub"), at.uri("moved"))


def _copy(at: Beside) -> None:
    shutil.copy(at.root / "latin.py", at.root / "copy.py")
    at.workspace.steps.note_made(at.uri("copy.py"))


_DONE = {
    "saved": lambda at: at.save("a.py", "x = 2\n"),
    "saved-and-told-late": _save_late,
    "saved-and-typed-on": _save_and_type_on,
    "saved-by-a-link": _save_by_a_link,
    "saved-new": _save_a_new_one,
    "saved-many": _save_many,
    "saved-latin-1": _save_in("latin.py", "latin-1"),
    "saved-utf-16": _save_in("wide.py", "utf-16"),
    "deleted": _delete,
    "deleted-and-closed": _delete_and_close,
    "deleted-while-closed": _delete_a_closed_one,
    "deleted-with-its-folder": _delete_a_folder,
    "moved": _move,
    "moved-with-its-folder": _move_a_folder,
    "copied": _copy,
    "typed": lambda at: at.type("a.py", "x = 2\n"),
}


@pytest.mark.parametrize("do", _DONE.values(), ids=_DONE)
async def test_what_the_person_does_meanwhile_is_no_commands_doing(
    beside: Beside, do: Callable[[Beside], object]
) -> None:
    beside.open("a.py")
    mark = await beside.begin()
    do(beside)
    beside.write("b.py", "built\n")
    assert await beside.end(mark) == [("b.py", b"x = 1\n", b"built\n")]
    assert await beside.end(await beside.begin()) == []


class LongLooks(TreeWatch):
    """Looks that take so long that something happens before and behind each file's."""

    before: Callable[[], object] = bool
    behind: Callable[[], object] = bool

    def _look_before(self) -> Any:
        self.before()
        found = super()._look_before()
        self.behind()
        return found

    def _changes(self, mark: Any) -> Any:
        self.before()
        found = super()._changes(mark)
        self.behind()
        return found


async def test_what_is_saved_while_the_files_are_looked_at_is_the_persons(beside: Beside) -> None:
    beside.watch = watch = LongLooks(beside.workspace)
    beside.open("a.py")
    watch.behind = lambda: beside.save("a.py", "x = 2\n")
    mark = await beside.begin()
    watch.behind = bool
    assert await beside.end(mark) == []
    mark = await beside.begin()
    watch.before = lambda: beside.save("a.py", "x = 3\n", told=False)
    watch.behind = lambda: beside.documents.save(beside.uri("a.py"))
    assert await beside.end(mark) == []


async def test_a_file_that_is_looked_at_while_it_is_saved_is_looked_at_again(
    beside: Beside,
) -> None:
    beside.watch = watch = LongLooks(beside.workspace)
    beside.open("a.py")
    mark = await beside.begin()
    # Editors empty a file before they write it.
    watch.before = lambda: beside.write("a.py", "")
    watch.behind = lambda: beside.save("a.py", "x = 2\n")
    assert await beside.end(mark) == []


async def test_a_save_that_is_told_after_the_last_look_is_waited_for(
    beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(editor_steps, "_TOLD_S", 20)
    beside.watch = watch = LongLooks(beside.workspace)
    beside.open("a.py")
    mark = await beside.begin()
    loop = asyncio.get_running_loop()

    def tell() -> None:
        beside.type("a.py", "x = 2\n")
        beside.documents.save(beside.uri("a.py"))

    beside.write("a.py", "x = 2\n")
    watch.behind = lambda: loop.call_soon_threadsafe(loop.call_later, 0.05, tell)
    assert await beside.end(mark) == []


async def test_what_a_command_makes_of_a_saved_text_is_its_doing(beside: Beside) -> None:
    beside.open("a.py")
    mark = await beside.begin()
    beside.save("a.py", "x  =  2\n")
    beside.write("a.py", "x = 2\n")
    beside.save("a.py", "y  =  3\n")
    beside.write("a.py", "x = 1\n")
    # Also when that is what it was before the save.
    assert await beside.end(mark) == [("a.py", b"y  =  3\n", b"x = 1\n")]
    mark = await beside.begin()
    _save_and_type_on(beside)
    beside.write("a.py", "x = 4\n")
    assert await beside.end(mark) == [("a.py", b"x = 2\n", b"x = 4\n")]


async def test_what_the_person_saves_beside_one_command_is_not_anothers_doing(
    beside: Beside,
) -> None:
    beside.open("a.py")
    long = await beside.begin()
    beside.save("a.py", "x = 2\n")
    assert await beside.end(await beside.begin()) == []
    short = await beside.begin()
    beside.write("a.py", "x = 3\n")
    assert await beside.end(short) == [("a.py", b"x = 2\n", b"x = 3\n")]
    beside.write("a.py", "x = 4\n")
    # What the one has told is not told again.
    assert await beside.end(long) == [("a.py", b"x = 3\n", b"x = 4\n")]


async def test_what_a_command_makes_of_a_moved_file_is_its_doing(beside: Beside) -> None:
    mark = await beside.begin()
    _move_a_folder(beside)
    beside.write("moved/c.py", "c = 1\n")
    assert await beside.end(mark) == [("moved/c.py", b"c  =  1\n", b"c = 1\n")]


_UNSAVED = "x = 1\nmine = 1\n"


def _remove(at: Beside) -> None:
    (at.root / "a.py").unlink()


@pytest.mark.parametrize(
    ("do", "expected"),
    [
        pytest.param(lambda at: os.utime(at.root / "a.py"), [], id="touched"),
        pytest.param(
            lambda at: at.write("a.py", "x = 5\n"),
            [("a.py", b"x = 1\n", b"x = 5\n")],
            id="changed",
        ),
        pytest.param(_remove, [("a.py", b"x = 1\n", None)], id="removed"),
        pytest.param(
            lambda at: at.write("new.py", "made\n"), [("new.py", None, b"made\n")], id="made"
        ),
        pytest.param(lambda at: at.save("a.py", _UNSAVED, told=False), [], id="saved-meanwhile"),
    ],
)
async def test_unsaved_text_that_never_reached_the_disk_was_not_before_a_command(
    beside: Beside,
    do: Callable[[Beside], object],
    expected: list[tuple[str, bytes | None, bytes | None]],
) -> None:
    beside.open("a.py")
    beside.type("a.py", _UNSAVED)
    beside.open("new.py", "unsaved\n")
    mark = await beside.begin()
    assert await beside.workspace.save_dirty() == ["a.py", "new.py"]
    do(beside)
    assert await beside.end(mark) == expected


async def test_what_is_written_for_the_editor_was_there_before_the_command(tmp_path: Path) -> None:
    beside = Beside(tmp_path.resolve(), "write")
    beside.write("a.py", "x = 1\n")
    beside.open("a.py")
    beside.type("a.py", "x  =  2\n")
    beside.open("new.py", "")
    beside.type("new.py", "y\n")
    mark = await beside.begin()
    assert await beside.workspace.save_dirty() == []
    beside.write("a.py", "x = 2\n")
    assert await beside.end(mark) == [("a.py", b"x  =  2\n", b"x = 2\n")]


async def test_nothing_is_kept_when_no_command_runs(beside: Beside) -> None:
    steps = beside.workspace.follow_editor()
    beside.open("a.py")
    steps.end()
    beside.open("b.py")
    assert [one.text for one in steps.of(beside.root / "a.py")] == ["x = 1\n"]
    assert not steps.of(beside.root / "b.py")
