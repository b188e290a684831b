"""Patches as data, whatever format they came in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent_ls.edits.requests import Hunk

PatchKind = Literal["change", "create", "delete", "move", "replace"]


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What a patch wants of one file."""

    kind: PatchKind
    path: str
    hunks: tuple[Hunk, ...] = ()
    new_path: str | None = None
    """Where it is moved to, with or without changes."""
    text: str = ""
    """Of a file to create, or of one to change that may be missing: nothing was in it before."""
