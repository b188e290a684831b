"""A part that fails holds nobody up: each socket goes on without it, or refuses, or ends the turn.

The parts that fail here are new ones, put in front of the real ones; a store that cannot be
written is another matter: no part may hide it.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel

from agent_ls.domain.approvals import Preview
from agent_ls.domain.calls import Effect, ErrorKind, ToolKind
from agent_ls.domain.edits import EditOutcome, FileEdit
from agent_ls.domain.errors import StoreError, WorkspaceError
from agent_ls.domain.events import (
    Answered,
    ApprovalResolved,
    CommandChanged,
    CommandChangesLeftOut,
    EditApplied,
    QuestionAsked,
    StoredEvent,
    ToolCallFinished,
    ToolCallStarted,
    TurnEnded,
)
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import Escalate, GateVerdict, Pass
from agent_ls.loop.kit import Kit
from agent_ls.loop.ports.commands import CommandChange, CommandMark
from agent_ls.loop.ports.models import Provider
from agent_ls.loop.ports.people import Approver
from agent_ls.loop.state.recorder import Recorder
from agent_ls.loop.state.view import TurnView
from agent_ls.safety.rules import SavedRules
from tests.support.scripted import scripted
from tests.support.turns import TURN_LIMIT_S, Person, open_test_sessions

pytestmark = pytest.mark.asyncio(loop_scope="session")

SCENARIO = """
[[answer]]
[[answer.call]]
tool = "run_command"
arguments = { command = "echo made > made.txt" }

[[answer]]
text = "Done."
"""


@dataclasses.dataclass(frozen=True)
class Broken:
    """A part of any socket that fails whenever it is asked."""

    error: Exception
    name: ClassVar[str] = "broken"
    stop: ClassVar[StopReason] = StopReason.UNVERIFIED
    cap: int = 1

    async def judge(self, *_: object) -> Any:
        raise self.error

    async def check(self, _: object) -> Any:
        raise self.error

    async def propose(self, _: object) -> Any:
        raise self.error

    async def follow(self, *_: object) -> Any:
        raise self.error


class Nothing(BaseModel):
    """No arguments."""

    model_config = {"extra": "allow"}


@dataclasses.dataclass(frozen=True)
class BrokenTool:
    """A tool that fails, in place of the one that runs commands."""

    error: Exception
    name: ClassVar[str] = "run_command"
    description: ClassVar[str] = "Fails."
    effect: ClassVar[Effect] = Effect.READ
    kind: ClassVar[ToolKind] = ToolKind.OTHER
    Arguments: ClassVar[type[BaseModel]] = Nothing

    def paths(self, _: object) -> tuple[str, ...]:
        return ()

    def grant(self, _: object) -> str | None:
        return None

    async def preview(self, _: object) -> Preview:
        raise self.error

    async def run(self, *_: object) -> Any:
        raise self.error


@dataclasses.dataclass(frozen=True)
class Doubting:
    """A gate that asks the person about the first answer it sees."""

    name: ClassVar[str] = "doubting"
    stop: ClassVar[StopReason] = StopReason.UNVERIFIED
    cap: int = 1

    async def judge(self, _: object, view: TurnView) -> GateVerdict:
        if list(view.each(QuestionAsked)):
            return Pass()
        return Escalate("Is it good?", StopReason.LOW_CONFIDENCE)


@dataclasses.dataclass(frozen=True)
class BrokenWatch:
    """A look at the files that fails before a command, or after it."""

    error: Exception
    fails_before: bool

    async def begin(self, _: object) -> CommandMark | None:
        if self.fails_before:
            raise self.error
        return CommandMark()

    async def changes(self, mark: CommandMark) -> tuple[CommandChange, ...]:
        raise self.error

    def edits(self, path: str) -> None:
        """Nothing is remembered."""


class PartialWatch:
    """A look at a part of the files."""

    async def begin(self, _: object) -> CommandMark:
        return CommandMark(gap="only the first 2 files of project are watched")

    async def changes(self, _: CommandMark) -> tuple[CommandChange, ...]:
        return ()

    def editing(self, _: object) -> AbstractContextManager[None]:
        return nullcontext()


class HalfWorkspace:
    """A workspace that cannot describe itself."""

    def __init__(self, whole: Any, error: Exception) -> None:
        self._whole, self._error = whole, error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)

    async def describe(self) -> str:
        raise self._error


class SlowWorkspace(HalfWorkspace):
    """A workspace whose editor takes its time for an edit."""

    def __init__(self, whole: Any, begun: asyncio.Event) -> None:
        super().__init__(whole, ValueError())
        self._begun = begun

    async def describe(self) -> str:
        return ""

    async def apply(self, edit: FileEdit) -> EditOutcome:
        self._begun.set()
        await asyncio.sleep(0.3)
        return await self._whole.apply(edit)


EDITS_A = """
[[answer]]
[[answer.call]]
tool = "edit_file"
arguments = { path = "a.txt", edits = [{ old_string = "old", new_string = "new" }] }

[[answer]]
text = "Not done."
"""


class TypedInWorkspace:
    """A workspace in which somebody types each time just before an edit arrives, so often."""

    def __init__(self, whole: Any, file: Path, times: int) -> None:
        self._whole, self._file, self._times_left = whole, file, times

    async def apply(self, edit: FileEdit) -> EditOutcome:
        if self._times_left:
            self._times_left -= 1
            with self._file.open("a") as file:
                file.write("typed\n")
        return await self._whole.apply(edit)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)


class StubbornWorkspace(HalfWorkspace):
    """A workspace in which no edit comes to anything else."""

    def __init__(self, whole: Any, outcome: EditOutcome) -> None:
        super().__init__(whole, ValueError())
        self._outcome = outcome

    async def describe(self) -> str:
        return ""

    async def apply(self, edit: FileEdit) -> EditOutcome:
        return self._outcome


class UnreadableAfterwards(HalfWorkspace):
    """A workspace whose files cannot be read once they have been changed."""

    def __init__(self, whole: Any, error: Exception) -> None:
        super().__init__(whole, error)
        self._is_changed = False

    async def describe(self) -> str:
        return ""

    async def apply(self, edit: FileEdit) -> EditOutcome:
        self._is_changed = True
        return await self._whole.apply(edit)

    async def snapshot(self, path: str) -> bytes | None:
        if self._is_changed:
            raise self._error
        return await self._whole.snapshot(path)


class OtherStore:
    """A store that does something else when it is given a certain kind of event."""

    def __init__(
        self, whole: Any, kind: type[object], instead: Callable[[Coroutine[Any, Any, None]], Any]
    ) -> None:
        self._whole, self._kind, self._instead = whole, kind, instead
        self._is_reached = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)

    async def append(self, events: Sequence[StoredEvent], *, durable: bool) -> None:
        self._is_reached = self._is_reached or isinstance(events[0].event, self._kind)
        storing = self._whole.append(events, durable=durable)
        await (self._instead(storing) if self._is_reached else storing)


def with_part(kit: Kit, socket: str, error: Exception) -> Kit:
    """Return the kit with a part of that socket that fails."""
    match socket:
        case "tool":
            return dataclasses.replace(kit, tools={**kit.tools, "run_command": BrokenTool(error)})
        case "watch before" | "watch after":
            return dataclasses.replace(kit, watch=BrokenWatch(error, socket == "watch before"))
        case "doubt":
            return dataclasses.replace(kit, gates=(Doubting(),))
        case "rules":
            nowhere = Path(__file__) / "rules.json"
            return dataclasses.replace(kit, rules=SavedRules(nowhere))
        case "unreadable":
            return dataclasses.replace(kit, workspace=UnreadableAfterwards(kit.workspace, error))
        case "recoveries":
            return dataclasses.replace(kit, recoveries=())
        case "workspace":
            return dataclasses.replace(kit, workspace=HalfWorkspace(kit.workspace, error))
        case _:
            return dataclasses.replace(kit, **{socket: (Broken(error), *getattr(kit, socket))})


async def check(
    folder: Path,
    host: Provider,
    port: int,
    socket: str,
    error: Exception,
    *,
    settings: str = 'mode = "auto"',
    answers: tuple[str, ...] = (),
    scenario: str = SCENARIO,
    is_strict: bool = True,
    change: Callable[[Kit], Kit] = lambda kit: kit,
) -> tuple[TurnEnded, list[Any]]:
    """Run a turn with one command; return how it ended, and its events."""
    async with (
        scripted(scenario, port=port, is_strict=is_strict),
        open_test_sessions(folder, host, settings_toml=settings) as sessions,
    ):
        built = sessions._build_kit

        def build(approver: Approver, recorder: Recorder) -> Kit:
            kit = change(built(approver, recorder))
            return with_part(kit, socket, error) if socket else kit

        sessions._build_kit = build
        session = await sessions.create()
        person = Person(session, list(answers))
        session.follow(person)
        await session.submit("Make it.")
        async with asyncio.timeout(TURN_LIMIT_S):
            ended = await session.wait_idle()
    assert ended is not None
    return ended, person.events


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    return place


@pytest.mark.parametrize(
    ("socket", "happens", "says"),
    [
        ("checks", True, ""),
        ("injections", True, ""),
        ("follow_ups", True, ""),
        ("gates", True, ""),
        ("watch before", True, ""),
        ("watch after", True, ""),
        ("guards", False, "The check broken failed, so the call was not run. The log says why."),
        ("tool", False, "The tool itself failed (ValueError: boom)."),
    ],
)
async def test_the_turn_goes_on_without_a_part_that_fails(
    folder: Path, model_host: Provider, model_port: int, socket: str, happens: bool, says: str
) -> None:
    ended, events = await check(folder, model_host, model_port, socket, ValueError("boom"))
    assert (ended.stop, ended.output) == (StopReason.COMPLETED, "Done.")
    assert (folder / "made.txt").exists() is happens
    [result] = [one.result for one in events if isinstance(one, ToolCallFinished)]
    assert says in result.text
    assert (result.error is None) is happens


async def test_a_command_whose_changes_may_be_unseen_says_so(
    folder: Path, model_host: Provider, model_port: int
) -> None:
    _, events = await check(
        folder,
        model_host,
        model_port,
        "",
        ValueError(),
        change=lambda kit: dataclasses.replace(kit, watch=PartialWatch()),
    )
    [result] = [one.result for one in events if isinstance(one, ToolCallFinished)]
    assert "what the command changed elsewhere is in no review" in result.text


@pytest.mark.parametrize(
    "socket", ["checks", "injections", "follow_ups", "gates", "guards", "tool"]
)
async def test_no_part_hides_that_nothing_can_be_stored(
    folder: Path, model_host: Provider, model_port: int, socket: str
) -> None:
    error = StoreError("the disk is full")
    ended, events = await check(folder, model_host, model_port, socket, error, is_strict=False)
    assert ended.stop is StopReason.ERROR
    assert "the disk is full" in ended.failure_reason
    # Every call has its result all the same.
    results = [one.result for one in events if isinstance(one, ToolCallFinished)]
    assert all(one.error in (None, ErrorKind.INTERRUPTED) for one in results)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (WorkspaceError("the folder is gone"), "the folder is gone"),
        (RuntimeError("boom"), "RuntimeError: boom"),
    ],
)
async def test_what_no_socket_catches_ends_the_turn_with_its_words(
    folder: Path, model_host: Provider, model_port: int, error: Exception, words: str
) -> None:
    ended, _ = await check(folder, model_host, model_port, "workspace", error, is_strict=False)
    assert ended.stop is StopReason.ERROR
    assert words in ended.failure_reason


@pytest.mark.parametrize(
    ("limit", "recorded", "counts"),
    [
        (0, [], "6 files, of which 0 are under review. The other 6 are not, 4 of them new"),
        (
            3,
            ["t.txt", "z.txt", "a1"],
            "6 files, of which 3 are under review. The other 3 are not, 3",
        ),
        (6, ["t.txt", "z.txt", "a1", "a2", "a3", "a4"], ""),
    ],
)
async def test_of_many_changes_of_a_command_the_known_files_are_recorded_and_the_rest_told(
    folder: Path,
    model_host: Provider,
    model_port: int,
    limit: int,
    recorded: list[str],
    counts: str,
) -> None:
    for name in ("t.txt", "z.txt"):
        (folder / name).write_text("one\n")
    run = "touch a1 a2 a3; head -c 9 /dev/zero > a4; rm t.txt; echo two >> z.txt"
    _, events = await check(
        folder,
        model_host,
        model_port,
        "",
        ValueError(),
        settings=f'mode = "auto"\nloop.max_command_changes = {limit}\n',
        scenario=SCENARIO.replace("echo made > made.txt", run),
    )
    assert [one.path for one in events if isinstance(one, CommandChanged)] == recorded
    [result] = [one.result for one in events if isinstance(one, ToolCallFinished)]
    told = [one.text for one in events if isinstance(one, CommandChangesLeftOut)]
    assert ("under review" in result.text) is bool(told) is bool(counts)
    assert counts in "".join(told)
    assert counts in result.text


@pytest.mark.parametrize(
    ("answer", "stop"),
    [("continue", StopReason.COMPLETED), ("stop", StopReason.LOW_CONFIDENCE)],
)
async def test_a_gate_may_ask_the_person(
    folder: Path, model_host: Provider, model_port: int, answer: str, stop: StopReason
) -> None:
    again = '[[answer]]\ntext = "Still done."\n' if answer == "continue" else ""
    ended, events = await check(
        folder,
        model_host,
        model_port,
        "doubt",
        ValueError(),
        answers=(answer,),
        scenario=SCENARIO + again,
    )
    assert ended.stop is stop
    [asked] = [one.question for one in events if isinstance(one, QuestionAsked)]
    assert asked.origin == "doubting"


async def test_a_yes_for_good_that_cannot_be_written_down_holds_for_the_session(
    folder: Path, model_host: Provider, model_port: int
) -> None:
    ended, events = await check(
        folder,
        model_host,
        model_port,
        "rules",
        ValueError(),
        settings='mode = "ask"',
        answers=("allow_always",),
    )
    assert ended.stop is StopReason.COMPLETED
    assert (folder / "made.txt").exists()
    [resolved] = [one for one in events if isinstance(one, ApprovalResolved)]
    assert resolved.grant is not None


async def test_an_edit_that_is_on_its_way_when_the_turn_is_stopped_has_its_outcome(
    folder: Path, model_host: Provider, model_port: int
) -> None:
    scenario = """
[[answer]]
[[answer.call]]
tool = "write_file"
arguments = { path = "a.txt", content = "hello\\n" }
"""
    settings = 'mode = "auto"\nloop.cancel_grace_s = 0.05\n'
    begun = asyncio.Event()
    async with (
        scripted(scenario, port=model_port),
        open_test_sessions(folder, model_host, settings_toml=settings) as sessions,
    ):
        built = sessions._build_kit

        def build(approver: Approver, recorder: Recorder) -> Kit:
            kit = built(approver, recorder)
            tool = dataclasses.replace(
                kit.tools["write_file"], workspace=SlowWorkspace(kit.workspace, begun)
            )
            tools = {**kit.tools, "write_file": tool}
            return dataclasses.replace(
                kit, tools=tools, workspace=SlowWorkspace(kit.workspace, begun)
            )

        sessions._build_kit = build
        session = await sessions.create()
        person = Person(session, [])
        session.follow(person)
        async with asyncio.timeout(TURN_LIMIT_S):
            await session.submit("Write it.")
            await begun.wait()
            await session.cancel("test")
            ended = await session.wait_idle()
    assert ended is not None
    assert ended.stop is StopReason.CANCELLED
    [applied] = [one for one in person.events if isinstance(one, EditApplied)]
    assert applied.status == "applied"
    assert (folder / "a.txt").read_text() == "hello\n"
    kinds = [type(one) for one in person.events]
    assert kinds.index(EditApplied) < kinds.index(TurnEnded)


@pytest.mark.parametrize(
    ("call", "path", "error"),
    [
        (
            'write_file"\narguments = { path = "a.txt", content = "a" }',
            "a.txt",
            OSError("worn out"),
        ),
        ('move_file"\narguments = { path = "b.txt", new_path = "c.txt" }', "b.txt", OSError()),
        ('delete_file"\narguments = { path = "b.txt" }', "b.txt", WorkspaceError("no permission")),
    ],
    ids=["written", "moved", "deleted"],
)
async def test_an_edit_has_its_outcome_although_its_file_cannot_be_read_any_more(
    folder: Path, model_host: Provider, model_port: int, call: str, path: str, error: Exception
) -> None:
    (folder / "b.txt").write_text("b")
    scenario = f'[[answer]]\n[[answer.call]]\ntool = "{call}\n[[answer]]\ntext = "Done."\n'
    ended, events = await check(
        folder, model_host, model_port, "unreadable", error, scenario=scenario
    )
    assert ended.stop is StopReason.COMPLETED
    [applied] = [one for one in events if isinstance(one, EditApplied)]
    assert (applied.path, applied.status) == (path, "applied")
    assert (applied.after_blob is None) is ("delete" in call)


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (EditOutcome(status="stale"), "a.txt was not changed: it changed meanwhile. Read it again"),
        (EditOutcome(status="refused", reason="Read-only."), "a.txt was not changed: Read-only."),
        (
            EditOutcome(status="unconfirmed", reason="The editor is silent."),
            "a.txt: The editor is silent. Read it before doing anything else with it.",
        ),
    ],
    ids=lambda value: value.status if isinstance(value, EditOutcome) else "",
)
async def test_the_model_learns_why_an_edit_did_not_happen(
    folder: Path, model_host: Provider, model_port: int, outcome: EditOutcome, said: str
) -> None:
    (folder / "a.txt").write_text("old")
    ended, events = await check(
        folder,
        model_host,
        model_port,
        "",
        ValueError(),
        scenario=EDITS_A,
        change=lambda kit: dataclasses.replace(
            kit, workspace=StubbornWorkspace(kit.workspace, outcome)
        ),
    )
    assert ended.output == "Not done."
    [result] = [one.result for one in events if isinstance(one, ToolCallFinished)]
    assert (result.error, result.text[: len(said)]) == (ErrorKind.RUNTIME, said)
    tries = [one.status for one in events if isinstance(one, EditApplied)]
    assert tries == [outcome.status] * (8 if outcome.status == "stale" else 1)


async def test_without_recoveries_a_failed_request_ends_the_turn_with_what_went_wrong(
    folder: Path, model_host: Provider, model_port: int
) -> None:
    scenario = '[[answer]]\nerror = { status = 400, message = "no such thing" }\n'
    ended, _ = await check(
        folder, model_host, model_port, "recoveries", ValueError(), scenario=scenario
    )
    assert ended.stop is StopReason.ERROR
    assert "no such thing" in ended.failure_reason


async def full(storing: Coroutine[Any, Any, None]) -> None:
    storing.close()
    raise StoreError("the disk is full")


async def late(storing: Coroutine[Any, Any, None]) -> None:
    await storing
    await asyncio.sleep(1.5)


async def test_an_end_that_cannot_be_stored_is_raised_after_it_was_shown(
    folder: Path, model_host: Provider, model_port: int
) -> None:
    async with (
        scripted(SCENARIO, port=model_port, is_strict=False),
        open_test_sessions(folder, model_host, settings_toml='mode = "auto"') as sessions,
    ):
        session = await sessions.create()
        person = Person(session, [])
        session.follow(person)
        recorder = session._recorder
        recorder._store = OtherStore(recorder._store, ToolCallStarted, full)
        await session.submit("Make it.")
        with pytest.raises(StoreError, match="the disk is full"):
            await session.wait_idle()
    [result] = [one.result for one in person.events if isinstance(one, ToolCallFinished)]
    assert result.error is ErrorKind.INTERRUPTED
    [ended] = [one for one in person.events if isinstance(one, TurnEnded)]
    assert (ended.stop, ended.failure_reason) == (StopReason.ERROR, "the disk is full")
    assert not (folder / "made.txt").exists()


async def test_an_answer_that_came_just_in_time_counts(
    folder: Path, model_host: Provider, model_port: int
) -> None:
    settings = 'mode = "auto"\nloop.step_timeout_s = 1\n'
    async with (
        scripted('[[answer]]\ntext = "Done."\n', port=model_port),
        open_test_sessions(folder, model_host, settings_toml=settings) as sessions,
    ):
        session = await sessions.create()
        recorder = session._recorder
        recorder._store = OtherStore(recorder._store, Answered, late)
        await session.submit("Say it.")
        ended = await session.wait_idle()
    assert ended is not None
    assert (ended.stop, ended.output) == (StopReason.COMPLETED, "Done.")


async def test_a_reader_that_fails_is_told_once_and_the_others_see_everything(
    folder: Path, model_host: Provider, model_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing:
        def on_event(self, stored: StoredEvent) -> None:
            raise ValueError("boom")

        def on_ephemeral(self, session_id: str, piece: object) -> None:
            raise ValueError("boom")

    async with (
        scripted('[[answer]]\ntext = "Done."\n', port=model_port),
        open_test_sessions(folder, model_host) as sessions,
    ):
        session = await sessions.create()
        session.follow(Failing())
        person = Person(session, [])
        session.follow(person)
        await session.submit("Say it.")
        await session.wait_idle()
    assert isinstance(person.events[-1], TurnEnded)
    said = [one for one in caplog.records if "it is told once" in one.message]
    assert len(said) == 1


@pytest.mark.parametrize(
    ("settings", "typed", "status"),
    [
        ("", 7, "applied"),
        ("loop.max_replans = 2\n", 3, "stale"),
    ],
)
async def test_an_edit_is_planned_again_as_long_as_somebody_types(
    folder: Path, model_host: Provider, model_port: int, settings: str, typed: int, status: str
) -> None:
    (folder / "a.txt").write_text("old\n")
    _, events = await check(
        folder,
        model_host,
        model_port,
        "",
        ValueError(),
        settings=f'mode = "auto"\n{settings}',
        scenario=EDITS_A,
        change=lambda kit: dataclasses.replace(
            kit, workspace=TypedInWorkspace(kit.workspace, folder / "a.txt", typed)
        ),
    )
    tries = [one.status for one in events if isinstance(one, EditApplied)]
    assert tries == ["stale"] * typed + ["applied"] * (status == "applied")
    new = "new" if status == "applied" else "old"
    assert (folder / "a.txt").read_text() == f"{new}\n" + "typed\n" * typed
