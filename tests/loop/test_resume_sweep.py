"""Every told turn is cut off after its events, as a dying process would, and goes on by itself.

Each cut puts the journal's first events and the files as they were at that moment into a new
store and folder, and resumes there: once with the world right after the event, and once, where
it differs, with the world right before the next one, which is what a lost outcome looks like.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.approvals import ApprovalAnswer, ApprovalChoice, QuestionAnswer
from agent_ls.domain.calls import Effect, ErrorKind
from agent_ls.loop.state.folding import fold_all
from agent_ls.loop.state.state import SessionState
from agent_ls.providers.scenario import Answer, Expect, Scenario
from agent_ls.providers.scripted import ScriptedModel
from agent_ls.session.session import Session
from agent_ls.store.sql_store import open_store
from tests.loop.conftest import Stage
from tests.support.archive import Archive, read_archive
from tests.support.stories import all_stories, opened_story, tell, write_files
from tests.support.turns import TURN_LIMIT_S

pytestmark = pytest.mark.heavy

Files = Mapping[str, bytes]

_AFTER_THE_STORY = Answer(repeat=0, text="There is nothing more to do.")
_EVERY_NTH = 9
_TELLING = (
    e.ToolCallStarted,
    e.EditIntended,
    e.EditApplied,
    e.ApprovalResolved,
    e.PlanProposed,
    e.PlanResolved,
    e.QuestionAsked,
    e.QuestionResolved,
    e.AdvisoryRaised,
    e.FindingsReported,
    e.GateFailed,
    e.HookRan,
    e.NudgeAdded,
    e.RequestPrepared,
    e.Answered,
    e.Compacted,
)
"""After these something may be half done; of each kind the first and every so many are cut."""


@dataclass
class Recording:
    """How the story went when nothing cut it off."""

    session: Session
    model: ScriptedModel
    folder: Path
    worlds: list[Files] = field(default_factory=list[Files])
    """The files when each event happened."""
    used: list[list[int]] = field(default_factory=list[list[int]])
    """How often each of the model's answers had been accounted for by each event."""
    kinds: list[e.Event] = field(default_factory=list[e.Event])
    first_seq: int = 0

    def on_event(self, stored: e.StoredEvent) -> None:
        self.first_seq = self.first_seq or stored.seq
        self.kinds.append(stored.event)
        self.worlds.append(files_in(self.folder))
        given = [request.answer for request in self.model.requests if request.answer is not None]
        counts = Counter(given) if _is_answered(stored.event) else Counter(self.given_before())
        self.used.append([counts[index] for index in range(len(self.model.scenario.answer))])

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        pass

    def given_before(self) -> dict[int, int]:
        return dict(enumerate(self.used[-1])) if self.used else {}


def _is_answered(event: e.Event) -> bool:
    """Say whether the event accounts for a model's answer: it need not be asked for again."""
    if isinstance(event, e.RecoveryChosen):
        # Of the others nothing is kept but the move that follows.
        return event.action not in ("accept_partial", "take_calls", "switch_model")
    if isinstance(event, e.AdviceGiven):
        # What other policies were told counts with what they then do.
        return event.origin == "confidence"
    return isinstance(event, e.Answered | e.Compacted | e.GoalChecked | e.Moved)


@dataclass(frozen=True)
class Cut:
    """Where a process died."""

    journal: Sequence[e.StoredEvent]
    world: Files
    scenario: Scenario
    """What the model would still say."""
    answers: Mapping[str, ApprovalAnswer]
    """What the user says, by call and by title."""
    words: Mapping[str, str]
    """What the user answers, by question."""

    @property
    def last(self) -> e.Event:
        return self.journal[-1].event


@dataclass
class User:
    """Gives every question the answer that it got in the story."""

    session: Session
    cut: Cut
    _tasks: list[asyncio.Future[bool]] = field(default_factory=list[asyncio.Future[bool]])

    def on_event(self, stored: e.StoredEvent) -> None:
        match stored.event:
            case e.ApprovalRequested(request=request):
                no = ApprovalAnswer(choice=ApprovalChoice.REJECT_ONCE, by="test")
                by_title = self.cut.answers.get(request.preview.title, no)
                answer = self.cut.answers.get(request.call_id, by_title)
                if answer.choice.allows and answer.choice not in request.choices:
                    # What was broad in the story may be asked again about one call alone.
                    answer = ApprovalAnswer(choice=ApprovalChoice.ALLOW_ONCE, by="test")
                done = self.session.resolve_approval(request.id, answer)
                self._tasks.append(asyncio.ensure_future(done))
            case e.QuestionAsked(question=question):
                words = QuestionAnswer(text=self.cut.words.get(question.text, "stop"), by="test")
                done = self.session.resolve_question(question.id, words)
                self._tasks.append(asyncio.ensure_future(done))
            case _:
                pass

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        pass


@dataclass(frozen=True)
class Resumed:
    """What came of a cut."""

    journal: Sequence[e.StoredEvent]
    state: SessionState
    stored: Sequence[e.StoredEvent]
    """What another process would load afterwards."""
    requests: Sequence[Sequence[Mapping[str, Any]]]
    world: Files
    was_offered: bool
    """Whether the session was listed as cut off."""


async def check(path: Path, folder: Path, stage: Stage, *, every: bool) -> tuple[int, list[str]]:
    """Cut one story off at its events; return how many cuts there were, and what went wrong."""
    story = read_archive(path)
    recording, journal = await _record(story, folder, stage)
    template = folder.parent / "template.db"
    _empty_store(folder, template)
    problems: list[str] = []
    cuts = 0
    for name, cut in _cuts(recording, journal, every=every):
        cuts += 1
        try:
            resumed = await _resume(story, cut, folder, stage, template)
            found = list(_wrong(cut, resumed, recording))
        except Exception as error:
            found = [f"{type(error).__name__}: {error}"]
        problems += [f"{name}: {one}" for one in found]
    return cuts, problems


async def _record(
    story: Archive, folder: Path, stage: Stage
) -> tuple[Recording, list[e.StoredEvent]]:
    write_files(story, folder)
    async with opened_story(story, folder, stage.host, stage.port) as (sessions, model):
        made: list[Recording] = []

        def follow(session: Session) -> Recording:
            made.append(Recording(session, model, folder))
            return made[0]

        session, _ = await tell(story, sessions, follow)
        journal = await session.journal()
    made[0].worlds.append(files_in(folder))
    return made[0], journal


def _cuts(
    recording: Recording, journal: Sequence[e.StoredEvent], *, every: bool
) -> Iterator[tuple[str, Cut]]:
    """Yield every cut, or a share, another one in each story, in which each kind of place is."""
    answers, words = _said(journal)
    first = recording.first_seq
    told: Counter[type[e.Event]] = Counter()
    for place, event in enumerate(recording.kinds):
        told[type(event)] += 1
        is_telling = isinstance(event, _TELLING) and told[type(event)] % _EVERY_NTH == 1
        is_next = (place + len(recording.kinds)) % _EVERY_NTH == 0
        if not (every or is_telling or is_next):
            continue
        worlds = {"": recording.worlds[place]}
        if recording.worlds[place + 1] != recording.worlds[place]:
            worlds[" and what followed"] = recording.worlds[place + 1]
        for what, world in worlds.items():
            scenario = _rest_of(recording.model.scenario, recording.used[place])
            cut = Cut(journal[: first + place], world, scenario, answers, words)
            yield f"after {first + place} {event.type}{what}", cut


def _said(journal: Sequence[e.StoredEvent]) -> tuple[dict[str, ApprovalAnswer], dict[str, str]]:
    """Return what the user answered, by call and title, and by question."""
    answers: dict[str, ApprovalAnswer] = {}
    words: dict[str, str] = {}
    asked: dict[str, e.ApprovalRequested] = {}
    questions: dict[str, str] = {}
    for stored in journal:
        match stored.event:
            case e.ApprovalRequested() as event:
                asked[event.request.id] = event
            case e.ApprovalResolved(approval_id=approval_id, answer=answer):
                request = asked[approval_id].request
                answers.setdefault(request.call_id, answer)
                answers.setdefault(request.preview.title, answer)
            case e.QuestionAsked(question=question):
                questions[question.id] = question.text
            case e.QuestionResolved(question_id=question_id, answer=answer):
                words.setdefault(questions[question_id], answer.text)
            case _:
                pass
    return answers, words


def _rest_of(scenario: Scenario, used: Sequence[int]) -> Scenario:
    """Return what the model has not said yet; how it expects to be asked is the story's matter."""
    rest: list[Answer] = []
    for answer, count in zip(scenario.answer, used, strict=True):
        if answer.repeat and count >= answer.repeat:
            continue
        left = answer.repeat and answer.repeat - count
        rest.append(answer.model_copy(update={"repeat": left, "expect": Expect()}))
    return scenario.model_copy(update={"answer": (*rest, _AFTER_THE_STORY)})


async def _resume(story: Archive, cut: Cut, folder: Path, stage: Stage, template: Path) -> Resumed:
    """Put the world back as it was at the cut and let a new process go on from there."""
    _put_back(cut.world, folder)
    place = _store_of(folder)
    for left in place.parent.glob(place.name + "*"):
        left.unlink()
    shutil.copyfile(template, place)
    store = open_store(str(place))
    await store.append(cut.journal, durable=True)
    await store.close()
    session_id = cut.journal[0].session_id
    async with opened_story(story, folder, stage.host, stage.port, scenario=cut.scenario) as (
        sessions,
        model,
    ):
        was_offered = session_id in [one.session_id for one in await sessions.interrupted()]
        session = await sessions.open(session_id)
        session.follow(User(session, cut))
        session.resume()
        async with asyncio.timeout(TURN_LIMIT_S):
            await session.wait_idle()
        journal, state = await session.journal(), session.state
    store = open_store(str(place))
    stored = await store.load(session_id)
    await store.close()
    requests = [request.messages for request in model.requests]
    return Resumed(journal, state, stored, requests, files_in(folder), was_offered)


def _wrong(cut: Cut, resumed: Resumed, recording: Recording) -> Iterator[str]:
    """Yield what must not be."""
    yield from _wrong_end(cut, resumed)
    yield from _wrong_calls(resumed)
    yield from _wrong_goings_on(cut, resumed)
    yield from _wrong_effects(cut, resumed, recording)
    for number, messages in enumerate(resumed.requests, start=1):
        yield from (f"request {number}: {one}" for one in invalid(messages))


def _wrong_end(cut: Cut, resumed: Resumed) -> Iterator[str]:
    state = resumed.state
    begun = [one for one in resumed.journal if isinstance(one.event, e.TurnStarted)]
    ends = [one.event for one in resumed.journal if isinstance(one.event, e.TurnEnded)]
    if len(ends) != len(begun):
        yield f"{len(begun)} turns have {len(ends)} ends"
    if state.is_running or state.turn is None or state.turn.stop is None:
        yield f"the turn still runs, in {state.turn.phase if state.turn else None}"
    if fold_all(resumed.stored) != state:
        yield "what is stored adds up to another state"
    if list(resumed.stored[: len(cut.journal)]) != list(cut.journal):
        yield "what was stored before has changed"
    has_ended = isinstance(cut.last, e.TurnEnded)
    if resumed.was_offered is has_ended:
        yield f"resuming was {'' if has_ended else 'not '}offered"
    if state.approvals or state.questions or (state.turn and state.turn.intents):
        yield "something is still open"


def _wrong_calls(resumed: Resumed) -> Iterator[str]:
    """Each call has exactly one result, and only reads start twice."""
    calls: list[str] = []
    starts: Counter[str] = Counter()
    results: Counter[str] = Counter()
    reads: set[str] = set()
    for stored in resumed.journal:
        match stored.event:
            case e.Answered(message=message):
                calls += [call.id for call in message.calls]
            case e.ToolCallStarted(call_id=call_id, effect=effect):
                starts[call_id] += 1
                if effect is Effect.READ:
                    reads.add(call_id)
            case e.ToolCallFinished(result=result):
                results[result.call_id] += 1
            case _:
                pass
    yield from (f"{one} has {results[one]} results" for one in calls if results[one] != 1)
    again = [one for one, count in starts.items() if count > 1 and one not in reads]
    yield from (f"{one} was started again" for one in again)


def _wrong_goings_on(cut: Cut, resumed: Resumed) -> Iterator[str]:
    """Started reads run again, the rest is interrupted; what never started is judged again."""
    before = fold_all(cut.journal)
    if before.turn is None or before.turn.ended is not None:
        return
    later = [one.event for one in resumed.journal[len(cut.journal) :]]
    started = {one.call_id for one in later if isinstance(one, e.ToolCallStarted)}
    judged = {one.call_id for one in later if isinstance(one, e.CallDecided)}
    results = {
        one.result.call_id: one.result for one in later if isinstance(one, e.ToolCallFinished)
    }
    is_stopped = any(isinstance(one.event, e.CancelRequested) for one in cut.journal)
    for state in before.turn.open_calls:
        result = results.get(state.call.id)
        if is_stopped or result is None:
            continue
        if state.effect is Effect.READ and state.call.id not in started:
            yield f"the read {state.call.id} did not run again"
        if state.effect not in (None, Effect.READ) and result.error is not ErrorKind.INTERRUPTED:
            yield f"{state.call.id} was cut off, and its result is {result.error}"
        if state.effect is None and not (
            state.call.id in judged or result.error is ErrorKind.STRUCTURAL
        ):
            yield f"{state.call.id} was not judged again"
    stale = {request.id for request in before.approvals.values()}
    asked = {one.request.id for one in later if isinstance(one, e.ApprovalRequested)}
    if stale & asked:
        yield "a question was asked again under its old id"


def _wrong_effects(cut: Cut, resumed: Resumed, recording: Recording) -> Iterator[str]:
    """Nothing is lost, nothing happens twice; what was not cut in its middle ends the same."""
    before = fold_all(cut.journal)
    told = recording.worlds[-1]
    for name, data in resumed.world.items():
        if name.endswith(".ran") and len(data.splitlines()) > len(told[name].splitlines()):
            yield f"a command ran again: {name} is {data!r}"
    journal_says = {
        one.event.path: one.event for one in cut.journal if isinstance(one.event, e.EditApplied)
    }
    after = resumed.state.turn
    for path, edit in journal_says.items():
        if edit.status == "applied" and (after is None or path not in after.touched):
            yield f"the acknowledged edit of {path} is forgotten"
    open_calls = before.turn.open_calls if before.turn else ()
    is_whole = not (
        any(one.effect not in (None, Effect.READ) for one in open_calls)
        or _is_in_a_goal_command(cut.journal)
    )
    if is_whole and resumed.world != told:
        yield f"the files differ at the end: {_difference(resumed.world, told)}"
    last = recording.kinds[-1]
    end = resumed.state.turn.ended if resumed.state.turn else None
    if is_whole and isinstance(last, e.TurnEnded) and end is not None and end.stop != last.stop:
        yield f"it ends {end.stop} ({end.failure_reason}), not {last.stop}"


def _is_in_a_goal_command(journal: Sequence[e.StoredEvent]) -> bool:
    """Say whether a command of the goal was cut off: it is not run again, the model is told."""
    of_goal = [
        one.event for one in journal if isinstance(one.event, e.GoalCommandStarted | e.GoalChecked)
    ]
    return bool(of_goal) and isinstance(of_goal[-1], e.GoalCommandStarted)


def _difference(one: Files, other: Files) -> str:
    return ", ".join(
        f"{name}: {one.get(name)!r} instead of {other.get(name)!r}"
        for name in sorted(one.keys() | other.keys())
        if one.get(name) != other.get(name)
    )


def invalid(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what a provider would refuse in a conversation."""
    waiting: list[str] = []
    for number, message in enumerate(messages):
        role = message["role"]
        if (role == "system") is not (number == 0):
            yield f"message {number} is of {role}"
        if role == "tool":
            if message["tool_call_id"] not in waiting:
                yield f"message {number} is a result of no call"
            else:
                waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            yield f"message {number} comes before the results of {waiting}"
            waiting = []
        if role == "assistant":
            waiting = [call["id"] for call in message.get("tool_calls") or ()]
    if waiting:
        yield f"the last calls have no results: {waiting}"
    if messages[-1]["role"] not in ("user", "tool"):
        yield f"it ends with a message of {messages[-1]['role']}"


def files_in(folder: Path) -> Files:
    """Return all files below a folder."""
    return {
        place.relative_to(folder).as_posix(): place.read_bytes()
        for place in sorted(folder.rglob("*"))
        if place.is_file()
    }


def _put_back(world: Files, folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()
    for name, data in world.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


def _store_of(folder: Path) -> Path:
    return folder.parent / f"{folder.name}-store.db"


def _empty_store(folder: Path, template: Path) -> None:
    """Make a store with the story's texts and none of its sessions."""
    with contextlib.closing(sqlite3.connect(_store_of(folder))) as connection, connection:
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("DELETE FROM sessions")
        connection.execute("DELETE FROM leases")
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    shutil.copyfile(_store_of(folder), template)


_EVERY_STORY = [pytest.param(one, id=one.stem) for one in all_stories()]


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("path", _EVERY_STORY)
async def test_a_story_that_is_cut_off_goes_on(path: Path, tmp_path: Path, stage: Stage) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    cuts, problems = await check(path, folder, stage, every=False)
    assert cuts
    assert not problems, "\n".join(problems)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("path", _EVERY_STORY)
async def test_a_story_that_is_cut_off_anywhere_goes_on(
    path: Path, tmp_path: Path, stage: Stage
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    cuts, problems = await check(path, folder, stage, every=True)
    assert cuts
    assert not problems, "\n".join(problems)
