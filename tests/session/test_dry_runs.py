"""What a dry run made up never goes on for real, and what was done never goes on as made up."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.domain.errors import StoreError
from agent_ls.loop.ports.models import Provider
from agent_ls.session.sessions import Sessions
from tests.support.scripted import scripted
from tests.support.turns import open_test_sessions, run_turn_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

SCENARIO = '[[answer]]\ntext = "Done."\n'
DRY = "dry_run = true"


async def begun(folder: Path, provider: Provider, settings: str) -> str:
    """Return the id of a session with one turn."""
    async with open_test_sessions(folder, provider, settings_toml=settings) as sessions:
        session = await sessions.create()
        await run_turn_of(session, "Do it.")
        return session.id


async def check(sessions: Sessions, session_id: str, words: str) -> None:
    """See every way into the session refused, and no branch left behind."""
    for way in (sessions.open, sessions.resume, sessions.fork):
        with pytest.raises(StoreError, match=words):
            await way(session_id)
    assert [one.session_id for one in await sessions.list()] == [session_id]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [(DRY, "", "is a dry run: nothing of it was done"), ("", DRY, "is no dry run")],
    ids=["made up, then real", "real, then made up"],
)
async def test_the_two_kinds_do_not_mix(
    tmp_path: Path, model_host: Provider, model_port: int, before: str, after: str, words: str
) -> None:
    async with scripted(SCENARIO, port=model_port):
        session_id = await begun(tmp_path, model_host, before)
        async with open_test_sessions(tmp_path, model_host, settings_toml=after) as sessions:
            await check(sessions, session_id, words)


async def test_a_dry_run_goes_on_as_one(
    tmp_path: Path, model_host: Provider, model_port: int
) -> None:
    async with scripted(SCENARIO + SCENARIO, port=model_port):
        session_id = await begun(tmp_path, model_host, DRY)
        async with open_test_sessions(tmp_path, model_host, settings_toml=DRY) as sessions:
            again = await sessions.open(session_id)
            ended, _ = await run_turn_of(again, "And again.")
            assert ended.output == "Done."
            assert (await sessions.fork(session_id)).state.is_dry_run
