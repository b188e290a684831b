"""Instruction comments: found in every language, in comments only, with exact spans."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.syntax.comments import find_instructions
from agent_ls.syntax.languages import Language, language_of, languages
from agent_ls.syntax.parsing import MAX_PARSED_BYTES


def check(text: str, file_name: str, expected: list[str], marker: str = "agent:") -> None:
    """Assert the prompts found, and that each span holds exactly its comment."""
    found = find_instructions(text, file_name=file_name, marker=marker)
    assert [one.prompt for one in found] == expected
    for one in found:
        assert marker.lower() in text[one.start : one.end].lower()
        assert text[: one.start].count("\n") == one.line
        assert not text[one.start].isspace()
        assert not text[one.end - 1].isspace() or one.prompt == ""


@pytest.mark.parametrize(
    "file_name, text, expected",
    [
        pytest.param("a.py", "# agent: make this async", ["make this async"], id="whole-line"),
        pytest.param("a.py", "x = 1  # agent: rename\r\n", ["rename"], id="after-code-and-crlf"),
        pytest.param("a.py", "#agent:now", ["now"], id="without-blanks"),
        pytest.param("a.py", "## AGENT: Loud", ["Loud"], id="any-case-and-decoration"),
        pytest.param("a.py", "# agent:\n", [], id="nothing-asked-yet"),
        pytest.param("a.py", "# the agent: is not addressed", [], id="marker-not-first"),
        pytest.param("a.py", "# agents: no", [], id="another-word"),
        pytest.param("a.py", "x = '# agent: in a string'", [], id="string"),
        pytest.param("a.py", '"""\n# agent: in a docstring\n"""', [], id="docstring"),
        pytest.param("a.py", "f'{x}# agent: no' # agent: yes", ["yes"], id="f-string"),
        pytest.param("a.py", "# agent: one\n# plain\n# agent: two", ["one", "two"], id="several"),
        pytest.param("a.py", "# agent: a\n#   b\n#   c\n# d", ["a\nb\nc"], id="goes-on-deeper"),
        pytest.param("a.py", "# agent:\n#   b\n", ["b"], id="asked-below-the-marker"),
        pytest.param("a.py", "# agent: a\n\n#   b\n", ["a"], id="blank-line-ends-it"),
        pytest.param("a.py", "# agent: a\n  #   b\n", ["a"], id="other-column-ends-it"),
        pytest.param("a.py", "x = (  # agent: open\n", ["open"], id="broken-code"),
        pytest.param("a.py", "é = '😀'  # agent: ünï 😀\n", ["ünï 😀"], id="wide-characters"),
        pytest.param("a.py", "\ufeff# agent: after a bom", ["after a bom"], id="bom"),
        pytest.param("a.js", "/* agent: a\n * b\n */", ["a\nb"], id="block-with-stars"),
        pytest.param("a.js", "/** agent: doc */ f()", ["doc"], id="doc-block"),
        pytest.param("a.js", "let s = `// agent: no`", [], id="template"),
        pytest.param("a.js", "let r = /\\/\\* agent: no/", [], id="regex"),
        pytest.param("a.js", "// agent: a\n/* agent: b */", ["a", "b"], id="both-kinds"),
        pytest.param("a.ts", "/// agent: three", ["three"], id="three-slashes"),
        pytest.param("a.tsx", "<a>{/* agent: jsx */}</a>", ["jsx"], id="jsx"),
        pytest.param("a.rs", "//! agent: inner\n", ["inner"], id="rust-inner-doc"),
        pytest.param("a.rs", "/* a /* agent: no */ b */", [], id="rust-nested-block"),
        pytest.param("a.rs", 'r#"// agent: no"#', [], id="rust-raw-string"),
        pytest.param("a.go", "x := `// agent: no` // agent: yes", ["yes"], id="go-raw-string"),
        pytest.param("a.c", 'char *s = "/* agent: no */"; // agent: yes', ["yes"], id="c"),
        pytest.param("a.sh", "echo a#agent: no # agent: yes", ["yes"], id="shell-word"),
        pytest.param("a.sh", "cat <<E\n# agent: no\nE\n# agent: yes", ["yes"], id="heredoc"),
        pytest.param("a.jsonc", '{"a": "// agent: no"} // agent: yes', ["yes"], id="jsonc"),
        pytest.param("a.sql", "select 'it''s -- agent: no' -- agent: yes", ["yes"], id="sql"),
        pytest.param("a.lua", 's = "-- agent: no" --[[ agent: yes ]]', ["yes"], id="lua-block"),
        pytest.param("a.html", "<p>it's</p><!-- agent: yes -->", ["yes"], id="html"),
        pytest.param(
            "a.vue", "<!-- agent: a -->\n// agent: b\n/* agent: c */", list("abc"), id="vue"
        ),
        pytest.param("a.yaml", "k: it's # agent: yes", ["yes"], id="apostrophe-in-yaml"),
        pytest.param("a.yaml", "k: a#agent: no", [], id="no-blank-before-in-yaml"),
        pytest.param("a.hs", "f' x = x -- agent: yes", ["yes"], id="prime-in-haskell"),
        pytest.param(
            "a.ml",
            "let c = '\"' (* agent: yes (* deep *) more *)",
            ["yes (* deep *) more"],
            id="ml",
        ),
        pytest.param("a.ml", 'let s = "(* agent: no *)"', [], id="string-in-ml"),
        pytest.param("a.el", '(a "; agent: no") ;; agent: yes', ["yes"], id="elisp"),
        pytest.param("a.vim", 'let a = 1\n" agent: yes', ["yes"], id="vim"),
        pytest.param("a.vim", 'echo 1 " agent: no', [], id="vim-only-at-line-start"),
        pytest.param("a.bat", "REM agent: yes\r\n:: agent: too\r\n", ["yes", "too"], id="bat"),
        pytest.param("a.kt", "/* agent: a /* b */ c */", ["a /* b */ c"], id="kotlin-nested"),
        pytest.param("a.php", "# agent: a\n// agent: b", ["a", "b"], id="two-line-comment-kinds"),
        pytest.param("a.swift", '"""\n// agent: no\n""" // agent: yes', ["yes"], id="swift"),
        pytest.param("a.ex", 's = "a \\" # agent: no" # agent: yes', ["yes"], id="escaped-quote"),
        pytest.param("a.toml", "a = 'c:\\' # agent: yes", ["yes"], id="quote-that-never-closes"),
        pytest.param("a.md", "<!-- agent: yes -->", ["yes"], id="markdown"),
        pytest.param("a.txt", "# agent: no", [], id="text-has-no-comments"),
        pytest.param("a.zzz", "# agent: no", [], id="unknown-language"),
        pytest.param("a.css", "/* agent: never closed", [], id="unclosed-block"),
        pytest.param(
            "a.py", "# agent: lone \ud83d half", ["lone \ud83d half"], id="lone-surrogate"
        ),
    ],
)
def test_instructions_are_found_in_comments_only(
    file_name: str, text: str, expected: list[str]
) -> None:
    check(text, file_name, expected)


@pytest.mark.parametrize(
    "language", [one for one in languages() if one.has_comments], ids=lambda one: one.id
)
def test_every_language_can_address_the_agent(language: Language) -> None:
    forms = [f"{opener} agent: do it" for opener in language.line]
    forms += [f"{block[0]} agent: do it {block[1]}" for block in language.block]
    for form in forms:
        found = find_instructions(f"\n{form}\n", language_id=language.id)
        assert [one.prompt for one in found] == ["do it"], form


def test_the_marker_can_be_another() -> None:
    check("# ai! do it\n# agent: not this", "a.py", ["do it"], marker="ai!")


def test_a_text_too_large_to_parse_is_scanned() -> None:
    filler = "x = '# agent: no'\n" * (MAX_PARSED_BYTES // 18 + 1)
    check(filler + "# agent: yes", "a.py", ["yes"])


_HOSTILE = {
    "a.ml": "(* " * 50_000,
    "a.lua": "[[" * 50_000 + "--[[",
    "a.ex": '"""' + '\\"' * 50_000,
    "a.hs": '"' + "\\" * 100_000,
    "a.sql": "'" * 100_001,
    "a.kt": "/*" * 50_000 + "*/" * 10,
    "a.d": "`" + "'\n" * 50_000,
    "a.py": "(" * 100_000,
}


@pytest.mark.parametrize("file_name", _HOSTILE)
@pytest.mark.timeout(10)
def test_hostile_texts_take_no_quadratic_time(file_name: str) -> None:
    check("agent: " + _HOSTILE[file_name], file_name, [])


@given(st.text(alphabet="#/*'\"\\\n\r agent:x(){}-`é😀[]<!>", max_size=200), st.data())
def test_any_text_gives_ordered_spans_inside_it(text: str, data: st.DataObject) -> None:
    language = data.draw(st.sampled_from([one.id for one in languages()]))
    at = -1
    for one in find_instructions(text, language_id=language, marker="a"):
        assert at < one.start < one.end <= len(text)
        assert one.prompt.strip()
        at = one.end - 1


def test_a_known_id_without_comments_does_not_hide_the_file_name() -> None:
    found = language_of("plaintext", "x.py")
    assert found is not None
    assert found.has_comments
