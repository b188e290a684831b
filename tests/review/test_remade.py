"""Files that the agent takes away, or makes anew, in one turn: the person's part comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.review.ledger import Selection
from tests.review.reviewing import Reviewed
from tests.review.test_review import Story, check, statuses

_TEXT = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"
_MINE = _TEXT.replace("eight\n", "eight\nmine\n")
_OTHER = "other\n"


async def _is_deleted(session: Reviewed) -> None:
    await session.agent_writes("a.py", None)


async def _is_deleted_by_a_command(session: Reviewed) -> None:
    await session.command("a.py", None)


async def _is_made_anew(session: Reviewed) -> None:
    await session.agent_writes("a.py", None)
    await session.agent_writes("a.py", "all new\n")


async def _is_made_anew_by_a_command(session: Reviewed) -> None:
    await session.agent_writes("a.py", None)
    await session.command("a.py", "all new\n")


async def _is_made_anew_and_edited(session: Reviewed) -> None:
    await _is_made_anew(session)
    await session.agent("a.py", "all", "nearly all")


async def _is_made_anew_and_deleted(session: Reviewed) -> None:
    await _is_made_anew(session)
    await session.agent_writes("a.py", None)


async def _is_made_anew_twice(session: Reviewed) -> None:
    await _is_made_anew(session)
    await _is_made_anew(session)


async def _is_made_anew_as_it_was(session: Reviewed) -> None:
    end = "\r\n" if "\r" in session.texts()["a.py"] else "\n"
    await session.agent_writes("a.py", None)
    await session.agent_writes("a.py", _TEXT.replace("\n", end))


async def _has_another_in_its_place(session: Reviewed) -> None:
    await session.agent_writes("a.py", None)
    await session.agent_moves("b.py", "a.py")


async def _is_deleted_by_the_person(session: Reviewed) -> None:
    await session.agent("a.py", "seven", "7")
    (session.folder / "a.py").unlink()
    await session.agent_writes("a.py", "all new\n")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize(
    "then",
    [
        _is_deleted,
        _is_deleted_by_a_command,
        _is_made_anew,
        _is_made_anew_by_a_command,
        _is_made_anew_and_edited,
        _is_made_anew_and_deleted,
        _is_made_anew_twice,
        _is_made_anew_as_it_was,
        _has_another_in_its_place,
        _is_deleted_by_the_person,
    ],
)
async def test_what_the_person_typed_and_kept_comes_back(
    tmp_path: Path, then: Story, end: str, *, is_kept: bool
) -> None:
    files = {"a.py": _TEXT.replace("\n", end), "b.py": _OTHER}
    mine = _MINE.replace("two", "2") if is_kept else _MINE

    async def story(session: Reviewed) -> None:
        await session.agent("a.py", "two", "2")
        await session.agent("a.py", "five", "5")
        if is_kept:
            await session.review.decide("keep", Selection(hunks=await session.ids_of("two")))
        session.user("a.py", "eight", f"eight{end}mine")
        await then(session)
        made = session.texts()
        for decision in ("undo", "redo"):
            told = await session.review.decide(decision, Selection())
            assert {status for _, status in statuses(told)} == {"done"}
            if decision == "undo":
                assert session.texts() == {**files, "a.py": mine.replace("\n", end)}
        assert {name: text.replace("\r", "") for name, text in session.texts().items()} == {
            name: text.replace("\r", "") for name, text in made.items()
        }
        await session.restart()
        await session.undo()

    await check(tmp_path, story, files, after={**files, "a.py": mine.replace("\n", end)})
