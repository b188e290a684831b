"""Names in a text: how words are used, and where one name occurs."""

from __future__ import annotations

import pytest

from agent_ls.syntax.languages import language_of
from agent_ls.syntax.words import occurrences, uses


def check(file_name: str, text: str, name: str) -> list[tuple[str, bool]]:
    """Return the lines in which a name occurs and whether it is defined there."""
    language = language_of("", file_name)
    assert language is not None
    found = occurrences(text, name, language)
    assert found is not None
    # What occurs is also counted as a use.
    assert not found or name in {one.strip(".(") for one in uses(text, language)}
    lines: list[tuple[str, bool]] = []
    for place, is_definition in found:
        assert text[place : place + len(name)] == name
        lines.append((text[text.rfind("\n", 0, place) + 1 :].partition("\n")[0], is_definition))
    return lines


@pytest.mark.parametrize(
    "file_name, text, name, expected",
    [
        ("a.py", "def run(): pass\n# run\nrun('run')\nrunner.run(); rerun\n'''run'''\n", "run",
         [("def run(): pass", True), ("run('run')", False), ("runner.run(); rerun", False)]),
        ("a.py", "x = 'é'; größe = 1\nprint(f'{größe} größe')\n", "größe",
         [("x = 'é'; größe = 1", True), ("print(f'{größe} größe')", False)]),
        ("a.ts", "const $el = 1;\n// $el\nuse(`${$el} $el`, $element);\n", "$el",
         [("const $el = 1;", True), ("use(`${$el} $el`, $element);", False)]),
        ("a.jsx", "const A = () => <B>A</B>;\n<A x='A' />;\n", "A",
         [("const A = () => <B>A</B>;", True), ("<A x='A' />;", False)]),
        ("a.rs", 'fn go() { println!("go", go()); } /* go /* go */ go */\n', "go",
         [('fn go() { println!("go", go()); } /* go /* go */ go */', one)
          for one in (True, False)]),
        ("a.go", "func (t T) Go() {}\nvar s = `Go` // Go\nfunc f() { T{}.Go() }\n", "Go",
         [("func (t T) Go() {}", True), ("func f() { T{}.Go() }", False)]),
        ("A.java", 'class A { A() {} String s = "A"; /** A */ A a; }\n', "A",
         [('class A { A() {} String s = "A"; /** A */ A a; }', one)
          for one in (True, True, False)]),
        ("a.c", "int size(void);\nchar *s = \"size\";\nint n = sizeof(int) + size();\n", "size",
         [("int size(void);", True), ("int n = sizeof(int) + size();", False)]),
        ("a.cpp", "void A::go() {}\nint main() { A().go(); } // go\n", "go",
         [("void A::go() {}", True), ("int main() { A().go(); } // go", False)]),
        ("a.sh", "go() { :; }\necho 'go' \"$(go)\" # go\ngo\n", "go",
         [("go() { :; }", True), ("echo 'go' \"$(go)\" # go", False), ("go", False)]),
        ("a.py", "", "x", []),
    ],
)  # fmt: skip
def test_a_name_occurs_in_code_and_nowhere_else(
    file_name: str, text: str, name: str, expected: list[tuple[str, bool]]
) -> None:
    assert check(file_name, text, name) == expected


@pytest.mark.parametrize(
    "file_name, text, expected",
    [
        # A quote that does not close on its line opens nothing.
        ("a.py", 'a = "b \\" c" + """d "e" f""" # g\nh(a, \'it\\\'s\', "open\ni)\n',
         {"a": 2, "h(": 1, "open": 1, "i": 1}),
        ("a.py", "a.b.c(d) + e (f)\n", {"a": 1, ".b": 1, ".c(": 1, "d": 1, "e(": 1, "f": 1}),
        ("a.cpp", "a->b(); c::d; e::f(); // g\n",
         {"a": 1, ".b(": 1, "c": 1, ".d": 1, "e": 1, ".f(": 1}),
        ("a.js", "$a(/* b\n */ `c\nd`, 'e'); größe\n", {"größe": 1, "$a(": 1}),
        ("a.sh", "a 'b' \"c\" # d\n", {"a": 1}),
    ],
)  # fmt: skip
def test_uses_leave_strings_and_comments_out(
    file_name: str, text: str, expected: dict[str, int]
) -> None:
    language = language_of("", file_name)
    assert language is not None
    assert uses(text, language) == expected


def test_a_text_above_the_limit_is_left_to_whoever_may_take_long() -> None:
    python = language_of("python")
    assert python is not None
    assert occurrences("x = 1\n", "x", python, max_bytes=3) is None
