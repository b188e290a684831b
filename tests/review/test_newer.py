"""An older turn's change waits for the newer turn that took its file, its name or its effect."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agent_ls.review.ledger import Selection
from agent_ls.review.steps import FileResult
from tests.review.reviewing import Reviewed, reviewed

_TEXT = "one\ntwo\nthree\nfour\nfive\nsix"
_FILES = {"a.py": _TEXT, "b.py": "b\n"}
_ALIKE = {"a.py": _TEXT, "b.py": _TEXT}
_CHANGED = "a.py=" + _TEXT.replace("two", "2")
_SHORTER = "a.py=" + _TEXT.removesuffix("six")
_BACK = f"a.py={_TEXT}"

Story = Callable[[Reviewed], Awaitable[object]]


async def does(session: Reviewed, *deeds: str) -> None:
    """Have the agent write (``NAME=TEXT``), move (``OLD NEW``) or delete (``NAME``) files; a
    command of its does what begins with ``!``.
    """
    for one in deeds:
        name, is_written, text = one.partition("=")
        if one.startswith("!"):
            await session.command(name.removeprefix("!"), text if is_written else None)
        elif is_written:
            await session.agent_writes(name, text)
        elif " " in name:
            await session.agent_moves(*name.split())
        else:
            await session.agent_writes(name, None)


async def decided(session: Reviewed, decision: str, turn_id: str, by: str) -> list[FileResult]:
    """Decide about all of a turn, as such or by the ids of its changes."""
    chosen = Selection(turn_id)
    if by == "changes":
        turn = (await session.review.ledger()).turns[turn_id]
        hunks = frozenset(one.id for file in turn.files.values() for one in file.hunks)
        chosen = Selection(hunks=hunks)
    return await session.review.decide("undo" if decision == "undo" else "redo", chosen)


def statuses(results: list[FileResult]) -> set[str]:
    return {one.status for one in results}


async def waits(session: Reviewed, decision: str, by: str, *, word: str) -> None:
    """Nothing of the first turn is decided about, and the second one is named as the reason."""
    there, is_open = session.texts(), await session.open_hunks()
    results = await decided(session, decision, "trn_1", by)
    assert statuses(results) == {"conflict"}, results
    assert all(("trn_2" in one.reason, word in one.reason) == (True, True) for one in results)
    assert (session.texts(), await session.open_hunks()) == (there, is_open)


@pytest.mark.heavy
@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize("by", ["turn", "changes"])
@pytest.mark.parametrize(
    ("files", "older", "newer"),
    [
        pytest.param(_FILES, [_SHORTER], ["a.py", "b.py a.py"], id="deleted-and-replaced"),
        pytest.param(_FILES, [_CHANGED], ["a.py"], id="deleted"),
        pytest.param(_FILES, ["n.py=n\n"], ["n.py"], id="made-and-deleted"),
        pytest.param(_FILES, ["a.py x.py"], ["x.py", "x.py=other\n"], id="move-and-made-anew"),
        pytest.param(_ALIKE, ["a.py"], ["b.py a.py"], id="deleted-and-replaced-by-its-like"),
        pytest.param(_FILES, [_CHANGED], [_BACK], id="lines-taken-back"),
        pytest.param(
            _FILES, ["a.py x.py", "x.py=" + _CHANGED[5:]], [f"x.py={_TEXT}"], id="move-taken-back"
        ),
    ],
)
async def test_an_undo_waits_for_the_newer_turn(
    tmp_path: Path,
    files: dict[str, str],
    older: list[str],
    newer: list[str],
    by: str,
    *,
    is_kept: bool,
) -> None:
    async with reviewed(tmp_path / "work", files) as session:
        await session.turn()
        await does(session, *older)
        before = session.texts()
        await session.turn()
        await does(session, *newer)
        if is_kept:
            await session.review.decide("keep", Selection("trn_2"))
            await waits(session, "undo", by, word="kept")
            await session.end()
            assert statuses(await session.review.restore("trn_1")) <= {"done"}
        else:
            if older[0] != "a.py x.py":
                await waits(session, "undo", by, word="undo that first")
            await session.restart()
            there = session.texts()
            assert statuses(await decided(session, "undo", "trn_1", by)) == {"conflict"}
            assert session.texts() == there
            assert statuses(await session.undo(turn_id="trn_2")) == {"done"}
            assert session.texts() == before
            assert statuses(await decided(session, "undo", "trn_1", by)) == {"done"}
        assert session.texts() == files
        assert await session.open_hunks() == []
        # Both go again, the older one first.
        assert statuses(await session.review.decide("redo", Selection())) == {"done"}


@pytest.mark.parametrize("by", ["turn", "changes"])
async def test_an_undo_takes_the_changes_that_no_newer_turn_took_back(
    tmp_path: Path, by: str
) -> None:
    async with reviewed(tmp_path / "work", _FILES) as session:
        await session.turn()
        await does(session, "a.py=" + _TEXT.replace("two", "2").replace("five", "5"))
        await session.turn()
        await does(session, "a.py=" + _TEXT.replace("five", "5"))
        (result,) = await decided(session, "undo", "trn_1", by)
        assert result.status == "conflict"
        assert result.reason.startswith("1 of 2 changes stays: a newer turn, trn_2")
        assert session.texts() == _FILES
        assert statuses(await session.undo(turn_id="trn_2")) == {"done"}
        assert statuses(await decided(session, "undo", "trn_1", by)) == {"done"}
        assert session.texts() == _FILES
        assert await session.open_hunks() == []


@pytest.mark.parametrize("by", ["turn", "changes"])
@pytest.mark.parametrize(
    ("files", "older", "newer"),
    [
        pytest.param(_ALIKE, ["a.py"], ["a.py c.py", "b.py a.py"], id="another-would-be-deleted"),
        pytest.param(_FILES, ["a.py x.py"], ["a.py c.py", "b.py a.py"], id="another-would-move"),
        pytest.param(_FILES, [_CHANGED], [_CHANGED], id="changed-again"),
        pytest.param(_FILES, [_CHANGED], ["a.py"], id="deleted"),
    ],
)
async def test_a_redo_waits_for_the_newer_turn(
    tmp_path: Path, files: dict[str, str], older: list[str], newer: list[str], by: str
) -> None:
    async with reviewed(tmp_path / "work", files) as session:
        await session.turn()
        await does(session, *older)
        there = session.texts()
        assert statuses(await session.undo()) == {"done"}
        await session.turn()
        await does(session, *newer)
        await waits(session, "redo", by, word="undo that first")
        assert statuses(await session.undo()) == {"done"}
        assert session.texts() == files
        assert statuses(await decided(session, "redo", "trn_1", by)) == {"done"}
        assert session.texts() == there


@pytest.mark.parametrize("is_kept", [False, True])
async def test_a_file_that_is_no_text_waits_for_the_newer_turn_that_took_it_back(
    tmp_path: Path, *, is_kept: bool
) -> None:
    async with reviewed(tmp_path / "work", _FILES) as session:
        place = session.folder / "c.bin"
        place.write_bytes(b"\0old")
        await session.turn()
        await session.runs(lambda: place.write_bytes(b"\0new one"))
        await session.turn()
        await session.runs(lambda: place.write_bytes(b"\0old"))
        if is_kept:
            await session.review.decide("keep", Selection("trn_2"))
        await waits(session, "undo", "turn", word="kept" if is_kept else "undo that first")
        if not is_kept:
            assert statuses(await session.undo()) == {"done"}
            assert place.read_bytes() == b"\0old"
            assert await session.open_hunks() == []


async def _other_lines(session: Reviewed) -> None:
    await session.turn()
    await session.agent("a.py", "five", "5")


async def _there_and_back(session: Reviewed) -> None:
    await session.turn()
    await does(session, "a.py c.py", "b.py a.py")
    await session.turn()
    await does(session, "a.py b.py", "c.py a.py")


async def _by_hand_after(session: Reviewed) -> None:
    await _other_lines(session)
    session.user("a.py", "2", "two")


async def _moved_and_undone(session: Reviewed) -> None:
    await session.turn()
    await does(session, "a.py c.py", "b.py a.py", "a.py=B\n")
    for decision in ("undo", "redo", "undo"):
        assert statuses(await decided(session, decision, "trn_2", "turn")) == {"done"}


@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize(
    "newer",
    [
        _other_lines,
        _there_and_back,
        _by_hand_after,
        _moved_and_undone,
    ],
)
async def test_an_undo_does_not_wait_for_what_left_its_lines_alone(
    tmp_path: Path, newer: Story, *, is_kept: bool
) -> None:
    async with reviewed(tmp_path / "work", _FILES) as session:
        await session.turn()
        await session.agent("a.py", "two", "2")
        await newer(session)
        for turn_id in list((await session.review.ledger()).turns)[1:] if is_kept else ():
            await session.review.decide("keep", Selection(turn_id))
        await session.restart()
        assert statuses(await session.undo(turn_id="trn_1")) == {"done"}
        assert session.texts()["a.py"].startswith("one\ntwo\nthree")
        if is_kept:
            assert await session.open_hunks() == []
        else:
            assert statuses(await session.undo()) <= {"done"}
            assert session.texts() == _FILES


async def test_an_undo_follows_the_users_rename_past_a_newer_turn(tmp_path: Path) -> None:
    async with reviewed(tmp_path / "work", _FILES) as session:
        await session.turn()
        await session.agent("a.py", "two", "2")
        (session.folder / "a.py").rename(session.folder / "mine.py")
        await session.review.follow("a.py", "mine.py")
        await session.turn()
        await session.agent("mine.py", "five", "5")
        await does(session, "a.py=new\n")
        assert statuses(await session.undo(turn_id="trn_1")) == {"done"}
        assert session.texts()["mine.py"] == _TEXT.replace("five", "5")
        assert statuses(await session.undo()) == {"done"}
        assert session.texts() == {"mine.py": _TEXT, "b.py": "b\n"}
