"""Runs the commands of a goal, recorded first, so that a restart can tell one was running."""

from __future__ import annotations

from dataclasses import dataclass

from agent_ls.domain.events import GoalCommandStarted
from agent_ls.loop.ports.commands import CommandOutcome, Runner
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.recorder import Recorder


@dataclass(frozen=True, slots=True)
class RecordedGoalCommands:
    """The ``GoalCommands`` of one session."""

    recorder: Recorder
    runner: Runner
    workspace: Workspace

    async def run(self, command: str, *, timeout_s: float) -> CommandOutcome:
        """Record the start of a command, then run it in the first folder."""
        await self.recorder.emit(GoalCommandStarted(command=command))
        folder = self.workspace.roots[0].path
        return await self.runner.run(command, cwd=folder, timeout_s=timeout_s)
