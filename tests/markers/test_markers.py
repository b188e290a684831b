"""Every story in this folder, told by a real server to the editors it names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.markers import Story, read_story
from tests.support.scripted import scripted
from tests.support.storyteller import Storyteller

STORIES = [read_story(path) for path in sorted(Path(__file__).parent.glob("*.txt"))]


async def check(story: Story, editor: str, folder: Path, variables: Mapping[str, str]) -> None:
    async with scripted(story.archive.members["scenario"]) as model:
        await Storyteller(story, editor, folder, model, variables).tell()


@pytest.mark.e2e
@pytest.mark.parametrize(
    "story, editor",
    [
        pytest.param(story, editor, id=f"{story.name}-{editor}")
        for story in STORIES
        for editor in story.editors
    ],
)
async def test_the_story_comes_true(
    story: Story, editor: str, tmp_path: Path, warm_host: Mapping[str, str]
) -> None:
    await check(story, editor, tmp_path, warm_host)
