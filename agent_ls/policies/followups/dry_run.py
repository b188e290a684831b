"""Is this a dry run? Then record what the call would have done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.calls import Effect, ToolResult
from agent_ls.domain.events import EffectSimulated
from agent_ls.loop.extension_points import FollowUpOutcome, PlannedCall
from agent_ls.loop.state.view import TurnView

_SIMULATED = (Effect.WRITE, Effect.EXECUTE)
_MAX_CHARS = 200


@dataclass(frozen=True, slots=True)
class DryRun:
    """Records changes and commands that were only simulated. Source: S2, dry run."""

    name: ClassVar[str] = "dry_run"

    async def follow(
        self, planned: PlannedCall, result: ToolResult, view: TurnView
    ) -> FollowUpOutcome:
        is_simulated = view.session.is_dry_run and planned.effect in _SIMULATED
        if not is_simulated or result.error is not None:
            return FollowUpOutcome(result)
        command = getattr(planned.arguments, "command", None)
        about = command if isinstance(command, str) else " ".join(planned.paths)
        what = f"{planned.tool.name} {about}".partition("\n")[0][:_MAX_CHARS]
        text = f"{result.text}\n(Dry run: nothing was really done.)"
        facts = result.data if isinstance(result.data, dict) else {}
        data = {**facts, "simulated": True}
        told = result.model_copy(update={"text": text, "data": data})
        return FollowUpOutcome(told, (EffectSimulated(what=what),))
