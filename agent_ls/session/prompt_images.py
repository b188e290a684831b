"""Images that come with a prompt: from a file that it names, and on their way to the store."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_ls.domain.errors import AgentLsError, WorkspaceError
from agent_ls.domain.pictures import Picture, PictureData
from agent_ls.domain.verdicts import Allow
from agent_ls.loop.ports.store import Blobs
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.pictures.reading import KINDS, UnusableImage, read_image
from agent_ls.safety.control_files import judge_read
from agent_ls.session.attachments import check_told

MAX_IMAGES = 20
"""Of one prompt; Anthropic takes less of each image where a request has more."""
_NAMED = re.compile(
    r"""(?<![^\s("'\[])@
    (?: "([^"\n]+)"
    |   ((?:\\.|[^\s\\"]){1,300}?\.(?:png|jpe?g|gif|webp)) (?=[\s.,;:!?)'"\]]|$)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""A file named as in ``@shot.png`` or ``@"my shot.png"``. Long words are no names."""
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


async def named_in(prompt: str, workspace: Workspace) -> list[PictureData]:
    """Return the images that a prompt names as ``@path``.

    A name that leads to none that may be read unasked stays a word: the agent can read it by its
    tool, which asks. Errors: ``UnusableImage`` for an image that is broken or too large.
    """
    names = [quoted or _ESCAPED.sub(r"\1", plain) for quoted, plain in _NAMED.findall(prompt)]
    found: list[PictureData] = []
    for name in dict.fromkeys(names):
        if not isinstance(judge_read(name, workspace.roots), Allow):
            continue
        try:
            data = await workspace.image_bytes(name)
        except WorkspaceError:
            continue
        if data is not None:
            found.append(await read_image(data, name))
    return found


def with_mention(words: str, image: PictureData) -> str:
    """Return the words with a mention of the image behind them."""
    is_apart = not words or words[-1].isspace()
    return f"{words}{'' if is_apart else ' '}{image.words}"


def prompt_text(prompt: str, images: Sequence[PictureData]) -> str:
    """Return the prompt with a mention of each image that it does not name itself.

    Errors: ``AgentLsError`` if there are too many.
    """
    if len(images) > MAX_IMAGES:
        raise AgentLsError(f"A prompt takes at most {MAX_IMAGES} images, not {len(images)}.")
    mentions = [one.words for one in images if one.words not in prompt]
    return "\n".join([*([prompt] if prompt.strip() else []), *mentions])


async def stored(images: Sequence[PictureData], blobs: Blobs) -> tuple[Picture, ...]:
    """Return the images, each once, after storing their bytes. Errors: ``StoreError``."""
    found = [one.stored(await blobs.put_blob(one.data)) for one in images]
    return tuple({one.digest: one for one in found}.values())
