"""Is the result too long? Then cut its middle, and keep the whole text in the blob store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.calls import ToolKind, ToolResult
from agent_ls.domain.record import Record
from agent_ls.loop.extension_points import FollowUpOutcome, PlannedCall
from agent_ls.loop.ports.store import Blobs
from agent_ls.loop.state.compaction import CHARS_PER_TOKEN
from agent_ls.loop.state.view import TurnView, text_tokens

_HANDLE_CHARS = 12
_MARKER_CHARS = 200
"""Room for the marker and the overhead of a message, so that the cut result fits the limit."""
_MIN_TOKENS = 100


class TruncateResultOptions(Record):
    """How much of a result the model reads at once."""

    max_tokens: int = Field(default=2_000, ge=0)
    """Results up to this size stay whole; 0: any size that `window_share` allows;
    less than 100 counts as 100."""
    max_read_tokens: int = Field(default=10_000, ge=0)
    """The same for files that are read: whoever asks for a file wants its middle too."""
    window_share: float = Field(default=0.25, gt=0, le=1)
    """Part of the model's window that one result may take, whatever the limits above say."""
    head_lines: int = Field(default=40, ge=0)
    """Lines kept from the beginning of a longer one."""
    tail_lines: int = Field(default=20, ge=0)
    """Lines kept from its end."""


@dataclass(frozen=True, slots=True)
class TruncateResult:
    """Cuts a long result to its first and last lines, and says how to read the rest.

    The whole text goes into the blob store under the handle the marker names. Source: S2,
    context level 1.
    """

    name: ClassVar[str] = "truncate_result"
    blobs: Blobs
    options: TruncateResultOptions = TruncateResultOptions()

    async def follow(
        self, planned: PlannedCall, result: ToolResult, view: TurnView
    ) -> FollowUpOutcome:
        is_read = planned.tool.kind is ToolKind.READ
        wanted = self.options.max_read_tokens if is_read else self.options.max_tokens
        window = int(view.facts.window_tokens * self.options.window_share)
        if window:
            wanted = min(wanted or window, window)
        limit = max(wanted, _MIN_TOKENS) if wanted else 0
        if not limit or text_tokens(result.text) <= limit:
            return FollowUpOutcome(result)
        # A result that was cut before keeps its handle, which names the whole text.
        digest = result.output_id or await self.blobs.put_blob(_encoded(result.text))
        room = limit * CHARS_PER_TOKEN - _MARKER_CHARS
        cut = {"text": self._cut(result.text, digest, room), "output_id": digest}
        return FollowUpOutcome(result.model_copy(update=cut))

    def _cut(self, text: str, digest: str, room: int) -> str:
        """Return the first and last lines that fit, with the marker between them."""
        lines = text.splitlines()
        head, tail = self.options.head_lines, self.options.tail_lines
        front = back = text
        missing = 0
        if len(lines) > head + tail:
            missing = len(lines) - head - tail
            front, back = "\n".join(lines[:head]), "\n".join(lines[len(lines) - tail :])
        last = _end(back, max(room // 3, room - len(front)))
        first = front[: room - len(last)]
        whole = head if missing and first == front else max(len(first.splitlines()) - 1, 0)
        marker = (
            f"[… {len(text) - len(first) - len(last):,} characters left out, {missing:,} of "
            f'{len(lines):,} lines; read_output(handle="{digest[:_HANDLE_CHARS]}", '
            f"start_line={whole + 1}) shows more …]"
        )
        return "\n".join(part for part in (first, marker, last) if part)


def _end(text: str, chars: int) -> str:
    return text[max(len(text) - chars, 0) :]


def _encoded(text: str) -> bytes:
    """Return the text as UTF-8; a lone surrogate becomes ``?``."""
    return text.encode("utf-8", errors="replace")
