"""Commas and semicolons behind replaced definitions: none is lost, hidden, doubled or left over."""

from __future__ import annotations

import pytest

from tests.support.symbol_changes import check

_ENUM = "enum E {\n  A = 1,\n  B,\n}\n"
_NOTED = "enum E {\n  A = 1, // one\n  B // two\n}\n"
_OBJECT = "const o = {\n  f() { return 1 },\n  g() { return 2 },\n};\n"
_RUST = "enum E {\n    A,\n    B,\n}\n"
_C = "enum E {\n    A /* a */,\n    B\n};\n"
_FIRST = "enum E {\n    A // a\n    , B\n};\n"
_JAVA = "enum E {\n    A(1),\n    B(2); // b\n\n    E(int x) {}\n}\n"
_JSON = '{\n  "a": 1, // one\n  "b": 2\n}\n'
_GO = "package p\n\nfunc A() {}; func B() {}\n"
_HIDES = "which the comment behind the text could hide"


@pytest.mark.parametrize(
    "name, text, symbol, new_text, after, said",
    [
        ("a.ts", _ENUM, "E.A", "A = 3 // three", _ENUM.replace("1,", "3, // three"), ""),
        ("a.ts", _ENUM, "E.A", "A = 3, // three", _ENUM.replace("1,", "3, // three"), ""),
        ("a.tsx", _ENUM, "E.B", "B /* b */", _ENUM.replace("B,", "B, /* b */"), ""),
        ("a.ts", _ENUM, "E.A", "A = '//'", _ENUM.replace("1", "'//'"), ""),
        ("a.ts", _ENUM, "E.A", "// three", None, "no entry or definition"),
        # A comment that the place has already is not repeated; another one stays there.
        ("a.ts", _NOTED, "E.A", "A = 3, // one", _NOTED.replace("1", "3"), ""),
        ("a.ts", _NOTED, "E.A", "A = 3 // three", _NOTED.replace("1,", "3, // three"), ""),
        ("a.ts", _NOTED, "E.B", "B = 2, // two", _NOTED.replace("B", "B = 2"), ""),
        ("a.ts", "enum E { A, B }\n", "E.A", "A = 3 // three", None, _HIDES),
        ("a.ts", "enum E { A, B }\n", "E.B", "B = 3 // three", None, _HIDES),
        ("a.ts", "enum E { A, B }\n", "E.B", "B = 3,", "enum E { A, B = 3 }\n", ""),
        ("a.js", _OBJECT, "f", "f() { return 3 } // new",
         _OBJECT.replace("1 },", "3 }, // new"), ""),
        ("a.js", _OBJECT, "f", "f() { return 3 };", _OBJECT.replace("1", "3"), ""),
        ("a.js", "const r = /x/;\n", "r", "const r = /y\\//", "const r = /y\\//;\n", ""),
        ("a.js", "const r = 1;\n", "r", "const r = 2 // c", "const r = 2; // c\n", ""),
        ("a.js", "let r = 1; let s;\n", "r", "let r = 2 // c", None, _HIDES),
        ("a.rs", _RUST, "E.A", "A(i32) // new", _RUST.replace("A,", "A(i32), // new"), ""),
        ("a.rs", "struct S {\n    a: i32, // a\n}\n", "S.a", "a: i64, // b",
         "struct S {\n    a: i64, // b // a\n}\n", ""),
        ("a.c", _C, "A", "A = 1,", _C.replace("A ", "A = 1 "), ""),
        ("a.c", _C, "A", "A = 1 // c", _C.replace("A /* a */,", "A = 1 /* a */, // c"), ""),
        ("a.cpp", _FIRST, "A", "A = 1, // c", _FIRST.replace("A //", "A = 1 // c //"), ""),
        ("a.cpp", "class A {\n    int a;\n};\n", "A.a", "int b // b",
         "class A {\n    int b; // b\n};\n", ""),
        ("A.java", _JAVA, "E.A", "A(3), // a", _JAVA.replace("A(1),", "A(3), // a"), ""),
        ("A.java", _JAVA, "E.B", "B(3), // b", _JAVA.replace("B(2)", "B(3)"), ""),
        ("A.java", _JAVA, "E.B", "B(3);", _JAVA.replace("B(2)", "B(3)"), ""),
        ("a.jsonc", _JSON, "a", '"a": 3 // three', _JSON.replace("1,", "3, // three"), ""),
        ("a.jsonc", _JSON, "a", "3, // one", _JSON.replace("1", "3"), "Its key was kept."),
        ("a.json", '{"a": 1, "b": 2}\n', "b", '"b": 3,', '{"a": 1, "b": 3}\n', ""),
        ("a.go", _GO, "A", "func A() {} // new", None, _HIDES),
        ("a.go", _GO, "A", "func A() { B() }", _GO.replace("A() {", "A() { B() "), ""),
        ("a.py", "a = 1; b = 2\n", "a", "a = 3  # c", None, _HIDES),
        ("a.py", "a = 1  # a\n", "a", "a = '#'  # a", "a = '#'  # a\n", ""),
        ("a.sh", "f() { :; }; g() { :; }\n", "f", "f() { ls; } # c", None, _HIDES),
    ],
)  # fmt: skip
def test_one_separator_stands_before_the_comments(
    name: str, text: str, symbol: str, new_text: str, after: str | None, said: str
) -> None:
    check(name, text, symbol, "replace", new_text, after, said)


_TRAIT = "trait T {\n    fn f(&self);\n}\n"
_FACE = "interface A {\n    int f();\n}\n"
_ABSTRACT = "abstract class A {\n  abstract f(): void;\n}\n"
_CLASS = "class A {\n    int f();\n};\n"
_BODY = " {\n    int a;\n}"


@pytest.mark.parametrize(
    "name, text, symbol, new_text, after",
    [
        ("a.rs", "pub struct S; // s\n", "S", "struct S {\n    a: i32,\n}",
         "struct S {\n    a: i32,\n} // s\n"),
        ("a.rs", "struct S; fn g() {}\n", "S", "struct S {}", "struct S {} fn g() {}\n"),
        ("a.rs", "struct S {}\n", "S", "struct S(i32);", "struct S(i32);\n"),
        ("a.rs", "mod a;\n", "a", "mod a {} // why", "mod a {} // why\n"),
        ("a.rs", "const A: S = S;\n", "A", "const A: S = S { a: 1 }",
         "const A: S = S { a: 1 };\n"),
        ("a.rs", _TRAIT, "T.f", "fn f(&self) {}", _TRAIT.replace("f(&self);", "f(&self) {}")),
        ("A.java", _FACE, "A.f", "default int f() { return 1; }",
         _FACE.replace("int f();", "default int f() { return 1; }")),
        ("A.java", "class A {\n    int[] a;\n}\n", "a", "int[] a = {1}",
         "class A {\n    int[] a = {1};\n}\n"),
        ("A.java", "class A {\n    int a;\n}\n", "a", "A(int b) {}",
         "class A {\n    A(int b) {}\n}\n"),
        ("a.ts", _ABSTRACT, "A.f", "f(): void {}", _ABSTRACT.replace("abstract f(): void;",
                                                                  "f(): void {}")),
        ("a.ts", _ABSTRACT, "A.f", "abstract f(): {a: 1}", _ABSTRACT.replace("void", "{a: 1}")),
        ("a.ts", "type T = { a: 1 };\n", "T", "interface T { a: 1 }", "interface T { a: 1 }\n"),
        ("a.ts", "type T = { a: 1 };\n", "T", "type T = { b: 1 }", "type T = { b: 1 };\n"),
        ("a.tsx", "const f = () => 1;\n", "f", "function f() { return 1 }",
         "function f() { return 1 }\n"),
        ("a.js", "const f = 1;\n", "f", "const f = function () {}", "const f = function () {};\n"),
        ("a.js", "class A {\n  f = 1;\n}\n", "A.f", "async f() {}",
         "class A {\n  async f() {}\n}\n"),
        ("a.js", "class A {};\n", "A", "class A { f() {} };", "class A { f() {} };\n"),
        ("a.c", "int f(void);\nint g;\n", "f", "int f(void)\n{\n}", "int f(void)\n{\n}\nint g;\n"),
        ("a.c", "int S;\n", "S", f"struct S{_BODY}", f"struct S{_BODY};\n"),
        ("a.c", "int a[1];\n", "a", "int a[] = {1}", "int a[] = {1};\n"),
        ("a.cpp", _CLASS, "A.f", "int f() const { return 1; }",
         _CLASS.replace("f();", "f() const { return 1; }")),
        ("a.cpp", "int A;\n", "A", f"class A{_BODY}", f"class A{_BODY};\n"),
        # Where lines end statements a semicolon parts what shares one.
        ("a.go", _GO, "A", "func A() { B() }", _GO.replace("A() {", "A() { B() ")),
        ("a.sh", "f() { :; }; g() { :; }\n", "f", "f() { ls; }", "f() { ls; }; g() { :; }\n"),
    ],
)  # fmt: skip
def test_a_semicolon_stands_where_the_new_text_needs_it(
    name: str, text: str, symbol: str, new_text: str, after: str
) -> None:
    check(name, text, symbol, "replace", new_text, after, "")


def test_nothing_is_put_at_the_end_of_a_java_enum_whose_constants_end_before_its_members() -> None:
    check("A.java", _JAVA, "E", "inside_end", "C(3)", None, "Name the constant or member")
