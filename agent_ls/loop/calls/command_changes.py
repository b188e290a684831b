"""Records the files that a command changes as changes of the turn, before the command's result."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Literal

from agent_ls.domain.calls import Effect
from agent_ls.domain.events import CommandChanged, CommandChangesLeftOut, FilesLost
from agent_ls.loop.calls.running import run_tool
from agent_ls.loop.extension_points import CommandWatch, PlannedCall, Ran
from agent_ls.loop.ports.commands import CommandChange, CommandMark
from agent_ls.loop.ports.store import Blobs
from agent_ls.loop.shielding import settled
from agent_ls.loop.turn import Turn

_MAX_NAMED = 20
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_log = logging.getLogger(__name__)


async def run_watched(planned: PlannedCall, turn: Turn) -> Ran:
    """Run the call and record the files its command changes, also when it is cancelled."""
    watch = turn.services.watch
    if watch is None or planned.effect is not Effect.EXECUTE:
        return await run_tool(planned, turn)
    try:
        mark = await watch.begin(planned)
    except Exception:
        _log.exception("could not look at the files before a command; its changes go unseen")
        mark = None
    if mark is None:
        return await run_tool(planned, turn)
    left: Sequence[CommandChangesLeftOut | FilesLost] = ()
    beside = [
        one
        for one in turn.session.background.values()
        if one.ended is None and not one.started.reads_only
    ]
    mark.is_alone = mark.is_alone and not beside
    try:
        ran = await run_tool(planned, turn)
    finally:
        left = await settled(_record(planned.call.id, watch, mark, turn))
    notes = [*(one.text for one in left), *mark.notes]
    if mark.gap:
        notes.append(f"{mark.gap}: what the command changed elsewhere is in no review")
    if not notes:
        return ran
    text = "\n".join([ran.result.text, *(f"({note})" for note in notes)])
    return Ran(ran.result.model_copy(update={"text": text}), ran.events)


async def _record(
    call_id: str, watch: CommandWatch, mark: CommandMark, turn: Turn
) -> Sequence[CommandChangesLeftOut | FilesLost]:
    """Record the changed files up to ``max_command_changes``; return what no undo covers.

    New files come last: losing track of one loses no content, as it can simply be deleted.
    """
    try:
        changes = await watch.changes(mark)
    except Exception:
        _log.exception("could not look at the files after a command; its changes go unseen")
        return ()
    changes = sorted(changes, key=lambda one: (one.is_new, one.path))
    limit = turn.services.options.max_command_changes
    for one in changes[:limit]:
        await turn.emit(await stored_change(call_id, one, turn.services.blobs))
    rest = changes[limit:]
    left = list[CommandChangesLeftOut | FilesLost]()
    if rest:
        left.append(
            CommandChangesLeftOut(
                call_id=call_id,
                recorded_files=limit,
                left_files=len(rest),
                left_new_files=sum(one.is_new for one in rest),
            )
        )
    large = [one.path for one in changes if one.is_lost]
    if mark.ignored_gone:
        left.append(_lost(call_id, "ignored", mark.ignored_gone))
    if large:
        left.append(_lost(call_id, "too_large", large))
    for event in left:
        await turn.emit(event)
    return left


def _lost(call_id: str, why: Literal["ignored", "too_large"], paths: Sequence[str]) -> FilesLost:
    shown = tuple(_CONTROLS.sub("?", one) for one in sorted(paths)[:_MAX_NAMED])
    return FilesLost(call_id=call_id, why=why, paths=shown, number=len(paths))


async def stored_change(call_id: str, one: CommandChange, blobs: Blobs) -> CommandChanged:
    """Store both sides of a change and return its event."""
    return CommandChanged(
        call_id=call_id,
        path=one.path,
        before_blob=None if one.before is None else await blobs.put_blob(one.before),
        after_blob=None if one.after is None else await blobs.put_blob(one.after),
        before_mode=one.modes[0],
        after_mode=one.modes[1],
        is_before_known=one.is_before_known,
        images=one.images,
    )
