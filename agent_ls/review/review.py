"""The user's review of what the agent changed: keep, undo, redo, restore.

Owns the way from a decision to its events and edits. How hunks come to be is in ``ledger``; what an
undo has to do to a file is in ``plans``, what a restore has to do in ``restore``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, Literal, TypeVar

from agent_ls.domain import events as e
from agent_ls.domain.edits import EditOutcome, FileEdit
from agent_ls.domain.errors import AgentLsError, BytesDamaged, StoreError, WorkspaceError
from agent_ls.domain.ids import Ids
from agent_ls.domain.images import PutImage
from agent_ls.domain.review import HunkState, ReviewDecision
from agent_ls.loop.calls.edit_recorder import EditRecorder, put_hindrance
from agent_ls.loop.edit_order import EditOrder
from agent_ls.loop.extension_points import CommandWatch
from agent_ls.loop.ports.store import Blobs, Journals
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.recorder import Recorder
from agent_ls.review.file_changes import FileLedger
from agent_ls.review.followed_ledger import FollowedLedger
from agent_ls.review.hunks import Hunk
from agent_ls.review.ledger import Ledger, Selection
from agent_ls.review.plans import next_step
from agent_ls.review.restore import (
    RestorePoint,
    Since,
    calls_that_changed,
    chains_since,
    restoring_step,
)
from agent_ls.review.steps import Clash, FileResult, Step, conflict, only_rest, places

_FROM: Mapping[ReviewDecision, HunkState] = {"keep": "open", "undo": "open", "redo": "undone"}
_GOAL: Mapping[ReviewDecision, HunkState] = {"keep": "kept", "undo": "undone", "redo": "open"}
"""The state of changes before and after a decision about them."""

_OF_ONE_FILE = (WorkspaceError, StoreError, OSError)
"""What keeps one file from its decision, while each of the others is tried all the same."""

_MOST_STEPS = 6
"""How often a file's next step is planned: it may change under one, or need several."""

_MAX_WAIT_S = 20.0
"""How long a decision waits for an earlier one, whose edit may wait for the user."""

T = TypeVar("T")


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
        ``claimed`` keeps it only for a block, in which something is recorded that is no decision.
        """
        self._recorder, self._workspace, self._blobs = recorder, workspace, blobs
        self._order, self._ids = order, ids
        self._claim, self._claimed = claim, claimed
        self._edits = EditRecorder(recorder, workspace, blobs, watch)
        self._followed = FollowedLedger(recorder, journals, blobs, self._edits)
        self._one_decision = asyncio.Lock()
        self._waits = ""
        """What the lock's holder does, in words."""
        self._tasks = set[asyncio.Task[Any]]()
        self._under_way = set[asyncio.Task[Any]]()
        """Those that have claimed the session: a claim that fails closes it, and must not wait for
        itself.
        """

    @property
    def version(self) -> int:
        """Return another number whenever the ledger may have changed."""
        return self._followed.version

    def may_have(self, path: str) -> bool:
        """Say whether a file may have changes; see ``FollowedLedger.may_have``."""
        return self._followed.may_have(path)

    async def ledger(self) -> Ledger:
        """Return the ledger with everything that happened so far.

        Errors: ``StoreError`` when the journal cannot be read.
        """
        return await self._followed.newest()

    @property
    def is_settled(self) -> bool:
        """Say whether no decision is under way, also none that nobody waits for any more."""
        return not self._tasks

    async def settled(self) -> None:
        """Wait until no decision is under way: one may wait for the editor, or for another one."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def lost(self, since: str | None = None, *, only: bool = False) -> list[e.FilesLost]:
        """Return what commands deleted for good and is still gone, of all turns or from one on.

        ``only`` is of this turn alone. Paths that are there again are left out.
        """
        turns = list((await self.ledger()).turns.values())
        ids = [one.turn_id for one in turns]
        if since is not None:
            start = ids.index(since) if since in ids else len(ids)
            turns = turns[start : start + 1 if only else None]
        found: list[e.FilesLost] = []
        for event in (event for turn in turns for event in turn.lost):
            gone = [one for one in event.paths if not await self._is_there(one.rstrip("/"))]
            if gone:
                number = event.number - len(event.paths) + len(gone)
                found.append(event.model_copy(update={"paths": tuple(gone), "number": number}))
        return found

    async def _is_there(self, path: str) -> bool:
        try:
            _, place = self._workspace.locate(path)
        except WorkspaceError:
            return False
        return await asyncio.to_thread(place.exists)

    async def close(self) -> None:
        """Wait until what was begun is recorded."""
        while self._under_way:
            await asyncio.wait(self._under_way)
        await self._followed.close()

    async def decide(self, decision: ReviewDecision, chosen: Selection) -> list[FileResult]:
        """Keep, undo or redo changes; return a result for each turn and file that had
        something to decide, newest turn first.

        A redo begins with the oldest turn, since newer changes may build on older ones. Changes in
        conflict stay as they are, and the result says how many.
        Errors: ``AgentLsError`` for ``restore``, which has a method of its own.
        """
        if decision == "restore":
            raise AgentLsError(
                "Name the turn to whose beginning it goes back; agent-ls.review.list shows them."
            )
        what = f"{decision} of {chosen.path or 'all files'}"
        return await self._wholly(self._decide(decision, chosen), what)

    async def restore(
        self, turn_id: str, call_id: str = "", *, dry_run: bool = False
    ) -> list[FileResult]:
        """Bring files back to the beginning of a turn, or to before one of its calls.

        This takes back the changes of later turns too. ``dry_run`` only returns the results.
        Errors: ``AgentLsError`` when there is no such turn or no such call, or a turn runs.
        """
        point = RestorePoint(turn_id, call_id)
        return await self._wholly(self._restore(point, is_dry=dry_run), "restore")

    async def follow(self, path: str, new_path: str) -> None:
        """Record that the user renamed a file, or a folder with all that is in it.

        Errors: ``AgentLsError`` where another process writes the session, or the store fails.
        """
        if (await self.ledger()).renamed(path) or self._concerns(path):
            # Without a limit: a rename that is not recorded would be lost.
            await self._wholly(self._follow(path, new_path), f"rename of {path}", is_limited=False)

    async def _follow(self, path: str, new_path: str) -> None:
        if (await self.ledger()).renamed(path) or self._concerns(path):
            # Whoever goes on with it elsewhere is not kept from that.
            async with self._claimed():
                self._begun()
                await self._recorder.emit(e.FileRenamed(path=path, new_path=new_path))

    def _concerns(self, path: str) -> bool:
        """Say whether findings, approvals or the running turn name this path, or a file in it."""
        state = self._recorder.state
        asked = [one.preview.path for one in state.approvals.values()]
        asked += [one.path for request in state.approvals.values() for one in request.covers]
        if state.is_running and state.turn is not None and state.turn.anchor is not None:
            asked.append(state.turn.anchor.path)
        found = (*state.findings, *state.fixed_findings, *filter(None, asked))
        return any(one == path or one.startswith(f"{path}/") for one in found)

    async def _wholly(
        self, work: Coroutine[Any, Any, T], what: str, *, is_limited: bool = True
    ) -> T:
        """Run works one after the other, each to its end, even if the caller is cancelled.

        Errors: ``AgentLsError`` when an earlier one takes too long, as when the editor asks.
        """

        async def alone() -> T:
            try:
                async with asyncio.timeout(_MAX_WAIT_S if is_limited else None):
                    await self._one_decision.acquire()
            except TimeoutError:
                work.close()
                raise AgentLsError(
                    f"The {self._waits} is still under way. Apply its edit if your editor offers "
                    "it (it may be a code action), then try again."
                ) from None
            try:
                self._waits = what
                return await work
            finally:
                self._one_decision.release()

        task = asyncio.ensure_future(alone())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(self._under_way.discard)
        return await asyncio.shield(task)

    def _begun(self) -> None:
        """Let the session not close before the running decision is carried out."""
        if (task := asyncio.current_task()) is not None:
            self._under_way.add(task)

    async def _decide(self, decision: ReviewDecision, chosen: Selection) -> list[FileResult]:
        await self._claim()
        self._begun()
        ledger = await self.ledger()
        wanted = {one.number for one in ledger.chains if chosen.path in (None, one.path)}
        found: list[FileResult] = []
        turns = list(ledger.turns)
        for turn_id in turns if decision == "redo" else reversed(turns):
            if chosen.turn_id in (None, turn_id):
                files = (await self.ledger()).turns[turn_id].files
                numbers = [one for one in files if one in wanted]
                results = await _in_rounds(
                    numbers if decision == "redo" else numbers[::-1],
                    lambda number, turn_id=turn_id: self._decide_file(
                        decision, turn_id, number, chosen.hunks
                    ),
                )
                found += [one for one in results.values() if one.status != "nothing"]
        return found

    async def _decide_file(
        self, decision: ReviewDecision, turn_id: str, number: int, wanted: frozenset[str] | None
    ) -> FileResult:
        settled, path = 0, ""
        stuck: dict[str, FileResult] = {}
        try:
            for _ in range(_MOST_STEPS):
                ledger = await self.ledger()
                path, file = ledger.chains[number].path, ledger.turns[turn_id].files.get(number)
                hunks = file.those(_FROM[decision], wanted) if file else ()
                hunks = tuple(one for one in hunks if one.id not in stuck)
                if file is None or not hunks:
                    return _all_in_all(turn_id, path, settled, list(stuck.values()))
                if decision == "keep":
                    ids = tuple(one.id for one in hunks)
                    await self._recorder.emit(self._event(decision, turn_id, path, ids))
                    return FileResult(turn_id, path, "done", len(ids))
                done = await self._one_step(decision, turn_id, file, hunks)
                if not isinstance(done, FileResult):
                    settled += done
                elif done.status != "conflict" or len(hunks) == 1 or not _are_lines(hunks):
                    return replace(done, hunks=settled)
                else:
                    fresh = await self._stuck(decision, turn_id, file, hunks)
                    if len(fresh) in (0, len(hunks)):
                        # Both versions of the file are shown with all its changes.
                        return replace(done, hunks=settled)
                    stuck |= fresh
            reason = "the file kept changing; try again when nothing else writes it"
        except _OF_ONE_FILE as error:
            reason = str(error)
        # What was settled before it met that stays so, and is said.
        return FileResult(turn_id, path, "refused", settled, reason)

    async def _stuck(
        self, decision: ReviewDecision, turn_id: str, file: FileLedger, hunks: Sequence[Hunk]
    ) -> dict[str, FileResult]:
        """Return the conflict of each of these changes that is one by itself, by its id."""
        ledger = await self.ledger()
        found: dict[str, FileResult] = {}
        for hunk in hunks:
            goal = _GOAL[decision]
            step = await next_step(self._workspace, ledger, turn_id, file, (hunk,), goal)
            if isinstance(step, Clash):
                found[hunk.id] = conflict(turn_id, step)
        return found

    async def _one_step(
        self, decision: ReviewDecision, turn_id: str, file: FileLedger, hunks: Sequence[Hunk]
    ) -> FileResult | int:
        """Carry one edit out; return how many hunks it settled, or why it cannot go on."""
        moves = (one for one in hunks if one.kind == "moved")
        names = {file.path, *(name for one in moves for name in (*one.old, *one.new))}
        async with self._order.of(places(self._workspace, names)):
            ledger = await self.ledger()
            if ledger.turns[turn_id].files.get(file.number) is not file:
                # The agent was faster.
                return 0
            goal = _GOAL[decision]
            step = await next_step(self._workspace, ledger, turn_id, file, hunks, goal)
            if isinstance(step, Step) and goal == "undone":
                chain = ledger.chains[file.number]
                step = await only_rest(self._workspace, ledger, chain, step.edit) or step
            if isinstance(step, Clash):
                return conflict(turn_id, step)
            event = self._event(decision, turn_id, file.path, step.hunks)
            if step.edit is None:
                await self._recorder.emit(event)
                return len(step.hunks)
            outcome = await self._applied(event, step.edit)
            if outcome.status == "applied":
                return len(step.hunks)
            if outcome.status == "stale":
                return 0
            return FileResult(turn_id, file.path, "refused", 0, outcome.reason)

    def _event(
        self, decision: ReviewDecision, turn_id: str, path: str, hunks: tuple[str, ...]
    ) -> e.ReviewDecided:
        return e.ReviewDecided(
            review_id=self._ids.new("rev"),
            decision=decision,
            turn_id=turn_id,
            path=path,
            hunks=hunks,
        )

    async def _applied(self, event: e.ReviewDecided, edit: FileEdit | PutImage) -> EditOutcome:
        if isinstance(edit, PutImage):
            return await self._edits.put(edit, event)
        return await self._edits.apply(edit, event)

    async def _restore(self, point: RestorePoint, *, is_dry: bool) -> list[FileResult]:
        turn_id, call_id = point
        self._refuse_running()
        ledger = await self.ledger()
        if turn_id not in ledger.turns:
            raise AgentLsError(f"There is no turn {turn_id}; agent-ls.review.list names them.")
        if call_id and call_id not in calls_that_changed(ledger, turn_id):
            raise AgentLsError(f"The turn has no call {call_id} that changed files.")
        if is_dry:
            freed = set[str]()
            numbers = [one.chain.number for one in chains_since(ledger, point)]
            found = await _in_rounds(numbers, lambda number: self._foreseen(point, number, freed))
            return [one for one in found.values() if one.status != "nothing"]
        await self._claim()
        self._begun()
        # One may have begun in between, and the files that are not restored yet are its.
        self._refuse_running()
        results = dict[int, FileResult]()
        later = list(ledger.turns)[list(ledger.turns).index(turn_id) + 1 :]
        if call_id and later:
            # What later turns did is theirs, and goes first.
            results = await self._restore_to(RestorePoint(later[0]))
        for number, result in (await self._restore_to(point)).items():
            first = results.get(number)
            if result.status != "nothing" or first is None or first.status != "done":
                results[number] = result
        return [one for one in results.values() if one.status != "nothing"]

    async def _restore_to(self, point: RestorePoint) -> dict[int, FileResult]:
        numbers = [one.chain.number for one in chains_since(await self.ledger(), point)]
        return await _in_rounds(numbers, lambda number: self._restore_file(point, number))

    def _refuse_running(self) -> None:
        if self._recorder.state.is_running:
            raise AgentLsError("A turn is running; stop it before you restore files.")

    async def _foreseen(self, point: RestorePoint, number: int, freed: set[str]) -> FileResult:
        """Return what a restore would make of a file as it is now; nothing is changed."""
        ledger = await self.ledger()
        since = _since(ledger, point, number)
        path = ledger.chains[number].path
        if since is None:
            return FileResult(point.turn_id, path, "nothing")
        try:
            places(self._workspace, {path, since.goal})
            step = await self._restoring(ledger, since, freed)
            if isinstance(step, PutImage) and (reason := await put_hindrance(step, self._blobs)):
                return FileResult(point.turn_id, path, "refused", reason=reason)
        except (*_OF_ONE_FILE, BytesDamaged) as error:
            return FileResult(point.turn_id, path, "refused", reason=str(error))
        if isinstance(step, Clash):
            return conflict(point.turn_id, step)
        # A file that a command moved is in the list under both names, and moves back once.
        if step is None or (isinstance(step, PutImage) and step.by_move in freed):
            return FileResult(point.turn_id, path, "nothing")
        effect = _effect(step)
        freed |= {path} if effect in ("move", "delete") else set()
        return FileResult(point.turn_id, _name_after(step, path), "done", edit=effect)

    async def _restoring(
        self, ledger: Ledger, since: Since, freed: Iterable[str] = ()
    ) -> FileEdit | PutImage | Clash | None:
        step = await restoring_step(self._workspace, self._blobs, ledger, since, set(freed))
        if step is None or isinstance(step, Clash):
            return step
        return await only_rest(self._workspace, ledger, since.chain, step) or step

    async def _restore_file(self, point: RestorePoint, number: int) -> FileResult:
        turn_id, done = point.turn_id, 0
        try:
            for _ in range(_MOST_STEPS):
                result = await self._restoring_step(point, number)
                if isinstance(result, FileResult):
                    is_moved = result.status == "nothing" and done
                    return replace(result, status="done", edit="move") if is_moved else result
                done += result
            reason = "the file kept changing; try again when nothing else writes it"
        except (*_OF_ONE_FILE, BytesDamaged) as error:
            reason = str(error)
        path = (await self.ledger()).chains[number].path
        return FileResult(turn_id, path, "refused", reason=reason)

    async def _restoring_step(self, point: RestorePoint, number: int) -> FileResult | int:
        """Carry one edit out; return the result when it was the last one, or how many were done."""
        turn_id = point.turn_id
        ledger = await self.ledger()
        since, path = _since(ledger, point, number), ledger.chains[number].path
        if since is None:
            return FileResult(turn_id, path, "nothing")
        async with self._order.of(places(self._workspace, {since.chain.path, since.goal})):
            if self._recorder.state.is_running:
                return FileResult(turn_id, path, "refused", 0, "a turn has begun meanwhile")
            step = await self._restoring(ledger, since)
            if isinstance(step, Clash):
                return conflict(turn_id, step)
            event = self._restored_event(ledger, point, since)
            if step is None:
                await self._recorder.emit(event)
                return FileResult(turn_id, path, "nothing")
            outcome = await self._applied(event, step)
        if outcome.status not in ("applied", "stale"):
            return FileResult(turn_id, path, "refused", 0, outcome.reason)
        if outcome.status == "applied" and step.kind != "move":
            return FileResult(turn_id, _name_after(step, path), "done", 1, edit=_effect(step))
        return int(outcome.status == "applied")

    def _restored_event(self, ledger: Ledger, point: RestorePoint, since: Since) -> e.ReviewDecided:
        """Return the event of a restore; its hunks tell which of the files with a name is meant."""
        hunks = tuple(
            hunk.id
            for _, file in ledger.of_chain(since.chain.number, point.turn_id)
            for hunk in file.hunks
        )
        event = self._event("restore", point.turn_id, since.chain.path, hunks)
        return event.model_copy(update={"call_id": point.call_id})


async def _in_rounds(
    numbers: Sequence[int], carry_out: Callable[[int], Awaitable[FileResult]]
) -> dict[int, FileResult]:
    """Return the result of each file.

    A file in conflict is tried again after another one is done, which may have had its name.
    """
    found: dict[int, FileResult] = {}
    left = list(numbers)
    while left:
        for number in left:
            found[number] = await carry_out(number)
        is_any_done = any(found[one].status == "done" for one in left)
        left = [one for one in left if found[one].status == "conflict"] if is_any_done else []
    return found


def _are_lines(hunks: Sequence[Hunk]) -> bool:
    return all(one.kind == "text" for one in hunks)


def _all_in_all(turn_id: str, path: str, settled: int, stuck: Sequence[FileResult]) -> FileResult:
    """Return the result of a file whose changes are decided about, but for those in conflict."""
    if not stuck:
        return FileResult(turn_id, path, "done" if settled else "nothing", settled)
    many = f"{len(stuck)} of {settled + len(stuck)} changes"
    stays = "stays" if len(stuck) == 1 else "stay"
    return replace(stuck[0], hunks=settled, reason=f"{many} {stays}: {stuck[0].reason}")


def _since(ledger: Ledger, point: RestorePoint, number: int) -> Since | None:
    those = (one for one in chains_since(ledger, point) if one.chain.number == number)
    return next(those, None)


def _name_after(edit: FileEdit | PutImage, path: str) -> str:
    """Return a file's name in a result; for a file that comes back, the name it gets."""
    return edit.path if _effect(edit) == "create" else path


def _effect(edit: FileEdit | PutImage) -> Literal["change", "create", "delete", "move"]:
    """Return what an edit does to its file."""
    return edit.effect if isinstance(edit, PutImage) else edit.kind
