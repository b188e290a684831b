"""The final answers as Markdown files, for editors that have no other place to show one.

Owns the folder ``answers`` in the person's state folder: private, and the newest few only.
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
    """Write a turn's answer and return where it is; None when that is not possible."""
    place = platformdirs.user_state_path("agent-ls") / "answers" / f"{turn_id}.md"
    try:
        await asyncio.to_thread(_write, place, text)
    except OSError as error:
        _log.warning("the answer could not be written to %s: %s", place, error)
        return None
    return place


def _write(place: Path, text: str) -> None:
    write_private(place, text if text.endswith("\n") else f"{text}\n")
    # The ids of turns sort by time.
    for old in sorted(place.parent.glob("trn_*.md"))[:-_KEPT]:
        old.unlink(missing_ok=True)
