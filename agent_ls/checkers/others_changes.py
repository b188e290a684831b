"""What others changed between an agent's edits, taken into the text from before them.

What a person has half typed is then in both texts that are compared, and nobody is blamed for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from agent_ls.domain.edits import apply_replacements
from agent_ls.edits.merge import merge

_INLINE_CHARACTERS = 50_000
"""More than this is merged in a thread."""

Changes = Sequence[tuple[str, str]]
"""What the agent had left, and what was there when it or a checker came again; in order."""


async def with_others_changes(
    before: Mapping[str, str | None], by_others: Mapping[str, Changes]
) -> dict[str, str | None]:
    """Return the texts from before with what others changed since, by path.

    Of lines that both changed they have what was there before: nobody can tell whose they are.
    """
    merged: dict[str, str | None] = {}
    for path, text in before.items():
        for left, found in by_others.get(path, ()):
            if text is not None:
                text = await _merged(left, text, found)
        merged[path] = text
    return merged


async def _merged(left: str, before: str, found: str) -> str:
    if len(left) + len(before) + len(found) <= _INLINE_CHARACTERS:
        return _with_change(left, before, found)
    return await asyncio.to_thread(_with_change, left, before, found)


def _with_change(left: str, before: str, found: str) -> str:
    return apply_replacements(before, merge(left, before, found, beside=True).replacements)
