"""Files go to the editor under the names that it uses itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.domain.edits import MoveFile
from agent_ls.loop.ports.workspace import Root
from agent_ls.lsp.connection.documents import DocumentStore
from agent_ls.lsp.workspace.editor_workspace import EditorWorkspace
from agent_ls.workspace.disk import DiskWorkspace
from tests.lsp.test_editor_workspace import Editor


class World:
    """A folder, a link to it, and an editor that has the link open."""

    def __init__(self, top: Path) -> None:
        self.root, self.link = top / "ws", top / "link"
        (self.root / "sub").mkdir(parents=True)
        for name in ("a.py", "b.py", "sub/c.py", "sub/é #1.py"):
            (self.root / name).write_text("x = 1\n")
        self.link.symlink_to(self.root)
        self.folders = [self.link.as_uri()]
        self.documents = DocumentStore()
        self.editor = Editor(self.documents)
        self.workspace = EditorWorkspace(
            DiskWorkspace([Root("ws", self.root, is_trusted=True)]),
            self.documents,
            self.editor,
            folders=lambda: self.folders,
        )

    def open(self, uri: str) -> None:
        self.documents.open(uri, "python", 1, "x = 1\n")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path.resolve())


def test_a_closed_file_is_below_the_folder_as_the_editor_named_it(world: World) -> None:
    link = world.link.as_uri()
    assert world.workspace.uri("b.py") == f"{link}/b.py"
    assert world.workspace.uri("new.py") == f"{link}/new.py"
    assert world.workspace.uri("sub/é #1.py") == f"{link}/sub/%C3%A9%20%231.py"
    assert world.workspace.uri_at(world.root) == link


def test_the_spelling_of_the_folder_is_kept_to_the_letter(world: World) -> None:
    world.folders = ["file://localhost" + str(world.link).replace("link", "l%69nk") + "/"]
    assert world.workspace.uri("b.py") == f"{world.folders[0]}b.py"
    assert world.workspace.uri_at(world.root) == world.folders[0]


def test_the_innermost_folder_counts(world: World) -> None:
    world.folders.append((world.root / "sub").as_uri())
    assert world.workspace.uri("sub/c.py") == (world.root / "sub/c.py").as_uri()
    assert world.workspace.uri("a.py") == (world.link / "a.py").as_uri()


def test_a_file_that_was_open_keeps_the_name_that_it_had(world: World) -> None:
    (world.root / "inner").symlink_to("sub")
    uri = (world.link / "inner" / "c.py").as_uri()
    world.open(uri)
    assert world.workspace.uri("sub/c.py") == uri
    world.documents.close(uri)
    assert world.workspace.uri("sub/c.py") == uri
    (world.root / "inner").unlink()
    assert world.workspace.uri("sub/c.py") == (world.link / "sub/c.py").as_uri()


def test_without_a_folder_files_stand_beside_the_open_one(world: World) -> None:
    world.folders = []
    assert world.workspace.uri("b.py") == (world.root / "b.py").as_uri()
    world.open((world.link / "a.py").as_uri())
    assert world.workspace.uri("b.py") == (world.link / "b.py").as_uri()


async def test_a_file_is_moved_to_a_place_below_the_editors_folder(world: World) -> None:
    world.open((world.link / "a.py").as_uri())
    asked: list[str | None] = []

    async def take_away(uri: str, new_uri: str | None) -> object:
        asked.append(new_uri)
        return await Editor.take_away(world.editor, uri, new_uri)

    world.editor.take_away = take_away  # pyright: ignore[reportAttributeAccessIssue]
    version = (await world.workspace.read("a.py")).version
    edit = MoveFile(path="a.py", base_version=version, new_path="sub/d.py")
    assert (await world.workspace.apply(edit)).status == "applied"
    assert asked == [(world.link / "sub/d.py").as_uri()]
