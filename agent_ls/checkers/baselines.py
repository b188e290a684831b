"""What project-wide checkers said of texts from before: asked once, and again after every edit."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from agent_ls.domain.findings import CheckReport

Key = tuple[str, str]
"""A checker's name, and what stands for the texts."""
_Tasks = OrderedDict[Key, asyncio.Task[CheckReport]]
_KEPT = 32


@dataclass(frozen=True, slots=True)
class Baselines:
    """The newest of them; one that is still looked for is ended when nobody wants it any more."""

    _tasks: _Tasks = field(default_factory=_Tasks, init=False)
    _wanted: dict[Key, Key] = field(default_factory=dict[Key, Key], init=False)
    """By checker and asker: what the asker has wanted last."""

    def knows(self, key: Key) -> bool:
        """Say whether somebody has asked for these texts."""
        return key in self._tasks

    async def get(
        self,
        key: Key,
        asker: str,
        check: Callable[[], Coroutine[Any, Any, CheckReport]],
        *,
        anew: bool = False,
    ) -> CheckReport:
        """Return what the checker says of the texts; with ``anew`` not what it has said before."""
        self._want(key, asker)
        task = self._tasks.get(key)
        if task is None or (anew and task.done()):
            task = self._tasks[key] = asyncio.create_task(check())
            for old in [one for one, its in self._tasks.items() if its.done()][:-_KEPT]:
                del self._tasks[old]
        self._tasks.move_to_end(key)
        # Who is cancelled stops waiting; the next one finds it done.
        report = await asyncio.shield(task)
        if report.problems and self._tasks.get(key) is task:
            # What did not work may work the next time.
            del self._tasks[key]
        return report

    def let_go(self, asker: str) -> list[asyncio.Task[CheckReport]]:
        """Forget what an asker wanted; return what is broken off and has yet to come to its end."""
        for one in [one for one in self._wanted if one[1] == asker]:
            del self._wanted[one]
        return self._end_unwanted()

    def _want(self, key: Key, asker: str) -> None:
        mine = (key[0], asker)
        if self._wanted.get(mine, key) != key:
            self._wanted[mine] = key
            self._end_unwanted()
        self._wanted[mine] = key

    def _end_unwanted(self) -> list[asyncio.Task[CheckReport]]:
        wanted = set(self._wanted.values())
        gone = [key for key, task in self._tasks.items() if key not in wanted and not task.done()]
        tasks = [self._tasks.pop(key) for key in gone]
        return [task for task in tasks if task.cancel()]
