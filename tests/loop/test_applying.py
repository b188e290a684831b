"""Edits that only a tool of somebody's own would plan: of files that are no text."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.domain.edits import CreateFile, DeleteFile, FileEdit, MoveFile
from agent_ls.domain.events import TurnStarted
from agent_ls.loop.calls.applying import Unapplied, apply_all, standing
from agent_ls.loop.ports.models import Provider
from agent_ls.loop.turn import Turn
from agent_ls.workspace.disk_files import digest
from tests.support.turns import open_test_sessions

pytestmark = pytest.mark.asyncio(loop_scope="session")

_DATA = b"\xff\xfe\x00"
_FAILS = CreateFile(path="notes/today.txt", text="Its folder is a file.\n")


async def check(
    folder: Path, host: Provider, *edits: FileEdit
) -> tuple[Unapplied | None, dict[str, bool]]:
    """Apply the edits of one call; return why not all are, and which of its files are changed."""
    folder.mkdir()
    (folder / "a.bin").write_bytes(_DATA)
    (folder / "notes").write_text("Nothing yet.\n")
    async with open_test_sessions(folder, host) as sessions:
        session = await sessions.create()
        await session._recorder.emit(TurnStarted(turn_id="trn_1", prompt="Tidy up."))
        turn = Turn(session._kit, session._recorder)
        failed = await apply_all("cal_1", edits, turn)
        return failed, standing(turn.state.events, "cal_1")


async def test_all_are_applied(tmp_path: Path, model_host: Provider) -> None:
    folder = tmp_path / "project"
    move = MoveFile(path="a.bin", base_version=digest(_DATA), new_path="b.bin")
    made = CreateFile(path="c.txt", text="c\n")
    failed, changed = await check(folder, model_host, move, made)
    assert failed is None
    assert changed == {"a.bin": True, "c.txt": True}
    assert (folder / "b.bin").read_bytes() == _DATA


async def test_a_file_that_is_no_text_comes_back_after_its_deletion(
    tmp_path: Path, model_host: Provider
) -> None:
    delete = DeleteFile(path="a.bin", base_version=digest(_DATA))
    failed, changed = await check(tmp_path / "project", model_host, delete, _FAILS)
    assert failed is not None
    assert failed.edit == _FAILS
    assert (failed.back, failed.left) == (("a.bin",), {})
    assert changed == {"a.bin": False}
    assert (tmp_path / "project" / "a.bin").read_bytes() == _DATA


async def test_what_cannot_be_compared_as_text_is_named(
    tmp_path: Path, model_host: Provider
) -> None:
    move = MoveFile(path="a.bin", base_version=digest(_DATA), new_path="b.bin")
    failed, changed = await check(tmp_path / "project", model_host, move, _FAILS)
    assert failed is not None
    assert failed.edit == _FAILS
    assert (failed.back, failed.left) == ((), {"a.bin": "what it was before is no text"})
    assert changed == {"a.bin": True}
    assert (tmp_path / "project" / "b.bin").read_bytes() == _DATA


async def test_a_file_that_was_made_in_another_encoding_goes_again(
    tmp_path: Path, model_host: Provider
) -> None:
    made = CreateFile(path="c.txt", text="\xe9\n", encoding="latin-1")
    failed, changed = await check(tmp_path / "project", model_host, made, _FAILS)
    assert failed is not None
    assert (failed.back, failed.left) == (("c.txt",), {})
    assert changed == {"c.txt": False}
    assert not (tmp_path / "project" / "c.txt").exists()
