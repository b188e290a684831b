"""A part that fails holds nobody up: each socket goes on without it, or refuses, or ends the turn.

The parts that fail here are new ones, put in front of the real ones; a store that cannot be
written is another matter: no part may hide it.
"""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel

from agent_ls.domain.approvals import ApprovalChoice
from agent_ls.domain.calls import Effect, ErrorKind, ToolKind
from agent_ls.domain.edits import EditOutcome, FileEdit
from agent_ls.domain.errors import StoreError, WorkspaceError
from agent_ls.domain.events import (
    Answered,
    ApprovalRequested,
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
from agent_ls.loop.ports.commands import CommandMark
from agent_ls.loop.services import Services
from agent_ls.loop.state.recorder import Recorder
from agent_ls.loop.state.view import TurnView
from agent_ls.safety.rules import SavedRules
from agent_ls.session.session import BuildKit
from agent_ls.session.sessions import Sessions
from tests.loop.conftest import Stage
from tests.support.turns import TURN_LIMIT_S, User

pytestmark = pytest.mark.asyncio(loop_scope="session")

SCENARIO = """
[[answer]]
[[answer.call]]
tool = "run_command"
arguments = { command = "echo made > made.txt" }

[[answer]]
text = "Done."
"""
EDITS_A = """
[[answer]]
[[answer.call]]
tool = "edit_file"
arguments = { path = "a.txt", edits = [{ old_string = "old", new_string = "new" }] }

[[answer]]
text = "Not done."
"""
SAYS_DONE = '[[answer]]\ntext = "Done."\n'


@dataclasses.dataclass(frozen=True)
class Broken:
    """A part of any socket that fails whenever it is asked."""

    error: Exception
    name: ClassVar[str] = "broken"
    stop: ClassVar[StopReason] = StopReason.UNVERIFIED
    effect: ClassVar[Effect] = Effect.READ
    kind: ClassVar[ToolKind] = ToolKind.OTHER
    cap: int = 1

    class Arguments(BaseModel):
        model_config = {"extra": "allow"}

    async def fail(self, *_: object) -> Any:
        raise self.error

    judge = check = propose = follow = run = preview = fail

    def paths(self, _: object) -> tuple[str, ...]:
        return ()

    def grant(self, _: object) -> str | None:
        return None


class BrokenTool(Broken):
    """In place of the tool that runs commands."""

    name: ClassVar[str] = "run_command"


@dataclasses.dataclass(frozen=True)
class Doubting:
    """A gate that asks the user about the first answer it sees."""

    name: ClassVar[str] = "doubting"
    stop: ClassVar[StopReason] = StopReason.UNVERIFIED
    cap: int = 1

    async def judge(self, _: object, view: TurnView) -> GateVerdict:
        if list(view.each(QuestionAsked)):
            return Pass()
        return Escalate("Is it good?", StopReason.LOW_CONFIDENCE)


class Other:
    """A part with some methods of its own."""

    def __init__(self, whole: Any, **methods: Callable[..., Any]) -> None:
        self._whole = whole
        for name, method in methods.items():
            setattr(self, name, method)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)


def gives(value: object) -> Callable[..., Any]:
    """Return an asynchronous function that gives the value, or raises it."""

    async def give(*_: object, **_named: object) -> Any:
        if isinstance(value, Exception):
            raise value
        return value

    return give


Change = Callable[[Services], Services]


def without(socket: str, error: Exception) -> Change:
    """Return what puts a part into the socket that fails."""
    broken = Broken(error)

    def change(services: Services) -> Services:
        match socket:
            case "tool":
                tools = {**services.tools, "run_command": BrokenTool(error)}
                return dataclasses.replace(services, tools=tools)
            case "watch before":
                return dataclasses.replace(
                    services, watch=Other(services.watch, begin=gives(error))
                )
            case "watch after":
                return dataclasses.replace(
                    services, watch=Other(services.watch, changes=gives(error))
                )
            case _:
                return dataclasses.replace(
                    services, **{socket: (broken, *getattr(services, socket))}
                )

    return change


def in_workspace(**methods: Callable[..., Any]) -> Change:
    return lambda services: dataclasses.replace(
        services, workspace=Other(services.workspace, **methods)
    )


def put_in(sessions: Sessions, change: Change) -> None:
    builder = sessions._kit_builder

    def changed() -> BuildKit:
        built = builder()
        return lambda approver, recorder: change(built(approver, recorder))

    sessions._kit_builder = changed


async def check(
    folder: Path,
    stage: Stage,
    change: Change = lambda services: services,
    *,
    settings: str = 'mode = "auto"',
    answers: tuple[str, ...] = (),
    scenario: str = SCENARIO,
    is_strict: bool = True,
) -> tuple[TurnEnded, list[Any]]:
    """Run a turn with other parts; return how it ended, and its events."""
    async with stage.opened(
        folder, scenario, settings_toml=settings, is_strict=is_strict
    ) as sessions:
        put_in(sessions, change)
        session = await sessions.create()
        user = User(session, list(answers))
        session.follow(user)
        await session.submit("Make it.")
        async with asyncio.timeout(TURN_LIMIT_S):
            ended = await session.wait_idle()
    assert ended is not None
    return ended, user.events


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
        ("tool", False, "The tool itself failed (ValueError: boom)."),
    ],
)
async def test_the_turn_goes_on_without_a_part_that_fails(
    folder: Path, stage: Stage, socket: str, happens: bool, says: str
) -> None:
    ended, events = await check(folder, stage, without(socket, ValueError("boom")))
    assert (ended.stop, ended.output) == (StopReason.COMPLETED, "Done.")
    assert (folder / "made.txt").exists() is happens
    [result] = [one.result for one in events if isinstance(one, ToolCallFinished)]
    assert says in result.text
    assert (result.error is None) is happens


@pytest.mark.parametrize("mode", ["ask", "accept-edits", "auto"])
@pytest.mark.parametrize("answer", ["allow_once", "reject_once"])
async def test_a_guard_that_fails_asks_the_user_and_tells_the_model_nothing_of_it(
    folder: Path, stage: Stage, caplog: pytest.LogCaptureFixture, mode: str, answer: str
) -> None:
    change = without("guards", ValueError("embedded null byte"))
    ended, events = await check(
        folder, stage, change, settings=f'mode = "{mode}"', answers=(answer,)
    )
    assert (ended.stop, ended.output) == (StopReason.COMPLETED, "Done.")
    [asked] = [one.request for one in events if isinstance(one, ApprovalRequested)]
    assert asked.reason.startswith("agent-ls could not check this call, as its log says.")
    # No grant may answer for what was not checked.
    assert ApprovalChoice.ALLOW_SESSION not in asked.choices
    assert (folder / "made.txt").exists() is (answer == "allow_once")
    [result] = [one.result for one in events if isinstance(one, ToolCallFinished)]
    assert not re.search("null byte|broken|ValueError|could not check", result.text)
    assert "embedded null byte" in caplog.text


async def test_a_command_whose_changes_may_be_unseen_says_so(folder: Path, stage: Stage) -> None:
    mark = CommandMark(gap="only the first 2 files of project are watched")
    watch = Other(None, begin=gives(mark), changes=gives(()), editing=lambda _: nullcontext())
    _, events = await check(
        folder, stage, lambda services: dataclasses.replace(services, watch=watch)
    )
    [result] = [one.result for one in events if isinstance(one, ToolCallFinished)]
    assert "what the command changed elsewhere is in no review" in result.text


@pytest.mark.parametrize("socket", ["checks", "follow_ups", "tool"])
async def test_no_part_hides_that_nothing_can_be_stored(
    folder: Path, stage: Stage, socket: str
) -> None:
    change = without(socket, StoreError("the disk is full"))
    ended, events = await check(folder, stage, change, is_strict=False)
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
    folder: Path, stage: Stage, error: Exception, words: str
) -> None:
    ended, _ = await check(folder, stage, in_workspace(describe=gives(error)), is_strict=False)
    assert ended.stop is StopReason.ERROR
    assert words in ended.failure_reason


@pytest.mark.parametrize(
    ("limit", "recorded", "counts"),
    [
        (0, [], "6 files, of which 0 are under review. The other 6 are not, 4 of them new"),
        (3, ["t.txt", "z.txt", "a1"], "6 files, of which 3 are under review. The other 3 are not"),
        (6, ["t.txt", "z.txt", "a1", "a2", "a3", "a4"], ""),
    ],
)
async def test_of_many_changes_of_a_command_the_known_files_are_recorded_and_the_rest_told(
    folder: Path, stage: Stage, limit: int, recorded: list[str], counts: str
) -> None:
    for name in ("t.txt", "z.txt"):
        (folder / name).write_text("one\n")
    run = "touch a1 a2 a3; head -c 9 /dev/zero > a4; rm t.txt; echo two >> z.txt"
    settings = f'mode = "auto"\nloop.max_command_changes = {limit}\n'
    scenario = SCENARIO.replace("echo made > made.txt", run)
    _, events = await check(folder, stage, settings=settings, scenario=scenario)
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
async def test_a_gate_may_ask_the_user(
    folder: Path, stage: Stage, answer: str, stop: StopReason
) -> None:
    scenario = SCENARIO + SAYS_DONE

    def doubts(services: Services) -> Services:
        return dataclasses.replace(services, gates=(Doubting(),))

    ended, events = await check(folder, stage, doubts, answers=(answer,), scenario=scenario)
    assert ended.stop is stop
    [asked] = [one.question for one in events if isinstance(one, QuestionAsked)]
    assert asked.origin == "doubting"


async def test_a_yes_for_good_that_cannot_be_written_down_holds_for_the_session(
    folder: Path, stage: Stage
) -> None:
    nowhere = SavedRules(Path(__file__) / "rules.json")
    ended, events = await check(
        folder,
        stage,
        lambda services: dataclasses.replace(services, rules=nowhere),
        settings='mode = "ask"',
        answers=("allow_always",),
    )
    assert ended.stop is StopReason.COMPLETED
    assert (folder / "made.txt").exists()
    [resolved] = [one for one in events if isinstance(one, ApprovalResolved)]
    assert resolved.grant is not None


async def test_an_edit_that_is_on_its_way_when_the_turn_is_stopped_has_its_outcome(
    folder: Path, stage: Stage
) -> None:
    scenario = """
[[answer]]
[[answer.call]]
tool = "write_file"
arguments = { path = "a.txt", content = "hello\\n" }
"""
    begun = asyncio.Event()

    def slow(services: Services) -> Services:
        async def apply(edit: FileEdit) -> EditOutcome:
            begun.set()
            await asyncio.sleep(0.3)
            return await services.workspace.apply(edit)

        return in_workspace(apply=apply)(services)

    settings = 'mode = "auto"\nloop.cancel_grace_s = 0.05\n'
    async with stage.opened(folder, scenario, settings_toml=settings) as sessions:
        put_in(sessions, slow)
        session = await sessions.create()
        user = User(session, [])
        session.follow(user)
        async with asyncio.timeout(TURN_LIMIT_S):
            await session.submit("Write it.")
            await begun.wait()
            await session.cancel("test")
            ended = await session.wait_idle()
    assert ended is not None
    assert ended.stop is StopReason.CANCELLED
    [applied] = [one for one in user.events if isinstance(one, EditApplied)]
    assert applied.status == "applied"
    assert (folder / "a.txt").read_text() == "hello\n"
    kinds = [type(one) for one in user.events]
    assert kinds.index(EditApplied) < kinds.index(TurnEnded)


@pytest.mark.parametrize(
    ("call", "path", "error"),
    [
        ('write_file"\narguments = { path = "a.txt", content = "a" }', "a.txt", OSError("worn")),
        ('move_file"\narguments = { path = "b.txt", new_path = "c.txt" }', "b.txt", OSError()),
        ('delete_file"\narguments = { path = "b.txt" }', "b.txt", WorkspaceError("no permission")),
    ],
    ids=["written", "moved", "deleted"],
)
async def test_an_edit_has_its_outcome_although_its_file_cannot_be_read_any_more(
    folder: Path, stage: Stage, call: str, path: str, error: Exception
) -> None:
    (folder / "b.txt").write_text("b")

    def unreadable_afterwards(services: Services) -> Services:
        async def apply(edit: FileEdit) -> EditOutcome:
            other.snapshot = gives(error)
            return await services.workspace.apply(edit)

        other = Other(services.workspace, apply=apply)
        return dataclasses.replace(services, workspace=other)

    scenario = f'[[answer]]\n[[answer.call]]\ntool = "{call}\n{SAYS_DONE}'
    ended, events = await check(folder, stage, unreadable_afterwards, scenario=scenario)
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
    folder: Path, stage: Stage, outcome: EditOutcome, said: str
) -> None:
    (folder / "a.txt").write_text("old")
    stubborn = in_workspace(apply=gives(outcome))
    ended, events = await check(folder, stage, stubborn, scenario=EDITS_A)
    assert ended.output == "Not done."
    [result] = [one.result for one in events if isinstance(one, ToolCallFinished)]
    assert (result.error, result.text[: len(said)]) == (ErrorKind.RUNTIME, said)
    tries = [one.status for one in events if isinstance(one, EditApplied)]
    assert tries == [outcome.status] * (8 if outcome.status == "stale" else 1)


def store_at(
    recorder: Recorder, kind: type[object], before: Exception | None = None, after_s: float = 0.0
) -> None:
    """From the first event of this kind on, let the store fail, or take its time."""
    whole, reached = recorder._store, list[bool]()

    async def append(events: Sequence[StoredEvent], *, durable: bool) -> None:
        if isinstance(events[0].event, kind):
            reached.append(True)
        if reached and before is not None:
            raise before
        await whole.append(events, durable=durable)
        if reached:
            await asyncio.sleep(after_s)

    recorder._store = Other(whole, append=append)


async def test_an_end_that_cannot_be_stored_is_raised_after_it_was_shown(
    folder: Path, stage: Stage
) -> None:
    settings = 'mode = "auto"'
    async with stage.opened(folder, SCENARIO, settings_toml=settings, is_strict=False) as sessions:
        session = await sessions.create()
        user = User(session, [])
        session.follow(user)
        store_at(session._recorder, ToolCallStarted, StoreError("the disk is full"))
        await session.submit("Make it.")
        with pytest.raises(StoreError, match="the disk is full"):
            await session.wait_idle()
    [result] = [one.result for one in user.events if isinstance(one, ToolCallFinished)]
    assert result.error is ErrorKind.INTERRUPTED
    [ended] = [one for one in user.events if isinstance(one, TurnEnded)]
    assert (ended.stop, ended.failure_reason) == (StopReason.ERROR, "the disk is full")
    assert not (folder / "made.txt").exists()


async def test_an_answer_that_came_just_in_time_counts(folder: Path, stage: Stage) -> None:
    settings = "loop.step_timeout_s = 1\n"
    async with stage.opened(folder, SAYS_DONE, settings_toml=settings) as sessions:
        session = await sessions.create()
        store_at(session._recorder, Answered, after_s=1.5)
        await session.submit("Say it.")
        ended = await session.wait_idle()
    assert ended is not None
    assert (ended.stop, ended.output) == (StopReason.COMPLETED, "Done.")


async def test_a_reader_that_fails_is_told_once_and_the_others_see_everything(
    folder: Path, stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing:
        def on_event(self, stored: StoredEvent) -> None:
            raise ValueError("boom")

        def on_ephemeral(self, session_id: str, piece: object) -> None:
            raise ValueError("boom")

    async with stage.opened(folder, SAYS_DONE) as sessions:
        session = await sessions.create()
        session.follow(Failing())
        user = User(session, [])
        session.follow(user)
        await session.submit("Say it.")
        await session.wait_idle()
    assert isinstance(user.events[-1], TurnEnded)
    said = [one for one in caplog.records if "it is told once" in one.message]
    assert len(said) == 1


@pytest.mark.parametrize(
    ("settings", "typed", "status"),
    [("", 7, "applied"), ("loop.max_replans = 2\n", 3, "stale")],
)
async def test_an_edit_is_planned_again_as_long_as_somebody_types(
    folder: Path, stage: Stage, settings: str, typed: int, status: str
) -> None:
    (folder / "a.txt").write_text("old\n")
    left = [True] * typed

    def typed_in(services: Services) -> Services:
        async def apply(edit: FileEdit) -> EditOutcome:
            if left and left.pop():
                with (folder / "a.txt").open("a") as file:
                    file.write("typed\n")
            return await services.workspace.apply(edit)

        return in_workspace(apply=apply)(services)

    settings = f'mode = "auto"\n{settings}'
    _, events = await check(folder, stage, typed_in, settings=settings, scenario=EDITS_A)
    tries = [one.status for one in events if isinstance(one, EditApplied)]
    assert tries == ["stale"] * typed + ["applied"] * (status == "applied")
    new = "new" if status == "applied" else "old"
    assert (folder / "a.txt").read_text() == f"{new}\n" + "typed\n" * typed
