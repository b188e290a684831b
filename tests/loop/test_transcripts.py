"""Golden transcripts: each is a turn told as a story, run for real, with the events it must give.

``UPDATE_GOLDEN=1`` rewrites what the stories expect; read the difference before believing it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

import pytest

from agent_ls.domain import events as e
from tests.loop.conftest import Stage
from tests.support.archive import Archive, read_archive
from tests.support.stories import all_stories, opened_story, tell, write_files
from tests.support.trace import trace_of

pytestmark = pytest.mark.heavy

TOOL_SERVER = "tool_server_is_approved_and_changes"
UPDATES = os.environ.get("UPDATE_GOLDEN") == "1"


async def check(path: Path, folder: Path, stage: Stage) -> None:
    """Run a story and compare its events and files with what it says."""
    story = read_archive(path)
    happened = await _told(story, folder, stage)
    if UPDATES:
        path.write_text(str(happened), encoding="utf-8")
    # Member by member, so that a failure shows the lines that differ and not two dicts cut short.
    for name in {**story.members, **happened.members}:
        expected, found = story.members.get(name, ""), happened.members.get(name, "")
        assert found.splitlines() == expected.splitlines(), name
    assert happened.members == story.members


async def _told(story: Archive, folder: Path, stage: Stage) -> Archive:
    write_files(story, folder)
    async with opened_story(story, folder, stage.host, stage.port) as (sessions, _):
        _, events = await tell(story, sessions)
    members = {
        name: text
        for name, text in story.members.items()
        if name != "events" and not name.startswith("after ")
    }
    if "independent = true" in story.members["model"]:
        events = list(_in_order_of_calls(events))
    members["events"] = (
        trace_of(events).replace(str(folder), "FOLDER").replace(f":{stage.port}", ":PORT")
    )
    for place in sorted(folder.rglob("*")):
        name = place.relative_to(folder).as_posix()
        if place.is_file() and place.read_text() != story.below("file").get(name):
            members[f"after {name}"] = place.read_text()
    for name in story.below("file"):
        if not (folder / name).exists():
            members[f"after {name}"] = "(gone)\n"
    return Archive(story.reason, members)


def _in_order_of_calls(events: Iterable[e.Event]) -> Iterator[e.Event]:
    """Put events of calls that follow each other in the order of the calls.

    Sub-agents that run at once take turns as the machine likes, so only each one's own order is
    the story's.
    """
    for _, run in groupby(events, key=lambda event: bool(_call_id(event))):
        yield from sorted(run, key=_call_id)


def _call_id(event: e.Event) -> str:
    if isinstance(event, e.ToolCallFinished):
        return event.result.call_id
    return str(getattr(event, "call_id", ""))


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            one,
            id=one.stem,
            marks=pytest.mark.story("tool server") if one.stem == TOOL_SERVER else (),
        )
        for one in all_stories()
    ],
)
async def test_a_story_happens_as_it_is_told(path: Path, tmp_path: Path, stage: Stage) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    await check(path, folder, stage)


@pytest.mark.asyncio(loop_scope="session")
async def test_a_section_with_a_slip_in_its_name_is_refused(tmp_path: Path, stage: Stage) -> None:
    story = Archive("Why.", {"prompt": "Go.", "files a.txt": "x\n", "model": ""})
    with pytest.raises(ValueError, match=r"no section .files a\.txt."):
        await _told(story, tmp_path, stage)
