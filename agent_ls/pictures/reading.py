"""Reads images for the model, and refuses what no provider could use. The only user of Pillow.

One broken or oversized image in a conversation makes a provider refuse every later request, so an
image is decoded once before it is let in. One at a time: each takes up to 200 MB while it is.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import TYPE_CHECKING, Final

from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.pictures import MediaType, PictureData

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_FILE_BYTES: Final = 20 * 2**20
"""Largest image that is read."""
MAX_SENT_BYTES: Final = 3_750_000
"""Anthropic takes 5 MB of base64, Bedrock 3.75 MB of bytes; the others take more."""
MAX_EDGE: Final = 2_000
"""In pixels. Anthropic takes no more in a request with over 20 images, and scales larger ones."""
_MAX_PIXELS: Final = 50_000_000
"""As many as cameras of phones make; four bytes each when decoded."""
_MAX_NAME: Final = 80
_HEAD: Final = 12
_STARTS: Final[Sequence[tuple[bytes, MediaType]]] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP")
_QUALITIES: Final = (90, 75, 60)
"""Of JPEG, tried in this order until the image is small enough."""
_PRIVATE: Final = frozenset({"exif", "xmp", "photoshop", "comment"})
"""What the library calls the words in an image's file; a PNG has its own besides."""
KINDS: Final = "PNG, JPEG, GIF or WebP"
_DECODER: Final = ThreadPoolExecutor(1, thread_name_prefix="images")
_MAX_KEPT_CHARS: Final = 64 * 2**20
"""Of images that were made PNG, in base64."""


class UnusableImage(AgentLsError):
    """The bytes are no image that can be sent; the message says why."""


def kind_of(data: bytes) -> MediaType | None:
    """Return an image's format by its first bytes; None if it is none that models take."""
    if data[:4] == b"RIFF" and data[8:_HEAD] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _STARTS if data.startswith(start)), None)


async def read_image(data: bytes, name: str) -> PictureData:
    """Return an image, made smaller if it is too large to be sent.

    Errors: ``UnusableImage``.
    """
    return await asyncio.get_running_loop().run_in_executor(_DECODER, _read, data, name)


async def read_encoded(text: str, name: str) -> PictureData:
    """Return an image given in base64, also as a ``data:`` URL. Errors: ``UnusableImage``."""
    if text[:5].lower() == "data:":
        text = text.partition(",")[2]
    if len(text) > MAX_FILE_BYTES * 4 // 3 + 4:
        raise _too_large(name, len(text) * 3 // 4)
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise UnusableImage(f"The image {name} is no valid base64.") from None
    return await read_image(data, name)


async def readable(texts: Sequence[str], name: str) -> tuple[tuple[PictureData, ...], str]:
    """Return the images in base64 that can be used, and a line for each that cannot."""
    found: list[PictureData] = []
    lines: list[str] = []
    for number, text in enumerate(texts, 1):
        try:
            found.append(await read_encoded(text, f"{number} of {name}"))
        except UnusableImage as error:
            lines.append(f"\n(Not shown: {error})")
    return tuple(found), "".join(lines)


class _Kept:
    """The newest texts by key, up to a size of all together."""

    def __init__(self, most_chars: int) -> None:
        self._most_chars = most_chars
        self._texts: dict[bytes, str] = {}
        self._lock = threading.Lock()

    def get(self, key: bytes) -> str | None:
        with self._lock:
            return self._texts.get(key)

    def put(self, key: bytes, text: str) -> None:
        with self._lock:
            self._texts[key] = text
            left = sum(map(len, self._texts.values()))
            for old in list(self._texts)[:-1]:
                if left <= self._most_chars:
                    break
                left -= len(self._texts.pop(old))


_PNGS: Final = _Kept(_MAX_KEPT_CHARS)


def as_png(encoded: str) -> str:
    """Return an image as PNG, both in base64: for endpoints that take no other format."""
    key = hashlib.sha256(encoded.encode()).digest()
    if (known := _PNGS.get(key)) is not None:
        return known
    made = BytesIO()
    with _opened(base64.b64decode(encoded)) as image:
        _plain(image).save(made, "PNG")
    text = base64.b64encode(made.getvalue()).decode()
    _PNGS.put(key, text)
    return text


async def made_png(encoded: str) -> str:
    """Return what ``as_png`` returns; the event loop goes on meanwhile."""
    return await asyncio.get_running_loop().run_in_executor(_DECODER, as_png, encoded)


def _read(data: bytes, name: str) -> PictureData:
    name = _clean(name)
    kind = kind_of(data)
    if kind is None:
        raise UnusableImage(f"{name} is no image that models take: those are {KINDS}.")
    if len(data) > MAX_FILE_BYTES:
        raise _too_large(name, len(data))
    try:
        with _opened(data) as image:
            width, height = image.size
            if width * height > _MAX_PIXELS:
                raise UnusableImage(
                    f"The image {name} has {width}x{height} pixels, more than can be read: give a "
                    "part of it, or a smaller one."
                )
            # To count the frames would read them all.
            is_moving = bool(getattr(image, "is_animated", False))
            # Broken data is found only by reading all of it.
            image.load()
            is_small = max(image.size) <= MAX_EDGE and len(data) <= MAX_SENT_BYTES
            if is_small and not is_moving and not _tells_more(image):
                return PictureData(data, kind, width, height, name)
            small, made_kind = _smaller(image, is_photo=kind == "image/jpeg")
    except UnusableImage:
        raise
    except Exception as error:
        # The library raises anything on broken data, and names objects of ours.
        why = str(error)
        if " object at " in why:
            why = f"it begins like {kind}, and what follows is none"
        raise UnusableImage(f"The image {name} is broken: {why}.") from None
    notes = ["the first of several frames"] if is_moving else []
    if sorted(small.size) != sorted((width, height)):
        notes.append(f"made smaller, from {width}x{height}")
    return PictureData(small.data, made_kind, *small.size, name, "; ".join(notes))


class _Made:
    """An encoded image and its size in pixels."""

    def __init__(self, image: Image, kind: str, **how: int | bool) -> None:
        made = BytesIO()
        image.save(made, kind, **how)
        self.data = made.getvalue()
        self.size = image.size


def _smaller(image: Image, *, is_photo: bool) -> tuple[_Made, MediaType]:
    """Return the first frame within the limits, upright and without what else its file tells.

    It is a PNG, if it is no photo and fits so.
    """
    from PIL import ImageOps

    image = _plain(ImageOps.exif_transpose(image))
    image.thumbnail((MAX_EDGE, MAX_EDGE))
    if not is_photo and len((made := _Made(image, "PNG", optimize=True)).data) <= MAX_SENT_BYTES:
        return made, "image/png"
    flat = _on_white(image)
    while True:
        for quality in _QUALITIES:
            made = _Made(flat, "JPEG", quality=quality)
            if len(made.data) <= MAX_SENT_BYTES:
                return made, "image/jpeg"
        flat.thumbnail((max(1, flat.width // 2), max(1, flat.height // 2)))


def _plain(image: Image) -> Image:
    """Return a copy in a mode that PNG and JPEG know, transparency kept, and nothing else."""
    has_transparency = image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
    plain = image.convert("RGBA" if has_transparency else "RGB")
    plain.info.clear()
    return plain


def _tells_more(image: Image) -> bool:
    """Say whether the file holds words beside the pixels: where a photo was made, or by whom."""
    return bool(_PRIVATE & {one.lower() for one in map(str, image.info)}) or bool(
        getattr(image, "text", None)
    )


def _on_white(image: Image) -> Image:
    if image.mode != "RGBA":
        return image
    from PIL import Image as library

    white = library.new("RGBA", image.size, "white")
    return library.alpha_composite(white, image).convert("RGB")


def _opened(data: bytes) -> Image:
    # Imported here, since most sessions see no image.
    from PIL import Image as library

    # Its own limit only warns; ``_read`` looks at the size before it decodes.
    library.MAX_IMAGE_PIXELS = None
    return library.open(BytesIO(data), formats=_FORMATS)


def _too_large(name: str, size: int) -> UnusableImage:
    return UnusableImage(
        f"The image {name} is too large ({size / 2**20:.1f} MB; the limit is "
        f"{MAX_FILE_BYTES / 2**20:.0f} MB): give a part of it, or a smaller one."
    )


def _clean(name: str) -> str:
    """Return a name that cannot be mistaken for the text around it."""
    plain = "".join(one for one in name if one.isprintable() and one not in "[]\u202e")
    return plain[-_MAX_NAME:] or "image"
