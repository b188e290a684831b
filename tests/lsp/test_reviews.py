"""Where the agent's changes are: of which session, and while more are decided about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from pygls.exceptions import JsonRpcInvalidParams

from agent_ls.domain.errors import AgentLsError
from agent_ls.lsp.diagnostics.review_choice import by_session
from agent_ls.lsp.diagnostics.reviews import Change, place_beside
from agent_ls.lsp.handlers.verbs import VERBS
from agent_ls.review.ledger import Selection
from agent_ls.store import schema
from tests.lsp.test_change_hints import Shown, desk


async def test_changes_are_those_of_the_session_that_is_open_now(tmp_path: Path) -> None:
    async with desk(tmp_path, a="a\nb\nc\n") as here:
        here.open("a.py")
        await here.session.agent_writes("a.py", "a\nB\nc\n")
        found: list[Change] = []
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


@pytest.mark.parametrize("count", [2, 5])
async def test_who_goes_through_the_files_meets_each_while_they_are_undone(
    tmp_path: Path, count: int
) -> None:
    names = [f"{name}.py" for name in "abcde"[:count]]
    async with desk(tmp_path, **dict.fromkeys("abcde", "1\n")) as here:
        for name in names:
            await here.session.agent_writes(name, "2\n")
        met: list[str] = []
        async for session, turn in here.reviews.turns():
            for file in turn.files.values():
                await session.review.decide("undo", Selection(path=file.path))
                # The next reader takes in what was decided.
                assert file.path not in [path for path, _ in await here.session.open_hunks()]
                met.append(file.path)
        assert met == names


@pytest.mark.parametrize("lost", [0, 1, 2])
async def test_events_that_the_store_lacks_are_told_once(tmp_path: Path, lost: int) -> None:
    async with desk(tmp_path, a="1\n", b="1\n") as here:
        await here.session.agent_writes("a.py", "2\n")
        await here.session.agent_writes("b.py", "2\n")
        await here.session.store.append([], durable=True)
        first = 2 + lost
        engine = sa.create_engine(f"sqlite:///{tmp_path / 'store.db'}", poolclass=sa.NullPool)
        with engine.begin() as connection:
            those = schema.events.c.seq.between(3, first)
            assert connection.execute(sa.delete(schema.events).where(those)).rowcount == lost
        await here.session.restart()
        here.shown[:] = [Shown(here.session.session_id, here.session.review)]
        for _ in range(2):
            await here.reviews.of(here.uri("b.py"))
        if not lost:
            assert here.warned == []
            return
        [words] = here.warned
        count = "1 event" if lost == 1 else "2 events"
        assert f"The store lacks {count} of {here.session.session_id}." in words


@pytest.mark.parametrize("decision", ["undo", "restore", "dry run"])
@pytest.mark.parametrize("then", ["closes", "saves", "loads"])
async def test_a_change_of_the_disk_beside_unsaved_text_is_shown_and_taken_back_there(
    tmp_path: Path, decision: str, then: str
) -> None:
    async def decide() -> list[str]:
        if decision == "undo":
            return [one.status for one in await here.session.undo()]
        is_dry = decision == "dry run"
        found = await here.session.review.restore("trn_1", dry_run=is_dry)
        return [one.status for one in found]

    async with desk(tmp_path, a="x = 1\ny = 2\n") as here:
        here.open("a.py")
        here.type("a.py", "x = 1\ny = 2\nmine = 3\n")
        await here.session.command("a.py", "x = 5\ny = 2\n")
        await here.session.end()
        [file] = (await here.session.review.ledger()).turns["trn_1"].at("a.py")
        assert file is not None
        assert [one.first for one in await here.reviews.places(file)] == [0]
        assert await here.reviews.text_with(file) == "x = 5\ny = 2\n"
        # In the editor's text it has no place.
        assert await here.reviews.of(here.uri("a.py")) == []
        assert await decide() == ["conflict"]
        assert here.session.texts()["a.py"] == "x = 5\ny = 2\n"
        assert here.text("a.py") == "x = 1\ny = 2\nmine = 3\n"
        assert await here.session.open_hunks() == [("a.py", "x = 1")]

        if then == "closes":
            here.documents.close(here.uri("a.py"))
            after = "x = 1\ny = 2\n"
        elif then == "loads":
            here.type("a.py", "x = 5\ny = 2\n")
            here.documents.save(here.uri("a.py"))
            after = "x = 1\ny = 2\n"
        else:
            (here.folder / "a.py").write_text(here.text("a.py"))
            here.documents.save(here.uri("a.py"))
            after = "x = 1\ny = 2\nmine = 3\n"
            assert await here.reviews.places(file) == []
        statuses = await decide()
        assert statuses == (["done"] if then != "saves" or decision == "undo" else [])
        if decision == "dry run":
            await here.session.undo()
        assert (await here.workspace.read("a.py")).text == after


async def test_the_disk_is_not_asked_where_the_agent_changed_the_unsaved_text(
    tmp_path: Path,
) -> None:
    async with desk(tmp_path, a="x = 1\ny = 2\n") as here:
        here.open("a.py")
        here.type("a.py", "x = 1\ny = 2\nmine = 3\n")
        (here.folder / "a.py").write_text("another program's\n")
        await here.session.agent("a.py", "y = 2", "y = 20")
        [file] = (await here.session.review.ledger()).turns["trn_1"].at("a.py")
        assert file is not None
        assert [one.first for one in await here.reviews.places(file)] == [1]
        assert await here.reviews.text_with(file) == "x = 1\ny = 20\nmine = 3\n"
        assert [one.status for one in await here.session.undo()] == ["done"]
        assert here.text("a.py") == "x = 1\ny = 2\nmine = 3\n"


@pytest.mark.parametrize("step", [1, -1])
@pytest.mark.parametrize("here", [("", -1), ("b", 4), ("b", 5), ("bb", 7), ("d", 0)])
def test_going_on_comes_by_every_change(here: tuple[str, int], step: int) -> None:
    places = [("a", 0), ("a", 2), ("b", 4), ("b", 9), ("c", 0)]
    met: list[tuple[str, int]] = []
    for _ in places:
        here = place_beside(places, here, step)
        met.append(here)
    assert sorted(met) == places
    # One after the other, and from the last one to the first.
    at = places.index(met[0])
    assert met == [places[(at + step * number) % len(places)] for number in range(len(places))]


@pytest.mark.parametrize(
    ("here", "behind", "before"),
    [
        (("", -1), ("a", 0), ("c", 0)),
        (("a", 1), ("a", 2), ("a", 0)),
        (("a", 2), ("c", 0), ("a", 0)),
        (("b", 3), ("c", 0), ("a", 2)),
        (("c", 0), ("a", 0), ("a", 2)),
    ],
)
def test_the_change_beside_a_place(
    here: tuple[str, int], behind: tuple[str, int], before: tuple[str, int]
) -> None:
    places = [("a", 0), ("a", 2), ("c", 0)]
    assert (place_beside(places, here, 1), place_beside(places, here, -1)) == (behind, before)


def asked(argument: Any) -> Any:
    """Return what the command reads in its argument."""
    (verb,) = (one for one in VERBS if one.command == "agent-ls.review.keep")
    return verb.read([argument])


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ({"line": 0}, "line is not understood here: without uri it means nothing."),
        ({"line": 0, "lastLine": 9}, "line is not understood here"),
        ({"uri": "a.py", "lastLine": 9}, "lastLine is not understood here: without line"),
        ({"callId": "cal_1"}, "callId is not understood here: only agent-ls.restore"),
        ({"turnId": "trn_1", "callId": "cal_1"}, "callId is not understood here"),
        ([], "is not understood: must be a table."),
        ("", "is not understood: uri: must not be empty."),
        ({"uri": ""}, "uri: must not be empty"),
        ({"uri": "a.py", "line": True}, "line: must be a whole number"),
        ({"uri": "a.py", "line": "0"}, "line: must be a whole number"),
        ({"uri": "a.py", "line": -1}, "line: must be greater than or equal to 0"),
        ({"uri": "a.py", "line": 2, "lastLine": 1}, "lastLine is before line"),
        ({"uri": "a.py", "line": 0, "hunkIds": []}, "hunkIds: must not be empty"),
        ({"uri": "a.py", "line": 0, "hunkIds": ["9"]}, "no such change any more: 9;"),
        ({"uri": "a.py", "line": 0, "sessionId": "ses_2"}, "known of a session ses_2."),
        ({"uri": "a.py", "line": 0, "turnId": "trn_9"}, "known of a turn trn_9."),
        ({"sessionId": "ses_2"}, "known of a session ses_2."),
        ({"hunkIds": ["9"]}, "no such change any more: 9;"),
        ({"hunkIds": ["9"], "sessionId": "ses_2"}, "known of a session ses_2."),
        ({"turnId": "trn_9"}, "known of a turn trn_9."),
        ({"uri": "a.py", "turnId": "trn_9"}, "known of a turn trn_9."),
        ("b.py", "b.py is no file of the open folders."),
        ("file:///elsewhere/a.py", "file:///elsewhere/a.py is no file of the open folders."),
        ({"uri": "untitled:1", "line": 0}, "untitled:1 is no file of the open folders."),
        ("\ud800", "uri: must be text that can be written"),
        ({"hunkIds": ["\ud800"]}, "hunkIds[1]: must be text that can be written"),
        (False, "is not understood: must be a table."),
    ],
)
async def test_what_is_not_understood_of_an_argument_does_not_mean_everything(
    tmp_path: Path, argument: object, words: str
) -> None:
    async with desk(tmp_path, a="1\n") as here:
        await here.session.agent_writes("a.py", "2\n")
        with pytest.raises((AgentLsError, JsonRpcInvalidParams)) as caught:
            await here.chooser.chosen(asked(argument), "open")
        assert words in getattr(caught.value, "message", str(caught.value))


@pytest.mark.parametrize(
    ("argument", "lines"),
    [
        (None, ["3"]),
        ({}, ["3"]),
        ("all", ["1", "2", "3"]),
        ("a.py", ["1", "3"]),
        ({"turnId": "trn_1"}, ["1", "2"]),
        ({"turnId": "trn_1", "uri": "a.py"}, ["1"]),
        ({"uri": "a.py", "line": 0}, ["1"]),
        ({"uri": "a.py", "line": 0, "lastLine": 2}, ["1", "3"]),
        ({"uri": "a.py", "line": 0, "lastLine": 2, "turnId": "trn_2"}, ["3"]),
        ({"uri": "a.py", "line": 1}, []),
        ({"uri": "a.py", "line": 1, "turnId": "trn_1"}, []),
    ],
)
async def test_an_argument_means_these_changes(
    tmp_path: Path, argument: object, lines: list[str]
) -> None:
    async with desk(tmp_path, a="1\n-\n3\n", b="2\n") as here:
        await here.session.agent("a.py", "1", "one")
        await here.session.agent("b.py", "2", "two")
        await here.session.turn()
        await here.session.agent("a.py", "3", "three")
        ledger = await here.session.review.ledger()
        found = [
            hunk.old[0]
            for _, selection in await here.chooser.chosen(asked(argument), "open")
            for hunk in ledger.hunks(selection, "open")
        ]
        assert sorted(found) == lines
