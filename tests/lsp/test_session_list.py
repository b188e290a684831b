"""The list of stored sessions over a real server: found, named, hidden, exported, deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agent_ls.lsp.conversation_page import HEADING
from tests.support.archive import Archive
from tests.support.client_editors import ClientEditor
from tests.support.lsp_connection import ServerError
from tests.support.markers import Story
from tests.support.scripted import scripted
from tests.support.storyteller import Storyteller

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.e2e]

_TALKS = """
[[answer]]
when = { first = "Round the prices" }
text = "They are rounded half up, without ÄRGER."

[[answer]]
when = { first = "Round the prices" }
text = "As before."

[[answer]]
when = { first = "Name two colours" }
text = "Blue and green."

[[answer]]
when = { first = "Touch a file" }
[[answer.call]]
tool = "run_command"
arguments = { command = "touch later" }

[[answer]]
when = { first = "Ask for help" }
text = "First by myself."

[[answer]]
when = { first = "Ask for help" }
[[answer.call]]
tool = "delegate"
arguments = { kind = "explore", task = "Look at the file." }

[[answer]]
when = { first = "Look at the file" }
text = "It holds a number."

[[answer]]
when = { first = "Ask for help" }
text = "It was helped."

[[answer]]
when = { first = "Half an answer" }
text = "The first half and the"
chunk = 4
hang = "middle"

[[answer]]
when = { first = "Half an answer" }
text = " second half."
"""


class User:
    """Talks with a server that has one folder."""

    def __init__(self, teller: Storyteller) -> None:
        self.teller = teller

    @property
    def editor(self) -> ClientEditor:
        return self.teller.editor

    async def ask(self, method: str, **params: Any) -> Any:
        return await self.editor.request(f"agent/{method}", params)

    async def talk(self, words: str) -> str:
        """Say something in a new session, wait for the answer, and return the session's id."""
        session_id = (await self.ask("sessions/new"))["session"]["sessionId"]
        ends = len(self.ends())
        await self.ask("prompt", text=words, sessionId=session_id)
        await self.editor.until(lambda: len(self.ends()) > ends or None, 60, "the turn's end")
        return str(session_id)

    def ends(self) -> list[Any]:
        return [one for one in self.editor.shown.updates if one["sessionUpdate"] == "turn_ended"]

    async def listed(self, **params: Any) -> list[Any]:
        return list((await self.ask("sessions/list", **params))["sessions"])

    async def titles(self, **params: Any) -> list[str]:
        return [one["title"] for one in await self.listed(**params)]


@pytest_asyncio.fixture(loop_scope="module")
async def user(tmp_path: Path) -> AsyncIterator[User]:
    async with scripted(_TALKS, is_strict=False) as model:
        story = Story("sessions", Archive("", {"steps": "", "file a.py": "a = 1"}), (), {})
        teller = Storyteller(story, "panel", tmp_path, model)
        teller.prepare()
        await teller.start()
        yield User(teller)
        assert await teller.editor.stop() == 0
        assert model.problems == []
        assert "Traceback" not in teller.log.read_text()


async def test_sessions_are_found_named_hidden_and_shown_again(user: User) -> None:
    prices = await user.talk("Round the prices")
    colours = await user.talk("Name two colours")
    await user.ask("sessions/new")
    # The empty one is not listed.
    both = ["Name two colours", "Round the prices"]
    assert await user.titles() == both
    (row, _) = await user.listed(everywhere=True)
    assert (row["isHere"], row["isArchived"], row["agent"], row["subAgents"]) == (
        True, False, "", 0,
    )  # fmt: skip
    assert row["roots"] == [user.teller.root.as_uri()]

    for query, found in (
        ("HALF rounded", {prices: "They are rounded half up, without ÄRGER."}),
        ("ärger", {prices: "They are rounded half up, without ÄRGER."}),
        ("two colours", {colours: ""}),
        ("round", {prices: ""}),
        ("blue prices", {}),
        (" ", {prices: "", colours: ""}),
    ):
        rows = await user.listed(query=query)
        assert {one["sessionId"]: one["found"] for one in rows} == found, query

    # One that is not current, and one whose journal only the store has.
    await user.ask("sessions/rename", sessionId=prices, title="  Rounding\n ")
    assert await user.titles() == ["Name two colours", "Rounding"]
    assert await user.titles(query="rounding") == ["Rounding"]
    snapshot = await user.ask("snapshot", sessionId=prices)
    assert snapshot["session"]["title"] == "Rounding"

    await user.ask("sessions/archive", sessionId=colours)
    assert await user.titles() == ["Rounding"]
    shown = {one["title"]: one["isArchived"] for one in await user.listed(withArchived=True)}
    assert shown == {"Name two colours": True, "Rounding": False}
    await user.ask("sessions/archive", sessionId=colours, isArchived=False)
    assert await user.titles() == ["Name two colours", "Rounding"]

    # After a restart, when nothing is open.
    await user.editor.stop()
    await user.teller.start()
    await user.ask("sessions/archive", sessionId=prices)
    await user.ask("sessions/rename", sessionId=prices, title="Rounding again")
    assert await user.titles() == ["Name two colours"]
    await user.ask("sessions/resume", sessionId=prices)
    ends = len(user.ends())
    await user.ask("prompt", text="Again?", sessionId=prices)
    await user.editor.until(lambda: len(user.ends()) > ends or None, 60, "the turn's end")
    # A new turn brings it back, and does not rename it.
    assert await user.titles() == ["Rounding again", "Name two colours"]


async def test_a_session_is_read_as_markdown_forked_and_deleted(user: User) -> None:
    prices = await user.talk("Round the prices")
    text = (await user.ask("sessions/export", sessionId=prices))["markdown"]
    assert text.startswith("# Round the prices\n\nThey are rounded half up, without ÄRGER.\n")
    assert HEADING not in text
    assert prices not in text
    await user.ask("sessions/rename", sessionId=prices, title="Rounding")
    await user.ask("sessions/archive", sessionId=prices)
    fork = (await user.ask("sessions/fork", sessionId=prices))["session"]
    assert (fork["title"], fork["turns"], fork["isInterrupted"]) == ("Rounding", 1, False)
    assert (await user.ask("snapshot"))["session"]["sessionId"] == fork["sessionId"]
    (row,) = await user.listed()
    assert row["forkedFrom"] == prices

    empty = (await user.ask("sessions/new"))["session"]["sessionId"]
    with pytest.raises(ServerError, match="Nobody has said anything"):
        await user.ask("sessions/export", sessionId=empty)

    for session_id in (prices, fork["sessionId"], empty):
        await user.ask("sessions/delete", sessionId=session_id)
        with pytest.raises(ServerError, match="not open here"):
            await user.ask("snapshot", sessionId=session_id)
        with pytest.raises(ServerError, match="there is no session"):
            await user.ask("sessions/delete", sessionId=session_id)
    assert await user.listed(withArchived=True) == []
    # What is asked next begins with another one.
    assert (await user.ask("snapshot"))["session"]["turns"] == 0


async def test_a_sub_agent_is_listed_with_the_turn_that_started_it(user: User) -> None:
    session_id = await user.talk("Ask for help")
    ends = len(user.ends())
    await user.ask("prompt", text="Now get some.\nAs you like.", sessionId=session_id)
    await user.editor.until(lambda: len(user.ends()) > ends or None, 60, "the turn's end")
    (row,) = await user.listed()
    assert (row["subAgents"], row["turnId"], row["turnPrompt"]) == (1, "", "")
    (agent,) = await user.listed(parentId=session_id)
    updates = user.editor.shown.updates
    turns = [one["turnId"] for one in updates if one["sessionUpdate"] == "turn_started"]
    assert (agent["agent"], agent["turnPrompt"]) == ("explore", "Now get some.")
    assert agent["turnId"] == turns[-1]


async def test_a_session_that_waits_goes_on_behind_another(user: User) -> None:
    waits = (await user.ask("sessions/new"))["session"]["sessionId"]
    await user.ask("prompt", text="Touch a file", sessionId=waits)

    def asked() -> list[Any]:
        updates = user.editor.shown.updates
        return [one for one in updates if one["sessionUpdate"] == "permission_request"]

    await user.editor.until(lambda: asked() or None, 60, "the request")
    await user.talk("Name two colours")
    rows = {one["sessionId"]: (one["status"], one["isOpen"]) for one in await user.listed()}
    assert rows[waits] == ("waiting", True)
    with pytest.raises(ServerError, match="works right now; stop it"):
        await user.ask("sessions/delete", sessionId=waits)
    await user.ask("sessions/rename", sessionId=waits, title="Touching")
    await user.ask("cancel", sessionId=waits)
    await user.editor.until(lambda: len(user.ends()) > 1 or None, 60, "its end")
    await user.ask("sessions/delete", sessionId=waits)


async def test_a_window_that_is_reloaded_in_mid_turn_shows_half_an_answer_and_waits(
    user: User,
) -> None:
    session_id = (await user.ask("sessions/new"))["session"]["sessionId"]
    await user.ask("prompt", text="Half an answer", sessionId=session_id)
    await user.teller.step_update("agent_message_chunk", "The")
    requests = len(user.teller.model.requests)
    await user.editor.stop()
    await user.teller.start()

    opened = await user.ask("sessions/resume", sessionId=session_id, continueTurn=False)
    assert opened["session"]["isInterrupted"] is True
    snapshot = await user.ask("snapshot")
    assert snapshot["session"]["isInterrupted"] is True
    kinds = [one["sessionUpdate"] for one in snapshot["updates"]]
    assert kinds.count("turn_ended") == 0
    kept = [one for one in snapshot["updates"] if one["sessionUpdate"] == "agent_message"]
    assert [one["content"]["text"].startswith("The ") for one in kept] == [True]
    assert kinds.index("agent_message") < kinds.index("session_resumed")
    (row,) = await user.listed()
    assert row["isInterrupted"] is True
    # It says nothing by itself, neither to the model nor to the user.
    assert len(user.teller.model.requests) == requests
    assert user.editor.shown.messages == []
    assert user.editor.shown.progress == {}

    again = await user.ask("sessions/resume", sessionId=session_id)
    assert again["session"]["isInterrupted"] is False
    await user.editor.until(lambda: user.ends() or None, 60, "the turn's end")
    assert user.ends()[-1]["output"].endswith(" second half.")
    ends = [one[-1]["kind"] for one in user.editor.shown.progress.values()]
    assert ends == ["end"]


async def test_a_second_window_begins_with_its_own_session_without_a_word(
    user: User, tmp_path: Path
) -> None:
    session_id = (await user.ask("sessions/new"))["session"]["sessionId"]
    await user.ask("prompt", text="Half an answer", sessionId=session_id)
    await user.teller.step_update("agent_message_chunk", "The")
    await user.editor.stop()
    await user.teller.start()
    # The first window only shows what was cut off.
    await user.ask("review/list")
    other = Storyteller(user.teller.story, "panel", tmp_path, user.teller.model)
    await other.start()
    snapshot = await other.editor.request("agent/snapshot", {})
    assert snapshot["session"]["turns"] == 0
    assert (await other.editor.request("agent/review/list", {}))["turns"] == []
    rows = (await other.editor.request("agent/sessions/list", {}))["sessions"]
    assert [one["title"] for one in rows] == ["Half an answer"]
    assert other.editor.shown.messages == []
    assert await other.editor.stop() == 0
    assert await user.titles() == ["Half an answer"]
