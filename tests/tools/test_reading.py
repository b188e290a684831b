"""Tools that look: files, folders, names and texts, as the user sees them."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
import time
from pathlib import Path

import psutil
import pytest

from agent_ls.domain.calls import ErrorKind
from agent_ls.domain.errors import AgentLsError, ToolError, WorkspaceError
from agent_ls.loop.ports.workspace import Root
from agent_ls.processes.launching import get_ready
from agent_ls.safety.ripgrep import find_ripgrep
from agent_ls.tools.glob import Glob
from agent_ls.tools.grep import Grep, GrepOptions
from agent_ls.tools.list_dir import ListDir
from agent_ls.tools.read_file import ReadFile, ReadFileOptions
from tests.support.programs import programs
from tests.tools.conftest import BufferedWorkspace, Place


def check(text: str, *expected: str) -> None:
    """Assert the exact lines of a result."""
    assert text.split("\n") == list(expected)


async def test_a_file_is_read_with_line_numbers(place: Place) -> None:
    place.write("a.txt", "one\r\ntwo\x0ctwo\rthree")
    output = await place.call(ReadFile(place.workspace), path="a.txt")
    check(output.text, "    1\tone", "    2\ttwotwo", "    3\tthree",
          "(Invisible characters are left out in line 2.)")  # fmt: skip


async def test_a_range_says_where_it_goes_on(place: Place) -> None:
    place.write("a.txt", "".join(f"line {number}\n" for number in range(1, 11)))
    output = await place.call(ReadFile(place.workspace), path="a.txt", start_line=3, lines=2)
    check(output.text, "    3\tline 3", "    4\tline 4",
          "(Lines 3-4 of 10; go on with start_line=5.)")  # fmt: skip


async def test_pages_of_a_long_file_are_whole_lines_that_make_the_file(place: Place) -> None:
    lines = [f"line {number} " + "x" * (number % 90) for number in range(1, 3_001)]
    place.write("a.txt", "\n".join(lines))
    seen: list[str] = []
    start = 1
    while start:
        output = await place.call(ReadFile(place.workspace), path="a.txt", start_line=start)
        assert len(output.text) < 33_000
        seen += re.findall(r"^ *\d+\t(.*)$", output.text, re.MULTILINE)
        more = re.search(r"start_line=(\d+)", output.text)
        start = int(more[1]) if more else 0
    assert seen == lines


async def test_a_very_long_line_is_cut_and_says_so(place: Place) -> None:
    place.write("a.txt", "x" * 2_000)
    tool = ReadFile(place.workspace, ReadFileOptions(max_line_chars=10))
    check((await place.call(tool, path="a.txt")).text, "    1\txxxxxxxxxx… (+1990 characters)",
          "(Cut: line 1; start_line=1, start_column=11 shows the rest.)")  # fmt: skip


async def test_a_file_too_large_to_edit_is_read_by_lines(place: Place) -> None:
    lines = [f"line {number}" for number in range(1, 400_001)]
    place.write("a.log", "\n".join(lines))
    tool = ReadFile(place.workspace)
    output = await place.call(tool, path="a.log", start_line=300_000, lines=2)
    check(output.text, "300000\tline 300000", "300001\tline 300001",
          "(Lines 300000-300001 of a file of 4.5 MB; go on with start_line=300002.)",
          "(It is too large for edit_file; a command can change it.)")  # fmt: skip
    output = await place.call(tool, path="a.log")
    assert output.text.startswith("    1\tline 1\n")
    assert len(output.text) < 33_000
    assert "go on with start_line=1001" in output.text
    output = await place.call(tool, path="a.log", start_line=400_000)
    assert "(Lines 400000-400000 of a file of 4.5 MB, to its end.)" in output.text
    output = await place.call(tool, path="a.log", start_line=400_001)
    assert output.text == "a.log has only 400000 lines."


async def test_a_giant_line_is_read_in_parts(place: Place) -> None:
    text = "".join(f"{number:>8}" for number in range(400_000))
    place.write("a.json", f"{text}\nlast\n")
    tool = ReadFile(place.workspace)
    output = await place.call(tool, path="a.json")
    assert f"… (+{len(text) - 500} characters)" in output.text
    assert "Cut: line 1; start_line=1, start_column=501 shows the rest." in output.text
    assert "    2\tlast" in (await place.call(tool, path="a.json", start_line=2)).text
    column = 3_000_001
    output = await place.call(tool, path="a.json", start_line=1, start_column=column)
    shown, note = output.text.split("\n")
    assert text[column - 1 :].startswith(shown)
    assert f"start_column={column + len(shown)}" in note
    output = await place.call(tool, path="a.json", start_line=1, start_column=9_000_000)
    assert output.text == f"Line 1 has only {len(text)} characters."


async def test_another_encoding_is_named(place: Place) -> None:
    (place.root / "a.js").write_bytes("// função não é\n".encode("cp1252"))
    output = await place.call(ReadFile(place.workspace), path="a.js")
    check(output.text, "    1\t// função não é", "(In cp1252, which edits keep.)")


@pytest.mark.parametrize(
    "text, start, words",
    [("", 1, "(The file is empty.)"), ("a\n", 5, "has only 1 lines"), ("\n", 1, "    1\t")],
)
async def test_edges_of_a_file(place: Place, text: str, start: int, words: str) -> None:
    place.write("a.txt", text)
    output = await place.call(ReadFile(place.workspace), path="a.txt", start_line=start)
    assert words in output.text


async def test_unsaved_text_is_read_and_named_so(place: Place) -> None:
    place.write("a.txt", "disk")
    place.workspace.buffers["a.txt"] = "buffer"
    output = await place.call(ReadFile(place.workspace), path="./a.txt")
    check(output.text, "    1\tbuffer", "(This is the editor's text; it is not saved yet.)")


async def test_hidden_text_does_not_reach_the_model(place: Place) -> None:
    place.write("a.py", "x = 1 # \u200bok\u202e \U000e0041\n# می\u200cخو\n")
    output = await place.call(ReadFile(place.workspace), path="a.py")
    check(output.text, "    1\tx = 1 # ok ", "    2\t# می\u200cخو",
          "(Invisible characters are left out in line 1.)")  # fmt: skip


@pytest.mark.parametrize(
    "path, words",
    [("missing", "does not exist"), ("bin", "binary"), ("src", "is a folder"), ("../x", "outside")],
)
async def test_what_cannot_be_read_says_why(place: Place, path: str, words: str) -> None:
    place.write("bin", "a\0b")
    (place.root / "src").mkdir()
    with pytest.raises(WorkspaceError, match=words):
        await place.call(ReadFile(place.workspace), path=path)


async def test_a_folder_is_listed(place: Place) -> None:
    place.write("src/a.py", "123")
    place.write("b.txt", "")
    place.write("odd\nname", "")
    output = await place.call(ListDir(place.workspace))
    check(output.text, "src/", "b.txt  0 B", "odd\\nname  0 B")
    assert (await place.call(ListDir(place.workspace), path="src/")).text == "a.py  3 B"


async def test_several_folders_are_listed_and_searched_from_the_top(tmp_path: Path) -> None:
    roots = [tmp_path.resolve() / name for name in ("one", "two")]
    workspace = BufferedWorkspace(Root(root.name, root, is_trusted=True) for root in roots)
    for root in roots:
        (root / "src").mkdir(parents=True)
        (root / "src/a.py").write_text(f"needle {root.name}\n")
    place = Place(roots[0], workspace)
    check((await place.call(ListDir(workspace))).text, "one/", "two/")
    check((await place.call(Glob(workspace), pattern="*.py")).text, "one/src/a.py", "two/src/a.py")
    for tool in (Grep(workspace),):
        output = await place.call(tool, pattern="needle")
        check(output.text, "one/src/a.py:1: needle one", "two/src/a.py:1: needle two")
        output = await place.call(tool, pattern="needle", path="two/src", glob="*.py")
        check(output.text, "two/src/a.py:1: needle two")
    shutil.rmtree(roots[1])
    check((await place.call(ListDir(workspace))).text, "one/")
    check((await place.call(Glob(workspace), pattern="*.py")).text, "one/src/a.py")
    check((await place.call(Grep(workspace), pattern="needle")).text, "one/src/a.py:1: needle one")


@pytest.fixture
def grep(place: Place) -> Grep:
    return Grep(place.workspace)


async def test_lines_are_found(place: Place, grep: Grep) -> None:
    place.write("src/a.py", "one\nNeedle two\n")
    place.write("b.txt", "a needle\r\nno\r\n")
    place.write("ignored.log", "needle")
    place.write("bin", "needle\0")
    place.write(".gitignore", "*.log\n")
    place.write(".git/x", "needle")
    place.write(".hidden", "needle")
    place.write(".agent-ls-0123456789abcdef.tmp", "needle")
    place.write(".agent-ls-mine.tmp", "needle")
    output = await place.call(grep, pattern="needle")
    check(output.text, ".agent-ls-mine.tmp:1: needle", ".hidden:1: needle", "b.txt:1: a needle")
    output = await place.call(grep, pattern="NEEDLE", ignore_case=True, glob="*.py")
    check(output.text, "src/a.py:2: Needle two")
    output = await place.call(grep, pattern=r"^N\w+ two$", path="src")
    check(output.text, "src/a.py:2: Needle two")
    output = await place.call(grep, pattern="needle", path="b.txt")
    check(output.text, "b.txt:1: a needle")
    assert (await place.call(grep, pattern="nowhere")).text == "Nothing matches."


async def test_a_file_that_is_named_is_searched_whatever_the_rules_say(
    place: Place, grep: Grep
) -> None:
    place.write("a.log", "needle")
    place.write(".gitignore", "*.log\n")
    assert (await place.call(grep, pattern="needle", path="a.log")).text == "a.log:1: needle"


async def test_unsaved_text_is_searched_instead_of_the_disk(place: Place, grep: Grep) -> None:
    place.write("a.txt", "old needle")
    place.write("b.txt", "needle")
    place.workspace.buffers = {"a.txt": "x\nnew needle", "src/new.py": "needle", "b.txt": "gone"}
    output = await place.call(grep, pattern="needle")
    check(output.text, "a.txt:2: new needle", "src/new.py:1: needle")
    assert (await place.call(grep, pattern="old")).text == "Nothing matches."
    assert (await place.call(grep, pattern="new", path="b.txt")).text == "Nothing matches."


async def test_secrets_are_not_read_in_passing(place: Place, grep: Grep) -> None:
    place.write(".env", "needle=1")
    place.write("keys/server.pem", "needle")
    place.write("a.txt", "needle")
    place.workspace.buffers = {"secrets.json": "needle"}
    assert (await place.call(grep, pattern="needle")).text == "a.txt:1: needle"


async def test_hard_links_to_secrets_are_not_read_in_passing(place: Place, grep: Grep) -> None:
    place.write(".env", "needle=1")
    for name in ("notes.txt", "src/open.txt"):
        place.write(name, "")
        (place.root / name).unlink()
        os.link(place.root / ".env", place.root / name)
    place.write("a.txt", "needle")
    place.workspace.buffers = {"src/open.txt": "needle=2"}
    output = (await place.call(grep, pattern="needle")).text
    assert "a.txt:1: needle" in output
    assert "needle=" not in output
    assert "notes.txt" in output
    assert "left out" in output
    # Naming the file asks first, so the guards have been passed.
    assert "needle=1" in (await place.call(grep, pattern="needle", path="notes.txt")).text


async def test_links_out_are_not_searched(place: Place, grep: Grep) -> None:
    outside = place.root.parent / "outside"
    outside.mkdir()
    (outside / "x").write_text("needle")
    (place.root / "link").symlink_to(outside)
    (place.root / "file").symlink_to(outside / "x")
    os.mkfifo(place.root / "pipe")
    place.write("a.txt", "needle")
    assert (await place.call(grep, pattern="needle")).text == "a.txt:1: needle"


async def test_many_hits_are_cut_and_say_so(place: Place) -> None:
    place.write("a.txt", "needle\n" * 50 + "needle" + "x" * 500)
    tool = Grep(place.workspace, GrepOptions(max_hits=3, max_line_chars=10))
    lines = (await place.call(tool, pattern="needle")).text.split("\n")
    assert lines[-1] == "(more than 3 lines; narrow the search)"
    assert len(lines) == 4


@pytest.mark.parametrize("pattern", ["(", "a{2", "[", "(?P<x"])
async def test_a_bad_pattern_is_the_models_fault(place: Place, grep: Grep, pattern: str) -> None:
    place.write("a.txt", "x")
    with pytest.raises(ToolError, match="cannot be read") as caught:
        await place.call(grep, pattern=pattern)
    assert caught.value.kind is ErrorKind.STRUCTURAL


def _started(before: set[psutil.Process]) -> set[psutil.Process]:
    deadline_s = time.monotonic() + 20
    while time.monotonic() < deadline_s:
        if found := {*programs()} - before:
            return found
    raise AssertionError("no search process was started")


async def test_a_cancelled_search_leaves_no_process(place: Place) -> None:
    for number in range(200):
        place.write(f"{number}.txt", "needle\n" * 2_000)
    tool = Grep(place.workspace, GrepOptions(max_hits=10**9))
    await get_ready()
    before = {*programs()}
    task = asyncio.create_task(place.call(tool, pattern="needle"))
    started = await asyncio.to_thread(_started, before)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not started & {*programs()}


async def test_hidden_characters_of_a_hit_do_not_reach_the_model(place: Place, grep: Grep) -> None:
    place.write("a.txt", "needle\u202e\u200b \x1b[31mred")
    assert (await place.call(grep, pattern="needle")).text == "a.txt:1: needle red"


async def test_a_missing_place_says_so(place: Place, grep: Grep) -> None:
    with pytest.raises(ToolError, match="does not exist"):
        await place.call(grep, pattern="x", path="missing")
    with pytest.raises(ToolError, match="goes into glob"):
        await place.call(grep, pattern="x", path="src/*.ts")


def test_a_ripgrep_of_the_workspace_is_not_used() -> None:
    assert find_ripgrep(()) is not None
    assert find_ripgrep([Path("/")]) == str(Path(sys.executable).with_name("rg"))


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("b.py", " There is src/b.py and src/deep/B.py."),
        ("lib/b.py", " There is src/b.py and src/deep/B.py."),
        ("c.py", ""),
    ],
)
async def test_of_a_file_that_is_not_there_its_namesakes_are_told(
    place: Place, path: str, named: str
) -> None:
    for name in ("src/b.py", "src/deep/B.py", "a.py"):
        place.write(name, "x")
    with pytest.raises(AgentLsError) as caught:
        await place.call(ReadFile(place.workspace), path=path)
    assert str(caught.value).partition("does not exist.")[2] == named
