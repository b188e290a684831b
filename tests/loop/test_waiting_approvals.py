"""Approvals that wait in line while the user answers the first of an answer's calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.domain.events import ApprovalRequested
from tests.loop.conftest import Stage
from tests.support.archive import parse_archive
from tests.support.stories import opened_story, tell, write_files

pytestmark = pytest.mark.heavy

STORY = """Allowed for the session while the other edits of the answer wait in line.

-- prompt --
Make both polite.
-- answers --
allow_session
-- file a.txt --
hello
-- file b.txt --
hello
-- file c.txt --
hello
-- model --
[[answer]]
[[answer.call]]
tool = "edit_file"
arguments = { path = "a.txt", edits = [{ old_string = "hello", new_string = "good day" }] }
[[answer.call]]
tool = "edit_file"
arguments = { path = "b.txt", edits = [{ old_string = "hello", new_string = "good day" }] }
[[answer.call]]
tool = "edit_file"
arguments = { path = "c.txt", edits = [{ old_string = "hello", new_string = "good day" }] }

[[answer]]
text = "Both are polite."
"""


@pytest.mark.asyncio(loop_scope="session")
async def test_a_yes_for_the_session_covers_the_edits_that_wait_in_line(
    tmp_path: Path, stage: Stage
) -> None:
    story = parse_archive(STORY)
    write_files(story, tmp_path)
    async with opened_story(story, tmp_path, stage.host, stage.port) as (sessions, _):
        _, events = await tell(story, sessions)
    assert sum(isinstance(one, ApprovalRequested) for one in events) == 1
    texts = [(tmp_path / name).read_text() for name in ("a.txt", "b.txt", "c.txt")]
    assert texts == ["good day\n"] * 3
