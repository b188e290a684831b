"""Has somebody else changed files since the model last saw them?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field, JsonValue

from agent_ls.domain.edits import MoveFile
from agent_ls.domain.errors import StoreError, WorkspaceError
from agent_ls.domain.events import EditApplied, EditIntended, Event, ToolCallFinished
from agent_ls.domain.record import Record
from agent_ls.domain.verdicts import Slot
from agent_ls.loop.ports import Store, Workspace
from agent_ls.loop.spelling import canonical
from agent_ls.loop.view import TurnView

_MAX_TOKENS = 300


class FilesChangedOptions(Record):
    """How many files are watched."""

    max_files: int = Field(default=50, ge=0)
    """Those of this turn that the model saw last; 0: none."""


@dataclass(frozen=True, slots=True)
class _Look:
    """How a file was when the model last read it (a version) or wrote it (a blob)."""

    path: str
    version: str | None = None
    blob: str | None = None


@dataclass(frozen=True, slots=True)
class FilesChanged:
    """Names the files whose text is not the one the model read or wrote in this turn.

    The person, a formatter or a command changed them. Source: seed 000, file cache invalidation.
    """

    name: ClassVar[str] = "files_changed"
    workspace: Workspace
    store: Store
    options: FilesChangedOptions = FilesChangedOptions()

    async def propose(self, view: TurnView) -> Slot | None:
        """Answer from what the turn's reads and edits saw, and from the files now."""
        watched: dict[str, _Look] = {}
        # Newest first: no more places are looked up than files are watched.
        for look in reversed(view.turn.events.tallied(_Looks).newest.values()):
            if len(watched) >= self.options.max_files:
                break
            watched.setdefault(canonical(look.path, self.workspace), look)
        changed = [
            name for name, look in reversed(watched.items()) if await self._is_other(name, look)
        ]
        if not changed:
            return None
        return Slot(
            self.name,
            2,
            _MAX_TOKENS,
            f"Changed since you last saw them, and not by your edits: {', '.join(changed)}. "
            "Read them again before you rely on them or edit them.",
        )

    async def _is_other(self, path: str, look: _Look) -> bool:
        """Say whether the file is gone or has another text now."""
        try:
            if look.version is not None:
                return (await self.workspace.read(path)).version != look.version
            now = await self.workspace.snapshot(path)
            if look.blob is None:
                return now is not None
            before = await self.store.get_blob(look.blob)
            # Without the text from before nothing can be claimed.
            return before is not None and now != before
        except WorkspaceError:
            return True
        except StoreError:
            return False


class _Looks:
    """The newest look at each file of this turn, the latest last, seen event by event."""

    def __init__(self) -> None:
        self.newest: dict[str, _Look] = {}
        self._moves: dict[str, str] = {}

    def see(self, event: Event) -> None:
        match event:
            case ToolCallFinished(result=result) if result.error is None:
                for look in _read(result.data):
                    self._add(look)
            case EditIntended(edit=MoveFile(path=path, new_path=new_path)):
                self._moves[path] = new_path
            case EditApplied(status="applied", path=path, after_blob=blob):
                new_path = self._moves.pop(path, None)
                self._add(_Look(path, blob=None if new_path else blob))
                if new_path:
                    self._add(_Look(new_path, blob=blob))
            case _:
                pass

    def _add(self, look: _Look) -> None:
        self.newest.pop(look.path, None)
        self.newest[look.path] = look


def _read(data: JsonValue) -> Iterator[_Look]:
    """Yield the look that a result with a path and a version is."""
    match data:
        case {"path": str(path), "version": str(version)}:
            yield _Look(path, version=version)
        case _:
            pass
