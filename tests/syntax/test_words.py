"""Names in a text: which words count, and where one name occurs."""

from __future__ import annotations

import pytest

from agent_ls.syntax.languages import language_of
from agent_ls.syntax.words import occurrences, words


def check(file_name: str, text: str, name: str) -> list[tuple[str, bool]]:
    """Return the lines in which a name occurs and whether it is defined there."""
    language = language_of("", file_name)
    assert language is not None
    found = occurrences(text, name, language)
    assert found is not None
    # What occurs is also counted as a word, save where a string holds code.
    if found and "`" not in text and "{" not in name:
        assert name in words(text, language) or '"$' in text or "f'" in text
    lines = []
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
         [('fn go() { println!("go", go()); } /* go /* go */ go */', True)] +
         [('fn go() { println!("go", go()); } /* go /* go */ go */', False)]),
        ("a.go", "func (t T) Go() {}\nvar s = `Go` // Go\nfunc f() { T{}.Go() }\n", "Go",
         [("func (t T) Go() {}", True), ("func f() { T{}.Go() }", False)]),
        ("A.java", 'class A { A() {} String s = "A"; /** A */ A a; }\n', "A",
         [('class A { A() {} String s = "A"; /** A */ A a; }', True)] * 2 +
         [('class A { A() {} String s = "A"; /** A */ A a; }', False)]),
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


def test_words_leave_strings_and_comments_out() -> None:
    python = language_of("python")
    assert python is not None
    text = 'a = "b \\" c" + """d "e" f""" # g\nh(a, \'it\\\'s\', "open\ni)\n'
    # A quote that does not close on its line opens nothing.
    assert words(text, python) == {"a": 2, "h": 1, "open": 1, "i": 1}


def test_a_text_above_the_limit_is_left_to_whoever_may_take_long() -> None:
    python = language_of("python")
    assert python is not None
    assert occurrences("x = 1\n", "x", python, max_bytes=3) is None
