"""Previews of calls for the user, built from the arguments, with nothing hidden."""

from __future__ import annotations

import hashlib

from agent_ls.domain.approvals import Preview
from agent_ls.domain.calls import ToolKind
from agent_ls.safety.text import label, visible

_MAX_TITLE_CHARS = 120
_MAX_PAYLOAD_CHARS = 200_000
"""More than any command can have: Linux takes 131,072 bytes in one argument."""


def preview(
    title: str,
    payload: str,
    kind: ToolKind,
    *,
    path: str | None = None,
    line: int | None = None,
    grant: str | None = None,
    prefix: str | None = None,
    bound: str = "",
) -> Preview:
    """Return the preview with control and invisible characters shown as escapes."""
    left = len(payload) - _MAX_PAYLOAD_CHARS
    if left > 0:
        half = _MAX_PAYLOAD_CHARS // 2
        payload = f"{payload[:half]}\n… ({left} characters left out) …\n{payload[-half:]}"
    return Preview(
        title=label(title, _MAX_TITLE_CHARS),
        payload=visible(payload),
        kind=kind,
        path=path,
        line=line,
        grant=grant,
        prefix=prefix,
        bound=hashlib.sha256(bound.encode(errors="replace")).hexdigest() if bound else "",
    )
