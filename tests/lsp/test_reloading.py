"""Open files that show what the disk has no longer: which of them the person is told of."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_ls.domain import events as e
from agent_ls.loop.ports.workspace import Root
from agent_ls.lsp.connection.documents import Change, DocumentStore
from agent_ls.lsp.connection.saved_texts import SavedTexts
from agent_ls.lsp.workspace.open_files import OpenFiles
from agent_ls.lsp.workspace.reloading import Reloading
from agent_ls.workspace.disk import DiskWorkspace
from tests.lsp.test_editor_workspace import Editor

OLD, NEW = "a = 1\n", "a = 22\n"


@dataclass
class Desk:
    """An editor with ``a.py`` and ``last.py`` open, as they were on disk then."""

    root: Path
    documents: DocumentStore
    editor: Editor
    reloading: Reloading
    count: int = 0

    def agent_writes(self, path: str, text: str | None = NEW) -> None:
        place = self.root / path
        place.unlink() if text is None else place.write_text(text)
        self.reloading.on_written(path)

    def command_moves(self, path: str, new_path: str | None) -> None:
        """Move or delete a file by a command, and tell of it as one is told of."""
        place = self.root / path
        place.unlink() if new_path is None else place.rename(self.root / new_path)
        event = e.CommandChanged(call_id="cal_1", path=path, before_blob="held")
        self.reloading.on_event(e.StoredEvent(session_id="ses_1", seq=1, at_ms=0, event=event))

    def agent_moves(self, path: str, new_path: str | None) -> None:
        place = self.root / path
        place.unlink() if new_path is None else place.rename(self.root / new_path)
        self.reloading.on_taken(place.as_uri(), path, new_path)

    def shows(self, path: str, text: str) -> None:
        """Load a file again, or type in it."""
        self.documents.change((self.root / path).as_uri(), 2, [Change(text)])

    async def told(self) -> list[str]:
        """Return what is told by the next look, which is told of ``last.py`` for certain."""
        self.count += 1
        text = f"last = {self.count}\n"
        self.agent_writes("last.py", text)
        async with asyncio.timeout(60):
            *others, last = await self.editor.older.get()
        assert last == "last.py"
        self.shows("last.py", text)
        return others


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    root, documents = tmp_path.resolve(), DocumentStore()
    editor, saved = Editor(documents), SavedTexts(documents)
    disk = DiskWorkspace([Root("work", root, is_trusted=False)])
    for name in ("a.py", "last.py", "closed.py"):
        (root / name).write_text(OLD)
        if name != "closed.py":
            documents.open((root / name).as_uri(), "python", 1, OLD)
    files = OpenFiles(disk, documents, saved)
    return Desk(root, documents, editor, Reloading(files, documents, editor, pause_s=0))


async def test_a_file_that_shows_an_older_text_is_told_once(desk: Desk) -> None:
    desk.agent_writes("a.py")
    desk.agent_writes("a.py", "a = 333\n")
    assert await desk.told() == ["a.py"]
    desk.agent_writes("a.py", "a = 4444\n")
    assert await desk.told() == []


async def test_a_file_that_was_loaded_again_can_be_told_again(desk: Desk) -> None:
    desk.agent_writes("a.py")
    assert await desk.told() == ["a.py"]
    desk.shows("a.py", NEW)
    desk.agent_writes("a.py", "a = 333\n")
    assert await desk.told() == ["a.py"]


@pytest.mark.parametrize(
    ("path", "written", "shown"),
    [
        pytest.param("a.py", NEW, NEW, id="loaded-by-the-editor-itself"),
        pytest.param("a.py", NEW, "mine\n", id="typed-in-meanwhile"),
        pytest.param("a.py", None, None, id="gone"),
        pytest.param("closed.py", NEW, None, id="closed"),
    ],
)
async def test_what_there_is_nothing_to_load_of_is_not_told(
    desk: Desk, path: str, written: str | None, shown: str | None
) -> None:
    desk.agent_writes(path, written)
    if shown is not None:
        desk.shows(path, shown)
    assert await desk.told() == []


@pytest.mark.parametrize(
    ("goes", "new_path", "words"),
    [
        (Desk.agent_moves, None, "a.py was deleted"),
        (Desk.agent_moves, "b.py", "a.py was moved to b.py"),
        (Desk.command_moves, "b.py", "A command moved or deleted a.py"),
    ],
)
async def test_an_open_file_that_went_is_told_once_by_name(
    desk: Desk, goes: Callable[[Desk, str, str | None], None], new_path: str | None, words: str
) -> None:
    goes(desk, "a.py", new_path)
    goes(desk, "closed.py", None)
    await desk.told()
    await desk.told()
    assert desk.editor.gone == [[words]]


@pytest.mark.parametrize("goes", [Desk.agent_moves, Desk.command_moves])
async def test_a_file_that_the_editor_closed_or_that_is_there_again_is_not_told(
    desk: Desk, goes: Callable[[Desk, str, str | None], None]
) -> None:
    goes(desk, "a.py", "b.py")
    desk.documents.close((desk.root / "a.py").as_uri())
    await desk.told()
    desk.documents.open((desk.root / "b.py").as_uri(), "python", 1, OLD)
    goes(desk, "b.py", None)
    (desk.root / "b.py").write_text(OLD)
    await desk.told()
    assert desk.editor.gone == []
