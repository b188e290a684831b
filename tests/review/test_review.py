"""The user's review: hunks, files and turns are kept, undone, done again and restored."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest
import sqlalchemy as sa

from agent_ls.domain import events as e
from agent_ls.domain.calls import ToolCall
from agent_ls.domain.edits import ChangeText, DeleteFile, EditOutcome, FileEdit
from agent_ls.domain.errors import AgentLsError, StoreError
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.review import ReviewDecision
from agent_ls.edits.minimal import replacements_between
from agent_ls.loop.ports.store import Journals
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.review.ledger import Selection
from agent_ls.review.restore import RestorePoint
from agent_ls.review.steps import FileResult
from agent_ls.store import schema
from tests.review.reviewing import Reviewed, TypedBehind, damage, reviewed

_TEXT = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"
_AB = {"a.py": _TEXT, "b.py": "b\n"}

Story = Callable[[Reviewed], Awaitable[object]]


async def check(
    folder: Path,
    story: Story,
    files: dict[str, str] | None = None,
    *,
    after: dict[str, str],
    still_open: list[tuple[str, str]] | None = None,
) -> None:
    """Tell the story; then the files and the open hunks are these, after a restart too."""
    async with reviewed(folder / "work", {"a.py": _TEXT} if files is None else files) as session:
        await session.turn()
        await story(session)
        assert session.texts() == after
        assert await session.open_hunks() == (still_open or [])
        await session.restart()
        assert await session.open_hunks() == (still_open or [])


def statuses(results: list[FileResult]) -> list[tuple[str, str]]:
    return [(one.path, one.status) for one in results]


async def test_a_hunk_is_undone_and_another_kept(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        await session.agent("a.py", "two", "2")
        await session.agent("a.py", "eight", "8")
        assert statuses(await session.undo("two")) == [("a.py", "done")]
        kept = Selection(hunks=await session.ids_of("eight"))
        assert statuses(await session.review.decide("keep", kept)) == [("a.py", "done")]

    await check(tmp_path, story, after={"a.py": _TEXT.replace("eight", "8")})


@pytest.mark.parametrize("order", [("two", "five", "eight"), ("eight", "two", "five")])
async def test_hunks_are_undone_in_any_order_around_the_users_typing(
    tmp_path: Path, order: tuple[str, ...]
) -> None:
    async def story(session: Reviewed) -> None:
        await session.agent("a.py", "two", "2")
        session.user("a.py", "one", "zero\none")
        await session.agent("a.py", "five\n", "")
        session.user("a.py", "nine", "nein")
        await session.agent("a.py", "eight\n", "eight\n8\n")
        for word in order:
            assert statuses(await session.undo(word if word != "eight" else "8"))
            session.user("a.py", "zero", "zero\n0")

    after = "zero\n0\n0\n0\n" + _TEXT.replace("nine", "nein")
    await check(tmp_path, story, after={"a.py": after})


@pytest.mark.parametrize(
    ("between", "brought_back"),
    [
        pytest.param([], None, id="nobody-touched-it"),
        pytest.param(["typed"], "agent\nmine\n", id="the-user-wrote-in-it"),
        pytest.param(["typed", "edited"], "the agent\nmine\n", id="the-agent-edited-it-then"),
        pytest.param(["own"], "all mine\n", id="the-user-made-it-anew"),
        pytest.param(["kept"], "agent\n", id="the-user-kept-it"),
        pytest.param(["undone", "own"], "all mine\n", id="the-user-undid-it-and-made-their-own"),
        pytest.param(["deleted", "own"], "all mine\n", id="the-agent-had-deleted-it-once"),
    ],
)
@pytest.mark.parametrize("is_made_again", [False, True])
async def test_what_the_user_has_in_a_file_of_the_turn_comes_back_when_it_is_deleted(
    tmp_path: Path, between: list[str], brought_back: str | None, *, is_made_again: bool
) -> None:
    async def story(session: Reviewed) -> None:
        place = session.folder / "n.md"
        deeds: dict[str, Callable[[], object]] = {
            "typed": lambda: session.user("n.md", "agent\n", "agent\nmine\n"),
            "edited": lambda: session.agent("n.md", "agent", "the agent"),
            "kept": lambda: session.review.decide("keep", Selection(path="n.md")),
            "undone": session.undo,
            "deleted": lambda: session.agent_writes("n.md", None),
            "own": lambda: place.write_text("all mine\n"),
        }
        await session.agent_writes("n.md", "agent\n")
        for deed in between:
            if inspect.isawaitable(done := deeds[deed]()):
                await done
        if brought_back is not None:
            place.chmod(0o600)
        await session.agent_writes("n.md", None)
        if is_made_again:
            await session.agent_writes("n.md", "anew\n")
        is_listed = is_made_again or brought_back is not None
        assert [path for path, _ in await session.open_hunks()] == ["n.md"] * is_listed
        await session.restart()
        assert statuses(await session.undo()) == [("n.md", "done")] * is_listed
        assert brought_back is None or place.stat().st_mode & 0o777 == 0o600

    after = {} if brought_back is None else {"n.md": brought_back}
    await check(tmp_path, story, {}, after=after)


async def test_a_deletion_that_is_done_again_takes_nothing_that_came_since(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        await session.agent_writes("a.py", None)
        await session.undo()
        session.user("a.py", "five", "5 mine")
        await session.agent("a.py", "two", "2")
        await session.undo()
        [result] = await session.review.decide("redo", Selection())
        assert (result.status, result.hunks) == ("conflict", 0)

    await check(tmp_path, story, after={"a.py": _TEXT.replace("five", "5 mine")})


@pytest.mark.parametrize("path", ["a.txt", "moved.txt"])
async def test_decisions_that_are_made_at_once_wait_for_each_other(
    tmp_path: Path, path: str
) -> None:
    text = "".join(f"line {number}x\n" for number in range(40))

    async def story(session: Reviewed) -> None:
        await session.agent_writes("a.txt", text.replace("5x", "5y").replace("0x", "0y"))
        if path != "a.txt":
            await session.agent_moves("a.txt", path)
        ids = [one for word in ("0y", "5y") for one in sorted(await session.ids_of(word))]
        decided = [session.review.decide("undo", Selection(hunks=frozenset({one}))) for one in ids]
        results = [statuses(one) for one in await asyncio.gather(*decided)]
        assert results == [[(path, "done")]] * 8
        if path != "a.txt":
            await session.undo()

    await check(tmp_path, story, {"a.txt": text}, after={"a.txt": text})


async def test_an_undo_takes_what_can_go_and_shows_both_versions_of_the_rest(
    tmp_path: Path,
) -> None:
    async def story(session: Reviewed) -> None:
        await session.agent("a.py", "two", "2")
        await session.agent("a.py", "eight", "8")
        session.user("a.py", "2\n", "2 mine\n")
        [result] = await session.undo()
        assert (result.status, result.hunks) == ("conflict", 1)
        assert result.reason == "1 of 2 changes stays: these lines were changed since"
        assert result.clash is not None
        assert result.clash.line == 2
        assert "2 mine" in (result.clash.now or "")
        assert "two" in (result.clash.wanted or "")

    after = _TEXT.replace("two", "2 mine")
    await check(tmp_path, story, after={"a.py": after}, still_open=[("a.py", "two")])


async def test_typing_right_behind_an_edit_is_the_users(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        # The bytes that were seen after the edit hold what a quick user typed meanwhile.
        session.types_behind = ("two", "two mine")
        await session.agent("a.py", "eight", "8")
        await session.undo()
        await session.agent("a.py", "eight", "8")
        session.user("a.py", "one", "1")
        await session.end()
        assert statuses(await session.review.restore("trn_1")) == [("a.py", "done")]

    after = _TEXT.replace("two", "two mine").replace("one", "1")
    await check(tmp_path, story, after={"a.py": after})


@pytest.mark.parametrize("begins", ["before the first file", "behind the first file"])
async def test_what_is_not_restored_yet_when_a_turn_begins_stays(
    tmp_path: Path, begins: str
) -> None:
    is_early = begins == "before the first file"
    changed = _TEXT.replace("two", "2")

    async def story(session: Reviewed) -> None:
        async def begin() -> None:
            await session.turn()

        class Prompted(TypedBehind):
            async def apply(self, edit: FileEdit) -> EditOutcome:
                outcome = await super().apply(edit)
                await begin()
                return outcome

        for name in ("a.py", "b.py"):
            await session.agent(name, "two", "2")
        await session.end()
        if is_early:
            session.claim = begin
        else:
            session.workspace = cast("Workspace", Prompted(session.workspace, lambda: None))
        await session.restart()
        if is_early:
            with pytest.raises(AgentLsError, match="A turn is running"):
                await session.review.restore("trn_1")
        else:
            told = [(one.status, one.reason) for one in await session.review.restore("trn_1")]
            assert told == [("done", ""), ("refused", "a turn has begun meanwhile")]
        await session.end()

    await check(
        tmp_path,
        story,
        {"a.py": _TEXT, "b.py": _TEXT},
        after={"a.py": changed, "b.py": changed if is_early else _TEXT},
        still_open=[("a.py", "two"), ("b.py", "two")][: 2 if is_early else 1],
    )


async def test_what_a_command_changed_is_undone_and_restored_like_an_edit(tmp_path: Path) -> None:
    files = {"a.py": _TEXT, "gone.py": "g\n"}

    async def story(session: Reviewed) -> None:
        await session.command("a.py", _TEXT.replace("two", "2"))
        await session.command("gone.py", None)
        await session.command("new.py", "n\n")
        session.user("a.py", "nine", "mine")
        await session.undo("two")
        await session.end()
        results = await session.review.restore("trn_1")
        assert sorted(statuses(results)) == [("gone.py", "done"), ("new.py", "done")]

    await check(tmp_path, story, files, after={**files, "a.py": _TEXT.replace("nine", "mine")})


async def test_what_a_stopped_command_did_late_is_its_own_turns(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        call = ToolCall(id="cal_1", provider_id="1", tool="run_command", arguments_json="{}")
        answer = AssistantMessage(text="", calls=(call,))
        await session.recorder.emit(e.Answered(step_id="stp_1", message=answer))
        await session.turn()
        await session.command("a.py", _TEXT.replace("two", "2"))
        ledger = await session.review.ledger()
        assert [len(turn.files) for turn in ledger.turns.values()] == [1, 0]
        await session.undo()

    await check(tmp_path, story, after={"a.py": _TEXT})


async def test_what_a_sub_agent_changed_is_undone_with_its_parents_turn(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        await session.agent("a.py", "two", "2")
        async with session.child():
            await session.agent("a.py", "eight", "8")
            session.user("a.py", "one", "1")
            await session.agent("a.py", "five", "5")
        assert await session.open_hunks() == [("a.py", "two"), ("a.py", "five"), ("a.py", "eight")]
        await session.undo()

    await check(tmp_path, story, after={"a.py": _TEXT.replace("one", "1")})


async def test_an_undo_is_undone(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        await session.agent("a.py", "two", "2")
        await session.undo()
        session.user("a.py", "one", "1")
        again = Selection(hunks=await session.ids_of("two"))
        assert statuses(await session.review.decide("redo", again)) == [("a.py", "done")]

    after = _TEXT.replace("two", "2").replace("one", "1")
    await check(tmp_path, story, after={"a.py": after}, still_open=[("a.py", "two")])


@pytest.mark.parametrize("by", ["undo", "restore"])
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("one\r\ntwo\nthree\n", id="mixed-ends"),
        pytest.param("one 10%\rone 20%\ntwo\nthree\n", id="cr-alone"),
        pytest.param("one\ntwo", id="no-final-end"),
    ],
)
async def test_what_was_undone_has_its_line_ends_back(tmp_path: Path, text: str, by: str) -> None:
    async def story(session: Reviewed) -> None:
        await session.agent_writes("a.py", "two\nthree\n")
        assert session.texts() == {"a.py": "two\nthree\n"}
        await session.end()
        await (session.undo() if by == "undo" else session.review.restore("trn_1"))

    await check(tmp_path, story, {"a.py": text}, after={"a.py": text})


async def test_a_turn_is_undone_and_an_older_one_stays(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        await session.agent("a.py", "two", "2")
        await session.turn()
        await session.agent("a.py", "2\n", "II\n")
        await session.agent_writes("new.py", "n\n")
        await session.undo(turn_id="trn_2")

    after = _TEXT.replace("two", "2")
    await check(tmp_path, story, after={"a.py": after}, still_open=[("a.py", "two")])


async def test_an_older_turn_waits_for_the_newer_one_on_its_lines(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        await session.agent("a.py", "two", "2")
        await session.turn()
        await session.agent("a.py", "2\n", "II\n")
        assert statuses(await session.undo(turn_id="trn_1")) == [("a.py", "conflict")]
        assert statuses(await session.undo()) == [("a.py", "done"), ("a.py", "done")]

    await check(tmp_path, story, after={"a.py": _TEXT})


async def test_created_deleted_and_moved_files_come_back(tmp_path: Path) -> None:
    files = {"a.py": _TEXT, "gone.py": "\ufeffg\r\nh\r\n", "old.py": "1\n2\n3\n4\n"}

    async def story(session: Reviewed) -> None:
        await session.agent_writes("new.py", "n\n")
        await session.agent_writes("gone.py", None)
        await session.agent_moves("old.py", "moved.py")
        await session.agent("moved.py", "2", "II")
        session.user("moved.py", "4", "IV")
        await session.undo()

    await check(tmp_path, story, files, after={**files, "old.py": "1\n2\n3\nIV\n"})


async def test_a_file_that_was_moved_and_then_deleted_comes_back_and_goes_again(
    tmp_path: Path,
) -> None:
    async def story(session: Reviewed) -> None:
        await session.agent_moves("old.py", "moved.py")
        await session.agent_writes("moved.py", None)
        [result] = await session.undo()
        assert (result.status, result.hunks) == ("done", 2)
        assert session.texts() == {"old.py": "o\n"}
        await session.review.decide("redo", Selection())
        assert session.texts() == {}
        await session.undo()

    await check(tmp_path, story, {"old.py": "o\n"}, after={"old.py": "o\n"})


@pytest.mark.parametrize("by", ["undo", "restore", "dry run"])
async def test_a_file_behind_a_link_that_somebody_put_there_is_left_alone(
    tmp_path: Path, by: str
) -> None:
    files = {"a.py": "one = 1\n", "b.py": "one = 1\n"}

    async def story(session: Reviewed) -> None:
        await session.agent("b.py", "1", "2")
        await session.end()
        place = session.folder / "b.py"
        place.rename(session.folder / "a.py")
        place.symlink_to("a.py")
        if by == "undo":
            results = await session.undo()
        else:
            results = await session.review.restore("trn_1", dry_run=by == "dry run")
        [(status, reason)] = [(one.status, one.reason) for one in results]
        assert status == "refused"
        assert reason.startswith("where b.py was, a link stands to a.py")
        assert session.texts() == {"a.py": "one = 2\n", "b.py": "one = 2\n"}
        place.unlink()
        await session.review.decide("keep", Selection())

    await check(tmp_path, story, files, after={"a.py": "one = 2\n"})


async def test_a_file_that_was_edited_through_a_link_is_reviewed_under_its_own_name(
    tmp_path: Path,
) -> None:
    files = {"a.py": "one = 1\n", "sub/c.py": "c = 1\n"}

    async def story(session: Reviewed) -> None:
        link = session.folder / "b.py"
        link.symlink_to("a.py")
        (session.folder / "through").symlink_to("sub")
        await session.agent("b.py", "1", "2")
        await session.agent("./through/../b.py", "2", "3")
        await session.agent("through/c.py", "1", "2")
        (session.folder / "through").unlink()
        link.unlink()
        link.write_text("one = 3\n")
        await session.restart()
        assert [path for path, _ in await session.open_hunks()] == ["a.py", "sub/c.py"]
        await session.undo()
        link.unlink()

    await check(tmp_path, story, files, after=files)


@pytest.mark.parametrize("decision", ["keep", "undo", "restore", "dry run"])
async def test_nothing_is_decided_while_somebody_else_writes_the_session(
    tmp_path: Path, decision: str
) -> None:
    async def taken() -> None:
        raise StoreError("another agent-ls writes it")

    async def story(session: Reviewed) -> None:
        await session.agent("a.py", "two", "2")
        await session.end()
        session.claim = taken
        await session.restart()
        if decision == "dry run":
            # What only looks takes nothing from anybody.
            results = await session.review.restore("trn_1", dry_run=True)
            assert statuses(results) == [("a.py", "done")]
            return
        if decision == "restore":
            deciding = session.review.restore("trn_1")
        else:
            deciding = session.review.decide(cast("ReviewDecision", decision), Selection())
        with pytest.raises(StoreError, match="another agent-ls"):
            await deciding

    after = {"a.py": _TEXT.replace("two", "2")}
    await check(tmp_path, story, after=after, still_open=[("a.py", "two")])


async def test_a_move_goes_back_once_the_file_in_its_place_has(tmp_path: Path) -> None:
    files = {"a.py": _TEXT, "b.py": "b\n"}

    async def story(session: Reviewed) -> None:
        await session.agent_moves("a.py", "x.py")
        await session.agent_moves("b.py", "a.py")
        await session.agent("x.py", "two", "2")
        assert {one.status for one in await session.undo()} == {"done"}

    await check(tmp_path, story, files, after=files)


async def _moves(session: Reviewed, *moves: str) -> None:
    """Have the agent move files, each as ``OLD NEW``; without a new name it deletes the file."""
    for one in moves:
        old, _, new = one.partition(" ")
        await (session.agent_moves(old, new) if new else session.agent_writes(old, None))


@pytest.mark.parametrize("how", ["move", "delete"])
@pytest.mark.parametrize("by", ["turn", "file"])
async def test_a_move_is_not_undone_before_what_a_newer_turn_did_to_the_file(
    tmp_path: Path, how: str, by: str
) -> None:
    async def story(session: Reviewed) -> None:
        await session.agent_moves("b.py", "c.py")
        await session.turn()
        await _moves(session, "c.py new.py" if how == "move" else "c.py")
        there, is_open = session.texts(), await session.open_hunks()
        path = "new.py" if how == "move" else "c.py"
        results = await session.undo(turn_id="trn_1", **({"path": path} if by == "file" else {}))
        assert {one.status for one in results} == {"conflict"}
        assert (session.texts(), await session.open_hunks()) == (there, is_open)
        await session.undo(turn_id="trn_2")
        await session.undo(turn_id="trn_1")

    await check(tmp_path, story, _AB, after=_AB)


@pytest.mark.parametrize("by", ["undo", "restore", "dry run"])
async def test_files_that_changed_places_stay_until_one_is_moved_away(
    tmp_path: Path, by: str
) -> None:
    async def story(session: Reviewed) -> None:
        await _moves(session, "a.py t.py", "b.py a.py", "t.py b.py")
        await session.agent("b.py", "two", "2")
        await session.end()
        there, review = session.texts(), session.review
        results = await (
            session.undo() if by == "undo" else review.restore("trn_1", dry_run=by == "dry run")
        )
        assert {one.status for one in results} == {"conflict"}
        assert all("move that file away" in one.reason for one in results)
        assert session.texts() == there
        (session.folder / "a.py").rename(session.folder / "aside.py")
        await review.follow("a.py", "aside.py")
        assert {one.status for one in await session.undo()} == {"done"}

    await check(tmp_path, story, _AB, after=_AB)


async def test_a_file_that_another_was_moved_over_comes_back(tmp_path: Path) -> None:
    files = {"gone.py": "g\n", "old.py": "o\n"}

    async def story(session: Reviewed) -> None:
        await session.agent_writes("gone.py", None)
        await session.agent_moves("old.py", "gone.py")
        await session.agent_writes("new.py", "n\n")
        await session.agent("gone.py", "o", "O")
        assert {one.status for one in await session.undo()} == {"done"}

    await check(tmp_path, story, files, after=files)


async def test_a_created_file_that_was_changed_since_stays(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        await session.agent_writes("new.py", "n\n")
        session.user("new.py", "n", "mine")
        assert statuses(await session.undo()) == [("new.py", "conflict")]

    await check(tmp_path, story, {}, after={"new.py": "mine\n"}, still_open=[("new.py", "created")])


async def test_a_file_in_the_place_of_a_deleted_one_stays(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        await session.agent_writes("a.py", None)
        (session.folder / "a.py").write_text("mine\n")
        assert statuses(await session.undo()) == [("a.py", "conflict")]

    await check(tmp_path, story, after={"a.py": "mine\n"}, still_open=[("a.py", "deleted")])


async def test_a_deletion_brings_the_users_typing_back_without_the_agents(
    tmp_path: Path,
) -> None:
    async def story(session: Reviewed) -> None:
        await session.agent("a.py", "two", "2")
        session.user("a.py", "nine", "mine")
        await session.agent_writes("a.py", None)
        await session.undo()

    await check(tmp_path, story, after={"a.py": _TEXT.replace("nine", "mine")})


async def test_restoring_goes_back_past_kept_changes_and_spares_typing(tmp_path: Path) -> None:
    files = {"a.py": _TEXT, "old.py": "1\n2\n3\n", "gone.py": "g\n"}

    async def story(session: Reviewed) -> None:
        await session.agent("a.py", "two", "2")
        await session.turn()
        await session.agent("a.py", "eight", "8")
        await session.review.decide("keep", Selection())
        session.user("a.py", "five", "5 mine")
        await session.agent_moves("old.py", "moved.py")
        await session.agent_writes("gone.py", None)
        await session.turn()
        await session.agent("a.py", "nine", "9")
        await session.agent("moved.py", "2", "II")
        await session.agent_writes("new.py", "n\n")
        await session.undo("nine")
        await session.end()
        results = await session.review.restore("trn_2")
        assert {one.status for one in results} == {"done"}

    after = {**files, "a.py": _TEXT.replace("two", "2").replace("five", "5 mine")}
    await check(tmp_path, story, files, after=after)


async def test_restoring_leaves_a_file_with_a_conflict_alone(tmp_path: Path) -> None:
    files = {"a.py": _TEXT, "b.py": _TEXT}

    async def story(session: Reviewed) -> None:
        await session.agent("a.py", "two", "2")
        await session.agent("a.py", "eight", "8")
        await session.agent("b.py", "two", "2")
        session.user("a.py", "2\n", "mine\n")
        await session.end()
        results = await session.review.restore("trn_1")
        assert sorted(statuses(results)) == [("a.py", "conflict"), ("b.py", "done")]

    after = {"a.py": _TEXT.replace("two", "mine").replace("eight", "8"), "b.py": _TEXT}
    await check(
        tmp_path,
        story,
        files,
        after=after,
        still_open=[("a.py", "two"), ("a.py", "eight")],
    )


async def test_files_are_restored_to_how_they_were_before_a_call(tmp_path: Path) -> None:
    files = {"a.py": _TEXT, "old.py": "1\n2\n3\n", "gone.py": "g\n"}

    async def story(session: Reviewed) -> None:
        await session.agent("a.py", "two", "2")
        await session.agent_writes("early.py", "e\n")
        await session.agent("a.py", "eight", "8")
        call_id = session.call_id
        await session.agent("early.py", "e", "late")
        await session.agent_moves("old.py", "moved.py")
        await session.agent_writes("gone.py", None)
        await session.agent_writes("new.py", "n\n")
        session.user("a.py", "five", "5 mine")
        await session.turn()
        await session.agent("a.py", "nine", "9")
        await session.agent("moved.py", "2", "II")
        await session.end()
        assert await session.before("8") == RestorePoint("trn_1", call_id)
        results = await session.review.restore("trn_1", call_id)
        assert {one.status for one in results} == {"done"}
        assert {one.path for one in results} >= {"a.py", "early.py", "old.py", "gone.py", "new.py"}

    after = {
        **files,
        "a.py": _TEXT.replace("two", "2").replace("five", "5 mine"),
        "early.py": "e\n",
    }
    still_open = [("a.py", "two"), ("early.py", "created")]
    await check(tmp_path, story, files, after=after, still_open=still_open)


async def test_what_a_call_changed_again_is_brought_back_to_the_change_before(
    tmp_path: Path,
) -> None:
    async def story(session: Reviewed) -> None:
        await session.agent("a.py", "two", "2")
        await session.agent("a.py", "2", "II")
        call_id = session.call_id
        await session.agent("a.py", "eight", "8")
        await session.end()
        await session.review.restore("trn_1", call_id)
        assert session.texts() == {"a.py": _TEXT.replace("two", "2")}
        assert await session.open_hunks() == [("a.py", "two")]
        # What is left is undone like any other change, and a restore is one itself.
        await session.undo()
        await session.turn()
        await session.agent("a.py", "five", "5")
        await session.end()
        await session.review.restore("trn_1", "cal_1")

    await check(tmp_path, story, after={"a.py": _TEXT})


async def test_what_the_user_undid_of_older_changes_stays_undone(tmp_path: Path) -> None:
    files = {"a.py": _TEXT, "gone.py": "g\n"}

    async def story(session: Reviewed) -> None:
        await session.agent_writes("gone.py", None)
        await session.agent("a.py", "two", "2")
        await session.turn()
        await session.agent("a.py", "eight", "8")
        call_id = session.call_id
        await session.agent("a.py", "five", "5")
        await session.undo(path="gone.py")
        await session.undo("two")
        await session.end()
        await session.review.restore("trn_2", call_id)
        assert session.texts() == files
        # Nor does it come back with a restore to the whole turn's beginning.
        await session.review.restore("trn_2")

    await check(tmp_path, story, files, after=files)


async def test_before_a_sub_agents_or_a_commands_work_is_a_moment_too(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        await session.agent("a.py", "two", "2")
        async with session.child():
            await session.agent("a.py", "eight", "8")
            await session.agent("a.py", "five", "5")
        await session.command("c.py", "c\n")
        await session.end()
        point = await session.before("5")
        assert point == await session.before("8")
        assert point is not None
        await session.review.restore(point.turn_id, point.call_id)

    after = {"a.py": _TEXT.replace("two", "2")}
    await check(tmp_path, story, after=after, still_open=[("a.py", "two")])


async def test_a_conflict_since_a_call_leaves_that_file_alone(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        await session.agent("a.py", "two", "2")
        await session.agent("a.py", "eight", "8")
        session.user("a.py", "8\n", "8 mine\n")
        await session.end()
        [result] = await session.review.restore("trn_1", session.call_id)
        assert result.status == "conflict"
        with pytest.raises(AgentLsError, match="no call cal_9"):
            await session.review.restore("trn_1", "cal_9")

    after = {"a.py": _TEXT.replace("two", "2").replace("eight", "8 mine")}
    still_open = [("a.py", "two"), ("a.py", "eight")]
    await check(tmp_path, story, after=after, still_open=still_open)


async def test_what_a_user_moved_away_is_undone_once_it_is_back(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        await session.agent("a.py", "two", "2")
        (session.folder / "a.py").rename(session.folder / "mine.py")
        [result] = await session.undo("two")
        assert (result.status, "put it back under this name" in result.reason) == ("conflict", True)
        await session.end()
        [result] = await session.review.restore("trn_1")
        assert (result.status, "put it back under this name" in result.reason) == ("conflict", True)
        assert session.texts() == {"mine.py": _TEXT.replace("two", "2")}
        (session.folder / "mine.py").rename(session.folder / "a.py")
        assert statuses(await session.undo("two")) == [("a.py", "done")]

    await check(tmp_path, story, after={"a.py": _TEXT})


async def test_a_running_turn_is_not_restored(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        with pytest.raises(AgentLsError, match="stop it before"):
            await session.review.restore("trn_1")

    await check(tmp_path, story, after={"a.py": _TEXT})


async def test_a_file_that_is_no_text_is_brought_back_as_a_whole(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        (session.folder / "b.bin").write_bytes(b"a\n")
        version = (await session.workspace.read("b.bin")).version
        blob = await session.store.put_blob(b"\xff\xfe\0")
        edit = DeleteFile(path="b.bin", base_version=version)
        await session.recorder.emit(e.EditIntended(call_id="c", edit=edit, before_blob=blob))
        (session.folder / "b.bin").unlink()
        await session.recorder.emit(e.EditApplied(call_id="c", path="b.bin", status="applied"))
        assert statuses(await session.undo()) == [("b.bin", "done")]
        assert (session.folder / "b.bin").read_bytes() == b"\xff\xfe\0"
        (session.folder / "b.bin").unlink()

    await check(tmp_path, story, after={"a.py": _TEXT})


@pytest.mark.parametrize("is_done", [True, False])
async def test_an_undo_that_a_dead_process_left_open_is_settled_from_the_file(
    tmp_path: Path, is_done: bool
) -> None:
    async def story(session: Reviewed) -> None:
        await session.agent("a.py", "two", "2")
        place = session.folder / "a.py"
        now = await session.workspace.read("a.py")
        await session.recorder.emit(
            e.ReviewDecided(
                review_id="rev_1",
                decision="undo",
                turn_id="trn_1",
                path="a.py",
                hunks=tuple(await session.ids_of("two")),
                edit=ChangeText(
                    path="a.py",
                    base_version=now.version,
                    replacements=replacements_between(now.text, _TEXT),
                ),
                before_blob=await session.store.put_blob(place.read_bytes()),
            )
        )
        if is_done:
            place.write_text(_TEXT)
        await session.restart()

    await check(
        tmp_path,
        story,
        after={"a.py": _TEXT if is_done else _TEXT.replace("two", "2")},
        still_open=[] if is_done else [("a.py", "two")],
    )


class Loads:
    """A store that counts how often a journal is read."""

    def __init__(self, whole: Journals) -> None:
        self._whole, self.count = whole, 0

    async def load(self, session_id: str) -> list[e.StoredEvent]:
        self.count += 1
        return await self._whole.load(session_id)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)


async def test_readers_that_stop_waiting_do_not_make_the_review_begin_anew(tmp_path: Path) -> None:
    async def story(session: Reviewed) -> None:
        await session.agent("a.py", "two", "2")
        loads = Loads(session.store)
        session.journals = cast("Journals", loads)
        await session.restart()
        for _ in range(5):
            # As an editor cancels what it asked for lenses and hover, at each key.
            reading = asyncio.ensure_future(session.review.ledger())
            for _ in range(3):
                await asyncio.sleep(0)
            reading.cancel()
            await asyncio.wait([reading])
        assert len((await session.review.ledger()).touches) == 1
        assert loads.count == 1

    await check(
        tmp_path,
        story,
        after={"a.py": _TEXT.replace("two", "2")},
        still_open=[("a.py", "two")],
    )


async def lose(session: Reviewed, *texts: str) -> None:
    """Let the store lose these texts."""
    await session.store.append([], durable=True)
    engine = sa.create_engine(
        f"sqlite:///{session.folder.parent / 'work.db'}", poolclass=sa.NullPool
    )
    with engine.begin() as connection:
        lost = [hashlib.sha256(one.encode()).hexdigest() for one in texts]
        gone = connection.execute(sa.delete(schema.blobs).where(schema.blobs.c.digest.in_(lost)))
        assert gone.rowcount == len(texts)


@pytest.mark.parametrize(
    ("lost", "title", "status"),
    [
        (["b\n"], "content no longer in the agent's store; cannot be undone", "refused"),
        (["b\n", "c\n"], "content no longer in the agent's store; cannot be undone", "refused"),
        (
            ["c\n"],
            "text, 2 bytes → content no longer in the agent's store; cannot be undone",
            "conflict",
        ),
    ],
)
@pytest.mark.parametrize("decision", ["undo", "restore", "dry run"])
async def test_a_text_that_the_store_has_no_more_is_said_to_be_gone_and_from_where(
    tmp_path: Path, lost: list[str], title: str, status: str, decision: str
) -> None:
    files = {"a.py": _TEXT, "b.py": "b\n"}

    async def story(session: Reviewed) -> None:
        await session.agent("a.py", "two", "2")
        await session.agent_writes("b.py", "c\n")
        await session.end()
        await lose(session, *lost)
        [file] = (await session.review.ledger()).turns["trn_1"].at("b.py")
        assert file is not None
        assert [one.title for one in file.hunks] == [title]
        if decision == "undo":
            results = await session.undo()
        else:
            results = await session.review.restore("trn_1", dry_run=decision == "dry run")
        assert sorted(statuses(results)) == [("a.py", "done"), ("b.py", status)]
        [reason] = [one.reason for one in results if one.path == "b.py"]
        store = str(session.folder.parent / "work.db")
        is_told = "b\n" in lost
        assert [store in reason, "commit" in reason, "keep" in reason] == [is_told] * 3
        if decision == "dry run":
            await session.undo()
        [kept] = await session.review.decide("keep", Selection(path="b.py"))
        assert kept.status == "done"

    await check(tmp_path, story, files, after=files | {"b.py": "c\n"}, still_open=[])


@pytest.mark.parametrize("decision", ["undo", "restore", "dry run"])
async def test_damaged_bytes_of_a_whole_file_leave_the_others_their_decision(
    tmp_path: Path, decision: str
) -> None:
    files = {"a.py": _TEXT, "m.bin": "\0old", "z.py": _TEXT}

    async def story(session: Reviewed) -> None:
        await session.agent("a.py", "two", "2")
        await session.runs(lambda: (session.folder / "m.bin").write_bytes(b"\0new"))
        await session.agent("z.py", "two", "2")
        await session.end()
        await damage(session, b"\0old")
        if decision == "undo":
            results = await session.undo()
        else:
            results = await session.review.restore("trn_1", dry_run=decision == "dry run")
        assert sorted(statuses(results)) == [
            ("a.py", "done"),
            ("m.bin", "refused"),
            ("z.py", "done"),
        ]
        assert ["damaged" in one.reason for one in results] == [False, True, False]
        if decision == "dry run":
            await session.undo()

    after = files | {"m.bin": "\0new"}
    await check(tmp_path, story, files, after=after, still_open=[("m.bin", "opaque")])
