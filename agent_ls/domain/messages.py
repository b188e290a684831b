"""The messages of a conversation, as stored and sent: a closed union."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import Field

from agent_ls.domain.calls import ErrorKind, ToolCall
from agent_ls.domain.pictures import Picture
from agent_ls.domain.plain_json import PlainJson
from agent_ls.domain.record import Record

OPENING_ID: Final = "first_trn_"
"""How the provider's ids of a custom command's own calls begin; no model made them."""


class UserMessage(Record):
    """A message in the user's role, from the user or (by ``origin``) from the machine."""

    role: Literal["user"] = "user"
    text: str
    origin: str = "user"
    """``user``, ``steer``, ``summary``, or the name of the policy that wrote it."""
    images: tuple[Picture, ...] = ()


class ProviderData(Record):
    """What a provider sent beside text and arguments, and wants back unchanged.

    Examples are signed thinking and a call's thought signature. No other provider gets it.
    """

    origin: str
    """Who sent it: the provider, its host and the model's family."""
    message: Mapping[str, PlainJson] = Field(default_factory=dict)
    """Fields of the message."""
    calls: Mapping[str, Mapping[str, PlainJson]] = Field(
        default_factory=dict[str, Mapping[str, PlainJson]]
    )
    """Fields of its calls, by the provider's call id."""


class AssistantMessage(Record):
    """One accepted model response."""

    role: Literal["assistant"] = "assistant"
    text: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    provider_data: ProviderData | None = None

    @property
    def is_opening(self) -> bool:
        """Say whether a custom command made the calls, before the model's first answer."""
        return any(one.provider_id.startswith(OPENING_ID) for one in self.calls)


class ToolMessage(Record):
    """A call's result in the conversation."""

    role: Literal["tool"] = "tool"
    call_id: str
    provider_id: str
    tool: str
    text: str
    error: ErrorKind | None = None
    not_run: str = ""
    """As in ``ToolResult``: ``skipped``, ``queued`` or ``dry run``; empty when it ran."""
    output_id: str | None = None
    images: tuple[Picture, ...] = ()


Message = Annotated[UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")]
