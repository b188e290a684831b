"""Headers, whose names leave open whether they are C or C++: the text says it, to all alike."""

from __future__ import annotations

import pytest

from agent_ls.codeintel.tags import tags_of
from agent_ls.syntax.choosing import parsed
from agent_ls.syntax.comments import find_instructions
from agent_ls.syntax.faults import new_faults
from agent_ls.syntax.languages import language_of
from agent_ls.syntax.outline import outline_of
from agent_ls.syntax.words import occurrences

_ROW = (
    "struct Row {\n  Row(int a) : a(a) {}\n  bool empty() const { return a == 0; }\n"
    "  void reset() { a = 0; }\n  int a;\n};\n"
)
_GUARDED = (
    '#ifdef __cplusplus\nextern "C" {\n#endif\n\nint f(int new);\n\n#ifdef __cplusplus\n}\n#endif\n'
)


def check(text: str, expected: str, file_name: str = "a.h") -> None:
    """Assert which language a text is in."""
    language = language_of("", file_name)
    assert language is not None
    assert parsed(text.encode(), language)[0].id == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        pytest.param("struct a { int b; };\nint f(struct a *a);\n", "c", id="both-could-be"),
        pytest.param("", "c", id="nothing"),
        pytest.param(_ROW, "cpp", id="it-parses-as-the-other-alone"),
        pytest.param(f"/*\n class of row\n*/\n{_ROW}", "cpp", id="it-parses-behind-a-comment"),
        pytest.param("class A;\nvoid f(A *a);\n", "cpp", id="a-class-that-c-takes-for-a-variable"),
        pytest.param("namespace a {\nint f();\n}\n", "cpp", id="namespace"),
        pytest.param("using A = int *;\n", "cpp", id="using"),
        pytest.param("class A {\npublic:\n  void f( ;\n};\n", "cpp", id="a-class-with-a-fault"),
        pytest.param("int f(int class, int *new);\n", "c", id="words-of-c-that-the-other-lacks"),
        pytest.param("struct a {\n  int b;\nint f(void);\n", "c", id="c-with-a-fault"),
        pytest.param("/* The\nclass A {\npublic:\n*/\nint a;\n", "c", id="in-a-comment"),
        pytest.param('#define A "\\\nclass A {"\nint a;\n', "c", id="in-a-string"),
        pytest.param("#define A \\\n  class A {\nint a;\n", "c", id="in-a-macro"),
        pytest.param("class foo;\nint f(int this, int operator);\n", "c",
                     id="a-type-of-that-name-in-what-is-c-alone"),
        pytest.param(_GUARDED, "c", id="extern-c"),
        pytest.param(f"{_GUARDED}class A {{\n  int b;\n}};\n", "cpp", id="behind-that-part"),
        pytest.param("#if __cplusplus > 201103L\nclass A {\n};\n#endif\n", "cpp",
                     id="a-part-for-a-newer-one"),
    ],
)  # fmt: skip
def test_a_header_is_in_the_language_that_its_text_shows(text: str, expected: str) -> None:
    check(text, expected)
    check(text.replace("\n", "\r\n"), expected)
    check(text, expected, "src/A.H")
    check(text, "c", "a.c")
    check(text, "cpp", "a.hpp")


def test_an_id_that_leaves_it_open_too_hides_nothing() -> None:
    for language_id, expected in [("c", "cpp"), ("cpp", "cpp"), ("plaintext", "cpp")]:
        language = language_of(language_id, "a.h")
        assert language is not None
        assert parsed(_ROW.encode(), language)[0].id == expected


def test_a_text_above_the_limit_is_what_its_name_says() -> None:
    language = language_of("", "a.h")
    assert language is not None
    found, tree = parsed(b"class A {\n};\n", language, max_bytes=5)
    assert (found.id, tree) == ("c", None)


def test_whoever_parses_takes_it_for_the_same() -> None:
    header, cpp = language_of("", "a.h"), language_of("", "a.hpp")
    assert header is not None
    assert cpp is not None
    assert outline_of(_ROW, header) == outline_of(_ROW, cpp)
    assert tags_of(_ROW.encode(), header) == tags_of(_ROW.encode(), cpp)
    assert occurrences(_ROW, "empty", header) == occurrences(_ROW, "empty", cpp)
    raw = f'{_ROW}auto a = R"(\n// agent: no\n)";\n// agent: yes\n'
    for name in ("a.h", "a.hpp"):
        assert [one.prompt for one in find_instructions(raw, file_name=name)] == ["yes"]


@pytest.mark.parametrize(
    "before, after, lines",
    [
        pytest.param(_ROW, _ROW.replace("empty", "is_empty"), [], id="good"),
        pytest.param(_ROW, _ROW.replace("a == 0", "a =="), [3], id="one-more"),
        pytest.param("int a;\n", f"int a;\n{_ROW}", [], id="the-first-that-c-has-not"),
        pytest.param(_ROW, "int new;\n", [], id="none-is-left"),
        pytest.param("int new;\n", "int new;\nint b = ;\n", [2], id="c"),
    ],
)
def test_both_texts_of_an_edit_are_judged_in_one_language(
    before: str, after: str, lines: list[int]
) -> None:
    header = language_of("", "a.h")
    assert header is not None
    assert [one.line for one in new_faults(before, after, header)] == lines
