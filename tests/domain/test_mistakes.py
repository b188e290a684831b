"""What is wrong with a value is said in words, at the place where the user wrote it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from agent_ls.domain.mistakes import mistakes_said

Number = Annotated[int, Field(strict=True, ge=1)]
Name = Annotated[str, Field(min_length=1)]


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        (Number | Name | None, [], "must be a whole number, or must be text"),
        (Number | Name | None, "", "must be a whole number, or must not be empty"),
        (list[Number | Name], [1, 0], "[2]: must be greater than or equal to 1, or must be text"),
        (
            dict[str, Number | Literal["finish"]],
            {"after": "x"},
            "after: must be a whole number, or must be 'finish'",
        ),
        (
            dict[str, list[int] | str],
            {"after": {}},
            "after: must be a list, or must be text",
        ),
        (dict[str, bool], {"on": "maybe"}, "on: must be true or false"),
        (dict[str, float], {"share": "half"}, "share: must be a number"),
        # Keys that only look like types.
        (dict[str, Name], {"int": 1}, "int: must be text"),
        (dict[str, Name], {"int": 1, "on": 1}, "int: must be text; on: must be text"),
    ],
)
def test_a_place_has_the_keys_that_were_written(kind: Any, value: Any, words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(value)
    assert mistakes_said(caught.value) == words
