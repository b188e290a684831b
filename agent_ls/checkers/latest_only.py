"""Background checks: for each checker and asker only the newest one runs.

Otherwise every edit in quick succession would start a compiler, and an answer about older texts
could arrive last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_ls.domain.findings import CheckReport

_Texts = Mapping[str, str | None]
_Look = Callable[[_Texts, bool], Coroutine[Any, Any, CheckReport]]
"""Checks texts; True ignores cached results."""
_Task = asyncio.Task[CheckReport]
_Who = tuple[str, str, str]
"""Checker, asker, and a key for questions that are answered side by side."""
_END_S = 5.0
"""Time to wait for cancelled checks; killed programs end much sooner."""


@dataclass(frozen=True, slots=True)
class Question:
    """Two sets of texts to compare, and how."""

    before: _Texts
    now: _Texts
    unsaved_elsewhere: str
    """Digest of the unsaved texts of other files, since checkers see these too."""
    changed_by_others: frozenset[str] = field(default=frozenset(), compare=False)
    """Files that others changed too."""
    anew: bool = field(default=False, compare=False)
    """Ignore cached results."""
    commands: int = field(default=0, compare=False)
    """How many commands the asker had run: each may have changed or installed other files."""


_Compare = Callable[[CheckReport, CheckReport, Question], CheckReport]


@dataclass(slots=True)
class _Lane:
    """The current check of one checker for one asker."""

    question: Question | None = None
    check: _Task | None = None
    baseline: _Task | None = None
    """The check of the texts before; survives when the check is replaced."""
    is_anew: bool = False
    """Some caller wants no cached result: an old baseline is made again before findings count."""
    ending: set[_Task] = field(default_factory=set[_Task])
    """Cancelled checks whose programs may still run."""

    def answers(self, question: Question) -> bool:
        """Tell whether the current check answers this question."""
        if self.question != question or self.question is None or self.check is None:
            return False
        if self.check.done() and (self.check.cancelled() or self.check.result().problems):
            # A failed check is repeated, since it may work the next time.
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
    """The newest check of each checker and asker; ``cancel_all`` drops an asker's checks."""

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
        """Return the new findings; None after ``within_s`` or if a newer question replaces it.

        After a time-out the check continues, and asking the same question again returns its answer.
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
        """Cancel the check of a checker whose files have their original texts again."""
        if lane := self._lanes.get((checker, asker, "")):
            lane.drop_check()

    async def cancel_all(self, asker: str) -> None:
        """Cancel all checks of an asker, and wait for their programs to end."""
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
        if known is None or (known.before, known.unsaved_elsewhere) != (
            question.before,
            question.unsaved_elsewhere,
        ):
            lane.drop_baseline()
        lane.drop_check()

        async def run() -> CheckReport:
            if lane.ending:
                # Wait, so that among several quick changes only the last one starts a program.
                await asyncio.wait(set(lane.ending))
            return await _compared(lane, question, look, compare)

        lane.question, lane.is_anew = question, question.anew
        lane.check = asyncio.create_task(run())


async def _compared(lane: _Lane, question: Question, look: _Look, compare: _Compare) -> CheckReport:
    is_old = lane.baseline is not None
    baseline_task = _baseline(lane, question, look, anew=False)
    report = await look(question.now, question.anew)
    # Shielded: if this check is cancelled, the next one uses the baseline.
    baseline = await asyncio.shield(baseline_task)
    said = compare(baseline, report, question)
    if lane.is_anew and is_old and said.findings:
        # Other files may have changed since the baseline was made: repeat it.
        lane.baseline = None
        baseline = await asyncio.shield(_baseline(lane, question, look, anew=True))
        said = compare(baseline, report, question)
    return said


def _baseline(lane: _Lane, question: Question, look: _Look, *, anew: bool) -> _Task:
    task = lane.baseline
    if task is None or (task.done() and (task.cancelled() or task.result().problems)):
        # A failed check is repeated, since it may work the next time.
        task = lane.baseline = asyncio.create_task(look(question.before, anew))
    return task
