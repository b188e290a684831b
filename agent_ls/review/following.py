"""How a turn's files follow what was done to them: an edit of the agent's, or a restore."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from agent_ls.review.file_changes import FileLedger
from agent_ls.review.touches import Fetch, Touch, both_images, images_of, texts_of
from agent_ls.review.turns import TurnLedger

_INLINE_CHARACTERS = 200_000
"""Edits of larger texts are compared by a thread."""


async def follow_edit(turns: Mapping[str, TurnLedger], touch: Touch, fetch: Fetch) -> None:
    """Let a turn's file follow an edit of the agent's."""
    turn = turns.get(touch.turn_id)
    if turn is None:
        return
    known = turn.files.get(touch.path)
    there = turn.files.get(touch.new_path) if touch.new_path != touch.path else None
    found = await _after(known, there, touch, fetch)
    turn.put(found, gone=(touch.path, touch.new_path))


async def went_back(turns: Mapping[str, TurnLedger], touch: Touch, fetch: Fetch) -> None:
    """Let a turn's file follow a restore to before a call, which takes kept changes back too.

    Invariant: what it leaves of these is no change of the agent's against them.
    """
    turn = turns.get(touch.turn_id)
    file = turn.files.get(touch.path) if turn else None
    is_whole = touch.images is not None or (file is not None and file.images is not None)
    parts = () if file is None or is_whole else file.parts
    kept = {one.id for one in parts if one.state == "kept"}
    if turn is None or file is None or not kept:
        await follow_edit(turns, touch, fetch)
        return
    turn.put([file.marked(kept, "open")], gone=[file.path])
    await follow_edit(turns, touch, fetch)
    if (after := turn.files.get(touch.new_path)) is not None:
        turn.put([after.marked(kept, "kept")], gone=[after.path])


async def _after(
    known: FileLedger | None, there: FileLedger | None, touch: Touch, fetch: Fetch
) -> list[FileLedger]:
    """Return what a touch makes of a file's ledger: none, one, or those of two files.

    Invariant: what ``there`` was taken away, where a file moves to, can still come back.
    """
    path, at = touch.path, touch.at
    images = touch.images or await images_of(touch, fetch)
    is_opaque = any(one is not None and one.is_opaque for one in (known, there))
    if images is not None or is_opaque:
        images = images or await both_images(touch, fetch)
        known = known or FileLedger(path, None, None)
        if path == touch.new_path:
            found = [known.replaced(*images, at)]
        else:
            other = there or FileLedger(touch.new_path, None, None)
            found = [known.replaced(images[0], None, at), other.replaced(None, images[1], at)]
        return [one for one in found if one.hunks]
    before, after = await texts_of(touch, fetch)
    if known is None:
        known = FileLedger(path, before, before)
    if there is not None:
        mode, mode_after = touch.modes
        found = [
            known.edited(before, None, at).permitted((mode, None)),
            (await _edited(there, None, after, at)).permitted((None, mode_after)),
        ]
        return [one for one in found if one.base is not None or one.text is not None]
    if touch.edit is not None and touch.edit.kind == "move":
        return [known.drifted(before, at).moved(touch.new_path, at).permitted(touch.modes)]
    known = (await _edited(known, before, after, at)).permitted(touch.modes)
    # What was made and taken away in one turn never was.
    return [] if known.base is None and known.text is None else [known]


async def _edited(known: FileLedger, before: str | None, after: str | None, at: str) -> FileLedger:
    if len(before or "") + len(after or "") <= _INLINE_CHARACTERS:
        return known.edited(before, after, at)
    return await asyncio.to_thread(known.edited, before, after, at)
