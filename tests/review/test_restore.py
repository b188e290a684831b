"""Files brought back more than once, to several moments, and after other decisions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agent_ls.review.ledger import Selection
from tests.review.reviewing import Reviewed
from tests.review.test_review import check, statuses

_MARKED = "\ufeffone\r\ntwo\r\n"


@pytest.mark.parametrize("edit", ["", "one"])
@pytest.mark.parametrize(
    ("first", "is_typed"),
    [("restore", False), ("restore", True), ("undo", False), ("undo", True)],
)
async def test_a_byte_order_mark_comes_back_once(
    tmp_path: Path, first: str, edit: str, *, is_typed: bool
) -> None:
    async def story(session: Reviewed) -> None:
        if edit:
            await session.agent("a.py", edit, "1")
        if is_typed:
            session.user("a.py", "three", "mine")
        await session.agent_writes("a.py", None)
        await session.end()
        if first == "restore":
            told = await session.review.restore("trn_1")
            assert [(one.status, one.edit) for one in told] == [("done", "create")]
        else:
            assert statuses(await session.undo()) == [("a.py", "done")]
        assert await session.review.restore("trn_1", dry_run=True) == []
        assert await session.review.restore("trn_1") == []
        assert await session.review.restore("trn_1") == []

    text = f"{_MARKED}\r\nthree\r\n"
    after = text.replace("three", "mine") if is_typed else text
    await check(tmp_path, story, {"a.py": text}, after={"a.py": after})


async def test_a_byte_order_mark_that_the_agent_took_away_comes_back(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        await session.agent_writes("a.py", None)
        await session.agent_writes("a.py", "new\n")
        await session.end()
        for told in ([("a.py", "done")], []):
            assert statuses(await session.review.restore("trn_1")) == told

    await check(tmp_path, story, {"a.py": "\ufeffone\n"}, after={"a.py": "\ufeffone\n"})


_Story = Callable[[Reviewed], Awaitable[object]]


async def _moved_then_edited(session: Reviewed) -> None:
    await session.agent_moves("a.py", "e.py")
    await session.turn()
    await session.agent("e.py", "two", "2")


async def _moved_twice(session: Reviewed) -> None:
    await session.agent_moves("a.py", "e.py")
    await session.turn()
    await session.agent_moves("e.py", "f.py")


async def _edited_then_moved(session: Reviewed) -> None:
    await session.agent("a.py", "one", "1")
    await session.turn()
    await session.agent_moves("a.py", "e.py")
    await session.agent("e.py", "two", "2")


async def _made_then_edited(session: Reviewed) -> None:
    await session.agent_writes("b.py", "q\n")
    await session.turn()
    await session.agent("b.py", "q", "r")


async def _deleted_then_made(session: Reviewed) -> None:
    await session.agent_writes("a.py", None)
    await session.turn()
    await session.agent_writes("a.py", "new\n")


@pytest.mark.parametrize(
    "does",
    [
        _moved_then_edited,
        _moved_twice,
        _edited_then_moved,
        _made_then_edited,
        _deleted_then_made,
    ],
)
@pytest.mark.parametrize("by", ["undo", "restore", "restore a call"])
async def test_what_was_undone_or_restored_before_stays(
    tmp_path: Path, does: _Story, by: str
) -> None:
    text = "one\ntwo\nthree\nfour\n"

    async def story(session: Reviewed) -> None:
        await does(session)
        await session.end()
        if by == "undo":
            await session.undo()
        else:
            await session.review.restore("trn_1", "cal_1" if by == "restore a call" else "")
        assert session.texts() == {"a.py": text}
        if by == "restore a call":
            assert await session.review.restore("trn_1", "cal_1") == []
        for dry_run in (True, False):
            assert await session.review.restore("trn_2", dry_run=dry_run) == []
        # What the agent does since then is taken back alone.
        await session.turn()
        await session.agent("a.py", "four", "4")
        await session.end()
        assert statuses(await session.review.restore("trn_2")) == [("a.py", "done")]

    await check(tmp_path, story, {"a.py": text}, after={"a.py": text})


async def test_what_was_undone_after_a_restore_to_a_call_is_not_done_again_by_the_next(
    tmp_path: Path,
) -> None:
    async def story(session: Reviewed) -> None:
        await session.agent("a.py", "one", "1")
        await session.agent("a.py", "1", "2")
        await session.end()
        assert statuses(await session.review.restore("trn_1", session.call_id)) == [
            ("a.py", "done")
        ]
        assert session.texts()["a.py"] == "1\n"
        await session.undo()
        assert await session.review.restore("trn_1", session.call_id) == []

    await check(tmp_path, story, {"a.py": "one\n"}, after={"a.py": "one\n"})


async def test_a_kept_change_that_a_restore_to_a_call_took_back_is_no_change_any_more(
    tmp_path: Path,
) -> None:
    files = {"a.py": "one\ntwo\nthree\nfour\nfive\n"}

    async def story(session: Reviewed) -> None:
        for word in ("one", "three", "five"):
            await session.agent("a.py", f"{word}\n", f"{word.upper()}\n")
        kept = await session.ids_of("ONE") | await session.ids_of("FIVE")
        await session.review.decide("keep", Selection(hunks=kept))
        await session.end()
        await session.review.restore("trn_1", session.call_id)
        assert await session.open_hunks() == [("a.py", "three")]
        await session.undo()

    await check(tmp_path, story, files, after={"a.py": "ONE\ntwo\nthree\nfour\nfive\n"})
