"""Keeps the signed thinking that some models require back with their calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from agent_ls.providers.shapes import Object, as_text

_KEPT: Final = 256


class Thoughts:
    """Signed or encrypted thinking of recent answers, to be sent back with their calls.

    Not part of the conversation, because other models cannot read it. It is lost with the process;
    requests then go without thinking.
    """

    def __init__(self) -> None:
        self._by_call: dict[str, list[Object]] = {}

    @property
    def by_call(self) -> Mapping[str, list[Object]]:
        """Return the thinking, keyed by the provider's id of the call it belongs to."""
        return self._by_call

    def keep(self, call_id: str, pieces: Sequence[Object]) -> None:
        """Keep the thinking before a call; the last piece of each block has the signature."""
        blocks: list[Object] = []
        text: list[str] = []
        for piece in pieces:
            text.append(as_text(piece.get("thinking")))
            if piece.get("type") == "redacted_thinking":
                blocks.append(piece)
            elif signature := as_text(piece.get("signature")):
                thought = "".join(text)
                blocks.append({"type": "thinking", "thinking": thought, "signature": signature})
                text = []
        if blocks:
            self.keep_items(call_id, blocks)

    def keep_items(self, call_id: str, items: Sequence[Object]) -> None:
        """Keep items that are sent back unchanged, such as OpenAI's encrypted reasoning."""
        self._by_call[call_id] = list(items)
        while len(self._by_call) > _KEPT:
            del self._by_call[next(iter(self._by_call))]
