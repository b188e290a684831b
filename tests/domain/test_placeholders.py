"""How the words behind a command are split."""

from __future__ import annotations

import pytest

from agent_ls.domain.placeholders import words_and_rest


@pytest.mark.parametrize(
    "arguments, most, words",
    [
        ("", 2, []),
        ("  a.py  ", 2, ["a.py"]),
        ("'a b.py' long 'x y'", 3, ["a b.py", "long", "x y"]),
        ("'a b.py' long 'x y'", 2, ["a b.py", "long 'x y'"]),
        ('"a b".py "for my"  peace', 2, ["a b.py", '"for my"  peace']),
        ('a.py ""', 2, ["a.py", ""]),
        ("a.py don't break it", 2, ["a.py", "don't break it"]),
        ("don't break it", 2, ["don't", "break it"]),
        ("one two", 1, ["one two"]),
        ("'one two'", 1, ["one two"]),
        ("a#b #c", 2, ["a#b", "#c"]),
        (r"a\ b c", 2, ["a b", "c"]),
    ],
)
def test_quotes_hold_words_together(arguments: str, most: int, words: list[str]) -> None:
    assert words_and_rest(arguments, most) == words
