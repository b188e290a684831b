"""One edit that happened, with what its file was before and after: a text, or a whole image."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agent_ls.domain import events as e
from agent_ls.domain.edits import FileEdit, apply_replacements
from agent_ls.domain.errors import BytesDamaged
from agent_ls.domain.images import FileImage, Images, is_text
from agent_ls.domain.permissions import Modes
from agent_ls.edits.lines import BOM

Fetch = Callable[[str], Awaitable[bytes | None]]
"""Gets stored bytes by their digest."""


@dataclass(frozen=True, slots=True)
class Touch:
    """One edit that happened, of the agent's or of the review's."""

    turn_id: str
    """The turn in which, or after which, it happened."""
    path: str
    new_path: str
    """Differs from ``path`` for a move, and for a file that comes back at another place."""
    before_blob: str | None
    after_blob: str | None
    edit: FileEdit | None = None
    """What exactly was done; None for a command's change, and for a file put back as a whole."""
    call_id: str = ""
    """The session's call that did it, also for a sub-agent's edits; empty for the review's."""
    at: str = ""
    """Names the edit; the ids of its hunks begin with it."""
    decision: e.ReviewDecided | None = None
    """The decision that the review carried out with it."""
    images: Images | None = None
    """Both sides where one of them is no text."""
    modes: Modes = (None, None)
    """The permissions before and after, where the edit can have changed them."""
    command: str = ""
    """The call that ran the command which did it; a sub-agent's own."""

    @property
    def is_gone(self) -> bool:
        """Say whether it took the file away."""
        if self.edit is not None:
            return self.edit.kind == "delete"
        return self.after_blob is None if self.images is None else self.images[1] is None

    @property
    def is_new(self) -> bool:
        """Say whether there was no file before it."""
        return self.before_blob is None if self.images is None else self.images[0] is None


async def unless_damaged(fetch: Fetch, digest: str) -> bytes | None:
    """Return stored bytes; None also when they are damaged: one file's are not the others'."""
    try:
        return await fetch(digest)
    except BytesDamaged:
        return None


async def images_of(touch: Touch, fetch: Fetch) -> Images | None:
    """Return both sides of a touch as images; None when both are texts."""
    if touch.images is not None:
        return touch.images
    for digest in (touch.before_blob, touch.after_blob):
        if digest is not None and not _decodes(await fetch(digest)):
            return await both_images(touch, fetch)
    return None


async def both_images(touch: Touch, fetch: Fetch) -> Images:
    """Return both sides of a touch as images, whatever they are."""
    if touch.images is not None:
        return touch.images
    mode, mode_after = touch.modes
    before = await image_of(touch.before_blob, mode, fetch)
    return before, await image_of(touch.after_blob, mode_after, fetch)


async def texts_of(touch: Touch, fetch: Fetch) -> tuple[str | None, str | None]:
    """Return the text before a touch, and what the touch alone made of it.

    Errors: ``UnicodeDecodeError`` if it is no text.
    """
    before, after = await text_of(touch.before_blob, fetch), await text_of(touch.after_blob, fetch)
    return before, after if touch.edit is None else _text_after(touch.edit, before, after)


async def text_of(digest: str | None, fetch: Fetch) -> str | None:
    """Return a stored text. Errors: ``UnicodeDecodeError`` if it is no text."""
    data = None if digest is None else await fetch(digest)
    return None if data is None else data.decode()


def _text_after(edit: FileEdit, before: str | None, seen: str | None) -> str | None:
    # The text seen right after an edit may already hold something the user typed.
    if edit.kind == "create":
        return edit.text
    if edit.kind != "change" or before is None:
        return seen
    try:
        return apply_replacements(before.removeprefix(BOM), edit.replacements)
    except ValueError:
        return seen


def modes_of(edit: FileEdit, before: int | None, after: int | None = None) -> Modes:
    """Return the permissions before and after an edit, from what was recorded of it."""
    match edit.kind:
        case "change":
            return (edit.mode.base, edit.mode.goal) if edit.mode else (None, None)
        case "create":
            return None, edit.mode if after is None else after
        case "delete":
            return before, None
        case "move":
            return before, before


async def image_of(digest: str | None, mode: int | None, fetch: Fetch) -> FileImage | None:
    """Return stored bytes as an image; None for no file."""
    if digest is None:
        return None
    data = await fetch(digest)
    if data is None:
        return FileImage(size_bytes=0, digest=digest, mode=mode, is_missing=True)
    return FileImage(
        size_bytes=len(data), digest=digest, mode=mode, is_kept=True, is_text=is_text(data)
    )


def _decodes(data: bytes | None) -> bool:
    if data is None:
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
