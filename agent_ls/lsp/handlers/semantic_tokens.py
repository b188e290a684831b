"""``textDocument/semanticTokens/full`` of a conversation document.

Steps recede, what waits for the user stands out, and so do the commands and places in the words
below the last heading.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from lsprotocol import types

from agent_ls.domain.commands import BUILT_IN
from agent_ls.domain.shipped_commands import SHIPPED
from agent_ls.lsp.connection.positions import index_to_column, split_lines
from agent_ls.lsp.conversation_page import HEADING, Page, is_conversation
from agent_ls.lsp.editor_context import EditorContext
from agent_ls.lsp.handlers.conversation import waiting_in

_COMMENT, _KEYWORD, _FUNCTION, _STRING = range(4)
"""Places in the announced legend."""

_COMMAND = re.compile(r"\s*/([^\s/.]+)(?=\s|\Z)")
_PLACE = re.compile(r"(?<!\S)(?:@\S+|#\S+ \(\S+:\d+\))")

_Token = tuple[int, int, int, int]
"""Line, first and last index in it, and the type's place in the legend."""


async def handle(
    context: EditorContext, params: types.SemanticTokensParams
) -> types.SemanticTokens:
    """Return the tokens; none for any other document."""
    uri = params.text_document.uri
    session = context.presenters.conversations.session_of(uri) if is_conversation(uri) else None
    document = context.server.documents.get(uri)
    if session is None or document is None:
        return types.SemanticTokens([])
    lines = [line.rstrip("\r\n") for line in split_lines(document.text)]
    commands: Collection[str] = ()
    if waiting_in(session) is None:
        commands = {*BUILT_IN, *SHIPPED, *(await context.sessions.commands()).commands}
    found = [
        *_said(lines, context.presenters.conversations.page(session.id)),
        *_written(lines, commands),
    ]
    data: list[int] = []
    line_before = column_before = 0
    for line, start, end, kind in sorted(found):
        first, last = (
            index_to_column(lines[line], at, context.server.documents.encoding)
            for at in (start, end)
        )
        column_before = column_before if line == line_before else 0
        data += (line - line_before, first - column_before, last - first, kind, 0)
        line_before, column_before = line, first
    return types.SemanticTokens(data)


def _said(lines: list[str], page: Page) -> Iterator[_Token]:
    """Yield what the server wrote, where the editor's text has it already."""
    wanted = {one.first: _KEYWORD for one in page.waiting}
    wanted |= {line: _COMMENT for one in page.steps for line in range(one.first, one.last + 1)}
    for line, kind in wanted.items():
        if line < len(lines) and lines[line] == page.lines[line]:
            yield line, 0, len(lines[line]), kind


def _written(lines: list[str], commands: Collection[str]) -> Iterator[_Token]:
    """Yield what the user wrote that the agent reads as more than words."""
    below = range(lines.index(HEADING) + 1 if HEADING in lines else len(lines), len(lines))
    first = next((line for line in below if lines[line].strip()), None)
    if first is not None and (call := _COMMAND.match(lines[first])) and call[1] in commands:
        yield first, call.start(1) - 1, call.end(1), _FUNCTION
    for line in below:
        for place in _PLACE.finditer(lines[line]):
            yield line, *place.span(), _STRING
