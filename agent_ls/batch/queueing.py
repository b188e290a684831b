"""Puts tasks into the queue, each with its budget, after a look at what could never run."""

from __future__ import annotations

import json
from collections.abc import Sequence

from agent_ls.batch.tasks import Task
from agent_ls.domain.errors import SettingsError
from agent_ls.store.batch_queue import Batch, BatchQueue, NewTask

DEFAULT_BUDGET_USD = 5.0


async def enqueue(
    queue: BatchQueue, batch: Batch, tasks: Sequence[Task], budget_usd: float
) -> None:
    """Store a batch; tasks without a budget get ``budget_usd``.

    Errors: ``SettingsError`` if a task may cost more than the whole batch.
    """
    new = [
        NewTask(
            task_id=task.id,
            spec=task.model_dump_json(),
            labels=json.dumps(sorted(task.labels), ensure_ascii=False),
            budget_usd=task.budget_usd or budget_usd,
        )
        for task in tasks
    ]
    for one in new:
        if batch.cap_usd is not None and one.budget_usd > batch.cap_usd:
            raise SettingsError(
                f"Task {one.task_id} may cost {one.budget_usd:g} USD, more than the cap of "
                f"{batch.cap_usd:g} USD: it could never begin."
            )
    await queue.add(batch, new)
