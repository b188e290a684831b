"""The JSON object in what a model says, and the values that are taken from it."""

from __future__ import annotations

import pytest

from agent_ls.domain.json_answers import first_object, texts_of


@pytest.mark.parametrize(
    "text, expected",
    [
        pytest.param('{"a": 1}', {"a": 1}, id="plain"),
        pytest.param('  {"a": 1}  and more', {"a": 1}, id="words-behind"),
        pytest.param('Well:\n```json\n{"a": 1}\n```\nDone.', {"a": 1}, id="in-a-block"),
        pytest.param('```\n{"a": 1}\n```', {"a": 1}, id="in-a-block-without-language"),
        pytest.param('I think {"a": 1} is it', {"a": 1}, id="first-braces"),
        pytest.param(
            'A {set} of things: {"a": {"b": 2}}', {"a": {"b": 2}}, id="other-braces-before"
        ),
        pytest.param('```json\n[1]\n``` {"a": 1}', {"a": 1}, id="a-list-in-the-block"),
        pytest.param("[1, 2]", None, id="a-list"),
        pytest.param('{"a": ', None, id="cut"),
        pytest.param("", None, id="nothing"),
        pytest.param("{" * 100_000, None, id="nothing-but-braces"),
    ],
)
def test_an_object_is_found_in_three_ways(text: str, expected: object) -> None:
    assert first_object(text) == expected


@pytest.mark.parametrize(
    "value, texts",
    [(["a", " b ", "", 3, None], ("a", "b")), ("a", ("a",)), (" ", ()), (None, ()), ({"a": 1}, ())],
)
def test_texts_are_taken_and_everything_else_is_left(value: object, texts: tuple[str, ...]) -> None:
    assert texts_of(value) == texts
