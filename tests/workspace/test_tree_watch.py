"""What commands change is seen, with the text before; what others do between them is not theirs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from agent_ls.domain.calls import ToolCall
from agent_ls.domain.edits import TextFile
from agent_ls.loop.ports.commands import CommandChange
from agent_ls.loop.ports.workspace import Root
from agent_ls.loop.sockets import PlannedCall
from agent_ls.tools.run_command import RunCommand, RunCommandArguments
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.runner import ShellRunner
from agent_ls.workspace.tree_watch import TreeWatch

_CALL = ToolCall(id="cal_1", provider_id="p", tool="run_command", arguments_json="{}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = (tmp_path / "proj").resolve()
    (place / "sub").mkdir(parents=True)
    (place / "a.txt").write_bytes(b"one\r\n")
    (place / "sub/b.txt").write_text("two\n")
    (place / ".gitignore").write_text("ignored/\n")
    return place


def workspace(folder: Path) -> DiskWorkspace:
    return DiskWorkspace([Root(name="proj", path=folder, is_trusted=True)])


def planned(folder: Path, command: str) -> PlannedCall:
    tool = RunCommand(workspace(folder), ShellRunner())
    return PlannedCall(_CALL, tool, RunCommandArguments(command=command))


async def check(
    watch: TreeWatch, folder: Path, do: Callable[[], object]
) -> tuple[CommandChange, ...]:
    """Return what is seen of a command that does this."""
    mark = await watch.begin(planned(folder, "make it so"))
    assert mark is not None
    do()
    return await watch.changes(mark)


def _make(path: Path, text: str | bytes = "new\n") -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


@pytest.mark.parametrize(
    ("do", "expected"),
    [
        pytest.param(
            lambda at: _make(at / "a.txt"),
            [CommandChange("a.txt", b"one\r\n", b"new\n")],
            id="changed",
        ),
        pytest.param(
            lambda at: _make(at / "new/c.txt"),
            [CommandChange("new/c.txt", None, b"new\n")],
            id="made",
        ),
        pytest.param(
            lambda at: (at / "a.txt").unlink(),
            [CommandChange("a.txt", b"one\r\n", None)],
            id="removed",
        ),
        pytest.param(
            lambda at: (at / "a.txt").rename(at / "z.txt"),
            [CommandChange("a.txt", b"one\r\n", None), CommandChange("z.txt", None, b"one\r\n")],
            id="moved",
        ),
        pytest.param(lambda at: _make(at / "ignored/x.txt"), [], id="ignored"),
        pytest.param(lambda at: _make(at / "x.bin", b"\0\1"), [], id="no-text"),
        pytest.param(lambda at: os.utime(at / "a.txt"), [], id="only-touched"),
        pytest.param(lambda at: _make(at / "a.txt", "one\r\n"), [], id="written-as-it-was"),
        pytest.param(lambda at: (at / "link").symlink_to("a.txt"), [], id="a-link"),
    ],
)
async def test_a_commands_changes_are_seen(
    folder: Path, do: Callable[[Path], object], expected: list[CommandChange]
) -> None:
    watch = TreeWatch(workspace(folder))
    assert list(await check(watch, folder, lambda: do(folder))) == expected
    # Also by a later command, when the files are known already.
    assert list(await check(watch, folder, lambda: None)) == []


async def test_what_others_do_between_two_commands_is_not_theirs(folder: Path) -> None:
    watch = TreeWatch(workspace(folder))
    assert await check(watch, folder, lambda: None) == ()
    _make(folder / "a.txt", "by hand\n")
    _make(folder / "mine.txt", "mine\n")
    os.utime(folder / "mine.txt", ns=(1, 1))
    found = await check(watch, folder, lambda: _make(folder / "a.txt", "by make\n"))
    assert [one for one in found if one.path == "a.txt"] == [
        CommandChange("a.txt", b"by hand\n", b"by make\n")
    ]


async def test_a_text_too_long_to_be_kept_is_seen_to_change(folder: Path) -> None:
    _make(folder / "long.txt", "x" * 3_000_000)
    watch = TreeWatch(workspace(folder))
    (found,) = await check(watch, folder, lambda: _make(folder / "long.txt", "short\n"))
    assert found == CommandChange("long.txt", None, b"short\n", is_before_known=False)


async def test_a_command_that_only_reads_is_not_watched(folder: Path) -> None:
    assert await TreeWatch(workspace(folder)).begin(planned(folder, "git status")) is None


async def test_what_an_agent_edits_meanwhile_is_no_commands_doing(folder: Path) -> None:
    watch = TreeWatch(workspace(folder))

    def edit_beside() -> None:
        watch.edits("./a.txt")
        _make(folder / "a.txt", "edited\n")
        _make(folder / "sub/b.txt", "generated\n")

    found = await check(watch, folder, edit_beside)
    assert [one.path for one in found] == ["sub/b.txt"]
    assert await check(watch, folder, lambda: None) == ()


class Unsaved(DiskWorkspace):
    """A workspace in whose editor a file has unsaved text."""

    async def dirty(self) -> list[TextFile]:
        return [TextFile(path="a.txt", text="typed\n", version="buffer:1", is_dirty=True)]


@pytest.mark.parametrize(
    ("after", "expected"),
    [("typed\n", []), ("built\n", [CommandChange("a.txt", b"typed\n", b"built\n")])],
)
async def test_what_is_saved_for_a_command_was_there_before_it(
    folder: Path, after: str, expected: list[CommandChange]
) -> None:
    watch = TreeWatch(Unsaved([Root(name="proj", path=folder, is_trusted=True)]))
    assert list(await check(watch, folder, lambda: _make(folder / "a.txt", after))) == expected


class Saving(DiskWorkspace):
    """A workspace whose editor has just saved some files."""

    saved: dict[str, str]

    def saved_since(self, at_ns: int) -> Mapping[Path, str]:
        return {self.locate(path)[1]: text for path, text in self.saved.items()}


@pytest.mark.parametrize(
    ("saved", "after", "expected"),
    [
        pytest.param("typed\n", "typed\n", [], id="a-save-alone"),
        pytest.param(
            "typed\n",
            "formatted\n",
            [CommandChange("a.txt", b"typed\n", b"formatted\n")],
            id="a-command-after-the-save",
        ),
        pytest.param("one\r\n", "one\r\n", [], id="a-save-that-changes-nothing"),
    ],
)
async def test_what_the_person_saves_meanwhile_is_no_commands_doing(
    folder: Path, saved: str, after: str, expected: list[CommandChange]
) -> None:
    place = Saving([Root(name="proj", path=folder, is_trusted=True)])
    place.saved = {"a.txt": saved, "new.txt": "mine\n"}

    def save_beside() -> None:
        _make(folder / "a.txt", after)
        _make(folder / "new.txt", "mine\n")

    assert list(await check(TreeWatch(place), folder, save_beside)) == expected
