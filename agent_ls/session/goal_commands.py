"""Runs the commands of a goal, recorded first, so that a restart can tell one was running."""

from __future__ import annotations

from dataclasses import dataclass

from agent_ls.domain.events import GoalCommandStarted
from agent_ls.loop.ports.commands import Bounds, CommandOutcome, Runner
from agent_ls.loop.ports.workspace import Unsaved, Workspace
from agent_ls.loop.state.recorder import Recorder


@dataclass(frozen=True, slots=True)
class RecordedGoalCommands:
    """The ``GoalCommands`` of one session."""

    recorder: Recorder
    runner: Runner
    workspace: Workspace

    async def run(self, command: str, *, timeout_s: float) -> tuple[CommandOutcome, Unsaved]:
        """Record the start of a command, save, then run it in the first folder."""
        unsaved = await self.workspace.save_dirty(can_show=self.runner.shows_texts)
        await self.recorder.emit(GoalCommandStarted(command=command))
        folder = self.workspace.roots[0].path
        bounds = Bounds(texts=unsaved.texts)
        outcome = await self.runner.run(command, cwd=folder, timeout_s=timeout_s, bounds=bounds)
        return outcome, unsaved
