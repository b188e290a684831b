"""``textDocument/hover``: what exactly the agent would do, where it asks."""

from __future__ import annotations

import re

from lsprotocol import types

from agent_ls.domain.approvals import ApprovalRequest, Question
from agent_ls.domain.calls import ToolKind
from agent_ls.lsp.edge import Edge
from agent_ls.safety.text import visible

_MARKDOWN = re.compile(r"[\\`*_{}\[\]()<>#|!~&]")
_LANGUAGES = {ToolKind.EXECUTE: "sh", ToolKind.EDIT: "diff", ToolKind.DELETE: "diff"}


async def handle(edge: Edge, params: types.HoverParams) -> types.Hover | None:
    """Return the payload of what waits on this line; None where nothing does."""
    uri, line = params.text_document.uri, params.position.line
    edge.attention.touch(uri)
    parts: list[str] = []
    for mark in edge.faces.marks.at(uri, line, line):
        match mark.subject:
            case ApprovalRequest():
                parts.append(approval_words(mark.subject))
            case Question():
                options = "".join(f"\n- {plain(option)}" for option in mark.subject.options)
                parts.append(f"**The agent asks:** {plain(mark.subject.text)}\n{options}")
            case _:
                continue
    if not parts:
        return None
    markdown = types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(parts))
    return types.Hover(contents=markdown)


def approval_words(request: ApprovalRequest) -> str:
    """Return an approval in full, as Markdown."""
    preview = request.preview
    fence = _fence(preview.payload)
    language = _LANGUAGES.get(preview.kind, "")
    return (
        f"**The agent asks:** {plain(preview.title)}\n\n"
        f"{fence}{language}\n{visible(preview.payload)}\n{fence}\n\n{plain(request.reason)}"
    ).rstrip()


def plain(text: str) -> str:
    """Return text that Markdown shows as it is: no links, no pictures, nothing hidden."""
    return _MARKDOWN.sub(r"\\\g<0>", visible(text))


def _fence(payload: str) -> str:
    """Return a fence that the payload cannot close."""
    fence = "```"
    while fence in payload:
        fence += "`"
    return fence
