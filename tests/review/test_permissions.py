"""What the review brings back has the permissions that it had; what the user set since stays."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent_ls.domain.events import EditIntended
from agent_ls.review.ledger import Selection
from agent_ls.store.upcasts import read_event
from tests.review.reviewing import Reviewed, reviewed

_TEXT = "one\ntwo\nthree\nfour\nfive\nsix\n"
_NEW = "1\ntwo\nthree\nfour\nfive\n6\n"
_FILES = {"bin/run.sh": 0o755, "key.txt": 0o600, "fixed.txt": 0o444}
_TEXTS = {name: f"{_TEXT}{name}\n" for name in _FILES}

Story = Callable[[Reviewed], Awaitable[object]]


@dataclass
class Row:
    story: Story
    modes: Mapping[str, int] = field(default_factory=lambda: _FILES)
    """In the end; every one of these files has its text from before."""


def change(session: Reviewed, path: str, mode: int) -> None:
    """Have somebody change a file's permissions."""
    (session.folder / path).chmod(mode)


def write(session: Reviewed, path: str, text: str, mode: int = 0o644) -> None:
    """Have somebody put a new file in a file's place."""
    place = session.folder / path
    other = place.with_name("other.tmp")
    other.write_text(text)
    other.chmod(mode)
    other.replace(place)


async def redo(session: Reviewed) -> None:
    assert await session.review.decide("redo", Selection())


async def undo(session: Reviewed) -> None:
    """Undo everything as a server does that was started since."""
    await session.restart()
    found = await session.undo()
    assert found
    assert {one.status for one in found} == {"done"}, found


async def restore(session: Reviewed, call_id: str = "") -> None:
    await session.end()
    await session.restart()
    found = await session.review.restore("trn_1", call_id)
    assert {one.status for one in found} == {"done"}, found


async def delete_by_edits(session: Reviewed) -> None:
    for name in _FILES:
        await session.agent_writes(name, None)


async def delete_by_a_command(session: Reviewed) -> None:
    def do() -> None:
        shutil.rmtree(session.folder / "bin")
        for name in ("key.txt", "fixed.txt"):
            (session.folder / name).unlink()

    await session.runs(do)


async def rewrite_by_edits(session: Reviewed) -> None:
    await delete_by_edits(session)
    for name in _FILES:
        await session.agent_writes(name, _NEW)


async def rewrite_by_a_command(session: Reviewed) -> None:
    await session.runs(lambda: [write(session, name, _NEW) for name in _FILES])


async def rewrite_by_another_command(session: Reviewed) -> None:
    await session.runs(lambda: [write(session, name, f"{_NEW}7\n", 0o600) for name in _FILES])


async def in_place_by_a_command(session: Reviewed) -> None:
    def do() -> None:
        for name in _FILES:
            with (session.folder / name).open("a") as file:
                file.write("7\n")

    await session.runs(do)


def then(*steps: Callable[[Reviewed], Awaitable[object] | None]) -> Story:
    async def story(session: Reviewed) -> None:
        for step in steps:
            if (done := step(session)) is not None:
                await done

    return story


def user(path: str, mode: int) -> Callable[[Reviewed], None]:
    return lambda session: change(session, path, mode)


def moved(path: str, new_path: str) -> Callable[[Reviewed], Awaitable[None]]:
    return lambda session: session.agent_moves(path, new_path)


def gone(path: str) -> Callable[[Reviewed], Awaitable[None]]:
    return lambda session: session.agent_writes(path, None)


def folder_gone(session: Reviewed) -> None:
    shutil.rmtree(session.folder / "bin", ignore_errors=True)


_TABLE = {
    "deleted by edits": Row(then(delete_by_edits, undo)),
    "deleted by edits, with the folder": Row(then(delete_by_edits, folder_gone, undo)),
    "deleted by a command, with the folder": Row(then(delete_by_a_command, undo)),
    "deleted, undone, done again, undone": Row(then(delete_by_edits, undo, redo, undo)),
    "deleted and restored": Row(then(delete_by_edits, restore)),
    "deleted by a command and restored": Row(then(delete_by_a_command, restore)),
    "deleted and written again by edits": Row(then(rewrite_by_edits, undo)),
    "deleted and written again by edits, and restored": Row(then(rewrite_by_edits, restore)),
    "written anew by a command": Row(then(rewrite_by_a_command, undo)),
    "written anew by a command, and restored": Row(then(rewrite_by_a_command, restore)),
    "written anew by a command, undone and done again, undone": Row(
        then(rewrite_by_a_command, undo, redo, undo)
    ),
    "written anew by a command, then deleted": Row(
        then(rewrite_by_a_command, delete_by_edits, undo)
    ),
    "written anew by a command, then deleted, and restored": Row(
        then(rewrite_by_a_command, delete_by_edits, restore)
    ),
    "made what is no text, and text again, and edited": Row(
        then(
            lambda session: session.runs(lambda: write(session, "bin/run.sh", "\0")),
            lambda session: session.runs(lambda: write(session, "bin/run.sh", _NEW)),
            lambda session: session.agent("bin/run.sh", "two", "2"),
            undo,
        )
    ),
    "made what is no text, and text again, and deleted": Row(
        then(
            lambda session: session.runs(lambda: write(session, "bin/run.sh", "\0")),
            lambda session: session.runs(lambda: write(session, "bin/run.sh", _NEW)),
            gone("bin/run.sh"),
            undo,
        )
    ),
    "moved": Row(then(moved("bin/run.sh", "run.sh"), undo)),
    "moved and restored": Row(then(moved("bin/run.sh", "run.sh"), restore)),
    "moved and deleted": Row(then(moved("bin/run.sh", "run.sh"), gone("run.sh"), undo)),
    "moved over one that was deleted": Row(
        then(gone("key.txt"), moved("bin/run.sh", "key.txt"), undo)
    ),
    "moved by a command": Row(
        then(
            lambda session: session.runs(
                lambda: (session.folder / "bin/run.sh").rename(session.folder / "run.sh")
            ),
            undo,
        )
    ),
    "set by the user since": Row(
        then(
            rewrite_by_a_command,
            user("bin/run.sh", 0o700),
            user("key.txt", 0o640),
            user("fixed.txt", 0o664),
            undo,
        ),
        {"bin/run.sh": 0o700, "key.txt": 0o640, "fixed.txt": 0o664},
    ),
    "set by the user since, and restored": Row(
        then(rewrite_by_edits, user("bin/run.sh", 0o700), restore),
        {**_FILES, "bin/run.sh": 0o700},
    ),
    "set by the user before it was deleted": Row(
        then(
            rewrite_by_a_command,
            user("bin/run.sh", 0o700),
            delete_by_edits,
            undo,
        ),
        {**_FILES, "bin/run.sh": 0o700},
    ),
    "set by the user between two commands": Row(
        then(
            rewrite_by_a_command,
            user("bin/run.sh", 0o700),
            user("key.txt", 0o640),
            in_place_by_a_command,
            undo,
        ),
        {"bin/run.sh": 0o700, "key.txt": 0o640, "fixed.txt": 0o444},
    ),
    "set by the user between two commands that both set others": Row(
        then(
            rewrite_by_a_command,
            user("bin/run.sh", 0o700),
            rewrite_by_another_command,
            undo,
        ),
        {**_FILES, "bin/run.sh": 0o700},
    ),
    "set by the user between two commands, and restored": Row(
        then(
            rewrite_by_a_command,
            user("bin/run.sh", 0o700),
            in_place_by_a_command,
            restore,
        ),
        {**_FILES, "bin/run.sh": 0o700},
    ),
    "set by the user before it was deleted and written again": Row(
        then(
            rewrite_by_a_command,
            user("bin/run.sh", 0o700),
            rewrite_by_edits,
            undo,
        ),
        {**_FILES, "bin/run.sh": 0o700},
    ),
    "set by a command that changed nothing else": Row(
        then(
            rewrite_by_a_command,
            lambda session: session.runs(lambda: change(session, "bin/run.sh", 0o700)),
            in_place_by_a_command,
            undo,
        ),
        {**_FILES, "bin/run.sh": 0o700},
    ),
    "set by the user between an undo and a redo": Row(
        then(delete_by_edits, undo, user("bin/run.sh", 0o700), redo, undo),
        {**_FILES, "bin/run.sh": 0o700},
    ),
    "lent to whoever runs it": Row(then(user("bin/run.sh", 0o4755), delete_by_edits, undo)),
    "edited in place": Row(
        then(lambda session: session.agent("bin/run.sh", "one", "1"), undo),
    ),
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", _TABLE)
async def test_what_comes_back_has_its_permissions(tmp_path: Path, name: str) -> None:
    folder, row = tmp_path / "work", _TABLE[name]
    folder.mkdir()
    async with reviewed(folder, _TEXTS) as session:
        for path, mode in _FILES.items():
            change(session, path, mode)
        await session.turn()
        await row.story(session)
        assert session.texts() == _TEXTS
        assert modes(session) == row.modes


def modes(session: Reviewed) -> dict[str, int]:
    return {path: (session.folder / path).stat().st_mode & 0o7777 for path in session.texts()}


async def test_the_permissions_go_back_with_the_last_of_the_lines(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    async with reviewed(folder, {"run.sh": _TEXT}) as session:
        change(session, "run.sh", 0o755)
        await session.turn()
        await session.runs(lambda: write(session, "run.sh", _NEW))
        found: list[int] = []
        for word in ("six", "one"):
            await session.undo(word)
            found.append(modes(session)["run.sh"])
        await session.review.decide("redo", Selection(hunks=await session.ids_of("six")))
        assert [*found, modes(session)["run.sh"]] == [0o644, 0o755, 0o644]


@pytest.mark.parametrize("taken_back", [undo, restore])
@pytest.mark.parametrize("how", ["edit", "command"])
async def test_what_was_made_has_its_permissions_when_it_is_made_again(
    tmp_path: Path, how: str, taken_back: Story
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    async with reviewed(folder, {}) as session:
        await session.turn()
        if how == "edit":
            await session.agent_writes("run.sh", _TEXT)
            change(session, "run.sh", 0o755)
        else:
            await session.runs(lambda: write(session, "run.sh", _TEXT, 0o755))
        await taken_back(session)
        assert session.texts() == {}
        await session.restart()
        await redo(session)
        assert (session.texts(), modes(session)) == ({"run.sh": _TEXT}, {"run.sh": 0o755})


async def test_a_restore_to_before_a_call_takes_the_permissions_of_then(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    async with reviewed(folder, {"run.sh": _TEXT}) as session:
        change(session, "run.sh", 0o755)
        await session.turn()
        await session.runs(lambda: write(session, "run.sh", _NEW, 0o640))
        await session.runs(lambda: (session.folder / "run.sh").unlink())
        await restore(session, "cal_2")
        assert (session.texts(), modes(session)) == ({"run.sh": _NEW}, {"run.sh": 0o640})
        await session.undo()
        assert (session.texts(), modes(session)) == ({"run.sh": _TEXT}, {"run.sh": 0o755})


async def test_a_journal_that_tells_of_no_permissions_brings_the_text_back(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    old = (
        '{"type":"edit_intended","v":1,"call_id":"cal_1","before_blob":null,"takes_back":false,'
        '"edit":{"kind":"create","path":"a.txt","text":"x"}}'
    )
    intent = read_event(old, "edit_intended", 1)
    assert isinstance(intent, EditIntended)
    assert intent.before_mode is None
    async with reviewed(folder, {"run.sh": _TEXT, "other": ""}) as session:
        change(session, "run.sh", 0o755)
        await session.turn()
        await session.command("run.sh", None)
        await undo(session)
        assert session.texts() == {"run.sh": _TEXT, "other": ""}
        assert modes(session)["run.sh"] == modes(session)["other"]


@pytest.mark.parametrize("taken_back", [undo, restore])
async def test_what_the_user_set_stays_between_changes_of_a_file_that_is_no_text(
    tmp_path: Path, taken_back: Story
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    async with reviewed(folder, {"run": "\0one"}) as session:
        place = folder / "run"
        change(session, "run", 0o644)
        await session.turn()
        await session.runs(lambda: place.write_bytes(b"\0two!"))
        change(session, "run", 0o755)
        await session.runs(lambda: place.write_bytes(b"\0three!!"))
        await taken_back(session)
        assert (session.texts(), modes(session)) == ({"run": "\0one"}, {"run": 0o755})


@pytest.mark.parametrize("taken_back", [undo, restore])
async def test_what_edits_do_to_a_file_that_was_no_text_counts_with_its_permissions(
    tmp_path: Path, taken_back: Story
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    async with reviewed(folder, {"made": "\0made", "gone": "\0gone"}) as session:
        for name in ("made", "gone"):
            change(session, name, 0o755)
        await session.turn()
        await session.runs((folder / "made").unlink)
        await session.agent_writes("made", _TEXT)
        await session.runs(lambda: write(session, "gone", _TEXT))
        change(session, "gone", 0o640)
        await session.agent_writes("gone", None)
        await taken_back(session)
        assert session.texts() == {"made": "\0made", "gone": "\0gone"}
        assert modes(session) == {"made": 0o755, "gone": 0o640}
