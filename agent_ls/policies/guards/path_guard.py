"""May the call touch the files it names?"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, assert_never

from agent_ls.domain.calls import Effect
from agent_ls.domain.verdicts import Allow, Ask, Deny, GuardVerdict
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.ports.workspace import Root, Workspace
from agent_ls.loop.state.view import TurnView
from agent_ls.safety.control_files import judge_read, judge_write


@dataclass(frozen=True, slots=True)
class PathGuard:
    """Denies paths outside the workspace, and asks for files that steer other programs.

    Applies in every mode, whatever was granted. Source: S0 safety check, S2 path rules,
    S4 least privilege.
    """

    name: ClassVar[str] = "path_guard"
    workspace: Workspace

    async def judge(self, planned: PlannedCall, view: TurnView) -> GuardVerdict:
        if not planned.paths:
            return Allow()
        # Resolving links reads the disk, which may be slow.
        return await asyncio.to_thread(
            _strictest, planned.paths, self.workspace.roots, planned.effect
        )


def _strictest(paths: Sequence[str], roots: Sequence[Root], effect: Effect) -> GuardVerdict:
    judge = judge_write if effect is Effect.WRITE else judge_read
    reasons: dict[str, None] = {}
    for path in paths:
        verdict = judge(path, roots)
        match verdict:
            case Deny():
                return verdict
            case Ask(reason=reason):
                reasons[reason] = None
            case Allow():
                pass
            case _:
                assert_never(verdict)
    return Ask(" ".join(reasons), broad=False) if reasons else Allow()
