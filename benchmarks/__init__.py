"""Programs that measure agent-ls against floors taken in the same run; see README.md."""

from __future__ import annotations
