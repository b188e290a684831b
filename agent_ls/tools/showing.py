"""What a person is shown of a call: built by us from its arguments, nothing in it hidden."""

from __future__ import annotations

from agent_ls.domain.approvals import Preview
from agent_ls.domain.calls import ToolKind
from agent_ls.safety.text import visible, visible_line

_MAX_TITLE_CHARS = 120
_MAX_PAYLOAD_CHARS = 20_000


def preview(
    title: str,
    payload: str,
    kind: ToolKind,
    *,
    path: str | None = None,
    line: int | None = None,
    grant: str | None = None,
) -> Preview:
    """Return the preview with control and invisible characters shown as escapes."""
    shown_title = visible_line(title)
    if len(shown_title) > _MAX_TITLE_CHARS:
        shown_title = shown_title[: _MAX_TITLE_CHARS - 1] + "…"
    shown = visible(payload)
    if len(shown) > _MAX_PAYLOAD_CHARS:
        left = len(shown) - _MAX_PAYLOAD_CHARS
        shown = f"{shown[:_MAX_PAYLOAD_CHARS]}\n… ({left} characters more)\n"
    return Preview(title=shown_title, payload=shown, kind=kind, path=path, line=line, grant=grant)
