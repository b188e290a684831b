"""Unified diffs for people: previews, transcripts, the demo. Never applied."""

from __future__ import annotations

import difflib

_MAX_LINES = 20_000


def unified(before: str | None, after: str | None, path: str, new_path: str | None = None) -> str:
    """Return a unified diff; a None side is a file that does not exist."""
    old, new = (before or "").splitlines(), (after or "").splitlines()
    old_name = "/dev/null" if before is None else f"a/{path}"
    new_name = "/dev/null" if after is None else f"b/{new_path or path}"
    if len(old) + len(new) > _MAX_LINES:
        return f"--- {old_name}\n+++ {new_name}\n({len(old)} lines become {len(new)})\n"
    lines = difflib.unified_diff(old, new, old_name, new_name, lineterm="")
    text = "\n".join(lines)
    if not text and old_name != new_name:
        text = f"--- {old_name}\n+++ {new_name}"
    return text + "\n" if text else ""
