"""What commands change is seen, with the text before; what others do between them is not theirs."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from agent_ls.domain.calls import ToolCall
from agent_ls.domain.edits import ChangeText, EditOutcome, Replacement
from agent_ls.domain.images import MAX_KEPT_BYTES
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.ports.commands import CommandChange, CommandMark
from agent_ls.loop.ports.workspace import Root
from agent_ls.tools.run_command import RunCommand, RunCommandArguments
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.runner import ShellRunner
from agent_ls.workspace.seen_files import file_clock_ns
from agent_ls.workspace.tree_watch import CLOCK_NS, TreeWatch

_CALL = ToolCall(id="cal_1", provider_id="p", tool="run_command", arguments_json="{}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = (tmp_path / "proj").resolve()
    (place / "sub").mkdir(parents=True)
    (place / "a.txt").write_bytes(b"one\r\n")
    (place / "sub/b.txt").write_text("two\n")
    (place / ".gitignore").write_text("ignored/\n")
    (place / "ignored").mkdir()
    (place / "ignored/y.txt").write_text("y\n")
    _grow_old(place / "ignored/y.txt")
    return place


def _grow_old(path: Path) -> None:
    """Return when a file that was just made is not taken for one made since."""
    made_ns = path.stat().st_ctime_ns
    while file_clock_ns() <= made_ns + CLOCK_NS:
        pass


def workspace(folder: Path) -> DiskWorkspace:
    return DiskWorkspace([Root(name="proj", path=folder, is_trusted=True)])


def planned(folder: Path, command: str) -> PlannedCall:
    tool = RunCommand(workspace(folder), ShellRunner())
    return PlannedCall(_CALL, tool, RunCommandArguments(command=command))


async def check(
    watch: TreeWatch, folder: Path, do: Callable[[], object]
) -> tuple[CommandChange, ...]:
    """Return what is seen of a command that does this, but for permissions."""
    mark = await watch.begin(planned(folder, "make it so"))
    assert mark is not None
    do()
    return without_modes(await watch.changes(mark))


async def begun(watch: TreeWatch, folder: Path) -> CommandMark:
    """Let a command begin."""
    mark = await watch.begin(planned(folder, "make it so"))
    assert mark is not None
    return mark


def without_modes(changes: Sequence[CommandChange]) -> tuple[CommandChange, ...]:
    return tuple(replace(one, modes=(None, None)) for one in changes)


def _make(path: Path, text: str | bytes = "new\n") -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


def _ignore_no_more(at: Path) -> None:
    (at / ".gitignore").unlink()
    _make(at / "ignored/z.txt")
    (at / "sub").rename(at / "new")


@pytest.mark.parametrize(
    ("do", "expected"),
    [
        pytest.param(
            _ignore_no_more,
            [
                CommandChange(".gitignore", b"ignored/\n", None),
                CommandChange("ignored/z.txt", None, b"new\n"),
                CommandChange("new/b.txt", None, b"two\n"),
                CommandChange("sub/b.txt", b"two\n", None),
            ],
            id="made-where-nothing-was-looked-at",
        ),
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
        pytest.param(
            lambda at: (at / "sub").rename(at / "new"),
            [
                CommandChange("new/b.txt", None, b"two\n"),
                CommandChange("sub/b.txt", b"two\n", None),
            ],
            id="moved-with-its-folder",
        ),
        pytest.param(lambda at: _make(at / "ignored/x.txt"), [], id="ignored"),
        pytest.param(
            lambda at: _make(at / ".gitignore", ""),
            [CommandChange(".gitignore", b"ignored/\n", b"")],
            id="no-longer-ignored",
        ),
        pytest.param(lambda at: _make(at / "__pycache__/x.pyc", b"\0\1"), [], id="compiled"),
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


async def test_a_file_that_came_with_its_folder_is_seen_also_where_another_has_its_place_now(
    folder: Path,
) -> None:
    _make(folder / "old/c.txt", "c\n")
    _grow_old(folder / "old/c.txt")

    def do() -> None:
        (folder / "old/c.txt").unlink()
        (folder / "old").rmdir()
        (folder / "sub").rename(folder / "old")
        _make(folder / "sub/b.txt")

    assert await check(TreeWatch(workspace(folder)), folder, do) == (
        CommandChange("old/b.txt", None, b"two\n"),
        CommandChange("old/c.txt", b"c\n", None),
        CommandChange("sub/b.txt", b"two\n", b"new\n"),
    )


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
    _make(folder / "long.txt", "x" * 9_000_000)
    watch = TreeWatch(workspace(folder))
    (found,) = await check(watch, folder, lambda: _make(folder / "long.txt", "short\n"))
    assert (found.before, found.after, found.is_before_known) == (None, b"short\n", False)
    assert found.images is not None
    before, after = found.images
    assert before is not None
    assert (before.size_bytes, before.digest, before.is_kept) == (9_000_000, None, False)
    assert after is not None
    assert (after.size_bytes, after.is_kept, after.is_text) == (6, True, True)


@pytest.mark.parametrize(
    ("name", "data", "is_kept"),
    [
        pytest.param("x.bin", b"\0\1", True, id="binary"),
        pytest.param("x.txt", "grün".encode("latin-1"), True, id="not-utf-8"),
        pytest.param("x.txt", b"y" * 3_000_000, True, id="a-large-text"),
        pytest.param("x.txt", b"y" * 9_000_000, False, id="too-large-to-be-kept"),
    ],
)
async def test_what_is_no_text_is_seen_as_a_whole_and_only_when_it_changed(
    folder: Path, name: str, data: bytes, is_kept: bool
) -> None:
    watch = TreeWatch(workspace(folder))
    (made,) = await check(watch, folder, lambda: _make(folder / name, data))
    (gone,) = await check(watch, folder, lambda: (folder / name).unlink())
    assert made.images is not None
    assert gone.images is not None
    (_, after), (before, _) = made.images, gone.images
    assert after is not None
    assert (after, made.images[0], gone.images[1]) == (before, None, None)
    assert (after.size_bytes, after.is_kept) == (len(data), is_kept)
    assert after.digest == hashlib.sha256(data).hexdigest()
    assert made.after == gone.before == (data if is_kept else None)
    await check(watch, folder, lambda: _make(folder / name, data))
    assert await check(watch, folder, lambda: (folder / name).chmod(0o600)) == ()


async def test_other_files_leave_the_texts_their_room(folder: Path) -> None:
    for number in range(6):
        _make(folder / f"{number}.bin", bytes(7_000_000))
    _make(folder / "z.txt", "z\n")
    watch = TreeWatch(workspace(folder))

    def do() -> None:
        for path in [*folder.glob("*.bin"), folder / "z.txt"]:
            path.unlink()

    found = await check(watch, folder, do)
    # Texts come first: there is a most that is recorded of one command.
    assert found[0] == CommandChange("z.txt", b"z\n", None)
    assert [one.before is not None for one in found[1:]] == [True] * 4 + [False] * 2


async def test_what_lies_behind_a_link_is_not_looked_at(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    watch = TreeWatch(workspace(folder))

    def do() -> None:
        (folder / "sub").rename(outside)
        _make(outside / "b.txt", "secret\n")
        (folder / "sub").symlink_to(outside)

    assert await check(watch, folder, do) == (CommandChange("sub/b.txt", b"two\n", None),)
    assert await check(watch, folder, lambda: _make(outside / "b.txt", "more\n")) == ()


async def test_a_command_that_only_reads_is_not_watched(folder: Path) -> None:
    call = replace(planned(folder, "git status"), reads_only=True)
    assert await TreeWatch(workspace(folder)).begin(call) is None


@pytest.mark.parametrize("looks_meanwhile", ["before", "after"])
async def test_a_text_on_its_way_to_its_file_is_no_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, looks_meanwhile: str
) -> None:
    """A slow disk has the text of another agent's edit while a command's files are looked at."""
    syncing, goes_on, really_sync = threading.Event(), threading.Event(), os.fsync

    def sync_slowly(descriptor: int) -> None:
        syncing.set()
        assert goes_on.wait(20)
        really_sync(descriptor)

    async def write() -> asyncio.Task[EditOutcome]:
        monkeypatch.setattr(os, "fsync", sync_slowly)
        version = (await files.read("a.txt")).version
        whole = Replacement(start=0, end=3, text="ONE")
        edit = ChangeText(path="a.txt", base_version=version, replacements=(whole,))

        async def apply() -> EditOutcome:
            with watch.editing(["a.txt"]):
                return await files.apply(edit)

        writing = asyncio.create_task(apply())
        assert await asyncio.to_thread(syncing.wait, 20)
        return writing

    async def come_through(writing: asyncio.Task[EditOutcome]) -> None:
        goes_on.set()
        assert (await writing).status == "applied"

    files = workspace(folder)
    watch = TreeWatch(files)
    early = await write() if looks_meanwhile == "before" else None
    mark = await begun(watch, folder)
    if early:
        assert len(list(folder.glob(".agent-ls-*"))) == 1
        await come_through(early)
        assert await watch.changes(mark) == ()
    else:
        late = await write()
        assert len(list(folder.glob(".agent-ls-*"))) == 1
        assert await watch.changes(mark) == ()
        await come_through(late)
    assert (folder / "a.txt").read_bytes() == b"ONE\r\n"


async def test_what_an_agent_edited_right_before_a_command_was_there_before_it(
    folder: Path,
) -> None:
    watch = TreeWatch(workspace(folder))
    await check(watch, folder, lambda: None)
    for name in ("a.txt", "new.txt", "left.txt"):
        with watch.editing([name]):
            _make(folder / name, "edited\n")

    def do() -> None:
        _make(folder / "a.txt", "formatted\n")
        (folder / "new.txt").unlink()

    assert list(await check(watch, folder, do)) == [
        CommandChange("a.txt", b"edited\n", b"formatted\n"),
        CommandChange("new.txt", b"edited\n", None),
    ]


async def test_the_permissions_before_and_after_are_seen(folder: Path) -> None:
    watch = TreeWatch(workspace(folder))
    (folder / "a.txt").chmod(0o4750)
    mark = await watch.begin(planned(folder, "make it so"))
    assert mark is not None
    (folder / "a.txt").unlink()
    _make(folder / "sub/b.txt", "more\n")
    (folder / "sub/b.txt").chmod(0o600)
    _make(folder / "new.txt", "built\n")
    (folder / "new.txt").chmod(0o755)
    found = {one.path: one.modes for one in await watch.changes(mark)}
    usual = 0o666 & ~_umask()
    assert found == {
        "a.txt": (0o750, None),
        "sub/b.txt": (usual, 0o600),
        "new.txt": (None, 0o755),
    }


def _umask() -> int:
    os.umask(mask := os.umask(0))
    return mask


@pytest.mark.parametrize("after", [b"mine, in order\n", None], ids=["changed", "deleted"])
async def test_what_a_user_made_between_two_commands_is_known_as_it_was(
    folder: Path, after: bytes | None
) -> None:
    watch = TreeWatch(workspace(folder))
    assert await check(watch, folder, lambda: None) == ()
    mine = folder / "mine.txt"
    _make(mine, "mine\n")

    def run() -> None:
        mine.unlink() if after is None else _make(mine, after)

    assert await check(watch, folder, run) == (CommandChange("mine.txt", b"mine\n", after),)


async def test_of_commands_at_once_the_first_to_end_tells_of_all_and_says_that_others_ran(
    folder: Path,
) -> None:
    watch = TreeWatch(workspace(folder))
    first = await begun(watch, folder)
    _make(folder / "a.txt", "changed\n")
    second = await begun(watch, folder)
    _make(folder / "new.txt", "new\n")
    (folder / "sub/b.txt").unlink()
    assert without_modes(await watch.changes(second)) == (
        CommandChange("a.txt", b"one\r\n", b"changed\n"),
        CommandChange("new.txt", None, b"new\n"),
        CommandChange("sub/b.txt", b"two\n", None),
    )
    assert second.notes == [
        "other commands ran at the same time and may have made some of these changes"
    ]
    _make(folder / "a.txt", "again\n")
    assert without_modes(await watch.changes(first)) == (
        CommandChange("a.txt", b"changed\n", b"again\n"),
    )
    _make(folder / "a.txt", "mine\n")
    assert await check(watch, folder, lambda: None) == ()


@pytest.mark.parametrize("is_under_way", [True, False])
async def test_what_an_agent_edited_beside_two_commands_is_neither_ones_doing(
    folder: Path, *, is_under_way: bool
) -> None:
    watch = TreeWatch(workspace(folder))
    first = await begun(watch, folder)
    with watch.editing(["a.txt", "new.txt"]):
        _make(folder / "a.txt", "edited\n")
        _make(folder / "new.txt", "edited\n")
        if is_under_way:
            second = await begun(watch, folder)
            assert await watch.changes(second) == ()
    if not is_under_way:
        second = await begun(watch, folder)
        assert await watch.changes(second) == ()
    assert await watch.changes(first) == ()
    assert await check(watch, folder, lambda: None) == ()


async def test_what_a_command_makes_of_an_edit_is_its_own_beside_an_older_command(
    folder: Path,
) -> None:
    watch = TreeWatch(workspace(folder))
    first = await begun(watch, folder)
    with watch.editing(["a.txt"]):
        _make(folder / "a.txt", "edited\n")
    second = await begun(watch, folder)
    assert await watch.changes(first) == ()
    _make(folder / "a.txt", "formatted\n")
    assert without_modes(await watch.changes(second)) == (
        CommandChange("a.txt", b"edited\n", b"formatted\n"),
    )


def test_no_new_file_is_dated_before_the_clock_that_a_command_is_timed_by(tmp_path: Path) -> None:
    for number in range(2_000):
        now_ns, place = file_clock_ns(), tmp_path / str(number)
        place.touch()
        assert place.stat().st_ctime_ns >= now_ns


async def test_a_watch_that_does_not_see_all_files_says_so(folder: Path) -> None:
    for limit, says in ((2, "only the first 2 files of proj are watched"), (100, "")):
        watch = TreeWatch(workspace(folder), max_files=limit)
        assert (await begun(watch, folder)).gap == says


def _repository(folder: Path) -> None:
    """Make the folder a repository that tracks files which its rules exclude."""
    (folder / ".gitignore").write_text("ignored/\n*.local\n*.db\nbuild/\n*_cache/\n")
    for name in ("forced.local", "ignored/deep/forced.txt", "dev.db", "ignored/y.txt",
                 "build/lib/a.o", "x_cache/a"):  # fmt: skip
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{name}\n")
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (
        ("init", "-q"),
        ("add", "."),
        ("add", "-f", "forced.local", "ignored/deep/forced.txt"),
        ("commit", "-qm", "one"),
    ):
        subprocess.run([*git, *words], cwd=folder, check=True)


def _sh(folder: Path, command: str) -> None:
    subprocess.run(["sh", "-c", command], cwd=folder, check=True)


async def test_what_git_tracks_is_watched_whatever_the_rules_say(folder: Path) -> None:
    _repository(folder)
    watch = TreeWatch(workspace(folder))

    def do() -> None:
        (folder / "forced.local").unlink()
        (folder / "ignored" / "deep" / "forced.txt").write_text("other\n")

    found = await check(watch, folder, do)
    assert found == (
        CommandChange("forced.local", b"forced.local\n", None),
        CommandChange("ignored/deep/forced.txt", b"ignored/deep/forced.txt\n", b"other\n"),
    )
    # What is tracked only from now on.
    _sh(folder, "git add -f dev.db")
    found = await check(watch, folder, (folder / "dev.db").unlink)
    assert found == (CommandChange("dev.db", b"dev.db\n", None),)


@pytest.mark.parametrize(
    "command, gone",
    [
        pytest.param("rm dev.db", ["dev.db"], id="a-file"),
        pytest.param("rm -r ignored/y.txt dev.db", ["dev.db", "ignored/y.txt"], id="two-files"),
        pytest.param("rm -r ignored", ["ignored/y.txt"], id="a-folder-but-for-what-is-tracked"),
        pytest.param("rm -r build", ["build/"], id="a-folder-of-products"),
        pytest.param("rm build/lib/a.o", [], id="a-product"),
        pytest.param("rm -r x_cache", [], id="a-cache"),
        pytest.param("rm forced.local a.txt", [], id="what-can-come-back"),
        pytest.param("mv dev.db other.db", [], id="renamed"),
        pytest.param("mv dev.db dev.txt; mv ignored/y.txt .", [], id="renamed-to-what-is-watched"),
        pytest.param("rm dev.db; echo x > dev.db", [], id="made-anew"),
        pytest.param("rm .gitignore", [], id="the-rules"),
        pytest.param("rm .gitignore dev.db", ["dev.db"], id="the-rules-too"),
        pytest.param("echo '*.txt' >> .gitignore; rm sub/b.txt", [], id="new-rules"),
    ],
)
async def test_which_ignored_files_are_gone(folder: Path, command: str, gone: list[str]) -> None:
    _repository(folder)
    watch = TreeWatch(workspace(folder))
    mark = await begun(watch, folder)
    _sh(folder, command)
    await watch.changes(mark)
    assert sorted(mark.ignored_gone) == gone
    # They are told once.
    mark = await begun(watch, folder)
    await watch.changes(mark)
    assert mark.ignored_gone == []


async def test_an_ignored_file_that_an_agent_or_the_editor_deletes_is_no_loss(folder: Path) -> None:
    _repository(folder)
    watch = TreeWatch(workspace(folder))
    mark = await begun(watch, folder)
    with watch.editing(["dev.db"]):
        (folder / "dev.db").unlink()
    await watch.changes(mark)
    assert mark.ignored_gone == []


async def test_a_deleted_file_that_is_too_large_to_keep_is_lost(folder: Path) -> None:
    (folder / "large").write_bytes(b"\0" * (MAX_KEPT_BYTES + 1))
    (folder / "moved").write_bytes(b"\0" * (MAX_KEPT_BYTES + 1))

    def do() -> None:
        (folder / "large").unlink()
        (folder / "a.txt").unlink()
        (folder / "moved").rename(folder / "there")

    found = await check(TreeWatch(workspace(folder)), folder, do)
    assert [one.path for one in found if one.is_lost] == ["large"]


async def test_what_the_repository_above_ignores_is_not_watched(folder: Path) -> None:
    """Files that git tracks are, also those that an ``.ignore`` file hides from searches."""
    top = folder.parent
    (top / ".gitignore").write_text("dist/\n*.log\n")
    (folder / ".ignore").write_text("large/\n")
    _make(folder / "large/x", "old\n")
    _make(folder / "kept.log", "old\n")
    _sh(top, "git init -q; git add -f proj/kept.log proj/large/x")
    (top / ".git/info/exclude").write_text("*.own\n")

    def do() -> None:
        for name in ("dist/a", "b.log", "c.own", "kept.log", "large/x", "large/y", "d.txt"):
            _make(folder / name)

    assert await check(TreeWatch(workspace(folder)), folder, do) == (
        CommandChange("d.txt", None, b"new\n"),
        CommandChange("kept.log", b"old\n", b"new\n"),
        CommandChange("large/x", b"old\n", b"new\n"),
    )
