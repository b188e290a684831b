"""Does the model only read, although the user asked for a change?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.calls import ToolResult
from agent_ls.domain.events import AdvisoryRaised, Answered, EditApplied, Event, ToolCallFinished
from agent_ls.domain.modes import Mode
from agent_ls.domain.record import Record
from agent_ls.domain.verdicts import CheckVerdict, Nudge, Proceed
from agent_ls.loop.evidence.user_intent import asks_for_change
from agent_ls.loop.state.view import TurnView

_ALL_READ = (
    "You have read many files and changed none, although the user asked for a change. You very "
    "likely know enough: make the first edit now, or say what is missing."
)
_NOTHING_NEW = (
    "For several steps you have hardly seen a new file, and nothing is changed yet, although the "
    "user asked for a change. Make the edit with what you know, or say what blocks you."
)


class ExplorationOptions(Record):
    """How long a turn that is to change something may only look."""

    max_files: int = Field(default=10, ge=0)
    """Different files read without an edit; 0: no limit."""
    max_steps: int = Field(default=15, ge=0)
    """Steps without an edit, once hardly any new file is read; 0: no limit."""
    newest_steps: int = Field(default=3, ge=1)
    """The steps in which new files are counted."""
    min_new_files: int = Field(default=2, ge=1)
    """Fewer new files than this in those steps are hardly any."""


@dataclass(frozen=True, slots=True)
class Exploration:
    """Nudges a model that reads without editing: once for many files, once for nothing new.

    Source: S0, exploration saturation.
    """

    name: ClassVar[str] = "exploration"
    options: ExplorationOptions = ExplorationOptions()

    async def check(self, view: TurnView) -> CheckVerdict:
        is_edited = any(one.status == "applied" for one in view.each(EditApplied))
        if is_edited or view.is_silenced(self.name) or not _is_to_change(view):
            return Proceed()
        told = {one.text for one in view.each(AdvisoryRaised)}
        new_by_step = view.turn.events.tallied(_Reading).new_by_step
        options = self.options
        if options.max_files and sum(new_by_step) >= options.max_files and _ALL_READ not in told:
            return Nudge(_ALL_READ, priority=4)
        newest = sum(new_by_step[-options.newest_steps :])
        is_long = options.max_steps and len(new_by_step) >= options.max_steps
        if is_long and newest < options.min_new_files and _NOTHING_NEW not in told:
            return Nudge(_NOTHING_NEW, priority=4)
        return Proceed()


def _is_to_change(view: TurnView) -> bool:
    return view.mode is not Mode.PLAN and asks_for_change(view.user_words)


class _Reading:
    def __init__(self) -> None:
        self.new_by_step: list[int] = []
        self._seen: set[str] = set()

    def see(self, event: Event) -> None:
        match event:
            case Answered():
                self.new_by_step.append(0)
            case ToolCallFinished(result=ToolResult(data={"path": str(path), "version": _})) if (
                self.new_by_step and path not in self._seen
            ):
                self._seen.add(path)
                self.new_by_step[-1] += 1
            case _:
                pass
