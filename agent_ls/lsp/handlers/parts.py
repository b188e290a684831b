"""Reads the parts of a prompt: words, images, and what is attached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agent_ls.domain.attachments import Attachment
from agent_ls.domain.errors import AgentLsError, FileTooLarge, NotText
from agent_ls.domain.pictures import PictureData
from agent_ls.edits.notebooks import notebook_or_none
from agent_ls.loop.ports.workspace import Root
from agent_ls.lsp import wire
from agent_ls.lsp.editor_context import EditorContext
from agent_ls.lsp.handlers.sent_prompts import SentPrompts
from agent_ls.pictures.reading import read_encoded
from agent_ls.safety.text import visible_line
from agent_ls.session.attachments import Attaching, check_told, refusal
from agent_ls.session.prompt_images import image_at, with_mention
from agent_ls.workspace.git_changes import git_changes


class ReadParts(NamedTuple):
    """A prompt as the session takes it."""

    words: str
    """With a mention of each image where it stands."""
    images: list[PictureData]
    attachments: list[Attachment]


async def read_parts(context: EditorContext, asked: wire.PromptParams) -> ReadParts:
    """Return what a prompt consists of.

    Errors: ``AgentLsError`` for a part that cannot be attached, and says why.
    """
    words, images = asked.text, list[PictureData]()
    attaching = Attaching(context.workspace)
    prompts = SentPrompts(context)
    for part in asked.parts:
        match part:
            case wire.TextPart(text=text):
                words += text
            case wire.ImagePart(data=str(data), name=name):
                images.append(await read_encoded(data, name or str(len(images) + 1)))
                words = with_mention(words, images[-1])
            case wire.ImagePart(uri=uri):
                images.append(await image_at(_path(context, uri or ""), context.workspace))
                words = with_mention(words, images[-1])
            case wire.FilePart(uri=uri):
                path = _path(context, uri)
                try:
                    await attaching.file(path)
                except (NotText, FileTooLarge) as error:
                    if await context.workspace.image_bytes(path) is None:
                        raise refusal(path, error) from None
                    images.append(await image_at(path, context.workspace))
                    words = with_mention(words, images[-1])
            case wire.SentPart(kind="image"):
                images.append(await prompts.image(part))
                words = with_mention(words, images[-1])
            case wire.SentPart():
                attaching.again(await prompts.attachment(part))
            case _:
                await _attach(context, part, attaching)
    return ReadParts(words, images, attaching.found)


async def _attach(
    context: EditorContext,
    part: wire.RangePart
    | wire.SymbolPart
    | wire.DiagnosticsPart
    | wire.FolderPart
    | wire.TerminalPart
    | wire.ChangesPart,
    attaching: Attaching,
) -> None:
    match part:
        case wire.RangePart(uri=uri, line=line, last_line=last_line):
            path = _path(context, uri)
            if (cells := notebook_or_none(path, context.lookup.text(uri))) is not None:
                # The model reads the cells, and knows their lines.
                line, last = cells.shown_lines(line, last_line)
                last_line = line if last is None else last
            try:
                await attaching.file(path, (line, last_line), kind="range")
            except (NotText, FileTooLarge) as error:
                raise refusal(path, error) from None
        case wire.SymbolPart():
            await _attach_symbol(context, part, attaching)
        case wire.DiagnosticsPart(uri=uri, diagnostics=diagnostics):
            path = _path(context, uri)
            found = diagnostics or [
                one
                for told, many in context.foreign_diagnostics.items()
                if context.lookup.path(told) == path
                for one in many
            ]
            attaching.problems(path, [(one.line, _problem(one)) for one in found])
        case wire.FolderPart(uri=uri):
            await attaching.folder(_path(context, uri))
        case wire.TerminalPart(text=text, name=name):
            attaching.terminal(text, name)
        case wire.ChangesPart(uri=uri):
            await _attach_changes(context, uri, attaching)


async def _attach_symbol(
    context: EditorContext, part: wire.SymbolPart, attaching: Attaching
) -> None:
    path = _path(context, part.uri)
    check_told(path, context.workspace)
    text = (await context.workspace.read(path)).text
    symbols = [
        one for one in await context.sessions.symbols(path, text) if one.qualified == part.name
    ]
    if not symbols:
        raise AgentLsError(f"There is no {visible_line(part.name)} in {path} any more.")
    symbol = min(symbols, key=lambda one: abs(one.line - 1 - part.line))
    lines = (symbol.first_line - 1, symbol.last_line - 1)
    await attaching.file(path, lines, kind="symbol", name=visible_line(symbol.qualified))


async def _attach_changes(context: EditorContext, uri: str | None, attaching: Attaching) -> None:
    roots = _roots(context, uri)
    found = [(root, await git_changes(root, context.workspace)) for root in roots]
    if not any(changes for _, changes in found):
        names = ", ".join(visible_line(root.name) for root in roots)
        raise AgentLsError(f"There are no changes to attach: {names} is in no git repository.")
    for root, changes in found:
        if changes is not None:
            attaching.changes(visible_line(root.name), changes.text, changes.note)


def _path(context: EditorContext, uri: str) -> str:
    """Return the agent's name of a file or folder. Errors: ``AgentLsError`` outside."""
    context.refresh_roots()
    path = context.lookup.path(uri)
    if path is None:
        raise AgentLsError(f"{visible_line(uri)} is no file of the workspace.")
    return path


def _roots(context: EditorContext, uri: str | None) -> Sequence[Root]:
    context.refresh_roots()
    if uri is None:
        return context.workspace.roots
    return [context.workspace.locate(_path(context, uri))[0]]


def _problem(one: wire.EditorDiagnostic) -> str:
    by = " ".join(filter(None, [one.source, one.code]))
    return f"{one.severity.value}: {one.message}" + (f" ({by})" if by else "")
