"""The newest check of each checker, for each who asks: one at a time, whoever waits for it.

Edits that follow each other at once would each have their own compiler, and an answer about older
texts could come last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from agent_ls.domain.findings import CheckReport

_Texts = Mapping[str, str | None]
_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Compared:
    """What a check compares."""

    before: _Texts
    now: _Texts
    others: str
    """Stands for the other files' unsaved texts, which checkers see too."""


@dataclass(eq=False, slots=True)
class Check:
    """One check, running or answered."""

    about: Compared
    is_anew: bool
    """Whether what was said earlier counts; who joins while it runs may want that it does not."""
    commands: int
    """How many the asker had run: each may have changed what else there is, or installed it."""
    is_told: bool = False
    """Whether anybody has had the answer."""
    newer: Check | None = None
    """The one that tells all that this one would have, and was begun in its place."""
    task: asyncio.Task[CheckReport] = field(init=False)

    @property
    def newest(self) -> Check:
        """Return the one whose answer counts."""
        return self if self.newer is None else self.newer.newest

    def serves(self, about: Compared, *, anew: bool, commands: int) -> bool:
        """Say whether its answer is one to this question."""
        if self.about != about or (anew and self.commands < commands):
            return False
        if not self.task.done():
            return True
        # What did not work may work the next time, once somebody knows of it.
        has_failed = self.task.exception() is not None or bool(self.task.result().problems)
        return not anew and not (self.is_told and has_failed)


@dataclass(frozen=True, slots=True)
class NewestCheck:
    """The newest check of each checker and asker, until the asker lets go of it."""

    _checks: dict[_Key, Check] = field(default_factory=dict[_Key, Check], init=False)
    _ending: set[tuple[_Key, asyncio.Task[CheckReport]]] = field(
        default_factory=set[tuple[_Key, asyncio.Task[CheckReport]]], init=False
    )
    """Those that were broken off for a newer one, until their programs are gone."""

    async def ask(
        self,
        checker: str,
        asker: str,
        about: Compared,
        look: Callable[[Check], Coroutine[Any, Any, CheckReport]],
        *,
        anew: bool,
        commands: int,
        within_s: float | None,
    ) -> CheckReport | None:
        """Return what ``look`` returns for the newest texts that the asker has asked about.

        None when that takes longer than ``within_s``: it goes on, and the same question finds it.
        """
        key = (checker, asker)
        check = self._checks.get(key)
        if check is None or not check.serves(about, anew=anew, commands=commands):
            check = self._begin(key, Check(about, anew, commands), look)
        check.is_anew |= anew
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while not (check := check.newest).task.done():
                    await asyncio.wait([check.task])
        if not check.task.done() or check.task.cancelled():
            return None
        check.is_told = True
        return check.task.result()

    def let_go(self, asker: str, checker: str = "") -> list[asyncio.Task[CheckReport]]:
        """Break off and forget what an asker has asked, of one checker or of all; return what has
        yet to come to its end.
        """

        def is_meant(key: _Key) -> bool:
            return key[1] == asker and checker in ("", key[0])

        gone = [self._checks.pop(key) for key in list(self._checks) if is_meant(key)]
        ending = [task for key, task in self._ending if is_meant(key)]
        return [*ending, *(check.task for check in gone if check.task.cancel())]

    def _begin(
        self, key: _Key, check: Check, look: Callable[[Check], Coroutine[Any, Any, CheckReport]]
    ) -> Check:
        older = self._checks.get(key)

        async def run() -> CheckReport:
            if older is not None and not older.task.done():
                # Of several changes at once only the last one starts a program beside that.
                await asyncio.wait([older.task])
            return await look(check)

        check.task = asyncio.create_task(run())
        if older is not None:
            if check.about.now.keys() >= older.about.now.keys():
                older.newer = check
            if older.task.cancel():
                self._ending.add((key, older.task))
                older.task.add_done_callback(lambda task: self._ending.discard((key, task)))
        self._checks[key] = check
        return check
