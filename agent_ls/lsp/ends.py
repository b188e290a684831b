"""How the end of a turn is told in a few words, and what to offer next: tables, by cause.

A client shows the title and the actions; the long reason stands behind them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.stops import STATUS, StopReason, TurnStatus

NextAction = Literal[
    "retry",
    "go_on",
    "change_key",
    "sign_in",
    "choose_model",
    "new_session",
    "open_settings",
    "show_log",
]
"""What a client offers after a turn. ``retry``: the same prompt again; ``go_on``: a short prompt to
continue, because the turn has already done something."""


@dataclass(frozen=True, slots=True)
class End:
    """What is shown of an end."""

    title: str
    """At most 8 words. ``{provider}`` stands for who was asked."""
    actions: tuple[NextAction, ...] = ()
    """The most likely one first."""


FAILURES: Mapping[ProviderFailure, End] = {
    ProviderFailure.RATE_LIMITED: End(
        "Rate limit of {provider} reached", ("retry", "choose_model")
    ),
    ProviderFailure.OVERLOADED: End("{provider} is overloaded", ("retry", "choose_model")),
    ProviderFailure.SERVER: End("{provider} failed", ("retry", "choose_model")),
    ProviderFailure.CONNECTION: End(
        "Cannot reach {provider}", ("retry", "open_settings", "choose_model")
    ),
    ProviderFailure.TIMEOUT: End("{provider} took too long", ("retry", "choose_model")),
    ProviderFailure.BROKEN_STREAM: End("Answer of {provider} broke off", ("retry",)),
    ProviderFailure.HOST_DIED: End("The model process stopped", ("retry", "show_log")),
    ProviderFailure.AUTHENTICATION: End(
        "Key refused by {provider}", ("change_key", "retry", "choose_model")
    ),
    ProviderFailure.NO_KEY: End("No usable key for {provider}", ("change_key", "choose_model")),
    ProviderFailure.NOT_SIGNED_IN: End(
        "Not signed in to {provider}", ("sign_in", "retry", "choose_model")
    ),
    ProviderFailure.NO_CREDIT: End(
        "No credit left at {provider}", ("retry", "choose_model", "change_key")
    ),
    ProviderFailure.FORBIDDEN: End(
        "{provider} refuses this model", ("choose_model", "change_key", "retry")
    ),
    ProviderFailure.BAD_REQUEST: End(
        "{provider} cannot use the request", ("open_settings", "choose_model", "show_log")
    ),
    ProviderFailure.UNKNOWN_MODEL: End(
        "{provider} does not have this model", ("choose_model", "open_settings")
    ),
    ProviderFailure.NO_MODEL: End("No model is chosen", ("choose_model", "open_settings")),
    ProviderFailure.CONTEXT_OVERFLOW: End(
        "Conversation too long for the model", ("new_session", "choose_model")
    ),
    ProviderFailure.CONTENT_FILTER: End(
        "Stopped by the content filter of {provider}", ("choose_model", "new_session")
    ),
    ProviderFailure.NO_IMAGES: End("The model takes no images", ("choose_model",)),
    ProviderFailure.BAD_IMAGE: End("{provider} cannot use an image", ("choose_model", "retry")),
}

STOPS: Mapping[StopReason, End] = {
    StopReason.COMPLETED: End("Done"),
    StopReason.FINAL_OUTPUT: End("Done"),
    StopReason.MAX_STEPS: End("Stopped: all steps used", ("go_on", "open_settings")),
    StopReason.BUDGET_LIMIT: End("Stopped: the budget is used up", ("open_settings",)),
    StopReason.RESOURCE_LIMIT: End(
        "Stopped: the machine's resources are used up", ("go_on", "open_settings")
    ),
    StopReason.CONTEXT_FULL: FAILURES[ProviderFailure.CONTEXT_OVERFLOW],
    StopReason.INCOMPLETE_ACTION: End("Ended without doing what it announced", ("go_on",)),
    StopReason.UNVERIFIED: End("Ended with failing checks", ("go_on",)),
    StopReason.OPEN_TASKS: End("Ended with open tasks", ("go_on",)),
    StopReason.TIMEOUT: End("Stopped: the time is over", ("go_on", "open_settings")),
    StopReason.LOOP_DETECTED: End("Stopped: it went in circles", ("go_on", "choose_model")),
    StopReason.LOW_CONFIDENCE: End("Stopped: it was not sure enough", ("go_on", "choose_model")),
    StopReason.REFUSAL: End("The model refused", ("choose_model",)),
    StopReason.BLOCKED: End("Stopped: a hook blocked the prompt", ("open_settings",)),
    StopReason.ERROR: End("The turn failed", ("retry", "show_log")),
    StopReason.CANCELLED: End("Stopped"),
}


_PARTLY: End = End("Partly done", ("go_on",))
"""Of a turn that came to its end, but something kept it from its work."""


def end_of(
    stop: StopReason,
    status: TurnStatus,
    failure: ProviderFailure | None,
    model: str,
    *,
    has_answered: bool,
) -> End:
    """Return what is shown of a turn's end.

    ``failure``: that of the last request, None if it was answered. ``has_answered``: the turn has
    done something, so that its prompt is not sent again.
    """
    is_partly = STATUS[stop] is TurnStatus.SUCCESS and status is not TurnStatus.SUCCESS
    end = _PARTLY if is_partly else STOPS[stop]
    if stop is StopReason.ERROR and failure is not None:
        end = failure_of(failure, model)
    if not has_answered:
        return end
    goes_on: NextAction = "go_on"
    return End(end.title, tuple(goes_on if one == "retry" else one for one in end.actions))


def failure_of(failure: ProviderFailure, model: str) -> End:
    """Return what is shown of a failed request to a model."""
    end = FAILURES[failure]
    title = end.title.format(provider=model.partition("/")[0] or "the model")
    # A provider's name stays as it is written.
    return End(f"The {title[4:]}" if title.startswith("the ") else title, end.actions)
