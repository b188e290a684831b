"""A session whose agent is the test: real store, real disk, real events, no model."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from agent_ls.assembly import SystemClock
from agent_ls.domain import events as e
from agent_ls.domain.calls import ToolCall
from agent_ls.domain.edits import (
    ChangeText,
    CreateFile,
    DeleteFile,
    EditOutcome,
    FileEdit,
    MoveFile,
)
from agent_ls.domain.ids import Ids
from agent_ls.domain.modes import Mode
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.edits.minimal import replacements_between
from agent_ls.loop.calls.command_changes import stored_change
from agent_ls.loop.calls.edit_recorder import EditRecorder
from agent_ls.loop.edit_order import EditOrder
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.ports.store import Journals
from agent_ls.loop.ports.workspace import Root, Workspace
from agent_ls.loop.state.recorder import Recorder
from agent_ls.review.ledger import Selection
from agent_ls.review.restore import RestorePoint, moment_before
from agent_ls.review.review import Review
from agent_ls.review.steps import FileResult
from agent_ls.store import schema
from agent_ls.store.sql_store import SqlStore, open_store
from agent_ls.tools.run_command import RunCommand, RunCommandArguments
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.runner import ShellRunner
from agent_ls.workspace.tree_watch import TreeWatch


class TypedBehind:
    """A workspace in which somebody types right behind an edit."""

    def __init__(self, whole: Workspace, types: Callable[[], None]) -> None:
        self._whole, self._types = whole, types

    async def apply(self, edit: FileEdit) -> EditOutcome:
        outcome = await self._whole.apply(edit)
        self._types()
        return outcome

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)


class NeverTwice(SystemClock):
    """The machine's clock, which no two events have the same time by, however quick the disk."""

    def __init__(self) -> None:
        self._last_ms = 0

    def now_ms(self) -> int:
        """Return the wall clock, later than the time before."""
        self._last_ms = max(self._last_ms + 1, super().now_ms())
        return self._last_ms


async def _nobody_else() -> None:
    """Nobody else writes the session."""


@dataclass
class Reviewed:
    """One session on a folder."""

    folder: Path
    store: SqlStore
    clock: NeverTwice = field(default_factory=NeverTwice)
    review: Review = field(init=False)
    recorder: Recorder = field(init=False)
    workspace: Workspace = None  # pyright: ignore[reportAssignmentType] - the disk, if not given
    journals: Journals | None = None
    """Where the review reads journals; the store, if not given."""
    claim: Callable[[], Awaitable[None]] = _nobody_else
    """Awaited before a decision."""
    session_id: str = "ses_1"
    turns: int = 0
    calls: int = 0
    watch: TreeWatch = field(init=False)
    """What sees the changes of commands."""
    types_behind: tuple[str, str] | None = None
    """What the user replaces, and by what, right after the agent's next edit."""

    def __post_init__(self) -> None:
        if self.workspace is None:  # pyright: ignore[reportUnnecessaryComparison]
            self.workspace = DiskWorkspace([Root("project", self.folder.resolve(), False)])
        self.watch = TreeWatch(self.workspace)
        self._begin([])

    def _begin(self, journal: list[e.StoredEvent]) -> None:
        self.recorder = Recorder(self.session_id, self.store, self.clock, journal)
        self.review = Review(
            self.recorder,
            workspace=self.workspace,
            journals=self.journals or self.store,
            blobs=self.store,
            ids=Ids(self.clock.now_ms),
            order=EditOrder(),
            watch=self.watch,
            claim=self.claim,
            claimed=nullcontext,
        )

    async def restart(self) -> None:
        """Forget everything but the store."""
        await self.store.append([], durable=True)
        self._begin(await self.store.load(self.session_id))

    async def turn(self) -> str:
        """Begin a turn; the one before is over."""
        self.turns += 1
        turn_id = f"trn_{self.turns}"
        await self.end()
        await self.recorder.emit(e.TurnStarted(turn_id=turn_id, prompt=f"Turn {self.turns}"))
        return turn_id

    async def end(self) -> None:
        state = self.recorder.state
        if state.turn is None:
            roots = (self.folder.as_uri(),)
            await self.recorder.emit(
                e.SessionCreated(session_id=self.session_id, roots=roots, mode=Mode.AUTO, model="m")
            )
        elif state.is_running:
            await self.recorder.emit(
                e.TurnEnded(
                    turn_id=state.turn.turn_id,
                    stop=StopReason.COMPLETED,
                    status=TurnStatus.SUCCESS,
                    output="",
                )
            )

    async def agent(self, path: str, old: str, new: str) -> None:
        """Have the agent replace the first ``old`` of a file."""
        file = await self.workspace.read(path)
        assert old in file.text
        after = file.text.replace(old, new, 1)
        await self.agent_writes(path, after)

    async def agent_writes(self, path: str, text: str | None) -> None:
        """Have the agent give a file this text; None: delete it."""
        if not await self.workspace.exists(path):
            assert text is not None
            await self._edit(CreateFile(path=path, text=text))
            return
        file = await self.workspace.read(path)
        if text is None:
            await self._edit(DeleteFile(path=path, base_version=file.version))
            return
        change = replacements_between(file.text, text)
        await self._edit(ChangeText(path=path, base_version=file.version, replacements=change))

    async def agent_moves(self, path: str, new_path: str) -> None:
        version = (await self.workspace.read(path)).version
        await self._edit(MoveFile(path=path, base_version=version, new_path=new_path))

    async def _edit(self, edit: FileEdit) -> None:
        self.calls += 1
        workspace: Any = self.workspace
        if self.types_behind is not None:
            old, new = self.types_behind
            workspace = TypedBehind(workspace, lambda: self.user(edit.path, old, new))
            self.types_behind = None
        intent = e.EditIntended(call_id=self.call_id, edit=edit, before_blob=None)
        editing = EditRecorder(self.recorder, workspace, self.store, self.watch)
        outcome = await editing.apply(edit, intent)
        assert outcome.status == "applied", outcome

    async def command(self, path: str, text: str | None) -> None:
        """Have a command of the agent's give a file this text; None: delete it."""
        self.calls += 1
        place = self.folder / path
        before = place.read_bytes() if place.exists() else None
        if text is None:
            place.unlink()
        else:
            place.write_bytes(text.encode())
        await self.recorder.emit(
            e.CommandChanged(
                call_id=self.call_id,
                path=path,
                before_blob=None if before is None else await self.store.put_blob(before),
                after_blob=None if text is None else await self.store.put_blob(text.encode()),
            )
        )

    async def runs(self, do: Callable[[], object]) -> None:
        """Have a command of the agent's do something; what it changed is seen and recorded."""
        self.calls += 1
        call = ToolCall(id=self.call_id, provider_id="p", tool="run_command", arguments_json="{}")
        tool = RunCommand(self.workspace, ShellRunner())
        mark = await self.watch.begin(
            PlannedCall(call, tool, RunCommandArguments(command="make it so"))
        )
        assert mark is not None
        do()
        for one in await self.watch.changes(mark):
            await self.recorder.emit(await stored_change(self.call_id, one, self.store))

    @asynccontextmanager
    async def child(self) -> AsyncGenerator[None]:
        """Let the agent's edits be those of a sub-agent, whose journal is its own."""
        parent, self.calls = self.recorder, self.calls + 1
        name = str(self.calls)
        self.recorder = await self.child_begins(name)
        yield
        self.recorder = parent
        await self.child_ends(name)

    async def child_begins(self, name: str) -> Recorder:
        """Start a sub-agent by the call ``cal_child`` with its name; return who records its own."""
        call_id, child_id = f"cal_child{name}", f"ses_child{name}"
        await self.recorder.emit(
            e.ChildStarted(
                call_id=call_id, child_id=child_id, kind="implement", task="Help.", mode=Mode.AUTO
            )
        )
        recorder = self.recorder.child(child_id)
        await recorder.emit(
            e.SessionCreated(
                session_id=child_id, roots=(), mode=Mode.AUTO, model="m", parent_id=self.session_id
            )
        )
        await recorder.emit(e.TurnStarted(turn_id="trn_child", prompt="Help."))
        return recorder

    async def child_ends(self, name: str, *files: str) -> None:
        """Let a sub-agent be over, which tells of these files that it changed them."""
        await self.recorder.emit(
            e.ChildEnded(
                call_id=f"cal_child{name}",
                child_id=f"ses_child{name}",
                kind="implement",
                stop=StopReason.COMPLETED,
                files=tuple(
                    e.ChildFile(path=one, before_blob=None, after_blob=None) for one in files
                ),
            )
        )

    @property
    def call_id(self) -> str:
        """Return the agent's last call."""
        return f"cal_{self.calls}"

    async def before(self, word: str) -> RestorePoint | None:
        """Return the moment before the hunk with this word was changed last."""
        [hunk_id] = await self.ids_of(word)
        return moment_before(await self.review.ledger(), hunk_id)

    def user(self, path: str, old: str, new: str) -> None:
        """Have the user replace the first ``old`` of a file."""
        place = self.folder / path
        text = place.read_bytes().decode()
        assert old in text
        place.write_bytes(text.replace(old, new, 1).encode())

    async def open_hunks(self) -> list[tuple[str, str]]:
        """Return file and old lines of every open hunk, oldest turn first."""
        ledger = await self.review.ledger()
        return [
            (file.path, "|".join(one.old) if one.kind == "text" else one.kind)
            for turn in ledger.turns.values()
            for file in turn.files.values()
            for one in file.open()
        ]

    async def ids_of(self, word: str) -> frozenset[str]:
        """Return the hunks of any state that have this word in their old or new lines."""
        ledger = await self.review.ledger()
        found = frozenset(
            one.id
            for turn in ledger.turns.values()
            for file in turn.files.values()
            for one in file.hunks
            if word in "\n".join((*one.old, *one.new))
        )
        assert found, f"no hunk has {word!r}"
        return found

    async def undo(self, word: str | None = None, **chosen: str) -> list[FileResult]:
        """Undo the hunks with this word, or what is chosen."""
        hunks = None if word is None else await self.ids_of(word)
        return await self.review.decide("undo", Selection(hunks=hunks, **chosen))

    def texts(self) -> dict[str, str]:
        """Return every file."""
        return {
            one.relative_to(self.folder).as_posix(): one.read_bytes().decode()
            for one in sorted(self.folder.rglob("*"))
            if one.is_file()
        }


@asynccontextmanager
async def reviewed(folder: Path, files: dict[str, str]) -> AsyncGenerator[Reviewed]:
    """Open a session on a folder with these files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())
    store = open_store(folder.parent / f"{folder.name}.db")
    try:
        yield Reviewed(folder, store)
    finally:
        await store.close()


async def damage(session: Reviewed, data: bytes) -> None:
    """Let the disk lose these stored bytes."""
    await session.store.append([], durable=True)
    engine = sa.create_engine(
        f"sqlite:///{session.folder.parent / 'work.db'}", poolclass=sa.NullPool
    )
    with engine.begin() as connection:
        digest = hashlib.sha256(data).hexdigest()
        those = sa.update(schema.blobs).where(schema.blobs.c.digest == digest)
        assert connection.execute(those.values(data=b"x\n")).rowcount == 1
