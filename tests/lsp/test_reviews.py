"""Where the agent's changes are: of which session, and while more are decided about."""

from __future__ import annotations

from pathlib import Path

from agent_ls.lsp.review_choice import by_session
from tests.lsp.test_change_hints import Shown, desk


async def test_changes_are_those_of_the_session_that_is_open_now(tmp_path: Path) -> None:
    async with desk(tmp_path, a="a\nb\nc\n") as here:
        here.open("a.py")
        await here.session.agent_writes("a.py", "a\nB\nc\n")
        for _ in range(2):
            # As settings are taken over: the sessions are closed, and opened from the store.
            await here.session.review.close()
            await here.session.restart()
            here.shown[:] = [Shown(here.session.session_id, here.session.review)]
            found = await here.reviews.of(here.uri("a.py"))
            assert [one.session.review for one in found] == [here.session.review]
        for session, chosen in by_session(found):
            await session.review.decide("keep", chosen)
        assert await here.session.open_hunks() == []
        await here.session.turn()
