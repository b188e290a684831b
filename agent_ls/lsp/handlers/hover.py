"""``textDocument/hover``: pending approvals and questions in full, and the agent's changes."""

from __future__ import annotations

import re

from lsprotocol import types

from agent_ls.domain.approvals import ApprovalRequest, Question
from agent_ls.lsp.conversation.transcript import LANGUAGES, fenced
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.marks.reviews import Change
from agent_ls.safety.text import visible

_MARKDOWN = re.compile(r"[\\`*_{}\[\]()<>#|!~&]")
_SHOWN_LINES = 40
_SHOWN_CHARACTERS = 100


async def handle(edge: Edge, params: types.HoverParams) -> types.Hover | None:
    """Return what waits on this line and what changed there; None when there is nothing."""
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
    parts += [change_words(one) for one in await edge.reviews.at(uri, line, line)]
    if not parts:
        return None
    markdown = types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(parts))
    return types.Hover(contents=markdown)


def approval_words(request: ApprovalRequest) -> str:
    """Return an approval in full, as Markdown."""
    preview = request.preview
    block = "\n".join(fenced(preview.payload, LANGUAGES.get(preview.kind, "")))
    return (
        f"**The agent asks:** {plain(preview.title)}\n\n{block}\n\n{plain(request.reason)}".rstrip()
    )


def change_words(change: Change) -> str:
    """Return a change as Markdown: the diff, and the prompt that caused it."""
    hunk = change.placed.hunk
    if hunk.kind != "text":
        is_opaque = hunk.kind == "opaque"
        did = f"changed this file ({hunk.title})" if is_opaque else f"{hunk.kind} this file"
        return f"**The agent {did}:** {plain(_short(change.turn.prompt))}"
    lines = [f"-{one}" for one in hunk.old] + [f"+{one}" for one in hunk.new]
    shown = lines[:_SHOWN_LINES]
    if len(lines) > len(shown):
        shown.append(f"({len(lines) - len(shown)} more lines)")
    text = "\n".join(shown)
    since = "\n\nThese lines were changed since." if change.placed.is_changed else ""
    words = f"**The agent changed this:** {plain(_short(change.turn.prompt))}"
    block = "\n".join(fenced(text, "diff"))
    return f"{words}\n\n{block}{since}"


def _short(prompt: str) -> str:
    return prompt.strip().partition("\n")[0][:_SHOWN_CHARACTERS]


def plain(text: str) -> str:
    """Return text escaped for Markdown: no links, no pictures, nothing hidden."""
    return _MARKDOWN.sub(r"\\\g<0>", visible(text))
