"""Runs a told turn for real: scripted model over HTTP, model host, store, disk, approvals."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from agent_ls.assembly import open_disk_workspace, open_sessions
from agent_ls.domain.approvals import ApprovalAnswer, ApprovalChoice, QuestionAnswer
from agent_ls.domain.events import (
    ApprovalRequested,
    Ephemeral,
    Event,
    QuestionAsked,
    StoredEvent,
    TurnEnded,
)
from agent_ls.domain.goals import Goal
from agent_ls.loop.evidence.output_schema import Schema
from agent_ls.loop.ports.models import Provider
from agent_ls.session.session import Session
from agent_ls.session.sessions import Sessions
from agent_ls.settings import load_settings

TURN_LIMIT_S = 60.0


@dataclass
class User:
    """Answers what is asked, in the order of a list; follows the session."""

    session: Session
    answers: list[str]
    events: list[Event] = field(default_factory=list[Event])
    _tasks: set[asyncio.Task[bool]] = field(default_factory=set[asyncio.Task[bool]])

    def on_event(self, stored: StoredEvent) -> None:
        self.events.append(stored.event)
        match stored.event:
            case ApprovalRequested(request=request):
                answer = approval_answer(self._next(f"approval of {request.preview.title}"))
                self._do(self.session.resolve_approval(request.id, answer))
            case QuestionAsked(question=question):
                words = self._next(f"question {question.text!r}")
                answer = QuestionAnswer(text=words, by="test")
                self._do(self.session.resolve_question(question.id, answer))
            case _:
                pass

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        pass

    def _next(self, asked: str) -> str:
        assert self.answers, f"the story has no answer to the {asked}"
        return self.answers.pop(0)

    def _do(self, work: Coroutine[None, None, bool]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def approval_answer(words: str) -> ApprovalAnswer:
    """Return the answer a line says: ``allow_once``, ``reject_once: why``, ``amend: {…}`` or
    ``amend: tool {…}``."""
    choice, _, rest = words.partition(":")
    rest = rest.strip()
    is_amended = choice == ApprovalChoice.AMEND
    tool, brace, arguments = rest.partition("{")
    return ApprovalAnswer(
        choice=ApprovalChoice(choice.strip()),
        note="" if is_amended else rest,
        arguments_json=brace + arguments if is_amended else None,
        tool=tool.strip() or None if is_amended else None,
        by="test",
    )


@asynccontextmanager
async def open_test_sessions(
    folder: Path,
    provider: Provider,
    *,
    settings_toml: str = "",
    is_attended: bool = True,
) -> AsyncIterator[Sessions]:
    """Open sessions on a folder with a store of their own beside it."""
    values = tomllib.loads(settings_toml)
    place = folder.parent / f"{folder.name}-store.db"
    loaded = load_settings(
        command_line={"model": "openai/scripted", "store_url": str(place), **values},
        environment={},
    )
    assert loaded.problems == ()
    sessions = await open_sessions(
        loaded.settings,
        open_disk_workspace([folder]),
        is_attended=is_attended,
        provider=provider,
    )
    try:
        yield sessions
    finally:
        await sessions.close()


async def run_turn_of(
    session: Session,
    prompt: str,
    answers: Iterable[str] = (),
    *,
    goal: Goal | None = None,
    output_schema: Schema | None = None,
) -> tuple[TurnEnded, list[Event]]:
    """Run one prompt to its end; return how it ended and its events."""
    user = User(session, list(answers))
    session.follow(user)
    await session.submit(prompt, goal=goal, output_schema=output_schema)
    async with asyncio.timeout(TURN_LIMIT_S):
        ended = await session.wait_idle()
    assert ended is not None
    assert user.answers == [], f"never asked for: {user.answers}"
    return ended, user.events
