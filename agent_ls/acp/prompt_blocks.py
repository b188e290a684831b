"""What the client sends as a prompt: words, images, names of files, and parts of files."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from acp import schema

from agent_ls.domain.attachments import Attachment
from agent_ls.domain.errors import AgentLsError, WorkspaceError
from agent_ls.domain.pictures import PictureData
from agent_ls.domain.verdicts import Allow
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.pictures.reading import read_encoded, read_image
from agent_ls.safety.control_files import judge_read
from agent_ls.safety.text import visible_line
from agent_ls.session.attachments import Attaching
from agent_ls.session.prompt_images import with_mention

Block = (
    schema.TextContentBlock
    | schema.ImageContentBlock
    | schema.AudioContentBlock
    | schema.ResourceContentBlock
    | schema.EmbeddedResourceContentBlock
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as the agent takes it."""

    words: str
    """The words, with the names of what came along where it stands."""
    typed: str
    """What of the words the user typed: only this may be searched for names."""
    images: list[PictureData] = field(default_factory=list[PictureData])
    attachments: list[Attachment] = field(default_factory=list[Attachment])
    """The texts that the editor sent along."""


async def read_prompt(blocks: Sequence[Block], workspace: Workspace) -> Prompt:
    """Return a prompt's words, images and texts.

    Errors: ``AgentLsError`` for sound, and for images that cannot be used.
    """
    words: list[str] = []
    typed: list[str] = []
    texts = Attaching(workspace)
    images: list[PictureData] = []

    async def look_at(data: str, uri: str | None) -> None:
        name = posixpath.basename(urlsplit(uri or "").path) or str(len(images) + 1)
        images.append(await read_encoded(data, unquote(name)))
        words[:] = [with_mention("".join(words), images[-1])]

    for block in blocks:
        match block:
            case schema.TextContentBlock():
                words.append(_apart(words, block.text))
                typed.append(block.text)
            case schema.ResourceContentBlock(uri=uri):
                linked = await _images_in(uri, workspace)
                images += linked
                named = [one.words for one in linked] or [f"`{_name(uri, workspace)[0]}`"]
                words.append(_apart(words, named[0]))
            case schema.ImageContentBlock(data=data, uri=uri):
                await look_at(data, uri)
            case schema.EmbeddedResourceContentBlock(
                resource=schema.BlobResourceContents(blob=data, mime_type=str(kind), uri=uri)
            ) if kind.startswith("image/") and _name(uri, workspace)[1]:
                await look_at(data, uri)
            case schema.EmbeddedResourceContentBlock(resource=resource):
                name, may_be_told = _name(resource.uri, workspace)
                words.append(_apart(words, f"`{name}`"))
                if isinstance(resource, schema.TextResourceContents):
                    texts.given(name, resource.text, may_be_told=may_be_told)
            case schema.AudioContentBlock():
                raise AgentLsError("The agent does not listen to sound: leave it out.")
    return Prompt("".join(words), "\n".join(typed), images, texts.found)


async def _images_in(uri: str, workspace: Workspace) -> list[PictureData]:
    """Return the image that a link leads to, if it may be read unasked; else none.

    Errors: ``UnusableImage`` for one that is broken or too large.
    """
    path = path_of(uri)
    shown = None if path is None else workspace.shown(path.resolve())
    if shown is None or not isinstance(judge_read(shown, workspace.roots), Allow):
        return []
    try:
        data = await workspace.image_bytes(shown)
    except WorkspaceError:
        return []
    return [] if data is None else [await read_image(data, shown)]


def _apart(words: Sequence[str], piece: str) -> str:
    """Return what comes next in a prompt: with a blank in front, where it would touch a word."""
    before, first = words[-1][-1:] if words else "", piece[:1]
    touches = before.isalnum() if first in ("`", "[") else before in ("`", "]") and first.isalnum()
    return f" {piece}" if touches else piece


def path_of(uri: str) -> Path | None:
    """Return the file that a URI names; None for another scheme."""
    parts = urlsplit(uri)
    return Path(os.path.normpath(unquote(parts.path))) if parts.scheme == "file" else None


def _name(uri: str, workspace: Workspace) -> tuple[str, bool]:
    """Return the agent's name for a resource, and whether its text may go to the model unasked."""
    path, fragment = path_of(uri), urlsplit(uri).fragment
    if path is None:
        return visible_line(uri), True
    shown = workspace.shown(path.resolve())
    # Zed names lines as #L10:20.
    lines = f"#{fragment}" if fragment else ""
    if shown is None:
        return visible_line(f"{path}{lines}"), True
    may_be_told = isinstance(judge_read(shown, workspace.roots), Allow)
    return visible_line(f"{shown}{lines}"), may_be_told
