"""Checks in the background: for each checker and asker only the newest one.

Edits that follow each other at once would each have their own compiler, and an answer about older
texts could come last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_ls.domain.findings import CheckReport

_Texts = Mapping[str, str | None]
_Look = Callable[[_Texts, bool], Coroutine[Any, Any, CheckReport]]
"""Asks about texts; True: what was said earlier does not count."""
_Task = asyncio.Task[CheckReport]
_Who = tuple[str, str, str]
"""The checker, the asker, and what else parts questions of which each is to be answered."""
_END_S = 5.0
"""What is killed is gone long before."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be compared."""

    before: _Texts
    now: _Texts
    others: str
    """Stands for the other files' unsaved texts, which checkers see too."""
    by_others: frozenset[str] = field(default=frozenset(), compare=False)
    """The files that others changed as well."""
    anew: bool = field(default=False, compare=False)
    """Nothing that was said earlier counts."""
    commands: int = field(default=0, compare=False)
    """How many the asker had run: each may have changed what else there is, or installed it."""


_Compare = Callable[[CheckReport, CheckReport, Question], CheckReport]


@dataclass(slots=True)
class _Lane:
    """What one asker wants of one checker."""

    question: Question | None = None
    check: _Task | None = None
    baseline: _Task | None = None
    """What the checker says of the texts from before; asked once, whatever becomes of checks."""
    is_anew: bool = False
    """Whether the check is to ask anew; who joins while it runs may want that."""
    ending: set[_Task] = field(default_factory=set[_Task])
    """Those that were broken off, until their programs are gone."""

    def answers(self, question: Question) -> bool:
        """Say whether the check is an answer to this question."""
        if self.question != question or self.question is None or self.check is None:
            return False
        if self.check.done() and (self.check.cancelled() or self.check.result().problems):
            # What did not work may work the next time.
            return False
        if self.check.done() and (self.check.cancelled() or self.check.result().problems):
            # What did not work may work the next time.
            return False
        if question.anew and self.question.commands < question.commands:
            return False
        return not (question.anew and self.check.done())

    def drop_check(self) -> None:
        self._end(self.check)
        self.question = self.check = None

    def drop_baseline(self) -> None:
        self._end(self.baseline)
        self.baseline = None

    def _end(self, task: _Task | None) -> None:
        if task is not None and task.cancel():
            self.ending.add(task)
            task.add_done_callback(self.ending.discard)


@dataclass(frozen=True, slots=True)
class NewestChecks:
    """The newest check of each checker and asker, until the asker is let go."""

    _lanes: dict[_Who, _Lane] = field(default_factory=dict[_Who, _Lane], init=False)

    async def ask(
        self,
        who: _Who,
        question: Question,
        look: _Look,
        compare: _Compare,
        *,
        within_s: float | None,
    ) -> CheckReport | None:
        """Return what is new.

        None when that takes longer than ``within_s``: it goes on, and the same question finds its
        answer. None also when newer texts are asked about meanwhile.
        """
        lane = self._lanes.setdefault(who, _Lane())
        if not lane.answers(question):
            self._begin(lane, question, look, compare)
        lane.is_anew |= question.anew
        check = lane.check
        assert check is not None
        await asyncio.wait([check], timeout=within_s)
        return check.result() if check.done() and not check.cancelled() else None

    def drop(self, checker: str, asker: str) -> None:
        """Break off the check of a checker whose texts are as before."""
        if lane := self._lanes.get((checker, asker, "")):
            lane.drop_check()

    async def let_go(self, asker: str) -> None:
        """Break off all of an asker's checks, and wait for the end of their programs."""
        ending: set[_Task] = set()
        for who in [who for who in self._lanes if who[1] == asker]:
            lane = self._lanes.pop(who)
            lane.drop_check()
            lane.drop_baseline()
            ending |= lane.ending
        if ending:
            await asyncio.wait(ending, timeout=_END_S)

    def _begin(self, lane: _Lane, question: Question, look: _Look, compare: _Compare) -> None:
        known = lane.question
        if known is None or (known.before, known.others) != (question.before, question.others):
            lane.drop_baseline()
        lane.drop_check()

        async def run() -> CheckReport:
            if lane.ending:
                # Of several changes at once only the last one starts a program beside that.
                await asyncio.wait(set(lane.ending))
            return await _compared(lane, question, look, compare)

        lane.question, lane.is_anew = question, question.anew
        lane.check = asyncio.create_task(run())


async def _compared(lane: _Lane, question: Question, look: _Look, compare: _Compare) -> CheckReport:
    is_old = lane.baseline is not None
    baseline_task = _baseline(lane, question, look, anew=False)
    report = await look(question.now, question.anew)
    # Whoever breaks off this check leaves the baseline to the next one.
    baseline = await asyncio.shield(baseline_task)
    said = compare(baseline, report, question)
    if lane.is_anew and is_old and said.findings:
        # Files beside these may have changed since somebody looked at what was there before.
        lane.baseline = None
        baseline = await asyncio.shield(_baseline(lane, question, look, anew=True))
        said = compare(baseline, report, question)
    return said


def _baseline(lane: _Lane, question: Question, look: _Look, *, anew: bool) -> _Task:
    task = lane.baseline
    if task is None or (task.done() and (task.cancelled() or task.result().problems)):
        # What did not work may work the next time.
        task = lane.baseline = asyncio.create_task(look(question.before, anew))
    return task
