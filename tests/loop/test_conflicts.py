"""Which calls may run at the same time."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.domain.calls import ToolCall
from agent_ls.loop.calls.conflicts import conflicts
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.ports.workspace import Root
from agent_ls.loop.state.spelling import canonical
from agent_ls.tools.edit_file import Edit, EditFile, EditFileArguments
from agent_ls.tools.move_file import MoveFile, MoveFileArguments
from agent_ls.tools.read_file import ReadFile, ReadFileArguments
from agent_ls.tools.run_command import RunCommand, RunCommandArguments
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.runner import ShellRunner

_WORKSPACE = DiskWorkspace(())
_CALL = ToolCall(id="cal_1", provider_id="p", tool="any", arguments_json="{}")


def read(path: str) -> PlannedCall:
    return PlannedCall(_CALL, ReadFile(_WORKSPACE), ReadFileArguments(path=path))


def edit(path: str) -> PlannedCall:
    edits = (Edit(old_string="a", new_string="b"),)
    return PlannedCall(_CALL, EditFile(_WORKSPACE), EditFileArguments(path=path, edits=edits))


def move(path: str, new_path: str) -> PlannedCall:
    arguments = MoveFileArguments(path=path, new_path=new_path)
    return PlannedCall(_CALL, MoveFile(_WORKSPACE), arguments)


def run(command: str, *, looks: bool = False, cwd: str = ".") -> PlannedCall:
    tool = RunCommand(_WORKSPACE, ShellRunner())
    arguments = RunCommandArguments(command=command, cwd=cwd)
    return PlannedCall(_CALL, tool, arguments, reads_only=looks)


def check(later: PlannedCall, earlier: PlannedCall, expected: bool) -> None:
    assert conflicts(later, earlier, lambda path: path) is expected


@pytest.mark.parametrize(
    ("later", "earlier", "expected"),
    [
        pytest.param(read("a"), read("a"), False, id="two-reads-of-one-file-run-together"),
        pytest.param(read("a"), edit("a"), True, id="a-read-waits-for-the-edit-before-it"),
        pytest.param(edit("a"), read("a"), True, id="an-edit-waits-for-the-read-before-it"),
        pytest.param(edit("a"), edit("a"), True, id="edits-of-one-file-keep-their-order"),
        pytest.param(edit("a"), edit("b"), False, id="edits-of-two-files-run-together"),
        pytest.param(edit("ab"), edit("a"), False, id="a-common-beginning-is-no-folder"),
        pytest.param(edit("a/b"), read("a"), True, id="a-folder-that-is-listed-waits"),
        pytest.param(read("."), edit("a/b"), True, id="the-whole-workspace-waits"),
        pytest.param(move("a", "b"), edit("b"), True, id="a-move-waits-for-its-goal"),
        pytest.param(run("x"), read("a"), True, id="a-command-runs-alone"),
        pytest.param(run("ls", looks=True), read("a"), False, id="one-that-only-looks-does-not"),
        pytest.param(read("a"), run("ls", looks=True), False, id="nor-is-it-waited-for"),
        pytest.param(run("ls", looks=True), run("ls", looks=True), False, id="nor-by-its-like"),
        pytest.param(run("ls", looks=True), run("make"), True, id="but-by-another-command"),
        pytest.param(run("make"), run("ls", looks=True), True, id="and-it-by-one"),
        pytest.param(
            run("ls", looks=True, cwd="sub"), edit("a"), True, id="an-edit-anywhere-is-waited-for"
        ),
        pytest.param(
            edit("a"), run("ls", looks=True, cwd="sub"), True, id="and-waits-for-what-only-looks"
        ),
    ],
)
def test_calls_conflict(later: PlannedCall, earlier: PlannedCall, expected: bool) -> None:
    check(later, earlier, expected)


@pytest.mark.parametrize("spelling", ["link/a.txt", "{root}/real/a.txt", "real/../link/./a.txt"])
def test_one_file_is_one_file_however_it_is_reached(tmp_path: Path, spelling: str) -> None:
    root = tmp_path.resolve()
    (root / "real").mkdir()
    (root / "real/a.txt").write_text("one\n")
    (root / "link").symlink_to("real")
    workspace = DiskWorkspace([Root(name="proj", path=root, is_trusted=True)])
    later, earlier = edit(spelling.format(root=root)), edit("real/a.txt")
    assert conflicts(later, earlier, lambda path: canonical(path, workspace))
