"""Large trees: who did not see all files says so, and a search hands over what it found."""

from __future__ import annotations

import stat
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from agent_ls.codeintel.workspace_code import WorkspaceCode
from agent_ls.loop.extension_points import Tool
from agent_ls.loop.ports.workspace import Root
from agent_ls.tools.find_symbol import FindSymbol
from agent_ls.tools.glob import Glob
from agent_ls.tools.grep import Grep, GrepOptions
from agent_ls.tools.references import References
from agent_ls.tools.repository_map import RepositoryMap
from agent_ls.tools.searching import Query, search_below
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.dry_run import DryRunWorkspace
from tests.tools.conftest import Place

_CUT = "only the first 3 files were looked at"
_QUERY = Query("needle", None, ignore_case=False, max_hits=10, limit_s=0.5)


def small(place: Place, max_files: int = 3) -> DiskWorkspace:
    """Return the folder with four files, of which so many are listed."""
    for name in "abcd":
        place.write(f"src/{name}.py", f"def made_{name}():\n    return needle_{name}\n")
    return DiskWorkspace([Root("proj", place.root, is_trusted=True)], max_files=max_files)


@pytest.fixture
async def code(place: Place) -> AsyncIterator[Callable[[DiskWorkspace, float], WorkspaceCode]]:
    """Make the code's side of a workspace; its process ends with the test."""
    made: list[WorkspaceCode] = []

    def make(workspace: DiskWorkspace, index_limit_s: float) -> WorkspaceCode:
        made.append(WorkspaceCode(workspace, None, index_limit_s=index_limit_s))
        return made[-1]

    yield make
    for one in made:
        await one.close()


_Tools = Callable[[DiskWorkspace, WorkspaceCode], tuple[Tool, dict[str, object]]]
_LISTING: list[tuple[str, _Tools]] = [
    ("glob", lambda files, _: (Glob(files), {"pattern": "d.py"})),
    ("glob-in-dry-run", lambda files, _: (Glob(DryRunWorkspace(files)), {"pattern": "a.py"})),
]
_CODE: list[tuple[str, _Tools]] = [
    ("find", lambda files, code: (FindSymbol(code, files), {"name": "made_d"})),
    ("references", lambda files, code: (References(code, files), {"name": "needle_d"})),
    ("map", lambda files, code: (RepositoryMap(files, code), {})),
]


@pytest.mark.parametrize("tools", [pytest.param(one, id=name) for name, one in _LISTING + _CODE])
@pytest.mark.parametrize("is_cut", [True, False], ids=["cut", "whole"])
async def test_an_answer_that_did_not_see_all_files_says_so(
    place: Place,
    code: Callable[[DiskWorkspace, float], WorkspaceCode],
    tools: _Tools,
    is_cut: bool,
) -> None:
    files = small(place, 3 if is_cut else 4)
    tool, arguments = tools(files, code(files, 30.0))
    text = (await place.call(tool, **arguments)).text
    # Ripgrep says which files hold a name: none has to be listed.
    sees_all = isinstance(tool, FindSymbol | References)
    assert (_CUT in text) == (is_cut and not sees_all)
    assert not sees_all or "src/d.py" in text


@pytest.mark.parametrize("tools", [pytest.param(one, id=name) for name, one in _CODE])
async def test_an_answer_for_which_not_all_code_was_read_says_how_much_was(
    place: Place, code: Callable[[DiskWorkspace, float], WorkspaceCode], tools: _Tools
) -> None:
    files = small(place, 4)
    tool, arguments = tools(files, code(files, 0.0))
    is_named = isinstance(tool, FindSymbol | References)
    files_read = "0 of 1 files of code that hold the name" if is_named else "0 of 4 files of code"
    assert f"(looked at {files_read}; ask again" in (await place.call(tool, **arguments)).text


async def test_the_project_tree_of_a_part_says_so(place: Place) -> None:
    assert _CUT in await small(place).describe()
    assert _CUT not in await small(place, 4).describe()


@pytest.mark.heavy
async def test_no_list_ends_at_fifty_thousand_files(place: Place) -> None:
    for folder in range(51):
        (place.root / f"{folder}").mkdir()
        for name in range(1_000):
            (place.root / f"{folder}/{name}").touch()
    found = await DiskWorkspace([Root("proj", place.root, is_trusted=True)]).files()
    assert len(found) == 51_000
    assert not found.is_cut


def _program(folder: Path, *lines: str) -> str:
    """Return a program that is called as ripgrep is."""
    path = folder / "search"
    path.write_text("\n".join((f"#!{sys.executable}", "import json, sys, time", *lines)))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


async def test_a_search_that_is_ended_hands_over_what_it_found(place: Place) -> None:
    place.write("a", "needle")
    hit = {
        "path": {"text": "./a"},
        "lines": {"text": "needle"},
        "line_number": 1,
        "absolute_offset": 0,
        "submatches": [],
    }
    program = _program(
        place.root,
        f"print(json.dumps({{'type': 'match', 'data': {hit!r}}}), flush=True)",
        "time.sleep(600)",
    )
    found = await search_below(_QUERY, program, place.root, ".")
    assert [(one.path, one.line) for one in found.hits] == [("a", 1)]
    assert "partial: the search was ended" in found.notes[0]


async def test_ripgrep_searches_with_all_its_threads(place: Place) -> None:
    program = _program(place.root, "open('flags', 'w').write(' '.join(sys.argv))")
    await search_below(_QUERY, program, place.root, ".")
    flags = (place.root / "flags").read_text()
    assert "--regexp=needle" in flags
    assert "--sort" not in flags
    assert "--threads" not in flags


async def test_a_search_among_thousands_of_rules_ends_in_time_and_names_their_file(
    place: Place,
) -> None:
    """ripgrep takes seconds to read them, for each of our walks."""
    place.write("a.py", "needle\n")
    place.write(".gitignore", "".join(f"*a{n}*b*c{n}*d*e{n}\n" for n in range(12_000)))
    grep = Grep(place.workspace, GrepOptions(limit_s=1.0))
    began_s = time.monotonic()
    said = (await place.call(grep, pattern="needle")).text
    assert time.monotonic() - began_s < 10
    assert "partial: the search was ended after 0." in said
    assert ".gitignore has 12,000 rules or more, which makes each search slow" in said
    place.write(".gitignore", "*.log\n")
    assert (await place.call(Grep(place.workspace), pattern="needle")).text == "a.py:1: needle"
