"""Has somebody else changed files since the model last saw them?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

from pydantic import Field, JsonValue

from agent_ls.domain.edits import MoveFile
from agent_ls.domain.events import EditApplied, EditIntended, Event, ToolCallFinished
from agent_ls.domain.record import Record
from agent_ls.domain.verdicts import Slot
from agent_ls.loop.ports.workspace import Look, Workspace
from agent_ls.loop.state.view import TurnView

_MAX_TOKENS = 300


class FilesChangedOptions(Record):
    """How many files are watched."""

    max_files: int = Field(default=50, ge=0)
    """Those of this turn that the model saw last; 0: none."""


@dataclass(frozen=True, slots=True)
class FilesChanged:
    """Lists the files whose text is not what the model last read or wrote in this turn.

    The user, a formatter or a command changed them. Source: S0, file cache invalidation.
    """

    name: ClassVar[str] = "files_changed"
    workspace: Workspace
    options: FilesChangedOptions = FilesChangedOptions()

    async def propose(self, view: TurnView) -> Slot | None:
        newest = reversed(view.turn.events.tallied(_Looks).newest.values())
        # Newest first: a file may have several spellings, and its last look counts.
        holds: dict[str, bool] = {}
        for name, is_same in await self.workspace.compare(
            list(islice(newest, self.options.max_files))
        ):
            holds.setdefault(name, is_same)
        changed = [name for name, is_same in reversed(holds.items()) if not is_same]
        if not changed:
            return None
        return Slot(
            self.name,
            2,
            _MAX_TOKENS,
            f"Changed since you last saw them, and not by your edits: {', '.join(changed)}. "
            "Read them again before you rely on them or edit them.",
        )


class _Looks:
    """Collects the last look at each file of this turn; the newest look comes last."""

    def __init__(self) -> None:
        self.newest: dict[str, Look] = {}
        self._moves: dict[str, str] = {}

    def see(self, event: Event) -> None:
        match event:
            case ToolCallFinished(result=result) if result.error is None:
                for look in _read(result.data):
                    self._add(look)
            case EditIntended(edit=MoveFile(path=path, new_path=new_path)):
                self._moves[path] = new_path
            case EditApplied(path=path, status=status, after_blob=blob):
                new_path = self._moves.pop(path, None)
                if status != "applied":
                    return
                self._add(Look(path, digest=None if new_path else blob))
                if new_path:
                    self._add(Look(new_path, digest=blob))
            case _:
                pass

    def _add(self, look: Look) -> None:
        self.newest.pop(look.path, None)
        self.newest[look.path] = look


def _read(data: JsonValue) -> Iterator[Look]:
    """Yield a look for a result that has a path and a version."""
    match data:
        case {"path": str(path), "version": str(version)}:
            yield Look(path, version=version)
        case _:
            pass
