"""Symbols of which it is not plain what belongs to them: nothing else is taken or broken."""

from __future__ import annotations

import pytest

from tests.support.symbol_changes import Way, check

_GO = "package p\n\nfunc A() {\n\tif x {\n\t\treturn\n\n}\n\nfunc B() int {\n\treturn 2\n}\n"
_JAVA = "class A {\n    void a() {\n        if (x) {\n    }\n\n    void b() {\n    }\n}\n"
_C = "int a(void)\n{\n    if (x) {\n        return 1;\n}\n\nint b(void)\n{\n    return 2;\n}\n"
_API_C = "API void APIENTRY g(void);\n"
_PY = (
    "class C:\n    def m(self):\n        x = (1,\n    def n(self):\n        return 3\n"
    "\ndef z(): ...\n"
)
_TS = "class A {\n  m() {\n    if (x) {\n  }\n\n  n() {\n  }\n}\n"
_MACROS = (
    "class API A : public B {\npublic:\n  A() : x(0) {}\n\n  virtual ~A() NOTHROW(E);\n\n"
    "  // The name.\n  inline const char* name() const {\n    return x;\n  }\n\n"
    "private:\n  const char* x;\n};\n"
)
_TORN = (
    '    """**OLD**\n    """\ndef tag):\n    """**OLD**\n    """\nclass Null:\n        x = f(y)\n'
)
_OPEN = (
    'class C:\n    def m(self) -> str:\n        return f"<{self.a} path={self.b!r}>\n\n\n'
    'def create(a,\n           b=None) -> C:\n    """Makes."""\n    return C(a)\n'
)
_OPEN_QUERY = "class A {\n  m() {\n    s = `a;\n  }\n\n  n() {\n    return `b`;\n  }\n}\n"
_UNCLOSED = 'def f():\n    q = """abc\n\n\ndef g():\n    """Doc."""\n    return 2\n'
_HEADS = "#ifdef X\nint f(int a) {\n#else\nint f(void) {\n#endif\n    return 1;\n}\n"
_SPLIT = "static int\n#ifdef X\nf(int a)\n#else\nf(void)\n#endif\n{\n    return 1;\n}\n"


@pytest.mark.parametrize(
    "name, text, symbol, position, new_text, said",
    [
        ("a.go", _GO, "A", "replace", "func A() {\n}", "edit_file, or mend the error first"),
        ("a.go", _GO, "A", "after", "func D() {\n}", "right beside it, at line 9"),
        ("a.go", _GO, "A", "inside_end", "f()", "Use edit_file"),
        ("A.java", _JAVA, "a", "replace", "void a() {\n}", "not certain"),
        ("a.c", _C, "a", "replace", "int a(void);", "not certain"),
        ("a.py", _PY, "C.m", "replace", "def m(self):\n    pass", "not certain"),
        ("a.py", _PY, "C", "replace", "class C:\n    pass", "not certain"),
        ("a.ts", _TS, "m", "replace", "m() {\n}", "not certain"),
        ("a.json", '{\n  "a": {\n    "x": 1,\n  "b": 2\n}\n', "a", "replace", '"a": 1',
         "not certain"),
        ("a.py", "def f():\n    x = (1\n\n\ny = 2\n", "f", "replace", "def f():\n    x = 1",
         "not certain"),
        ("a.h", _API_C, "g", "replace", "void g(int);", "not certain"),
        ("a.h", _MACROS, "name", "replace", "int name() { return 0; }", "not certain"),
        ("a.h", _MACROS, "name", "before", "int b();", "not certain"),
        ("a.py", "A = f 1)\nB = 2\nC = 3\n", "B", "replace", "B = 5", "line 1 (A = f 1))"),
        ("a.py", _TORN, "Null", "replace", "class Null:\n    pass", "not certain"),
        ("a.py", _OPEN, "create", "replace", "def create():\n    pass", "not certain"),
        ("a.py", _UNCLOSED, "f", "replace", "def f(): ...", "not certain"),
        ("a.ts", _OPEN_QUERY, "A.m", "replace", "m() {}", "not certain"),
        ("b.c", _HEADS, "f", "replace", "int f(void) { return 5; }", ""),
        ("b.c", _SPLIT, "f", "replace", "static int f(void) { return 5; }", ""),
    ],
)  # fmt: skip
def test_a_definition_with_a_syntax_error_in_it_or_beside_it_is_left_alone(
    name: str, text: str, symbol: str, position: Way, new_text: str, said: str
) -> None:
    check(name, text, symbol, position, new_text, None, said)
    check(name, text.replace("\n", "\r\n"), symbol, position, new_text, None, said)


def test_an_error_elsewhere_does_not_matter() -> None:
    text = "A = f 1)\nB = 2\nC = 3\n"
    check("a.py", text, "C", "replace", "C = 5", text.replace("3", "5"), "")


_CONST = "package p\n\nconst (\n\t// X doc\n\tX = 1\n)\n\nfunc f() {}\n"
_TYPES = "package p\n\ntype (\n\tZ struct {\n\t\ta int\n\t}\n)\n"
_API = "package p\n\ntype E interface {\n\tQ()\n}\n"


_JSON = '{\n  "b": {"c": 1},\n  "z": 2\n}\n'
_ENUM = "enum E {\n  A,\n  B // last\n}\n"


@pytest.mark.parametrize(
    "name, text, symbol, position, new_text, after",
    [
        ("a.go", _CONST, "X", "replace", "// Five.\nX = 5",
         _CONST.replace("// X doc\n\tX = 1", "// Five.\n\tX = 5")),
        ("a.go", _CONST, "X", "replace", "// Five.\nconst X = 5", None),
        ("a.go", _CONST, "X", "after", "Y = 2", _CONST.replace("= 1\n", "= 1\n\n\tY = 2\n")),
        ("a.go", _CONST, "X", "after", "func g() {}", None),
        ("a.go", _TYPES, "Z", "replace", "Z struct {\n\tb int\n}",
         _TYPES.replace("a int", "b int")),
        ("a.go", _API, "E", "inside_end", "T()", _API.replace("Q()\n", "Q()\n\tT()\n")),
        ("a.json", _JSON, "b", "replace", "5", None),
        ("a.json", _JSON, "b", "after", '{"x": 1}', None),
        ("a.json", _JSON, "b", "inside_end", "[3]", None),
        ("a.json", _JSON, "b", "after", '"x": 1,', _JSON.replace("},", '},\n  "x": 1,')),
        ("a.ts", _ENUM, "E.A", "after", "C", None),
        ("a.ts", _ENUM, "E.A", "after", "C,", _ENUM.replace("A,", "A,\n  C,")),
        ("a.ts", _ENUM, "E", "inside_end", "C", None),
        ("a.rs", "enum E {\n    A,\n}\n", "E", "inside_end", "C,",
         "enum E {\n    A,\n    C,\n}\n"),
    ],
)  # fmt: skip
def test_what_would_be_a_syntax_error_there_is_refused(
    name: str, text: str, symbol: str, position: Way, new_text: str, after: str | None
) -> None:
    check(name, text, symbol, position, new_text, after, "" if after else "a syntax error at line")


_TWO_LINES = "struct S {\n    int a; /* about a\n              more */\n    int b;\n};\n"
_INPUT = "class X {\n  @Input() a: string; // in metres\n  b: string;\n}\n"
_INJECT = "class A {\n    @Inject Foo a; // the a\n    Foo b;\n}\n"
_DERIVE = "#[derive(Debug)] // why\npub struct S {\n    a: i32,\n}\n"
_TESTED = "/* A. */ #[test] // t\n#[ignore] /* i */\nfn t() {}\n"
_METHOD = "class X {\n  @Input() // why\n  /** Doc. */ m() {}\n}\n"


@pytest.mark.parametrize(
    "name, text, symbol, position, new_text, after, said",
    [
        ("a.ts", _INPUT, "b", "replace", "/** B. */\nb: number;",
         _INPUT.replace("  b: string", "  /** B. */\n  b: number"), ""),
        ("a.ts", _INPUT, "b", "before", "z: number;",
         _INPUT.replace("  b:", "  z: number;\n  b:"), ""),
        ("a.ts", _INPUT, "a", "after", "z: number;",
         _INPUT.replace("  b:", "  z: number;\n  b:"), ""),
        ("A.java", _INJECT, "b", "before", "Foo z;",
         _INJECT.replace("    Foo b", "    Foo z;\n    Foo b"), ""),
        ("A.java", _INJECT, "b", "replace", "Foo c;", _INJECT.replace("Foo b", "Foo c"), ""),
        ("a.rs", _DERIVE, "S", "replace", "#[derive(Debug)]\npub struct S;",
         "#[derive(Debug)]\npub struct S;\n", ""),
        ("a.rs", _DERIVE, "S", "before", "pub struct V;", f"pub struct V;\n\n{_DERIVE}", ""),
        ("a.rs", _TESTED, "t", "before", "fn u() {}", f"fn u() {{}}\n\n{_TESTED}", ""),
        ("a.ts", "function f() {\n} // f\n", "f", "replace", "function f() {}",
         "function f() {} // f\n", ""),
        ("a.js", "function f() {\n} // f\n", "f", "inside_end", "g();",
         "function f() {\n    g();\n} // f\n", ""),
        ("a.c", _TWO_LINES, "S.a", "after", "int c;",
         _TWO_LINES.replace("*/\n", "*/\n    int c;\n"), ""),
        ("a.ts", _METHOD, "m", "before", "n() {}",
         _METHOD.replace("  @", "  n() {}\n\n  @"), ""),
    ],
)  # fmt: skip
def test_a_comment_behind_something_belongs_to_that(
    name: str, text: str, symbol: str, position: Way, new_text: str, after: str | None, said: str
) -> None:
    check(name, text, symbol, position, new_text, after, said)


_CAN = "struct can {\n\tint a;\n}"


@pytest.mark.parametrize(
    "name, old, symbol, new, said",
    [
        ("A.java", '@A(")") @B int f() { return 1; }', "f", "@B int f() { return 2; }", "@A"),
        ("A.java", "@A\n    // why\n    @B(1) int f() { return 1; }", "f",
         "@B(2) int f() { return 2; }", "@A"),
        ("a.ts", "export default class Foo {\n  a = 1;\n}", "Foo", "class Foo {\n  a = 2;\n}",
         "export, default"),
        ("a.ts", "export class Foo {}", "Foo", "export default class Foo {\n  a = 2;\n}", ""),
        ("a.ts", "@Injectable() // why\nexport class Foo {}", "Foo",
         "@Injectable()\nexport class Foo {\n  a = 2;\n}", ""),
        ("a.rs", "#[test] // t\n#[ignore]\nfn t() {}", "t", "#[test]\nfn t() {\n    u();\n}",
         "#[ignore]"),
        ("a.py", "@a  # why\ndef f(): ...", "f", "def f(): pass", "@a"),
        ("a.sh", "export Y=2", "Y", "Y=3", "export"),
        ("a.cpp", "template <class T>\nint f(T a) { return 1; }", "f",
         "int f(T a) { return 2; }", "template"),
        ("a.c", f"{_CAN} __attribute__((packed));", "can", f"{_CAN};", "__attribute__"),
        ("a.cpp", "[[nodiscard]] int f(int a) {\n\treturn a;\n}", "f", "int f(long a) {\n}",
         "[[nodiscard]]"),
    ],
)  # fmt: skip
def test_what_stood_about_a_definition_and_is_not_repeated_is_said(
    name: str, old: str, symbol: str, new: str, said: str
) -> None:
    before, after = (
        f"class A {{\n    {one}\n}}" if name == "A.java" else f"{one}\n" for one in (old, new)
    )
    told = f"Not in the new text and so gone: {said}." if said else ""
    check(name, before, symbol, "replace", new, after, told)


_CR = "class A {\r  m() { return 1; } // c\r  n() { return 2; }\r}\rfunction z() {}\r"


@pytest.mark.parametrize("position", ["replace", "before", "after", "inside_end"])
@pytest.mark.parametrize("text", [_CR, _CR + "z();\n"], ids=["cr", "mixed"])
def test_a_text_whose_lines_a_cr_alone_ends_is_left_alone(text: str, position: Way) -> None:
    check("a.js", text, "A", position, "q() {}", None, "lines with CR alone")


_USED = "static struct S {\n    int a;\n} s, *t;\n"
_SHARES = "shares its line"


@pytest.mark.parametrize(
    "name, text, symbol, position, new_text",
    [
        ("a.ts", "const a = 1; /* b */ const b = 2;\n", "a", "after", "const c = 3;"),
        ("a.ts", "enum E { A, B }\n", "E.A", "after", "C"),
        ("a.c", _USED, "struct S", "after", "struct T { int b; };"),
        ("a.c", _USED, "struct S", "replace", "struct S { int b; };"),
        ("a.json", '{"a": 1, "b": 2}\n', "b", "replace", '"b": 3'),
        ("a.py", "a = 1; b = 2\n", "a", "replace", "a = 3  # c"),
    ],
)  # fmt: skip
def test_what_shares_its_line_with_other_code_is_left_alone(
    name: str, text: str, symbol: str, position: Way, new_text: str
) -> None:
    check(name, text, symbol, position, new_text, None, _SHARES)


_NOTED = "enum E {\n  A = 1, // one\n  B // two\n}\n"
_RUST = "enum E {\n    A,\n    B,\n}\n"
_TRAIT = "trait T {\n    fn f(&self);\n}\n"


@pytest.mark.parametrize(
    "name, text, symbol, new_text, after, said",
    [
        ("a.ts", _ENUM, "E.A", "A = 3, // three", _ENUM.replace("A,", "A = 3, // three"), ""),
        ("a.ts", _ENUM, "E.A", "// three", None, "no entry or definition"),
        # A comment behind the new text takes the place of the one that was there.
        ("a.ts", _NOTED, "E.A", "A = 3, // one", _NOTED.replace("1", "3"), ""),
        ("a.ts", _NOTED, "E.A", "A = 3 // three", _NOTED.replace("1, // one", "3, // three"), ""),
        ("a.ts", _NOTED, "E.B", "B = 2", _NOTED.replace("B", "B = 2"), ""),
        ("a.js", "const r = 1;\n", "r", "const r = 2 // c", "const r = 2; // c\n", ""),
        ("a.rs", _RUST, "E.A", "A(i32) // new", _RUST.replace("A,", "A(i32), // new"), ""),
        ("a.py", "a = 1  # a\n", "a", "a = '#'  # a", "a = '#'  # a\n", ""),
        ("a.rs", "pub struct S; // s\n", "S", "struct S {\n    a: i32,\n}",
         "struct S {\n    a: i32,\n} // s\n", ""),
        ("a.rs", "const A: S = S;\n", "A", "const A: S = S { a: 1 }",
         "const A: S = S { a: 1 };\n", ""),
        ("a.rs", _TRAIT, "T.f", "fn f(&self) {}", _TRAIT.replace("f(&self);", "f(&self) {}"), ""),
        ("a.ts", "type T = { a: 1 };\n", "T", "type T = { b: 1 }", "type T = { b: 1 };\n", ""),
        ("a.c", "int f(void);\nint g;\n", "f", "int f(void)\n{\n}", "int f(void)\n{\n}\nint g;\n",
         ""),
    ],
)  # fmt: skip
def test_one_separator_stands_behind_a_replaced_definition(
    name: str, text: str, symbol: str, new_text: str, after: str | None, said: str
) -> None:
    check(name, text, symbol, "replace", new_text, after, said)
