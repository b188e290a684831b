"""Builds the model request from the state: conversation, then the step's slots."""

from __future__ import annotations

from base64 import b64encode
from contextlib import suppress

from agent_ls.domain.errors import BytesDamaged, bug
from agent_ls.domain.events import (
    AttemptFinished,
    Compacted,
    HookRan,
    NudgeAdded,
    PromptQueued,
    QueuedPromptChanged,
    RecoveryChosen,
    RequestPrepared,
    SessionResumed,
    TurnStarted,
)
from agent_ls.domain.messages import AssistantMessage, Message, UserMessage
from agent_ls.domain.model_io import ModelRequest
from agent_ls.loop.ports.store import Blobs
from agent_ls.loop.state.pictures import in_words
from agent_ls.loop.turn import Turn


def request_of(
    turn: Turn, *, extra: tuple[UserMessage, ...] = (), text_only: bool = False
) -> ModelRequest:
    """Return the next request.

    Invariant: nothing is inserted before what was sent earlier. Slots go before the newest message
    if that is an unsent user message, else to the very end.
    """
    session, state, options = turn.session, turn.state, turn.services.options
    if session.prefix is None:
        raise bug("a request was made before its prefix")
    # Not validated: the parts already were, and validating a long conversation each step is slow.
    return ModelRequest.model_construct(
        model=turn.view.model,
        system=session.prefix.system,
        messages=(*_with_slots(turn), *state.reasks, *extra),
        tools=tuple(spec for spec in turn.specs if spec.name in session.prefix.tools),
        tool_choice="none" if text_only or (state.request and state.request.text_only) else "auto",
        max_output_tokens=options.max_output_tokens,
        temperature=options.temperature,
        reasoning_effort=session.effort or options.reasoning_effort,
    )


async def with_images(request: ModelRequest, blobs: Blobs) -> ModelRequest:
    """Return the request with the bytes of its images; lost ones become words.

    Errors: ``StoreError``.
    """
    digests = {
        image.digest: None
        for one in request.messages
        if not isinstance(one, AssistantMessage)
        for image in one.images
    }
    if not digests:
        return request
    images: dict[str, str] = {}
    for digest in digests:
        with suppress(BytesDamaged):
            if (data := await blobs.get_blob(digest)) is not None:
                images[digest] = b64encode(data).decode()
    gone = digests.keys() - images.keys()
    messages = tuple(in_words(one, "no longer kept", gone) for one in request.messages)
    return request.model_copy(update={"messages": messages, "images": images})


def _with_slots(turn: Turn) -> tuple[Message, ...]:
    messages, state = turn.view.messages, turn.state
    texts = state.request.slots if state.request else ()
    if not texts:
        return messages
    slots = tuple(UserMessage(text=text, origin="slot") for text in texts)
    newest = messages[-1] if messages else None
    is_unsent = newest is not None and newest.role == "user" and _is_unsent(turn)
    return (*messages[:-1], *slots, messages[-1]) if is_unsent else (*messages, *slots)


def _is_unsent(turn: Turn) -> bool:
    """Say whether the newest message was in no request before this step's."""
    is_this_step, is_sent = True, False
    for stored in reversed(turn.state.events):
        match stored.event:
            case RecoveryChosen(action="continue") if is_this_step:
                # It follows what this step already sent.
                return False
            case RequestPrepared() if is_this_step:
                is_this_step = False
            case AttemptFinished() if not is_this_step:
                is_sent = True
            case PromptQueued(kind="steer") | QueuedPromptChanged(kind="steer") if not is_this_step:
                # The steer arrived while the last answer streamed, and goes with this step's
                # request.
                return True
            case RequestPrepared() if is_sent:
                return False
            case SessionResumed() if not is_this_step:
                # A process that died may have sent a request that its journal does not show.
                return False
            case TurnStarted() | NudgeAdded() | Compacted():
                return not is_sent
            case HookRan(told=told) if told:
                return not is_sent
            case _:
                pass
    raise bug("a turn has no beginning")
