"""Runs a batch: submits what the store has not finished, until nothing more can be done.

Dask is only told what to try. It forgets, repeats and loses tasks, and none of that matters: what a
worker may do, the claim in the store says.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from agent_ls import __version__
from agent_ls.batch.cluster import RESOURCE
from agent_ls.batch.worker import run_task
from agent_ls.domain.errors import SettingsError, StoreError
from agent_ls.store.batch_queue import FINISHED, BatchQueue, Look, TaskRow, TaskState

_LOOK_S = 0.5
_AGAIN_S = 2.0
"""After a refusal: how long to wait before the next try."""
_AFTER_ERROR_S = 10.0
_AWAY_S = 20.0
"""How long the scheduler may be away; what runs is resumed by ``agent-ls batch resume``."""
_ERRORS_S = 300.0
"""How long workers may report nothing but errors, such as that the store is away."""
_ERRORS_HERE_S = 15.0
"""Those of this machine, whose settings are the driver's own."""
_STORE_AWAY_S = 60.0
_NO_WORKER_S = 10.0
"""How often workers are looked for; the user is told once that there are none."""
_DIED = ("KilledWorker", "FutureCancelledError")
"""What Dask raises for a worker that died."""

End = Literal["finished", "no money", "stopped", "scheduler lost"]


@dataclass(slots=True)
class _Tries:
    """What was submitted, and when tasks that were refused are tried again."""

    running: dict[str, Any] = field(default_factory=dict[str, Any])
    not_before_s: dict[str, float] = field(default_factory=dict[str, float])
    count: int = 0


class Driver:
    """One batch on one Dask cluster."""

    def __init__(
        self,
        queue: BatchQueue,
        client: Any,
        batch_id: str,
        *,
        show: Callable[[Sequence[TaskRow]], None],
        tell: Callable[[str], None],
    ) -> None:
        """``show`` gets the tasks now and then, ``tell`` what the user should know.

        ``spec`` and ``result`` are read only of tasks that have ended since the last time.
        """
        self._queue, self._client, self._batch_id = queue, client, batch_id
        self._show, self._tell = show, tell
        self._tries = _Tries()
        self._told: set[str] = set()
        self._shown: set[str] = set()
        """Finished tasks that ``show`` has got whole."""
        self._has_ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._seen_s = self._loop.time()
        self._store_away_s = 0.0
        """Since when the store is away; 0: it is not."""
        self._looked_s = self._loop.time()
        """When workers were last looked for."""
        self._failing_s = 0.0
        """When workers began to report nothing but errors; 0: they do not."""

    async def run(self) -> End:
        """Run to the end. Errors: ``SettingsError`` if the workers cannot run it at all."""
        while True:
            look = await self._look()
            if look is None:
                await self._wait()
                continue
            await self._collect()
            left = [task for task in look.tasks if task.state not in FINISHED]
            if not left:
                return "finished"
            if any(task.session_id for task in left if self._is_held(task, look)):
                # A run goes on, so errors are not all there is.
                self._failing_s = 0.0
            affordable = look.affordable()
            if end := self._end(look, left, affordable):
                return end
            if look.batch.is_stopped:
                await self._cancel(left)
            elif self._is_connected:
                self._submit([task for task in left if task.task_id in affordable])
                await self._look_for_workers()
            await self._wait()

    async def _look(self) -> Look | None:
        """Read and show how far the batch is; None while the store is away.

        Errors: ``StoreError`` if that lasts.
        """
        try:
            look = await self._queue.look(self._batch_id)
            ended = [
                task.task_id
                for task in look.tasks
                if task.state in FINISHED and task.task_id not in self._shown
            ]
            # At the beginning there may be more of them than a query has room for.
            only = ended if self._shown else ()
            read = await self._queue.tasks(self._batch_id, only) if ended else []
        except StoreError as error:
            now_s = self._loop.time()
            self._store_away_s = self._store_away_s or now_s
            if now_s - self._store_away_s >= _STORE_AWAY_S:
                raise
            self._tell_once(f"{error}; it is tried again for {_STORE_AWAY_S:.0f} s")
            return None
        self._store_away_s = 0.0
        self._shown.update(ended)
        whole = {task.task_id: task for task in read}
        self._show([whole.get(task.task_id, task) for task in look.tasks])
        return look

    async def _cancel(self, left: Sequence[TaskRow]) -> None:
        """Take back what waits for a worker: no worker might ever come for it."""
        running = {task.task_id for task in left if task.state is TaskState.RUNNING}
        waiting = [one for name, one in self._tries.running.items() if name not in running]
        if waiting and self._is_connected:
            await self._client.cancel(waiting)

    async def _look_for_workers(self) -> None:
        now_s = self._loop.time()
        # Workers of a cluster of this process are started anew.
        if self._client.cluster is not None or now_s - self._looked_s < _NO_WORKER_S:
            return
        self._looked_s = now_s
        try:
            found: Mapping[str, Any] = await self._client.scheduler.identity()
        except OSError:
            # The scheduler went away; the end says so.
            return
        workers: Mapping[str, Mapping[str, Any]] = found["workers"]
        if any(RESOURCE in (one.get("resources") or ()) for one in workers.values()):
            return
        self._tell_once(
            f"no worker offers the resource {RESOURCE!r}: start workers with "
            f"`dask worker … --resources {RESOURCE}=1`; the batch waits for one"
        )

    def _end(self, look: Look, left: Sequence[TaskRow], affordable: set[str]) -> End | None:
        """Say whether nothing more can come of it."""
        now_s = self._loop.time()
        if self._is_connected:
            self._seen_s = now_s
        elif now_s - self._seen_s >= _AWAY_S:
            return "scheduler lost"
        if self._tries.running or not self._is_connected:
            return None
        if any(self._is_held(task, look) for task in left):
            # A worker of an earlier driver may still be at it.
            return None
        if look.batch.is_stopped:
            return "stopped"
        return "no money" if affordable.isdisjoint(task.task_id for task in left) else None

    @staticmethod
    def _is_held(task: TaskRow, look: Look) -> bool:
        return task.state is TaskState.RUNNING and task.lease_ms > look.now_ms

    def _submit(self, left: Sequence[TaskRow]) -> None:
        tries, now_s = self._tries, self._loop.time()
        for task in left:
            name = task.task_id
            if name in tries.running or now_s < tries.not_before_s.get(name, 0.0):
                continue
            tries.count += 1
            request = {"version": __version__, "batch": self._batch_id, "task": name}
            future = tries.running[name] = self._client.submit(
                run_task,
                json.dumps(request),
                # A new name for each try: Dask never computes a known name again.
                key=f"{self._batch_id}-{name}-{tries.count}",
                pure=False,
                retries=0,
                resources={RESOURCE: 1},
            )
            future.add_done_callback(self._on_done)

    def _on_done(self, _future: object) -> None:
        # Dask calls this on a thread of its own.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._has_ended.set)

    async def _collect(self) -> None:
        tries = self._tries
        for name, future in list(tries.running.items()):
            if not future.done():
                continue
            del tries.running[name]
            outcome = await self._outcome(future)
            if outcome not in ("settled", "finished"):
                wait_s = _AFTER_ERROR_S if outcome == "error" else _AGAIN_S
                tries.not_before_s[name] = self._loop.time() + wait_s

    async def _outcome(self, future: Any) -> str:
        """Return what a worker said; a worker that died said nothing."""
        if future.status not in ("finished", "error"):
            return "lost"
        try:
            # The answer is fetched only now, so a worker may have died with it.
            answer = json.loads(await future.result())
        except Exception as error:
            if type(error).__name__ in _DIED:
                return "lost"
            # Such as a worker without agent-ls, where the function cannot be read.
            return self._failed(f"Dask could not run a task: {type(error).__name__}: {error}")
        if "error" in answer:
            if answer["final"]:
                raise SettingsError(answer["error"])
            return self._failed(answer["error"])
        self._failing_s = 0.0
        return answer["outcome"]

    def _failed(self, words: str) -> Literal["error"]:
        """Tell an error once. Errors: ``SettingsError`` if there was nothing else for long."""
        now_s = self._loop.time()
        self._failing_s = self._failing_s or now_s
        limit_s = _ERRORS_S if self._client.cluster is None else _ERRORS_HERE_S
        if now_s - self._failing_s >= limit_s:
            raise SettingsError(
                f"for {limit_s:.0f} s no task got on: {words}\nWhen that is mended, "
                f"`agent-ls batch resume {self._batch_id}` goes on."
            )
        self._tell_once(words)
        return "error"

    def _tell_once(self, words: str) -> None:
        if words not in self._told:
            self._told.add(words)
            self._tell(words)

    async def _wait(self) -> None:
        """Wait for a task's end, but not long: the store may say more."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_S):
                await self._has_ended.wait()
        self._has_ended.clear()

    @property
    def _is_connected(self) -> bool:
        return self._client.status == "running"
