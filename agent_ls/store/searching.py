"""Searches prompts and answers for words; runs inside the caller's transactions.

First where all of them are, then their texts in parts: other work of the store goes in between.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Literal

import sqlalchemy as sa

from agent_ls.loop.ports.store import SearchHit
from agent_ls.store.projections import roots_key
from agent_ls.store.schema import events, sessions

_BEFORE_CHARACTERS = 40
_SHOWN_CHARACTERS = 160


Place = tuple[str, int]
"""The session and the number of an event."""


def places(connection: sa.Connection, roots: Sequence[str] | None) -> list[Place]:
    """Return where all prompts and answers are, newest first; their texts are not read."""
    query = (
        sa.select(events.c.session_id, events.c.seq)
        .where(events.c.type.in_(("turn_started", "prompt_queued", "answered")))
        .order_by(events.c.at_ms.desc(), events.c.session_id.desc(), events.c.seq.desc())
    )
    if roots is not None:
        query = query.join(sessions, sessions.c.session_id == events.c.session_id).where(
            sessions.c.roots == roots_key(list(roots)), sessions.c.parent_id == ""
        )
    return [(row.session_id, row.seq) for row in connection.execute(query)]


def hits(
    connection: sa.Connection, words: Sequence[str], where: Sequence[Place]
) -> list[SearchHit]:
    """Return which of these prompts and answers have every word, in the order of ``where``.

    ``words`` are folded: databases fold case differently beyond ASCII, so Python compares.
    """
    query = sa.select(
        events.c.session_id, events.c.seq, events.c.at_ms, events.c.type, events.c.body
    ).where(sa.tuple_(events.c.session_id, events.c.seq).in_(list(where)))
    found: dict[Place, SearchHit] = {}
    for row in connection.execute(query):
        try:
            said_by, text = _said(row.type, json.loads(row.body))
        except (ValueError, AttributeError):
            continue  # A damaged event; opening its session reports it.
        folded = text.casefold()
        if all(word in folded for word in words):
            shown = _around(text, _index_in(text, folded.index(words[0])))
            found[row.session_id, row.seq] = SearchHit(
                row.session_id, row.seq, row.at_ms, said_by, shown
            )
    return [found[place] for place in where if place in found]


def _said(kind: str, body: dict[str, Any]) -> tuple[Literal["user", "agent"], str]:
    match kind:
        case "turn_started":
            return "user", str(body.get("prompt", ""))
        case "prompt_queued":
            return "user", str(body.get("text", ""))
        case _:
            return "agent", str(body.get("message", {}).get("text", ""))


def _index_in(text: str, folded_index: int) -> int:
    """Return where a text has what its folded form has there: folding makes two letters of "ß"."""
    if text.isascii():
        return folded_index
    ends = list(accumulate(len(letter.casefold()) for letter in text))
    return bisect_right(ends, folded_index)


def _around(text: str, index: int) -> str:
    start = max(0, index - _BEFORE_CHARACTERS)
    part = text[start : start + _SHOWN_CHARACTERS]
    front = "…" if start else ""
    end = "…" if start + _SHOWN_CHARACTERS < len(text) else ""
    return front + " ".join(part.split()) + end
