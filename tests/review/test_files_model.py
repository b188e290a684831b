"""Random edits, moves and commands of the agent's, and the user's, on files of any kind.

The reference is simple: what the user wrote is nowhere lost by a decision of the review: it is
there, or comes back with what is still open. A decision that says it did nothing has done nothing,
and without the user all comes back: by an undo, by a restore that says before what it will do,
and as it was by a redo of every turn.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
from pathlib import Path

import pytest

from agent_ls.domain.review import ReviewDecision
from agent_ls.review.ledger import Selection
from agent_ls.review.steps import FileResult
from agent_ls.store.sql_store import open_store
from agent_ls.workspace.seen_files import file_clock_ns
from tests.review.reviewing import Reviewed

_NAMES = ("a.txt", "b.txt", "sub/c.txt")
_STEPS_OF_ONE = 14
_APART_NS = 30_000_000
_MINE = re.compile(rb"mine\d+")


class Walk:
    """One session on a few files."""

    def __init__(
        self, session: Reviewed, dice: random.Random, *, is_alone: bool, renames: bool = False
    ) -> None:
        self.session, self.dice, self.is_alone = session, dice, is_alone
        self.renames = renames
        self.number = 0
        self.taken = set[bytes]()
        """What the agent removed of the user's: doing that again is no loss."""
        for name in _NAMES[1:]:
            self.write(name, self.content())
        self.before = self.contents()

    def contents(self) -> dict[str, bytes]:
        return {
            name: (self.session.folder / name).read_bytes()
            for name in _NAMES
            if (self.session.folder / name).exists()
        }

    def write(self, name: str, data: bytes) -> None:
        place = self.session.folder / name
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(data)

    def content(self, word: str = "line") -> bytes:
        """Return a text, with any line ends and mark, or what is none, like no other."""
        self.number += 1
        lines = [f"{word}{self.number} {one}" for one in range(self.dice.randint(1, 4))]
        text = self.dice.choice(("\n", "\r\n")).join((*lines, "")).encode()
        # A mark that a command took away is no change, and nothing that undoing lines brings back.
        mark = b"" if self.is_alone else b"\xef\xbb\xbf"
        return self.dice.choice((b"", b"", b"", mark, b"\0", b"\xff")) + text

    def mine(self) -> set[bytes]:
        """Return what the user wrote and is there."""
        return set(_MINE.findall(b"".join(self.contents().values())))

    async def held(self) -> set[bytes]:
        """Return what the user wrote and comes back where a change that is open is undone."""
        ledger = await self.session.review.ledger()
        files = [file for turn in ledger.turns.values() for file in turn.files.values()]
        lines = [line for file in files for one in file.open() for line in one.old]
        return set(_MINE.findall("\n".join(lines).encode()))

    def is_text(self, name: str) -> bool:
        data = self.contents().get(name)
        return data is not None and b"\0" not in data and b"\xff" not in data

    async def step(self) -> None:
        """Do one random thing, then look whether everything is as it must be."""
        deeds = [self.agent, self.agent, self.command, self.command, self.turn, self.restart]
        if not self.is_alone:
            deeds += [self.user, self.user, self.decide, self.decide, self.decide]
        if self.renames:
            deeds += [self.rename, self.rename]
        do = self.dice.choice(deeds)
        before = self.mine()
        await do()
        if do in (self.agent, self.command):
            self.taken |= before - self.mine()

    async def agent(self) -> None:
        name, other = self.dice.choice(_NAMES), self.dice.choice(_NAMES)
        there = self.contents()
        if name not in there:
            text = self.content().removeprefix(b"\0").removeprefix(b"\xff").decode()
            await self.session.agent_writes(name, text.removeprefix("\ufeff"))
        elif not self.is_text(name):
            return
        elif other not in there and self.dice.random() < 0.4:
            await self.session.agent_moves(name, other)
        elif self.dice.random() < 0.3:
            await self.session.agent_writes(name, None)
        else:
            self.number += 1
            text = (await self.session.workspace.read(name)).text
            lines = text.splitlines(keepends=True)
            lines.insert(self.dice.randint(0, len(lines)), f"agent{self.number}\n")
            await self.session.agent_writes(name, "".join(lines))

    async def command(self) -> None:
        name = self.dice.choice(_NAMES)
        if name in self.contents() and self.dice.random() < 0.3:
            await self.session.runs(lambda: (self.session.folder / name).unlink())
        elif name in self.contents() and self.dice.random() < 0.4:
            data = self.contents()[name] + self.content("more")
            await self.session.runs(lambda: self.write(name, data))
        else:
            data = self.content("made")
            await self.session.runs(lambda: self.write(name, data))

    async def user(self) -> None:
        name = self.dice.choice(_NAMES)
        there = self.contents().get(name)
        self.number += 1
        word = f"mine{self.number}\n".encode()
        if there is None or self.dice.random() < 0.3:
            self.write(name, self.content("mine"))
        elif self.dice.random() < 0.2:
            (self.session.folder / name).unlink()
        else:
            self.write(name, there + word)
        if (place := self.session.folder / name).exists():
            # A file that came right before a command could have come from it.
            while file_clock_ns() < place.stat().st_ctime_ns + _APART_NS:
                await asyncio.to_thread(os.sched_yield)

    async def rename(self) -> None:
        """Have the user rename a file, as the editor tells of it."""
        there = self.contents()
        name, other = self.dice.choice(_NAMES), self.dice.choice(_NAMES)
        if name in there and other not in there:
            (self.session.folder / other).parent.mkdir(exist_ok=True)
            (self.session.folder / name).rename(self.session.folder / other)
            await self.session.review.follow(name, other)

    async def turn(self) -> None:
        await self.session.turn()

    async def restart(self) -> None:
        before = await self.hunks()
        await self.session.restart()
        assert await self.hunks() == before

    async def hunks(self) -> list[tuple[str, str, str, str]]:
        ledger = await self.session.review.ledger()
        return [
            (turn.turn_id, file.path, one.id, one.state)
            for turn in ledger.turns.values()
            for file in turn.files.values()
            for one in file.hunks
        ]

    async def decide(self) -> None:
        """Decide about a hunk, a file, a turn or all."""
        known = await self.hunks()
        if not known:
            return
        turn_id, path, hunk_id, _ = self.dice.choice(known)
        chosen = self.dice.choice(
            (
                Selection(turn_id, hunks=frozenset({hunk_id})),
                Selection(turn_id, path),
                Selection(turn_id),
                Selection(),
            )
        )
        decision: ReviewDecision = self.dice.choice(("undo", "undo", "undo", "redo", "keep"))
        before, mine = self.contents(), self.mine()
        if self.dice.random() < 0.15:
            await self.session.end()
            decision = "restore"
            results = await self.session.review.restore(turn_id)
            await self.session.turn()
        else:
            results = await self.session.review.decide(decision, chosen)
        after = self.contents()
        lost = mine - self.mine() - await self.held()
        lost -= self.taken if decision == "redo" else set()
        assert not lost, (decision, chosen, results, before, after)
        if not any(one.status == "done" or one.hunks for one in results):
            assert before == after, (decision, chosen, results)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "numbers", [range(6), pytest.param(range(6, 1_000), marks=pytest.mark.long)]
)
async def test_nothing_of_a_user_is_lost_who_renames_files_too(
    tmp_path: Path, numbers: range
) -> None:
    store = open_store(tmp_path / "store.db")
    try:
        for number in numbers:
            folder = tmp_path / f"work{number}"
            folder.mkdir()
            session = Reviewed(folder, store, session_id=f"ses_{number}")
            walk = Walk(session, random.Random(number), is_alone=False, renames=True)
            await session.turn()
            for _ in range(_STEPS_OF_ONE):
                await walk.step()
    finally:
        await store.close()


@pytest.mark.parametrize("is_alone", [True, False])
@pytest.mark.parametrize(
    "walks",
    [
        pytest.param(8, marks=pytest.mark.timeout(300)),
        pytest.param(2_000, marks=[pytest.mark.long, pytest.mark.timeout(3_600)]),
    ],
)
async def test_what_a_user_wrote_stays_and_what_the_agent_did_goes(
    tmp_path: Path, walks: int, is_alone: bool
) -> None:
    store, stayed = open_store(tmp_path / "store.db"), 0
    try:
        for number in range(walks):
            folder = tmp_path / f"work{number}"
            folder.mkdir()
            session = Reviewed(folder, store, session_id=f"ses_{number}")
            walk = Walk(session, random.Random(number), is_alone=is_alone)
            await session.turn()
            for _ in range(_STEPS_OF_ONE):
                await walk.step()
            if is_alone:
                results = await session.review.decide("undo", Selection())
                is_all = all(one.status == "done" for one in results)
                stayed += not is_all
                assert walk.contents() == walk.before or not is_all, (number, results)
    finally:
        await store.close()
    # Not even files that changed their places in turn stand in each other's way.
    assert not stayed


def _is_all(results: list[FileResult]) -> bool:
    """Say whether all was done; nothing may keep a file but another one in its place, which keeps
    the older turns' changes of it as well.
    """
    left = [one for one in results if one.status != "done"]
    in_place = [one for one in left if "move that file away" in one.reason]
    assert all(one in in_place or "undo that first" in one.reason for one in left), left
    assert in_place or not left
    return not left


class Moves(Walk):
    """An agent that mostly moves its files about, over several turns, and deletes some."""

    async def agent(self) -> None:
        there = sorted(self.contents())
        if not there:
            await super().agent()
            return
        name, other = self.dice.choice(there), self.dice.choice(_NAMES)
        if other not in there:
            await self.session.agent_moves(name, other)
        elif other != name and self.dice.random() < 0.6:
            for old, new in ((name, "aside"), (other, name), ("aside", other)):
                await self.session.agent_moves(old, new)
        elif self.dice.random() < 0.5:
            await self.session.agent_writes(name, None)
        else:
            self.number += 1
            text = (await self.session.workspace.read(name)).text
            await self.session.agent_writes(name, f"{text}agent{self.number}\n")

    def content(self, word: str = "line") -> bytes:
        self.number += 1
        return f"{word}{self.number}\n".encode()

    async def step(self) -> None:
        await self.dice.choice((self.agent, self.agent, self.agent, self.turn, self.restart))()

    async def all(self, decision: ReviewDecision) -> bool:
        """Decide about everything; False where files stand in each other's places."""
        return _is_all(await self.session.review.decide(decision, Selection()))

    async def restored(self) -> None:
        await self.session.end()
        told = await self.session.review.restore("trn_1", dry_run=True)
        results = await self.session.review.restore("trn_1")
        assert len(told) == len(results), (told, results)
        if not _is_all(results):
            return
        assert self.contents() == self.before
        await self.session.review.restore("trn_1")
        assert self.contents() == self.before


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "numbers", [range(10), pytest.param(range(10, 3_000), marks=pytest.mark.long)]
)
async def test_files_that_are_moved_about_and_deleted_all_come_back_and_go_again(
    tmp_path: Path, numbers: range
) -> None:
    store = open_store(tmp_path / "store.db")
    try:
        for number in numbers:
            folder = tmp_path / f"work{number}"
            folder.mkdir()
            session = Reviewed(folder, store, session_id=f"ses_{number}")
            walk = Moves(session, random.Random(number), is_alone=True)
            await session.turn()
            for _ in range(walk.dice.randint(2, _STEPS_OF_ONE)):
                await walk.step()
            there = walk.contents()
            if walk.dice.random() < 0.7 and await walk.all("undo"):
                assert walk.contents() == walk.before, number
                await walk.restart()
                if walk.dice.random() < 0.8 and await walk.all("redo"):
                    assert walk.contents() == there, number
            await walk.restored()
    finally:
        await store.close()
