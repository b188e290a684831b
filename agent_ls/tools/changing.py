"""What the tools that change files share: the plan of one edit, and its preview."""

from __future__ import annotations

from agent_ls.domain.approvals import Preview
from agent_ls.domain.calls import ToolKind
from agent_ls.domain.edits import FileEdit, apply_replacements
from agent_ls.edits.diff import unified
from agent_ls.tools.showing import preview


def preview_of(
    title: str, kind: ToolKind, edit: FileEdit, before: str | None, grant: str | None
) -> Preview:
    """Return the preview of one file edit: the diff is the payload."""
    line = 0
    match edit.kind:
        case "change":
            text = before or ""
            diff = unified(text, apply_replacements(text, edit.replacements), edit.path)
            line = text.count("\n", 0, edit.replacements[0].start) if edit.replacements else 0
        case "create":
            diff = unified(None, edit.text, edit.path)
        case "delete":
            diff = unified(before, None, edit.path)
        case "move":
            diff = f"rename {edit.path}\n    to {edit.new_path}\n"
    return preview(title, diff, kind, path=edit.path, line=line, grant=grant)
