"""Files that the user renames: their changes are decided about where the files are now."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.edits import DeleteFile
from agent_ls.domain.findings import Finding
from agent_ls.review.ledger import Selection
from tests.review.reviewing import Reviewed, reviewed

_TEXT = "one\ntwo\nthree\nfour\nfive\n"
_BINARY = "\0old"

Story = Callable[[Reviewed], Awaitable[object]]


async def rename(session: Reviewed, path: str, new_path: str) -> None:
    """Have the user rename a file or folder, as an editor tells of it."""
    new = session.folder / new_path
    new.parent.mkdir(parents=True, exist_ok=True)
    (session.folder / path).rename(new)
    await session.review.follow(path, new_path)


async def _edited(session: Reviewed) -> None:
    await session.agent("a.py", "two", "2")
    await rename(session, "a.py", "b.py")


async def _typed_in_since(session: Reviewed) -> None:
    await _edited(session)
    session.user("b.py", "five", "five, mine")


async def _renamed_twice(session: Reviewed) -> None:
    await _edited(session)
    await rename(session, "b.py", "c.py")


async def _made(session: Reviewed) -> None:
    await session.agent_writes("new.py", "n\n")
    await rename(session, "new.py", "b.py")


async def _moved_by_the_agent(session: Reviewed) -> None:
    await session.agent("a.py", "two", "2")
    await session.agent_moves("a.py", "b.py")
    await rename(session, "b.py", "c.py")


async def _then_deleted_by_the_agent(session: Reviewed) -> None:
    await _edited(session)
    await session.agent_writes("b.py", None)


async def _in_a_folder(session: Reviewed) -> None:
    await session.agent("d/x.py", "x", "X")
    await session.agent("d/e/y.py", "y", "Y")
    await session.agent("dd.py", "z", "Z")
    await rename(session, "d", "f")


async def _no_text(session: Reviewed) -> None:
    await session.runs(lambda: (session.folder / "m.bin").write_bytes(b"\0new"))
    await rename(session, "m.bin", "n.bin")


async def _over_a_file_that_nobody_changed(session: Reviewed) -> None:
    await session.agent("a.py", "two", "2")
    await rename(session, "a.py", "dd.py")


async def _in_two_turns(session: Reviewed) -> None:
    await session.agent("a.py", "two", "2")
    await session.turn()
    await session.agent("a.py", "four", "4")
    await rename(session, "a.py", "b.py")


_ALL = {"a.py": _TEXT, "d/x.py": "x\n", "d/e/y.py": "y\n", "dd.py": "z\n", "m.bin": _BINARY}


def _with(**gone_to: str) -> dict[str, str]:
    """Return the files of the beginning under other names; keys have ``_`` for the dot."""
    names = {old.replace("_", "."): new for old, new in gone_to.items()}
    return {names.get(name, name): text for name, text in _ALL.items() if names.get(name, name)}


@pytest.mark.parametrize(
    ("story", "after"),
    [
        (_edited, _with(a_py="b.py")),
        (_typed_in_since, _with(a_py="b.py") | {"b.py": _TEXT.replace("five", "five, mine")}),
        (_renamed_twice, _with(a_py="c.py")),
        (_made, _ALL),
        (_moved_by_the_agent, _ALL),
        (_then_deleted_by_the_agent, _with(a_py="b.py")),
        (
            _in_a_folder,
            {name.replace("d/", "f/"): text for name, text in _ALL.items()},
        ),
        (_no_text, _with(m_bin="n.bin")),
        (_over_a_file_that_nobody_changed, _with(a_py="dd.py", dd_py="") | {"dd.py": _TEXT}),
        (_in_two_turns, _with(a_py="b.py")),
    ],
)
@pytest.mark.parametrize("is_restarted", [False, True])
@pytest.mark.parametrize("how", ["undo", "redo", "restore"])
async def test_changes_are_taken_back_where_the_file_is_now(
    tmp_path: Path, story: Story, after: dict[str, str], is_restarted: bool, how: str
) -> None:
    async with reviewed(tmp_path / "work", _ALL) as session:
        await session.turn()
        await story(session)
        await session.end()
        if is_restarted:
            await session.restart()
        may_have = {name for name in [*session.texts(), "b.py"] if session.review.may_have(name)}
        assert {path for path, _ in await session.open_hunks()} <= may_have
        assert not session.review.may_have("never.py")
        there = session.texts()
        if how == "restore":
            results = await session.review.restore("trn_1")
        else:
            results = await session.review.decide("undo", Selection())
        if how == "redo":
            assert session.texts() == after
            results = await session.review.decide("redo", Selection())
            after = there
        assert {one.status for one in results} == {"done"}, results
        assert session.texts() == after


async def test_what_was_undone_is_done_again_under_the_new_name(tmp_path: Path) -> None:
    async with reviewed(tmp_path / "work", {"a.py": _TEXT}) as session:
        await session.turn()
        await session.agent("a.py", "two", "2")
        await session.agent_moves("a.py", "b.py")
        await session.undo()
        await rename(session, "a.py", "c.py")
        assert {one.status for one in await session.review.decide("redo", Selection())} == {"done"}
        assert session.texts() == {"b.py": _TEXT.replace("two", "2")}
        await session.undo()
        assert session.texts() == {"c.py": _TEXT}


async def test_of_two_files_under_one_name_neither_is_forgotten(tmp_path: Path) -> None:
    async with reviewed(tmp_path / "work", {"a.py": _TEXT, "b.py": "b\n"}) as session:
        await session.turn()
        await session.agent("a.py", "two", "2")
        await session.agent_writes("b.py", None)
        await rename(session, "a.py", "b.py")
        assert sorted(await session.open_hunks()) == [("b.py", "deleted"), ("b.py", "two")]
        results = {one.status: one for one in await session.undo()}
        assert results.keys() == {"done", "conflict"}
        assert "another file has its name now" in results["conflict"].reason
        await rename(session, "b.py", "a.py")
        assert {one.status for one in await session.undo()} == {"done"}
        assert session.texts() == {"a.py": _TEXT, "b.py": "b\n"}


async def test_a_name_that_means_nothing_to_the_review_is_no_event(tmp_path: Path) -> None:
    async with reviewed(
        tmp_path / "work", {"a.py": _TEXT, "b.py": "b\n", "ab.py": "c\n"}
    ) as session:
        await session.turn()
        await session.agent("ab.py", "c", "d")
        before = session.recorder.state.seq
        await rename(session, "b.py", "c.py")
        await rename(session, "a.py", "d.py")
        assert session.recorder.state.seq == before


async def test_a_decision_that_is_under_way_ends_before_the_file_is_followed(
    tmp_path: Path,
) -> None:
    async with reviewed(tmp_path / "work", {"a.py": _TEXT}) as session:
        await session.turn()
        await session.agent("a.py", "two", "2")
        whole = session.workspace.apply

        async def apply(edit: DeleteFile) -> object:
            # The user renames the file as soon as the editor has the edit.
            outcome = await whole(edit)
            (session.folder / "a.py").rename(session.folder / "b.py")
            return outcome

        session.workspace.apply = apply  # pyright: ignore[reportAttributeAccessIssue]
        await session.undo()
        session.workspace.apply = whole  # pyright: ignore[reportAttributeAccessIssue]
        await session.review.follow("a.py", "b.py")
        await session.review.decide("redo", Selection())
        assert session.texts() == {"b.py": _TEXT.replace("two", "2")}


@pytest.mark.parametrize(
    "path, new_path, was, now",
    [("b.py", "c.py", "b.py", "c.py"), ("d", "f", "d/b.py", "f/b.py")],
)
async def test_what_was_found_in_a_file_without_changes_follows_it(
    tmp_path: Path, path: str, new_path: str, was: str, now: str
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    finding = Finding(path=was, checker="tsc", message="a has no two")
    files = {"a.py": _TEXT, was: "from a import two\n", "z.py": "z\n"}
    async with reviewed(folder, files) as session:
        await session.turn()
        await session.agent("a.py", "two", "2")
        reported = e.FindingsReported(paths=("a.py", was), findings=(finding,))
        await session.recorder.emit(reported)
        await session.end()
        await rename(session, path, new_path)
        state = session.recorder.state
        assert state.findings == {now: (finding.model_copy(update={"path": now}),)}
        await rename(session, "z.py", "y.py")
        assert session.recorder.state is state
