"""Images named on the command line of ``run``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_run import folder, running
from tests.support.commands import Done, ended
from tests.support.images import data_url, image
from tests.support.scripted import scripted

__all__ = ["folder"]
pytestmark = pytest.mark.heavy

SHOT, CHART = image(size=(80, 60)), image("JPEG", (9, 9))


async def check(folder: Path, *words: str) -> tuple[Done, list[str], str]:
    """Run with these words; return how it ended, and what images and words the model got."""
    (folder / "chart.jpg").write_bytes(CHART)
    (folder.parent / "shot.png").write_bytes(SHOT)
    (folder.parent / "cut.png").write_bytes(SHOT[:50])
    async with (
        scripted('[[answer]]\ntext = "Fine."\n', is_strict=False) as model,
        running(folder, model, *words, "--json") as process,
    ):
        done = await ended(process)
    if not model.requests:
        return done, [], ""
    return done, model.requests[0].images, model.requests[0].first_user_text


async def test_images_are_given_by_an_option_and_by_the_prompt(folder: Path) -> None:
    shot = str(folder.parent / "shot.png")
    done, images, said = await check(folder, "What is wrong in @chart.jpg?", "--image", shot)
    assert done.code == 0, done.err
    assert images == [data_url(SHOT), data_url(CHART, "image/jpeg")]
    assert said.startswith("What is wrong in @chart.jpg?\n[image shot.png 80x60]\n[image chart")


async def test_an_image_alone_is_a_prompt(folder: Path) -> None:
    done, images, said = await check(folder, "-i", str(folder.parent / "shot.png"))
    assert done.code == 0, done.err
    assert (images, said.strip()) == ([data_url(SHOT)], "[image shot.png 80x60]")


async def test_an_image_that_cannot_be_used_is_an_error(folder: Path) -> None:
    for name, words in (
        ("missing.png", "missing.png could not be read: No such file or directory"),
        ("cut.png", "The image cut.png is broken"),
    ):
        done, images, _ = await check(folder, "Look.", "--image", str(folder.parent / name))
        assert (done.code, images) == (3, [])
        assert words in done.err
