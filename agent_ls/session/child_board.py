"""Shares sub-agents' findings with later and running sub-agents of the same turn.

Source: seed 000 blackboard.
"""

from __future__ import annotations

from agent_ls.domain.events import AdvisoryRaised, ChildEnded
from agent_ls.loop.state.state import TurnState

_MAX_CHARS = 2_000


def found_so_far(turn: TurnState) -> str:
    """Return the findings to append to the next sub-agent's task; empty when there are none."""
    found = [
        f"- {ended.kind}: {finding}"
        for ended in turn.events.of(ChildEnded)
        for finding in ended.report.findings
    ]
    if not found:
        return ""
    return f"\n\nOther sub-agents have found:\n{chr(10).join(found)}"[:_MAX_CHARS]


def news_of(ended: ChildEnded) -> AdvisoryRaised | None:
    """Return the message to running sub-agents when one has ended; None when it found nothing."""
    if not ended.report.findings:
        return None
    found = "\n".join(f"- {one}" for one in ended.report.findings)[:_MAX_CHARS]
    text = f"Another sub-agent ({ended.kind}) has found:\n{found}"
    return AdvisoryRaised(origin="board", text=text, priority=3)
