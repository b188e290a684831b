"""What is wrong with values that a person wrote, in words for them instead of pydantic's."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

UNKNOWN = "is not known"
_WORDS = {
    "missing": "is missing",
    "extra_forbidden": UNKNOWN,
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
    "string_type": "must be text",
}


def mistakes(error: ValidationError) -> list[tuple[str, str]]:
    """Return each place that is wrong, with why: ``hooks.after_tool[1].command``, ``is missing``.

    Entries of lists are counted from 1, as people count tables in a file.
    """
    return [
        (_place(one["loc"]), _WORDS.get(one["type"]) or _plain(one["msg"]))
        for one in error.errors(include_url=False)
    ]


def _plain(message: str) -> str:
    words = message.removeprefix("Value error, ").replace("Input should", "must", 1)
    return words[:1].lower() + words[1:]


def _place(keys: Sequence[int | str]) -> str:
    parts = (f"[{key + 1}]" if isinstance(key, int) else f".{key}" for key in keys)
    return "".join(parts).removeprefix(".")
