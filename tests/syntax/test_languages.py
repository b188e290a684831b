"""The language data: every row can be used, and names and ids lead to the right row."""

from __future__ import annotations

import importlib

import pytest

from agent_ls.syntax.languages import Language, language_of, languages
from agent_ls.syntax.parsing import MAX_PARSED_BYTES, parse, parse_shell, shell_captures


def check(language_id: str, file_name: str, expected: str | None) -> None:
    """Assert which language an id and a name stand for."""
    found = language_of(language_id, file_name)
    assert (found.id if found else None) == expected


@pytest.mark.parametrize(
    "language_id, file_name, expected",
    [
        ("python", "", "python"),
        ("", "src/app.PY", "python"),
        ("", "C:\\src\\app.py", "python"),
        ("sh", "", "shellscript"),
        ("BASH", "", "shellscript"),
        ("", "Makefile", "makefile"),
        ("", "tsconfig.json", "jsonc"),
        ("", "tsconfig.build.json", "jsonc"),
        ("", "package.json", "json"),
        ("", "a.tsx", "typescriptreact"),
        ("typescriptreact", "a.ts", "typescriptreact"),
        ("", "Dockerfile", "dockerfile"),
        ("", "Dockerfile.dev", "dockerfile"),
        ("", "requirements-dev.txt", "requirements"),
        ("plaintext", "notes.py", "python"),
        ("plaintext", "notes", "plaintext"),
        ("some-new-language", "a.rs", "rust"),
        ("some-new-language", "a.zzz", None),
        ("", "", None),
        ("", "...", None),
    ],
)
def test_ids_and_names_lead_to_the_language(
    language_id: str, file_name: str, expected: str | None
) -> None:
    check(language_id, file_name, expected)


@pytest.mark.parametrize("language", languages(), ids=lambda one: one.id)
def test_each_row_finds_itself_and_has_usable_syntax(language: Language) -> None:
    check(language.id, "", language.id)
    assert len(language.escape) <= 1
    assert language.comment_at in ("anywhere", "word", "line")
    for token in (*language.line, *(part for block in language.block for part in block)):
        assert token
        assert token == token.lower()
    assert all(len(one) == 2 or one[2] == "nested" for one in language.block)


@pytest.mark.parametrize(
    "language", [one for one in languages() if one.wheel], ids=lambda one: one.id
)
def test_each_named_wheel_loads_and_parses(language: Language) -> None:
    assert callable(getattr(importlib.import_module(language.wheel), language.function))
    assert parse(b"\n", language) is not None


def test_an_alias_names_one_language_only() -> None:
    names = [name for one in languages() for name in (one.id, *one.aliases)]
    assert sorted(names) == sorted(set(names))


def test_a_text_above_the_limit_is_not_parsed() -> None:
    assert parse_shell(b"#" * MAX_PARSED_BYTES) is not None
    assert parse_shell(b"#" * (MAX_PARSED_BYTES + 1)) is None


def test_the_shell_query_finds_commands_wherever_they_stand() -> None:
    tree = parse_shell(b"a $(b) | (c; d) > x; f() { e; }; [ -f y ]; export Z=`g`")
    assert tree is not None
    captures = shell_captures(tree.root_node)
    names = {node.text.split()[0].decode() for node in captures["command"] if node.text}
    assert names == {"a", "b", "c", "d", "e", "g"}
    assert {name for name, nodes in captures.items() if nodes} == {
        "command",
        "redirect",
        "function",
        "test",
        "declaration",
    }
