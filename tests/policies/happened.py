"""A turn that really reads and edits files, written down as the loop writes it down."""

from __future__ import annotations

from pathlib import Path

from agent_ls.domain.calls import ErrorKind, ToolResult
from agent_ls.domain.edits import (
    ChangeText,
    CreateFile,
    DeleteFile,
    FileEdit,
    MoveFile,
    Replacement,
)
from agent_ls.domain.events import (
    CommandChanged,
    EditApplied,
    EditIntended,
    Event,
    ToolCallFinished,
)
from agent_ls.loop.ports.store import Store
from agent_ls.loop.ports.workspace import Workspace


class Happened:
    """Writes down what a turn did to files that are really there."""

    def __init__(self, root: Path, workspace: Workspace, store: Store) -> None:
        self.root, self.workspace, self.store = root, workspace, store
        self.events: list[Event] = []

    async def read(self, path: str, *, error: ErrorKind | None = None) -> None:
        """Record that the model read a file, as the read tool does."""
        data = {"path": path, "version": (await self.workspace.read(path)).version}
        result = ToolResult(call_id="cal_1", text="…", error=error, data=data)
        self.events.append(ToolCallFinished(result=result))

    async def edit(self, edit: FileEdit) -> None:
        """Apply an edit and record it, as ACT does."""
        data = await self.workspace.snapshot(edit.path)
        before = None if data is None else await self.store.put_blob(data)
        intended = EditIntended(call_id="cal_1", edit=edit, before_blob=before)
        assert (await self.workspace.apply(edit)).status == "applied"
        newest = edit.new_path if isinstance(edit, MoveFile) else edit.path
        after = await self.workspace.snapshot(newest)
        blob = None if after is None else await self.store.put_blob(after)
        applied = EditApplied(call_id="cal_1", path=edit.path, status="applied", after_blob=blob)
        self.events += [intended, applied]

    async def version(self, path: str) -> str:
        return (await self.workspace.read(path)).version

    async def write(self, path: str, text: str) -> None:
        """Give a file another text, or create it, as the edit tools do."""
        if not await self.workspace.exists(path):
            await self.edit(CreateFile(path=path, text=text))
            return
        file = await self.workspace.read(path)
        whole = Replacement(start=0, end=len(file.text), text=text)
        change = ChangeText(path=path, base_version=file.version, replacements=(whole,))
        await self.edit(change)

    async def command(self, path: str, text: str, *, is_before_known: bool = True) -> None:
        """Let a command write a file, and record it as ACT does."""
        before = await self.workspace.snapshot(path)
        (self.root / path).write_text(text)
        is_new = before is None or not is_before_known
        blob = None if is_new else await self.store.put_blob(before)
        after = await self.store.put_blob(text.encode())
        self.events.append(
            CommandChanged(
                call_id="cal_1", path=path, before_blob=blob, after_blob=after,
                is_before_known=is_before_known,
            )
        )  # fmt: skip

    async def delete(self, path: str) -> None:
        """Delete a file, as the delete tool does."""
        await self.edit(DeleteFile(path=path, base_version=await self.version(path)))
