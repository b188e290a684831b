"""Makes the calls that a custom command's text asks for, before the model's first answer.

They pass the same guards as the model's, and their results stand in the conversation as if the
model had made them.
"""

from __future__ import annotations

import json

from agent_ls.domain.events import Answered, Moved
from agent_ls.domain.messages import OPENING_ID, AssistantMessage
from agent_ls.loop.machine.attempts import call_of
from agent_ls.loop.turn import Turn


async def take_opening_calls(turn: Turn) -> bool:
    """Make the turn's opening calls the current ones, once a turn; False when there are none."""
    calls = turn.state.limits.opening
    if not calls or turn.state.events.of(Moved):
        return False
    if not turn.state.calls:
        # Else the process died between this and the move.
        taken = tuple(
            call_of(
                turn,
                f"{OPENING_ID}{turn.state.turn_id.removeprefix('trn_')}_{number}",
                one.tool,
                json.dumps(one.arguments, ensure_ascii=False),
            )
            for number, one in enumerate(calls)
        )
        await turn.emit(
            Answered(
                step_id=turn.services.ids.new("stp"),
                message=AssistantMessage(calls=taken),
                origin="command",
            )
        )
    return True
