"""Large files that a command moved, packed or replaced: no decision loses bytes nobody else has."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.images import FileImage
from agent_ls.review.ledger import Selection
from agent_ls.review.steps import FileResult
from tests.review.reviewing import damage, reviewed

_LARGE = 9 * 2**20
"""More than is kept of a file."""

Do = Callable[[Path], object]


def _bytes(number: int, size: int) -> bytes:
    return bytes([number, 0, 7])[:size] + bytes(size - 3)


def _files(*sizes: tuple[str, int]) -> dict[str, bytes]:
    return {name: _bytes(number, size) for number, (name, size) in enumerate(sizes)}


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        one.relative_to(folder).as_posix(): one.read_bytes()
        for one in sorted(folder.rglob("*"))
        if one.is_file()
    }


def _move(*pairs: str) -> Do:
    def do(at: Path) -> None:
        for old, new in (one.split(" ") for one in pairs):
            (at / new).parent.mkdir(exist_ok=True)
            (at / old).rename(at / new)

    return do


_IMAGES = _files(*((f"assets/{number}.png", 2**20) for number in range(36)))
_BIG = _files(("big.bin", _LARGE))


def _in_words(results: list[FileResult]) -> set[tuple[str, str, str | None]]:
    return {(one.path, one.status, one.edit) for one in results}


def _made(tmp_path: Path, files: dict[str, bytes]) -> Path:
    folder = tmp_path / "work"
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


@dataclass(frozen=True)
class Kept:
    """What a command does to a large file, what somebody does then, what has to stay."""

    command: Do
    stays: str
    reason: str
    since: Do | None = None
    files: tuple[tuple[str, int], ...] = (("big.bin", _LARGE),)


def _write(name: str, size: int = _LARGE) -> Do:
    return lambda at: (at / name).write_bytes(_bytes(99, size))


def _packed(at: Path) -> None:
    (at / "big.bin.gz").write_bytes(gzip.compress((at / "big.bin").read_bytes()))
    (at / "big.bin").unlink()


def _as_text(at: Path) -> None:
    (at / "big.txt").write_text(f"{(at / 'big.bin').stat().st_size} bytes\n")
    (at / "big.bin").unlink()


def _copied(at: Path) -> None:
    shutil.copyfile(at / "big.bin", at / "copy.bin")
    (at / "big.bin").unlink()


_SWAPPED = _move("a.bin t", "b.bin a.bin", "t b.bin")
_TWO = (("a.bin", _LARGE), ("b.bin", _LARGE))

KEPT = {
    "made": Kept(_write("new.bin"), "new.bin", "does not hold its bytes"),
    "packed": Kept(_packed, "big.bin.gz", "all that is left"),
    "told_of_in_a_text": Kept(_as_text, "big.txt", "all that is left"),
    "copied_with_new_times": Kept(_copied, "copy.bin", "does not hold its bytes"),
    "linked": Kept(
        lambda at: os.link(at / "big.bin", at / "b.bin"), "b.bin", "does not hold its bytes"
    ),
    "another_in_its_old_place": Kept(
        _move("big.bin b.bin"), "b.bin", "does not hold its bytes", _write("big.bin", 5)
    ),
    "grown_since": Kept(
        _move("big.bin b.bin"), "b.bin", "was changed since", _write("b.bin", _LARGE + 1)
    ),
    "grown_out_of_a_small_one": Kept(
        _write("a.bin"), "a.bin", "does not hold its bytes", files=(("a.bin", 3),)
    ),
    "swapped": Kept(_SWAPPED, "a.bin", "move it back yourself", files=_TWO),
}


@pytest.mark.parametrize("by", ["undo", "restore"])
@pytest.mark.parametrize("name", KEPT)
async def test_bytes_that_the_store_does_not_hold_are_neither_deleted_nor_overwritten(
    tmp_path: Path, name: str, by: str
) -> None:
    row = KEPT[name]
    folder = _made(tmp_path, _files(*row.files))
    async with reviewed(folder, {}) as session:
        await session.turn()
        await session.runs(lambda: row.command(folder))
        if row.since is not None:
            row.since(folder)
        before = _contents(folder)
        await session.end()
        if by == "undo":
            results = await session.undo()
        else:
            told = await session.review.restore("trn_1", dry_run=True)
            results = await session.review.restore("trn_1")
            assert _in_words(told) == _in_words(results)
        assert _contents(folder)[row.stays] == before[row.stays]
        [result] = [one for one in results if one.path == row.stays]
        assert (result.status, row.reason in result.reason) == ("conflict", True), result


MOVES = {
    "a_folder_beyond_the_room_for_all": (_IMAGES, _move("assets static")),
    "a_folder_that_comes_first_in_the_list": (_IMAGES, _move("assets a")),
    "a_file_beyond_the_room_for_one": (_BIG, _move("big.bin other.bin")),
    "a_file_to_a_new_folder": (_BIG, _move("big.bin below/big.bin")),
    "twice": (_BIG, _move("big.bin b", "b c")),
}


@pytest.mark.heavy
@pytest.mark.parametrize("by", ["undo", "restore"])
@pytest.mark.parametrize("name", MOVES)
async def test_moved_files_go_back_though_nobody_keeps_their_bytes(
    tmp_path: Path, name: str, by: str
) -> None:
    files, command = MOVES[name]
    folder = _made(tmp_path, files)
    async with reviewed(folder, {}) as session:
        await session.turn()
        await session.runs(lambda: command(folder))
        after = _contents(folder)
        await session.end()
        if by == "undo":
            results = await session.undo()
        else:
            told = await session.review.restore("trn_1", dry_run=True)
            assert _contents(folder) == after
            results = await session.review.restore("trn_1")
            assert _in_words(told) == _in_words(results)
        assert {one.status for one in results} == {"done"}, results
        assert _contents(folder) == files
        await session.restart()
        assert not (await session.review.ledger()).hunks(Selection(), "open")
        if by == "undo" and len(files) == 1:
            again = await session.review.decide("redo", Selection())
            assert {one.status for one in again} == {"done"}, again
            assert _contents(folder) == after


async def test_a_moved_file_is_called_so(tmp_path: Path) -> None:
    folder = _made(tmp_path, _BIG)
    async with reviewed(folder, {}) as session:
        await session.turn()
        await session.runs(lambda: _move("big.bin b.bin")(folder))
        ledger = await session.review.ledger()
        assert {one.title for one in ledger.hunks(Selection(), "open")} == {
            "moved to b.bin, binary, 9.4 MB",
            "moved from big.bin, binary, 9.4 MB",
        }


async def test_what_went_beyond_the_workspace_is_told_and_left_there(tmp_path: Path) -> None:
    folder = _made(tmp_path, _BIG)
    async with reviewed(folder, {}) as session:
        await session.turn()
        await session.runs(lambda: (folder / "big.bin").rename(tmp_path / "out.bin"))
        [result] = await session.undo()
        assert (result.status, "too large to be kept" in result.reason) == ("conflict", True)
        assert (tmp_path / "out.bin").read_bytes() == _BIG["big.bin"]


@pytest.mark.parametrize("decision", ["undo", "redo"])
async def test_bytes_that_the_store_has_lost_are_given_to_it_before_they_go(
    tmp_path: Path, decision: str
) -> None:
    """Whatever the events say: where a file is taken away its bytes are asked for once more."""
    folder, data = _made(tmp_path, {"b.bin": b"\0here"}), b"\0here"
    async with reviewed(folder, {}) as session:
        await session.turn()
        digest = hashlib.sha256(data).hexdigest()
        image = FileImage(size_bytes=5, digest=digest, mode=0o644, is_kept=True)
        images = (None, image) if decision == "undo" else (image, None)
        await session.recorder.emit(e.CommandChanged(call_id="cal_1", path="b.bin", images=images))
        results = await session.undo()
        if decision == "redo":
            results = await session.review.decide("redo", Selection())
        assert [one.status for one in results] == ["done"]
        assert _contents(folder) == {}
        assert await session.store.get_blob(digest) == data


async def test_bytes_that_are_damaged_in_the_store_are_not_held_by_it(tmp_path: Path) -> None:
    folder = _made(tmp_path, {"a.bin": b"\0a"})
    async with reviewed(folder, {}) as session:
        await session.turn()
        await session.runs(lambda: (folder / "b.bin").write_bytes(b"\0here"))
        await damage(session, b"\0here")
        [result] = await session.undo()
        assert (result.status, "does not hold its bytes" in result.reason) == ("refused", True)
        assert _contents(folder) == {"a.bin": b"\0a", "b.bin": b"\0here"}
