"""Checks of one checker that overlap: whoever asks about older texts is told of the newest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_ls.domain.findings import CheckReport

_Texts = Mapping[str, str | None]


@dataclass(eq=False, slots=True)
class _Check:
    before: _Texts
    now: _Texts
    task: asyncio.Task[CheckReport]
    waiting: int = 1
    newer: _Check | None = None

    @property
    def newest(self) -> _Check:
        """Return the one whose answer counts."""
        return self if self.newer is None else self.newer.newest

    def includes(self, older: _Check) -> bool:
        """Say whether this one's answer tells all that the older one's would."""
        return self.before.items() >= older.before.items()


@dataclass(frozen=True, slots=True)
class NewestCheck:
    """The newest check of each checker, while it runs.

    Edits that follow each other at once would each have their own compiler, and an answer about
    older texts could come last.
    """

    _running: dict[str, _Check] = field(default_factory=dict[str, _Check], init=False)

    async def ask(
        self,
        checker: str,
        before: _Texts,
        now: _Texts,
        check: Callable[[], Coroutine[Any, Any, CheckReport]],
    ) -> CheckReport:
        """Return what ``check`` returns, or what a later one does of the same files and more."""
        asked = self._running.get(checker)
        if asked is not None and (asked.before, asked.now) == (before, now):
            asked.waiting += 1
        else:
            asked = self._begin(checker, _Check(before, now, asyncio.create_task(check())))
        while True:
            try:
                await asyncio.wait([asked.task])
            except asyncio.CancelledError:
                self._leave(checker, asked.newest)
                raise
            if asked.newer is None:
                self._forget(checker, asked)
                return asked.task.result()
            asked = asked.newer

    def _begin(self, checker: str, check: _Check) -> _Check:
        older = self._running.get(checker)
        if older is not None and check.includes(older):
            check.waiting += older.waiting
            older.newer = check
            older.task.cancel()
        self._running[checker] = check
        return check

    def _leave(self, checker: str, check: _Check) -> None:
        check.waiting -= 1
        if check.waiting == 0:
            check.task.cancel()
            self._forget(checker, check)

    def _forget(self, checker: str, check: _Check) -> None:
        if self._running.get(checker) is check:
            del self._running[checker]
