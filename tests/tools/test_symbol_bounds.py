"""Symbols of which it is not plain what belongs to them: nothing else is taken or broken."""

from __future__ import annotations

import pytest

from tests.support.symbol_changes import Way, check

_GO = "package p\n\nfunc A() {\n\tif x {\n\t\treturn\n\n}\n\nfunc B() int {\n\treturn 2\n}\n"
_JAVA = "class A {\n    void a() {\n        if (x) {\n    }\n\n    void b() {\n    }\n}\n"
_C = "int a(void)\n{\n    if (x) {\n        return 1;\n}\n\nint b(void)\n{\n    return 2;\n}\n"
_TWO_LINES = "struct S {\n    int a; /* about a\n              more */\n    int b;\n};\n"
_GNU = (
    "extern char *index (const char *s, int c)\n"
    '     __THROW __asm ("index") __attribute_pure__ __nonnull ((1));\nint z;\n'
)
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
_BROKEN = "int a(void)\n{\n#if X\n    f(;\n#endif\nout:\n    return 1;\n}\n"


@pytest.mark.parametrize(
    "name, text, symbol, position, new_text, after, said",
    [
        ("a.go", _GO, "A", "replace", "func A() {\n}", None, "line 9 (func B() int {)"),
        ("a.go", _GO, "A", "after", "func D() {\n}", None, "line 9 (func B() int {)"),
        ("a.go", _GO, "A", "inside_end", "f()", None, "Use edit_file"),
        ("a.go", _GO, "A", "before", "func D() {\n}",
         _GO.replace("func A", "func D() {\n}\n\nfunc A"), ""),
        ("A.java", _JAVA, "a", "replace", "void a() {\n}", None, "line 6 (void b() {)"),
        ("A.java", _JAVA, "A", "replace", "class A {\n}", "class A {\n}\n", ""),
        ("a.c", _C, "a", "replace", "int a(void);", None, "line 7 (int b(void))"),
        ("a.py", _PY, "C.m", "replace", "def m(self):\n    pass", None, "line 4 (def n(self):)"),
        ("a.py", _PY, "C", "replace", "class C:\n    pass", None, "line 7 (def z(): ...)"),
        ("a.ts", _TS, "m", "replace", "m() {\n}", None, "line 6 (n() {)"),
        ("a.json", '{\n  "a": {\n    "x": 1,\n  "b": 2\n}\n', "a", "replace", '"a": 1', None,
         'line 4 ("b": 2)'),
        ("a.c", _BROKEN, "a", "replace", "int a(void)\n{\n}", "int a(void)\n{\n}\n", ""),
        ("a.py", "def f():\n    x = (1\n\n\ny = 2\n", "f", "replace", "def f():\n    x = 1", None,
         "line 5 (y = 2)"),
        ("a.c", _GNU, "index", "after", "int q(void);", None, 'line 2 (__THROW __asm ("index")'),
        ("a.c", _GNU, "index", "replace", "int q(void);", None, "an unknown word"),
        ("a.c", _GNU, "__nonnull", "replace", "int q(void);", None, "an unknown word"),
        ("a.h", _API_C, "g", "replace", "void g(int);", None, "an unknown word"),
        ("a.c", _GNU, "z", "after", "int q;", _GNU + "int q;\n", ""),
        ("a.h", _MACROS, "name", "replace", "int name() { return 0; }", None,
         "line 5 (virtual ~A() NOTHROW(E);)"),
        ("a.h", _MACROS, "name", "before", "int b();", None, "Where name begins is not certain"),
        ("a.h", _MACROS, "name", "after", "int b();",
         _MACROS.replace("  }\n\npr", "  }\n\n  int b();\n\npr"), ""),
        ("a.py", "A = f 1)\nB = 2\nC = 3\n", "B", "replace", "B = 5", None, "line 1 (A = f 1))"),
        ("a.py", "A = f 1)\nB = 2\nC = 3\n", "C", "replace", "C = 5",
         "A = f 1)\nB = 2\nC = 5\n", ""),
        ("a.py", _TORN, "Null", "replace", "class Null:\n    pass", None, "line 6 (class Null:)"),
        ("a.py", _OPEN, "create", "replace", "def create():\n    pass", None,
         'line 8 ("""Makes."""'),
        ("a.c", "struct S { int a };\n", "S.a", "replace", "int b", "struct S { int b };\n", ""),
        ("a.py", "def f(\n    a,\n):\n    x = = 1\n", "f", "replace", "def f(): ...",
         "def f(): ...\n", ""),
    ],
)  # fmt: skip
def test_a_broken_definition_takes_nothing_with_it(
    name: str, text: str, symbol: str, position: Way, new_text: str, after: str | None, said: str
) -> None:
    check(name, text, symbol, position, new_text, after, said)
    crlf = [one and one.replace("\n", "\r\n") for one in (text, after)]
    if after is None:
        check(name, crlf[0] or "", symbol, position, new_text, None, said)


_HEADS = "#ifdef X\nint f(int a) {\n#else\nint f(void) {\n#endif\n    return 1;\n}\n"
_SPLIT = "static int\n#ifdef X\nf(int a)\n#else\nf(void)\n#endif\n{\n    return 1;\n}\n"
_GUARDED = "namespace n {\n#ifdef X\n    int a;\n#else\n    int b;\n#endif\n}\n"
_BOUNDS = "goes over the bounds of an #if"


@pytest.mark.parametrize(
    "name, text, symbol, position, new_text, after, said",
    [
        ("b.c", _HEADS, "f", "replace", "int f(void) { return 5; }", None, _BOUNDS),
        ("b.c", _HEADS, "f", "inside_end", "g();", None, _BOUNDS),
        ("b.c", _HEADS, "f", "after", "int g;", None, _BOUNDS),
        ("b.c", _SPLIT, "f", "replace", "static int f(void) { return 5; }", None, _BOUNDS),
        ("b.cpp", _GUARDED, "n", "replace", "namespace n {\n}", "namespace n {\n}\n", ""),
        ("b.cpp", _GUARDED, "n", "inside_end", "int c;",
         _GUARDED.replace("#endif\n", "#endif\n    int c;\n"), ""),
        ("b.py", "def f():\n    pass\n#endif\n", "f", "replace", "def f(): ...",
         "def f(): ...\n#endif\n", ""),
    ],
)  # fmt: skip
def test_a_definition_takes_no_part_of_an_if_of_the_preprocessors(
    name: str, text: str, symbol: str, position: Way, new_text: str, after: str | None, said: str
) -> None:
    check(name, text, symbol, position, new_text, after, said)


_CONST = "package p\n\nconst (\n\t// X doc\n\tX = 1\n)\n\nfunc f() {}\n"
_TYPES = "package p\n\ntype (\n\tZ struct {\n\t\ta int\n\t}\n)\n"
_API = "package p\n\ntype E interface {\n\tQ()\n}\n"


@pytest.mark.parametrize(
    "name, text, symbol, position, new_text, after, said",
    [
        ("a.go", _CONST, "X", "replace", "X = 5", _CONST.replace("= 1", "= 5"),
         "The comment above it was kept."),
        ("a.go", _CONST, "X", "replace", "// Five.\nX = 5",
         _CONST.replace("// X doc\n\tX = 1", "// Five.\n\tX = 5"), ""),
        ("a.go", _CONST, "X", "replace", "const X = 5", None, "Leave that word out"),
        ("a.go", _CONST, "X", "after", "Y = 2", _CONST.replace("= 1\n", "= 1\n\n\tY = 2\n"), ""),
        ("a.go", _CONST, "X", "before", "Y = 2",
         _CONST.replace("\t// X", "\tY = 2\n\n\t// X"), ""),
        ("a.go", _CONST, "X", "after", "func g() {}", None, "stands in a group"),
        ("a.go", _CONST, "X", "replace", "var X = 1", None, "use edit_file"),
        ("a.go", _TYPES, "Z", "replace", "Z struct {\n\tb int\n}",
         _TYPES.replace("a int", "b int"), ""),
        ("a.go", "package p\n\nvar (\n\ty = 1\n)\n", "y", "replace", "y = 2",
         "package p\n\nvar (\n\ty = 2\n)\n", ""),
        ("a.go", "package p\n\ntype Z int\n", "Z", "replace", "type Z string",
         "package p\n\ntype Z string\n", ""),
        ("a.go", _API, "E", "inside_end", "T()", _API.replace("Q()\n", "Q()\n\tT()\n"), ""),
        ("a.go", "package p\n\ntype E interface{}\n", "E", "inside_end", "T()",
         "package p\n\ntype E interface{\n\tT()\n}\n", ""),
    ],
)  # fmt: skip
def test_a_group_in_parentheses_stays_around_its_only_entry(
    name: str, text: str, symbol: str, position: Way, new_text: str, after: str | None, said: str
) -> None:
    check(name, text, symbol, position, new_text, after, said)


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
        ("a.ts", "class A {\n  m() {} /* m\n  */\n}\n", "m", "replace", "m() { return; }",
         "class A {\n  m() { return; } /* m\n  */\n}\n", ""),
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


_ENUM = "enum E {\n  A,\n  B // last\n}\n"
_CENUM = "enum E {\n    A, /* a */\n    B /* last */\n};\n"
_STRUCT = "struct S {\n    a: i32,\n    b: i32 // last\n}\n"
_OBJECT = "const o = {\n  a() {},\n  b() {},\n  z: 1,\n};\n"
_LAST = "const o = {\n  a() {},\n  b() {} // b\n};\n"
_JENUM = "enum E {\n    A,\n    B; // b\n\n    int f() {\n        return 1;\n    }\n}\n"
_FIRST = "enum E {\n    A // a\n    , B\n};\n"


@pytest.mark.parametrize(
    "name, text, symbol, position, new_text, after, said",
    [
        ("a.ts", _ENUM, "E", "inside_end", "C", _ENUM.replace("B // last", "B, // last\n  C"), ""),
        ("a.ts", _ENUM, "E.B", "after", "C", _ENUM.replace("B // last", "B, // last\n  C"), ""),
        ("a.ts", _ENUM, "E.B", "after", "C, // new",
         _ENUM.replace("B // last", "B, // last\n  C // new"), ""),
        ("a.ts", _ENUM, "E.A", "after", "C // new", _ENUM.replace("A,", "A,\n  C, // new"), ""),
        ("a.ts", _ENUM, "E.A", "before", "C // new", _ENUM.replace("A,", "C, // new\n  A,"), ""),
        ("a.ts", _ENUM, "E.A", "before", "// new", None, "no entry"),
        ("a.ts", "enum E { A, B }\n", "E.A", "after", "C", None, "shares its line"),
        ("a.ts", "enum E { A, B }\n", "E", "inside_end", "C", None, "shares its line"),
        ("a.c", _CENUM, "E", "inside_end", "C",
         _CENUM.replace("B /* last */", "B, /* last */\n    C"), ""),
        ("a.c", _CENUM.replace(", /* a */", " /* a */,"), "A", "after", "C",
         _CENUM.replace(", /* a */", " /* a */,\n    C,"), ""),
        ("a.c", _FIRST, "A", "after", "C", None, "shares its line"),
        ("a.rs", _STRUCT, "S", "inside_end", "c: i32",
         _STRUCT.replace("b: i32 // last", "b: i32, // last\n    c: i32"), ""),
        ("a.ts", _OBJECT, "a", "after", "c() {}", _OBJECT.replace("a() {},", "a() {},\n  c() {},"),
         ""),
        ("a.ts", _OBJECT, "b", "before", "c() {}", _OBJECT.replace("b()", "c() {},\n  b()"), ""),
        ("a.ts", _LAST, "b", "after", "c() {}", _LAST.replace("{} // b", "{}, // b\n  c() {}"), ""),
        ("a.ts", _OBJECT.replace("const o =", "export default"), "default", "inside_end", "c() {}",
         None, "What follows default.b is no symbol"),
        ("A.java", _JENUM, "E.B", "after", "C", _JENUM.replace("B;", "B,\n    C;"), ""),
        ("A.java", _JENUM, "E.B", "after", "C // c", None, "shares its line"),
    ],
)  # fmt: skip
def test_commas_stand_between_the_entries_of_a_list(
    name: str, text: str, symbol: str, position: Way, new_text: str, after: str | None, said: str
) -> None:
    check(name, text, symbol, position, new_text, after, said)


def test_text_does_not_land_behind_the_neighbour_on_a_line() -> None:
    text = "const a = 1; /* b */ const b = 2;\n"
    check("a.ts", text, "a", "after", "const c = 3;", None, "shares its line")


_CR = "class A {\r  m() { return 1; } // c\r  n() { return 2; }\r}\rfunction z() {}\r"


@pytest.mark.parametrize("position", ["replace", "before", "after", "inside_end"])
@pytest.mark.parametrize("text", [_CR, _CR + "z();\n"], ids=["cr", "mixed"])
def test_a_text_whose_lines_a_cr_alone_ends_is_left_alone(text: str, position: Way) -> None:
    check("a.js", text, "A", position, "q() {}", None, "lines with CR alone")


_JSON = '{\n  "b": {"c": 1},\n  "z": 2\n}\n'


@pytest.mark.parametrize(
    "name, text, symbol, position, new_text, after, said",
    [
        ("a.json", _JSON, "b", "replace", "5", None, 'as "key": value'),
        ("a.json", _JSON, "b", "replace", '{"b": 2}', None, 'as "key": value'),
        ("a.json", _JSON, "b", "replace", '// Why.\n"d": 3',
         _JSON.replace('"b": {"c": 1}', '// Why.\n  "d": 3'), ""),
        ("a.json", _JSON, "b", "after", '{"x": 1}', None, 'as "key": value'),
        ("a.json", _JSON, "b", "inside_end", "[3]", None, 'as "key": value'),
        ("a.json", _JSON, "z", "after", '"x": 1', _JSON.replace("2", '2,\n  "x": 1'), ""),
    ],
)  # fmt: skip
def test_a_value_does_not_take_the_place_of_its_key(
    name: str, text: str, symbol: str, position: Way, new_text: str, after: str | None, said: str
) -> None:
    check(name, text, symbol, position, new_text, after, said)


_USED = "static struct S {\n    int a;\n} s, *t;\n"


@pytest.mark.parametrize(
    "text, position, new_text, after, said",
    [
        (_USED, "after", "struct T { int b; };", None, "shares its line"),
        (_USED, "before", "struct T { int b; };", None, "shares its line"),
        (_USED[7:], "before", "struct T;", f"struct T;\n\n{_USED[7:]}", ""),
        (_USED, "replace", "struct S {\n    int b;\n};", _USED.replace("int a", "int b"), ""),
        ("struct S {\n    int a;\n};\n", "replace", "struct S {\n    int b;\n};",
         "struct S {\n    int b;\n};\n", ""),
        ("struct S {\n    int a;\n};\n", "after", "struct T;",
         "struct S {\n    int a;\n};\n\nstruct T;\n", ""),
    ],
)  # fmt: skip
def test_a_type_inside_of_a_declaration_stays_there(
    text: str, position: Way, new_text: str, after: str | None, said: str
) -> None:
    check("a.c", text, "struct S", position, new_text, after, said)


_NOTED = "enum E {\n  A = 1, // one\n  B // two\n}\n"
_RUST = "enum E {\n    A,\n    B,\n}\n"
_C_ENUM = "enum E {\n    A /* a */,\n    B\n};\n"
_TRAIT = "trait T {\n    fn f(&self);\n}\n"
_HIDES = "could hide what follows"


@pytest.mark.parametrize(
    "name, text, symbol, new_text, after, said",
    [
        ("a.ts", _ENUM, "E.A", "A = 3, // three", _ENUM.replace("A,", "A = 3, // three"), ""),
        ("a.ts", _ENUM, "E.A", "// three", None, "no entry or definition"),
        # A comment behind the new text takes the place of the one that was there.
        ("a.ts", _NOTED, "E.A", "A = 3, // one", _NOTED.replace("1", "3"), ""),
        ("a.ts", _NOTED, "E.A", "A = 3 // three", _NOTED.replace("1, // one", "3, // three"), ""),
        ("a.ts", _NOTED, "E.B", "B = 2", _NOTED.replace("B", "B = 2"), ""),
        ("a.ts", "enum E { A, B }\n", "E.B", "B = 3 // three", None, _HIDES),
        ("a.ts", "enum E { A, B }\n", "E.B", "B = 3,", "enum E { A, B = 3 }\n", ""),
        ("a.js", "const r = 1;\n", "r", "const r = 2 // c", "const r = 2; // c\n", ""),
        ("a.rs", _RUST, "E.A", "A(i32) // new", _RUST.replace("A,", "A(i32), // new"), ""),
        ("a.c", _C_ENUM, "A", "A = 1,", _C_ENUM.replace("A ", "A = 1 "), ""),
        ("a.c", _C_ENUM, "A", "A = 1 // c", None, _HIDES),
        ("a.json", '{"a": 1, "b": 2}\n', "b", '"b": 3,', '{"a": 1, "b": 3}\n', ""),
        ("a.py", "a = 1; b = 2\n", "a", "a = 3  # c", None, _HIDES),
        ("a.py", "a = 1  # a\n", "a", "a = '#'  # a", "a = '#'  # a\n", ""),
        ("a.rs", "pub struct S; // s\n", "S", "struct S {\n    a: i32,\n}",
         "struct S {\n    a: i32,\n} // s\n", ""),
        ("a.rs", "const A: S = S;\n", "A", "const A: S = S { a: 1 }",
         "const A: S = S { a: 1 };\n", ""),
        ("a.rs", _TRAIT, "T.f", "fn f(&self) {}", _TRAIT.replace("f(&self);", "f(&self) {}"), ""),
        ("a.ts", "type T = { a: 1 };\n", "T", "type T = { b: 1 }", "type T = { b: 1 };\n", ""),
        ("a.c", "int f(void);\nint g;\n", "f", "int f(void)\n{\n}", "int f(void)\n{\n}\nint g;\n",
         ""),
        ("a.sh", "f() { :; }; g() { :; }\n", "f", "f() { ls; }", "f() { ls; }; g() { :; }\n", ""),
    ],
)  # fmt: skip
def test_one_separator_stands_behind_a_replaced_definition(
    name: str, text: str, symbol: str, new_text: str, after: str | None, said: str
) -> None:
    check(name, text, symbol, "replace", new_text, after, said)


def test_nothing_is_put_at_the_end_of_a_java_enum_whose_constants_end_before_its_members() -> None:
    check("A.java", _JENUM, "E", "inside_end", "C(3)", None, "Name the constant or member")
