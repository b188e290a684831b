"""Files that are no text, or too large for one, changed by commands: whole files come back or not.

Each row is a command that really runs its changes past the look around it, and then a user.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.edits import EditOutcome
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.images import FileImage, PutImage
from agent_ls.loop.ports.workspace import Root
from agent_ls.review.ledger import Selection
from agent_ls.workspace.disk import DiskWorkspace
from tests.review.reviewing import Reviewed, reviewed

_OLD = b"\x89PNG\0old"
_NEW = b"\x89PNG\0new and longer"
_LATIN = "gr\xfc\xdfe\n".encode("latin-1")
_TEXT = b"one\ntwo\nthree\n"
_LARGE = b"x" * (9 * 2**20)
_WIDE = b"line of a large text\n" * 150_000

Files = dict[str, bytes]
Do = Callable[[Path], object]


def _contents(folder: Path) -> Files:
    return {
        one.relative_to(folder).as_posix(): str(one.readlink()).encode()
        if one.is_symlink()
        else one.read_bytes()
        for one in sorted(folder.rglob("*"))
        if one.is_symlink() or one.is_file()
    }


def _put(name: str, data: bytes) -> Do:
    return lambda at: (at / name).write_bytes(data)


def _gone(name: str) -> Do:
    return lambda at: (at / name).unlink()


def _link(name: str, to: str) -> Do:
    def do(at: Path) -> None:
        (at / name).unlink(missing_ok=True)
        (at / name).symlink_to(to)

    return do


def _sparse(name: str, size_bytes: int) -> Do:
    def do(at: Path) -> None:
        (at / name).touch()
        os.truncate(at / name, size_bytes)

    return do


@dataclass(frozen=True)
class Row:
    """What is there, what a command does, what somebody does then, what the review says."""

    before: Files
    command: Do
    title: str
    """How the change is listed."""
    status: str = "done"
    since: Do | None = None
    reason: str = ""


ROWS = {
    "changed": Row({"b.bin": _OLD}, _put("b.bin", _NEW), "binary, 8 bytes → 19 bytes"),
    "made": Row({}, _put("b.bin", _NEW), "new, binary, 19 bytes"),
    "deleted": Row({"b.bin": _OLD}, _gone("b.bin"), "deleted, binary, 8 bytes"),
    "not_utf_8": Row({"b.txt": _LATIN}, _put("b.txt", _LATIN * 2), "binary, 6 bytes → 12 bytes"),
    "became_binary": Row(
        {"b.txt": _TEXT}, _put("b.txt", _NEW), "text, 14 bytes → binary, 19 bytes"
    ),
    "became_text": Row({"b.bin": _OLD}, _put("b.bin", _TEXT), "binary, 8 bytes → text, 14 bytes"),
    "text_over_the_bound": Row({"b.txt": _TEXT}, _put("b.txt", _WIDE), "text, 14 bytes → 3.1 MB"),
    "huge_deleted": Row(
        {"b.bin": _LARGE},
        _gone("b.bin"),
        "deleted, text, 9.4 MB; cannot be undone",
        "conflict",
        reason="too large to be kept",
    ),
    "huge_changed": Row(
        {"b.bin": _LARGE},
        _put("b.bin", _NEW),
        "text, 9.4 MB → binary, 19 bytes; cannot be undone",
        "conflict",
        reason="too large to be kept",
    ),
    "huge_made": Row(
        {},
        _put("b.bin", _LARGE),
        "new, text, 9.4 MB; cannot be undone",
        "conflict",
        reason="the store does not hold its bytes",
    ),
    "sparse_made": Row(
        {},
        _sparse("b.bin", 65 * 2**20),
        "new, binary, 68 MB; cannot be undone",
        "conflict",
        reason="too large to tell",
    ),
    "changed_again": Row(
        {"b.bin": _OLD},
        _put("b.bin", _NEW),
        "binary, 8 bytes → 19 bytes",
        "conflict",
        _put("b.bin", b"\0mine"),
        "changed since",
    ),
    "made_and_changed_again": Row(
        {},
        _put("b.bin", _NEW),
        "new, binary, 19 bytes",
        "conflict",
        _put("b.bin", b"\0mine"),
        "changed since",
    ),
    "deleted_by_the_user": Row(
        {"b.bin": _OLD},
        _put("b.bin", _NEW),
        "binary, 8 bytes → 19 bytes",
        "conflict",
        _gone("b.bin"),
        "changed since",
    ),
    "another_in_its_place": Row(
        {"b.bin": _OLD},
        _gone("b.bin"),
        "deleted, binary, 8 bytes",
        "conflict",
        _put("b.bin", b"\0mine"),
        "another file",
    ),
    "a_folder_in_its_place": Row(
        {"b.bin": _OLD},
        _gone("b.bin"),
        "deleted, binary, 8 bytes",
        "conflict",
        lambda at: (at / "b.bin").mkdir(),
        "another file",
    ),
    "brought_back_by_the_user": Row(
        {"b.bin": _OLD},
        _put("b.bin", _NEW),
        "binary, 8 bytes → 19 bytes",
        "done",
        _put("b.bin", _OLD),
    ),
    "a_link_to_its_equal": Row(
        {"b.bin": _OLD, "c.bin": _NEW},
        _put("b.bin", _NEW),
        "binary, 8 bytes → 19 bytes",
        "refused",
        _link("b.bin", "c.bin"),
        "a link stands",
    ),
    "a_link_by_the_command": Row(
        {"b.bin": _OLD},
        _link("b.bin", "nowhere"),
        "deleted, binary, 8 bytes",
        "refused",
        reason="a link stands",
    ),
    "a_link_out": Row(
        {"b.bin": _OLD},
        _put("b.bin", _NEW),
        "binary, 8 bytes → 19 bytes",
        "refused",
        _link("b.bin", "/etc/hostname"),
        "link out of the workspace",
    ),
    "write_protected": Row(
        {"b.bin": _OLD},
        _put("b.bin", _NEW),
        "binary, 8 bytes → 19 bytes",
        "refused",
        lambda at: (at / "b.bin").chmod(0o444),
        "write-protected",
    ),
}


@pytest.mark.parametrize("by", ["undo", "restore"])
@pytest.mark.parametrize("name", ROWS)
async def test_what_a_command_did_to_a_whole_file_is_taken_back(
    tmp_path: Path, name: str, by: str
) -> None:
    row, folder = ROWS[name], tmp_path / "work"
    folder.mkdir()
    for path, data in row.before.items():
        (folder / path).write_bytes(data)
    async with reviewed(folder, {}) as session:
        await session.turn()
        await session.runs(lambda: row.command(folder))
        assert await titles(session) == [row.title]
        if row.since is not None:
            row.since(folder)
        before = _contents(folder)
        await session.end()
        if by == "undo":
            [result] = await session.undo()
            assert (result.status, row.reason in result.reason) == (row.status, True)
        else:
            results = await session.review.restore("trn_1")
            is_there = row.since is not None and row.status == "done"
            assert [one.status for one in results] == ([] if is_there else [row.status])
        assert _contents(folder) == (row.before if row.status == "done" else before)
        await session.restart()
        assert await titles(session) == ([] if row.status == "done" else [row.title])


async def titles(session: Reviewed) -> list[str]:
    """Return what is open, in words."""
    ledger = await session.review.ledger()
    return [one.title for one in ledger.hunks(Selection(), "open")]


Story = Callable[[Reviewed], Awaitable[object]]


async def told(
    tmp_path: Path, files: Files, story: Story, *, after: Files, is_open: list[str]
) -> None:
    """Tell a story; then the files and the open changes are these, after a restart too."""
    folder = tmp_path / "work"
    folder.mkdir()
    for path, data in files.items():
        (folder / path).write_bytes(data)
    async with reviewed(folder, {}) as session:
        await session.turn()
        await story(session)
        assert _contents(folder) == after
        assert await titles(session) == is_open
        await session.restart()
        assert await titles(session) == is_open


async def test_it_is_kept_and_done_again(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        at = session.folder
        await session.runs(lambda: _put("b.bin", _NEW)(at))
        await session.runs(lambda: _put("c.bin", _NEW)(at))
        await session.review.decide("keep", Selection(path="c.bin"))
        await session.undo()
        assert _contents(at) == {"b.bin": _OLD, "c.bin": _NEW}
        [result] = await session.review.decide("redo", Selection())
        assert result.status == "done"

    title = "binary, 8 bytes → 19 bytes"
    after = {"b.bin": _NEW, "c.bin": _NEW}
    await told(tmp_path, {"b.bin": _OLD}, story, after=after, is_open=[title])


async def test_what_two_commands_of_a_turn_did_is_one_change(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        at = session.folder
        await session.runs(lambda: _put("b.bin", b"\0between")(at))
        await session.runs(lambda: _put("b.bin", _NEW)(at))
        await session.runs(lambda: _put("c.bin", _NEW)(at))
        await session.runs(lambda: _gone("c.bin")(at))
        assert await titles(session) == ["binary, 8 bytes → 19 bytes"]
        await session.undo()

    await told(tmp_path, {"b.bin": _OLD}, story, after={"b.bin": _OLD}, is_open=[])


async def test_what_somebody_did_between_two_commands_comes_back_alone(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        at = session.folder
        await session.runs(lambda: _put("b.bin", b"\0between")(at))
        _put("b.bin", b"\0mine")(at)
        await session.runs(lambda: _put("b.bin", _NEW)(at))
        assert [one.status for one in await session.undo()] == ["done"]
        await session.end()
        assert [one.status for one in await session.review.restore("trn_1")] == ["conflict"]

    await told(tmp_path, {"b.bin": _OLD}, story, after={"b.bin": b"\0mine"}, is_open=[])


@pytest.mark.parametrize("is_typed", [False, True])
async def test_lines_that_were_changed_before_are_one_change_with_the_whole_file(
    tmp_path: Path, *, is_typed: bool
) -> None:
    async def story(session: Reviewed) -> None:
        await session.agent("b.txt", "two", "2")
        if is_typed:
            session.user("b.txt", "three", "three, mine")
        await session.runs(lambda: _put("b.txt", _NEW)(session.folder))
        [result] = await session.undo()
        assert (result.status, result.hunks) == ("done", 1)
        # Where somebody else wrote between them, the text right before the command comes back.
        mine = _TEXT.replace(b"two", b"2").replace(b"three", b"three, mine")
        assert _contents(session.folder) == {"b.txt": mine if is_typed else _TEXT}
        [result] = await session.review.decide("redo", Selection())
        assert (result.status, result.hunks) == ("done", 1)

    title = f"text, {18 if is_typed else 14} bytes → binary, 19 bytes"
    await told(tmp_path, {"b.txt": _TEXT}, story, after={"b.txt": _NEW}, is_open=[title])


async def test_an_edit_of_what_became_a_text_belongs_to_the_whole_change(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        await session.runs(lambda: _put("b.bin", _TEXT)(session.folder))
        await session.agent("b.bin", "two", "2")
        await session.agent_moves("b.bin", "moved.txt")
        assert [one.status for one in await session.undo()] == ["done", "done"]

    await told(tmp_path, {"b.bin": _OLD}, story, after={"b.bin": _OLD}, is_open=[])


async def test_what_became_a_text_and_was_kept_is_a_text_from_then_on(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        await session.runs(lambda: _put("b.bin", _TEXT)(session.folder))
        await session.review.decide("keep", Selection())
        await session.agent_moves("b.bin", "moved.txt")
        await session.agent("moved.txt", "two", "2")
        assert len(await titles(session)) == 2
        await session.undo()

    await told(tmp_path, {"b.bin": _OLD}, story, after={"b.bin": _TEXT}, is_open=[])


async def test_turns_are_undone_one_after_the_other(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        at = session.folder
        await session.runs(lambda: _put("b.bin", b"\0between")(at))
        await session.turn()
        await session.runs(lambda: _put("b.bin", _NEW)(at))
        first = await session.undo(turn_id="trn_1")
        assert [one.status for one in first] == ["conflict"]
        assert [one.status for one in await session.undo()] == ["done", "done"]

    await told(tmp_path, {"b.bin": _OLD}, story, after={"b.bin": _OLD}, is_open=[])


async def test_it_is_restored_to_before_a_call(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        at = session.folder
        await session.runs(lambda: _put("b.bin", b"\0between")(at))
        await session.runs(lambda: _put("b.bin", _NEW)(at))
        await session.end()
        [foreseen] = await session.review.restore("trn_1", "cal_2", dry_run=True)
        assert (foreseen.status, foreseen.edit) == ("done", "change")
        assert _contents(at) == {"b.bin": _NEW}
        [result] = await session.review.restore("trn_1", "cal_2")
        assert (result.status, result.edit) == ("done", "change")

    after = {"b.bin": b"\0between"}
    await told(tmp_path, {"b.bin": _OLD}, story, after=after, is_open=["binary, 8 bytes → 8 bytes"])


async def test_its_permissions_come_back_and_what_the_user_set_stays(tmp_path: Path) -> None:
    def mode(session: Reviewed, name: str) -> int:
        return (session.folder / name).stat().st_mode & 0o7777

    async def story(session: Reviewed) -> None:
        at = session.folder
        for name, bits in {"gone.bin": 0o750, "both.bin": 0o755, "mine.bin": 0o755}.items():
            (at / name).chmod(bits)

        def do() -> None:
            (at / "gone.bin").unlink()
            for name in ("both.bin", "mine.bin"):
                _put(name, _NEW)(at)
                (at / name).chmod(0o644)

        await session.runs(do)
        (at / "mine.bin").chmod(0o600)
        await session.undo()
        modes = [mode(session, one) for one in ("gone.bin", "both.bin", "mine.bin")]
        assert modes == [0o750, 0o755, 0o600]

    files = {"gone.bin": _OLD, "both.bin": _OLD, "mine.bin": _OLD}
    await told(tmp_path, files, story, after=files, is_open=[])


@pytest.mark.parametrize(
    ("found", "status"),
    [(_OLD, "applied"), (_NEW, "refused"), (b"\0somebody else's", "unconfirmed")],
    ids=["done", "not-done", "nobody-knows"],
)
async def test_what_a_dead_process_left_open_is_settled_from_the_file(
    tmp_path: Path, found: bytes, status: str
) -> None:
    async def story(session: Reviewed) -> None:
        at = session.folder
        await session.runs(lambda: _put("b.bin", _NEW)(at))
        ledger = await session.review.ledger()
        [file] = ledger.turns["trn_1"].at("b.bin")
        assert file is not None
        assert file.images is not None
        before, after = file.images
        await session.recorder.emit(
            e.ReviewDecided(
                review_id="rev_1",
                decision="undo",
                turn_id="trn_1",
                path="b.bin",
                hunks=(file.hunks[0].id,),
                edit=PutImage(path="b.bin", base=after, goal=before),
            )
        )
        _put("b.bin", found)(at)
        await session.restart()
        await session.review.ledger()
        [*_, settled] = await session.store.load("ses_1")
        assert isinstance(settled.event, e.ReviewApplied)
        assert settled.event.status == status

    title = "binary, 8 bytes → 19 bytes"
    await told(
        tmp_path,
        {"b.bin": _OLD},
        story,
        after={"b.bin": found},
        is_open=[] if status == "applied" else [title],
    )


class WornWithBytes(DiskWorkspace):
    """A disk that takes no whole files any more."""

    async def put(self, edit: PutImage, data: bytes | None) -> EditOutcome:
        raise WorkspaceError(f"{edit.path}: the disk is worn out")


async def test_what_the_disk_does_not_take_is_refused_and_stays_open(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        await session.runs(lambda: _put("b.bin", _NEW)(session.folder))
        disk = WornWithBytes([Root("project", session.folder.resolve(), False)])
        session.workspace = disk
        await session.restart()
        [result] = await session.undo()
        assert (result.status, result.reason) == ("refused", "b.bin: the disk is worn out")
        session.workspace = DiskWorkspace([Root("project", session.folder.resolve(), False)])
        await session.restart()

    title = "binary, 8 bytes → 19 bytes"
    await told(tmp_path, {"b.bin": _OLD}, story, after={"b.bin": _NEW}, is_open=[title])


async def test_what_the_store_has_lost_is_refused(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        lost = FileImage(size_bytes=8, digest="0" * 64, mode=0o644, is_kept=True)
        change = e.CommandChanged(call_id="cal_1", path="b.bin", images=(lost, None))
        await session.recorder.emit(change)
        [result] = await session.undo()
        assert (result.status, "no longer in the agent's store" in result.reason) == (
            "refused",
            True,
        )

    await told(tmp_path, {}, story, after={}, is_open=["deleted, binary, 8 bytes"])
