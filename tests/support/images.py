"""Images for tests, made in memory."""

from __future__ import annotations

import base64
import random
from io import BytesIO

from PIL import Image


def image(
    kind: str = "PNG", size: tuple[int, int] = (8, 6), color: str = "red", *, mode: str = "RGB"
) -> bytes:
    """Return an image of one colour in this format."""
    return _saved(Image.new(mode, size, color), kind)


def noise(size: tuple[int, int], kind: str = "PNG") -> bytes:
    """Return an image that cannot be compressed."""
    data = random.Random(1).randbytes(size[0] * size[1] * 3)
    return _saved(Image.frombytes("RGB", size, data), kind)


def animated(kind: str, frames: int = 3) -> bytes:
    """Return a moving image whose first frame is red."""
    made = BytesIO()
    first, *rest = (
        Image.new("RGB", (8, 6), color) for color in ("red", "green", "blue", "white")[:frames]
    )
    first.save(made, kind, save_all=True, append_images=rest, duration=100, lossless=True)
    return made.getvalue()


def opened(data: bytes) -> Image.Image:
    """Return an image to look at."""
    return Image.open(BytesIO(data))


def encoded(data: bytes) -> str:
    """Return bytes in base64."""
    return base64.b64encode(data).decode()


def data_url(data: bytes, kind: str = "image/png") -> str:
    """Return an image as OpenAI-like endpoints get it."""
    return f"data:{kind};base64,{encoded(data)}"


def _saved(image: Image.Image, kind: str) -> bytes:
    made = BytesIO()
    image.save(made, kind, **({"lossless": True} if kind == "WEBP" else {}))
    return made.getvalue()
