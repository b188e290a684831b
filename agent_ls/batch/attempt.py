"""One attempt at a task on a worker: claim, checkout, run, check, patch, result.

The store decides who may run a task. An attempt renews its claim while the run goes on. One that
lost its claim, or could not renew it in time, kills the run and stores nothing.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from agent_ls.assembly import held_builder, open_disk_workspace
from agent_ls.batch.checkouts import Checkout, check_out, existing, lay_over, restore, worktree_of
from agent_ls.batch.results import TaskResult
from agent_ls.batch.tasks import BatchOptions, Task
from agent_ls.domain.errors import AgentLsError, StoreError, WorkspaceError
from agent_ls.domain.events import ChildEnded, ChildStarted
from agent_ls.domain.set_words import parse_sets
from agent_ls.domain.stops import EXIT_CANCELLED, EXIT_CONFIGURATION
from agent_ls.loop.machine.results import result_of
from agent_ls.loop.state.folding import fold_all
from agent_ls.loop.state.state import SessionState
from agent_ls.processes.launching import LauncherLost, start
from agent_ls.safety.secrets import mask_slowly
from agent_ls.session.held_leases import is_dead, is_loose_lease, own_identity
from agent_ls.settings import load_settings
from agent_ls.store.batch_queue import BatchQueue, Claim, Refused, TaskState
from agent_ls.store.sql_store import SqlStore
from agent_ls.workspace.runner import ShellRunner

_log = logging.getLogger(__name__)

LEASE_S = 60.0
RENEW_S = 5.0
_LOOK_S = 1.0
_GIVE_BACK_S = 10.0
RUNS = "agent_ls.cli.forked_runs"
"""Starts runs, and kills them when this process is gone."""
_KEPT_LOG_CHARS = 600

Outcome = Refused | Literal["settled", "given back", "lost"]


class RunRefused(AgentLsError):
    """A run could not begin on this host, such as without a key; the task was given back."""


class _Broken(Exception):
    """The attempt may not go on: the claim is lost, or the batch was stopped."""

    def __init__(self, outcome: Literal["lost", "given back"]) -> None:
        super().__init__(outcome)
        self.outcome: Literal["lost", "given back"] = outcome


@dataclass(frozen=True, slots=True)
class Host:
    """What the attempts of one worker share."""

    store: SqlStore
    place: Path
    """Where checkouts lie; other hosts must not use it."""

    @property
    def queue(self) -> BatchQueue:
        """Return the queue in the store."""
        return BatchQueue(self.store)


async def attempt(host: Host, batch_id: str, task_id: str) -> Outcome:
    """Run a task if its claim is free; say what came of it.

    Errors: ``StoreError`` if the store cannot be reached, ``RunRefused``.
    """
    claim = await _claim(host.queue, batch_id, task_id)
    if not isinstance(claim, Claim):
        return claim
    folder = worktree_of(host.place, batch_id, task_id, claim.row.plays)
    try:
        return await _Attempt(host, claim, folder).run()
    except _Broken as broken:
        return broken.outcome


async def _claim(queue: BatchQueue, batch_id: str, task_id: str) -> Claim | Refused:
    me = own_identity()
    claim = await queue.claim(batch_id, task_id, me, LEASE_S)
    if claim != "held":
        return claim
    holder = await queue.owner(batch_id, task_id)
    if holder and is_dead(holder):
        return await queue.claim(batch_id, task_id, me, LEASE_S, dead=holder)
    return claim


class _Attempt:
    """The work under one claim."""

    def __init__(self, host: Host, claim: Claim, folder: Path) -> None:
        self._host, self._queue, self._claim, self._folder = host, host.queue, claim, folder
        self._task = Task.model_validate_json(claim.row.spec)
        self._options = BatchOptions.model_validate_json(claim.options)
        self._session_id = claim.row.session_id
        self._branch = f"agent-ls/{claim.batch_id}/{claim.task_id}"

    async def run(self) -> Outcome:
        renewing = asyncio.create_task(self._renew())
        working = asyncio.create_task(self._work())
        try:
            await asyncio.wait([renewing, working], return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                return await self._break_off(working, renewing.result())
            return working.result()
        except asyncio.CancelledError:
            # The worker ends in order, such as by Ctrl-C: another one may go on at once.
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            with suppress(TimeoutError, StoreError):
                async with asyncio.timeout(_GIVE_BACK_S):
                    await self._give_back()
            raise
        finally:
            for one in (renewing, working):
                one.cancel()
            await asyncio.gather(renewing, working, return_exceptions=True)

    async def _break_off(
        self, working: asyncio.Task[Outcome], why: Literal["lost", "stopped"]
    ) -> Outcome:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        if why == "lost":
            return "lost"
        return await self._give_back()

    async def _renew(self) -> Literal["lost", "stopped"]:
        """Renew the claim until it is lost or the batch is stopped."""
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + LEASE_S
        while True:
            await asyncio.sleep(RENEW_S)
            asked_s = loop.time()
            try:
                async with asyncio.timeout(max(ends_s - asked_s, 0)):
                    await self._find_session()
                    held = await self._queue.renew(
                        self._claim, LEASE_S, session_id=self._session_id
                    )
            except TimeoutError:
                _log.warning("%s: the claim could not be renewed in time", self._task.id)
                return "lost"
            except StoreError as error:
                _log.warning("%s: the claim was not renewed: %s", self._task.id, error)
                continue
            if held != "held":
                return held
            # From before the answer: the lease began at the latest then.
            ends_s = asked_s + LEASE_S

    async def _work(self) -> Outcome:
        try:
            return await self._worked()
        except (WorkspaceError, OSError) as error:
            # The same would happen on every host, or the user has to see to this one.
            return await self._fail(str(error))

    async def _worked(self) -> Outcome:
        files = self._task.check_files
        if files and not await asyncio.to_thread(Path(files).is_dir):
            # Before the run, which would be for nothing.
            raise WorkspaceError(f"{files}, the files of the check, is not a folder of this host")
        await self._find_session()
        if self._session_id != self._claim.row.session_id:
            # Before the folder of the earlier attempt, by which it was found, is forgotten.
            await self._queue.renew(self._claim, LEASE_S, session_id=self._session_id)
        if self._session_id:
            # The files and the journal are still those of the run that holds it.
            await self._until_free()
        state = await self._state()
        checkout = await self._checked_out(state)
        patch: bytes | None = None
        if state is not None and state.turn is not None and state.turn.ended is not None:
            # An earlier attempt may have laid the check's files over the agent's.
            patch = await checkout.kept_patch()
        else:
            is_open = state is not None and state.turn is not None
            code = await self._agent(checkout, is_open=is_open)
            await self._find_session()
            state = await self._state()
            has_ended = state is not None and state.turn is not None and state.turn.ended
            if code == EXIT_CONFIGURATION and not has_ended:
                # Such as without the model's key: here and now, but not for ever.
                return await self._give_back(self._last_words(code))
            if state is None or state.turn is None:
                if code < 0 or code == EXIT_CANCELLED:
                    return await self._give_back(is_death=True)
                words = self._last_words(code)
                return await self._fail(words)
            if state.turn.ended is None:
                # It was killed, such as for its memory; another attempt resumes it.
                return await self._give_back(is_death=True)
        return await self._settle(checkout, state, patch)

    async def _settle(
        self, checkout: Checkout, state: SessionState, patch: bytes | None
    ) -> Outcome:
        """Store what came of a turn; ``patch`` is what it had changed if that is known."""
        turn = result_of(state)
        if patch is None:
            patch = await checkout.patch(self._branch)
        result = TaskResult.of_turn(turn, socket.gethostname())
        result = result.model_copy(update={"branch": self._branch if patch else ""})
        is_done = turn.success and not turn.refused
        if self._task.check:
            try:
                result = await self._checked(checkout, result)
            except (WorkspaceError, OSError) as error:
                # The agent may have caused it, such as by a folder in a file's place.
                result = result.with_broken_check(str(error))
            is_done = is_done and result.check == "passed"
        done = TaskState.DONE if is_done else TaskState.FAILED
        outcome = await self._finish(done, result, patch, await self._cost_of(state))
        if outcome == "settled":
            await checkout.remove()
            self._log_file.unlink(missing_ok=True)
        return outcome

    async def _fail(self, why: str) -> Outcome:
        result = TaskResult(failure_reason=why, host=socket.gethostname())
        return await self._finish(TaskState.FAILED, result, b"", await self._cost_usd())

    async def _finish(
        self, state: TaskState, result: TaskResult, patch: bytes, cost_usd: float
    ) -> Outcome:
        is_stored = await self._queue.finish(
            self._claim,
            state,
            result.model_dump_json(),
            cost_usd=cost_usd,
            patch=patch,
            session_id=self._session_id,
        )
        return "settled" if is_stored else "lost"

    async def _give_back(self, why: str = "", *, is_death: bool = False) -> Outcome:
        """Give the claim back. Errors: ``RunRefused`` with ``why``, unless that is empty."""
        await self._find_session()
        result = TaskResult(failure_reason=why, host=socket.gethostname())
        is_back = await self._queue.give_back(
            self._claim,
            cost_usd=await self._cost_usd(),
            session_id=self._session_id,
            result=result.model_dump_json() if why else "",
            is_death=is_death,
        )
        if why and is_back:
            raise RunRefused(f"task {self._task.id}: {why}")
        return "given back" if is_back else "lost"

    async def _find_session(self) -> None:
        """Find the session of this task: of this attempt, or of an earlier one elsewhere."""
        for uri in (self._folder.as_uri(), self._claim.row.folder_uri):
            if self._session_id or not uri:
                return
            found = [one for one in await self._host.store.sessions([uri]) if not one.is_empty]
            self._session_id = found[0].session_id if found else ""

    async def _state(self) -> SessionState | None:
        if not self._session_id:
            return None
        return fold_all(await self._host.store.load(self._session_id))

    async def _cost_usd(self) -> float:
        """Return what the session has cost, with sub-agents that were broken off."""
        state = await self._state()
        return 0.0 if state is None else await self._cost_of(state)

    async def _cost_of(self, state: SessionState) -> float:
        cost_usd = state.usage.cost_usd
        if state.turn is not None:
            over = {one.child_id for one in state.turn.events.of(ChildEnded)}
            for one in state.turn.events.of(ChildStarted):
                if one.child_id not in over:
                    # What it spent is part of this session once it has ended.
                    child = fold_all(await self._host.store.load(one.child_id))
                    cost_usd += await self._cost_of(child)
        return cost_usd

    async def _checked_out(self, state: SessionState | None) -> Checkout:
        row, task = self._claim.row, self._task
        is_same_host = row.folder_uri == self._folder.as_uri()
        if state is not None and is_same_host:
            kept = existing(self._host.place, self._folder, task.repository, row.base_commit)
            if kept is not None:
                return kept
            # Until it is whole again, no attempt may take it for what the session left.
            await self._note_checkout("", row.base_commit)
        checkout = await check_out(
            self._host.place, self._folder, task.repository, task.ref, row.base_commit
        )
        if state is not None and state.turn is not None:
            await restore(checkout, state.turn, self._host.store)
        await self._note_checkout(self._folder.as_uri(), checkout.base_commit)
        return checkout

    async def _note_checkout(self, uri: str, base_commit: str) -> None:
        if not await self._queue.note_checkout(self._claim, uri, base_commit):
            raise _Broken("lost")

    async def _until_free(self) -> None:
        """Wait until no living process holds the session that the run will resume."""
        store = self._host.store
        while (holder := await store.lease_owner(self._session_id)) is not None:
            if is_dead(holder) or is_loose_lease(holder):
                return
            await asyncio.sleep(_LOOK_S)

    async def _agent(self, checkout: Checkout, *, is_open: bool) -> int:
        """Run ``agent-ls`` in the checkout; return its exit code. It is killed with this task."""
        words = ["resume", self._session_id] if is_open else ["run", "-"]
        words += self._words(checkout)
        prompt = self._prompt_file
        prompt.write_text(self._task.text, "utf-8")
        async with AsyncExitStack() as stack:
            stack.callback(prompt.unlink, missing_ok=True)
            descriptors = [
                os.open(prompt, os.O_RDONLY),
                os.open(self._log_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
            ]
            for one in descriptors:
                stack.callback(os.close, one)
            try:
                run = await start(
                    words,
                    cwd=checkout.folder.parent,
                    env=dict(os.environ),
                    descriptors=[descriptors[0], descriptors[1], descriptors[1]],
                    module=RUNS,
                )
            except LauncherLost:
                # Such as for its memory, as a run may be.
                return -signal.SIGKILL
            try:
                return await run.wait()
            finally:
                await asyncio.shield(asyncio.ensure_future(run.end()))

    def _words(self, checkout: Checkout) -> list[str]:
        task, options = self._task, self._options
        words = ["--workspace", str(checkout.folder), "--json", "--quiet"]
        words += ["--mode", task.mode or options.mode]
        if model := task.model or options.model:
            words += ["--model", model]
        words += ["--budget-usd", repr(self._claim.row.budget_usd)]
        if timeout_s := task.timeout_s or options.timeout_s:
            words += ["--timeout", repr(timeout_s)]
        # Another host can go on only with what the journal has of commands.
        return [*words, *_sets((*options.settings, *task.settings, "loop.watch_commands=true"))]

    async def _checked(self, checkout: Checkout, result: TaskResult) -> TaskResult:
        """Run the check, confined like the agent's commands."""
        if self._task.check_files:
            await asyncio.to_thread(lay_over, Path(self._task.check_files), checkout.folder)
        own = parse_sets((*self._options.settings, *self._task.settings))
        settings = load_settings(command_line=own).settings
        workspace = open_disk_workspace([checkout.folder])
        async with held_builder(settings, workspace) as builder:
            runner = ShellRunner(builder, is_wanted=settings.sandbox.use != "off")
            if runner.boundary == "missing":
                raise WorkspaceError(
                    "no sandbox works on this host, and the check runs what the agent wrote: see "
                    "`agent-ls doctor` there, or set sandbox.use=off where the host is the sandbox"
                )
            outcome = await runner.run(
                self._task.check, cwd=checkout.folder, timeout_s=self._task.check_timeout_s
            )
        output = await mask_slowly(outcome.output)
        return result.with_check(replace(outcome, output=output))

    @property
    def _prompt_file(self) -> Path:
        return self._folder.with_name(f"{self._folder.name}.prompt")

    @property
    def _log_file(self) -> Path:
        return self._folder.with_name(f"{self._folder.name}.log")

    def _last_words(self, code: int) -> str:
        """Return why a run ended without a turn."""
        text = self._log_file.read_text("utf-8", "replace").strip()
        return text[-_KEPT_LOG_CHARS:] or f"agent-ls run ended with exit code {code}"


def _sets(settings: Sequence[str]) -> list[str]:
    return [word for one in settings for word in ("--set", one)]
