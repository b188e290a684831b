"""What a person decides about the agent's changes, and how a change stands.

Owns words only: the ledger itself is ``review/file_changes.py``, its events are in ``events.py``.
"""

from __future__ import annotations

from typing import Literal

ReviewDecision = Literal["keep", "undo", "redo", "restore"]
"""``redo`` takes an undo back; ``restore`` brings a file back to a turn's beginning."""

HunkState = Literal["open", "kept", "undone"]
"""``open``: nobody has decided yet."""

HunkKind = Literal["text", "created", "deleted", "moved", "opaque"]
"""``text`` is some lines of a file, the others are whole files; ``opaque`` is one that is no text.
"""
