"""Show a command's output while it runs: secrets masked, rate and size limited."""

from __future__ import annotations

from collections.abc import Callable

from agent_ls.safety.secrets import can_part, ends_in_key, mask_part
from agent_ls.safety.text import cleaned

_AT_ONCE_CHARS = 32 * 2**10
_CHARS_PER_S = 16 * 2**10
_MAX_CHARS = 2**20
_MAX_HELD_CHARS = 16 * 2**10
"""Most characters to hold of an incomplete line."""


class LiveOutput:
    """Passes on whole lines, up to a rate and a total, and says how much is omitted.

    The command's result is collected separately and not affected by these limits.
    """

    def __init__(self, show: Callable[[str], None], now_s: float) -> None:
        """Take the function that shows lines, and the current time."""
        self._show = show
        self._held = ""
        self._is_in_long_line = False
        self._is_in_key = False
        self._room = float(_AT_ONCE_CHARS)
        self._at_s = now_s
        self._left_chars = _MAX_CHARS
        self._left_out = 0

    def take(self, text: str, now_s: float) -> None:
        """Take a piece of output."""
        self._room = min(self._room + (now_s - self._at_s) * _CHARS_PER_S, _AT_ONCE_CHARS)
        self._at_s = now_s
        if self._left_chars <= 0:
            return
        text = self._rest_of_long_line(self._held + text)
        end = _end_of_lines(text)
        lines, self._held = text[:end], text[end:]
        room = int(self._room)
        fitting = len(lines) if len(lines) <= room else _end_of_lines(lines[:room])
        self._hand_on(lines[:fitting])
        self._leave_out(lines[fitting:])
        if len(self._held) > _MAX_HELD_CHARS:
            self._leave_out(self._held)
            self._held, self._is_in_long_line = "", True

    def end(self) -> None:
        """Show the last line, which may lack its line end."""
        if self._left_chars > 0:
            self._hand_on(self._held)
            self._held = ""

    def _rest_of_long_line(self, text: str) -> str:
        """Drop the rest of an overlong line; return the text after it."""
        if not self._is_in_long_line:
            return text
        end = text.find("\n") + 1
        self._is_in_long_line = not end
        self._leave_out(text[: end or len(text)])
        return text[end:] if end else ""

    def _hand_on(self, lines: str) -> None:
        self._room -= len(lines)
        self._left_chars -= len(lines)
        shown, self._is_in_key = mask_part(cleaned(lines), is_in_key=self._is_in_key)
        if not shown:
            return
        if self._left_out:
            shown = f"… ({self._left_out:,} characters are not shown here) …\n{shown}"
            self._left_out = 0
        if self._left_chars <= 0:
            shown += "… (more is not shown here; wait for the result) …\n"
        self._show(shown)

    def _leave_out(self, text: str) -> None:
        self._left_out += len(text)
        self._is_in_key = ends_in_key(text, is_in_key=self._is_in_key)


def _end_of_lines(text: str) -> int:
    """Return the last line end where the text can be split without cutting a secret; else 0."""
    end = _line_end(text, len(text))
    while end and not can_part(text, end):
        end = _line_end(text, end - 1)
    return end


def _line_end(text: str, before: int) -> int:
    # Progress displays end lines with CR.
    return max(text.rfind("\n", 0, before), text.rfind("\r", 0, before)) + 1
