"""``textDocument/completion`` where the person writes to the agent: in a conversation document."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable

from lsprotocol import types

from agent_ls.domain.commands import BUILT_IN
from agent_ls.lsp.connection.convert import range_of
from agent_ls.lsp.conversation_page import is_conversation, start_below
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.handlers.conversation import waiting_in
from agent_ls.safety.text import visible_line
from agent_ls.session.custom_commands import called

Row = tuple[str, str, str]
"""The text, its label, and a detail."""
Rows = Callable[[Edge, str], Awaitable[list[Row]]]

_COMMAND = re.compile(r"\s*(/[^\s/.]*)\Z")
_MENTION = re.compile(r"(?:.*\s)?(@\S*)\Z", re.DOTALL)
_SYMBOL = re.compile(r"(?:.*\s)?(#\S+)\Z", re.DOTALL)
_SESSION = re.compile(r"---\r?\nsession:[ \t]*(\w*)\Z")
_KINDS = {"@": types.CompletionItemKind.File, "#": types.CompletionItemKind.Reference}
_MOST_SYMBOLS = 30


async def handle(edge: Edge, params: types.CompletionParams) -> types.CompletionList | None:
    """Return commands, files, symbols or sessions that fit what stands before the cursor, or None.

    Commands only at the beginning of the words, since only there they are read as such.
    """
    uri, at = params.text_document.uri, params.position
    positions = edge.server.documents.positions(uri) if is_conversation(uri) else None
    if positions is None:
        return None
    end = positions.offset(at.line, at.character)
    begun = _begun(positions.text, end)
    if begun is None:
        return None
    typed, rows = begun
    if rows is not _sessions:
        session = edge.faces.conversations.session_of(uri)
        if session is None or (rows is _commands and waiting_in(session) is not None):
            return None
    where = range_of(positions, end - len(typed), end)
    return _listed(await rows(edge, typed), where)


def _begun(text: str, end: int) -> tuple[str, Rows] | None:
    """Return the word before the offset ``end`` and what completes it."""
    start = start_below(text)
    if start is None or end < start:
        found, rows = _SESSION.match(text[:end]), _sessions
    elif (found := _MENTION.match(text[start:end])) is not None:
        rows = _files
    elif (found := _SYMBOL.match(text[start:end])) is not None:
        rows = _symbols
    else:
        found, rows = _COMMAND.match(text[start:end]), _commands
    return (found[1], rows) if found else None


async def _commands(edge: Edge, typed: str) -> list[Row]:
    custom = (await edge.sessions.commands()).commands.values()
    return [
        *((f"/{name}", f"/{name}", "built in") for name in sorted(BUILT_IN)),
        *((f"/{one.name}", called(one), one.description) for one in custom),
    ]


async def _files(edge: Edge, typed: str) -> list[Row]:
    return [(f"@{one}", one, "") for one in await edge.file_names.like(typed[1:])]


async def _symbols(edge: Edge, typed: str) -> list[Row]:
    found = await edge.sessions.definitions(typed[1:], _MOST_SYMBOLS)
    places = [(one.qualified, f"{one.path}:{one.line}") for one in found]
    return [(f"#{name} ({place})", name, place) for name, place in places]


async def _sessions(edge: Edge, typed: str) -> list[Row]:
    found = await edge.sessions.list()
    return [(one.session_id, one.session_id, one.title or "untitled") for one in found]


def _listed(rows: Iterable[Row], where: types.Range) -> types.CompletionList:
    """Return rows of text, label and detail; incomplete, since a file list is cut."""
    items = [
        types.CompletionItem(
            label=visible_line(label),
            detail=visible_line(detail) or None,
            kind=_KINDS.get(text[0], types.CompletionItemKind.Text),
            filter_text=text,
            sort_text=f"{number:03}",
            text_edit=types.TextEdit(where, text),
        )
        for number, (text, label, detail) in enumerate(rows)
    ]
    return types.CompletionList(is_incomplete=True, items=items)
