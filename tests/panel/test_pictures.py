"""The panel looks as it did: each scene in four themes and three widths, and the pictures in docs.

``UPDATE_GOLDEN=1`` keeps the new ones; look at the sheets in vscode-client/dist/preview first.

What is kept of a sheet is an eighth of its size, with 16 shades of each colour: some 25 KB for 42
scenes, and too coarse for the edges of letters, which differ between versions of a browser. A line
that is gone, moved or coloured differently still changes what is left of its place.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops, ImageOps

_SHRUNK = 8
_MAX_DIFFERENCE = 24
"""Of one point of a shrunk picture, of 255: one shade more or less is none."""
_MAX_POINTS = 6
"""How many points of one scene may differ more than that."""


@pytest.fixture(scope="module")
def client(repository: Path) -> Path:
    """The client with the sheets of today in ``dist/preview``."""
    if shutil.which("chromium") is None:
        pytest.skip("there is no chromium")
    place = repository / "vscode-client"
    for script in ("esbuild.mjs", "test/preview.mjs"):
        subprocess.run(["node", script], cwd=place, check=True, capture_output=True)
    return place


def shrunk(picture: Image.Image) -> Image.Image:
    """Return what is kept of a sheet."""
    return ImageOps.posterize(picture.convert("RGB").reduce(_SHRUNK), 4)


def differences(kept: Image.Image, now: Image.Image, cell: dict[str, Any]) -> int:
    """Return how many points of a scene differ."""
    x, y = cell["x"] // _SHRUNK, cell["y"] // _SHRUNK
    box = (x, y, x + cell["width"] // _SHRUNK, y + cell["height"] // _SHRUNK)
    changed = ImageChops.difference(kept.crop(box), now.crop(box))
    most = ImageChops.lighter(ImageChops.lighter(*changed.split()[:2]), changed.split()[2])
    return sum(most.histogram()[_MAX_DIFFERENCE + 1 :])


@pytest.mark.editor
@pytest.mark.timeout(1200)
@pytest.mark.story("panel pictures")
def test_each_scene_looks_as_it_did(client: Path, repository: Path) -> None:
    sheets = client / "dist" / "preview"
    changed: list[str] = []
    for name, sheet in json.loads((sheets / "cells.json").read_text()).items():
        file = client / "test" / "pictures" / f"{name}.webp"
        now = shrunk(Image.open(sheets / f"{name}.png"))
        if os.environ.get("UPDATE_GOLDEN") == "1":
            file.parent.mkdir(exist_ok=True)
            now.save(file, lossless=True, method=6)
            if (in_docs := repository / "docs" / f"{name}.png").exists():
                shutil.copy(sheets / f"{name}.png", in_docs)
        kept = Image.open(file).convert("RGB")
        assert kept.size == now.size, f"{name}: other scenes; UPDATE_GOLDEN=1 keeps them"
        for cell in sheet["cells"]:
            if (points := differences(kept, now, cell)) > _MAX_POINTS:
                changed.append(f"{name}, {cell['name']}: {points} points")
    assert changed == [], f"look at {sheets}; UPDATE_GOLDEN=1 keeps what is as it should be"
