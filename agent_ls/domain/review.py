"""Review decisions and the states of changes.

Names only: the ledger is ``review/file_changes.py``, the events are in ``events.py``.
"""

from __future__ import annotations

from typing import Literal

ReviewDecision = Literal["keep", "undo", "redo", "restore"]
"""``redo`` reverses an undo; ``restore`` resets a file to its content at a turn's start."""

HunkState = Literal["open", "kept", "undone"]
"""``open``: not decided yet."""

HunkKind = Literal["text", "created", "deleted", "moved", "opaque"]
"""``text`` is some lines of a file, the others are whole files; ``opaque`` is not a text."""
