"""Images that come with a prompt: from a file that it names, and on their way to the store."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from agent_ls.domain.errors import AgentLsError, WorkspaceError
from agent_ls.domain.pictures import Picture, PictureData
from agent_ls.domain.verdicts import Allow
from agent_ls.loop.ports.store import Blobs
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.pictures.reading import KINDS, UnusableImage, read_image
from agent_ls.safety.control_files import judge_read
from agent_ls.session.attachments import check_told

_log = logging.getLogger(__name__)

MAX_IMAGES = 20
"""Of one prompt; Anthropic takes less of each image where a request has more."""
_NAMED = re.compile(
    r"""(?<![^\s("'\[])@
    (?: "([^"\n]+)"
    |   ((?:\\.|[^\s\\"]){1,300}?
        \.(?:png|jpe?g|gif|webp|bmp|tiff?|hei[cf]|avif)) (?=[\s.,;:!?)'"\]]|$)
    |   ((?:\\.|[^\s\\"]){1,300}) (?=[\s"]|$)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""A file named as in ``@shot.png``, ``@"my shot.png"`` or ``@shot``. Long words are no names."""
_AS_IMAGE = re.compile(r"\.(?:png|jpe?g|gif|webp|bmp|tiff?|hei[cf]|avif)$", re.IGNORECASE)
_OF_SERVER = re.compile(r"[\w-]+:\S")
"""A tool server's resource, as in ``@server:docs://logo.png``."""
_MOST_WORDS = 50
"""Of one prompt that are looked at as names."""
_BEHIND = ".,;:!?)'\"]"
_ESCAPED = re.compile(r"\\(.)")


async def image_at(path: str, workspace: Workspace) -> PictureData:
    """Return the image in a file of the workspace, if the agent may read it unasked.

    Errors: ``AgentLsError`` if it may not, or there is no such image.
    """
    check_told(path, workspace)
    data = await workspace.image_bytes(path)
    if data is None:
        raise UnusableImage(f"{path} is no image that models take: those are {KINDS}.")
    return await read_image(data, path)


async def named_in(prompt: str, workspace: Workspace) -> tuple[list[PictureData], list[str]]:
    """Return the images that a prompt names as ``@path``, and a line for each that does not go.

    A name that leads to none that may be read unasked stays a word: the agent can read it by its
    tool, which asks. Errors: ``UnusableImage`` for an image that is broken or too large.
    """
    found: list[PictureData] = []
    lines: list[str] = []
    for name in islice(dict.fromkeys(_names_in(prompt)), _MOST_WORDS):
        data, why = await _image_or_why(name, workspace)
        if data is not None:
            found.append(await read_image(data, name))
        elif _AS_IMAGE.search(name):
            lines.append(f"@{name} is not sent along: {why.rstrip('.')}.")
    for line in lines:
        _log.warning("%s", line)
    return found, [f"({one})" for one in lines]


def _names_in(prompt: str) -> Iterator[str]:
    for quoted, shown, plain in _NAMED.findall(prompt):
        name = quoted or _ESCAPED.sub(r"\1", shown or plain.rstrip(_BEHIND))
        if name and not _OF_SERVER.match(name):
            yield name


async def _image_or_why(name: str, workspace: Workspace) -> tuple[bytes | None, str]:
    """Return the bytes of an image that may be read unasked, or why there are none."""
    verdict = await asyncio.to_thread(judge_read, name, workspace.roots)
    if not isinstance(verdict, Allow):
        return None, verdict.reason
    try:
        if (data := await workspace.image_bytes(name)) is not None:
            return data, ""
        is_empty = await workspace.saved(name) == b""
    except WorkspaceError as error:
        return None, str(error)
    return None, "it is empty" if is_empty else f"it is no image that models take ({KINDS})"


def with_mention(words: str, image: PictureData) -> str:
    """Return the words with a mention of the image behind them."""
    is_apart = not words or words[-1].isspace()
    return f"{words}{'' if is_apart else ' '}{image.words}"


def prompt_text(prompt: str, images: Sequence[PictureData], lines: Sequence[str] = ()) -> str:
    """Return the prompt with a mention of each image that it does not name itself, then the lines.

    Errors: ``AgentLsError`` if there are too many.
    """
    if len(images) > MAX_IMAGES:
        raise AgentLsError(f"A prompt takes at most {MAX_IMAGES} images, not {len(images)}.")
    mentions = [one.words for one in images if one.words not in prompt]
    return "\n".join([*([prompt] if prompt.strip() else []), *mentions, *lines])


async def stored(images: Sequence[PictureData], blobs: Blobs) -> tuple[Picture, ...]:
    """Return the images, each once, after storing their bytes. Errors: ``StoreError``."""
    found = [one.stored(await blobs.put_blob(one.data)) for one in images]
    return tuple({one.digest: one for one in found}.values())
