"""What policies see: one consistent snapshot of the session, and the queries they share.

Every count is a count of events, so a restart changes none. Tallies are cached with their events
(``event_log``) and rebuilt after a restart.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from agent_ls.domain import events as e
from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.goals import Goal
from agent_ls.domain.messages import Message, UserMessage
from agent_ls.domain.model_io import ToolSpec
from agent_ls.domain.modes import Mode
from agent_ls.domain.phases import Phase
from agent_ls.domain.plans import PlanItem
from agent_ls.domain.usage import Usage
from agent_ls.loop.ports.models import ModelFacts
from agent_ls.loop.state.compaction import CHARS_PER_TOKEN
from agent_ls.loop.state.folding import queue_after
from agent_ls.loop.state.pictures import all_in_words
from agent_ls.loop.state.state import SessionState, TurnState

E = TypeVar("E")

_KEY_FAILURES = (
    ProviderFailure.AUTHENTICATION,
    ProviderFailure.NO_KEY,
    ProviderFailure.NOT_SIGNED_IN,
    ProviderFailure.FORBIDDEN,
    ProviderFailure.NO_CREDIT,
)
_CHARS_PER_MESSAGE = 16


@dataclass(frozen=True, slots=True)
class TurnView:
    """A snapshot of a running turn."""

    session: SessionState
    turn: TurnState
    facts: ModelFacts
    elapsed_s: float
    """Seconds since this process began or resumed the turn."""
    tools_tokens: int = 0
    """Estimated tokens of the tools sent with each request."""

    @property
    def mode(self) -> Mode:
        """Return the mode that holds in this turn."""
        return self.session.mode_of_turn

    @property
    def goal(self) -> Goal | None:
        """Return the turn's goal; None for an ordinary turn."""
        return self.turn.goal

    @property
    def model(self) -> str:
        """Return the model in use: the session's, or its current replacement."""
        return self.turn.model or self.session.model

    @property
    def messages(self) -> tuple[Message, ...]:
        """Return the conversation as it is sent; images that the model does not take are words."""
        messages = self.session.messages
        return messages if self.takes_images else all_in_words(messages, self.why_no_images)

    @property
    def takes_images(self) -> bool:
        """Say whether images are sent to the model: also to one of which it is not known."""
        is_refused = self.model in self.session.without_images
        return self.facts.takes_images is not False and not is_refused

    @property
    def why_no_images(self) -> str:
        """Return what is said in an image's place where the model takes none."""
        return f"which {self.model} does not take"

    @property
    def usage(self) -> Usage:
        """Return what the turn has spent so far."""
        return self.turn.usage

    @property
    def steps(self) -> int:
        """Return how many steps of the turn were answered by the model."""
        return self.turn.events.tallied(_Steps).count

    def each(self, kind: type[E]) -> Iterator[E]:
        """Yield the turn's events of one type, oldest first."""
        return self.turn.events.each(kind)

    def each_since(self, kind: type[E], marker: type[object]) -> list[E]:
        """Return the events of one type after the last ``marker``, oldest first."""
        return self.turn.events.since(kind, marker)

    def nudges(self, origin: str) -> int:
        """Return how often this policy has nudged in this turn."""
        return sum(1 for nudge in self.each(e.NudgeAdded) if nudge.origin == origin)

    def advised(self, origin: str) -> bool:
        """Say whether this check has already raised an advisory in this turn."""
        return any(one.origin == origin for one in self.each(e.AdvisoryRaised))

    def recoveries(self, origin: str) -> int:
        """Return how often this recovery has acted in this step."""
        return sum(
            1
            for one in self.each_since(e.RecoveryChosen, e.RequestPrepared)
            if one.origin == origin
        )

    def recoveries_since_answer(self, origin: str) -> int:
        """Return how often this recovery has acted since the last answer, compactions included."""
        return sum(
            1 for one in self.each_since(e.RecoveryChosen, e.Answered) if one.origin == origin
        )

    def advice_since_answer(self, origin: str) -> str:
        """Return the side model's text for this policy since the last answer; empty if none.

        A resumed turn need not ask and pay again.
        """
        given = self.each_since(e.AdviceGiven, e.Answered)
        return next((one.text for one in reversed(given) if one.origin == origin), "")

    @property
    def is_compaction_forced(self) -> bool:
        """Say whether the provider rejected or cut the request, so that it must shrink."""
        chosen = self.each_since(e.RecoveryChosen, e.RequestPrepared)
        return bool(chosen) and chosen[-1].action == "compact"

    @property
    def is_overflown(self) -> bool:
        """Say whether the provider reported that the request is too long."""
        attempts = self.each_since(e.AttemptFinished, e.RequestPrepared)
        return bool(attempts) and attempts[-1].failure == ProviderFailure.CONTEXT_OVERFLOW

    @property
    def failed_steps(self) -> int:
        """Return how many steps in a row have failed, up to now."""
        return sum(
            1 for one in self.each_since(e.RecoveryChosen, e.Answered) if one.action == "fail_step"
        )

    @property
    def has_compacted_since_answer(self) -> bool:
        """Say whether COMPACT was entered since the last answer, successful or not."""
        return any(one.to is Phase.COMPACT for one in self.each_since(e.Moved, e.Answered))

    @property
    def user_words(self) -> tuple[str, ...]:
        """Return the user's messages in this turn: the prompt, then the steers in order."""
        said = tuple(self.each(e.PromptQueued))
        known = {one.id for one in said}
        for change in self.each(e.QueuedPromptChanged):
            if change.kind == "steer" and change.prompt_id not in known:
                # It was queued before this turn began.
                said = (*said, _steer_of(change))
            said = queue_after(said, change)
        return (self.turn.prompt, *(one.text for one in said if one.kind == "steer"))

    @property
    def unanswered(self) -> tuple[str, ...]:
        """Return the checkers that have not yet answered for the turn's changes."""
        last = next(self.turn.events.newest(e.FindingsReported), None)
        return last.unanswered if last else ()

    def is_silenced(self, origin: str) -> bool:
        """Say whether the user switched this policy off for the session."""
        return origin in self.session.silenced

    @property
    def open_tasks(self) -> tuple[PlanItem, ...]:
        """Return the open plan items; none if the plan is from an earlier turn."""
        if not any(True for _ in self.each(e.PlanUpdated)):
            return ()
        return tuple(item for item in self.session.plan if item.is_open)

    @property
    def has_new_steer(self) -> bool:
        """Say whether a steer is waiting that the model has not seen."""
        return any(one.kind == "steer" for one in self.session.queue)

    @property
    def is_authentication_failure(self) -> bool:
        """Say whether the last model request failed because of the key."""
        last = next(self.turn.events.newest(e.AttemptFinished), None)
        return last is not None and last.failure in _KEY_FAILURES

    @property
    def context_tokens(self) -> int:
        """Return the size of the next request's conversation, in tokens.

        The provider's count for what was sent last, plus an estimate for newer messages.
        """
        counted = self.turn.events.tallied(_Counted).tokens
        if not counted:
            return self.estimated_tokens
        tail = 0
        for message in reversed(self.messages):
            if message.role == "assistant":
                break
            tail += message_tokens(message)
        return counted + tail

    @property
    def prefix_tokens(self) -> int:
        """Return the estimated tokens of system prompt and tools."""
        if self.session.prefix is None:
            # PREPARE creates it, and reports when there is no room for it.
            return 0
        return len(self.session.prefix.system) // CHARS_PER_TOKEN + self.tools_tokens

    @property
    def estimated_tokens(self) -> int:
        """Return the estimated tokens of the conversation with system prompt and tools."""
        return self.prefix_tokens + sum(map(message_tokens, self.messages))


def _steer_of(change: e.QueuedPromptChanged) -> e.PromptQueued:
    return e.PromptQueued(id=change.prompt_id, text=change.text or "", kind="steer")


class _Steps:
    def __init__(self) -> None:
        self.count = 0

    def see(self, event: e.Event) -> None:
        self.count += isinstance(event, e.Answered) and event.origin == "model"


class _Counted:
    """The provider's last token count, reset by a compaction."""

    def __init__(self) -> None:
        self.tokens = 0

    def see(self, event: e.Event) -> None:
        match event:
            case e.AttemptFinished(finish=str(), usage=usage) if usage.input_tokens:
                self.tokens = usage.total_tokens
            case e.Compacted():
                self.tokens = 0
            case _:
                pass


def message_tokens(message: Message) -> int:
    """Return a message's estimated tokens: characters / 4, with 16 characters of overhead."""
    size, of_images = len(message.text), 0
    if message.role == "assistant":
        size += sum(len(call.tool) + len(call.arguments_json) for call in message.calls)
    else:
        of_images = sum(image.tokens for image in message.images)
    return (size + _CHARS_PER_MESSAGE) // CHARS_PER_TOKEN + of_images


def spec_tokens(spec: ToolSpec) -> int:
    """Return the estimated tokens of a tool's definition."""
    parameters = json.dumps(spec.parameters, ensure_ascii=False, separators=(",", ":"))
    size = len(spec.name) + len(spec.description) + len(parameters)
    return (size + _CHARS_PER_MESSAGE) // CHARS_PER_TOKEN


def text_tokens(text: str) -> int:
    """Return the estimated tokens of a text."""
    return message_tokens(UserMessage(text=text))
