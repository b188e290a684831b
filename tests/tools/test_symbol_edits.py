"""Symbols in real code: what is put back as it was changes nothing, wherever it stands."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from agent_ls.domain.symbols import Symbol
from agent_ls.syntax.languages import Language, language_of
from agent_ls.syntax.naming import NotOne, called, resolve
from agent_ls.syntax.outline import outline_of
from agent_ls.tools.symbol_edits import inserted, replaced
from tests.support.archive import read_archive

_REPOSITORY = Path(__file__).parents[2]
_OWN = [
    "agent_ls/loop/machine/machine.py",
    "agent_ls/edits/search_replace.py", "agent_ls/domain/events.py",
    "tests/tools/test_symbols.py", "vscode-client/src/extension.ts", "vscode-client/src/panel.ts",
    "vscode-client/package.json", "scripts/lock.sh",
]  # fmt: skip


def _texts() -> dict[str, str]:
    found = {
        name: (_REPOSITORY / name).read_text("utf-8")
        for name in _OWN
        if (_REPOSITORY / name).exists()
    }
    for path in sorted((_REPOSITORY / "tests/syntax/outlines").glob("*.txt")):
        found |= read_archive(path).below("file")
    return found


_TEXTS = _texts()


def check(name: str, text: str) -> tuple[Language, list[Symbol]]:
    """Return the language and the symbols of a text."""
    language = language_of("", name)
    assert language is not None
    _, symbols = outline_of(text, language)
    assert symbols
    return language, symbols


@pytest.mark.parametrize("name", _TEXTS)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_a_definition_replaced_by_itself_changes_nothing(name: str, end: str) -> None:
    text = _TEXTS[name]
    language, symbols = check(name, text)
    for one in symbols:
        own = text[one.start : one.end]
        assert replaced(text, one, own, language)[0] == text, one
        # As a model gives it that has read the lines, and as one that writes it at the margin.
        begin = text.rfind("\n", 0, one.start) + 1
        if not text[begin : one.start].strip():
            whole = text[begin : one.end]
            assert replaced(text, one, whole.replace("\n", end), language)[0] == text, one
            if '"""' not in own and "`" not in own:
                assert replaced(text, one, dedent(whole), language)[0] == text, one


@pytest.mark.parametrize("name", _TEXTS)
def test_each_symbol_can_be_asked_for_by_a_name_of_its_own(name: str) -> None:
    _, symbols = check(name, _TEXTS[name])
    for one in symbols:
        found = resolve(symbols, one.qualified)
        if isinstance(found, NotOne):
            names = [called(each, n) for n, each in enumerate(found.candidates, 1)]
            meant = [resolve(symbols, each) for each in names]
            assert meant == list(found.candidates)
            if one not in found.candidates:
                # Something around it has the same name.
                assert any(up.start <= one.start and one.end <= up.end for up in symbols)


@pytest.mark.parametrize("position", ["before", "after"])
@pytest.mark.parametrize("name", [name for name in _TEXTS if name.endswith((".py", ".ts"))])
def test_what_is_inserted_beside_a_definition_is_found_there(name: str, position: str) -> None:
    text = _TEXTS[name]
    language, symbols = check(name, text)
    new = "def zz_new():\n    return 1" if name.endswith(".py") else "function zzNew() {}"
    for number, one in enumerate(symbols):
        if one.kind not in ("function", "class") or one.depth or number % 5:
            continue
        after = inserted(text, symbols, one, position, new, language)  # type: ignore[arg-type]
        _, now = check(name, after)
        (added,) = [each for each in now if each.name in ("zz_new", "zzNew")]
        assert added.depth == 0
        others = [(each.qualified, each.kind) for each in now if each is not added]
        assert others == [(each.qualified, each.kind) for each in symbols]
        assert len(after) - len(text) < len(new) + 8
        level = [each.qualified for each in now if each.depth == 0]
        shift = 1 if position == "before" else -1
        assert level[level.index(added.qualified) + shift] == one.qualified
