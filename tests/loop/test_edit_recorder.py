"""Every edit has its intent before it and its outcome behind it, whoever decided on it.

Of one that a dead process left without an outcome, the file proves what became of it.
"""

from __future__ import annotations

import stat
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent_ls.assembly import SystemClock
from agent_ls.domain import events as e
from agent_ls.domain.edits import (
    ChangeText,
    CreateFile,
    DeleteFile,
    EditOutcome,
    FileEdit,
    MoveFile,
    Replacement,
)
from agent_ls.domain.errors import WorkspaceError
from agent_ls.loop.calls.edit_recorder import EditRecorder, Intent
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.ports.commands import CommandChange, CommandMark
from agent_ls.loop.ports.workspace import Root
from agent_ls.loop.state.recorder import Recorder
from agent_ls.store.sql_store import open_store
from agent_ls.workspace.disk import DiskWorkspace

_BEFORE = b"\xef\xbb\xbfone\r\n\xff\n"
_AFTER = b"\xef\xbb\xbfONE\n1\r\n\xff\n"
_CHANGE = ChangeText(
    path="a.txt", base_version="v", replacements=(Replacement(start=0, end=3, text="ONE\n1"),)
)
_BEYOND = ChangeText(
    path="a.txt", base_version="v", replacements=(Replacement(start=90, end=91, text=""),)
)
_CREATE = CreateFile(path="a.txt", text="new\n")
_DELETE = DeleteFile(path="a.txt", base_version="v")
_MOVE = MoveFile(path="a.txt", base_version="v", new_path="b.txt")

_BY_CALL = e.EditIntended(call_id="cal_1", edit=_CREATE, before_blob=None)
_BY_REVIEW = e.ReviewDecided(review_id="rev_1", decision="undo", turn_id="trn_1", path="a.txt")
_BY = pytest.mark.parametrize(
    "intent", [pytest.param(_BY_CALL, id="a-call"), pytest.param(_BY_REVIEW, id="the-review")]
)


class Told:
    """Keeps which files a watch is told of, and what they held before and after."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.spans: list[tuple[str, bytes | None, bytes | None]] = []

    async def begin(self, planned: PlannedCall) -> CommandMark | None:
        return None

    async def changes(self, mark: CommandMark) -> tuple[CommandChange, ...]:
        return ()

    @contextmanager
    def editing(self, paths: Iterable[str]) -> Generator[None]:
        names = sorted(paths)
        before = [self._bytes(one) for one in names]
        yield
        after = [self._bytes(one) for one in names]
        self.spans += zip(names, before, after, strict=True)

    def _bytes(self, name: str) -> bytes | None:
        place = self.folder / name
        return place.read_bytes() if place.exists() else None


class Worn(DiskWorkspace):
    """A disk that takes no edit any more."""

    async def apply(self, edit: FileEdit) -> EditOutcome:
        raise WorkspaceError(f"{edit.path}: the disk is worn out")


class TypedIn(DiskWorkspace):
    """A folder in which somebody goes on in a file as soon as it has been edited."""

    async def apply(self, edit: FileEdit) -> EditOutcome:
        outcome = await super().apply(edit)
        with (self.roots[0].path / edit.path).open("a") as file:
            file.write("typed\n")
        return outcome


class Shy(DiskWorkspace):
    """A disk that does not tell permissions any more."""

    async def mode(self, path: str) -> int | None:
        raise PermissionError(13, "Permission denied", path)


async def check(
    folder: Path,
    edit: FileEdit,
    intent: Intent,
    *,
    told: Told | None,
    dies: bool = False,
    disk: type[DiskWorkspace] = DiskWorkspace,
) -> tuple[e.Event, e.Event]:
    """Apply an edit, or settle one whose process died; return its intent and its outcome."""
    store = open_store(folder.parent / "store.db")
    workspace = disk([Root("project", folder.resolve(), False)])
    recorder = Recorder("ses_1", store, SystemClock())
    editing = EditRecorder(recorder, workspace, store, told)
    if isinstance(edit, ChangeText | DeleteFile | MoveFile) and not dies:
        version = (await workspace.read(edit.path)).version
        edit = edit.model_copy(update={"base_version": version})
    try:
        if dies:
            blob = None if edit.kind == "create" else await store.put_blob(_BEFORE)
            begun = intent.model_copy(update={"edit": edit, "before_blob": blob})
            await recorder.emit(begun)
            outcome = await editing.settle(edit, begun)
        else:
            outcome = await editing.apply(edit, intent)
        before, after = [one.event for one in await store.load("ses_1")]
        assert isinstance(before, e.EditIntended | e.ReviewDecided)
        assert isinstance(after, e.EditApplied | e.ReviewApplied)
        assert type(before) is type(intent)
        assert before.edit == edit
        assert (after.path, after.status) == (edit.path, outcome.status)
        assert after.reason == outcome.reason
        place = folder / (edit.new_path if edit.kind == "move" else edit.path)
        left = place.read_bytes() if outcome.status == "applied" and place.exists() else None
        kept = None if after.after_blob is None else await store.get_blob(after.after_blob)
        assert kept == left
        return before, after
    finally:
        await store.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    return project


@_BY
async def test_an_edit_stands_in_the_journal_with_the_bytes_around_it(
    folder: Path, intent: Intent
) -> None:
    (folder / "a.txt").write_bytes(b"one\ntwo\n")
    told = Told(folder)
    before, after = await check(folder, _CHANGE, intent, told=told)
    assert (folder / "a.txt").read_bytes() == b"ONE\n1\ntwo\n"
    assert told.spans == [("a.txt", b"one\ntwo\n", b"ONE\n1\ntwo\n")]
    if isinstance(after, e.EditApplied):
        assert isinstance(before, e.EditIntended)
        assert before.call_id == after.call_id
        assert (after.added_lines, after.removed_lines) == (2, 1)
    else:
        assert isinstance(before, e.ReviewDecided)
        assert isinstance(after, e.ReviewApplied)
        assert (before.review_id, before.decision) == (after.review_id, "undo")


async def test_a_watch_is_told_of_both_names_of_a_moved_file(folder: Path) -> None:
    (folder / "a.txt").write_bytes(b"one\n")
    told = Told(folder)
    await check(folder, _MOVE, _BY_CALL, told=told)
    assert told.spans == [("a.txt", b"one\n", None), ("b.txt", None, b"one\n")]


async def test_what_is_typed_right_behind_an_edit_is_not_counted_as_its_lines(
    folder: Path,
) -> None:
    (folder / "a.txt").write_bytes(b"one\ntwo\n")
    _, after = await check(folder, _CHANGE, _BY_CALL, told=None, disk=TypedIn)
    assert (folder / "a.txt").read_bytes() == b"ONE\n1\ntwo\ntyped\n"
    assert isinstance(after, e.EditApplied)
    assert (after.added_lines, after.removed_lines) == (2, 1)


@pytest.mark.parametrize(
    ("disk", "is_known"), [(DiskWorkspace, True), (Shy, False)], ids=["told", "hidden"]
)
async def test_a_new_file_has_its_outcome_whether_its_permissions_are_told_or_not(
    folder: Path, disk: type[DiskWorkspace], is_known: bool
) -> None:
    _, after = await check(folder, _CREATE, _BY_CALL, told=None, disk=disk)
    assert isinstance(after, e.EditApplied)
    assert after.status == "applied"
    mode = stat.S_IMODE((folder / "a.txt").stat().st_mode)
    assert after.after_mode == (mode if is_known else None)


@pytest.mark.parametrize(
    ("disk", "new_path", "says"),
    [(DiskWorkspace, "../b.txt", "../b.txt"), (Worn, "b.txt", "a.txt: the disk is worn out")],
    ids=["it-says-so", "it-fails"],
)
async def test_an_edit_that_the_workspace_refuses_has_its_outcome(
    folder: Path, disk: type[DiskWorkspace], new_path: str, says: str
) -> None:
    (folder / "a.txt").write_bytes(b"one\n")
    edit = _MOVE.model_copy(update={"new_path": new_path})
    _, after = await check(folder, edit, _BY_CALL, told=None, disk=disk)
    assert isinstance(after, e.EditApplied)
    assert after.status == "refused"
    assert says in after.reason
    assert (after.added_lines, after.removed_lines) == (0, 0)


@_BY
@pytest.mark.parametrize(
    ("edit", "found", "status", "lines"),
    [
        pytest.param(_CHANGE, {"a.txt": _BEFORE}, "refused", (0, 0), id="a-change-before"),
        pytest.param(_CHANGE, {"a.txt": _AFTER}, "applied", (2, 1), id="a-change-after"),
        pytest.param(_CHANGE, {"a.txt": b"other"}, "unconfirmed", (0, 0), id="somebody-else"),
        pytest.param(_CHANGE, {"a.txt/b": b""}, "unconfirmed", (0, 0), id="no-file-any-more"),
        pytest.param(_BEYOND, {"a.txt": _BEFORE}, "refused", (0, 0), id="planned-on-another-text"),
        pytest.param(_CREATE, {"a.txt": b"new\n"}, "applied", (1, 0), id="a-new-file-after"),
        pytest.param(_DELETE, {}, "applied", (0, 2), id="a-deletion-after"),
        pytest.param(_MOVE, {"b.txt": _BEFORE}, "applied", (0, 0), id="a-move-after"),
        pytest.param(_MOVE, {"b.txt": b"other"}, "unconfirmed", (0, 0), id="a-move-onto-another"),
    ],
)
async def test_of_an_edit_during_which_the_process_died_the_file_proves_what_became_of_it(
    folder: Path,
    intent: Intent,
    edit: FileEdit,
    found: dict[str, bytes],
    status: str,
    lines: tuple[int, int],
) -> None:
    for name, data in found.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    _, after = await check(folder, edit, intent, told=None, dies=True)
    assert isinstance(after, e.EditApplied | e.ReviewApplied)
    assert after.status == status
    assert bool(after.reason) is (status != "applied")
    if isinstance(after, e.EditApplied):
        assert (after.added_lines, after.removed_lines) == lines
