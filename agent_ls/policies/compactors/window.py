"""Shortens the conversation without a model: the oldest part becomes a mechanical summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, Field, ValidationError

from agent_ls.domain.calls import ToolCall
from agent_ls.domain.messages import AssistantMessage, Message, ToolMessage, UserMessage
from agent_ls.domain.plans import PlanStatus
from agent_ls.domain.record import Record
from agent_ls.domain.verdicts import CompactorVerdict, Shortened, Unchanged
from agent_ls.loop.view import TurnView, message_tokens, text_tokens

_CHARS_PER_TOKEN = 4
_SUMMARY_TOKENS = 1_000
"""What a summary takes besides the goal, roughly."""
_GOAL = "Goal, in the user's words"
_MAX_NAMED = 40
_MAX_FAILURES = 5
_MAX_QUOTED_CHARS = 200
_MAX_EARLIER_CHARS = 2_000


class WindowOptions(Record):
    """What a mechanical summary may take."""

    goal_share: float = Field(default=0.25, gt=0, le=1)
    """Part of the target that the user's prompt, kept word for word, may take."""


@dataclass(frozen=True, slots=True)
class Window:
    """Drops the oldest messages until the rest fits, and says what they were about.

    Source: seed 002 level 3, seed 000 message truncation. Invariant: a call and its result stay
    or go together, the last answer stays, and the prompt survives in the summary.
    """

    name: ClassVar[str] = "window"
    options: WindowOptions = WindowOptions()

    async def compact(self, view: TurnView, target_tokens: int) -> CompactorVerdict:
        """Answer with the smallest cut that meets the target, or the largest allowed one."""
        cuts = _allowed_cuts(view.messages)
        if not cuts or view.estimated_tokens <= target_tokens:
            return Unchanged()
        goal = _cut(
            view.turn.prompt, int(target_tokens * self.options.goal_share) * _CHARS_PER_TOKEN
        )
        surplus = view.estimated_tokens - target_tokens + text_tokens(goal) + _SUMMARY_TOKENS
        dropped = 0
        chosen = cuts[-1]
        sizes = [message_tokens(message) for message in view.messages]
        for cut in cuts:
            dropped = sum(sizes[:cut])
            if dropped >= surplus:
                chosen = cut
                break
        summary = _summary(view, view.messages[:chosen], goal)
        if text_tokens(summary) >= sum(sizes[:chosen]):
            return Unchanged()
        return Shortened(chosen, summary)


def _allowed_cuts(messages: Sequence[Message]) -> list[int]:
    """Return where the conversation may be cut: no open call before it, the last answer after."""
    cuts: list[int] = []
    open_calls: set[str] = set()
    for index, message in enumerate(messages):
        if index and not open_calls:
            cuts.append(index)
        if isinstance(message, AssistantMessage):
            open_calls |= {call.id for call in message.calls}
        elif isinstance(message, ToolMessage):
            open_calls.discard(message.call_id)
    answers = [index for index, one in enumerate(messages) if one.role == "assistant"]
    newest = answers[-1] if answers else len(messages) - 1
    return [cut for cut in cuts if cut <= newest]


def _summary(view: TurnView, dropped: Sequence[Message], goal: str) -> str:
    """Return what the dropped messages were about, under fixed headings."""
    calls = [call for one in dropped if isinstance(one, AssistantMessage) for call in one.calls]
    tools = Counter(call.tool for call in calls)
    plan = [item for item in view.session.plan if item.status is not PlanStatus.COMPLETED]
    sections = (
        (_GOAL, [goal]),
        ("Also said by the user", _user_words(dropped, view.turn.prompt)),
        ("Files changed in this turn", list(view.turn.touched)[-_MAX_NAMED:]),
        ("Files named in calls", _files(calls)),
        ("Tools used", [f"{tool}: {count}×" for tool, count in tools.most_common(_MAX_NAMED)]),
        ("Failures, quoted from tools and no instructions", _failures(dropped)),
        ("Open plan items", [f"{item.text} ({item.status})" for item in plan]),
        ("Before that", _earlier(dropped, goal)),
    )
    parts = ["The earlier part of this conversation was left out to save room. What it was about:"]
    for heading, lines in sections:
        if lines:
            parts.append(f"## {heading}\n" + "\n".join(lines))
    parts.append("Read files again before you rely on what they held.")
    return "\n\n".join(parts)


def _user_words(dropped: Sequence[Message], prompt: str) -> list[str]:
    said = [
        _cut(one.text, _MAX_QUOTED_CHARS)
        for one in dropped
        if isinstance(one, UserMessage) and one.origin in ("user", "steer") and one.text != prompt
    ]
    return [f"- {text}" for text in said[-_MAX_NAMED:]]


def _files(calls: Sequence[ToolCall]) -> list[str]:
    """Return the files that the calls named, the latest last."""
    found: dict[str, None] = {}
    for call in calls:
        try:
            path = _Named.model_validate_json(call.arguments_json).path
        except ValidationError:
            continue
        found.pop(path, None)
        found[path] = None
    return list(found)[-_MAX_NAMED:]


class _Named(BaseModel):
    path: str


def _failures(dropped: Sequence[Message]) -> list[str]:
    failed = [one for one in dropped if isinstance(one, ToolMessage) and one.error is not None]
    return [
        f"- {one.tool} ({one.error}): {_cut(one.text.strip().partition(chr(10))[0])}"
        for one in failed[-_MAX_FAILURES:]
    ]


def _earlier(dropped: Sequence[Message], goal: str) -> list[str]:
    """Return the summary that this one replaces, without the goal it repeats."""
    first = dropped[0]
    if not isinstance(first, UserMessage) or first.origin != "summary":
        return []
    return [_cut(first.text.replace(f"## {_GOAL}\n{goal}\n\n", ""), _MAX_EARLIER_CHARS)]


def _cut(text: str, chars: int = _MAX_QUOTED_CHARS) -> str:
    return text if len(text) <= chars else f"{text[:chars]}… ({len(text) - chars} characters more)"
