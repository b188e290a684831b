"""Symbols of a text replaced, and text put about them, as the tools do it."""

from __future__ import annotations

from typing import Literal

import pytest

from agent_ls.domain.errors import ToolError
from agent_ls.domain.symbols import Symbol
from agent_ls.syntax.languages import language_of
from agent_ls.syntax.naming import resolve
from agent_ls.syntax.outline import outline_of
from agent_ls.tools.symbol_edits import Position, inserted, replaced

Way = Position | Literal["replace"]


def check(
    name: str, text: str, wanted: str, position: Way, new_text: str, after: str | None, said: str
) -> None:
    """Replace a symbol, or put text somewhere about it; assert the text and what is said."""
    language = language_of("", name)
    assert language is not None
    language, symbols = outline_of(text, language)
    assert symbols is not None
    symbol = resolve(symbols, wanted)
    assert isinstance(symbol, Symbol)

    def act() -> tuple[str, list[str]]:
        if position == "replace":
            return replaced(text, symbol, new_text, language)
        return inserted(text, symbols, symbol, position, new_text, language), []

    if after is None:
        with pytest.raises(ToolError) as refused:
            act()
        assert said in refused.value.text
    else:
        found, notes = act()
        assert found == after
        assert " ".join(notes) == said
