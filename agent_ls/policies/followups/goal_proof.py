"""Has the model itself run one of the goal's commands? Then that proves it, or that it fails."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from agent_ls.domain.calls import ToolResult
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.events import GoalChecked
from agent_ls.domain.goals import Goal, Proof
from agent_ls.loop.extension_points import FollowUpOutcome, PlannedCall
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.view import TurnView

_CD = re.compile(r"\s*cd\s+(\"[^\"$`\\]+\"|'[^']+'|[^\s\"'$`\\;&|<>()*?~]+)\s*&&\s*(.+)", re.DOTALL)
"""A command that first goes to a folder, as models write it."""
_BOTH_OUTPUTS = re.compile(r"\s+2>&1\s*\Z")
"""Where errors are printed changes no exit code."""
_MAX_EVIDENCE_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class GoalProof:
    """Records a goal's command that the model ran to its end, so that no gate runs it again.

    It counts only in the folder where the goal runs it, and by its own exit code. Source: S4
    acceptance criteria.
    """

    name: ClassVar[str] = "goal_proof"
    workspace: Workspace

    async def follow(
        self, planned: PlannedCall, result: ToolResult, view: TurnView
    ) -> FollowUpOutcome:
        goal = view.goal
        match result.data:
            case {"exit_code": int(code)} if goal is not None:
                command = await asyncio.to_thread(self._command, planned, goal)
            case _:
                return FollowUpOutcome(result)
        if command is None:
            return FollowUpOutcome(result)
        proof = Proof(
            of=command,
            is_met=code == 0,
            by="command",
            exit_code=code,
            evidence=result.text[-_MAX_EVIDENCE_CHARS:],
        )
        checked = GoalChecked(origin=self.name, proofs=(proof,), call_id=planned.call.id)
        return FollowUpOutcome(result, (checked,))

    def _command(self, planned: PlannedCall, goal: Goal) -> str | None:
        """Return the goal's command that the call ran; None for another, or elsewhere."""
        command = str(getattr(planned.arguments, "command", ""))
        try:
            _, folder = self.workspace.locate(str(getattr(planned.arguments, "cwd", ".")))
        except WorkspaceError:
            return None
        if (moved := _CD.fullmatch(command)) is not None:
            folder, command = folder / Path(moved[1].strip("\"'")), moved[2]
        roots = self.workspace.roots
        if not roots or os.path.realpath(folder) != os.path.realpath(roots[0].path):
            return None
        words = _words(command)
        return next((one for one in goal.commands if _words(one) == words), None)


def _words(command: str) -> list[str]:
    """Return a command's words, so that spaces between them do not count."""
    plain = _BOTH_OUTPUTS.sub("", command.strip())
    if "\n" in plain:
        return [plain]
    try:
        # Quotes stay: a quoted star is another word.
        return shlex.split(plain, posix=False)
    except ValueError:
        return [plain]
