"""The messages of a conversation, as stored and sent: a closed union."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from agent_ls.domain.calls import ErrorKind, ToolCall
from agent_ls.domain.record import Record


class UserMessage(Record):
    """A message in the user's role, from the person or (by ``origin``) from the machine."""

    role: Literal["user"] = "user"
    text: str
    origin: str = "user"
    """``user``, ``steer``, ``summary``, or the name of the policy that wrote it."""


class AssistantMessage(Record):
    """One accepted model response."""

    role: Literal["assistant"] = "assistant"
    text: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()


class ToolMessage(Record):
    """A call's result in the conversation."""

    role: Literal["tool"] = "tool"
    call_id: str
    provider_id: str
    tool: str
    text: str
    error: ErrorKind | None = None
    output_id: str | None = None


Message = Annotated[UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")]
