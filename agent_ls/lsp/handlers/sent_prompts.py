"""Returns a prompt that was sent, to change it or to send it again, and what went with it then."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from agent_ls.domain.attachments import Attachment, place_name
from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.events import TurnStarted
from agent_ls.domain.focus import Focus
from agent_ls.domain.goals import goal_in
from agent_ls.domain.pictures import PictureData
from agent_ls.edits.notebooks import is_notebook
from agent_ls.lsp import wire
from agent_ls.lsp.editor_context import EditorContext


async def sent(context: EditorContext, asked: wire.SentPromptParams) -> wire.SentPromptResult:
    """Return the prompt that began a turn, and what goes with it when it is sent again."""
    begun = await SentPrompts(context).begun(asked.session_id, asked.turn_id)
    words = _words(begun)
    return wire.SentPromptResult(text=words, parts=list(_parts(context, asked, begun, words)))


class SentPrompts:
    """Earlier prompts, each read from its journal once."""

    def __init__(self, context: EditorContext) -> None:
        """Begin with none read."""
        self._context = context
        self._read: dict[tuple[str, str], TurnStarted] = {}

    async def begun(self, session_id: str, turn_id: str) -> TurnStarted:
        """Return the prompt that began a turn. Errors: ``AgentLsError`` when there is none."""
        key = (session_id, turn_id)
        if key not in self._read:
            journal = await self._context.sessions.stored.journal(session_id)
            starts = (one.event for one in journal if isinstance(one.event, TurnStarted))
            found = next((one for one in starts if one.turn_id == turn_id), None)
            if found is None:
                raise AgentLsError(f"Session {session_id} has no turn {turn_id}.")
            self._read[key] = found
        return self._read[key]

    async def image(self, part: wire.SentPart) -> PictureData:
        """Return an image of a prompt. Errors: ``AgentLsError`` when there is none."""
        begun = await self.begun(part.session_id, part.turn_id)
        if part.index >= len(begun.images):
            raise AgentLsError(f"The prompt of {part.turn_id} had no image {part.index + 1}.")
        image = begun.images[part.index]
        data = await self._context.sessions.stored.content(image.digest)
        if data is None:
            raise AgentLsError(f"The image {image.name} is gone: attach it again.")
        return PictureData(
            data=data,
            media_type=image.media_type,
            width=image.width,
            height=image.height,
            name=image.name,
        )

    async def attachment(self, part: wire.SentPart) -> Attachment:
        """Return an attachment of a prompt. Errors: ``AgentLsError`` when there is none."""
        begun = await self.begun(part.session_id, part.turn_id)
        if part.index >= len(begun.attachments):
            raise AgentLsError(f"The prompt of {part.turn_id} had no attachment {part.index + 1}.")
        return begun.attachments[part.index]


def _words(begun: TurnStarted) -> str:
    """Return what the user wrote: without mentions of images, a goal as it is typed."""
    words = begun.prompt
    for image in begun.images:
        for before in (" ", "\n", ""):
            words = words.replace(before + image.words(), "")
    words = words.strip()
    goal = begun.goal
    if goal is not None and words == goal.as_prompt().strip():
        typed = goal.as_typed()
        # A goal of other lines than a user can type is sent as its words.
        return typed if goal_in(typed) == goal else words
    return words


def _parts(
    context: EditorContext, asked: wire.SentPromptParams, begun: TurnStarted, words: str
) -> Iterator[wire.SentPromptPart]:
    as_it_was = partial(
        wire.SentPart, type="sent", session_id=asked.session_id, turn_id=asked.turn_id
    )
    if (selection := _selection(context, begun.focus)) is not None:
        yield selection
    for index, one in enumerate(begun.attachments):
        # What the words name is read by its name.
        if one.kind != "resource" or not _is_named(one.name, words):
            part = _read_anew(context, one) or as_it_was(kind="attachment", index=index)
            title = one.path or one.name
            yield wire.SentPromptPart(kind=one.kind, name=one.name, title=title, part=part)
    for index, image in enumerate(begun.images):
        if not _is_named(image.name, words):
            part = as_it_was(kind="image", index=index)
            yield wire.SentPromptPart(kind="image", name=image.name, title=image.name, part=part)


def _is_named(name: str, words: str) -> bool:
    bare = rf"(?<!\w)@{re.escape(name)}(?![\w-]|\.\w)"
    return f'@"{name}"' in words or re.search(bare, words) is not None


def _selection(context: EditorContext, focus: Focus | None) -> wire.SentPromptPart | None:
    """Return what was selected in the editor as lines of the file; None: nothing was."""
    if focus is None or focus.first_line is None or focus.last_line is None:
        return None
    uri = context.lookup.uri(focus.path) if focus.path else None
    if uri is None or is_notebook(focus.path):
        # Those lines are of the cells as the model read them, and not of the file.
        return None
    first, last = focus.first_line, focus.last_line
    part = wire.RangePart(type="range", uri=uri, line=first, last_line=last)
    name = place_name(focus.path, first, last)
    return wire.SentPromptPart(kind="range", name=name, title=focus.path, part=part)


_ReadAnew = wire.FilePart | wire.FolderPart | wire.RangePart | wire.SymbolPart


def _read_anew(context: EditorContext, one: Attachment) -> _ReadAnew | None:
    """Return the part that attaches the same place as it is now; None: it is none of a file."""
    uri = context.lookup.uri(one.path) if one.path else None
    if uri is None:
        return None
    first, last = one.first_line, one.last_line
    match one.kind:
        case "file":
            return wire.FilePart(type="file", uri=uri)
        case "folder":
            return wire.FolderPart(type="folder", uri=uri)
        case "range" if first is not None and last is not None and not is_notebook(one.path):
            return wire.RangePart(type="range", uri=uri, line=first, last_line=last)
        case "symbol" if first is not None:
            return wire.SymbolPart(type="symbol", uri=uri, name=one.name, line=first)
        case _:
            return None
