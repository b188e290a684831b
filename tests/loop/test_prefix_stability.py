"""Each request begins with the whole previous one, whatever happened in between.

That is what providers' caches are keyed by. What was said for one request only (slots, and what an
attempt was asked again with) is left out of account; a compaction or a new prefix is announced.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_ls.domain.events import Compacted, Event, Moved, PrefixSet, StoredEvent
from agent_ls.domain.messages import Message
from agent_ls.domain.model_io import ModelEvent, ModelRequest
from agent_ls.loop.ports.models import ModelFacts, ModelList, Provider
from agent_ls.session.session import Session
from tests.loop.conftest import Stage
from tests.support.scripted import scripted
from tests.support.turns import TURN_LIMIT_S, open_test_sessions, run_turn_of

pytestmark = pytest.mark.heavy

_FOR_ONE_REQUEST = frozenset({"slot", "close", "empty", "thinking_only", "truncated_call"})
_SETTINGS = """
mode = "auto"
policies.transport.first_wait_s = 0.0
policies.step_limit.max_steps = 12
policies.reminder.every_steps = [2, 2, 2, 2]
policies.reminder.verify_after_edits = 1
"""

_PIECES = {
    "reads": '[[answer.call]]\ntool = "read_file"\narguments = { path = "a.txt" }',
    "fails": '[[answer.call]]\ntool = "read_file"\narguments = { path = "missing" }',
    "lists": '[[answer.call]]\ntool = "list_dir"\narguments = {}',
    "writes": (
        '[[answer.call]]\ntool = "write_file"\narguments = { path = "b.txt", content = "x\\n" }'
    ),
    "plans": '[[answer.call]]\ntool = "update_plan"\narguments = { items = [{ text = "one" }] }',
    "breaks-json": '[[answer.call]]\ntool = "grep"\narguments_text = "[1]"',
    "cut-call": (
        'finish = "length"\n[[answer.call]]\ntool = "write_file"\narguments_text = \'{"path": "c\''
    ),
    "empty": 'text = ""',
    "thinks": 'reasoning = "Hm."',
    "announces": 'text = "I will now create the file."',
    "cut-text": 'text = "One, "\nfinish = "length"',
    "limited": "error = { status = 429 }",
    "broken": 'text = "On my way to say it"\ncut_after = 2',
    "ends": 'text = "Done."',
}


@dataclass
class Watched:
    """The provider, and what it was asked, each with the journal's length by then."""

    provider: Provider
    asked: list[tuple[int, ModelRequest]] = field(default_factory=list[tuple[int, ModelRequest]])
    events: list[Event] = field(default_factory=list[Event])

    async def start(self, model: str = "") -> None:
        await self.provider.start(model)

    async def close(self) -> None:
        await self.provider.close()

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        self.asked.append((len(self.events), request))
        return self.provider.stream(request)

    async def facts(self, model: str) -> ModelFacts:
        return await self.provider.facts(model)

    async def models(self, model: str = "") -> ModelList:
        return await self.provider.models(model)

    def on_event(self, stored: StoredEvent) -> None:
        self.events.append(stored.event)

    def on_ephemeral(self, session_id: str, piece: object) -> None:
        pass


def _kept(request: ModelRequest) -> tuple[Message, ...]:
    return tuple(
        one for one in request.messages if one.role != "user" or one.origin not in _FOR_ONE_REQUEST
    )


def _is_announced(event: Event) -> bool:
    return isinstance(event, Compacted) or (
        isinstance(event, PrefixSet) and event.reason != "first"
    )


def held(watched: Watched) -> int:
    """Assert the property for every two requests in a row; return how many pairs were held."""
    pairs = 0
    for (at, before), (then, after) in zip(watched.asked, watched.asked[1:], strict=False):
        if any(map(_is_announced, watched.events[at:then])):
            continue
        kept = _kept(before)
        # Within a step the slots are the same, and stay where they are.
        is_longer = after.messages[: len(before.messages)] == before.messages
        assert is_longer or after.messages[: len(kept)] == kept
        assert (after.system, after.tools) == (before.system, before.tools)
        pairs += 1
    return pairs


async def check(pieces: list[str], prompts: int, stage: Stage) -> None:
    """Play these answers through some turns of one session."""
    scenario = "\n".join(f"[[answer]]\n{_PIECES[name]}\n" for name in pieces)
    scenario += '[[answer]]\ntext = "Done."\nrepeat = 0\n'
    watched = Watched(stage.host)
    with TemporaryDirectory() as place:
        folder = Path(place) / "project"
        folder.mkdir()
        (folder / "a.txt").write_text("x\n" * 20)
        async with (
            scripted(scenario, port=stage.port, is_strict=False),
            open_test_sessions(
                folder, watched, settings_toml=_SETTINGS, is_attended=False
            ) as sessions,
        ):
            session = await sessions.create()
            session.follow(watched)
            for number in range(prompts):
                await session.submit(f"Prompt {number}: change what has to be changed.")
                async with asyncio.timeout(TURN_LIMIT_S):
                    await session.wait_idle()
    phases = [event.to for event in watched.events if isinstance(event, Moved)]
    assert phases.count(phases[-1]) >= prompts
    assert held(watched) >= prompts - 1


@pytest.mark.asyncio(loop_scope="session")
async def test_a_long_turn_with_every_kind_of_answer_keeps_its_prefix(stage: Stage) -> None:
    await check(list(_PIECES), 2, stage)


@pytest.mark.asyncio(loop_scope="session")
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    pieces=st.lists(st.sampled_from(sorted(_PIECES)), min_size=1, max_size=10),
    prompts=st.integers(1, 2),
)
async def test_any_sequence_of_answers_keeps_the_prefix(
    pieces: list[str], prompts: int, stage: Stage
) -> None:
    await check(pieces, prompts, stage)


class SteersOnce:
    """Says something as soon as a piece of an answer has come."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.task: asyncio.Task[str] | None = None

    def on_event(self, stored: StoredEvent) -> None:
        pass

    def on_ephemeral(self, session_id: str, piece: object) -> None:
        if self.task is None:
            self.task = asyncio.create_task(self._session.submit("Mind the tabs."))


@pytest.mark.asyncio(loop_scope="session")
async def test_slots_stand_before_what_was_said_while_the_answer_streamed(
    tmp_path: Path, stage: Stage
) -> None:
    scenario = (
        'chunk = 1\nbetween_ms = 25\n[[answer]]\ntext = "Let me look around first."\n'
        '[[answer.call]]\ntool = "list_dir"\narguments = {}\n[[answer]]\ntext = "Done."\n'
    )
    settings_toml = "mode = 'auto'\n[policies.reminder]\nevery_steps = [1, 1, 1, 1]\n"
    watched = Watched(stage.host)
    async with (
        scripted(scenario, port=stage.port),
        open_test_sessions(tmp_path, watched, settings_toml=settings_toml) as sessions,
    ):
        session = await sessions.create()
        steers = SteersOnce(session)
        session.follow(steers)
        await session.submit("Look around.")
        async with asyncio.timeout(TURN_LIMIT_S):
            await session.wait_idle()
        assert steers.task is not None
        await steers.task
    first, second = (request.messages for _, request in watched.asked)
    assert [one.role for one in first] == ["user"]
    said = [one.origin if one.role == "user" else one.role for one in second]
    assert said == ["user", "assistant", "tool", "slot", "steer"]


@pytest.mark.asyncio(loop_scope="session")
async def test_slots_stand_behind_what_a_step_that_failed_has_sent(
    tmp_path: Path, stage: Stage
) -> None:
    scenario = (
        '[[answer]]\nfinish = "length"\n[[answer.call]]\ntool = "write_file"\n'
        'arguments_text = \'{"path": "a.txt", "content": "begin\'\n[[answer]]\ntext = "Done."\n'
    )
    settings_toml = (
        "[policies.reminder]\non_first_step = true\n[policies.truncated_call]\nmax_reasks = 0\n"
    )
    watched = Watched(stage.host)
    async with (
        scripted(scenario, port=stage.port),
        open_test_sessions(tmp_path, watched, settings_toml=settings_toml) as sessions,
    ):
        await run_turn_of(await sessions.create(), "Look around.")
    first, second = (request.messages for _, request in watched.asked)
    said = [[one.origin for one in those if one.role == "user"] for those in (first, second)]
    assert said == [["slot", "user"], ["user", "slot"]]
