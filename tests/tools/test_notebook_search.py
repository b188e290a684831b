"""grep in notebooks: what is read of their cells is found, and nothing else of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.tools.grep import Grep, GrepOptions
from tests.edits.test_notebooks import BASE, code, notebook, pretty
from tests.tools.conftest import Place

SOURCE = "import os\n\nx = os.path.join('a', \"b\\n\")  # é\n\tif x < 1 & y: print(x)\nlast"


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("import os", 2),
        ("^import", 2),
        ("os$", 2),
        (r"\bif x", 5),
        (r"os\.path", 4),
        ("os.path", 4),
        ('"b', 4),
        (r"\\n", 4),
        ("# é", 4),
        (r"x.*b", 4),
        ("'a', \"b", 4),
        ("x < 1 & y", 5),
        (r"print\(x\)", 5),
        (r"^\tif", 5),
        ("^last$", 6),
        ("nothing|last", 6),
    ],
)
@pytest.mark.parametrize("form", ["pretty", "one line", "a text", "escaped"])
async def test_a_line_of_a_cell_is_found_however_its_json_is_written(
    place: Place, pattern: str, line: int, form: str
) -> None:
    whole = notebook(code(SOURCE))
    if form == "a text":
        whole["cells"][0]["source"] = SOURCE
    text = pretty(whole) if form == "pretty" else json.dumps(whole)
    if form == "escaped":
        text = text.replace("<", "\\u003c").replace("&", "\\u0026")
    place.write("a.ipynb", text)
    found = await place.call(Grep(place.workspace), pattern=pattern)
    assert f"a.ipynb:{line}: " in found.text


async def test_matches_in_outputs_neither_show_nor_count(place: Place) -> None:
    lines: dict[str, Any] = {"output_type": "stream", "text": ["found\n"] * 500}
    for number in range(5):
        place.write(f"{number}.ipynb", pretty(notebook(code("x", outputs=[lines]))))
    place.write("z.py", "found\n")
    tool = Grep(place.workspace, options=GrepOptions(max_hits=10))
    assert (await place.call(tool, pattern="found")).text == "z.py:1: found"


async def test_the_lines_above_cells_are_no_hits(place: Place) -> None:
    place.write("a.ipynb", pretty(notebook(code(""), code("x = 1"))))
    tool = Grep(place.workspace)
    for pattern in ("code", "cell 2", r"^# %% \[code\]"):
        assert (await place.call(tool, pattern=pattern)).text == "Nothing matches."
    assert (await place.call(tool, pattern=".")).text == "a.ipynb:4: x = 1"
    assert (await place.call(tool, pattern="^$")).text == "a.ipynb:2: "


async def test_unsaved_cells_are_searched_instead_of_the_file(place: Place) -> None:
    place.write("a.ipynb", pretty(notebook(code("old"))))
    place.workspace.buffers["a.ipynb"] = pretty(notebook(code("new")))
    tool = Grep(place.workspace)
    assert (await place.call(tool, pattern="old")).text == "Nothing matches."
    assert (await place.call(tool, pattern="new")).text == "a.ipynb:2: new"
    assert (await place.call(tool, pattern="new", path="a.ipynb")).text == "a.ipynb:2: new"
    place.workspace.buffers["a.ipynb"] = '{"new'
    assert (await place.call(tool, pattern="new")).text == 'a.ipynb:1: {"new'


async def test_notebooks_without_readable_cells_are_searched_as_text(place: Place) -> None:
    place.write("broken.ipynb", "<<<<<<< HEAD\n" + pretty(BASE))
    place.write("old.ipynb", '{"nbformat": 3, "worksheets": ["marker"]}')
    place.write("large.IPYNB", pretty(notebook(code("marker"))) + " " * 33 * 2**20)
    tool = Grep(place.workspace)
    assert (await place.call(tool, pattern="<<<<<<< HEAD")).text == "broken.ipynb:1: <<<<<<< HEAD"
    found = (await place.call(tool, pattern="marker")).text.split("\n")
    assert [line.split(":")[0] for line in found] == ["large.IPYNB", "old.ipynb"]
    named = await place.call(tool, pattern="HEAD", path="broken.ipynb")
    assert named.text == "broken.ipynb:1: <<<<<<< HEAD"


async def test_ignored_and_secret_notebooks_are_left_out(place: Place) -> None:
    place.write(".gitignore", "out/\n")
    place.write("out/a.ipynb", pretty(notebook(code("marker"))))
    place.write(".ssh/a.ipynb", pretty(notebook(code("marker"))))
    tool = Grep(place.workspace)
    for pattern in ("marker", "^marker$"):
        assert (await place.call(tool, pattern=pattern)).text == "Nothing matches."
    named = await place.call(tool, pattern="marker", path="out/a.ipynb")
    assert named.text == "out/a.ipynb:2: marker"


async def test_a_bad_pattern_is_told_with_notebooks_too(place: Place) -> None:
    place.write("a.ipynb", pretty(BASE))
    with pytest.raises(Exception, match="The pattern cannot be read"):
        await place.call(Grep(place.workspace), pattern="foo(")
