"""Tools that know symbols: outlines, definitions and uses, the map."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from textwrap import dedent

import pytest

from agent_ls.codeintel.workspace_code import WorkspaceCode
from agent_ls.domain.errors import ToolError
from agent_ls.tools.find_symbol import FindSymbol
from agent_ls.tools.outline import Outline, OutlineOptions
from agent_ls.tools.references import References
from agent_ls.tools.repository_map import RepositoryMap
from tests.tools.conftest import Place

pytestmark = pytest.mark.heavy


@pytest.fixture
async def code(place: Place) -> AsyncGenerator[WorkspaceCode]:
    made = WorkspaceCode(place.workspace, place.root.parent / "tags")
    yield made
    await made.close()


_PY = dedent('''\
    import os


    class A:
        """Doc."""

        # Says hello.
        @property
        def hello(self) -> str:
            return "hello"

        def run(self):
            return 1


    def run():
        pass  # done
    ''')
_HEADER = (
    "struct Row {\n  Row(int a) : a(a) {}\n  bool empty() const { return a == 0; }\n  int a;\n};\n"
)


async def test_a_header_of_the_other_language_is_read_as_its_text_says(
    place: Place, code: WorkspaceCode
) -> None:
    # The second is large enough for the worker.
    for rest in ("", "".join(f"class A{n} {{\n  int b;\n}};\n" for n in range(500))):
        place.write("a.h", _HEADER + rest)
        tool = Outline(place.workspace, code, OutlineOptions(max_symbols=2_000))
        output = await place.call(tool, path="a.h")
        assert "3    bool empty() const" in output.text
    output = await place.call(FindSymbol(code, place.workspace), name="empty")
    assert output.text == "a.h:3: Row.empty: bool empty() const"
    output = await place.call(References(code, place.workspace), name="empty")
    assert output.text.splitlines()[0] == "a.h:3:*bool empty() const { return a == 0; }"
    output = await place.call(RepositoryMap(place.workspace, code))
    assert "class A0" in output.text


async def test_an_outline_shows_lines_and_declarations(place: Place, code: WorkspaceCode) -> None:
    place.write("a.py", _PY)
    output = await place.call(Outline(place.workspace, code), path="a.py")
    assert output.text == dedent("""\
        4-13  class A
        7-10    def hello(self) -> str
        12-13    def run(self)
        16-17  def run()""")
    place.workspace.buffers["a.py"] = "def new(): pass\n"
    output = await place.call(Outline(place.workspace, code), path="a.py")
    assert output.text.startswith("1  def new()\n(This is the editor's text")


async def test_an_outline_leaves_deep_levels_out_first(place: Place, code: WorkspaceCode) -> None:
    place.write("a.py", _PY)
    tool = Outline(place.workspace, code, OutlineOptions(max_symbols=2))
    output = await place.call(tool, path="a.py")
    assert output.text == "4-13  class A\n16-17  def run()\n(2 more, deeper or later, are left out)"


async def test_a_large_file_is_outlined_by_the_worker(place: Place, code: WorkspaceCode) -> None:
    text = "".join(f"def größe_{n}():\n    return {n}\n\n\n" for n in range(1_000))
    place.write("a.py", text)
    tool = Outline(place.workspace, code, OutlineOptions(max_symbols=1_000))
    output = await place.call(tool, path="a.py")
    assert "\n2801-2802  def größe_700()\n" in output.text
    assert code.worker_pid is not None


async def test_definitions_and_uses_are_found_in_all_files(
    place: Place, code: WorkspaceCode
) -> None:
    place.write(
        "lib/shapes.py", "class Shape:\n    def area(self): ...\n\ndef area_of(shape): ...\n"
    )
    place.write(
        "main.py", "from lib.shapes import Shape  # Shape\nprint(Shape().area(), 'Shape')\n"
    )
    place.write("old.py", "Shape = 1\n")
    place.workspace.buffers["old.py"] = "def use():\n    return area_of(Shape())\n"
    output = await place.call(FindSymbol(code, place.workspace), name="area")
    assert output.text == (
        "lib/shapes.py:2: Shape.area: def area(self)\nlib/shapes.py:4: area_of: def area_of(shape)"
    )
    output = await place.call(References(code, place.workspace), name="shapes.Shape")
    assert output.text == dedent("""\
        lib/shapes.py:1:*class Shape:
        main.py:1: from lib.shapes import Shape  # Shape
        main.py:2: print(Shape().area(), 'Shape')
        old.py:2: return area_of(Shape())""")
    output = await place.call(References(code, place.workspace), name="Shape", path="lib")
    assert output.text == "lib/shapes.py:1:*class Shape:"
    output = await place.call(RepositoryMap(place.workspace, code))
    assert output.text == dedent("""\
        lib/shapes.py:
            1  class Shape
            2    def area(self)
            4  def area_of(shape)
        old.py:
            1  def use()""")


async def test_nothing_found_is_said(place: Place, code: WorkspaceCode) -> None:
    place.write("a.txt", "x\n")
    assert (
        "Nothing is defined" in (await place.call(FindSymbol(code, place.workspace), name="x")).text
    )
    assert "stands nowhere" in (await place.call(References(code, place.workspace), name="x")).text
    assert "No file here" in (await place.call(RepositoryMap(place.workspace, code))).text
    with pytest.raises(ToolError, match="does not exist"):
        await place.call(References(code, place.workspace), name="x", path="gone")
