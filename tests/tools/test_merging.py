"""Edits made for the text that the model read, in a file that somebody has changed since."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent_ls.assembly import SystemClock
from agent_ls.domain.calls import ToolResult
from agent_ls.domain.edits import FileEdit
from agent_ls.domain.errors import ToolError
from agent_ls.domain.events import (
    EditApplied,
    EditIntended,
    SessionCreated,
    ToolCallFinished,
    TurnStarted,
)
from agent_ls.domain.modes import Mode
from agent_ls.loop.extension_points import Tool, ToolOutput
from agent_ls.loop.state.recorder import Recorder
from agent_ls.session.seen_texts import SessionTexts
from agent_ls.store.sql_store import SqlStore, open_store
from agent_ls.tools.apply_patch import ApplyPatch
from agent_ls.tools.delete_file import DeleteFile
from agent_ls.tools.edit_file import EditFile
from agent_ls.tools.move_file import MoveFile
from agent_ls.tools.read_file import ReadFile
from agent_ls.tools.write_file import WriteFile
from tests.tools.conftest import Place, text_after

_BASE = "def area(w, h):\n    # sides\n    size = w * h\n    return size\n\n\nprint(area(2, 3))\n"
_TYPED = _BASE.replace("# sides", "# both sides, in metres, never negative")
_WISH = "    # sides\n    size = w * h\n    return size"
_MEANT = "    # sides\n    size = abs(w * h)\n    return size"
_MERGED = _TYPED.replace("w * h\n", "abs(w * h)\n")


class Session:
    """One session's tools with its journal and store: what the model does, and a user beside."""

    def __init__(self, place: Place, store: SqlStore) -> None:
        self.place, self.store = place, store
        self.recorder = Recorder("ses_1", store, SystemClock())
        self.seen = SessionTexts(self.recorder, store, place.workspace)

    async def begin(self) -> None:
        created = SessionCreated(session_id="ses_1", roots=(), mode=Mode.ASK, model="m")
        await self.recorder.emit(created)
        await self.recorder.emit(TurnStarted(turn_id="trn_1", prompt="Do it."))

    async def restart(self) -> None:
        journal = await self.store.load("ses_1")
        self.recorder = Recorder("ses_1", self.store, SystemClock(), journal)
        self.seen = SessionTexts(self.recorder, self.store, self.place.workspace)

    async def read(self, path: str = "a.py", **arguments: Any) -> None:
        await self.look(ReadFile(self.place.workspace, seen=self.seen), path=path, **arguments)

    async def look(self, tool: Tool[Any], **arguments: Any) -> None:
        """Run a tool that only looks, recorded as the loop does it."""
        parsed = tool.Arguments.model_validate(arguments)
        output = await tool.run(parsed, self.place.context())
        result = ToolResult(call_id="cal_1", text=output.text, data=output.data)
        await self.recorder.emit(ToolCallFinished(result=result))

    async def edit(self, old: str, new: str, path: str = "a.py", **hints: Any) -> str:
        edits = [{"old_string": old, "new_string": new, **hints}]
        return await self.do(EditFile(self.place.workspace, self.seen), path=path, edits=edits)

    async def patch(self, patch: str) -> str:
        return await self.do(ApplyPatch(self.place.workspace, self.seen), patch=patch)

    async def do(self, tool: Tool[Any], **arguments: Any) -> str:
        """Run a tool and apply its edits, recorded as the loop does it."""
        parsed = tool.Arguments.model_validate(arguments)
        await tool.preview(parsed)
        output = await tool.run(parsed, self.place.context())
        for edit in output.edits:
            await self._apply(edit)
        return output.text

    async def _apply(self, edit: FileEdit) -> None:
        workspace = self.place.workspace
        before = await workspace.snapshot(edit.path)
        blob = None if before is None else await self.store.put_blob(before)
        await self.recorder.emit(EditIntended(call_id="cal_1", edit=edit, before_blob=blob))
        assert (await workspace.apply(edit)).status == "applied"
        after = await workspace.snapshot(edit.new_path if edit.kind == "move" else edit.path)
        blob = None if after is None else await self.store.put_blob(after)
        path = edit.path
        applied = EditApplied(call_id="cal_1", path=path, status="applied", after_blob=blob)
        await self.recorder.emit(applied)


@pytest.fixture
async def session(place: Place, tmp_path: Path) -> AsyncIterator[Session]:
    store = open_store(tmp_path / "store.db")
    session = Session(place, store)
    await session.begin()
    yield session
    await store.close()


def check(session: Session, expected: str, path: str = "a.py") -> None:
    """Assert what is on disk."""
    assert (session.place.root / path).read_bytes().decode() == expected


async def test_what_a_user_typed_beside_the_edit_stays(session: Session) -> None:
    session.place.write("a.py", _BASE)
    await session.read()
    session.place.write("a.py", _TYPED)
    text = await session.edit(_WISH, _MEANT)
    check(session, _MERGED)
    assert text == (
        "Edited a.py: line 3. a.py had changed since you read it; those changes are kept."
    )


async def test_a_part_that_was_read_counts_as_the_file(session: Session) -> None:
    session.place.write("a.py", _BASE)
    await session.read(start_line=7, lines=1)
    session.place.write("a.py", _TYPED)
    await session.edit(_WISH, _MEANT)
    check(session, _MERGED)


async def test_what_was_read_is_known_after_a_restart_and_in_later_turns(session: Session) -> None:
    session.place.write("a.py", _BASE)
    await session.read()
    await session.recorder.emit(TurnStarted(turn_id="trn_2", prompt="Go on."))
    await session.restart()
    session.place.write("a.py", _TYPED)
    await session.edit(_WISH, _MEANT)
    check(session, _MERGED)


async def write(session: Session, content: str) -> str:
    tool = WriteFile(session.place.workspace, session.seen)
    return await session.do(tool, path="a.py", content=content)


async def test_a_whole_text_leaves_what_a_user_typed_beside_it(session: Session) -> None:
    session.place.write("a.py", _BASE)
    await session.read()
    session.place.write("a.py", _TYPED)
    text = await write(session, _BASE.replace("w * h\n", "abs(w * h)\n"))
    check(session, _MERGED)
    assert text.endswith("a.py had changed since you read it; those changes are kept.")


_KEPT = " a.py had changed since you read it; those changes are kept."


@pytest.mark.parametrize(
    ("read", "now", "content", "after", "said"),
    [
        ("one\ntwo\n", "one\ntwo\n", "1\ntwo\n", "1\ntwo\n", ""),
        (None, "one\ntwo\n", "1\ntwo\n", "1\ntwo\n", ""),
        ("one\ntwo\n", "one\ntwo\n", "\ufeffone\n2\n", "one\n2\n", ""),
        ("a\nb\nc\nd\ne\n", "a\nb\nc\nd\n5\n", "1\nb\nc\nd\ne\n", "1\nb\nc\nd\n5\n", _KEPT),
    ],
    ids=["nobody-changed-it", "never-read", "written-with-the-mark", "typed-beside-it"],
)
async def test_a_mark_that_a_buffer_shows_is_no_change_and_stays(
    session: Session, read: str | None, now: str, content: str, after: str, said: str
) -> None:
    session.place.write("a.py", f"\ufeff{now}")
    buffers = session.place.workspace.buffers
    if read is not None:
        buffers["a.py"] = f"\ufeff{read}"
        await session.read()
    buffers["a.py"] = f"\ufeff{now}"
    output = await planned(session, content)
    assert text_after(buffers["a.py"], output.edits[0]) == f"\ufeff{after}"
    lines = content.count("\n")
    assert output.text == f"Replaced a.py ({lines} lines).{said}"


async def planned(session: Session, content: str) -> ToolOutput:
    """Return what write_file plans for a file that an editor has open."""
    tool = WriteFile(session.place.workspace, session.seen)
    arguments = tool.Arguments.model_validate({"path": "a.py", "content": content})
    return await tool.run(arguments, session.place.context())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (_BASE.replace("# sides", "# edges"), "changed meanwhile in lines that the edit replaces"),
        (_BASE, "your text is the one you read"),
        ("nothing = 1\n", "changed meanwhile in lines that the edit replaces"),
    ],
    ids=["the-same-line", "what-was-read", "another-text"],
)
async def test_a_whole_text_does_not_replace_what_a_user_typed(
    session: Session, content: str, said: str
) -> None:
    session.place.write("a.py", _BASE)
    await session.read()
    session.place.write("a.py", _TYPED)
    with pytest.raises(ToolError, match=said):
        await write(session, content)
    check(session, _TYPED)
    # Who has read it knows what is replaced.
    await session.read()
    await write(session, content)
    check(session, content)


async def test_a_file_that_was_never_read_is_not_guessed_at(session: Session) -> None:
    session.place.write("a.py", _TYPED)
    with pytest.raises(ToolError, match=r"a\.py was not changed\. The old text is not in the file"):
        await session.edit(_WISH, _MEANT)
    check(session, _TYPED)


@pytest.mark.parametrize(
    "now, shown",
    [
        pytest.param(_BASE.replace("w * h\n", "w + h\n"), "     3:     size = w + h", id="changed"),
        pytest.param(_BASE.replace("    size = w * h\n", ""), "     3:     return size", id="gone"),
    ],
)
async def test_a_conflict_changes_nothing_and_shows_the_text(
    session: Session, now: str, shown: str
) -> None:
    session.place.write("a.py", _BASE)
    await session.read()
    session.place.write("a.py", now)
    with pytest.raises(ToolError, match="was not changed") as caught:
        await session.edit(_WISH, _MEANT)
    assert "The file changed meanwhile" in caught.value.text
    assert shown in caught.value.text.split("\n")
    check(session, now)


async def test_later_edits_go_by_the_agents_own_earlier_ones(session: Session) -> None:
    session.place.write("a.py", _BASE)
    await session.read()
    session.place.write("a.py", _TYPED)
    await session.edit("print(area(2, 3))", "print(area(4, 5))")
    # Its old text has the user's line as it was read, and its own line as it wrote it.
    old = f"{_WISH}\n\n\nprint(area(4, 5))"
    await session.edit(old, old.replace("w * h", "abs(w * h)"))
    check(session, _MERGED.replace("area(2, 3)", "area(4, 5)"))


async def test_what_the_agent_wrote_itself_is_known_without_a_read(session: Session) -> None:
    await session.do(WriteFile(session.place.workspace), path="a.py", content=_BASE)
    session.place.write("a.py", _TYPED)
    await session.edit(_WISH, _MEANT)
    check(session, _MERGED)


async def test_what_is_known_of_a_file_moves_with_it(session: Session) -> None:
    session.place.write("a.py", _BASE)
    await session.read()
    await session.do(MoveFile(session.place.workspace), path="a.py", new_path="b.py")
    session.place.write("b.py", _TYPED)
    await session.edit(_WISH, _MEANT, "b.py")
    check(session, _MERGED, "b.py")
    assert await session.seen.text("a.py") is None


async def test_line_ends_and_the_mark_stay_the_files(session: Session) -> None:
    def dressed(text: str) -> str:
        return "\ufeff" + text.replace("\n", "\r\n")

    session.place.write("a.py", dressed(_BASE))
    await session.read()
    session.place.write("a.py", dressed(_TYPED))
    await session.edit(_WISH, _MEANT)
    check(session, dressed(_MERGED))
    await session.edit("print(area(2, 3))", "print(area(4, 5))")
    check(session, dressed(_MERGED.replace("area(2, 3)", "area(4, 5)")))


async def test_a_patch_is_merged_file_by_file(session: Session) -> None:
    for name in ("a.py", "b.py"):
        session.place.write(name, _BASE)
        await session.read(name)
    session.place.write("b.py", _TYPED)
    body = "".join(
        f"*** Update File: {name}\n@@\n     # sides\n-    size = w * h\n+    size = abs(w * h)\n"
        "     return size\n"
        for name in ("a.py", "b.py")
    )
    text = await session.patch(f"*** Begin Patch\n{body}*** End Patch\n")
    check(session, _BASE.replace("w * h\n", "abs(w * h)\n"))
    check(session, _MERGED, "b.py")
    assert text.endswith("b.py had changed since you read it; those changes are kept.")


async def test_a_patch_with_one_conflict_changes_nothing(session: Session) -> None:
    now = _BASE.replace("w * h\n", "w + h\n")
    for name in ("a.py", "b.py"):
        session.place.write(name, _BASE)
        await session.read(name)
    session.place.write("b.py", now)
    body = "".join(
        f"*** Update File: {name}\n@@\n     # sides\n-    size = w * h\n+    size = abs(w * h)\n"
        "     return size\n"
        for name in ("a.py", "b.py")
    )
    with pytest.raises(ToolError, match=r"^b\.py: The file changed meanwhile"):
        await session.patch(f"*** Begin Patch\n{body}*** End Patch\n")
    check(session, _BASE)
    check(session, now, "b.py")


async def test_a_text_that_cannot_be_stored_is_said_in_the_log(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    await session.store.close()
    caplog.set_level(logging.WARNING)
    assert session.seen.keep("a.py", _BASE) is not None
    assert await session.seen.text("a.py") is None
    assert "a text that was read could not be stored" in caplog.text


async def test_files_of_secrets_are_not_kept(session: Session) -> None:
    session.place.write(".env", _BASE)
    await session.read(".env")
    assert await session.seen.text(".env") is None


_TWINS = "".join(
    f"def {name}():\n    check()\n    limit = 10\n    send()\n\n\n" for name in ("a", "b")
)
_LIMIT = ("    limit = 10", "    limit = 11")
_TWIN_PATCH = (
    "--- a/a.py\n+++ b/a.py\n@@ -2,3 +2,3 @@ def a():\n     check()\n-    limit = 10\n"
    "+    limit = 11\n     send()\n"
)


@pytest.mark.parametrize("tool", ["edit_file", "apply_patch"])
async def test_a_twin_does_not_take_the_edit_of_what_a_user_changed(
    session: Session, tool: str
) -> None:
    session.place.write("a.py", _TWINS)
    await session.read()
    typed = _TWINS.replace("limit = 10", "limit = 12", 1)
    session.place.write("a.py", typed)
    is_patch = tool == "apply_patch"
    with pytest.raises(ToolError, match="The file changed meanwhile") as caught:
        await (session.patch(_TWIN_PATCH) if is_patch else session.edit(*_LIMIT, line=3))
    assert "     3:     limit = 12" in caught.value.text
    check(session, typed)
    # Having read the text as it is now, the model may mean the other one.
    await session.read()
    await session.edit(*_LIMIT)
    check(session, typed.replace("limit = 10", "limit = 11"))


async def test_edits_in_a_row_go_by_each_other_and_not_by_the_read_text_alone(
    session: Session,
) -> None:
    session.place.write("a.py", _TWINS)
    await session.read()
    await session.edit(*_LIMIT, line=3)
    session.place.write("a.py", "# typed\n" + _TWINS.replace("limit = 10", "limit = 11", 1))
    # Its first edit left one such line, so no number is needed any more.
    await session.edit("    limit = 10", "    limit = 20")
    await session.edit("    limit = 11", "    limit = 10")
    # The twin that it made anew is the only one again.
    await session.edit("    limit = 10", "    limit = 30")
    check(session, "# typed\n" + _TWINS.replace("10", "30", 1).replace("10", "20"))


async def test_an_edit_that_a_user_took_back_is_not_made_again_unseen(session: Session) -> None:
    session.place.write("a.py", _BASE)
    await session.read()
    await session.edit("w * h\n", "abs(w * h)\n")
    session.place.write("a.py", _BASE)
    with pytest.raises(ToolError, match=r"the edit was made already.* at line 3, .* another place"):
        await session.edit("    size = w * h\n", "    size = abs(w * h)\n")
    await session.read()
    await session.edit("w * h\n", "abs(w * h)\n")
    check(session, _BASE.replace("w * h\n", "abs(w * h)\n"))


async def test_all_places_are_those_of_the_newest_text(session: Session) -> None:
    session.place.write("a.py", _TWINS)
    await session.read()
    typed = _TWINS.replace("limit = 10", "# none", 1) + "limit = 3\n"
    session.place.write("a.py", typed)
    await session.edit("limit", "most", replace_all=True)
    check(session, typed.replace("limit", "most"))


async def test_what_the_agent_wrote_over_a_users_line_is_what_it_goes_by(
    session: Session,
) -> None:
    session.place.write("a.py", _BASE)
    await session.read()
    session.place.write("a.py", _BASE.replace("w * h\n", "w + h\n"))
    await session.edit("w + h\n", "abs(w * h)\n")
    session.place.write("a.py", _MERGED)
    await session.edit("    # sides\n    size = abs(w * h)\n    return size",
                       "    # sides\n    size = abs(w * h)\n    return -size")  # fmt: skip
    check(session, _MERGED.replace("return size", "return -size"))


async def test_without_the_text_that_was_read_nothing_is_merged(session: Session) -> None:
    session.place.write("a.py", _BASE)
    await session.read()
    data = {"path": "a.py", "version": "v", "text_blob": "0" * 64}
    result = ToolResult(call_id="cal_1", text="", data=data)
    await session.recorder.emit(ToolCallFinished(result=result))
    session.place.write("a.py", _TYPED)
    with pytest.raises(ToolError, match="The old text is not in the file"):
        await session.edit(_WISH, _MEANT)
    await session.read()
    assert await session.seen.text("a.py") == _TYPED
    await session.store.close()
    assert await session.seen.text("a.py") is None


async def test_a_file_is_not_deleted_with_what_others_wrote_in_it(session: Session) -> None:
    tool = DeleteFile(session.place.workspace, session.seen)
    file = session.place.write("a.py", _BASE)
    await session.read()
    session.place.write("a.py", _TYPED)
    with pytest.raises(ToolError, match=r"a\.py was not deleted\. It changed .* at line 2"):
        await session.do(tool, path="a.py")
    assert file.read_text() == _TYPED
    await session.read()
    await session.do(tool, path="a.py")
    assert not file.exists()
