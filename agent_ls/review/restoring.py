"""Brings files back to how they were before a turn, or before a call of it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from agent_ls.domain.errors import AgentLsError
from agent_ls.loop.edit_order import EditOrder
from agent_ls.loop.ports.store import Blobs
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.recorder import Recorder
from agent_ls.review.carrying import MOST_STEPS, OF_ONE_FILE, Carrying
from agent_ls.review.images import Wholes, linked
from agent_ls.review.ledger import Ledger, RestorePoint
from agent_ls.review.lineages import Lineage
from agent_ls.review.losses import kept_as_rest
from agent_ls.review.moments import calls_that_changed, lineages
from agent_ls.review.order import restored_in_order
from agent_ls.review.restore import (
    after_move,
    effect_of,
    foreseen,
    name_after,
    restoring_step,
    wholes_since,
)
from agent_ls.review.rings import Ring, aside, restorable_rings
from agent_ls.review.steps import Clash, FileResult, places

_log = logging.getLogger(__name__)


class Restoring:
    """The restores of one session's review."""

    def __init__(
        self,
        recorder: Recorder,
        *,
        workspace: Workspace,
        blobs: Blobs,
        order: EditOrder,
        carrying: Carrying,
        ledger: Callable[[], Awaitable[Ledger]],
        claim: Callable[[], Awaitable[None]],
    ) -> None:
        """Take the newest ledger and, as the review does, who claims the session for it."""
        self._recorder, self._workspace, self._blobs = recorder, workspace, blobs
        self._order, self._carrying = order, carrying
        self._ledger, self._claim = ledger, claim

    async def restore(self, point: RestorePoint, *, dry_run: bool = False) -> list[FileResult]:
        """Bring the files that were touched since back; with ``dry_run`` only say what would
        become of each.

        Errors: ``AgentLsError`` when there is no such turn or no such call, or a turn runs.
        """
        turn_id, call_id = point.turn_id, point.call_id
        self._refuse_running()
        ledger = await self._ledger()
        if turn_id not in ledger.turns:
            raise AgentLsError(f"There is no turn {turn_id}; agent-ls.review.list names them.")
        if call_id and call_id not in calls_that_changed(ledger, turn_id):
            raise AgentLsError(f"The turn has no call {call_id} that changed files.")
        if dry_run:
            return await self._foreseen(turn_id, lineages(ledger, point))
        await self._claim()
        # One may have begun in between, and those of the files that are not restored yet are its.
        self._refuse_running()
        earlier: list[FileResult] = []
        if call_id:
            # What later turns did is theirs, and goes first.
            for later in list(ledger.turns)[list(ledger.turns).index(turn_id) + 1 :][:1]:
                earlier = await self.restore(RestorePoint(later))
        those = lineages(await self._ledger(), point)
        for ring in await restorable_rings(self._workspace, self._blobs, turn_id, those):
            await self._carrying.settled(self._make_room_to_restore(turn_id, ring))
        found: list[FileResult] = []
        planned_files = lineages(await self._ledger(), point)
        wholes = wholes_since(planned_files)
        for planned in restored_in_order(planned_files, wholes):
            ledger = await self._ledger()
            now = lineages(ledger, point)
            # The file that stood in its place may have gone back since.
            lineage = next(one for one in now if one.touches[0].at == planned.touches[0].at)
            name = ledger.called(lineage.path)
            result = await self._restore_file(point, lineage, wholes)
            if result.status == "done" and result.path == lineage.path:
                result = replace(result, path=name)
            # What kept the later turns' part is of no account where all of it is as it was.
            is_kept = result.status == "nothing"
            earlier = [
                one
                for one in earlier
                if one.path != lineage.path or (is_kept and one.status == "done")
            ]
            if not is_kept:
                found.append(result)
        return [*earlier, *found]

    async def _foreseen(self, turn_id: str, those: Sequence[Lineage]) -> list[FileResult]:
        rings = await restorable_rings(self._workspace, self._blobs, turn_id, those)
        ring_of = {name: ring for ring in rings for name in ring}
        freed = set[str]()
        emptied, filled = set[str](), set[str]()
        """The other places of files that would have moved by then: from there, or to there."""
        found: dict[str, FileResult] = {}
        wholes, touches = wholes_since(those), (await self._ledger()).touches
        for one in restored_in_order(those, wholes):
            # Its place in a ring is another one's of the ring, and free for nobody else.
            ring = ring_of.get(one.path, ()) if one.stands else ()
            if one.path in filled:
                result = FileResult(turn_id, one.path, "nothing")
            elif one.path in emptied:
                result = after_move(turn_id, one.path, wholes)
            else:
                result = await foreseen(
                    self._workspace,
                    self._blobs,
                    turn_id,
                    one,
                    freed=freed | set(ring),
                    wholes=wholes,
                    touches=touches,
                )
            found[one.touches[0].at] = result
            if result.new_path:
                (filled if wholes[one.path][1] is None else emptied).add(result.new_path)
            if result.edit == "delete" and ring:
                # It does not go there itself.
                freed.add(one.origin)
            elif result.edit in ("move", "delete") and not ring:
                freed.add(one.path)
        each = [found[one.touches[0].at] for one in those]
        return [one for one in each if one.status != "nothing"]

    def _refuse_running(self) -> None:
        if self._recorder.state.is_running:
            raise AgentLsError("A turn is running; stop it before you restore files.")

    async def _make_room_to_restore(self, turn_id: str, ring: Ring) -> None:
        try:
            async with self._order.of(places(self._workspace, ring)):
                if self._recorder.state.is_running:
                    return
                step = await aside(self._workspace, (), ring[0])
                await self._carrying.applied(
                    self._carrying.decided("undo", turn_id, ring[0], ()), step
                )
        except OF_ONE_FILE as error:
            # Each of them is tried all the same, and says what keeps it.
            _log.info("%s cannot make room: %s", ring[0], error)

    async def _restore_file(
        self, point: RestorePoint, lineage: Lineage, wholes: Wholes
    ) -> FileResult:
        workspace, turn_id = self._workspace, point.turn_id
        path = lineage.path
        done = 0
        try:
            for _ in range(MOST_STEPS):
                names = {path, lineage.origin, *linked(path, wholes)}
                async with self._order.of(places(workspace, names)):
                    if self._recorder.state.is_running:
                        reason = "a turn has begun meanwhile"
                        return FileResult(turn_id, path, "refused", done, reason)
                    step = await restoring_step(
                        workspace, self._blobs, lineage, path, wholes=wholes
                    )
                    touches = (await self._ledger()).touches
                    step = await kept_as_rest(workspace, touches, lineage.touches, step) or step
                    if isinstance(step, Clash):
                        return FileResult(turn_id, path, "conflict", 0, step.reason, step)
                    event = self._carrying.decided("restore", turn_id, path, ())
                    event = event.model_copy(update={"call_id": point.call_id})
                    if step is None:
                        if done or not lineage.is_covered:
                            await self._recorder.emit(event)
                        status, kind = ("done", "move") if done else ("nothing", None)
                        return FileResult(turn_id, path, status, done, edit=kind)
                    outcome = await self._carrying.settled(self._carrying.applied(event, step))
                    if outcome.status == "applied" and step.kind != "move":
                        name, effect = name_after(step, path), effect_of(step)
                        return FileResult(turn_id, name, "done", done + 1, edit=effect)
                    if outcome.status == "applied":
                        done, path = done + 1, lineage.origin
                    elif outcome.status != "stale":
                        return FileResult(turn_id, path, "refused", 0, outcome.reason)
        except OF_ONE_FILE as error:
            return FileResult(turn_id, path, "refused", reason=str(error))
        return FileResult(turn_id, path, "refused", reason="it changes all the time")
