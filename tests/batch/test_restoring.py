"""What another host gets of a session: all that the store has, else a clear refusal."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from agent_ls.batch.checkouts import Checkout, restore
from agent_ls.domain import events as ev
from agent_ls.domain.edits import MoveFile
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.images import FileImage
from agent_ls.domain.modes import Mode
from agent_ls.loop.state.folding import fold_all
from agent_ls.loop.state.state import TurnState
from agent_ls.store.sql_store import SqlStore
from tests.batch.conftest import store as store

_BYTES = bytes(range(256))


@pytest.fixture(params=["sqlite"])
def place(tmp_path: Path) -> str:
    return str(tmp_path / "store.db")


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "old.txt").write_text("old\n")
    return Checkout(folder, tmp_path / "bare", "c0ffee", ())


def journal(session_id: str, *events: ev.Event) -> list[ev.StoredEvent]:
    begun: list[ev.Event] = [
        ev.SessionCreated(session_id=session_id, roots=(), mode=Mode.AUTO, model="openai/a"),
        ev.TurnStarted(turn_id=f"trn_{session_id}", prompt="x"),
    ]
    return [
        ev.StoredEvent(session_id=session_id, seq=seq, at_ms=1, event=event)
        for seq, event in enumerate([*begun, *events], start=1)
    ]


def turn(*events: ev.Event) -> TurnState:
    found = fold_all(journal("ses_1", *events)).turn
    assert found is not None
    return found


def image(data: bytes, mode: int | None = None, *, is_kept: bool = True) -> FileImage:
    digest = hashlib.sha256(data).hexdigest()
    return FileImage(size_bytes=len(data), digest=digest, mode=mode, is_kept=is_kept)


def changed(path: str, **values: object) -> ev.CommandChanged:
    return ev.CommandChanged.model_validate({"call_id": "c", "path": path, **values})


async def test_binary_files_and_modes_of_commands_come_along(
    checkout: Checkout, store: SqlStore
) -> None:
    text = await store.put_blob(b"#!/bin/sh\n")
    await store.put_blob(_BYTES)
    await restore(
        checkout,
        turn(
            changed("run.sh", after_blob=text, after_mode=0o755),
            changed("made.bin", images=(None, image(_BYTES, 0o640))),
            changed("gone.bin", images=(None, image(b"x"))),
            changed("gone.bin", images=(image(b"x"), None)),
            changed("was.unknown", after_blob=text, is_before_known=False),
            changed("old.txt", before_blob=text),
        ),
        store,
    )
    folder = checkout.folder
    assert (folder / "made.bin").read_bytes() == _BYTES
    assert (folder / "made.bin").stat().st_mode & 0o777 == 0o640
    assert (folder / "run.sh").stat().st_mode & 0o777 == 0o755
    assert {one.name for one in folder.iterdir()} == {"made.bin", "run.sh", "was.unknown"}


async def test_the_newest_change_of_a_file_wins(checkout: Checkout, store: SqlStore) -> None:
    one, two = await store.put_blob(b"one\n"), await store.put_blob(b"two\n")
    await store.put_blob(_BYTES)
    await restore(
        checkout,
        turn(
            changed("a", after_blob=one),
            changed("a", images=(image(b"one\n"), image(_BYTES))),
            changed("b", images=(None, image(_BYTES))),
            changed("b", before_blob=one, after_blob=two, is_before_known=False),
        ),
        store,
    )
    assert (checkout.folder / "a").read_bytes() == _BYTES
    assert (checkout.folder / "b").read_bytes() == b"two\n"


async def test_a_moved_program_stays_one(checkout: Checkout, store: SqlStore) -> None:
    text = await store.put_blob(b"#!/bin/sh\n")
    move = MoveFile(path="a.sh", base_version="v", new_path="b.sh")
    await restore(
        checkout,
        turn(
            changed("a.sh", after_blob=text, after_mode=0o755),
            ev.EditIntended(call_id="m", edit=move, before_blob=text, before_mode=0o755),
            ev.EditApplied(call_id="m", path="a.sh", status="applied", after_blob=text),
        ),
        store,
    )
    assert not (checkout.folder / "a.sh").exists()
    assert (checkout.folder / "b.sh").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("is_over", [True, False])
async def test_what_a_sub_agent_wrote_comes_along(
    checkout: Checkout, store: SqlStore, *, is_over: bool
) -> None:
    await store.put_blob(_BYTES)
    child = journal("ses_2", changed("made.bin", images=(None, image(_BYTES))))
    await store.append(child, durable=True)
    events: list[ev.Event] = [
        ev.ChildStarted(call_id="c", child_id="ses_2", kind="coder", task="x", mode=Mode.AUTO)
    ]
    if is_over:
        end = {"type": "child_ended", "call_id": "c", "child_id": "ses_2", "kind": "coder",
               "stop": "completed"}  # fmt: skip
        events.append(ev.ChildEnded.model_validate(end))
    await restore(checkout, turn(*events), store)
    assert (checkout.folder / "made.bin").read_bytes() == _BYTES


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (changed("a.bin", images=(None, image(b"x", is_kept=False))), "a.bin"),
        (changed("a.bin", images=(None, FileImage(size_bytes=10**9))), "too large"),
        (changed("a.bin", images=(None, image(b"never stored"))), "no longer has a.bin"),
        (changed("a.txt", after_blob="0" * 64), "no longer has a.txt"),
        (
            ev.CommandChangesLeftOut(
                call_id="c", recorded_files=200, left_files=7, left_new_files=7
            ),
            "7 files more",
        ),
    ],
)
async def test_what_the_store_does_not_have_is_told(
    checkout: Checkout, store: SqlStore, event: ev.Event, said: str
) -> None:
    with pytest.raises(WorkspaceError, match=said) as told:
        await restore(checkout, turn(event), store)
    assert "resume --failed" in str(told.value)


async def test_nothing_is_written_outside_by_a_link_of_the_repository(
    checkout: Checkout, store: SqlStore, tmp_path: Path
) -> None:
    text = await store.put_blob(b"new\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("mine\n")
    (checkout.folder / "folder").symlink_to(outside)
    (checkout.folder / "file").symlink_to(outside / "a.txt")
    (checkout.folder / "dangling").symlink_to(outside / "new.txt")
    for path in ("folder/a.txt", "file", "dangling", "../outside/a.txt"):
        with pytest.raises(WorkspaceError, match="not inside"):
            await restore(checkout, turn(changed(path, after_blob=text)), store)
    assert [one.read_text() for one in outside.iterdir()] == ["mine\n"]
    # An edit by a link changes what is behind it.
    (checkout.folder / "by").symlink_to("old.txt")
    await restore(checkout, turn(changed("by", after_blob=text)), store)
    assert (checkout.folder / "old.txt").read_text() == "new\n"
    assert (checkout.folder / "by").is_symlink()
