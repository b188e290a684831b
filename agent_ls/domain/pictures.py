"""Images that the model looks at. ``images.py`` is about files before and after a change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent_ls.domain.record import Record

MediaType = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
"""The formats that models take."""

_PIXELS_PER_TOKEN = 750
"""As Anthropic documents it; other providers count less for a large image."""


class Picture(Record):
    """An image of the conversation; its bytes are in the blob store."""

    digest: str
    media_type: MediaType
    width: int
    height: int
    size_bytes: int
    name: str

    @property
    def tokens(self) -> int:
        """Return the estimated tokens of a request that it takes."""
        return self.width * self.height // _PIXELS_PER_TOKEN + 1

    def words(self, why_not: str = "") -> str:
        """Return what stands for it in a text; ``why_not`` says why the model does not see it."""
        size = f"{self.width}x{self.height}"
        return f"[image {self.name} {size}{', ' if why_not else ''}{why_not}]"


@dataclass(frozen=True, slots=True)
class PictureData:
    """An image that was read and is not stored yet."""

    data: bytes
    media_type: MediaType
    width: int
    height: int
    name: str
    note: str = ""
    """How it differs from what was given; empty: not at all."""

    def stored(self, digest: str) -> Picture:
        """Return the image as events and messages name it."""
        return Picture(
            digest=digest,
            media_type=self.media_type,
            width=self.width,
            height=self.height,
            size_bytes=len(self.data),
            name=self.name,
        )

    @property
    def words(self) -> str:
        """Return what stands for it in a text."""
        return self.stored("").words()
