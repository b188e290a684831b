"""Sub-agents that work at the same time: what each changed is reviewed, whoever ends first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.calls import ToolCall
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.review import ReviewDecision
from agent_ls.review.ledger import Selection
from agent_ls.review.restore import RestorePoint
from tests.review.reviewing import Reviewed, reviewed

_TEXT = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"
_FILES = {"a.py": _TEXT, "z.py": "z\n"}
_WORDS = ("one", "four", "seven", "ten")

Story = Callable[[Reviewed], Awaitable[object]]


async def check(
    folder: Path,
    story: Story,
    *,
    after: dict[str, str],
    still_open: list[tuple[str, str]] | None = None,
) -> None:
    """Tell the story; then files and open hunks are these, and a restart changes nothing of it."""
    async with reviewed(folder / "work", _FILES) as session:
        await session.turn()
        await story(session)
        assert session.texts() == after
        assert await session.open_hunks() == (still_open or [])
        await same_after_a_restart(session)


async def same_after_a_restart(session: Reviewed) -> None:
    """Find hunks, touches and files the same in the ledger of a server that begins anew."""
    known = await session.review.ledger()
    await session.restart()
    again = await session.review.ledger()
    assert again.turns == known.turns
    assert again.chains == known.chains
    assert again.turn_of == known.turn_of


def answered(*calls: str) -> e.Answered:
    """Return the answer with which the agent calls its sub-agents."""
    those = [
        ToolCall(id=one, provider_id=one, tool="delegate", arguments_json="{}") for one in calls
    ]
    return e.Answered(step_id="stp_1", message=AssistantMessage(calls=tuple(those)))


async def by_two(session: Reviewed, deeds: str, do: Callable[[int], Awaitable[object]]) -> None:
    """Have two sub-agents, A that ends first and B, and their parent, P, do one thing each time."""
    parent = session.recorder
    first, second = await session.child_begins("1"), await session.child_begins("2")
    for number, who in enumerate(deeds):
        session.recorder = {"A": first, "B": second, "P": parent}[who]
        await do(number)
    session.recorder = parent
    await session.child_ends("1")
    await session.child_ends("2")


@pytest.mark.parametrize("is_looked_at", [False, True])
@pytest.mark.parametrize("deeds", ["AB", "BA", "ABA", "BAB", "APA", "PAP", "PBAP", "BPAB"])
async def test_changes_in_one_file_are_all_undone(
    tmp_path: Path, deeds: str, *, is_looked_at: bool
) -> None:
    async def story(session: Reviewed) -> None:
        async def do(number: int) -> None:
            await session.agent("a.py", f"{_WORDS[number]}\n", f"{_WORDS[number].upper()}\n")
            if is_looked_at:
                await session.review.ledger()

        await by_two(session, deeds, do)
        words = _WORDS[: len(deeds)]
        assert await session.open_hunks() == [("a.py", one) for one in words]
        await same_after_a_restart(session)
        assert [one.status for one in await session.undo()] == ["done"]

    await check(tmp_path, story, after=_FILES)


@pytest.mark.parametrize("way", ["undo", "restore"])
@pytest.mark.parametrize("deed", ["make", "move", "delete", "command", "lines"])
async def test_a_file_that_one_made_moved_or_ran_over_and_the_other_edited_is_as_before(
    tmp_path: Path, deed: str, way: str
) -> None:
    first: dict[str, Story] = {
        "make": lambda session: session.agent_writes("new.py", "one\ntwo\nthree\n"),
        "move": lambda session: session.agent_moves("a.py", "new.py"),
        "delete": lambda session: session.agent_writes("a.py", None),
        "command": lambda session: session.command("a.py", _TEXT.replace("one", "1")),
        "lines": lambda session: session.agent("a.py", "three", "three, new"),
    }
    then: dict[str, Story] = {
        "make": lambda session: session.agent("new.py", "three", "3"),
        "move": lambda session: session.agent("new.py", "three", "3"),
        "delete": lambda session: session.agent_writes("a.py", _TEXT.replace("three", "3")),
        "command": lambda session: session.command("a.py", session.texts()["a.py"][:-4]),
        "lines": lambda session: session.agent("a.py", "three, new", "3"),
    }

    async def story(session: Reviewed) -> None:
        await by_two(session, "BA", lambda number: (first, then)[number][deed](session))
        await same_after_a_restart(session)
        if way == "undo":
            await session.undo()
        else:
            await session.end()
            await session.review.restore("trn_1")

    await check(tmp_path, story, after=_FILES)


async def test_before_the_work_of_one_is_a_moment_of_its_own(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        async def do(number: int) -> None:
            await session.agent("a.py", f"{_WORDS[number]}\n", f"{_WORDS[number].upper()}\n")

        await session.recorder.emit(answered("cal_child1", "cal_child2"))
        await by_two(session, "BABA", do)
        await session.end()
        assert await session.before("ONE") == RestorePoint("trn_1", "cal_child2")
        await session.review.restore("trn_1", "cal_child2")

    after = _TEXT.replace("four", "FOUR").replace("ten", "TEN")
    still_open = [("a.py", "four"), ("a.py", "ten")]
    await check(tmp_path, story, after={**_FILES, "a.py": after}, still_open=still_open)


@pytest.mark.parametrize("decision", ["keep", "undo"])
async def test_what_a_sub_agent_changes_is_listed_and_decided_about_while_it_works(
    tmp_path: Path, decision: ReviewDecision
) -> None:
    async def story(session: Reviewed) -> None:
        parent = session.recorder
        first, second = await session.child_begins("1"), await session.child_begins("2")
        session.recorder = second
        await session.agent("a.py", "four", "4")
        session.recorder = first
        await session.agent("a.py", "one", "1")
        assert await session.open_hunks() == [("a.py", "one"), ("a.py", "four")]
        chosen = Selection(hunks=await session.ids_of("one"))
        assert [one.status for one in await session.review.decide(decision, chosen)] == ["done"]
        session.recorder = second
        await session.agent("a.py", "4", "4, and more")
        session.recorder = parent
        await session.child_ends("1")
        await session.child_ends("2")
        assert await session.open_hunks() == [("a.py", "four")]
        await same_after_a_restart(session)
        await session.undo()

    after = _TEXT.replace("one", "1") if decision == "keep" else _TEXT
    await check(tmp_path, story, after={**_FILES, "a.py": after})


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize(("path", "new_path"), [("a.py", "b.py"), ("sub", "other")])
async def test_a_file_that_is_renamed_while_a_sub_agent_works_on_it_is_followed(
    tmp_path: Path, path: str, new_path: str, *, is_known: bool
) -> None:
    old = path if path == "a.py" else f"{path}/c.py"
    new = new_path if path == "a.py" else f"{new_path}/c.py"

    async def story(session: Reviewed) -> None:
        await session.agent_writes("sub/c.py", _TEXT)
        await session.turn()
        if is_known:
            await session.agent(old, "ten", "10")
        async with session.child():
            await session.agent(old, "one", "1")
            (session.folder / path).rename(session.folder / new_path)
            await session.review.follow(path, new_path)
            await session.agent(new, "four", "4")
        words = ["one", "four", "ten"] if is_known else ["one", "four"]
        assert [one for one in await session.open_hunks() if one[1] != "created"] == [
            (new, one) for one in words
        ]
        await same_after_a_restart(session)
        assert [one.status for one in await session.undo(turn_id="trn_2")] == ["done"]
        assert session.texts()[new] == _TEXT
        await session.undo()
        (session.folder / new_path).rename(session.folder / path)

    await check(tmp_path, story, after=_FILES)


async def test_changes_of_a_sub_agent_whose_session_was_deleted_are_counted_as_missing(
    tmp_path: Path,
) -> None:
    async def story(session: Reviewed) -> None:
        parent = session.recorder
        for path in ("a.py", "z.py", ""):
            session.recorder = await session.child_begins(path)
            if path:
                await session.agent_writes(path, f"new\n{session.texts()[path]}")
            session.recorder = parent
            await session.child_ends(path, *([path] if path else []))
        await session.end()
        assert (await session.review.ledger()).lost_events == 0
        await session.store.append([], durable=True)
        await session.store.delete("ses_childz.py")
        # What one did that changed nothing is missed by nobody.
        await session.store.delete("ses_child")
        await session.restart()
        assert (await session.review.ledger()).lost_events == 1
        await session.undo()

    await check(tmp_path, story, after={**_FILES, "z.py": "new\nz\n"})
