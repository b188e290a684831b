"""A patch of several files is applied whole or not at all, whoever comes between.

Somebody writes a file at the very moment when the journal says that it is about to be changed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent_ls.domain.calls import ToolResult
from agent_ls.domain.events import (
    EditApplied,
    EditIntended,
    Ephemeral,
    Event,
    StoredEvent,
    ToolCallFinished,
)
from agent_ls.loop.ports.models import Provider
from agent_ls.session.session import Session
from tests.support.scripted import scripted
from tests.support.turns import open_test_sessions, run_turn_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

Files = Mapping[str, str | None]

_A, _B = "one\ntwo\nthree\n", "four\nfive\nsix\n"
_CHANGES = "*** Update File: {}\n@@\n {}\n-{}\n+{}\n"
_PATCH = _CHANGES.format("a.txt", "one", "two", "TWO") + _CHANGES.format(
    "b.txt", "four", "five", "FIVE"
)
_FAILS = "*** Add File: notes/today.txt\n+Done.\n"
"""A folder of its path is a file, which only writing it finds out."""


@dataclass
class Beside:
    """Writes files right after the intents of others are stored, or stops the turn there."""

    folder: Path
    writes: dict[str, Files]
    """By the path that is about to be changed; None for a text removes the file."""
    session: Session | None = None
    """Is cancelled right after the first edit was applied."""
    happened: list[Event] = field(default_factory=list[Event])
    tasks: list[asyncio.Future[bool]] = field(default_factory=list[asyncio.Future[bool]])

    def on_event(self, stored: StoredEvent) -> None:
        self.happened.append(stored.event)
        match stored.event:
            case EditIntended(edit=edit):
                write(self.folder, self.writes.pop(edit.path, {}))
            case EditApplied() if self.session is not None:
                self.session, session = None, self.session
                self.tasks.append(asyncio.ensure_future(session.cancel("user")))
            case _:
                pass

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        """Nothing to see."""


def write(folder: Path, files: Files) -> None:
    for name, text in files.items():
        if text is None:
            (folder / name).unlink()
        else:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(text.encode())


@dataclass(frozen=True)
class Place:
    """Where a model patches files."""

    folder: Path
    host: Provider
    port: int


@pytest.fixture
def place(tmp_path: Path, model_host: Provider, model_port: int) -> Place:
    folder = tmp_path / "project"
    folder.mkdir()
    return Place(folder, model_host, model_port)


async def check(
    place: Place,
    patch: str,
    files: Files,
    *,
    writes: Mapping[str, Files] | None = None,
    expected: Files,
    stops: bool = False,
) -> tuple[ToolResult | None, Beside]:
    """Let a model patch the files and assert what they are then; return the call's result."""
    folder = place.folder
    write(folder, files)
    whole = json.dumps(f"*** Begin Patch\n{patch}*** End Patch\n")
    scenario = (
        f"[[answer]]\n[[answer.call]]\ntool = 'apply_patch'\narguments = {{ patch = {whole} }}\n"
        "[[answer]]\ntext = 'Done.'\n"
    )
    async with (
        scripted(scenario, port=place.port, is_strict=not stops),
        open_test_sessions(folder, place.host, settings_toml="mode = 'auto'") as sessions,
    ):
        session = await sessions.create()
        beside = Beside(folder, dict(writes or {}), session if stops else None)
        session.follow(beside)
        await run_turn_of(session, "Patch the files.")
        await asyncio.gather(*beside.tasks)
        assert session.state.turn is not None
        assert session.state.turn.intents == {}
        ledger = await session.review.ledger()
        reviewed = {
            path: bool(list(file.open()))
            for turn in ledger.turns.values()
            for path, file in turn.files.items()
        }
    found = {name: (folder / name).read_bytes().decode() for name in names_in(folder)}
    assert found == expected
    # What is there to be reviewed is what the call has left changed.
    begun = [one for one in beside.happened if isinstance(one, EditIntended)]
    paths = {one.edit.path for one in begun} & found.keys()
    typed = {name for texts in (writes or {}).values() for name in texts}
    for path in paths - typed:
        assert reviewed.get(path, False) == (found[path] != files.get(path))
    results = [one.result for one in beside.happened if isinstance(one, ToolCallFinished)]
    return (results[0] if results else None), beside


def names_in(folder: Path) -> list[str]:
    return [one.relative_to(folder).as_posix() for one in folder.rglob("*") if one.is_file()]


@pytest.mark.parametrize(
    ("begun", "files"),
    [
        pytest.param(_CHANGES.format("a.txt", "one", "two", "TWO"), {"a.txt": _A}, id="a-change"),
        pytest.param(
            _CHANGES.format("a.txt", "one", "two", "TWO") + "*** Delete File: b.txt\n",
            {"a.txt": "\ufeff" + _A.replace("\n", "\r\n"), "b.txt": "\ufeffB\r\n"},
            id="bytes-that-nobody-sees",
        ),
        pytest.param("*** Add File: new/c.txt\n+C\n", {}, id="a-new-file"),
        pytest.param(
            "*** Update File: a.txt\n*** Move to: c.txt\n", {"a.txt": _A}, id="a-move"
        ),
        pytest.param(
            "*** Update File: a.txt\n*** Move to: c.txt\n@@\n-two\n+TWO\n",
            {"a.txt": _A, "b.txt": _B},
            id="a-move-with-a-change",
        ),
        pytest.param(
            "*** Update File: a.txt\n@@\n-two\n+TWO\n+2\n@@\n-three\n", {"a.txt": _A},
            id="several-places",
        ),
    ],
)  # fmt: skip
async def test_what_was_begun_is_taken_back(place: Place, begun: str, files: Files) -> None:
    files = {**files, "notes": "Nothing yet.\n"}
    result, beside = await check(place, begun + _FAILS, files, expected=files)
    assert result is not None
    assert result.text.startswith("notes/today.txt was not changed: a part of")
    assert " Nothing is changed. As before again: " in result.text
    applied = [one for one in beside.happened if isinstance(one, EditApplied)]
    back = [one for one in applied if one.takes_back]
    assert len(applied) == 2 * len(back) + 1


async def test_a_file_that_was_deleted_first_has_its_permissions_again(place: Place) -> None:
    files = {"run.sh": _A, "notes": ""}
    write(place.folder, files)
    (place.folder / "run.sh").chmod(0o751)
    await check(place, "*** Delete File: run.sh\n" + _FAILS, files, expected=files)
    assert (place.folder / "run.sh").stat().st_mode & 0o777 == 0o751


async def test_a_later_file_that_changes_meanwhile_is_planned_anew_with_the_first(
    place: Place,
) -> None:
    result, _ = await check(
        place,
        _PATCH,
        {"a.txt": _A, "b.txt": _B},
        writes={"b.txt": {"b.txt": "zero\n" + _B}},
        expected={
            "a.txt": _A.replace("two", "TWO"),
            "b.txt": "zero\n" + _B.replace("five", "FIVE"),
        },
    )
    assert result is not None
    assert result.error is None
    assert result.text == "Patched: changed a.txt (line 2); changed b.txt (line 3)."


async def test_a_later_file_that_does_not_fit_any_more_leaves_the_first_as_it_was(
    place: Place,
) -> None:
    now = _B.replace("five", "5")
    result, _ = await check(
        place,
        _PATCH,
        {"a.txt": _A, "b.txt": _B},
        writes={"b.txt": {"b.txt": now}},
        expected={"a.txt": _A, "b.txt": now},
    )
    assert result is not None
    assert result.text.startswith("b.txt: The old text is not in the file.")
    assert result.text.endswith("Nothing was changed.")


async def test_what_somebody_has_changed_again_stays_and_is_named(place: Place) -> None:
    typed = _A.replace("two", "TWO") + "typed\n"
    result, _ = await check(
        place,
        _CHANGES.format("b.txt", "four", "five", "FIVE")
        + _CHANGES.format("a.txt", "one", "two", "TWO")
        + _FAILS,
        {"a.txt": _A, "b.txt": _B, "notes": ""},
        writes={"notes/today.txt": {"a.txt": typed}},
        expected={"a.txt": typed, "b.txt": _B, "notes": ""},
    )
    assert result is not None
    assert result.text.endswith(
        " Still changed by this call: a.txt (it has been changed again since). "
        "As before again: b.txt."
    )


async def test_what_somebody_has_removed_is_named(place: Place) -> None:
    result, _ = await check(
        place,
        _CHANGES.format("a.txt", "one", "two", "TWO") + _FAILS,
        {"a.txt": _A, "notes": ""},
        writes={"notes/today.txt": {"a.txt": None}},
        expected={"notes": ""},
    )
    assert result is not None
    assert result.text.endswith(" Still changed by this call: a.txt (a.txt does not exist).")


async def test_a_later_file_that_is_no_file_any_more_leaves_the_first_as_it_was(
    place: Place,
) -> None:
    result, _ = await check(
        place,
        _PATCH,
        {"a.txt": _A, "b.txt": _B},
        writes={"a.txt": {"b.txt": None, "b.txt/c.txt": "C"}},
        expected={"a.txt": _A, "b.txt/c.txt": "C"},
    )
    assert result is not None
    assert result.text.startswith("b.txt is a folder;")
    assert result.text.endswith(" Nothing is changed. As before again: a.txt.")


async def test_a_patch_that_is_stopped_in_its_middle_leaves_nothing(place: Place) -> None:
    files = {f"{number}.txt": _A for number in range(40)}
    patch = "".join(_CHANGES.format(name, "one", "two", "TWO") for name in files)
    _, beside = await check(place, patch, files, expected=files, stops=True)
    intents = [one for one in beside.happened if isinstance(one, EditIntended)]
    assert 0 < sum(one.takes_back for one in intents) == len(intents) / 2 < len(files)
