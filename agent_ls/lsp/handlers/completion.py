"""Completes what the user writes to the agent: in a conversation document, and by a request."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from lsprotocol import types

from agent_ls.domain.commands import BUILT_IN
from agent_ls.domain.errors import bug
from agent_ls.domain.shipped_commands import SHIPPED
from agent_ls.domain.symbols import Definitions
from agent_ls.lsp import wire
from agent_ls.lsp.connection.convert import range_of
from agent_ls.lsp.conversation_page import is_conversation, start_below
from agent_ls.lsp.editor_context import EditorContext
from agent_ls.lsp.handlers.conversation import waiting_in
from agent_ls.safety.text import visible_line
from agent_ls.session.custom_commands import called


@dataclass(frozen=True, slots=True)
class Row:
    """One thing to choose."""

    kind: Literal["file", "folder", "symbol", "command", "session"]
    text: str
    """What is written in place of the word."""
    label: str
    detail: str = ""
    part: wire.FilePart | wire.FolderPart | wire.SymbolPart | None = None
    """What a client that attaches parts sends along; the text is then ``short``."""
    short: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """The rows for a word."""

    rows: Sequence[Row]
    is_incomplete: bool = False
    """Something was not read in time."""


Rows = Callable[[EditorContext, str], Awaitable[Found]]

_COMMAND = re.compile(r"\s*(/[^\s/.]*)\Z")
_MENTION = re.compile(r"(?:.*\s)?(@\S*)\Z", re.DOTALL)
_SYMBOL = re.compile(r"(?:.*\s)?(#\S+)\Z", re.DOTALL)
_SESSION = re.compile(r"---\r?\nsession:[ \t]*(\w*)\Z")
_KINDS = {
    "file": types.CompletionItemKind.File,
    "folder": types.CompletionItemKind.Folder,
    "symbol": types.CompletionItemKind.Reference,
}
_MOST_SYMBOLS = 30
_MOST_OPEN = 10


async def handle(
    context: EditorContext, params: types.CompletionParams
) -> types.CompletionList | None:
    """Return commands, files, symbols or sessions that fit what stands before the cursor, or None.

    Commands only at the beginning of the words, since only there they are read as such.
    """
    uri, at = params.text_document.uri, params.position
    positions = context.server.documents.positions(uri) if is_conversation(uri) else None
    if positions is None:
        return None
    end = positions.offset(at.line, at.character)
    begun = _begun(positions.text, end)
    if begun is None:
        return None
    typed, rows = begun
    if rows is not _sessions:
        session = context.presenters.conversations.session_of(uri)
        if session is None or (rows is _commands and waiting_in(session) is not None):
            return None
    where = range_of(positions, end - len(typed), end)
    return _listed((await rows(context, typed)).rows, where)


async def complete(context: EditorContext, asked: wire.CompleteParams) -> wire.CompleteResult:
    """Return what completes the words of a prompt."""
    begun = _begun_in(asked.text)
    if begun is None:
        return wire.CompleteResult(word="", rows=[], is_incomplete=False)
    word, rows = begun
    found = await rows(context, word)
    return wire.CompleteResult(
        word=word,
        rows=[_wire_row(one) for one in found.rows[: asked.limit]],
        is_incomplete=found.is_incomplete,
    )


def _wire_row(row: Row) -> wire.CompletionRow:
    if row.kind == "session":
        raise bug("the words of a prompt complete no sessions")
    return wire.CompletionRow(
        kind=row.kind,
        label=visible_line(row.label),
        detail=visible_line(row.detail),
        insert=row.short or row.text,
        part=row.part,
    )


def _begun(text: str, end: int) -> tuple[str, Rows] | None:
    """Return the word before the offset ``end`` of a page, and what completes it."""
    start = start_below(text)
    if start is None or end < start:
        found = _SESSION.match(text[:end])
        return (found[1], _sessions) if found else None
    return _begun_in(text[start:end])


def _begun_in(words: str) -> tuple[str, Rows] | None:
    """Return the word at the end of a prompt, and what completes it."""
    for pattern, rows in ((_MENTION, _files), (_SYMBOL, _symbols), (_COMMAND, _commands)):
        if (found := pattern.match(words)) is not None:
            return found[1], rows
    return None


async def _commands(context: EditorContext, typed: str) -> Found:
    custom = (await context.sessions.commands()).commands
    known = [*(one for name, one in SHIPPED.items() if name not in custom), *custom.values()]
    rows = [
        *(Row("command", f"/{name}", f"/{name}", does) for name, does in BUILT_IN.items()),
        *(Row("command", f"/{one.name}", called(one), one.description) for one in known),
    ]
    begun = [one for one in rows if one.text.lower().startswith(typed.lower())]
    others = [one for one in rows if typed[1:].lower() in one.text.lower()]
    return Found(list(dict.fromkeys([*begun, *others])))


async def _files(context: EditorContext, typed: str) -> Found:
    wanted = typed[1:].removeprefix('"').lower()
    visited = (context.lookup.path(uri) for uri in context.lookup.recent())
    # What is open is likelier than any other file.
    opened = [one for one in visited if one and wanted in one.lower()][:_MOST_OPEN]
    found = dict.fromkeys([*opened, *await context.file_names.like(wanted)])
    return Found([_file_row(context, one) for one in found], not context.file_names.is_listed)


def _file_row(context: EditorContext, path: str) -> Row:
    is_folder = path.endswith("/")
    text = f'@"{path}"' if re.search(r"\s", path) else f"@{path}"
    uri = context.lookup.uri(path.rstrip("/"))
    if is_folder:
        part = None if uri is None else wire.FolderPart(type="folder", uri=uri)
        return Row("folder", text, path, "", part)
    part = None if uri is None else wire.FilePart(type="file", uri=uri)
    return Row("file", text, path, "", part)


async def _symbols(context: EditorContext, typed: str) -> Found:
    found = await context.symbol_names.like(typed[1:], _MOST_SYMBOLS)
    rows: list[Row] = []
    for one in found or ():
        uri, place = context.lookup.uri(one.path), f"{one.path}:{one.line}"
        part = uri and wire.SymbolPart(
            type="symbol", uri=uri, name=one.qualified, line=max(one.line - 1, 0)
        )
        text = f"#{one.qualified} ({place})"
        rows.append(Row("symbol", text, one.qualified, place, part or None, f"#{one.qualified}"))
    return Found(rows, found is None or (isinstance(found, Definitions) and bool(found.gap)))


async def _sessions(context: EditorContext, typed: str) -> Found:
    found = await context.sessions.stored.list()
    return Found(
        [Row("session", one.session_id, one.session_id, one.title or "untitled") for one in found]
    )


def _listed(rows: Iterable[Row], where: types.Range) -> types.CompletionList:
    """Return the rows as items; incomplete, since a file list is cut."""
    items = [
        types.CompletionItem(
            label=visible_line(row.label),
            detail=visible_line(row.detail) or None,
            kind=_KINDS.get(row.kind, types.CompletionItemKind.Text),
            filter_text=row.text,
            sort_text=f"{number:06}",
            text_edit=types.TextEdit(where, row.text),
        )
        for number, row in enumerate(rows)
    ]
    return types.CompletionList(is_incomplete=True, items=items)
