"""Writes final answers as Markdown files, for editors with no place to show them.

Owns the private folder ``answers`` in the user's state folder; only the newest are kept.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import platformdirs

from agent_ls.lsp.marks.review_documents import write_private

_log = logging.getLogger(__name__)

_KEPT = 50


async def write_answer(turn_id: str, text: str) -> Path | None:
    """Write a turn's answer and return the file; None when it cannot be written."""
    place = platformdirs.user_state_path("agent-ls") / "answers" / f"{turn_id}.md"
    try:
        await asyncio.to_thread(_write, place, text)
    except OSError as error:
        _log.warning("the answer could not be written to %s: %s", place, error)
        return None
    return place


def _write(place: Path, text: str) -> None:
    write_private(place, text if text.endswith("\n") else f"{text}\n")
    # Turn ids sort by time.
    for old in sorted(place.parent.glob("trn_*.md"))[:-_KEPT]:
        old.unlink(missing_ok=True)
