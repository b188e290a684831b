"""Small projects for the checkers' tests, in a workspace whose buffers can differ from the disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from agent_ls.domain.edits import TextFile
from agent_ls.domain.findings import CheckReport
from agent_ls.loop.ports.workspace import Root
from agent_ls.workspace.disk import DiskWorkspace

Texts = Mapping[str, str | None]


class BufferWorkspace(DiskWorkspace):
    """The disk, and some files that an editor has open and not saved."""

    def __init__(self, roots: tuple[Root, ...], unsaved: Mapping[str, str]) -> None:
        super().__init__(roots)
        self._unsaved = unsaved

    async def dirty(self) -> list[TextFile]:
        return [
            TextFile(path=path, text=text, version="1", is_open=True, is_dirty=True)
            for path, text in self._unsaved.items()
        ]


def workspace(
    folder: Path, *, trusted: bool = True, unsaved: Mapping[str, str] | None = None
) -> BufferWorkspace:
    return BufferWorkspace((Root(folder.name, folder.resolve(), trusted),), unsaved or {})


def write(folder: Path, files: Mapping[str, str | dict[str, object]]) -> None:
    """Write files below a folder; objects as JSON. Line ends stay as they are."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_bytes(text.encode())


def listing(folder: Path) -> dict[str, bytes | None]:
    """Return every path below a folder with its bytes, links and folders included."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def told(report: CheckReport) -> list[tuple[str, int, int, str]]:
    """Return where each finding is and its code, sorted; lines and columns from 0."""
    return sorted((one.path, one.start_line, one.start_column, one.code) for one in report.findings)
