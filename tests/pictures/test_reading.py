"""Images before they are let into a conversation: known by their content, whole, small enough."""

from __future__ import annotations

import asyncio
import base64
import struct
import threading
import time
import zlib
from collections.abc import Callable
from functools import partial
from io import BytesIO
from typing import Any

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from agent_ls.pictures import reading
from agent_ls.pictures.reading import (
    MAX_EDGE,
    MAX_FILE_BYTES,
    MAX_SENT_BYTES,
    UnusableImage,
    as_png,
    kind_of,
    made_png,
    read_encoded,
    read_image,
    readable,
)
from tests.support.images import animated, encoded, image, noise, opened


@pytest.mark.parametrize(
    "kind, media_type",
    [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/gif"), ("WEBP", "image/webp")],
)
async def test_an_image_is_known_by_its_content_and_stays_as_it_is(
    kind: str, media_type: str
) -> None:
    data = image(kind)
    found = await read_image(data, "notes.txt")
    assert (found.media_type, found.data, found.note) == (media_type, data, "")
    assert (found.width, found.height) == (8, 6)
    assert found.words == "[image notes.txt 8x6]"


def png_of(width: int, height: int) -> bytes:
    """Return a PNG that says to have this size and holds a pixel."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(b"\0\0\0\0")), (b"IEND", b"")]
    chunks = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


WRONG: dict[str, tuple[Callable[[], bytes], str]] = {
    "nothing": (lambda: b"", "is no image that models take: those are PNG, JPEG, GIF or WebP"),
    "a page": (lambda: b"<!DOCTYPE html><html>oops</html>", "is no image that models take"),
    "a drawing": (lambda: b"<svg xmlns='http://www.w3.org/2000/svg'/>", "is no image"),
    "another format": (lambda: image("BMP"), "is no image that models take"),
    "a head alone": (lambda: image()[:20], "is broken"),
    "a PNG that is cut": (lambda: noise((90, 90))[:-900], "is broken"),
    "a JPEG that is cut": (lambda: noise((90, 90), "JPEG")[:900], "is broken"),
    "a GIF that is cut": (lambda: image("GIF")[:15], "is broken"),
    "a WebP that is cut": (lambda: noise((90, 90), "WEBP")[:-900], "is broken"),
    "a wrong checksum": (lambda: image().replace(b"IDAT", b"IDAX"), "is broken"),
    "rubbish behind a head": (
        lambda: b"\xff\xd8\xff" + b"no" * 99,
        "it begins like image/jpeg, and what",
    ),
    "a bomb": (lambda: png_of(60_000, 60_000), "has 60000x60000 pixels"),
    "too many bytes": (lambda: image() + b"\0" * MAX_FILE_BYTES, "too large (20.0 MB"),
}


@pytest.mark.parametrize("case", WRONG)
async def test_what_no_provider_could_use_is_refused_in_words(case: str) -> None:
    make, words = WRONG[case]
    with pytest.raises(UnusableImage, match="shot") as refused:
        await read_image(make(), "shot.png")
    assert words in str(refused.value)
    assert " object at " not in str(refused.value)


def _photo(kind: str, orientation: int = 1) -> bytes:
    """Return an image, wider than high and red at its left, that tells where it was made."""
    photo = Image.new("RGB", (80, 60), "blue")
    photo.paste("red", (0, 0, 40, 60))
    exif = Image.Exif()
    exif[0x0112] = orientation
    exif.get_ifd(0x8825)[1] = "N"
    exif[0x013B] = "Ada Lovelace"
    made = BytesIO()
    photo.save(made, kind, exif=exif)
    return made.getvalue()


_COMMENTED = ("JPEG", "PNG", "GIF")


def _commented(kind: str) -> bytes:
    made, about = BytesIO(), PngInfo()
    about.add_text("Author", "Ada Lovelace")
    more: dict[str, Any] = {"pnginfo": about} if kind == "PNG" else {"comment": b"Ada Lovelace"}
    Image.new("RGB", (80, 60), "red").save(made, kind, **more)
    return made.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        *(pytest.param(partial(_photo, kind), id=kind) for kind in ("JPEG", "PNG", "WEBP")),
        *(pytest.param(partial(_commented, kind), id=f"{kind} comment") for kind in _COMMENTED),
    ],
)
async def test_what_an_image_tells_of_its_maker_is_not_sent(data: Callable[[], bytes]) -> None:
    given = data()
    assert b"Ada Lovelace" in given
    found = await read_image(given, "photo")
    assert b"Ada Lovelace" not in found.data
    assert (found.width, found.height, found.note) == (80, 60, "")
    assert not opened(found.data).getexif()
    assert b"Ada" not in base64.b64decode(as_png(encoded(given)))


async def test_a_photo_is_upright_without_the_word_of_how_it_was_held() -> None:
    found = await read_image(_photo("JPEG", orientation=6), "photo")
    assert (found.width, found.height, found.note) == (60, 80, "")
    red, _, blue = opened(found.data).convert("RGB").getpixel((30, 10)) or (0, 0, 0)
    assert red > 200 > 50 > blue


@pytest.mark.parametrize(
    "data, size, media_type",
    [
        pytest.param(lambda: image(size=(4_000, 1_000)), (2_000, 500), "image/png", id="wide"),
        pytest.param(lambda: image(size=(30, 9_000)), (7, 2_000), "image/png", id="tall"),
        pytest.param(
            lambda: image("JPEG", (2_500, 2_500)), (2_000, 2_000), "image/jpeg", id="a-photo"
        ),
        pytest.param(lambda: noise((1_400, 1_400)), (1_400, 1_400), "image/jpeg", id="many-bytes"),
        pytest.param(
            lambda: image("GIF", (2_400, 10), mode="P"), (2_000, 8), "image/png", id="a-gif"
        ),
        pytest.param(
            lambda: image("PNG", (2_400, 24), mode="LA"), (2_000, 20), "image/png", id="see-through"
        ),
    ],
)
async def test_an_image_that_is_too_large_is_made_smaller(
    data: Callable[[], bytes], size: tuple[int, int], media_type: str
) -> None:
    given = data()
    found = await read_image(given, "shot")
    assert ((found.width, found.height), found.media_type) == (size, media_type)
    assert opened(found.data).size == size
    assert len(found.data) <= MAX_SENT_BYTES
    assert max(found.width, found.height) <= MAX_EDGE
    if size != opened(given).size:
        width, height = opened(given).size
        assert found.note == f"made smaller, from {width}x{height}"


@pytest.mark.parametrize("kind", ["GIF", "WEBP"])
async def test_of_a_moving_image_the_first_frame_is_taken(kind: str) -> None:
    found = await read_image(animated(kind), "wave")
    assert (found.media_type, found.note) == ("image/png", "the first of several frames")
    assert opened(found.data).convert("RGB").getpixel((1, 1)) == (255, 0, 0)


async def test_an_image_comes_in_base64_too() -> None:
    text = encoded(image())
    for given in (text, f"data:image/png;base64,{text}", f"{text[:9]}\n{text[9:]}"):
        assert (await read_encoded(given, "a")).data == image()
    for wrong in ("aGk=", "not base64!", "", "data:image/png;base64,"):
        with pytest.raises(UnusableImage, match=r"The image a|a is no image"):
            await read_encoded(wrong, "a")
    found, lines = await readable([text, "aGk="], "shop/shot")
    assert [one.name for one in found] == ["1 of shop/shot"]
    assert lines.startswith("\n(Not shown: 2 of shop/shot is no image")


async def test_a_name_cannot_be_mistaken_for_the_text_around_it() -> None:
    found = await read_image(image(), "a]\n[image b\u202e.png" + "x" * 200)
    assert found.words.count("[") == found.words.count("]") == 1
    assert len(found.words) < 120
    assert found.words.isprintable()


def test_an_image_becomes_a_png_for_endpoints_that_take_little() -> None:
    made = base64.b64decode(as_png(encoded(image("WEBP"))))
    assert kind_of(made) == "image/png"
    assert opened(made).convert("RGB").getpixel((3, 3)) == (255, 0, 0)


async def test_images_are_decoded_one_at_a_time_and_beside_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    running, seen = 0, list[tuple[int, bool]]()
    opened_before = reading._opened

    def opens(data: bytes) -> object:
        nonlocal running
        running += 1
        seen.append((running, threading.current_thread() is threading.main_thread()))
        time.sleep(0.01)
        running -= 1
        return opened_before(data)

    monkeypatch.setattr(reading, "_opened", opens)
    pictures = [image("WEBP", (9, 10 + number)) for number in range(4)]
    await asyncio.gather(
        *(read_image(one, "a") for one in pictures),
        *(made_png(encoded(one)) for one in pictures),
    )
    assert seen == [(1, False)] * 8


async def test_what_was_made_png_is_kept_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = [encoded(noise((40, 40 + number), "WEBP")) for number in range(4)]
    sizes = [len(as_png(one)) for one in pictures]
    kept = reading._Kept(sum(sizes[:2]) + 1)
    monkeypatch.setattr(reading, "_PNGS", kept)
    for one in pictures:
        as_png(one)
    assert sum(map(len, kept._texts.values())) <= sum(sizes[:2]) + 1
    assert len(kept._texts) in (1, 2)
    huge = encoded(noise((90, 90), "WEBP"))
    assert as_png(huge) == as_png(huge)
