"""A recorded request to the scripted model, and a scenario's checks on it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from agent_ls.providers.scenario import Expect, When
from agent_ls.providers.shapes import Object, as_list, as_object, as_text


@dataclass(slots=True)
class RecordedRequest:
    """One request to the scripted model, as received."""

    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    raw: bytes
    body: Object
    serial: int = 0
    """Counts the model's requests from 1."""
    answer: int | None = None
    """Index of its answer in the scenario; None if none fitted."""
    problem: str = ""
    """How it differed from what the scenario expects."""
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the client closed the connection before the answer was complete."""

    @property
    def messages(self) -> list[Object]:
        """Return the messages, the system prompt as the first."""
        return [as_object(message) for message in as_list(self.body.get("messages"))]

    @property
    def tools(self) -> list[str]:
        """Return the names of the tools offered, in order."""
        tools = [as_object(tool) for tool in as_list(self.body.get("tools"))]
        return [as_text(as_object(tool.get("function")).get("name")) for tool in tools]

    @property
    def last_text(self) -> str:
        """Return the newest message as text."""
        return message_text(self.messages[-1]) if self.messages else ""

    @property
    def first_user_text(self) -> str:
        """Return the first user message as text."""
        for message in self.messages:
            if message.get("role") == "user":
                return message_text(message)
        return ""

    @property
    def conversation(self) -> str:
        """Return all messages as one text."""
        return "\n".join(message_text(message) for message in self.messages)

    @property
    def images(self) -> list[str]:
        """Return the addresses of the messages' images, in order: ``data:`` URLs."""
        parts = [as_object(part) for one in self.messages for part in as_list(one.get("content"))]
        found = (as_object(part.get("image_url")) for part in parts)
        return [as_text(one.get("url")) for one in found if one]

    def suits(self, when: When) -> bool:
        """Say whether the request meets an answer's condition."""
        return (
            when.contains in self.last_text
            and when.first in self.first_user_text
            and (when.side is None or when.side == (not self.tools))
        )

    def mismatch(self, expect: Expect) -> str:
        """Return how the request differs from the expectation; empty if it does not."""
        return "; ".join(self._mismatches(expect))

    def _mismatches(self, expect: Expect) -> Iterator[str]:
        conversation = self.conversation
        for text in expect.contains:
            if text not in conversation:
                yield f"the conversation lacks {text!r}"
        for text in expect.absent:
            if text in conversation:
                yield f"the conversation contains {text!r}"
        for text in expect.last_contains:
            if text not in self.last_text:
                yield f"the newest message lacks {text!r}: it is {self.last_text[:400]!r}"
        for tool in expect.tools:
            if tool not in self.tools:
                yield f"the tool {tool!r} is not offered, only {self.tools}"
        name = self.body.get("tool_choice", "auto")
        if expect.tool_choice and name != expect.tool_choice:
            yield f"tool_choice is {name!r}, not {expect.tool_choice!r}"


def message_text(message: Object) -> str:
    """Return a message's text and calls, one per line."""
    content = message.get("content")
    parts = [as_text(as_object(part).get("text")) for part in as_list(content)]
    found = [as_text(content) or "\n".join(parts)]
    for call in as_list(message.get("tool_calls")):
        function = as_object(as_object(call).get("function"))
        found.append(f"{function.get('name')}({function.get('arguments')})")
    return "\n".join(part for part in found if part)
