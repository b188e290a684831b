"""Which text counts, the editor's or the disk's, and what an edit does to either."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from acp import Client
from acp.schema import FileSystemCapabilities

from agent_ls.acp.editor_files import SESSION, EditorFiles
from agent_ls.domain.edits import ChangeText, CreateFile, DeleteFile, MoveFile, Replacement
from agent_ls.domain.errors import WorkspaceError
from agent_ls.loop.ports.workspace import Look, Root
from tests.support.acp_editor import AcpEditor

OLD, TYPED, COMMANDS = "old\n", "typed\nold\n", "by a command\n"


@pytest.fixture
def editor(tmp_path: Path) -> AcpEditor:
    SESSION.set("ses_test")
    (tmp_path / "a.txt").write_bytes(OLD.encode())
    return AcpEditor(tmp_path)


def files_of(editor: AcpEditor, *, reads: bool = True, writes: bool = True) -> EditorFiles:
    can = FileSystemCapabilities(read_text_file=reads, write_text_file=writes)
    root = Root(editor.root.name, editor.root, is_trusted=False)
    return EditorFiles([root], cast("Client", cast("Any", editor)), can)


@dataclass(frozen=True)
class Case:
    """What the agent has seen before, what changes then, and which text it reads after."""

    name: str
    shown: str | None
    disk: str
    text: str
    is_dirty: bool
    was_read: bool = True


CASES = (
    Case("nothing changed", None, OLD, OLD, False),
    Case("the user types", TYPED, OLD, TYPED, True),
    Case("a file that was typed in before the agent came", TYPED, OLD, TYPED, True, False),
    Case("an editor that is behind the disk has nothing unsaved", OLD, COMMANDS, COMMANDS, False),
    Case("line ends alone are no change", "a\nb\n", "a\r\nb\r\n", "a\r\nb\r\n", False),
    Case("a mark at the beginning alone is no change", "a\n", "\ufeffa\n", "a\n", False),
)


@pytest.mark.parametrize("case", CASES, ids=lambda one: one.name)
async def test_the_newest_text_is_read(case: Case, editor: AcpEditor) -> None:
    files = files_of(editor)
    if case.was_read:
        await files.read("a.txt")
    (editor.root / "a.txt").write_bytes(case.disk.encode())
    if case.shown is not None:
        editor.unsaved["a.txt"] = case.shown
    found = await files.read("a.txt")
    assert (found.text, found.is_dirty) == (case.text, case.is_dirty)
    assert [one.path for one in await files.dirty()] == ["a.txt"] * case.is_dirty
    assert list((await files.save_dirty()).paths) == ["a.txt"] * case.is_dirty
    wanted = case.text.encode() if case.is_dirty else case.disk.encode()
    assert await files.snapshot("a.txt") == await files.saved("a.txt") == wanted
    looks = [Look("a.txt", version=found.version), Look("a.txt", version="sha256:0")]
    assert await files.compare(looks) == [("a.txt", True), ("a.txt", False)]


async def test_a_file_that_both_have_changed_is_left_alone_until_the_next_turn(
    editor: AcpEditor,
) -> None:
    files = files_of(editor)
    before = await files.read("a.txt")
    (editor.root / "a.txt").write_text(COMMANDS)
    editor.unsaved["a.txt"] = TYPED
    with pytest.raises(WorkspaceError, match="save or reload"):
        await files.read("a.txt")
    change = ChangeText(path="a.txt", base_version=before.version, replacements=())
    assert (await files.apply(change)).status == "refused"
    # The user may have saved and typed on before the prompt.
    files.begin_turn()
    assert (await files.read("a.txt")).text == TYPED


async def test_an_edit_of_an_older_text_is_stale_when_the_user_types(editor: AcpEditor) -> None:
    files = files_of(editor)
    before = await files.read("a.txt")
    editor.unsaved["a.txt"] = TYPED
    outcome = await files.apply(change(before.version))
    assert (outcome.status, editor.writes) == ("stale", [])
    outcome = await files.apply(change((await files.read("a.txt")).version))
    assert (outcome.status, outcome.text) == ("applied", "NEW" + TYPED)
    assert (editor.root / "a.txt").read_text() == "NEW" + TYPED


async def test_what_the_editor_makes_of_an_edit_is_what_counts(editor: AcpEditor) -> None:
    files = files_of(editor)

    async def format_it(session_id: str, path: str, content: str) -> None:
        Path(path).write_text(content.upper())

    editor.write_text_file = format_it  # type: ignore[method-assign]
    before = await files.read("a.txt")
    outcome = await files.apply(change(before.version))
    assert (outcome.status, outcome.text) == ("applied", "NEWOLD\n")
    assert outcome.version == (await files.read("a.txt")).version


async def test_an_edit_that_the_editor_swallows_is_not_confirmed(editor: AcpEditor) -> None:
    files = files_of(editor)

    async def swallow(session_id: str, path: str, content: str) -> None:
        pass

    editor.write_text_file = swallow  # type: ignore[method-assign]
    outcome = await files.apply(change((await files.read("a.txt")).version))
    assert outcome.status == "unconfirmed"


@pytest.mark.parametrize(
    "reads, writes, status, written",
    [
        (True, True, "applied", ["a.txt"]),
        (True, False, "refused", []),
        (False, True, "stale", []),
        (False, False, "stale", []),
    ],
)
async def test_unsaved_text_is_never_written_over_unseen(
    editor: AcpEditor, reads: bool, writes: bool, status: str, written: list[str]
) -> None:
    editor.unsaved["a.txt"] = TYPED
    version = (await files_of(editor).read("a.txt")).version
    outcome = await files_of(editor, reads=reads, writes=writes).apply(change(version))
    assert (outcome.status, editor.writes) == (status, written)


async def test_files_with_unsaved_text_stay_where_they_are(editor: AcpEditor) -> None:
    files = files_of(editor)
    editor.unsaved["a.txt"] = TYPED
    found = await files.read("a.txt")
    assert "save it first" in found.why_it_stays
    for edit in (
        DeleteFile(path="a.txt", base_version=found.version),
        MoveFile(path="a.txt", base_version=found.version, new_path="b.txt"),
    ):
        outcome = await files.apply(edit)
        assert (outcome.status, "save it first" in outcome.reason) == ("refused", True)
    assert (editor.root / "a.txt").read_text() == OLD


async def test_a_file_that_was_never_saved_is_not_written_over(editor: AcpEditor) -> None:
    files = files_of(editor)
    editor.unsaved["new.txt"] = TYPED
    outcome = await files.apply(CreateFile(path="new.txt", text="x"))
    assert (outcome.status, "save it first" in outcome.reason) == ("refused", True)
    assert editor.writes == []
    assert (await files.apply(CreateFile(path="other.txt", text="x"))).status == "applied"


async def test_a_path_outside_is_asked_of_nobody(editor: AcpEditor) -> None:
    files = files_of(editor)
    (editor.root / "link").symlink_to("/etc")
    for path in ("../a.txt", "/etc/passwd", "link/passwd"):
        assert (await files.apply(CreateFile(path=path, text="x"))).status == "refused"
        with pytest.raises(WorkspaceError):
            await files.read(path)
    assert editor.writes == []


def change(version: str) -> ChangeText:
    new = Replacement(start=0, end=0, text="NEW")
    return ChangeText(path="a.txt", base_version=version, replacements=(new,))
