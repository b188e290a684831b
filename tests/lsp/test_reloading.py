"""Open files that show an older text than the agent wrote to disk: which the person is told of."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_ls.loop.ports.workspace import Root
from agent_ls.lsp.documents import Change, DocumentStore
from agent_ls.lsp.open_files import OpenFiles
from agent_ls.lsp.reloading import Reloading
from agent_ls.lsp.saved_texts import SavedTexts
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

    def shows(self, path: str, text: str) -> None:
        """Load a file again, or type in it."""
        self.documents.change((self.root / path).as_uri(), 2, [Change(text)])

    async def told(self) -> list[str]:
        """Return what is told by the next look, which is told of ``last.py`` for certain."""
        self.count += 1
        text = f"last = {self.count}\n"
        self.agent_writes("last.py", text)
        async with asyncio.timeout(20):
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
