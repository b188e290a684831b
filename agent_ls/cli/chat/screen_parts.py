"""What the screen is made of: its colours, the terminal's size, and earlier prompts."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

import platformdirs
from prompt_toolkit.data_structures import Size
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.styles import Style

STYLE = Style.from_dict(
    {
        "mark": "bold",
        "footer": "dim",
        "placeholder": "dim",
        "rule": "dim",
        "completion-menu": "bg:default fg:default",
        "completion-menu.completion.current": "reverse bg:default fg:default",
        "completion-menu.meta.completion": "bg:default dim",
        "completion-menu.meta.completion.current": "bg:default dim",
        "scrollbar.background": "bg:default",
        "scrollbar.button": "bg:default",
    }
)


def size_of_terminal() -> Size:
    """Return the size of the terminal that standard output is."""
    try:
        columns, rows = os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        columns, rows = 0, 0
    # A terminal may say that it has no size.
    return Size(rows=rows or 24, columns=columns or 80)


def earlier_prompts() -> History:
    """Return the prompts of earlier conversations, in a file that only the user can read."""
    place = Path(platformdirs.user_state_path("agent-ls")) / "prompts"
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        place.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return _BestEffortHistory(place)


class _BestEffortHistory(FileHistory):
    """A file of prompts; one that cannot be written keeps no prompt from being sent."""

    def store_string(self, string: str) -> None:
        """Append a prompt."""
        with suppress(OSError):
            super().store_string(string)
