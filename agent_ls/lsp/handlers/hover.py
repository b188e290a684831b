"""``textDocument/hover``: pending approvals and questions in full, and the agent's changes."""

from __future__ import annotations

import asyncio
import re

from lsprotocol import types

from agent_ls.domain.approvals import ApprovalRequest, Question
from agent_ls.edits.long_lines import cut_hunk
from agent_ls.edits.notebooks import lines_to_read
from agent_ls.lsp.conversation.entries import LANGUAGES
from agent_ls.lsp.conversation_page import fenced
from agent_ls.lsp.diagnostics.reviews import Change
from agent_ls.lsp.editor_context import EditorContext
from agent_ls.safety.text import visible

_MARKDOWN = re.compile(
    r"[\\`*\[\]<>]|(?<!\w)_|_(?!\w)|&(?=[#\w])|^[#=~+-]|(?<=^\d)\.", re.MULTILINE
)
"""What Markdown would read as a mark. Some editors show the backslash, so nothing else gets one."""
_SHOWN_LINES = 40
_SHOWN_CHARACTERS = 100


async def handle(context: EditorContext, params: types.HoverParams) -> types.Hover | None:
    """Return what waits on this line and what changed there; None when there is nothing."""
    uri, line = params.text_document.uri, params.position.line
    context.lookup.touch(uri)
    is_markdown = context.server.profile.hover_markdown
    parts: list[str] = []
    for annotation in context.presenters.annotations.at(uri, line, line):
        match annotation.subject:
            case ApprovalRequest():
                parts.append(approval_words(annotation.subject, is_markdown=is_markdown))
            case Question():
                options = "".join(
                    f"\n- {plain(one, is_markdown)}" for one in annotation.subject.options
                )
                asked = plain(annotation.subject.text, is_markdown)
                parts.append(f"{_strong('The agent asks:', is_markdown)} {asked}\n{options}")
            case _:
                continue
    changes = await context.reviews.at(uri, line, line)
    parts += [
        await asyncio.to_thread(change_words, one, is_markdown=is_markdown) for one in changes
    ]
    if not parts:
        return None
    kind = types.MarkupKind.Markdown if is_markdown else types.MarkupKind.PlainText
    return types.Hover(contents=types.MarkupContent(kind, "\n\n---\n\n".join(parts)))


def approval_words(request: ApprovalRequest, *, is_markdown: bool = True) -> str:
    """Return an approval in full, as Markdown or plain text."""
    preview = request.preview
    title = f"{_strong('The agent asks:', is_markdown)} {plain(preview.title, is_markdown)}"
    block = _block(preview.payload, LANGUAGES.get(preview.kind, ""), is_markdown)
    return f"{title}\n\n{block}\n\n{plain(request.reason, is_markdown)}".rstrip()


def change_words(change: Change, *, is_markdown: bool = True) -> str:
    """Return a change as Markdown or plain text: the diff, and the prompt that caused it."""
    hunk = change.placed.hunk
    prompt = plain(_short(change.turn.prompt), is_markdown)
    if hunk.kind != "text":
        is_opaque = hunk.kind == "opaque"
        did = f"changed this file ({hunk.title})" if is_opaque else f"{hunk.kind} this file"
        return f"{_strong(f'The agent {did}:', is_markdown)} {prompt}"
    removed, added = cut_hunk(
        *(lines_to_read(change.file.path, one[:_SHOWN_LINES]) for one in (hunk.old, hunk.new))
    )
    shown = [*(f"-{one}" for one in removed), *(f"+{one}" for one in added)][:_SHOWN_LINES]
    if (left := len(hunk.old) + len(hunk.new) - len(shown)) > 0:
        shown.append(f"({left} more lines)")
    since = "\n\nThese lines were changed since." if change.placed.is_changed else ""
    words = f"{_strong('The agent changed this:', is_markdown)} {prompt}"
    block = _block("\n".join(shown), "diff", is_markdown)
    return f"{words}\n\n{block}{since}"


def _strong(text: str, is_markdown: bool) -> str:
    return f"**{text}**" if is_markdown else text


def _block(text: str, language: str, is_markdown: bool) -> str:
    return "\n".join(fenced(text, language)) if is_markdown else visible(text).strip("\n")


def _short(prompt: str) -> str:
    return prompt.strip().partition("\n")[0][:_SHOWN_CHARACTERS]


def plain(text: str, is_markdown: bool) -> str:
    """Return text as it reads: in Markdown no links, no pictures, nothing hidden."""
    return _MARKDOWN.sub(r"\\\g<0>", visible(text)) if is_markdown else visible(text)
