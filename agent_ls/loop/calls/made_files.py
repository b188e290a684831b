"""Asks what becomes of files that commands made and that steer other programs: keep or remove.

The user is asked before the next call that runs something unasked. Nothing is lost by a removal:
the review can redo it, and what is in no review is moved.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from agent_ls.domain.approvals import Question
from agent_ls.domain.calls import Effect, ToolResult
from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.events import AdvisoryRaised, CallDecided
from agent_ls.domain.modes import Mode
from agent_ls.loop.calls.denials import denied
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.ports.approval import MadeFile, MadeFiles
from agent_ls.loop.turn import Turn

ORIGIN = "made_files"
_KEEP, _REMOVE = "Keep", "Remove"
_MAX_NAMED = 20


async def settle_made_files(planned: PlannedCall, turn: Turn) -> ToolResult | None:
    """Ask the user about what commands made; return the result of a call that may not run."""
    made = turn.services.made
    is_unattended = turn.view.mode is Mode.AUTO and not turn.services.is_attended
    if made is None or planned.effect is not Effect.EXECUTE or is_unattended:
        return None
    if not await _undecided(made, turn):
        return None
    async with turn.asking:
        # Another call may have asked meanwhile.
        found = await _undecided(made, turn)
        refusal = await _ask(found, made, turn) if found else ""
        if not refusal:
            return None
        await turn.emit(
            CallDecided(
                call_id=planned.call.id,
                decision="deny",
                origin=ORIGIN,
                reason=refusal,
                effect=planned.effect,
            )
        )
        return await denied(planned, refusal, turn, whatever_tool=True, is_counted=False)


async def _undecided(made: MadeFiles, turn: Turn) -> tuple[MadeFile, ...]:
    folders = [root.path for root in turn.services.workspace.roots]
    return await asyncio.to_thread(made.undecided, folders)


async def _ask(found: Sequence[MadeFile], made: MadeFiles, turn: Turn) -> str:
    """Ask, and do what the user says; return why nothing may run, empty if it may."""
    listed = "\n".join(f"- {one.shown} {one.why}" for one in found[:_MAX_NAMED])
    if len(found) > _MAX_NAMED:
        listed += f"\n- and {len(found) - _MAX_NAMED} more"
    why = "Nobody is there to be asked."
    if turn.services.is_attended:
        question = Question(
            id=turn.services.ids.new("qst"),
            turn_id=turn.state.turn_id,
            origin=ORIGIN,
            text="Commands that nobody approved made files that other programs act on:\n"
            f"{listed}\nKeep or remove them? A removal can be undone.",
            options=(_KEEP, _REMOVE),
        )
        answer = await turn.services.approver.ask(question)
        words = answer.text.strip()
        if words.lower() == _KEEP.lower():
            # What was not named is asked about next.
            await asyncio.to_thread(made.keep, found[:_MAX_NAMED])
            return ""
        if words.lower() == _REMOVE.lower():
            await _remove(found, made, turn)
            left = await _undecided(made, turn)
            if not left:
                return ""
            listed = "\n".join(f"- {one.shown}" for one in left[:_MAX_NAMED])
            why = "The user wants these removed, and that failed."
        why = f"The user says: “{words}”." if answer.is_answered else why
    return (
        f"Nothing runs unasked before the user keeps or removes what commands made:\n{listed}\n"
        f"{why} Go on without running anything, and name these files in your answer."
    )


async def _remove(found: Sequence[MadeFile], made: MadeFiles, turn: Turn) -> None:
    """Undo in the review what is in it, move the rest, and tell the model at its next request."""
    places = [place for one in found for place in await asyncio.to_thread(_files, one)]
    names = [name for place in places if (name := turn.services.workspace.shown(place)) is not None]
    try:
        await turn.services.approver.undo(names)
        moved = await asyncio.to_thread(made.set_aside, found)
    except AgentLsError as error:
        moved = [str(error)]
    gone = ", ".join(one.shown for one in found[:_MAX_NAMED])
    lines = "".join(f"\n{one}" for one in moved[:_MAX_NAMED])
    text = f"The user removed what commands had made: {gone}. Do not make it again.{lines}"
    await turn.emit(AdvisoryRaised(origin=ORIGIN, text=text, priority=1))


def _files(one: MadeFile) -> list[Path]:
    # No review holds a repository, which has files by the thousand.
    if one.path.is_symlink() or not one.path.is_dir() or one.path.name == ".git":
        return [one.path]
    return [path for path in one.path.rglob("*") if path.is_file() and not path.is_symlink()]
