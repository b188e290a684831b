"""What fills the model's window: the estimates the loop decides by, by where they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent_ls.domain.calls import ToolKind
from agent_ls.domain.events import RequestPrepared
from agent_ls.domain.messages import Message
from agent_ls.loop.machine.prefix import project_rules
from agent_ls.loop.state.compaction import CHARS_PER_TOKEN
from agent_ls.loop.state.view import message_tokens, spec_tokens
from agent_ls.loop.turn import Turn

WindowPart = Literal["system", "rules", "tools", "files", "results", "history"]
"""``files``: what the model has read. ``results``: what other calls came to. ``history``: prompts,
answers and what was attached."""


@dataclass(frozen=True, slots=True)
class WindowUse:
    """How full the window is."""

    used_tokens: int
    """Of the next request, as far as it is known: the provider's count of the last one, and an
    estimate of what came since."""
    window_tokens: int
    """0: not known."""
    parts: dict[WindowPart, int]
    """Estimates, made to add up to ``used_tokens``."""


async def window_use(turn: Turn) -> WindowUse:
    """Return what the next request of a session would hold."""
    view, prefix = turn.view, turn.session.prefix
    parts: dict[WindowPart, int] = dict.fromkeys(
        ("system", "rules", "tools", "files", "results", "history"), 0
    )
    if prefix is not None:
        rules = (await project_rules(turn, prefix.nested_rules)).text
        # Rules that were changed since count from the next turn on.
        of_rules = len(rules) if rules and rules in prefix.system else 0
        parts["rules"] = of_rules // CHARS_PER_TOKEN
        parts["system"] = (len(prefix.system) - of_rules) // CHARS_PER_TOKEN
        parts["tools"] = sum(map(spec_tokens, turn.specs))
    for message in view.messages:
        parts[_part_of(message, turn)] += message_tokens(message)
    estimated = sum(parts.values())
    used = view.context_tokens
    if estimated:
        parts = {name: round(tokens * used / estimated) for name, tokens in parts.items()}
    sent = next(view.turn.events.newest(RequestPrepared), None)
    return WindowUse(used, sent.window_tokens if sent else 0, parts)


def _part_of(message: Message, turn: Turn) -> WindowPart:
    if message.role != "tool":
        return "history"
    tool = turn.services.tools.get(message.tool)
    return "files" if tool is not None and tool.kind is ToolKind.READ else "results"
