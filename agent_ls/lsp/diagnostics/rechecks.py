"""Re-runs checkers after a text changed, to update the findings of finished turns.

A recheck removes fixed findings, moves shifted ones, and shows again those that an undo brings
back. It adds no others: problems in the user's own text are not the agent's. While a turn runs, its
own checks report.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator

from agent_ls.domain import events as e
from agent_ls.domain.findings import Finding
from agent_ls.loop.ports.checks import CompileChecks
from agent_ls.loop.state.state import SessionState
from agent_ls.lsp.connection.documents import DocumentEvent, DocumentEventKind
from agent_ls.lsp.workspace.closed_files import ClosedFiles

_log = logging.getLogger(__name__)

Findings = tuple[Finding, ...]
"""The findings of one file."""

_PAUSE_S = 1.0
"""How long typing must pause before checkers run."""


class Rechecks:
    """The current findings of one editor's sessions; an EventListener of all of them."""

    def __init__(
        self,
        states: Callable[[], Iterable[SessionState]],
        text_of: Callable[[str], Awaitable[str | None]],
        files: ClosedFiles,
        changed: Callable[[], None],
        *,
        pause_s: float = _PAUSE_S,
    ) -> None:
        """``text_of`` returns a file's current text; ``changed`` is called after each recheck."""
        self._pause_s = pause_s
        self._states, self._text_of, self._files = states, text_of, files
        self._tell_changed = changed
        self._checks: CompileChecks | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._seeks_fixed = False
        """The next recheck also seeks findings that later turns have fixed: an undo may have
        brought them back. Typing alone does not set it, as checkers of whole projects are slow.
        """
        self._known: dict[tuple[str, str], tuple[Findings, Findings]] = {}
        """By session and path: findings as reported, and those left at the last recheck. Closed
        sessions are dropped.
        """

    def of(self, state: SessionState) -> Iterator[tuple[str, Findings]]:
        """Yield a session's files and their findings as of the last recheck."""
        for path in dict.fromkeys((*state.findings, *state.fixed_findings)):
            yield path, self._last(state, path)

    def use(self, checks: CompileChecks | None) -> None:
        """Use these checkers from now on; None stops rechecking."""
        self.close()
        self._checks = checks
        self._known.clear()

    def close(self) -> None:
        """Cancel pending and running rechecks."""
        self._files.follow(self.look_soon, {})
        self._seeks_fixed = False
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
        self._timer = self._task = None

    def on_document(self, event: DocumentEvent) -> None:
        """Schedule a recheck when a document was changed, saved or closed."""
        if event.kind is not DocumentEventKind.OPENED:
            self._look_soon(seeks_fixed=event.kind is DocumentEventKind.SAVED)

    def on_event(self, stored: e.StoredEvent) -> None:
        """Schedule a recheck after an undo, a rename or a turn.

        An undo or rename may touch no open document; a turn rechecks no findings of earlier turns.
        """
        if isinstance(stored.event, e.ReviewApplied | e.FileRenamed | e.TurnEnded):
            self._look_soon(seeks_fixed=isinstance(stored.event, e.ReviewApplied))

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        """Ignore streamed pieces."""

    def look_soon(self) -> None:
        """Recheck after a pause, if any idle session has findings or had some."""
        self._look_soon(seeks_fixed=True)

    def _look_soon(self, *, seeks_fixed: bool) -> None:
        self._seeks_fixed |= seeks_fixed
        if not self._concerned():
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(self._pause_s, self._begin)

    def _concerned(self) -> list[SessionState]:
        return [one for one in self._states() if not one.is_running and self._paths(one)]

    def _paths(self, state: SessionState) -> list[str]:
        """Return the files whose findings a recheck seeks."""
        fixed = state.fixed_findings
        back = [path for path in fixed if self._seeks_fixed or self._last(state, path)]
        return list(dict.fromkeys((*state.findings, *back)))

    def _begin(self) -> None:
        self._timer = None
        if self._task is not None and not self._task.done():
            # The running recheck has read texts older than the last change.
            self._task.cancel()
        self._task = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        if self._checks is None:
            return
        there = {one.session_id for one in self._states()}
        self._known = {key: known for key, known in self._known.items() if key[0] in there}
        paths = {one.session_id: self._paths(one) for one in self._concerned()}
        of_all = sorted({path for each in paths.values() for path in each})
        self._files.follow(self.look_soon, await self._files.stamps(of_all))
        for state in self._concerned():
            try:
                found = await self._still_there(
                    state, paths.get(state.session_id, ()), self._checks
                )
            except Exception:
                _log.exception("could not look again for what checkers had found")
                continue
            # A turn may have started meanwhile; its own findings are newer.
            if any(one.findings is state.findings for one in self._concerned()):
                for path, still in found.items():
                    self._known[state.session_id, path] = state.findings.get(path, ()), still
                self._tell_changed()
        if self._timer is None:
            # Else another undo waits for its own recheck.
            self._seeks_fixed = False

    async def _still_there(
        self, state: SessionState, paths: Iterable[str], checks: CompileChecks
    ) -> dict[str, Findings]:
        """Return a session's findings that remain; unchanged for checkers that did not run."""
        texts = {path: await self._text_of(path) for path in paths}
        report = await checks.found(texts)
        now: defaultdict[object, list[Finding]] = defaultdict(list)
        for one in report.findings:
            now[one.fingerprint].append(one)
        found: dict[str, Findings] = {}
        for path in texts:
            # Start from all reported findings: one that was fixed may be back.
            reported = (*state.findings.get(path, ()), *state.fixed_findings.get(path, ()))
            asked = [one for one in reported if one.checker in report.checkers]
            there = [one for each in asked for one in _nearest(each, now[each.fingerprint])]
            last = self._last(state, path)
            silent = [one for one in last if one.checker not in report.checkers]
            found[path] = () if texts[path] is None else (*there, *silent)
        return found

    def _last(self, state: SessionState, path: str) -> Findings:
        """Return a file's findings of the last recheck; as reported if that was about others."""
        reported = state.findings.get(path, ())
        of, last = self._known.get((state.session_id, path), (None, reported))
        return last if of is reported else reported


def _nearest(finding: Finding, alike: list[Finding]) -> list[Finding]:
    """Remove the nearest finding from ``alike`` and return it, as a list of at most one."""
    if not alike:
        return []
    nearest = min(alike, key=lambda one: abs(one.start_line - finding.start_line))
    alike.remove(nearest)
    return [nearest]
