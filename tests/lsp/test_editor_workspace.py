"""Files as the user sees them: buffers first, then the disk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from lsprotocol import types

from agent_ls.domain.edits import (
    ChangeText,
    CreateFile,
    DeleteFile,
    EditOutcome,
    FileEdit,
    MoveFile,
    Replacement,
    text_of,
)
from agent_ls.domain.errors import ToolError, WorkspaceError
from agent_ls.domain.permissions import ModeChange
from agent_ls.loop.extension_points import Tool
from agent_ls.loop.ports.workspace import Look, Root
from agent_ls.lsp.connection.clients import StaleEdit
from agent_ls.lsp.connection.documents import Change, DocumentStore, Snapshot
from agent_ls.lsp.workspace.editor_port import Level, Reply
from agent_ls.lsp.workspace.editor_workspace import EditorWorkspace
from agent_ls.lsp.workspace.saving import SaveFallback
from agent_ls.review.ledger import Selection
from agent_ls.store.sql_store import open_store
from agent_ls.tools.apply_patch import ApplyPatch, ApplyPatchArguments
from agent_ls.tools.delete_file import DeleteFile as DeleteTool
from agent_ls.tools.move_file import MoveFile as MoveTool
from agent_ls.workspace.disk import DiskWorkspace
from tests.review.reviewing import Reviewed
from tests.tools.conftest import BufferedWorkspace, Place

_DELETES = "*** Begin Patch\n*** Delete File: a.py\n*** End Patch"
_MOVES = "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n*** End Patch"
_CHANGES_AND_MOVES = _MOVES.replace("*** End", "@@\n-a = 2\n+a = 3\n*** End")
_Said = Literal["yes", "no", "nothing"]


@dataclass
class Editor:
    """An editor that applies text edits, and deletes, moves and saves where the test lets it."""

    documents: DocumentStore
    takes_away: _Said = "nothing"
    saves: bool = False
    said: list[str] = field(default_factory=list[str])
    meanwhile: Callable[[], object] = bool
    """What happens while it is asked to take a file away."""
    stale_edit: StaleEdit = "refused"
    follows_disk: bool = False

    def say(self, level: Level, text: str) -> None:
        self.said.append(text)

    async def apply_cells(self, uri: str, expected: str, label: str) -> Reply:
        raise AssertionError("no notebook is open")

    async def apply_text(
        self, snapshot: Snapshot, edits: list[types.TextEdit], label: str
    ) -> Reply:
        changes = [
            Change(
                one.new_text,
                (one.range.start.line, one.range.start.character),
                (one.range.end.line, one.range.end.character),
            )
            for one in reversed(edits)
        ]
        self.documents.change(snapshot.uri, (snapshot.version or 0) + 1, changes)
        return Reply("yes")

    async def take_away(self, uri: str, new_uri: str | None) -> Reply:
        self.meanwhile()
        if self.takes_away == "yes":
            path = Path(uri.removeprefix("file://"))
            if new_uri is None:
                path.unlink()
            else:
                path.rename(Path(new_uri.removeprefix("file://")))
            self.documents.close(uri)
        return Reply(self.takes_away)

    async def save(self, uris: list[str]) -> bool:
        for uri in uris if self.saves else ():
            found = self.documents.get(uri)
            assert found is not None
            Path(uri.removeprefix("file://")).write_text(found.text)
        return self.saves


@dataclass
class World:
    root: Path
    documents: DocumentStore
    editor: Editor
    workspace: EditorWorkspace

    def open(self, path: str, text: str) -> None:
        self.documents.open((self.root / path).as_uri(), "python", 1, text)

    def type(self, path: str, text: str) -> None:
        self.documents.change((self.root / path).as_uri(), 2, [Change(text)])

    def save(self, path: str) -> None:
        """Save as the editor does when the user asks it to."""
        found = self.documents.at_path(self.root / path)
        assert found is not None
        (self.root / path).write_text(found.text)
        self.documents.save(found.uri)

    def disk(self, path: str) -> str | None:
        target = self.root / path
        return target.read_text() if target.exists() else None


@pytest.fixture
def world(tmp_path: Path) -> World:
    root = tmp_path.resolve() / "work"
    root.mkdir()
    (root / "a.py").write_text("a = 1\n")
    return make(root)


def make(root: Path, **options: Any) -> World:
    fallback: SaveFallback = options.pop("save_fallback", "ask")
    documents = DocumentStore()
    editor = Editor(documents, **options)
    disk = DiskWorkspace([Root("work", root, is_trusted=False)])
    workspace = EditorWorkspace(disk, documents, editor, save_fallback=fallback)
    return World(root, documents, editor, workspace)


async def check(world: World, kind: str, path: str, **more: Any) -> EditOutcome:
    """Apply one edit that was planned on the newest text."""
    edit: FileEdit
    if kind == "create":
        edit = CreateFile(path=path, text=more["text"])
    else:
        base = more.get("base") or (await world.workspace.read(path)).version
        match kind:
            case "change":
                change = Replacement(start=4, end=5, text=more["text"])
                edit = ChangeText(path=path, base_version=base, replacements=(change,))
            case "delete":
                edit = DeleteFile(path=path, base_version=base)
            case _:
                edit = MoveFile(path=path, base_version=base, new_path=more["to"])
    return await world.workspace.apply(edit)


async def test_a_buffer_is_read_before_the_disk(world: World) -> None:
    assert (await world.workspace.read("a.py")).text == "a = 1\n"
    world.open("a.py", "a = 2\n")
    found = await world.workspace.read("a.py")
    assert (found.text, found.is_open, found.is_dirty) == ("a = 2\n", True, True)
    assert await world.workspace.snapshot("a.py") == b"a = 2\n"
    assert [one.path for one in await world.workspace.dirty()] == ["a.py"]


async def test_a_buffer_like_the_disk_is_clean_also_with_a_byte_order_mark(world: World) -> None:
    (world.root / "bom.py").write_bytes(b"\xef\xbb\xbfx = 1\n")
    world.open("bom.py", "x = 1\n")
    assert not (await world.workspace.read("bom.py")).is_dirty
    assert await world.workspace.snapshot("bom.py") == b"\xef\xbb\xbfx = 1\n"


@pytest.mark.parametrize("name", ["x\ny.py", "b\\c.py", "out/b.py"])
async def test_a_buffer_whose_name_no_tool_may_use_is_left_out(world: World, name: str) -> None:
    """Its name came from the editor, not from the model, so nothing fails because of it."""
    (world.root / "out").symlink_to(world.root.parent)
    world.open(name, "b = 1\n")
    world.open("a.py", "a = 2\n")
    assert [file.path for file in await world.workspace.dirty()] == ["a.py"]
    assert list((await world.workspace.save_dirty()).paths) == ["a.py"]


async def test_a_document_out_of_step_is_not_read_as_something_else(world: World) -> None:
    world.open("a.py", "a = 2\n")
    world.documents.lose_sync((world.root / "a.py").as_uri())
    with pytest.raises(WorkspaceError, match="open it again"):
        await world.workspace.read("a.py")


async def test_a_buffer_that_is_not_on_disk_yet_exists(world: World) -> None:
    world.open("new.py", "n = 1\n")
    assert await world.workspace.exists("new.py")
    assert (await world.workspace.read("new.py")).is_dirty


async def test_an_open_document_changes_in_the_buffer_and_not_on_disk(world: World) -> None:
    world.open("a.py", "a = 1\n")
    outcome = await check(world, "change", "a.py", text="7")
    assert (outcome.status, outcome.text) == ("applied", "a = 7\n")
    assert world.disk("a.py") == "a = 1\n"
    assert (await world.workspace.read("a.py")).version == outcome.version


@pytest.mark.parametrize(("mode", "after"), [(0o644, 0o755), (0o600, 0o600)])
async def test_permissions_go_to_the_disk_with_an_open_documents_text(
    world: World, mode: int, after: int
) -> None:
    (world.root / "a.py").chmod(mode)
    world.open("a.py", "a = 1\n")
    base = (await world.workspace.read("a.py")).version
    goes = ModeChange(base=0o644, goal=0o755)
    change = (Replacement(start=4, end=5, text="7"),)
    edit = ChangeText(path="a.py", base_version="another", replacements=change, mode=goes)
    assert (await world.workspace.apply(edit)).status == "stale"
    assert await world.workspace.mode("a.py") == mode
    outcome = await world.workspace.apply(edit.model_copy(update={"base_version": base}))
    assert (outcome.status, outcome.text) == ("applied", "a = 7\n")
    assert world.disk("a.py") == "a = 1\n"
    assert await world.workspace.mode("a.py") == after


async def test_a_closed_file_changes_on_disk(world: World) -> None:
    outcome = await check(world, "change", "a.py", text="7")
    assert outcome.status == "applied"
    assert world.disk("a.py") == "a = 7\n"


async def test_a_file_opened_since_the_edit_was_planned_is_planned_again(world: World) -> None:
    base = (await world.workspace.read("a.py")).version
    world.open("a.py", "a = 1\n")
    assert (await check(world, "change", "a.py", text="7", base=base)).status == "stale"


async def test_creating_fills_an_empty_new_buffer_and_nothing_else(world: World) -> None:
    world.open("new.py", "")
    world.open("full.py", "mine")
    assert (await check(world, "create", "new.py", text="n = 1\n")).text == "n = 1\n"
    assert world.disk("new.py") is None
    refused = await check(world, "create", "full.py", text="x")
    assert (refused.status, "already exists" in refused.reason) == ("refused", True)


@pytest.mark.parametrize("takes_away", ["nothing", "yes"])
@pytest.mark.parametrize("kind", ["delete", "move"])
async def test_an_open_clean_file_is_taken_away_by_the_editor_or_from_disk(
    tmp_path: Path, kind: str, takes_away: _Said
) -> None:
    root = tmp_path.resolve()
    (root / "a.py").write_text("a = 1\n")
    world = make(root, takes_away=takes_away)
    world.open("a.py", "a = 1\n")
    assert (await check(world, kind, "a.py", to="b.py")).status == "applied"
    assert world.disk("a.py") is None
    assert world.disk("b.py") == ("a = 1\n" if kind == "move" else None)
    # What the editor still shows of it does not count as a file any more.
    is_told = [] if takes_away == "yes" else [True]
    assert ["still has it open. Close it" in one for one in world.editor.said] == is_told
    assert not await world.workspace.exists("a.py")


@pytest.mark.parametrize("takes_away", ["nothing", "no", "yes"])
async def test_a_move_that_the_editor_was_asked_for_is_no_rename_of_the_users(
    tmp_path: Path, takes_away: _Said
) -> None:
    root = tmp_path.resolve()
    (root / "a.py").write_text("a = 1\n")
    world = make(root, takes_away=takes_away)
    world.open("a.py", "a = 1\n")
    moved = await check(world, "move", "a.py", to="b.py")
    assert moved.status == ("refused" if takes_away == "no" else "applied")
    # One that is told for the second time is another one.
    told = [world.workspace.is_own_move(root / "a.py", root / "b.py") for _ in range(2)]
    assert told == [takes_away == "yes", False]


@pytest.mark.parametrize("kind", ["delete", "move"])
async def test_unsaved_text_is_never_taken_away(tmp_path: Path, kind: str) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    world = make(tmp_path.resolve(), saves=False)
    world.open("a.py", "a = 2\n")
    outcome = await check(world, kind, "a.py", to="b.py")
    assert (outcome.status, "unsaved changes" in outcome.reason) == ("refused", True)
    assert world.disk("a.py") == "a = 1\n"


@pytest.mark.parametrize(
    ("on_disk", "saves", "fallback", "stays"),
    [
        pytest.param("a = 2\n", False, "ask", False, id="saved"),
        pytest.param("a = 1\n", False, "ask", True, id="unsaved"),
        pytest.param("a = 1\n", False, "never", True, id="unsaved-for-good"),
        pytest.param("a = 1\n", True, "ask", False, id="the-editor-saves"),
        pytest.param("a = 1\n", False, "write", False, id="it-is-written"),
    ],
)
@pytest.mark.parametrize(
    ("built", "arguments"),
    [
        pytest.param(MoveTool, {"path": "a.py", "new_path": "b.py"}, id="move_file"),
        pytest.param(DeleteTool, {"path": "a.py"}, id="delete_file"),
        pytest.param(ApplyPatch, {"patch": _MOVES}, id="apply_patch-moves"),
        pytest.param(ApplyPatch, {"patch": _CHANGES_AND_MOVES}, id="apply_patch-changes-and-moves"),
        pytest.param(ApplyPatch, {"patch": _DELETES}, id="apply_patch-deletes"),
    ],
)
async def test_unsaved_text_that_nobody_can_save_is_refused_before_it_is_asked(
    tmp_path: Path,
    built: Callable[[EditorWorkspace], Tool[Any]],
    arguments: dict[str, str],
    on_disk: str,
    saves: bool,
    fallback: SaveFallback,
    stays: bool,
) -> None:
    (tmp_path / "a.py").write_text(on_disk)
    world = make(tmp_path.resolve(), saves=saves, save_fallback=fallback)
    world.open("a.py", on_disk)
    world.type("a.py", "a = 2\n")
    tool = built(world.workspace)
    preview = tool.preview(tool.Arguments.model_validate(arguments))
    if stays:
        with pytest.raises(ToolError, match=r"Nothing was changed. a\.py is open with unsaved"):
            await preview
    else:
        assert "a.py" in (await preview).title


@pytest.mark.parametrize("kind", ["delete", "move"])
async def test_a_buffer_is_saved_before_its_file_goes(tmp_path: Path, kind: str) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    world = make(tmp_path.resolve(), saves=True)
    world.open("a.py", "a = 2\n")
    assert (await check(world, kind, "a.py", to="b.py")).status == "applied"
    assert world.disk("a.py") is None
    assert world.disk("b.py") == ("a = 2\n" if kind == "move" else None)


@pytest.mark.parametrize("is_open", [False, True], ids=["closed", "open"])
@pytest.mark.parametrize("kind", ["delete", "move"])
async def test_a_link_is_neither_taken_nor_followed(world: World, kind: str, is_open: bool) -> None:
    (world.root / "link.py").symlink_to("a.py")
    if is_open:
        world.open("a.py", "a = 1\n")
    outcome = await check(world, kind, "link.py", to="b.py")
    assert outcome.status == "refused"
    assert "'link.py' is a link to a.py" in outcome.reason
    assert world.disk("a.py") == "a = 1\n"
    assert (world.root / "link.py").is_symlink()


async def test_a_file_below_a_linked_folder_can_be_deleted(world: World) -> None:
    (world.root / "sub").mkdir()
    (world.root / "sub" / "b.py").write_text("b\n")
    (world.root / "way").symlink_to("sub")
    assert (await check(world, "delete", "way/b.py")).status == "applied"
    assert world.disk("sub/b.py") is None


async def test_nothing_is_moved_onto_an_open_buffer(world: World) -> None:
    world.open("b.py", "b")
    outcome = await check(world, "move", "a.py", to="b.py")
    assert (outcome.status, world.disk("a.py")) == ("refused", "a = 1\n")


async def test_typing_into_a_deleted_files_buffer_brings_it_back(world: World) -> None:
    world.open("a.py", "a = 1\n")
    assert (await check(world, "delete", "a.py")).status == "applied"
    uri = (world.root / "a.py").as_uri()
    world.documents.change(uri, 2, [Change("b", (0, 0), (0, 0))])
    assert (await world.workspace.read("a.py")).text == "ba = 1\n"


@pytest.mark.parametrize(
    "saves, fallback, unsaved, advised, on_disk",
    [
        pytest.param(True, "ask", [], [], "a = 2\n", id="the-editor-saves"),
        pytest.param(False, "ask", ["a.py"], ["older: a.py"], "a = 1\n", id="the-user-is-told"),
        pytest.param(False, "never", ["a.py"], [], "a = 1\n", id="only-the-model-is-told"),
        pytest.param(False, "write", [], [], "a = 2\n", id="written-behind-the-editor"),
    ],
)
async def test_the_disk_is_brought_up_to_the_buffers(
    tmp_path: Path,
    saves: bool,
    fallback: SaveFallback,
    unsaved: list[str],
    advised: list[str],
    on_disk: str,
) -> None:
    root = tmp_path.resolve()
    (root / "a.py").write_text("a = 1\n")
    world = make(root, saves=saves, save_fallback=fallback)
    world.open("a.py", "a = 1\n")
    world.type("a.py", "a = 2\n")
    assert list((await world.workspace.save_dirty()).paths) == unsaved
    assert [[one in said for one in advised] for said in world.editor.said] == [[True]] * len(
        advised
    )
    assert world.disk("a.py") == on_disk


_SHOWN = "caf\u00e9 = 1\nb = 2\n"
_ODD = {
    "latin-1": _SHOWN.encode("latin-1"),
    "utf-16": _SHOWN.encode("utf-16"),
    "line-ends-of-its-own": _SHOWN.replace("\n", "\r\n").encode(),
    "line-ends-and-a-mark": b"\xef\xbb\xbf" + _SHOWN.replace("\n", "\r\n").encode(),
    "mixed-line-ends": _SHOWN.replace("1\n", "1\r\n").encode(),
    "line-ends-and-latin-1": _SHOWN.replace("\n", "\r\n").encode("latin-1"),
}


@pytest.mark.parametrize("on_disk", _ODD.values(), ids=_ODD)
async def test_a_text_that_its_editor_shows_otherwise_than_the_disk_has_it_is_saved(
    tmp_path: Path, on_disk: bytes
) -> None:
    root = tmp_path.resolve()
    (root / "a.py").write_bytes(on_disk)
    world = make(root, save_fallback="write")
    world.open("a.py", _SHOWN)
    assert list((await world.workspace.save_dirty()).paths) == []
    assert not (await world.workspace.read("a.py")).is_dirty
    world.type("a.py", _SHOWN + "typed\n")
    assert [one.path for one in await world.workspace.dirty()] == ["a.py"]
    world.type("a.py", _SHOWN)
    assert await world.workspace.dirty() == []
    assert (root / "a.py").read_bytes() == on_disk
    assert (await check(world, "delete", "a.py")).status == "applied"
    assert not (root / "a.py").exists()


async def test_what_is_written_for_an_editor_keeps_the_files_line_ends(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / "a.py").write_bytes(b"a = 1\r\nb = 2\r\n")
    world = make(root, save_fallback="write")
    world.open("a.py", "a = 1\nb = 2\n")
    for text in ("a = 1\nb = 3\n", "a = 1\nb = 4\n"):
        world.type("a.py", text)
        assert list((await world.workspace.save_dirty()).paths) == []
        assert (root / "a.py").read_bytes() == text.replace("\n", "\r\n").encode()
    assert world.editor.said == []
    world.documents.close((root / "a.py").as_uri())
    (root / "a.py").write_bytes(b"a = 1\r\nb = 2\n")
    world.open("a.py", "a = 1\nb = 2\n")
    world.type("a.py", "a = 1\nb = 3\n")
    assert list((await world.workspace.save_dirty()).paths) == []
    assert (root / "a.py").read_bytes() == b"a = 1\r\nb = 3\n"


@pytest.mark.parametrize(
    "on_disk, shown, saved",
    [
        pytest.param("\ufeffa = 1\n", "\ufeffa = 1\n", "\ufeffa = 2\n", id="shown"),
        pytest.param("\ufeffa = 1\n", "a = 1\n", "\ufeffa = 2\n", id="kept-to-itself"),
        pytest.param("\ufeffa = 1\r\n", "\ufeffa = 1\n", "\ufeffa = 2\r\n", id="shown-before-crlf"),
    ],
)
async def test_a_file_is_written_with_one_byte_order_mark(
    tmp_path: Path, on_disk: str, shown: str, saved: str
) -> None:
    root = tmp_path.resolve()
    (root / "a.py").write_bytes(on_disk.encode())
    world = make(root, save_fallback="write")
    world.open("a.py", shown)
    for number in ("2", "3"):
        world.type("a.py", shown.replace("1", number))
        assert list((await world.workspace.save_dirty()).paths) == []
        assert (root / "a.py").read_bytes() == saved.replace("2", number).encode()


@pytest.mark.parametrize(
    "on_disk, shown, saved",
    [
        pytest.param(b"a = 1\nb = 1", "a = 1\nb = 1\n", b"a = 2\nb = 1", id="shown-with-an-end"),
        pytest.param(b"a = 1\nb = 1\n", "a = 1\nb = 1", b"a = 2\nb = 1\n", id="without-one"),
        pytest.param(b"a = 1\r\nb\r\n", "a = 1\nb", b"a = 2\r\nb\r\n", id="without-a-crlf"),
        pytest.param(b"a = 1\r\nb\n", "a = 1\r\nb\r\n", b"a = 2\r\nb\r\n", id="all-as-crlf"),
    ],
)
async def test_a_line_that_its_editor_ends_otherwise_is_nothing_unsaved(
    tmp_path: Path, on_disk: bytes, shown: str, saved: bytes
) -> None:
    root = tmp_path.resolve()
    (root / "a.py").write_bytes(on_disk)
    world = make(root, save_fallback="write")
    world.open("a.py", shown)
    assert not (await world.workspace.read("a.py")).is_dirty
    assert list((await world.workspace.save_dirty()).paths) == []
    assert (root / "a.py").read_bytes() == on_disk
    world.type("a.py", shown.replace("1", "2", 1))
    assert [one.path for one in await world.workspace.dirty()] == ["a.py"]
    assert await world.workspace.saved("a.py") == saved
    assert list((await world.workspace.save_dirty()).paths) == []
    assert (root / "a.py").read_bytes() == saved
    assert await world.workspace.dirty() == []
    assert world.editor.said == []
    assert (await check(world, "move", "a.py", to="b.py")).status == "applied"
    assert (root / "b.py").read_bytes() == saved


async def test_a_file_of_mixed_line_ends_that_is_loaded_again_is_nothing_unsaved(
    world: World,
) -> None:
    world.open("a.py", "a = 1\n")
    (world.root / "a.py").write_bytes(b"a = 1\r\nb = 2\n")
    world.type("a.py", "a = 1\r\nb = 2\r\n")
    assert await world.workspace.dirty() == []


async def test_mixed_line_ends_that_somebody_makes_uniform_are_saved(world: World) -> None:
    (world.root / "a.py").write_bytes(b"a = 1\r\nb = 2\n")
    world.open("a.py", "a = 1\r\nb = 2\n")
    world.type("a.py", "a = 1\r\nb = 2\r\n")
    assert [one.path for one in await world.workspace.dirty()] == ["a.py"]


async def test_a_last_line_that_an_editor_ends_as_it_saves_is_saved(world: World) -> None:
    world.open("a.py", "a = 1\n")
    world.type("a.py", "a = 2\nb = 1")
    (world.root / "a.py").write_text("a = 2\nb = 1\n")
    world.documents.save((world.root / "a.py").as_uri())
    assert await world.workspace.dirty() == []
    # Another program's is newer than what the editor shows.
    (world.root / "a.py").write_text(NEWER)
    assert (await world.workspace.read("a.py")).text == NEWER


@pytest.mark.parametrize("fallback", ["ask", "write"])
@pytest.mark.parametrize("old, new", [("a = 1", "a = 1\n"), ("a = 1\n", "a = 1")])
async def test_a_last_line_that_somebody_ends_otherwise_is_saved(
    tmp_path: Path, fallback: SaveFallback, old: str, new: str
) -> None:
    """Also just after the server wrote the file, which is no new text that was loaded again."""
    root = tmp_path.resolve()
    (root / "a.py").write_text("a = 0")
    world = make(root, save_fallback=fallback)
    world.open("a.py", "a = 0")
    world.type("a.py", old)
    unsaved = [] if fallback == "write" else ["a.py"]
    assert list((await world.workspace.save_dirty()).paths) == unsaved
    world.type("a.py", new)
    assert [one.path for one in await world.workspace.dirty()] == ["a.py"]
    assert list((await world.workspace.save_dirty()).paths) == unsaved
    assert world.disk("a.py") == (new if fallback == "write" else "a = 0")


@pytest.mark.parametrize("then", ["a = 1\n", "typed = 1\n"], ids=["undone", "typed"])
async def test_text_typed_after_the_editor_loaded_a_file_again_is_unsaved(
    world: World, then: str
) -> None:
    """No editor says that it loads a file again: it is one more change of the text."""
    world.open("a.py", "a = 1\n")
    (world.root / "a.py").write_text("a = 7\n")
    world.type("a.py", "a = 7\n")
    world.type("a.py", then)
    assert [one.path for one in await world.workspace.dirty()] == ["a.py"]
    assert list((await world.workspace.save_dirty()).paths) == ["a.py"]
    assert ["older: a.py" in one for one in world.editor.said] == [True]


async def test_unsaved_text_is_known_where_the_folder_was_opened_by_a_link(world: World) -> None:
    link = world.root.parent / "link"
    link.symlink_to(world.root)
    world.documents.open((link / "a.py").as_uri(), "python", 1, "a = 1\n")
    world.documents.change((link / "a.py").as_uri(), 2, [Change("a = 2\n")])
    assert [one.path for one in await world.workspace.dirty()] == ["a.py"]
    assert list((await world.workspace.save_dirty()).paths) == ["a.py"]
    assert ["older: a.py" in one for one in world.editor.said] == [True]


OLD, TYPED, NEWER = "a = 1\n", "# typed\na = 1\n", "a = 1\nnewer = 1\n"


def nothing(world: World) -> None:
    """Leave the editor as it is."""


def types_again(world: World) -> None:
    world.type("a.py", TYPED)


def saves_and_types(world: World) -> None:
    world.type("a.py", OLD + "saved\n")
    world.save("a.py")
    world.type("a.py", TYPED)


def is_written_and_types(world: World) -> None:
    """The way of a command that comes and goes: its change is undone on disk."""
    (world.root / "a.py").write_text(NEWER)
    (world.root / "a.py").write_text(OLD)
    world.type("a.py", TYPED)


def reopens_typed(world: World) -> None:
    """A server that starts late, or again, is shown what was typed before it came."""
    world.open("a.py", TYPED)


@pytest.mark.parametrize(
    "happens, on_disk, unsaved, holds",
    [
        pytest.param(nothing, None, [], OLD, id="nothing-happened"),
        pytest.param(nothing, NEWER, [], NEWER, id="not-reloaded"),
        pytest.param(nothing, "", [], "", id="not-reloaded-and-emptied"),
        pytest.param(types_again, None, [], TYPED, id="typed"),
        pytest.param(types_again, NEWER, ["a.py"], NEWER, id="typed-and-written"),
        pytest.param(saves_and_types, None, [], TYPED, id="saved-and-typed"),
        pytest.param(saves_and_types, OLD, ["a.py"], OLD, id="saved-typed-and-set-back"),
        pytest.param(is_written_and_types, None, [], TYPED, id="written-and-set-back"),
        pytest.param(reopens_typed, None, ["a.py"], OLD, id="opened-with-another-text"),
    ],
)
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "with-a-mark"])
async def test_no_file_is_written_that_holds_what_the_editor_never_had(
    tmp_path: Path,
    happens: Callable[[World], None],
    on_disk: str | None,
    unsaved: list[str],
    holds: str,
    mark: str,
) -> None:
    """What another program wrote stays, and so does what was typed."""
    root = tmp_path.resolve()
    (root / "a.py").write_text(mark + OLD)
    world = make(root, save_fallback="write")
    world.open("a.py", OLD)
    happens(world)
    typed = world.documents.at_path(root / "a.py")
    if on_disk is not None:
        (root / "a.py").write_text(mark + on_disk)
    assert [one.path for one in await world.workspace.dirty()] == (
        ["a.py"] if typed and typed.text == TYPED else []
    )
    assert list((await world.workspace.save_dirty()).paths) == unsaved
    assert (world.disk("a.py") or "").removeprefix(mark) == holds
    assert ["Not saved" in one for one in world.editor.said] == [True] * len(unsaved)
    assert world.documents.at_path(root / "a.py") == typed


async def test_a_buffer_that_was_written_once_is_written_again(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / "a.py").write_text(OLD)
    world = make(root, save_fallback="write")
    world.open("a.py", OLD)
    world.open("new.py", "n = 1\n")
    for text in (TYPED, TYPED + "more\n"):
        world.type("a.py", text)
        world.type("new.py", text)
        assert list((await world.workspace.save_dirty()).paths) == []
        assert (world.disk("a.py"), world.disk("new.py")) == (text, text)
    (root / "a.py").write_text("")
    world.type("a.py", OLD + TYPED)
    assert list((await world.workspace.save_dirty()).paths) == ["a.py"]
    assert world.disk("a.py") == ""


async def test_a_file_that_cannot_be_written_for_the_editor_is_told(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / "a.py").write_text(OLD)
    (root / "a.py").chmod(0o444)
    world = make(root, save_fallback="write")
    world.open("a.py", OLD)
    world.type("a.py", TYPED)
    assert list((await world.workspace.save_dirty()).paths) == ["a.py"]
    assert world.disk("a.py") == OLD
    assert ["could not be written: a.py" in one for one in world.editor.said] == [True]
    (root / "a.py").chmod(0o644)
    assert list((await world.workspace.save_dirty()).paths) == []
    assert (world.disk("a.py"), len(world.editor.said)) == (TYPED, 1)


async def test_a_file_that_came_where_a_new_buffer_is_stays(tmp_path: Path) -> None:
    world = make(tmp_path.resolve(), save_fallback="write")
    world.open("new.py", "n = 1\n")
    (world.root / "new.py").write_text(NEWER)
    assert list((await world.workspace.save_dirty()).paths) == ["new.py"]
    assert world.disk("new.py") == NEWER


async def test_a_file_that_is_gone_does_not_come_back_by_a_buffer_nobody_typed_in(
    tmp_path: Path,
) -> None:
    root = tmp_path.resolve()
    (root / "a.py").write_text(OLD)
    world = make(root, save_fallback="write")
    world.open("a.py", OLD)
    (root / "a.py").unlink()
    assert list((await world.workspace.save_dirty()).paths) == []
    assert world.disk("a.py") is None


@pytest.mark.parametrize("fallback", ["ask", "write", "never"])
async def test_a_file_that_is_only_behind_the_disk_is_nothing_to_save(
    tmp_path: Path, fallback: SaveFallback
) -> None:
    root = tmp_path.resolve()
    (root / "a.py").write_text(OLD)
    world = make(root, save_fallback=fallback)
    world.open("a.py", OLD)
    (root / "a.py").write_text(NEWER)
    assert list((await world.workspace.save_dirty()).paths) == []
    assert world.editor.said == []


@pytest.mark.parametrize("kind", ["delete", "move"])
async def test_text_that_only_the_disk_holds_is_never_taken_away(tmp_path: Path, kind: str) -> None:
    root = tmp_path.resolve()
    (root / "a.py").write_text(OLD)
    world = make(root, save_fallback="write")
    world.open("a.py", OLD)
    world.type("a.py", TYPED)
    (root / "a.py").write_text(NEWER)
    outcome = await check(world, kind, "a.py", to="b.py")
    assert (outcome.status, "save or to reload" in outcome.reason) == ("refused", True)
    assert (world.disk("a.py"), world.disk("b.py")) == (NEWER, None)


@pytest.mark.parametrize("kind", ["delete", "move"])
async def test_what_is_written_while_a_file_is_taken_away_stays(world: World, kind: str) -> None:
    world.open("a.py", OLD)
    world.editor.meanwhile = lambda: (world.root / "a.py").write_text(NEWER)
    assert (await check(world, kind, "a.py", to="b.py")).status == "stale"
    assert (world.disk("a.py"), world.disk("b.py")) == (NEWER, None)
    assert await world.workspace.exists("a.py")


@pytest.mark.parametrize("kind", ["delete", "move"])
async def test_what_is_typed_while_a_file_is_taken_away_stays(world: World, kind: str) -> None:
    world.open("a.py", OLD)
    world.editor.meanwhile = lambda: world.type("a.py", TYPED)
    assert (await check(world, kind, "a.py", to="b.py")).status == "stale"
    assert (world.disk("a.py"), world.disk("b.py")) == (OLD, None)
    assert (await world.workspace.read("a.py")).text == TYPED


async def test_a_buffer_typed_in_as_its_file_went_is_the_file(world: World) -> None:
    def delete_and_type() -> None:
        (world.root / "a.py").unlink()
        world.type("a.py", TYPED)

    world.open("a.py", OLD)
    world.editor.meanwhile = delete_and_type
    assert (await check(world, "delete", "a.py")).status == "applied"
    assert (await world.workspace.read("a.py")).text == TYPED


@pytest.fixture
def behind(world: World) -> World:
    """A project with a file that a command wrote, and that the editor has not loaded again."""
    world.open("a.py", OLD)
    (world.root / "a.py").write_text(NEWER)
    return world


@pytest.mark.parametrize("follows_disk", [False, True])
async def test_the_user_is_told_once_to_reload_a_file_that_is_behind(
    behind: World, follows_disk: bool
) -> None:
    behind.editor.follows_disk = follows_disk
    for text in ("7", "8"):
        assert (await check(behind, "change", "a.py", text=text)).status == "applied"
    told = [] if follows_disk else [True]
    assert ["reload it to see" in one for one in behind.editor.said] == told


async def test_a_file_that_is_behind_the_disk_is_read_and_changed_there(behind: World) -> None:
    found = await behind.workspace.read("a.py")
    assert (found.text, found.is_open, found.is_dirty) == (NEWER, False, False)
    assert await behind.workspace.snapshot("a.py") == NEWER.encode()
    outcome = await check(behind, "change", "a.py", text="7")
    assert (outcome.status, behind.disk("a.py")) == ("applied", "a = 7\nnewer = 1\n")


async def test_an_edit_of_the_text_before_a_command_is_planned_again(world: World) -> None:
    world.open("a.py", OLD)
    base = (await world.workspace.read("a.py")).version
    (world.root / "a.py").write_text(NEWER)
    assert (await check(world, "change", "a.py", text="7", base=base)).status == "stale"
    assert (await check(world, "delete", "a.py", base=base)).status == "stale"
    assert world.disk("a.py") == NEWER


@pytest.mark.parametrize("kind", ["delete", "move"])
async def test_a_file_that_is_behind_the_disk_goes_as_it_is_there(behind: World, kind: str) -> None:
    assert (await check(behind, kind, "a.py", to="b.py")).status == "applied"
    assert (behind.disk("a.py"), behind.disk("b.py")) == (None, NEWER if kind == "move" else None)
    assert not await behind.workspace.exists("a.py")
    with pytest.raises(WorkspaceError):
        await behind.workspace.read("a.py")


@pytest.mark.parametrize("kind", ["create", "move"])
async def test_a_file_comes_back_although_the_editor_still_shows_it(
    world: World, kind: str
) -> None:
    """As the undo of what a command deleted or moved does."""
    world.open("a.py", OLD)
    (world.root / "a.py").rename(world.root / "b.py")
    path = "a.py" if kind == "create" else "b.py"
    assert (await check(world, kind, path, text=OLD, to="a.py")).status == "applied"
    assert world.disk("a.py") == OLD


async def test_a_file_loaded_again_is_changed_in_its_buffer(behind: World) -> None:
    on_disk = await behind.workspace.read("a.py")
    behind.type("a.py", NEWER)
    found = await behind.workspace.read("a.py")
    assert (found.text, found.is_open, found.is_dirty) == (NEWER, True, False)
    assert (await check(behind, "change", "a.py", text="7")).status == "applied"
    assert behind.disk("a.py") == NEWER
    outcome = await check(behind, "change", "a.py", text="8", base=on_disk.version)
    assert outcome.status == "stale"


@pytest.mark.parametrize("shown", [NEWER, "a = 7\nnewer = 1\n"])
async def test_a_text_that_was_read_before_an_edit_of_the_disk_and_is_shown_after_it_is_behind(
    behind: World, shown: str
) -> None:
    """An editor loads the file again while the agent edits it: what it shows lacks the edit."""
    assert (await check(behind, "change", "a.py", text="7")).status == "applied"
    assert (await check(behind, "change", "a.py", text="8")).status == "applied"
    behind.type("a.py", shown)
    assert (await behind.workspace.read("a.py")).text == "a = 8\nnewer = 1\n"
    assert await behind.workspace.dirty() == []
    assert (await check(behind, "change", "a.py", text="9")).status == "applied"
    assert behind.disk("a.py") == "a = 9\nnewer = 1\n"
    behind.type("a.py", TYPED)
    found = await behind.workspace.read("a.py")
    assert (found.text, found.is_dirty, found.is_apart) == (TYPED, True, True)


async def test_an_undo_back_to_a_text_that_the_agent_replaced_on_disk_is_unsaved(
    behind: World,
) -> None:
    assert (await check(behind, "change", "a.py", text="7")).status == "applied"
    behind.type("a.py", "a = 7\nnewer = 1\n")
    behind.type("a.py", NEWER)
    found = await behind.workspace.read("a.py")
    assert (found.text, found.is_dirty, found.is_apart) == (NEWER, True, False)


async def test_typing_after_a_file_was_loaded_again_can_be_saved(behind: World) -> None:
    behind.workspace.use_save_fallback("write")
    assert await behind.workspace.dirty() == []
    behind.type("a.py", NEWER)
    behind.type("a.py", NEWER + "typed\n")
    assert list((await behind.workspace.save_dirty()).paths) == []
    assert behind.disk("a.py") == NEWER + "typed\n"


async def test_typing_into_a_file_that_is_behind_makes_the_buffer_count(behind: World) -> None:
    assert (await behind.workspace.read("a.py")).text == NEWER
    behind.type("a.py", TYPED)
    found = await behind.workspace.read("a.py")
    assert (found.text, found.is_open, found.is_dirty) == (TYPED, True, True)
    assert (await check(behind, "change", "a.py", text="7")).status == "applied"
    assert behind.disk("a.py") == NEWER


async def test_what_was_seen_is_compared_with_the_disk_where_that_is_newer(world: World) -> None:
    world.open("a.py", OLD)
    in_buffer = Look("a.py", version=(await world.workspace.read("a.py")).version)
    assert await world.workspace.compare([in_buffer]) == [("a.py", True)]
    (world.root / "a.py").write_text(NEWER)
    on_disk = Look("a.py", version=(await world.workspace.read("a.py")).version)
    stored = Look("a.py", digest=hashlib.sha256(NEWER.encode()).hexdigest())
    looks = [in_buffer, on_disk, stored, Look("a.py")]
    expected = [("a.py", False), ("a.py", True), ("a.py", True), ("a.py", False)]
    assert await world.workspace.compare(looks) == expected
    # The same text is nothing new when the editor has loaded it.
    world.type("a.py", NEWER)
    assert await world.workspace.compare(looks) == expected
    world.type("a.py", TYPED)
    assert await world.workspace.compare(looks) == [("a.py", False)] * 4


async def test_what_a_command_changed_is_undone_on_disk_below_a_file_not_loaded_again(
    world: World, tmp_path: Path
) -> None:
    world.open("a.py", OLD)
    store = open_store(tmp_path / "sessions.db")
    reviewed = Reviewed(world.root, store, workspace=world.workspace)
    await reviewed.turn()
    await reviewed.runs(lambda: (world.root / "a.py").write_text("a = 2\n"))
    await reviewed.end()
    results = await reviewed.review.decide("undo", Selection())
    await store.close()
    assert [(one.status, one.hunks) for one in results] == [("done", 1)]
    assert world.disk("a.py") == OLD
    assert (await world.workspace.read("a.py")).is_open


async def test_a_buffer_opened_over_a_link_is_its_target(world: World) -> None:
    (world.root / "link.py").symlink_to(world.root / "a.py")
    world.open("a.py", "a = 5\n")
    assert (await world.workspace.read("link.py")).text == "a = 5\n"


async def test_a_file_opened_under_a_links_name_is_its_targets_buffer(world: World) -> None:
    (world.root / "link.py").symlink_to(world.root / "a.py")
    world.open("link.py", "a = 5\n")
    assert (await world.workspace.read("a.py")).text == "a = 5\n"


async def test_what_was_seen_is_compared_with_the_buffer_where_there_is_one(world: World) -> None:
    mark = b"\xef\xbb\xbf"
    (world.root / "a.py").write_bytes(mark + b"a = 1\n")
    (world.root / "closed.py").write_text("c = 1\n")
    (world.root / "link.py").symlink_to("a.py")
    digest = hashlib.sha256(mark + b"a = 1\n").hexdigest()
    closed = await world.workspace.read("closed.py")
    world.open("a.py", "a = 1\n")
    read = await world.workspace.read("a.py")
    looks = [
        Look("./a.py", version=read.version),
        Look("link.py", digest=digest),
        Look("closed.py", version=closed.version),
        Look("new.py"),
    ]
    names = ["a.py", "a.py", "closed.py", "new.py"]
    assert await world.workspace.compare(looks) == [(name, True) for name in names]
    world.open("a.py", "a = 2\n")
    world.open("new.py", "")
    assert await world.workspace.compare(looks) == list(
        zip(names, (False, False, True, False), strict=True)
    )
    assert await world.workspace.compare([Look("../out.py", version="x")]) == [("../out.py", False)]


async def test_nothing_is_known_to_hold_of_a_document_out_of_step(world: World) -> None:
    world.open("a.py", "a = 1\n")
    look = Look("a.py", version=(await world.workspace.read("a.py")).version)
    assert await world.workspace.compare([look]) == [("a.py", True)]
    world.documents.lose_sync((world.root / "a.py").as_uri())
    assert await world.workspace.compare([look]) == [("a.py", False)]


@pytest.mark.parametrize("on_disk", _ODD.values(), ids=_ODD)
async def test_a_deleted_file_comes_back_as_it_was_on_disk(tmp_path: Path, on_disk: bytes) -> None:
    """Whatever form its editor showed it in."""
    root = tmp_path.resolve() / "work"
    root.mkdir()
    (root / "a.py").write_bytes(on_disk)
    world = make(root)
    world.open("a.py", _SHOWN)
    store = open_store(tmp_path / "sessions.db")
    reviewed = Reviewed(root, store, workspace=world.workspace)
    await reviewed.turn()
    await reviewed.agent_writes("a.py", None)
    assert not (root / "a.py").exists()
    await reviewed.end()
    results = await reviewed.review.decide("undo", Selection())
    await store.close()
    assert [(one.status, one.hunks) for one in results] == [("done", 1)]
    assert (root / "a.py").read_bytes() == on_disk


@pytest.mark.parametrize("on_disk", _ODD.values(), ids=_ODD)
async def test_a_file_written_anew_under_another_name_keeps_its_form(
    tmp_path: Path, on_disk: bytes
) -> None:
    root = tmp_path.resolve()
    (root / "a.py").write_bytes(on_disk)
    world = make(root)
    world.open("a.py", _SHOWN)
    patch = "*** Update File: a.py\n*** Move to: b.py\n@@\n-b = 2\n+b = 3\n"
    tool = ApplyPatch(world.workspace)
    arguments = ApplyPatchArguments(patch=f"*** Begin Patch\n{patch}*** End Patch\n")
    context = Place(root, BufferedWorkspace([Root("work", root, is_trusted=False)])).context()
    edits = (await tool.run(arguments, context)).edits
    assert [(await world.workspace.apply(one)).status for one in edits] == ["applied"] * 2
    shown, encoding = text_of(on_disk)
    assert (root / "b.py").read_bytes() == shown.replace("b = 2", "b = 3").encode(
        encoding or "utf-8"
    )
    assert not (root / "a.py").exists()


_DOS_SHOWN = "b = 2 # über größe\n"


@pytest.mark.parametrize(
    ("shown", "encoding"),
    [(_SHOWN, "latin-1"), (_SHOWN, "utf-16"), (_DOS_SHOWN, "cp850")],
    ids=["latin-1", "utf-16", "not-certain"],
)
async def test_a_closed_file_in_another_encoding_is_undone_if_that_is_certain_or_it_is_open(
    tmp_path: Path, shown: str, encoding: str
) -> None:
    root = tmp_path.resolve() / "work"
    root.mkdir()
    (root / "a.py").write_bytes(shown.encode(encoding))
    world = make(root)
    world.open("a.py", shown)
    store = open_store(tmp_path / "sessions.db")
    reviewed = Reviewed(root, store, workspace=world.workspace)
    await reviewed.turn()
    await reviewed.agent("a.py", "b = 2", "b = 3")
    await reviewed.end()
    edited = shown.replace("b = 2", "b = 3")
    (root / "a.py").write_bytes(edited.encode(encoding))
    world.documents.close((root / "a.py").as_uri())
    [first] = await reviewed.review.decide("undo", Selection())
    if encoding != "cp850":
        await store.close()
        assert (first.status, (root / "a.py").read_bytes()) == ("done", shown.encode(encoding))
        return
    assert (first.status, "Open it in the editor" in first.reason) == ("refused", True)
    world.open("a.py", edited)
    [done] = await reviewed.review.decide("undo", Selection())
    await store.close()
    assert (done.status, (await world.workspace.read("a.py")).text) == ("done", shown)
