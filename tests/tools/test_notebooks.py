"""Notebooks in the tools: read, searched and changed by their cells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.domain.errors import ToolError
from agent_ls.tools.apply_patch import ApplyPatch
from agent_ls.tools.edit_file import EditFile
from agent_ls.tools.grep import Grep
from agent_ls.tools.read_file import ReadFile
from agent_ls.tools.write_file import WriteFile
from tests.edits.test_notebooks import BASE, code, notebook, pretty, sources
from tests.tools.conftest import Place


def read(file: Path) -> str:
    return file.read_bytes().decode()


async def test_a_notebook_is_read_by_its_cells_with_short_outputs(place: Place) -> None:
    place.write("a.ipynb", pretty(BASE))
    output = await place.call(ReadFile(place.workspace), path="a.ipynb")
    assert output.text.split("\n")[:9] == [
        "    1\t# %% [markdown] cell 1",
        "    2\t# T",
        "    3\ttext",
        "    4\t# %% [code] cell 2",
        '    5\tprint("é")',
        "    6\tx = 1",
        "  out\thi",
        "    7\t# %% [code] cell 3",
        "    8\ty = 2",
    ]
    assert "metadata" not in output.text
    part = await place.call(ReadFile(place.workspace), path="a.ipynb", start_line=5, lines=1)
    assert part.text.startswith('    5\tprint("é")\n(')


async def test_huge_outputs_do_not_fill_the_answer(place: Place) -> None:
    image: dict[str, Any] = {"output_type": "display_data", "data": {"image/png": "A" * 9_000_000}}
    text = {"output_type": "stream", "text": ["x" * 5_000 + "\n"] * 2_000}
    place.write("a.ipynb", pretty(notebook(code("plot()", outputs=[image, text]))))
    output = await place.call(ReadFile(place.workspace), path="a.ipynb")
    assert len(output.text) < 3_000


async def test_a_broken_notebook_is_shown_as_it_is_and_can_be_mended(place: Place) -> None:
    broken = "<<<<<<< HEAD\n" + pretty(BASE)
    file = place.write("a.ipynb", broken)
    output = await place.call(ReadFile(place.workspace), path="a.ipynb")
    assert "<<<<<<< HEAD" in output.text
    assert "not valid JSON: Expecting value at line 1, column 1" in output.text
    edits = [{"old_string": "<<<<<<< HEAD\n", "new_string": ""}]
    await place.call(EditFile(place.workspace), path="a.ipynb", edits=edits)
    assert read(file) == pretty(BASE)


async def test_an_edit_of_a_cell_changes_only_its_line_of_the_file(place: Place) -> None:
    file = place.write("a.ipynb", pretty(BASE))
    edits = [{"old_string": "x = 1", "new_string": 'x = "1"'}]
    output = await place.call(EditFile(place.workspace), path="a.ipynb", edits=edits)
    assert read(file) == pretty(BASE).replace('"x = 1"', '"x = \\"1\\""')
    assert output.text == "Edited a.ipynb: line 6."
    assert output.preview is not None
    shown = output.preview().payload
    assert '\n-x = 1\n+x = "1"\n' in shown
    assert '\\"' not in shown


async def test_cells_are_added_by_a_marker_line(place: Place) -> None:
    file = place.write("a.ipynb", pretty(BASE))
    new = "x = 1\n# %% [markdown]\n## Next\n# %% [code]\nz = 3\n"
    edits = [{"old_string": "x = 1\n", "new_string": new}]
    await place.call(EditFile(place.workspace), path="a.ipynb", edits=edits)
    assert [text for _, text in sources(read(file))][1:] == [
        'print("é")\nx = 1',
        "## Next",
        "z = 3",
        "y = 2",
    ]
    assert json.loads(read(file))["cells"][1] == BASE["cells"][1]


async def test_json_is_not_quoted_in_an_edit(place: Place) -> None:
    file = place.write("a.ipynb", pretty(BASE))
    edits = [{"old_string": '    "x = 1"\n   ]', "new_string": '    "x = 2"\n   ]'}]
    with pytest.raises(ToolError, match="quote the text of its cells"):
        await place.call(EditFile(place.workspace), path="a.ipynb", edits=edits)
    assert read(file) == pretty(BASE)


async def test_a_notebook_is_created_from_cells(place: Place) -> None:
    content = "# %% [markdown]\n# Title\n# %% [code]\nprint(1)\n"
    output = await place.call(WriteFile(place.workspace), path="b.ipynb", content=content)
    text = read(place.root / "b.ipynb")
    assert sources(text) == [("markdown", "# Title"), ("code", "print(1)")]
    assert output.preview is not None
    assert "+# %% [markdown]\n+# Title\n" in output.preview().payload
    for wrong in ("print(1)\n", '{"cells": ['):
        with pytest.raises(ToolError, match="A notebook is written as its cells"):
            await place.call(WriteFile(place.workspace), path="c.ipynb", content=wrong)
    assert not (place.root / "c.ipynb").exists()


async def test_a_notebook_is_rewritten_by_cells_and_never_by_json(place: Place) -> None:
    file = place.write("a.ipynb", pretty(BASE))
    tool = WriteFile(place.workspace)
    with pytest.raises(ToolError, match="outputs and metadata stay"):
        await place.call(tool, path="a.ipynb", content=pretty(notebook(code("z"))))
    content = '# %% [markdown] cell 1\n# T\n# %% [code] cell 2\nprint("é")\nx = 1\n'
    await place.call(tool, path="a.ipynb", content=content)
    first = {**BASE["cells"][0], "source": ["# T"]}
    assert read(file) == pretty(notebook(first, BASE["cells"][1]))


async def test_an_empty_file_becomes_a_notebook(place: Place) -> None:
    file = place.write("a.ipynb", "")
    await place.call(WriteFile(place.workspace), path="a.ipynb", content="# %% [code]\nx\n")
    assert sources(read(file)) == [("code", "x")]


async def test_a_notebook_of_an_older_format_is_not_replaced(place: Place) -> None:
    old = '{"nbformat": 3, "worksheets": [{"cells": []}]}'
    file = place.write("a.ipynb", old)
    with pytest.raises(ToolError, match=r"format 3, not of format 4.*nbconvert"):
        await place.call(WriteFile(place.workspace), path="a.ipynb", content="# %% [code]\nx\n")
    assert read(file) == old


async def test_half_a_character_in_a_cell_is_refused(place: Place) -> None:
    file = place.write("a.ipynb", pretty(BASE))
    edits = [{"old_string": "x = 1", "new_string": "x = '\ud83d'"}]
    with pytest.raises(ToolError, match="holds half of a character"):
        await place.call(EditFile(place.workspace), path="a.ipynb", edits=edits)
    assert read(file) == pretty(BASE)


async def test_a_patch_changes_cells_beside_other_files(place: Place) -> None:
    file = place.write("a.ipynb", pretty(BASE))
    other = place.write("b.py", "b = 1\n")
    patch = (
        "*** Begin Patch\n*** Update File: a.ipynb\n@@\n # %% [code] cell 3\n-y = 2\n+y = 3\n"
        "*** Update File: b.py\n@@\n-b = 1\n+b = 2\n*** Add File: c.ipynb\n+# %% [code]\n+c = 1\n"
        "*** End Patch"
    )
    await place.call(ApplyPatch(place.workspace), patch=patch)
    assert read(file) == pretty(BASE).replace("y = 2", "y = 3")
    assert read(other) == "b = 2\n"
    assert sources(read(place.root / "c.ipynb")) == [("code", "c = 1")]


async def test_a_moved_notebook_is_changed_by_cells(place: Place) -> None:
    place.write("a.ipynb", pretty(BASE))
    patch = (
        "*** Begin Patch\n*** Update File: a.ipynb\n*** Move to: b.ipynb\n@@\n-y = 2\n+y = 3\n"
        "*** End Patch"
    )
    await place.call(ApplyPatch(place.workspace), patch=patch)
    assert read(place.root / "b.ipynb") == pretty(BASE).replace("y = 2", "y = 3")


async def test_a_search_finds_text_of_cells_by_the_lines_that_are_read(place: Place) -> None:
    place.write("a.ipynb", pretty(BASE))
    place.write("d/b.ipynb", json.dumps(notebook(code('print("é")'))))
    place.write("broken.ipynb", '{"x": "print(\\"é\\")"')
    place.write("c.py", 'print("é")\n')
    tool = Grep(place.workspace)
    found = await place.call(tool, pattern='print\\("é')
    assert found.text.split("\n") == [
        'a.ipynb:5: print("é")',
        'c.py:1: print("é")',
        'd/b.ipynb:2: print("é")',
    ]
    assert "a.ipynb:5:" in (await place.call(tool, pattern="print", path="a.ipynb")).text
    assert (await place.call(tool, pattern="print", glob="*.py")).text == 'c.py:1: print("é")'
    only = await place.call(tool, pattern="print", glob="d/*.ipynb")
    assert only.text == 'd/b.ipynb:2: print("é")'
    assert (await place.call(tool, pattern="nbformat")).text == "Nothing matches."
