"""Told turns: one text archive each, with the files, the prompt, the model's part, the answers.

Whoever runs them takes them from here: the golden transcripts, and the sweep that cuts them off.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from agent_ls.domain.events import Event
from agent_ls.domain.goals import parse_goal, split_goal
from agent_ls.loop.evidence.output_schema import check_schema
from agent_ls.loop.ports.event_listener import EventListener
from agent_ls.loop.ports.models import Provider
from agent_ls.providers.scenario import Scenario
from agent_ls.providers.scripted import ScriptedModel
from agent_ls.safety.trust import TrustedFolders, trust_file
from agent_ls.session.session import Session
from agent_ls.session.sessions import Sessions
from tests.support.archive import Archive
from tests.support.scripted import scripted
from tests.support.turns import open_test_sessions, run_turn_of

_SECTIONS = frozenset(
    {"settings", "prompt", "goal", "schema", "alone", "trusted", "answers", "model", "events"}
)
_OF_FILES = ("file ", "after ")
STORIES = Path(__file__).parents[1] / "transcripts"


def all_stories() -> list[Path]:
    """Return every told turn, in a steady order."""
    return sorted(STORIES.glob("*.txt"))


def write_files(story: Archive, folder: Path) -> None:
    """Put the story's files into its folder."""
    for name, text in story.below("file").items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8", newline="")


def _is_section(name: str) -> bool:
    return name in _SECTIONS or name.startswith(_OF_FILES)


def answers_of(story: Archive) -> list[str]:
    """Return what the user answers, in order."""
    return [line for line in story.members.get("answers", "").splitlines() if line.strip()]


@asynccontextmanager
async def opened_story(
    story: Archive,
    folder: Path,
    host: Provider,
    port: int,
    *,
    scenario: Scenario | None = None,
) -> AsyncGenerator[tuple[Sessions, ScriptedModel]]:
    """Open sessions as the story sets them, with its model; another scenario is not held to."""
    if unknown := [one for one in story.members if not _is_section(one)]:
        raise ValueError(f"a story has no section {unknown[0]!r}; docs/loop-guide.md names them")
    if "trusted" in story.members:
        TrustedFolders(trust_file()).trust(folder)
    async with (
        scripted(scenario or story.members["model"], port=port, is_strict=not scenario) as model,
        open_test_sessions(
            folder,
            host,
            settings_toml=story.members.get("settings", ""),
            is_attended="alone" not in story.members,
        ) as sessions,
    ):
        yield sessions, model


async def tell(
    story: Archive, sessions: Sessions, follow: Callable[[Session], EventListener] | None = None
) -> tuple[Session, list[Event]]:
    """Run the story's prompt to its end; return the session and the turn's events."""
    session = await sessions.create()
    if follow is not None:
        session.follow(follow(session))
    words, goal = split_goal(story.members.get("prompt", "").strip())
    if "goal" in story.members:
        goal = parse_goal(story.members["goal"], name="goal")
    text = story.members.get("schema")
    schema = check_schema(json.loads(text), "schema") if text else None
    _, events = await run_turn_of(
        session, words, answers_of(story), goal=goal, output_schema=schema
    )
    return session, events
