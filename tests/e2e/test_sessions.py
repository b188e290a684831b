"""Sessions over a real server: begun once, handed back in order, and one writer at a time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_ls.providers.scripted import ScriptedModel
from agent_ls.session.held_leases import is_dead
from agent_ls.store.sql_store import open_store
from tests.store.conftest import postgres
from tests.support.archive import Archive
from tests.support.client_editors import ClientEditor
from tests.support.lsp_connection import ServerError
from tests.support.markers import Story
from tests.support.storyteller import Storyteller

__all__ = ["postgres"]

pytestmark = pytest.mark.e2e

SLOW = """
[[answer]]
delay_ms = 20000
text = "Too late."
"""


@asynccontextmanager
async def server(
    folder: Path, model: ScriptedModel, *, place: str = ""
) -> AsyncGenerator[ClientEditor]:
    """Start one more server over the same folder and store; by default the store is a file."""
    archive = Archive("", {"file a.py": "x = 1\n", "steps": ""})
    env = {"AGENT_LS_CHANGE_HINTS": "always", **({"AGENT_LS_STORE_URL": place} if place else {})}
    story = Story("sessions", archive, (), {"env": env})
    teller = Storyteller(story, "panel", folder, model)
    if not teller.root.exists():
        teller.prepare()
    await teller.start()
    try:
        yield teller.editor
    finally:
        # One that was killed is gone already.
        with contextlib.suppress(RuntimeError):
            await teller.editor.stop()


async def check(folder: Path, sessions: int, *, place: str = "") -> list[str]:
    """Return the ids of the stored sessions, of which there must be so many, all free.

    A server on a busy machine has no time to give a lease back; that of a dead process is none.
    """
    store = open_store(place or folder / "data/agent-ls/store.db")
    try:
        found = [one.session_id for one in await store.sessions()]
        assert len(found) == sessions
        owners = [await store.lease_owner(one) for one in found]
        assert [one for one in owners if one is not None and not is_dead(one)] == []
        return found
    finally:
        await store.close()


async def test_requests_that_come_at_once_begin_one_session(tmp_path: Path) -> None:
    async with ScriptedModel("") as model:
        async with server(tmp_path, model) as editor:
            snapshots = (editor.request("agent/snapshot", {"sessionId": None}) for _ in range(5))
            modes = (editor.execute("agent-ls.mode", "plan") for _ in range(5))
            answers = await asyncio.gather(*snapshots, *modes)
            store = open_store(tmp_path / "data/agent-ls/store.db")
            stored = {one.session_id for one in await store.sessions()}
            await store.close()
        ids = {one["session"]["sessionId"] for one in answers[:5]}
        assert len(ids) == 1
        assert stored == ids


async def test_a_session_that_is_left_empty_is_not_kept(tmp_path: Path) -> None:
    async with ScriptedModel("") as model:
        async with server(tmp_path, model) as editor:
            await editor.request("agent/snapshot", {"sessionId": None})
            await editor.execute("agent-ls.mode", "plan")
            # What the user chose in it outlives a change of settings.
            settings = {"agent-ls": {"marker": "ROBOT"}}
            await editor.notify("workspace/didChangeConfiguration", {"settings": settings})
            await editor.request("agent/sessions/new", {"mode": "plan"})
            again = await editor.request("agent/snapshot", {"sessionId": None})
            assert again["session"]["mode"] == "plan"
            assert await editor.request("agent/sessions/list", {}) == {"sessions": []}
        async with server(tmp_path, model) as killed:
            assert await killed.request("agent/sessions/list", {}) == {"sessions": []}
            left = await killed.request("agent/snapshot", {"sessionId": None})
            await killed.kill()
        async with server(tmp_path, model) as editor:
            taken = await editor.request("agent/snapshot", {"sessionId": None})
            assert taken["session"]["sessionId"] == left["session"]["sessionId"]
            assert await editor.request("agent/sessions/list", {}) == {"sessions": []}


async def test_words_in_the_document_of_an_empty_session_can_be_sent_after_a_restart(
    tmp_path: Path,
) -> None:
    async with ScriptedModel('[[answer]]\ntext = "There."\n') as model:
        async with server(tmp_path, model) as editor:
            place = Path(await editor.execute("agent-ls.conversation"))
            place.write_text(place.read_text() + "\nAre you there?\n")
        await check(tmp_path, sessions=1)
        async with server(tmp_path, model) as editor:
            await editor.open(str(place), "markdown")
            await editor.until(lambda: editor.buffers.get(place.as_uri()), 30)
            async with asyncio.timeout(30):
                # Nothing tells that a document's session is open.
                while not await _is_sent(editor, place.as_uri()):  # noqa: ASYNC110 - so it is asked
                    await asyncio.sleep(0.05)
            await editor.until(lambda: _ends(editor) or None, 60, "the turn's end")
            assert editor.shown.messages == []


async def _is_sent(editor: ClientEditor, uri: str) -> bool:
    """Send the words; False while the document's session is not open yet."""
    try:
        return bool(await editor.execute("agent-ls.conversation.send", uri))
    except ServerError:
        return False


async def test_a_turn_that_runs_at_shutdown_stays_open_and_its_session_is_given_back(
    tmp_path: Path,
) -> None:
    async with ScriptedModel(SLOW) as model, server(tmp_path, model) as editor:
        await editor.open("a.py")
        await editor.execute("agent-ls.prompt", "Think long")
        await model.wait_for_requests(1)
    await check(tmp_path, sessions=1)
    store = open_store(tmp_path / "data/agent-ls/store.db")
    (session,) = await store.sessions()
    await store.close()
    assert session.status == "running"


@pytest.mark.parametrize(
    "kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.story("postgresql"))]
)
async def test_of_two_servers_on_one_store_only_one_writes_a_session(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = ""
    if kind == "postgresql":
        place = request.getfixturevalue("postgres").new_database()
    async with (
        ScriptedModel(SLOW) as model,
        server(tmp_path, model, place=place) as first,
        server(tmp_path, model, place=place) as second,
    ):
        await first.open("a.py")
        begun = await first.execute("agent-ls.prompt", "Think long")
        await model.wait_for_requests(1)
        with pytest.raises(ServerError, match="another agent-ls writes session") as held:
            await second.execute("agent-ls.session.resume", begun["sessionId"])
        assert held.value.data == {"kind": "session_held"}
        # It runs elsewhere, so nothing here was cut off.
        with pytest.raises(ServerError, match="No session of this workspace was cut off"):
            await second.execute("agent-ls.session.resume")
        await first.kill()
        # Its process is gone, so the lease holds no longer.
        assert (await second.execute("agent-ls.session.resume"))["sessionId"] == begun["sessionId"]
        await second.execute("agent-ls.stop")
        await second.until(
            lambda: (
                any(
                    value["kind"] == "end"
                    for values in second.shown.progress.values()
                    for value in values
                )
                or None
            ),
            30,
            "the end of the resumed turn",
        )
    await check(tmp_path, sessions=1, place=place)


async def test_a_server_that_starts_takes_no_changes_from_one_that_lives(tmp_path: Path) -> None:
    arguments = '{ path = "a.py", content = "x = 2\\n" }'
    call = f'[[answer.call]]\ntool = "write_file"\narguments = {arguments}\n'
    scenario = f'[[answer]]\n{call}[[answer]]\ntext = "Done."\n'
    async with ScriptedModel(scenario) as model, server(tmp_path, model) as first:
        await first.execute("agent-ls.mode", "auto")
        await first.execute("agent-ls.prompt", "Set x to 2")
        await first.until(lambda: _ends(first) or None, 60, "the turn's end")
        async with server(tmp_path, model) as second:
            await second.open("a.py")
            # It has looked by now, and is told so only because it decides.
            assert await second.execute("agent-ls.review.list") == []
            with pytest.raises(ServerError, match="another agent-ls writes session"):
                await second.execute("agent-ls.review.keep", "all")
            offered = await second.code_actions((tmp_path / "work/a.py").as_uri(), 0)
            assert [one["title"] for one in offered if "change" in one["title"]] == []
            assert second.shown.messages == []
        assert (await first.execute("agent-ls.review.keep"))["changes"] == 1
    await check(tmp_path, sessions=1)


async def test_changes_that_a_server_shows_unasked_keep_nobody_from_their_session(
    tmp_path: Path,
) -> None:
    arguments = '{ path = "a.py", content = "x = 2\\n" }'
    call = f'[[answer.call]]\ntool = "write_file"\narguments = {arguments}\n'
    scenario = f"[[answer]]\n{call}" + '[[answer]]\ntext = "Done."\n' * 2
    uri = (tmp_path / "work/a.py").as_uri()
    async with ScriptedModel(scenario) as model:
        async with server(tmp_path, model) as first:
            await first.execute("agent-ls.mode", "auto")
            begun = await first.execute("agent-ls.prompt", "Set x to 2")
            await first.until(lambda: _ends(first) or None, 60, "the turn's end")
        async with AsyncExitStack() as stack:
            looks = await stack.enter_async_context(server(tmp_path, model))
            await looks.until(lambda: looks.shown.diagnostics.get(uri) or None, 60, "the hint")
            uses = await stack.enter_async_context(server(tmp_path, model))
            session_id = begun["sessionId"]
            await uses.execute("agent-ls.session.resume", session_id)
            assert session_id == begun["sessionId"]
            # What it shows is no longer its to decide about, and so it goes.
            await looks.execute("agent-ls.review.keep", "all")
            said = [one["message"] for one in looks.shown.messages if one["type"] == 1]
            assert ["another agent-ls went on with" in one for one in said] == [True], said
            await looks.until(
                lambda: looks.shown.diagnostics.get(uri) == [] or None, 30, "no hint any more"
            )
            with pytest.raises(ServerError, match="another agent-ls writes session"):
                await looks.execute("agent-ls.session.resume", session_id)
            assert (await uses.execute("agent-ls.prompt", "Again"))["sessionId"] == session_id
            await uses.until(lambda: _ends(uses) or None, 60, "the turn's end")
            assert (await uses.execute("agent-ls.review.keep"))["changes"] == 1
    await check(tmp_path, sessions=1)


async def test_who_looks_at_one_session_and_works_in_another_keeps_only_its_own(
    tmp_path: Path,
) -> None:
    writes = (
        f'[[answer]]\n[[answer.call]]\ntool = "write_file"\n'
        f'arguments = {{ path = "{name}.py", content = "x = 2\\n" }}\n'
        '[[answer]]\ntext = "Done."\n'
        for name in ("a", "b")
    )
    scenario = "".join(writes) + '[[answer]]\ntext = "More."\n'
    uri = (tmp_path / "work/a.py").as_uri()
    async with ScriptedModel(scenario) as model:
        async with server(tmp_path, model) as first:
            await first.execute("agent-ls.mode", "auto")
            older = await first.execute("agent-ls.prompt", "Set x to 2")
            await first.until(lambda: _ends(first) or None, 60, "the turn's end")
        async with server(tmp_path, model) as looks, server(tmp_path, model) as uses:
            await looks.until(lambda: looks.shown.diagnostics.get(uri) or None, 60, "the hint")
            await looks.execute("agent-ls.mode", "auto")
            mine = await looks.execute("agent-ls.prompt", "Make b")
            await looks.until(lambda: _ends(looks) or None, 60, "the turn's end")
            # What is decided here is about one session, and leaves the other to whoever wants it.
            kept = await looks.execute("agent-ls.review.keep", {"turnId": mine["turnId"]})
            assert kept["changes"] == 1
            await uses.execute("agent-ls.session.resume", older["sessionId"])
            settings = {"agent-ls": {"marker": "ROBOT"}}
            await looks.notify("workspace/didChangeConfiguration", {"settings": settings})
            again = await looks.execute("agent-ls.prompt", "More")
            assert again["sessionId"] == mine["sessionId"]
    await check(tmp_path, sessions=2)


async def test_a_file_that_is_renamed_while_other_settings_are_taken_over_is_followed(
    tmp_path: Path,
) -> None:
    scenario = (
        '[[answer]]\n[[answer.call]]\ntool = "write_file"\n'
        'arguments = { path = "n0.py", content = "x = 2\\n" }\n[[answer]]\ntext = "Done."\n'
    )
    root = tmp_path / "work"
    async with ScriptedModel(scenario) as model, server(tmp_path, model) as editor:
        await editor.execute("agent-ls.mode", "auto")
        await editor.execute("agent-ls.prompt", "Make it")
        await editor.until(lambda: _ends(editor) or None, 60, "the turn's end")
        for count in range(3):
            old, new = root / f"n{count}.py", root / f"n{count + 1}.py"
            settings = {"agent-ls": {"marker": f"ROBOT{count}"}}
            await editor.notify("workspace/didChangeConfiguration", {"settings": settings})
            old.rename(new)
            moved = {"oldUri": old.as_uri(), "newUri": new.as_uri()}
            await editor.notify("workspace/didRenameFiles", {"files": [moved]})
        async with asyncio.timeout(60):
            listed: list[str] = []
            while listed != ["n3.py"]:
                (turn,) = await editor.execute("agent-ls.review.list")
                listed = [one["path"] for one in turn["files"]]
    await check(tmp_path, sessions=1)


async def test_hints_come_back_with_one_of_the_folders_that_are_gone(tmp_path: Path) -> None:
    scenario = (
        '[[answer]]\n[[answer.call]]\ntool = "write_file"\n'
        'arguments = { path = "second/b.py", content = "x = 2\\n" }\n'
        '[[answer]]\ntext = "Done."\n'
    )
    first, second = tmp_path / "work", tmp_path / "second"
    second.mkdir()
    uri = (second / "b.py").as_uri()
    async with ScriptedModel(scenario) as model, server(tmp_path, model) as editor:
        added = {"added": [{"uri": second.as_uri(), "name": "second"}], "removed": []}
        await editor.notify("workspace/didChangeWorkspaceFolders", {"event": added})
        await editor.execute("agent-ls.mode", "auto")
        await editor.execute("agent-ls.prompt", "Make it")
        await editor.until(lambda: editor.shown.diagnostics.get(uri) or None, 60, "the hint")
        await editor.until(lambda: _ends(editor) or None, 60, "the turn's end")
        for one in (first, second):
            one.rename(tmp_path / f"away {one.name}")
        await editor.until(lambda: not editor.shown.diagnostics.get(uri) or None, 60, "no hint")
        await editor.execute("agent-ls.review.list")
        (tmp_path / "away second").rename(second)
        await editor.until(lambda: editor.shown.diagnostics.get(uri) or None, 60, "the hint again")


def _ends(editor: ClientEditor) -> list[dict[str, Any]]:
    values = (value for values in editor.shown.progress.values() for value in values)
    return [one for one in values if one["kind"] == "end"]


async def test_a_branch_becomes_the_current_session(tmp_path: Path) -> None:
    scenario = "".join(f'[[answer]]\ntext = "{one}"\n' for one in ("One.", "Two.", "Three."))
    async with ScriptedModel(scenario) as model, server(tmp_path, model) as editor:
        await editor.open("a.py")

        async def say(words: str) -> str:
            editor.shown.progress.clear()
            answer = await editor.execute("agent-ls.prompt", words)
            await editor.until(
                lambda: (
                    [v for vs in editor.shown.progress.values() for v in vs if v["kind"] == "end"]
                    or None
                ),
                30,
                "the turn's end",
            )
            return str(answer["sessionId"])

        source = await say("First")
        assert await say("Second") == source
        branch = (await editor.execute("agent-ls.session.fork", source, 1))["sessionId"]
        assert await say("Third") == branch != source
        texts = [str(one["content"]) for one in model.requests[-1].messages]
        assert any("One." in text for text in texts)
        assert not any("Two." in text for text in texts)
        with pytest.raises(ServerError, match="no turn 9"):
            await editor.execute("agent-ls.session.fork", source, 9)


async def test_looking_at_the_changes_of_a_turn_that_was_cut_off_does_not_go_on_with_it(
    tmp_path: Path,
) -> None:
    async with ScriptedModel(SLOW + '[[answer]]\ntext = "Hello."\n') as model:
        async with server(tmp_path, model) as first:
            await first.open("a.py")
            begun = await first.execute("agent-ls.prompt", "Think long")
            await model.wait_for_requests(1)
            await first.kill()
        async with server(tmp_path, model) as second:
            await second.open("a.py")
            await second.request("agent/review/list", {"sessionId": None, "withText": False})
            said = await second.execute("agent-ls.prompt", "Hello?")
            assert said["sessionId"] != begun["sessionId"]
            await model.wait_for_requests(2)
            assert str(model.requests[1].messages[-1]["content"]).startswith("Hello?\n")
    store = open_store(tmp_path / "data/agent-ls/store.db")
    status = {one.session_id: one.status for one in await store.sessions()}
    await store.close()
    assert status[begun["sessionId"]] == "running"


async def test_only_folders_that_are_there_are_trusted(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    async with ScriptedModel("") as model, server(tmp_path, model) as editor:
        added = {"added": [{"uri": gone.as_uri(), "name": "gone"}], "removed": []}
        await editor.notify("workspace/didChangeWorkspaceFolders", {"event": added})
        uris = [one["uri"] for one in await editor.execute("agent-ls.trust")]
        assert gone.as_uri() in uris
        gone.rmdir()
        assert [one["uri"] for one in await editor.execute("agent-ls.trust")] == [
            uri for uri in uris if uri != gone.as_uri()
        ]


async def test_a_damaged_store_is_told_at_the_start_before_anybody_asks_it(tmp_path: Path) -> None:
    async with ScriptedModel("") as model:
        async with server(tmp_path, model) as first:
            await first.request("agent/snapshot", {"sessionId": None})
        path = tmp_path / "data/agent-ls/store.db"
        damaged = path.read_bytes().replace(b"CREATE TABLE events", b"CREATE TABLE evexxs")
        path.write_bytes(damaged)
        async with server(tmp_path, model) as second:
            await second.until(
                lambda: any("it is damaged" in one["message"] for one in second.shown.messages)
            )
    assert path.read_bytes() == damaged
