"""What should the model be reminded of?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field, PositiveInt

from agent_ls.domain.calls import Effect
from agent_ls.domain.events import (
    Answered,
    Compacted,
    EditApplied,
    Event,
    PlanUpdated,
    RequestPrepared,
    SessionResumed,
    ToolCallFinished,
)
from agent_ls.domain.failure_kinds import FailureKind
from agent_ls.domain.modes import Mode
from agent_ls.domain.plans import PlanItem, PlanStatus
from agent_ls.domain.record import Record
from agent_ls.domain.sentences import one_line
from agent_ls.domain.verdicts import Slot
from agent_ls.loop.evidence.unsettled_failures import UnsettledFailures
from agent_ls.loop.state.view import TurnView

_STANDING = "Where you stand:"
_TASK = f"{_STANDING}\nTask: "
_VERIFY = "Nothing has been run since your last"
_PLAN = "You have changed files in several steps without a plan"
_MAX_TASK_CHARS = 800
_MAX_WORDS_CHARS = 200
_MAX_NAMED = 8

_SUGGESTIONS: dict[FailureKind, str] = {
    FailureKind.PERMISSION: "It is not allowed: use what is, or tell the user what you need.",
    FailureKind.NOT_FOUND: "Search for the right name before you use one.",
    FailureKind.SYNTAX: "Read the lines around the place, and write the whole construct anew.",
    FailureKind.TYPE: "Look up how the name is declared before you use it.",
    FailureKind.RUNTIME: "Find the cause in the last lines of the error before you run it again.",
    FailureKind.NETWORK: "Do without the network if you can; it may not be there.",
    FailureKind.TIMEOUT: "Ask for less at once: one file, one test, a narrower search.",
    FailureKind.VALIDATION: "Read the tool's schema, and give exactly those arguments.",
    FailureKind.LOGIC: "Compare what was expected with what came; mend the code, not the test.",
    FailureKind.RESOURCE: "The machine has no more of it: use less, or tell the user.",
    FailureKind.UNKNOWN: "Look at it from another side before you try again.",
}


class ReminderOptions(Record):
    """When the model is reminded of what; where 0 is allowed, it switches that part off."""

    above_tokens: tuple[int, ...] = (0, 10_000, 30_000, 60_000)
    """Conversation sizes, rising, from which the entry at the same position in ``every_steps``
    holds. None: no reminders of task, plan and files."""
    every_steps: tuple[PositiveInt, ...] = (10, 7, 5, 3)
    """Steps between two reminders of task, plan and files."""
    on_first_step: bool = False
    """Remind in the first step too, although the task was just said. An open plan always counts."""
    min_failures: int = Field(default=2, ge=1)
    """Unsettled failures from which on they are listed in each request, not with the task alone."""
    max_age_steps: int = Field(default=8, ge=1)
    """A failure that has not come again for so many steps is left out."""
    max_failures: int = Field(default=5, ge=0)
    """The newest ones are listed; 0: none."""
    verify_after_edits: int = Field(default=8, ge=0)
    """Applied edits without a command in between, after which running tests is suggested."""
    plan_after_steps: int = Field(default=12, ge=0)
    """Steps of a turn that edits and has no plan, after which one is suggested."""
    max_tokens: int = Field(default=900, ge=0)
    """Size of a reminder; 0: none."""


@dataclass(frozen=True, slots=True)
class Reminder:
    """Says what a long conversation hides, in one text at the end of the request.

    Task, plan and files, the more often the longer the conversation is; plan and files after a
    compaction or a resume, where the task alone would be taken for a new one; failures that are not
    settled; tests or a plan when they are due, once. Source: S0, recitation, failure
    evidence, phases, resume orientation; S2, resume.
    """

    name: ClassVar[str] = "reminder"
    options: ReminderOptions = ReminderOptions()

    async def propose(self, view: TurnView) -> Slot | None:
        breaks, is_due = list(_breaks(view)), self._is_due(view)
        is_standing = is_due or bool(breaks)
        lines = [*breaks, *self._failures(view, 1 if is_standing else self.options.min_failures)]
        standing = [*(_task(view) if is_due else ()), *(_work(view) if is_standing else ())]
        lines += [_STANDING, *standing] if standing else []
        if not view.is_silenced(self.name) and view.mode is not Mode.PLAN:
            lines += filter(None, [self._verify(view) or self._plan(view)])
        if not lines or not self.options.max_tokens:
            return None
        return Slot(self.name, 2, self.options.max_tokens, "\n".join(lines))

    def _is_due(self, view: TurnView) -> bool:
        if view.steps == 0:
            # A plan that an earlier turn left open has not been mentioned in this one.
            return self.options.on_first_step or bool(_left(view.session.plan))
        rows = zip(self.options.above_tokens, self.options.every_steps, strict=False)
        reached = [every for above, every in rows if view.context_tokens >= above]
        return bool(reached) and _steps_since_standing(view) >= reached[-1]

    def _failures(self, view: TurnView, least: int) -> Iterator[str]:
        failures = view.turn.events.tallied(UnsettledFailures).of_last(self.options.max_age_steps)
        if not self.options.max_failures or sum(one.times for one in failures) < least:
            return
        yield "What has failed so far and is not settled; do not repeat it the same way:"
        suggested: set[FailureKind] = set()
        # The newest first, because the end may be cut.
        for one in reversed(failures[-self.options.max_failures :]):
            yield f"- {one}"
            if one.kind not in suggested:
                yield f"  {_SUGGESTIONS[one.kind]}"
                suggested.add(one.kind)

    def _verify(self, view: TurnView) -> str:
        since = view.turn.events.tallied(_SinceCommand)
        every = self.options.verify_after_edits
        if not every or since.edits < every or since.is_said:
            return ""
        return (
            f"{_VERIFY} {since.edits} edits. If the project has tests or a build, run the part "
            "that covers what you changed before you go on."
        )

    def _plan(self, view: TurnView) -> str:
        after = self.options.plan_after_steps
        if not after or view.steps < after or not view.turn.touched or view.session.plan:
            return ""
        if any(True for _ in view.each(PlanUpdated)) or _is_said(view, _PLAN):
            return ""
        return f"{_PLAN}. If more than two steps are left, write them down with update_plan."


def _breaks(view: TurnView) -> Iterator[str]:
    """Yield what interrupted the work since the last request."""
    if resumed := view.each_since(SessionResumed, RequestPrepared):
        yield _after_resume(len(resumed[-1].interrupted_calls))
    if view.each_since(Compacted, RequestPrepared):
        yield (
            "The conversation was shortened: its older part is the summary above. Take the "
            "summary as what happened, do not do finished work again, and go on at once."
        )


def _after_resume(interrupted: int) -> str:
    text = "The work was interrupted and goes on now, from where the conversation stands."
    if interrupted:
        calls = "one call" if interrupted == 1 else f"{interrupted} calls"
        text += (
            f" The effect of {calls} is unknown: look at what is really there before you repeat "
            "anything."
        )
    return f"{text} Files may have changed meanwhile."


def _task(view: TurnView) -> Iterator[str]:
    yield f"Task: {one_line(view.turn.prompt, _MAX_TASK_CHARS)}"
    if steers := view.user_words[1:]:
        yield f"The user added: {one_line(steers[-1], _MAX_WORDS_CHARS)}"


def _work(view: TurnView) -> Iterator[str]:
    if items := view.session.plan:
        left = [f"{one_line(one.text, _MAX_WORDS_CHARS)} ({one.status})" for one in _left(items)]
        rest = f"; next: {'; '.join(left[:_MAX_NAMED])}" if left else ""
        yield f"Plan: {len(items) - len(left)} of {len(items)} done{rest}"
    if files := list(view.turn.touched)[-_MAX_NAMED:]:
        yield f"Files you changed: {', '.join(files)}"


def _left(items: tuple[PlanItem, ...]) -> list[PlanItem]:
    return [one for one in items if one.status is not PlanStatus.COMPLETED]


def _steps_since_standing(view: TurnView) -> int:
    """Return how many steps ago task and plan were last said, or the turn began."""
    count = 0
    for stored in reversed(view.turn.events):
        match stored.event:
            case RequestPrepared(slots=slots) if any(_TASK in slot for slot in slots):
                break
            case Answered():
                count += 1
            case _:
                pass
    return count


class _SinceCommand:
    """Counts the edits since the last command, and notes whether the hint was given since."""

    def __init__(self) -> None:
        self.edits = 0
        self.is_said = False

    def see(self, event: Event) -> None:
        match event:
            case EditApplied(status="applied"):
                self.edits += 1
            case ToolCallFinished(effect=Effect.EXECUTE | Effect.DELEGATE):
                self.edits, self.is_said = 0, False
            case RequestPrepared(slots=slots) if any(_VERIFY in slot for slot in slots):
                self.is_said = True
            case _:
                pass


def _is_said(view: TurnView, words: str) -> bool:
    return any(words in slot for one in view.each(RequestPrepared) for slot in one.slots)
