"""Counts how often the same call failed in this turn since anything relevant changed.

Shared by policies that prevent useless repeats. Changes by others emit no event, so each failure
records the file versions it met.
"""

from __future__ import annotations

from agent_ls.domain import events as e
from agent_ls.domain.calls import Effect, ErrorKind, ToolResult
from agent_ls.domain.errors import WorkspaceError
from agent_ls.loop.evidence.fingerprints import fingerprint
from agent_ls.loop.evidence.progress_signals import ReadVersions, is_news
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.view import TurnView


async def met_by(planned: PlannedCall, workspace: Workspace) -> tuple[str, ...]:
    """Return the version of each file the call names, or why it cannot be read.

    Shape: independent of how a path is spelled.
    """
    return tuple([await _met_at(path, workspace) for path in planned.paths])


async def met_by_failure(
    planned: PlannedCall, result: ToolResult, workspace: Workspace
) -> tuple[str, ...]:
    """Return the file versions that a failed call met; empty for any other result.

    Read only after a failure, so successful calls read nothing twice. Timeouts are not read again.
    """
    if result.error is not ErrorKind.RUNTIME:
        return ()
    return await met_by(planned, workspace)


async def _met_at(path: str, workspace: Workspace) -> str:
    try:
        return (await workspace.read(path)).version
    except (WorkspaceError, OSError) as error:
        return str(error).replace(path, "")


def failures_in_vain(tool: str, arguments_json: str, view: TurnView) -> list[e.ToolCallFinished]:
    """Return the failures of this same call since anything changed, oldest first.

    A change is news (``progress_signals.py``), a command, or another version of a file that was
    read. A rejection by the user counts as a failure; a guard's refusal does not.
    """
    failures = view.turn.events.tallied(_Tried).failures
    return list(failures.get(fingerprint(tool, arguments_json), ()))


class _Tried:
    def __init__(self) -> None:
        self.failures: dict[str, list[e.ToolCallFinished]] = {}
        self._prints: dict[str, str] = {}
        self._rejected: set[str] = set()
        self._asked: dict[str, str] = {}
        self._moved: set[str] = set()
        self._read = ReadVersions()

    def see(self, event: e.Event) -> None:
        if is_news(event):
            self.failures.clear()
        match event:
            case e.Answered():
                for call in event.message.calls:
                    self._prints[call.id] = fingerprint(call.tool, call.arguments_json)
            case e.ToolCallStarted():
                self._prints[event.call_id] = fingerprint(event.tool, event.arguments_json)
            case e.ApprovalRequested() | e.ApprovalResolved():
                self._approval(event)
            case e.EditApplied() if event.status != "applied":
                # Its text was outdated, so reading the file again can fix the call.
                self._moved.add(event.call_id)
            case e.ToolCallFinished():
                self._finished(event)
            case _:
                pass

    def _approval(self, event: e.ApprovalRequested | e.ApprovalResolved) -> None:
        if isinstance(event, e.ApprovalRequested):
            self._asked[event.request.id] = event.request.call_id
        elif event.answer.is_rejection:
            self._rejected.add(self._asked.get(event.approval_id, ""))

    def _finished(self, event: e.ToolCallFinished) -> None:
        result = event.result
        mark = self._prints.get(result.call_id, "")
        before = self.failures.get(mark, [])
        if self._read.is_newer(result):
            self.failures.clear()
        elif event.effect in (Effect.EXECUTE, Effect.DELEGATE):
            # A command may have fixed the cause of the other failures.
            self.failures = {mark: before}
        if result.error is None:
            self.failures.pop(mark, None)
        if mark and result.call_id not in self._moved and self._counts(result):
            self.failures.setdefault(mark, []).append(event)

    def _counts(self, result: ToolResult) -> bool:
        has_failed = result.error in (ErrorKind.RUNTIME, ErrorKind.TIMEOUT)
        return has_failed or result.call_id in self._rejected
