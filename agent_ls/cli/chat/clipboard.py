"""Reads the image in the clipboard of the user's desktop, by the desktop's own program."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from agent_ls.domain.pictures import PictureData
from agent_ls.pictures.reading import MAX_FILE_BYTES, UnusableImage, read_image
from agent_ls.processes.launching import start_piped
from agent_ls.safety.programs import child_path, find_outside

_PROGRAMS: Mapping[str, tuple[str, ...]] = {
    "WAYLAND_DISPLAY": ("wl-paste", "--type", "image/png"),
    "DISPLAY": ("xclip", "-selection", "clipboard", "-target", "image/png", "-out"),
}
"""By the variable that says which desktop runs."""
_VARIABLES = ("HOME", "XDG_RUNTIME_DIR", "XAUTHORITY", *_PROGRAMS)
_LIMIT_S = 5.0
"""A program that owns the clipboard and does not answer is not waited for."""
_DIGITS = 6


async def copied_image(folders: Sequence[Path]) -> PictureData:
    """Return the image in the clipboard, named by its content.

    No program in ``folders`` is started. Errors: ``UnusableImage``.
    """
    command = _command(folders)
    try:
        data = await asyncio.wait_for(_printed(command), _LIMIT_S)
    except TimeoutError:
        raise UnusableImage(f"The clipboard has not answered for {_LIMIT_S:.0f} s.") from None
    except OSError as error:
        raise UnusableImage(
            f"{command[0]} could not be started: {error.strerror or error}."
        ) from None
    if not data:
        raise UnusableImage(
            "There is no image in the clipboard. A file is named by @ and its path."
        )
    return await read_image(data, f"clipboard-{hashlib.sha256(data).hexdigest()[:_DIGITS]}")


def _command(folders: Sequence[Path]) -> list[str]:
    for variable, (program, *words) in _PROGRAMS.items():
        found = find_outside(program, folders) if os.environ.get(variable) else None
        if found is not None:
            return [str(found), *words]
    raise UnusableImage(
        "To paste an image, install wl-clipboard (Wayland) or xclip (X11), and work on a desktop."
    )


async def _printed(command: Sequence[str]) -> bytes:
    """Return what a program prints, until that is larger than an image may be."""
    kept = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    running = await start_piped(command, cwd=None, env={**kept, "PATH": child_path()})
    data = bytearray()
    try:
        while len(data) <= MAX_FILE_BYTES and (piece := await running.stdout.read(2**16)):
            data += piece
    finally:
        await running.end()
    return bytes(data)
