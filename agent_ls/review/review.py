"""The person's review of what the agent changed: keep, undo, redo, by hunk, file, turn or all.

Owns the way from a decision to its events and edits. How hunks come to be is in
``ledger``; what an undo has to do to a file is in ``plans``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path

from agent_ls.domain import events as e
from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.ids import Ids
from agent_ls.domain.review import HunkState, ReviewDecision
from agent_ls.loop.calls.edit_recorder import EditRecorder
from agent_ls.loop.edit_order import EditOrder
from agent_ls.loop.ports.store import Blobs, Journals
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.sockets import CommandWatch
from agent_ls.loop.state.recorder import Recorder
from agent_ls.review.carrying import MOST_STEPS, OF_ONE_FILE, Carrying
from agent_ls.review.file_changes import FileLedger
from agent_ls.review.followed_ledger import FollowedLedger
from agent_ls.review.hunks import Hunk
from agent_ls.review.images import linked, wholes_of
from agent_ls.review.ledger import Ledger, RestorePoint, Selection
from agent_ls.review.losses import kept_as_rest
from agent_ls.review.newer import newer_changes, overtaken
from agent_ls.review.order import goals, in_order, in_the_way
from agent_ls.review.plans import next_step
from agent_ls.review.renames import renames
from agent_ls.review.restoring import Restoring
from agent_ls.review.rings import Ring, ring_of, room_step
from agent_ls.review.steps import Clash, FileResult, Step, places

_FROM: Mapping[ReviewDecision, HunkState] = {"keep": "open", "undo": "open", "redo": "undone"}
_GOAL: Mapping[ReviewDecision, HunkState] = {"keep": "kept", "undo": "undone", "redo": "open"}
"""How changes stand before and after a decision about them."""

_ROUNDS = 4
"""How often a turn's files are looked for: some get a name only when others have left it."""


class Review:
    """One session's review."""

    def __init__(
        self,
        recorder: Recorder,
        *,
        workspace: Workspace,
        journals: Journals,
        blobs: Blobs,
        ids: Ids,
        order: EditOrder,
        watch: CommandWatch | None,
        claim: Callable[[], Awaitable[None]],
        claimed: Callable[[], AbstractAsyncContextManager[None]],
    ) -> None:
        """Follow the session; its journal is read when the review is first asked for.

        ``claim`` is awaited before a decision: nobody else may write the session from then on.
        In ``claimed`` nobody may while something is recorded that the person has not decided.
        """
        self._recorder, self._workspace, self._order = recorder, workspace, order
        self._claim, self._claimed = claim, claimed
        self._queue = EditOrder()
        """The files that are decided about right now, by the names the ledger has for them."""
        edits = EditRecorder(recorder, workspace, blobs, watch)
        self._followed = FollowedLedger(recorder, journals, blobs, edits)
        self._carrying = Carrying(edits, ids)
        self._restoring = Restoring(
            recorder,
            workspace=workspace,
            blobs=blobs,
            order=order,
            carrying=self._carrying,
            ledger=self.ledger,
            claim=claim,
        )

    @property
    def version(self) -> int:
        """Return another number whenever the ledger may have changed."""
        return self._followed.version

    async def ledger(self) -> Ledger:
        """Return the ledger with everything that happened so far.

        Errors: ``StoreError`` when the journal cannot be read.
        """
        return await self._followed.newest()

    async def decide(self, decision: ReviewDecision, chosen: Selection) -> list[FileResult]:
        """Keep, undo or redo; return what became of each file, newest turn first; a redo goes
        the other way, for what a newer turn changed may be what an older one made.

        A file is undone wholly or, where there is a conflict, not at all.
        Errors: ``AgentLsError`` for ``restore``, which has a method of its own.
        """
        if decision == "restore":
            raise AgentLsError("A restore needs the turn to whose beginning it goes back.")
        async with self._carrying.one_decision():
            await self._claim()
            return await self._decided(decision, chosen)

    async def _decided(self, decision: ReviewDecision, chosen: Selection) -> list[FileResult]:
        ledger = await self.ledger()
        found: list[FileResult] = []
        turns = list(ledger.turns)
        for turn_id in turns if decision == "redo" else reversed(turns):
            if chosen.turn_id not in (None, turn_id):
                continue
            stuck = {} if chosen.path else await self._parted(decision, turn_id, chosen.hunks)
            seen = set[str]()
            for _ in range(_ROUNDS):
                files = (await self.ledger()).turns[turn_id].files
                # A file that got its name back only now is another one than had it before.
                order = in_order(files, wholes_of(files, _GOAL[decision]))
                left = [one for one in order if seen.isdisjoint(_ids(files[one]))]
                seen.update(*(_ids(files[one]) for one in left))
                for path in left:
                    if chosen.path in (None, path):
                        result = stuck.get(path) or await self._in_turn(
                            decision, turn_id, path, chosen.hunks
                        )
                        found += [] if result.status == "nothing" else [result]
        return found

    async def restore(
        self, turn_id: str, call_id: str = "", *, dry_run: bool = False
    ) -> list[FileResult]:
        """Bring the files that were touched since back to a turn's beginning, or to how they were
        before a call of it; with ``dry_run`` only say what would become of each.

        Errors: ``AgentLsError`` when there is no such turn or no such call, or a turn runs.
        """
        async with self._carrying.one_decision():
            return await self._restoring.restore(RestorePoint(turn_id, call_id), dry_run=dry_run)

    async def close(self) -> None:
        """Wait until what was begun is recorded."""
        await self._carrying.close()
        await self._followed.close()

    async def follow(self, path: str, new_path: str) -> None:
        """Know that the person renamed a file, or a folder with all that is in it.

        Errors: ``AgentLsError`` where another process writes the session, or the store fails.
        """
        # What a sub-agent has changed is known of when it ends, and then by the name of today.
        renamed = renames(await self._followed.foreseen(), path, new_path)
        if not renamed and not self._has_findings(path):
            return
        names = [Path(one) for pair in renamed.items() for one in pair]
        where = [self._workspace.locate(str(one))[1] for one in names]
        # What is under way ends under the name that it began with.
        async with self._queue.of(names), self._order.of(where):
            renamed = renames(await self._followed.foreseen(), path, new_path)
            if renamed or self._has_findings(path):
                # Who goes on with it elsewhere is not kept from that.
                async with self._claimed():
                    await self._recorder.emit(e.FileRenamed(path=path, new_path=new_path))

    def _has_findings(self, path: str) -> bool:
        """Say whether checkers found anything there, maybe in a file that no change is in."""
        found = self._recorder.state.findings
        return any(one == path or one.startswith(f"{path}/") for one in found)

    async def _parted(
        self, decision: ReviewDecision, turn_id: str, wanted: frozenset[str] | None
    ) -> dict[str, FileResult]:
        """Let one of the files that changed places make room; return what keeps them there."""
        stuck: dict[str, FileResult] = {}
        if decision == "keep":
            return stuck
        for path in list((await self.ledger()).turns[turn_id].files):
            ring = ring_of((await self.ledger()).turns[turn_id].files, path, _FROM[decision])
            if not ring or stuck.keys() & set(ring):
                continue
            try:
                async with self._queue.of([Path(name) for name in ring]):
                    result = await self._carrying.settled(
                        self._make_room(decision, turn_id, ring, wanted)
                    )
            except OF_ONE_FILE as error:
                result = FileResult(turn_id, path, "refused", reason=str(error))
            if result is not None:
                stuck[result.path] = result
        return stuck

    async def _make_room(
        self, decision: ReviewDecision, turn_id: str, ring: Ring, wanted: frozenset[str] | None
    ) -> FileResult | None:
        async with self._order.of(places(self._workspace, ring)):
            states = _FROM[decision], _GOAL[decision]
            # Where all of them are gone one comes back first, and makes room then.
            for _ in range(2):
                ledger = await self.ledger()
                files = ledger.turns[turn_id].files
                if ring_of(files, ring[0], states[0]) != ring:
                    return None
                newer = partial(newer_changes, ledger, turn_id)
                for name in ring:
                    hunks = files[name].those(states[0], wanted)
                    if (clash := overtaken(ledger, turn_id, files[name], hunks)) is not None:
                        return FileResult(turn_id, name, "conflict", 0, clash.reason, clash)
                step = await room_step(self._workspace, files, ring, wanted, states, newer)
                if isinstance(step, Clash):
                    return FileResult(turn_id, step.path, "conflict", 0, step.reason, step)
                if step is not None and step.edit is not None:
                    event = self._carrying.decided(decision, turn_id, step.edit.path, step.hunks)
                    await self._carrying.applied(event, step.edit)
        return None

    async def _in_turn(
        self, decision: ReviewDecision, turn_id: str, path: str, wanted: frozenset[str] | None
    ) -> FileResult:
        """Decide about a file once what was decided about it before is done.

        Otherwise each decision would find its plan overtaken by the others' until it gives up.
        """
        files = (await self.ledger()).turns[turn_id].files
        file = files.get(path)
        hunks = [one for one in file.hunks if wanted is None or one.id in wanted] if file else []
        if not hunks:
            return FileResult(turn_id, path, "nothing")
        names = {path, *goals(hunks), *linked(path, wholes_of(files, _GOAL[decision]))}
        async with self._queue.of([Path(name) for name in names]):
            return await self._decide_file(decision, turn_id, path, wanted)

    async def _decide_file(
        self, decision: ReviewDecision, turn_id: str, path: str, wanted: frozenset[str] | None
    ) -> FileResult:
        from_state, goal = _FROM[decision], _GOAL[decision]
        settled_hunks = 0
        try:
            for _ in range(MOST_STEPS):
                file = (await self.ledger()).file(turn_id, path)
                hunks = file.those(from_state, wanted) if file else ()
                if file is None or not hunks:
                    status = "done" if settled_hunks else "nothing"
                    return FileResult(turn_id, path, status, settled_hunks)
                if decision == "keep":
                    ids = tuple(one.id for one in hunks)
                    event = self._carrying.decided(decision, turn_id, path, ids)
                    await self._carrying.settled(self._recorder.emit(event))
                    return FileResult(turn_id, path, "done", len(ids))
                done = await self._carrying.settled(
                    self._one_step(decision, turn_id, file, hunks, goal)
                )
                if isinstance(done, FileResult):
                    return replace(done, hunks=settled_hunks)
                settled_hunks += done
                files, ids = (await self.ledger()).turns[turn_id].files, _ids(file)
                after = (name for name in (path, *goals(hunks)) if name in files)
                path = next((one for one in after if ids & _ids(files[one])), path)
            reason = "it changes all the time"
        except OF_ONE_FILE as error:
            reason = str(error)
        # What was settled before it met that stays so, and is said.
        return FileResult(turn_id, path, "refused", settled_hunks, reason)

    async def _one_step(
        self,
        decision: ReviewDecision,
        turn_id: str,
        file: FileLedger,
        hunks: Sequence[Hunk],
        goal: HunkState,
    ) -> FileResult | int:
        """Carry one edit out; return how many hunks it settled, or why it cannot go on."""
        workspace = self._workspace
        wholes = wholes_of((await self.ledger()).turns[turn_id].files, goal)
        names = {file.path, *goals(hunks), *linked(file.path, wholes)}
        async with self._order.of(places(workspace, names)):
            ledger = await self.ledger()
            files = ledger.turns[turn_id].files
            if files.get(file.path) is not file:
                # The agent was faster.
                return 0
            step = in_the_way(files, file, hunks) or overtaken(ledger, turn_id, file, hunks)
            newer = newer_changes(ledger, turn_id, file)
            step = step or await next_step(workspace, file, hunks, goal, newer=newer, wholes=wholes)
            if isinstance(step, Step) and goal == "undone":
                own = ledger.lineages.that_made(_ids(file))
                touches = own.touches if own else ()
                step = await kept_as_rest(workspace, ledger.touches, touches, step.edit) or step
            if isinstance(step, Clash):
                return FileResult(turn_id, file.path, "conflict", 0, step.reason, step)
            event = self._carrying.decided(decision, turn_id, file.path, step.hunks)
            if step.edit is None:
                await self._recorder.emit(event)
                return len(step.hunks)
            outcome = await self._carrying.applied(event, step.edit)
            if outcome.status == "applied":
                return len(step.hunks)
            if outcome.status == "stale":
                return 0
            return FileResult(turn_id, file.path, "refused", 0, outcome.reason)


def _ids(file: FileLedger) -> set[str]:
    return {one.id for one in file.hunks}
