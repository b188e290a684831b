"""A folder on disk with the real ports, and calls of tools as the loop makes them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent_ls.domain.edits import FileEdit, TextFile, apply_replacements
from agent_ls.domain.events import Event, SessionCreated, StoredEvent, TurnStarted
from agent_ls.domain.modes import Mode
from agent_ls.loop.extension_points import Tool, ToolContext, ToolOutput
from agent_ls.loop.ports.models import ModelFacts
from agent_ls.loop.ports.workspace import Root
from agent_ls.loop.state.folding import fold_all
from agent_ls.loop.state.view import TurnView
from agent_ls.workspace.disk import DiskWorkspace


class BufferedWorkspace(DiskWorkspace):
    """The disk with some buffers over it, as an editor has them."""

    def __init__(self, roots: Iterable[Root]) -> None:
        super().__init__(tuple(roots))
        self.buffers: dict[str, str] = {}

    async def dirty(self) -> list[TextFile]:
        return [
            TextFile(path=path, text=text, version="buffer", is_open=True, is_dirty=True)
            for path, text in self.buffers.items()
        ]

    async def read(self, path: str) -> TextFile:
        found = {file.path: file for file in await self.dirty()}
        return found[path] if path in found else await super().read(path)


@dataclass
class Place:
    """The folder of a test, and what is done in it."""

    root: Path
    workspace: BufferedWorkspace
    said: list[str] = field(default_factory=list[str])

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        return file

    def context(self, *events: Event) -> ToolContext:
        created = SessionCreated(session_id="ses_1", roots=(), mode=Mode.ASK, model="m")
        started = TurnStarted(turn_id="trn_1", prompt="Do it.")
        session = fold_all(
            StoredEvent(session_id="ses_1", seq=seq, at_ms=0, event=event)
            for seq, event in enumerate((created, started, *events), 1)
        )
        assert session.turn is not None
        view = TurnView(session, session.turn, ModelFacts(0, 0), 0.0)
        return ToolContext("cal_1", "trn_1", view, self.said.append)

    async def call(self, tool: Tool[Any], *events: Event, **arguments: object) -> ToolOutput:
        """Run a tool and apply what it plans."""
        parsed = tool.Arguments.model_validate(arguments)
        output = await tool.run(parsed, self.context(*events))
        for edit in output.edits:
            assert (await self.workspace.apply(edit)).status == "applied"
        return output


def text_after(text: str, edit: FileEdit) -> str:
    assert edit.kind == "change"
    return apply_replacements(text, edit.replacements)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    root = tmp_path.resolve() / "proj"
    root.mkdir()
    return Place(root, BufferedWorkspace([Root("proj", root, is_trusted=True)]))
