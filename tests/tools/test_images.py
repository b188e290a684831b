"""read_file shows an image, known by its content; what is none or cannot be used is said."""

from __future__ import annotations

import pytest

from agent_ls.domain.errors import AgentLsError
from agent_ls.tools.read_file import ReadFile
from agent_ls.workspace.dry_run import DryRunWorkspace
from tests.support.images import animated, image, noise
from tests.tools.conftest import Place


@pytest.mark.parametrize(
    "name, kind, media_type",
    [
        ("shot.png", "PNG", "image/png"),
        ("photo.jpeg", "JPEG", "image/jpeg"),
        ("wave.gif", "GIF", "image/gif"),
        ("logo.webp", "WEBP", "image/webp"),
        ("notes.txt", "PNG", "image/png"),
        ("picture", "JPEG", "image/jpeg"),
        ("lies.png", "WEBP", "image/webp"),
    ],
)
async def test_an_image_is_shown(place: Place, name: str, kind: str, media_type: str) -> None:
    data = image(kind)
    (place.root / name).write_bytes(data)
    for workspace in (place.workspace, DryRunWorkspace(place.workspace)):
        output = await place.call(ReadFile(workspace), path=name)
        assert output.text == f"[image {name} 8x6] ({media_type}, {len(data):,} bytes)"
        (shown,) = output.images
        assert (shown.data, shown.media_type) == (data, media_type)
        assert output.data == {"path": name}


async def test_a_large_or_moving_image_is_shown_as_far_as_models_take_it(place: Place) -> None:
    # Over 2 MB, which is too much for a text.
    (place.root / "large.png").write_bytes(noise((1_000, 1_000)))
    (place.root / "wide.png").write_bytes(image(size=(4_000, 40)))
    (place.root / "wave.gif").write_bytes(animated("GIF"))
    for name, note in (
        ("large.png", " bytes)"),
        ("wide.png", "made smaller, from 4000x40)"),
        ("wave.gif", "the first of several frames)"),
    ):
        output = await place.call(ReadFile(place.workspace), path=name)
        assert output.text.endswith(note)
        assert len(output.images) == 1


async def test_what_is_no_image_that_can_be_used_is_said(place: Place) -> None:
    (place.root / "cut.png").write_bytes(noise((90, 90))[:-900])
    (place.root / "huge.png").write_bytes(image() + b"\0" * 21_000_000)
    (place.root / "program").write_bytes(b"\x7fELF\0\0\0")
    (place.root / "large.bin").write_bytes(b"\0" * 3_000_000)
    for name, words in (
        ("cut.png", "The image cut.png is broken"),
        ("huge.png", "an image of 20.0 MB, too large to be looked at (the limit is 20 MB)"),
        ("program", "is a binary file, so there is no text to read or edit"),
        ("large.bin", "large.bin is a binary file"),
        ("missing.png", "missing.png does not exist"),
    ):
        with pytest.raises(AgentLsError) as refused:
            await place.call(ReadFile(place.workspace), path=name)
        assert words in str(refused.value)


async def test_a_text_that_is_named_like_an_image_is_read_as_text(place: Place) -> None:
    place.write("notes.png", "one\n")
    place.write("drawing.svg", "<svg/>\n")
    for name in ("notes.png", "drawing.svg"):
        output = await place.call(ReadFile(place.workspace), path=name)
        assert (output.images, output.text.startswith("    1\t")) == ((), True)
