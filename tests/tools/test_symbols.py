"""Tools that know symbols: outlines, and definitions replaced and inserted where they belong."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from textwrap import dedent
from typing import Any

import pytest

from agent_ls.codeintel.workspace_code import WorkspaceCode
from agent_ls.domain.errors import ToolError
from agent_ls.tools.find_symbol import FindSymbol
from agent_ls.tools.insert_symbol import InsertSymbol
from agent_ls.tools.outline import Outline, OutlineOptions
from agent_ls.tools.references import References
from agent_ls.tools.replace_symbol import ReplaceSymbol
from agent_ls.tools.repository_map import RepositoryMap
from tests.tools.conftest import Place

pytestmark = pytest.mark.heavy


@pytest.fixture
async def code(place: Place) -> AsyncGenerator[WorkspaceCode]:
    made = WorkspaceCode(place.workspace, place.root.parent / "tags")
    yield made
    await made.close()


async def check(
    place: Place, code: WorkspaceCode, name: str, before: str, after: str | None, /, **call: Any
) -> str:
    """Replace or insert in one file, assert what is in it then, and return what was said."""
    place.write(name, before)
    tool = InsertSymbol if "anchor" in call else ReplaceSymbol
    if after is None:
        with pytest.raises(ToolError) as refused:
            await place.call(tool(place.workspace, code), path=name, **call)
        assert (place.root / name).read_bytes().decode() == before
        return refused.value.text
    output = await place.call(tool(place.workspace, code), path=name, **call)
    assert (place.root / name).read_bytes().decode() == after
    return output.text


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
_JS = dedent("""\
    /** A. */
    export class A {
      run() {
        return 1;
      }
    }

    export const go = () => {
      a();
    };
    """)


@pytest.mark.parametrize(
    "name, text, symbol, new_text, old, new, said",
    [
        pytest.param(
            "a.py", _PY, "A.run", "def run(self):\n    return 2",
            "        return 1\n", "        return 2\n", "Replaced A.run in a.py: now lines 12-13.",
            id="indented-for-its-place",
        ),
        pytest.param(
            "A.java", "class A {\n    int x = 1, y = 2;\n}\n", "A.y", "int x = 1, y = 3;",
            "y = 2", "y = 3", "Replaced A.y in A.java: now lines 2-2.", id="all-of-a-declaration",
        ),
        pytest.param(
            "a.ts", "export const a = 1,\n  b = 2;\n", "b", "export const a = 1,\n  b = 3;",
            "b = 2", "b = 3", "Replaced b in a.ts: now lines 1-2.", id="all-that-is-exported",
        ),
        pytest.param(
            "a.py", _PY, "A.run", "    def run(self):\n        return 2\n",
            "        return 1\n", "        return 2\n", "now lines 12-13.", id="indented-already",
        ),
        pytest.param(
            "a.py", _PY, "A.run", "def run(self):\n        return 2\n",
            "        return 1\n", "        return 2\n", "now lines 12-13.",
            id="only-the-first-line-stripped",
        ),
        pytest.param(
            "a.py", _PY, "A.run", 'def run(self):\n    raise ValueError(\n        "a"\n    )',
            "        return 1\n", '        raise ValueError(\n            "a"\n        )\n', "",
            id="a-bracket-closes-the-body",
        ),
        pytest.param(
            "a.py", _PY, "A.run", "def run(\n        self,\n    ) -> int:\n        return 2\n",
            "    def run(self):\n        return 1\n",
            "    def run(\n        self,\n    ) -> int:\n        return 2\n", "",
            id="only-the-first-line-stripped-and-a-bracket-closes-the-head",
        ),
        pytest.param(
            "a.py", _PY, "A.run",
            '    def run(self):\n        f(\n            "a"\n            "b")\n',
            "        return 1\n", '        f(\n            "a"\n            "b")\n', "",
            id="strings-beside-each-other-are-code",
        ),
        pytest.param(
            "a.py", _PY, "A.run", "def run(self):\n  if self:\n    return 2\n  return 3",
            "        return 1\n", "        if self:\n            return 2\n        return 3\n", "",
            id="steps-of-two",
        ),
        pytest.param(
            "a.py", _PY, "A.run",
            "\tdef run(self):\n\t\tif self:\n\t\t\treturn f(1,\n\t\t\t         2)",
            "        return 1\n",
            "        if self:\n            return f(1,\n                     2)\n", "",
            id="tabs-and-blanks-that-align",
        ),
        pytest.param(
            "a.ts", "class A {\n\trun() {\n\t\treturn 1; // `\n\t}\n}\n", "A.run",
            "run() {\n    return 2; // `\n}", "\t\treturn 1; // `\n", "\t\treturn 2; // `\n", "",
            id="blanks-among-tabs",
        ),
        pytest.param(
            "a.py", _PY, "A.run", "```python\ndef run(self):\n    return 2\n```\n",
            "        return 1\n", "        return 2\n", "", id="fenced",
        ),
        pytest.param(
            "a.py", _PY, "A.run", "    11\t    def run(self):\n    12\t        return 2",
            "        return 1\n", "        return 2\n", "", id="numbered",
        ),
        pytest.param(
            "a.py", _PY, "run", "def run():\n    return 3",
            "    pass  # done\n", "    return 3\n", "now lines 16-17.", id="whole-name-first",
        ),
        pytest.param(
            "a.py", _PY, "A.hello", "@cached\ndef hello(self):\n    return 1",
            '@property\n    def hello(self) -> str:\n        return "hello"\n',
            "@cached\n    def hello(self):\n        return 1\n",
            "The comment above it was kept. Not in the new text and so gone: @property.",
            id="decorators-belong-to-it",
        ),
        pytest.param(
            "a.py", _PY, "A.hello", "# Hi.\ndef bye(self):\n    return 1",
            '# Says hello.\n    @property\n    def hello(self) -> str:\n        return "hello"\n',
            "# Hi.\n    def bye(self):\n        return 1\n",
            "Its name is now A.bye; what uses hello was not changed.", id="renamed",
        ),
        pytest.param(
            "a.py", _PY, "A.run", 'def run(self):\n    x = """\n  a\nb"""\n    return x',
            "        return 1\n", '        x = """\n  a\nb"""\n        return x\n', "",
            id="strings-keep-their-lines",
        ),
        pytest.param(
            "a.py", _PY, "A.run", 'def run(self):\n    """One.\n\n    Two."""\n',
            "        return 1\n", '        """One.\n\n        Two."""\n', "",
            id="docstrings-do-not",
        ),
        pytest.param(
            "a.ts", _JS, "A::run", "run() {\n  return 2;\n}",
            "    return 1;\n", "    return 2;\n", "", id="other-spelling-of-the-name",
        ),
        pytest.param(
            "a.ts", _JS, "A", "class B {}",
            _JS[: _JS.index("\n\n")], "/** A. */\nclass B {}", "The comment above it was kept.",
            id="exported",
        ),
        pytest.param(
            "a.ts", _JS, "go", "export const go = () => {\n  b();\n}",
            "  a();\n", "  b();\n", "", id="arrow-without-its-semicolon",
        ),
        pytest.param(
            "a.rs", "struct S;\nimpl S {\n\t/// New.\n\t#[inline]\n\tfn new() -> S { S }\n}\n",
            "S.new", "#[inline]\nfn new() -> S {\n    S\n}", "fn new() -> S { S }",
            "fn new() -> S {\n\t\tS\n\t}", "The comment above it was kept.", id="tabs",
        ),
        pytest.param(
            "a.json", '{\n  "a": 1,\n  "b": {"c": 2}\n}\n', "b.c", '"c": 3,',
            '"c": 2', '"c": 3', "", id="json-without-the-comma",
        ),
        pytest.param(
            "a.go", "package a\n\nfunc (t *T) Go() {}\n\nfunc (u U) Go() {}\n", "U.Go",
            "func (u U) Go() { x() }", "func (u U) Go() {}", "func (u U) Go() { x() }", "",
            id="receiver",
        ),
        pytest.param(
            "a.cpp", "struct A {\n  int f();\n};\n\nint A::f() { return 1; }\n", "A::f[2]",
            "int A::f() { return 2; }", "return 1", "return 2", "", id="one-of-several",
        ),
    ],
)  # fmt: skip
async def test_a_definition_is_replaced_in_its_place(
    place: Place, code: WorkspaceCode, name: str, text: str, symbol: str, new_text: str, old: str,
    new: str, said: str,
) -> None:  # fmt: skip
    assert text.count(old) == 1
    told = await check(
        place, code, name, text, text.replace(old, new), symbol=symbol, new_text=new_text
    )
    assert said in told
    # The same in a file with other line ends, which all stay.
    crlf = text.replace("\n", "\r\n")
    expected = text.replace(old, new).replace("\n", "\r\n")
    await check(place, code, name, crlf, expected, symbol=symbol, new_text=new_text)


@pytest.mark.parametrize(
    "name, text, anchor, position, new, expected",
    [
        pytest.param(
            "a.py", _PY, "A.run", "after", "def two(self):\n    return 2",
            _PY.replace("        return 1\n",
                        "        return 1\n\n    def two(self):\n        return 2\n"),
            id="method-after",
        ),
        pytest.param(
            "a.py", _PY, "A.hello", "before", "def two(self):\n    return 2\n",
            _PY.replace("    # Says", "    def two(self):\n        return 2\n\n    # Says"),
            id="before-the-comment-above",
        ),
        pytest.param(
            "a.py", _PY, "A", "inside_end", "def two(self):\n    return 2\n",
            _PY.replace("        return 1\n",
                        "        return 1\n\n    def two(self):\n        return 2\n"),
            id="last-in-a-class",
        ),
        pytest.param(
            "a.py", _PY, "run", "after", "def two():\n    return 2\n",
            _PY + "\n\ndef two():\n    return 2\n", id="last-in-a-file",
        ),
        pytest.param(
            "a.py", _PY, "run", "before", "X = 1",
            _PY.replace("def run():", "X = 1\n\n\ndef run():"), id="function-before",
        ),
        pytest.param(
            "a.py", "X = 1\nY = 2\n", "X", "after", "Z = 3", "X = 1\nZ = 3\nY = 2\n",
            id="constants",
        ),
        pytest.param(
            "a.ts", _JS, "A", "inside_end", "stop() {\n  b();\n}",
            _JS.replace("  }\n}\n", "  }\n\n  stop() {\n    b();\n  }\n}\n"), id="braces",
        ),
        pytest.param(
            "a.ts", "class A {}\n", "A", "inside_end", "x = 1;", "class A {\n    x = 1;\n}\n",
            id="empty-braces",
        ),
        pytest.param(
            "a.ts", _JS, "go", "inside_end", "b();",
            _JS.replace("  a();\n", "  a();\n  b();\n"), id="statement",
        ),
        pytest.param(
            "a.rs", "enum E {\n    A,\n    B,\n}\n", "E", "inside_end", "C",
            "enum E {\n    A,\n    B,\n    C,\n}\n", id="entry-with-a-comma",
        ),
        pytest.param(
            "a.json", '{\n  "a": 1,\n  "b": {}\n}\n', "b", "after", '"c": 2',
            '{\n  "a": 1,\n  "b": {},\n  "c": 2\n}\n', id="key-after-the-last",
        ),
        pytest.param(
            "a.json", '{\n  "a": 1,\n  "b": {}\n}\n', "a", "before", '"c": 2,',
            '{\n  "c": 2,\n  "a": 1,\n  "b": {}\n}\n', id="key-before",
        ),
        pytest.param(
            "a.json", '{\n  "b": {}\n}\n', "b", "inside_end", '"c": 2',
            '{\n  "b": {\n    "c": 2\n  }\n}\n', id="key-in-an-empty-object",
        ),
        pytest.param(
            "a.py", 'class A:\n    """Doc."""\n', "A", "inside_end", "def f(self):\n    pass",
            'class A:\n    """Doc."""\n\n    def f(self):\n        pass\n', id="after-a-docstring",
        ),
        pytest.param(
            "a.py", "if x:\n    def f():\n        pass\n", "f", "after", "def g():\n    pass",
            "if x:\n    def f():\n        pass\n\n    def g():\n        pass\n",
            id="in-a-condition",
        ),
        pytest.param(
            "a.cpp", "class A {\npublic:\n  void f();\n};\n", "A", "inside_end", "void g();",
            "class A {\npublic:\n  void f();\n  void g();\n};\n", id="declarations",
        ),
        pytest.param(
            "A.java", "enum E {\n  A,\n  B;\n\n  void f() {}\n}\n", "E.B", "after", "C",
            "enum E {\n  A,\n  B,\n  C;\n\n  void f() {}\n}\n", id="entries-before-members",
        ),
        pytest.param(
            "a.rs", "impl S {\n    fn a() {}\n}\n", "S", "inside_end", "fn b() {\n    1\n}",
            "impl S {\n    fn a() {}\n\n    fn b() {\n        1\n    }\n}\n", id="impl",
        ),
        pytest.param(
            "a.go", "package a\n\nfunc A() {\n\tb()\n}\n", "A", "inside_end", "if x {\n    c()\n}",
            "package a\n\nfunc A() {\n\tb()\n\tif x {\n\t\tc()\n\t}\n}\n",
            id="statements-with-tabs",
        ),
        pytest.param(
            "a.ts", "export const x = 1;\nexport function f() {\n  return 1;\n}\n", "f", "after",
            "export function g() {}",
            "export const x = 1;\nexport function f() {\n  return 1;\n}\n"
            "\nexport function g() {}\n",
            id="functions-apart",
        ),
        pytest.param(
            "a.sh", "f() {\n  a\n}\n", "f", "inside_end", "b", "f() {\n  a\n  b\n}\n", id="shell",
        ),
    ],
)  # fmt: skip
async def test_text_is_inserted_where_it_belongs(
    place: Place, code: WorkspaceCode, name: str, text: str, anchor: str, position: str, new: str,
    expected: str,
) -> None:  # fmt: skip
    said = await check(
        place, code, name, text, expected, anchor=anchor, position=position, text=new
    )
    assert said.startswith("Inserted ")
    assert f"{anchor} in {name}" in said
    await check(place, code, name, text.replace("\n", "\r\n"), expected.replace("\n", "\r\n"),
                anchor=anchor, position=position, text=new)  # fmt: skip


_TWICE = "class A:\n    def run(self): ...\nclass B:\n    def run(self): ...\n"


_HEADER = (
    "struct Row {\n  Row(int a) : a(a) {}\n  bool empty() const { return a == 0; }\n  int a;\n};\n"
)


async def test_a_header_of_the_other_language_is_changed_as_its_text_says(
    place: Place, code: WorkspaceCode
) -> None:
    new = _HEADER.replace("empty", "is_empty")
    # The second is large enough for the worker.
    for rest in ("", "".join(f"class A{n} {{\n  int b;\n}};\n" for n in range(500))):
        said = await check(
            place, code, "a.h", _HEADER + rest, new + rest, symbol="Row", new_text=new
        )
        assert said == "Replaced Row in a.h: now lines 1-5."
        method = "  bool full() const { return !empty(); }\n"
        await check(
            place, code, "a.h", _HEADER + rest, _HEADER.replace("  int", f"{method}  int") + rest,
            anchor="Row.empty", position="after", text=method,
        )  # fmt: skip
    output = await place.call(FindSymbol(code), name="full")
    assert output.text == "a.h:4: Row.full: bool full() const"
    output = await place.call(References(code), name="empty")
    assert output.text.splitlines()[0] == "a.h:3:*bool empty() const { return a == 0; }"
    output = await place.call(RepositoryMap(place.workspace, code))
    assert "class A0" in output.text


@pytest.mark.parametrize(
    "name, text, call, words",
    [
        pytest.param("a.py", _PY, {"symbol": "A", "new_text":
                     'class A:\n    """New."""\n\n    # ... existing methods ...\n'},
                     "mark for left-out code", id="lines-are-left-out"),
        pytest.param("a.py", _TWICE, {"symbol": "run", "new_text": "x"},
                     "'run' is the name of 2 symbols:\nA.run[1]  line 2: def run(self)\nB.run[2]",
                     id="several"),
        pytest.param("a.py", _TWICE, {"symbol": "run[3]", "new_text": "x"}, "2 symbols",
                     id="number"),
        pytest.param("a.py", _TWICE, {"symbol": "runs", "new_text": "x"},
                     "There is no symbol 'runs'. Its symbols with names like that: A.run (line 2)",
                     id="none"),
        pytest.param("a.py", _TWICE, {"symbol": "zzz", "new_text": "x"}, "outline shows",
                     id="nothing"),
        pytest.param("a.ini", "[a]\n", {"symbol": "a", "new_text": "x"}, "edit_file",
                     id="no-grammar"),
        pytest.param("a.py", _TWICE, {"symbol": "A", "new_text": " \n"}, "empty", id="empty"),
        pytest.param("a.py", "def f(): pass\n", {"symbol": "f", "new_text": "def f(): pass"},
                     "already has exactly this text", id="equal"),
        pytest.param("a.py", "X = 1\n", {"anchor": "X", "position": "inside_end", "text": "x"},
                     "has no body", id="no-body"),
        pytest.param("a.py", "class A: pass\n", {"anchor": "A", "position": "inside_end",
                     "text": "x = 1"}, "shares its line", id="a-body-on-one-line"),
        pytest.param("a.py", _TWICE, {"anchor": "run", "position": "after", "text": "x"},
                     "2 symbols", id="anchor"),
        pytest.param("A.java", "class A {\n    private int x = 1, y = 2;\n}\n",
                     {"symbol": "x", "new_text": "private int x = y;"},
                     "Line 2 declares A.y too, which would be gone: private int x = 1, y = 2",
                     id="java-fields-in-one"),
        pytest.param("a.go", "package p\n\nvar a, b = 1, 2\n",
                     {"symbol": "b", "new_text": "var b = 3"}, "declares a too",
                     id="go-variables-in-one"),
        pytest.param("a.go", "package p\n\ntype S struct {\n\tA, B int\n}\n",
                     {"symbol": "S.A", "new_text": "A string"}, "declares S.B too",
                     id="go-fields-in-one"),
        pytest.param("a.c", "int g = 1, h = 2;\n", {"symbol": "g", "new_text": "int g = h;"},
                     "declares h too", id="c-variables-in-one"),
        pytest.param("a.py", "x = y = 2\n", {"symbol": "x", "new_text": "x = 5"},
                     "declares y too", id="python-names-in-one"),
        pytest.param("a.py", "class A:\n    p = q = 2\n", {"symbol": "q", "new_text": "q = 5"},
                     "declares A.p too", id="python-fields-in-one"),
        pytest.param("a.ts", "export const a = 1, b = 2;\n",
                     {"symbol": "a", "new_text": "export const a = 2;"}, "declares b too",
                     id="ts-constants-in-one"),
    ],
)  # fmt: skip
async def test_what_is_not_certain_is_refused(
    place: Place, code: WorkspaceCode, name: str, text: str, call: dict[str, str], words: str
) -> None:
    assert words in await check(place, code, name, text, None, **call)


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
    new = {"symbol": "größe_700", "new_text": "def größe_700():\n    return 0"}
    output = await place.call(ReplaceSymbol(place.workspace, code), path="a.py", **new)
    assert output.text == "Replaced größe_700 in a.py: now lines 2801-2802."
    assert (place.root / "a.py").read_text("utf-8") == text.replace("return 700\n", "return 0\n")
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
    output = await place.call(FindSymbol(code), name="area")
    assert output.text == (
        "lib/shapes.py:2: Shape.area: def area(self)\nlib/shapes.py:4: area_of: def area_of(shape)"
    )
    output = await place.call(References(code), name="shapes.Shape")
    assert output.text == dedent("""\
        lib/shapes.py:1:*class Shape:
        main.py:1: from lib.shapes import Shape  # Shape
        main.py:2: print(Shape().area(), 'Shape')
        old.py:2: return area_of(Shape())""")
    output = await place.call(References(code), name="Shape", path="lib")
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
    assert "Nothing is defined" in (await place.call(FindSymbol(code), name="x")).text
    assert "stands nowhere" in (await place.call(References(code), name="x")).text
    assert "No file here" in (await place.call(RepositoryMap(place.workspace, code))).text
    with pytest.raises(ToolError, match="does not exist"):
        await place.call(References(code), name="x", path="gone")


async def test_a_preview_is_the_change_itself(place: Place, code: WorkspaceCode) -> None:
    place.write("a.py", _TWICE)
    tool = ReplaceSymbol(place.workspace, code)
    call = {"path": "a.py", "symbol": "A.run", "new_text": "def go(self): ..."}
    shown = await tool.preview(tool.Arguments.model_validate(call))  # type: ignore[arg-type]
    assert shown.title == "Replace A.run in a.py"
    assert "-    def run(self): ...\n+    def go(self): ..." in shown.payload
    assert shown.grant == "edit"
    other = InsertSymbol(place.workspace, code)
    call = {"path": "a.py", "anchor": "A", "position": "inside_end", "text": "x = 1"}
    shown = await other.preview(other.Arguments.model_validate(call))  # type: ignore[arg-type]
    assert shown.title == "Insert at the end of A in a.py"
    assert "+    x = 1" in shown.payload
    assert (place.root / "a.py").read_text() == _TWICE
