"""Random typing, edits of the agent's, undos, saves and outside writes against a simple model.

The model knows every line that ever was, as a cell that is there or not. It says what a text must
be after an undo; it does not know how hunks are made. Nothing of the user's may get lost.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent_ls.loop.ports.workspace import Root
from agent_ls.lsp.connection.documents import Change, DocumentStore
from agent_ls.lsp.workspace.editor_workspace import EditorWorkspace
from agent_ls.review.file_changes import FileLedger
from agent_ls.review.hunks import Hunk
from agent_ls.review.ledger import Selection
from agent_ls.review.places import placed
from agent_ls.store.sql_store import SqlStore, open_store
from agent_ls.workspace.disk import DiskWorkspace
from tests.lsp.test_editor_workspace import Editor
from tests.review.reviewing import Reviewed

_FILES = {"open.py": "\n", "closed.py": "\r\n"}
_STEPS_OF_ONE = 50
"""After so many a new session begins: what went before would only slow it down."""
_WORDS = ("é", "😀", "x = 1", "", "\u2028", "\t", "if y:", "ß" * 40)


@dataclass(eq=False)
class Cell:
    """One line that is or was in a file; no two are equal."""

    line: str
    is_there: bool = True
    touched_by: set[str] = field(default_factory=set[str])
    """The user (``user``) and turns that made or removed it."""


@dataclass
class Model:
    """One file: all lines that ever were, in order."""

    end: str
    cells: list[Cell]
    before: list[list[Cell]] = field(default_factory=list[list[Cell]])
    """What was there before each change, for the editor's own undo."""

    @property
    def there(self) -> list[Cell]:
        return [one for one in self.cells if one.is_there]

    @property
    def text(self) -> str:
        return "".join(one.line + self.end for one in self.there)

    def change(self, low: int, high: int, lines: list[str], who: str) -> None:
        """Replace the lines ``low:high`` that are there."""
        there = self.there
        self.before.append(there)
        gone = there[low:high]
        for one in gone:
            one.is_there = False
            one.touched_by.add(who)
        # The agent's new lines stand behind what they replace, the user's before it.
        beside = gone[-1:] if who != "user" else []
        beside = beside or there[low - 1 : low] if low else beside
        at = self.cells.index(beside[0]) + 1 if beside else 0
        self.cells[at:at] = [Cell(line, touched_by={who}) for line in lines]

    def step_back(self) -> None:
        """What an editor's own undo does: the text from before the last change."""
        there = self.before.pop()
        for one in self.cells:
            if one.is_there != (one in there):
                one.is_there = not one.is_there
                one.touched_by.add("user")

    def undone(self, hunks: Iterable[Hunk]) -> list[Cell]:
        """Return the cells that are there when these hunks are undone."""
        there = {one.line for one in self.there}
        for hunk in hunks:
            there -= set(hunk.new) - set(hunk.old)
            there |= set(hunk.old) - set(hunk.new)
        return [one for one in self.cells if one.line in there]

    def show(self, there: list[Cell]) -> None:
        """Let exactly these cells be there."""
        self.before.append(self.there)
        for one in self.cells:
            one.is_there = one in there

    def order(self, before: list[str], now: list[str], hunks: Iterable[Hunk]) -> None:
        """Take over where lines came back, between lines whose order nobody may change."""
        assert sorted(now) == sorted(one.line for one in self.there)
        assert [one for one in now if one in before] == [one for one in before if one in now]
        for hunk in hunks:
            back = [one for one in hunk.old if one in now]
            assert [one for one in now if one in back] == back
        cells = {one.line: one for one in self.cells}
        previous: Cell | None = None
        for line in now:
            if line not in before:
                self.cells.remove(cells[line])
                at = 0 if previous is None else self.cells.index(previous) + 1
                self.cells.insert(at, cells[line])
            previous = cells[line]

    def is_touched(self, hunk: Hunk, turn_id: str) -> bool:
        """Say whether somebody else changed lines of a hunk, or right beside it."""
        lines = {*hunk.old, *hunk.new}
        own = [at for at, one in enumerate(self.cells) if one.line in lines]
        low, high = min(own), max(own)
        while low > 0 and not self.cells[low - 1].is_there:
            low -= 1
        while high < len(self.cells) - 1 and not self.cells[high + 1].is_there:
            high += 1
        around = self.cells[max(0, low - 1) : high + 2]
        return any(one.touched_by - {turn_id} for one in around)


class Walk:
    """One session, and the model beside it."""

    def __init__(self, folder: Path, store: SqlStore, number: int, dice: random.Random) -> None:
        self.dice, self.number = dice, 0
        self.folder = folder / f"work{number}"
        self.folder.mkdir()
        self.models = {
            name: Model(end, [Cell(self.line("o")) for _ in range(dice.randint(1, 12))])
            for name, end in _FILES.items()
        }
        for name, model in self.models.items():
            (self.folder / name).write_bytes(model.text.encode())
        self.documents = DocumentStore()
        disk = DiskWorkspace([Root("work", self.folder.resolve(), is_trusted=False)])
        workspace = EditorWorkspace(disk, self.documents, Editor(self.documents))
        self.uri = (self.folder.resolve() / "open.py").as_uri()
        self.documents.open(self.uri, "python", 1, self.models["open.py"].text)
        self.session = Reviewed(self.folder, store, workspace=workspace, session_id=f"ses_{number}")
        self.conflicts = self.undos = 0

    def line(self, kind: str) -> str:
        """Return a line like no other."""
        self.number += 1
        return f"{kind}{self.number} {self.dice.choice(_WORDS)}"

    async def step(self) -> None:
        """Do one random thing, then look whether everything is as it must be."""
        do = self.dice.choices(
            (
                self.agent,
                self.user,
                self.undo,
                self.undo_many,
                self.keep,
                self.editor_undo,
                self.save,
                self.turn,
                self.restart,
            ),
            (30, 30, 14, 3, 6, 6, 4, 4, 3),
        )[0]
        if self.session.turns == 0:
            do = self.turn
        await do()
        for name, model in self.models.items():
            assert await self.text(name) == model.text, (do, name)
        await self.check_places()

    async def text(self, name: str) -> str:
        return (await self.session.workspace.read(name)).text

    def stretch(self, model: Model) -> tuple[int, int]:
        """Return a few lines, at times none; never all."""
        count = len(model.there)
        low = self.dice.randint(0, count)
        high = min(count, low + self.dice.choice((0, 0, 1, 1, 2, 3)))
        return (low, high) if high - low < count else (low, high - 1)

    async def agent(self) -> None:
        name = self.dice.choice(list(_FILES))
        model = self.models[name]
        low, high = self.stretch(model)
        lines = [self.line("a") for _ in range(self.dice.choice((0, 1, 1, 2)))]
        # An empty file has no line whose end a new one could take.
        if model.there and (low != high or lines):
            model.change(low, high, lines, f"trn_{self.session.turns}")
            await self.session.agent_writes(name, model.text)

    async def user(self) -> None:
        name = self.dice.choice(list(_FILES))
        model = self.models[name]
        low, high = self.stretch(model)
        model.change(
            low, high, [self.line("u") for _ in range(self.dice.choice((0, 1, 2)))], "user"
        )
        self.write(name, model.text)

    async def editor_undo(self) -> None:
        model = self.models["open.py"]
        if model.before:
            model.step_back()
            self.write("open.py", model.text)

    def write(self, name: str, text: str) -> None:
        """Type into the buffer, or write the closed file from outside."""
        if name == "closed.py":
            (self.folder / name).write_bytes(text.encode())
            return
        found = self.documents.get(self.uri)
        assert found is not None
        self.documents.change(self.uri, (found.version or 0) + 1, [Change(text)])

    async def save(self) -> None:
        found = self.documents.get(self.uri)
        assert found is not None
        (self.folder / "open.py").write_bytes(found.text.encode())
        self.documents.save(self.uri)

    async def turn(self) -> None:
        await self.session.turn()

    async def restart(self) -> None:
        before = await self.session.open_hunks()
        await self.session.restart()
        assert await self.session.open_hunks() == before

    async def open(self) -> list[tuple[str, FileLedger, Hunk]]:
        ledger = await self.session.review.ledger()
        return [
            (turn.turn_id, file, hunk)
            for turn in ledger.turns.values()
            for file in turn.files.values()
            for hunk in file.open()
        ]

    async def keep(self) -> None:
        if found := await self.open():
            turn_id, _, hunk = self.dice.choice(found)
            chosen = Selection(turn_id=turn_id, hunks=frozenset({hunk.id}))
            [result] = await self.session.review.decide("keep", chosen)
            assert result.status == "done"

    async def undo(self) -> None:
        if found := await self.open():
            turn_id, file, hunk = self.dice.choice(found)
            await self.undo_these(turn_id, file, [hunk])

    async def undo_many(self) -> None:
        if found := await self.open():
            turn_id, file, _ = self.dice.choice(found)
            await self.undo_these(turn_id, file, list(file.open()))

    async def undo_these(self, turn_id: str, file: FileLedger, hunks: list[Hunk]) -> None:
        """Undo, and hold what became of it to what the model says."""
        model = self.models[file.path]
        wanted = model.undone(hunks)
        mine = [one for one in model.there if one.line.startswith("u")]
        ids = frozenset(one.id for one in hunks)
        [result] = await self.session.review.decide("undo", Selection(turn_id, file.path, ids))
        self.undos += 1
        if result.status == "conflict":
            self.conflicts += 1
            assert any(model.is_touched(one, turn_id) for one in hunks), (hunks, model.text)
            return
        assert (result.status, result.hunks) == ("done", len(hunks))
        assert all(one in wanted for one in mine)
        before = [one.line for one in model.there]
        model.show(wanted)
        model.order(before, (await self.text(file.path)).split(model.end)[:-1], hunks)

    async def check_places(self) -> None:
        """Hunks stand on their own lines, or say that they were changed."""
        for _, file, hunk in await self.open():
            text = self.models[file.path].text
            lines = text.replace("\r\n", "\n").split("\n")
            for one in placed(file, text):
                if one.hunk.id == hunk.id and not one.is_changed:
                    assert tuple(lines[one.first : one.past]) == one.hunk.new


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(400, marks=pytest.mark.timeout(300)),
        pytest.param(100_000, marks=[pytest.mark.long, pytest.mark.timeout(3_600)]),
    ],
)
async def test_nothing_that_a_user_typed_gets_lost(tmp_path: Path, steps: int) -> None:
    store = open_store(tmp_path / "store.db")
    conflicts = undos = 0
    try:
        for number in range(steps // _STEPS_OF_ONE):
            walk = Walk(tmp_path, store, number, random.Random(number))
            for _ in range(_STEPS_OF_ONE):
                await walk.step()
            conflicts, undos = conflicts + walk.conflicts, undos + walk.undos
    finally:
        await store.close()
    assert undos > steps // 20
    assert conflicts < undos * 0.8
