"""What the agent shows in documents: approvals, questions, nudges, findings and open changes.

Owns which marks there are and when one goes; ``faces.py`` sends them as diagnostics, code actions
and hover look them up here and never in what a client sends back (some drop the data).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Protocol

from agent_ls.domain import events as e
from agent_ls.domain.approvals import ApprovalRequest, Question
from agent_ls.domain.findings import Finding
from agent_ls.domain.stops import StopReason
from agent_ls.loop.state.state import SessionState, TurnState
from agent_ls.lsp.marks.mark import Mark, Nudge, PendingEdit, Span, located

INCOMPLETE_ACTION = StopReason.INCOMPLETE_ACTION.value
"""The gate whose nudges a person can answer."""

_SETTLE_S = 0.2
"""How long typing must pause before findings are looked for in the new text."""


class Documents(Protocol):
    """What placing needs to know of the editor."""

    def open_uri(self, path: str) -> str | None:
        """Return the open document of a path as the agent names it."""
        ...

    def uri(self, path: str) -> str | None:
        """Return the URI of a path, open or not; None outside the roots."""
        ...

    def lines(self, uri: str) -> list[str] | None:
        """Return an open document's lines, without their ends."""
        ...

    def active(self) -> str | None:
        """Return the open document the person used last."""
        ...


class Changes(Protocol):
    """The agent's open changes, which take a while to be found in a newer text."""

    def marks(self) -> list[Mark]:
        """Return those that were found."""
        ...

    def look(self) -> Awaitable[None]:
        """Find them; raises nothing."""
        ...


Publish = Callable[[str, list[Mark]], None]


class Marks:
    """The marks of all sessions of one editor; a Reader of each."""

    def __init__(
        self,
        documents: Documents,
        states: Callable[[], Iterable[SessionState]],
        publish: Publish,
        pending_edits: Callable[[], Iterable[PendingEdit]] = tuple,
        changes: Changes | None = None,
    ) -> None:
        """Take the editor's documents, the open sessions' states, the way out, and besides the
        edits that are offered and the changes that are open.
        """
        self._documents = documents
        self._pending_edits = pending_edits
        self._states = states
        self._publish = publish
        self._marks: dict[str, list[Mark]] = {}
        self._places: dict[str, tuple[int, str, int]] = {}
        """Where a subject stands that has no place of its own: rank of the place, URI, line."""
        self._seen: set[str] = set()
        self._read: set[str] = set()
        """The closed files with findings, by URI; of others nothing is kept."""
        self._left: dict[str, str] = {}
        """The turn whose nudge was left, by session: only that of the last one is shown."""
        self._closed: dict[str, list[str]] = {}
        """What files say that are not open and that findings stand in, by URI; not what they said
        before findings were last reported of them."""
        self._looked: dict[str, dict[str, tuple[Finding, ...]]] = {}
        """What of the findings was there, and where, when somebody looked again since they were
        reported; by session and path, of sessions that were open at the last look."""
        self._changes = changes
        self._timer: asyncio.TimerHandle | None = None
        self._looking: asyncio.Task[None] | None = None

    def on_event(self, stored: e.StoredEvent) -> None:
        """Look again when something may stand elsewhere now."""
        if isinstance(stored.event, e.FindingsReported):
            for path in stored.event.paths:
                self._looked.get(stored.session_id, {}).pop(path, None)
                self._closed.pop(self._documents.uri(path) or "", None)
        if isinstance(
            stored.event,
            e.ApprovalRequested
            | e.ApprovalResolved
            | e.QuestionAsked
            | e.QuestionResolved
            | e.GateFailed
            | e.ToolCallStarted
            | e.FindingsReported
            | e.FileRenamed
            | e.PolicySilenced
            | e.TurnStarted
            | e.TurnEnded,
        ):
            self.refresh()

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        """Ignore what streams."""

    def on_document(self) -> None:
        """Look again soon: a document was opened, changed or closed."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SETTLE_S, self.look)

    def look(self) -> None:
        """Find the open changes, then place everything anew; no two such looks at once."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._changes is None:
            self.refresh()
        elif self._looking is not None and not self._looking.done():
            # What it sees may be older than what there is to see.
            self.on_document()
        else:
            self._looking = asyncio.get_running_loop().create_task(self._look(self._changes))

    async def _look(self, changes: Changes) -> None:
        await changes.look()
        self.refresh()

    def on_closed(self, uri: str, lines: list[str]) -> None:
        """Look again for findings in a file that is not open and says this; nothing: it is gone."""
        self._closed[uri] = lines
        self.on_document()

    def on_looked(self, session_id: str, findings: Mapping[str, tuple[Finding, ...]]) -> None:
        """Show of the files' findings those that are still there, where they are now."""
        there = {one.session_id for one in self._states()}
        self._looked = {name: self._looked[name] for name in self._looked.keys() & there}
        self._looked[session_id] = dict(findings)
        self.refresh()

    def leave(self, session_id: str, turn_id: str) -> None:
        """Take the nudge of a session's last turn away for good."""
        self._left[session_id] = turn_id
        self.refresh()

    def refresh(self) -> None:
        """Place everything anew and publish the documents whose marks changed."""
        self._seen, self._read = set(), set()
        found = [mark for state in self._states() for mark in self._of(state)]
        found += [Mark("", edit.uri, Span.whole(edit.line), edit) for edit in self._pending_edits()]
        lines = {uri: self._lines(uri) for uri in {mark.uri for mark in found}}
        marks: dict[str, list[Mark]] = {}
        for mark in found:
            marks.setdefault(mark.uri, []).append(mark.on(lines[mark.uri]))
        for mark in self._changes.marks() if self._changes is not None else ():
            # They stand where they were found; in a newer text they are soon looked for again.
            marks.setdefault(mark.uri, []).append(mark)
        self._places = {key: self._places[key] for key in self._places if key in self._seen}
        self._closed = {uri: self._closed[uri] for uri in self._closed if uri in self._read}
        before, self._marks = self._marks, marks
        for uri in sorted(before.keys() | marks.keys()):
            if before.get(uri, []) != marks.get(uri, []):
                self._publish(uri, marks.get(uri, []))

    def at(self, uri: str, first_line: int, last_line: int) -> list[Mark]:
        """Return a document's marks on these lines, in their order."""
        return [one for one in self._marks.get(uri, ()) if one.span.touches(first_line, last_line)]

    def in_document(self, uri: str) -> list[Mark]:
        """Return a document's marks."""
        return list(self._marks.get(uri, ()))

    def pending(self) -> list[Mark]:
        """Return the marks of edits that wait to be applied by hand."""
        every = (one for marks in self._marks.values() for one in marks)
        return [one for one in every if isinstance(one.subject, PendingEdit)]

    def waiting(self) -> list[tuple[str, ApprovalRequest | Question]]:
        """Return everything that waits for a person, with its session, oldest first."""
        found: list[tuple[str, ApprovalRequest | Question]] = []
        for state in self._states():
            found += ((state.session_id, one) for one in state.approvals.values())
            found += ((state.session_id, one) for one in state.questions.values())
        return sorted(found, key=lambda one: one[1].id.partition("_")[2])

    def is_shown(self, subject_id: str) -> bool:
        """Say whether an approval or question stands in a document."""
        return any(
            isinstance(one.subject, ApprovalRequest | Question) and one.subject.id == subject_id
            for marks in self._marks.values()
            for one in marks
        )

    def _of(self, state: SessionState) -> Iterator[Mark]:
        asked: list[tuple[str, ApprovalRequest | Question | Nudge]] = [
            *state.approvals.items(),
            *state.questions.items(),
        ]
        nudge = nudge_of(state)
        if nudge is not None and self._left.get(state.session_id) != nudge.turn_id:
            asked.append((f"nudge {nudge.turn_id}", nudge))
        for key, subject in asked:
            place = self._place(key, subject, state.turn)
            if place is not None:
                yield Mark(state.session_id, place[0], Span.whole(place[1]), subject)
        looked = self._looked.get(state.session_id, {})
        for path, findings in state.findings.items():
            yield from self._findings(state.session_id, path, looked.get(path, findings))

    def _place(
        self, key: str, subject: ApprovalRequest | Question | Nudge, turn: TurnState | None
    ) -> tuple[str, int] | None:
        """Return the best place there is; one that was given is kept until a better one opens."""
        self._seen.add(key)
        best = next(self._candidates(subject, turn), None)
        given = self._places.get(key)
        if given is not None and self._documents.lines(given[1]) is None:
            given = None
        if given is None or (best is not None and best[0] < given[0]):
            given = best
        if given is None:
            self._places.pop(key, None)
            return None
        self._places[key] = given
        lines = self._documents.lines(given[1]) or []
        return given[1], max(0, min(given[2], len(lines) - 1))

    def _candidates(
        self, subject: ApprovalRequest | Question | Nudge, turn: TurnState | None
    ) -> Iterator[tuple[int, str, int]]:
        """Yield places, best first: the open target, where it was asked, the active document."""
        if isinstance(subject, ApprovalRequest) and subject.preview.path is not None:
            uri = self._documents.open_uri(subject.preview.path)
            if uri is not None:
                yield 0, uri, subject.preview.line or 0
        if turn is not None and turn.anchor is not None:
            uri = self._documents.open_uri(turn.anchor.path)
            if uri is not None:
                yield 1, uri, turn.anchor.line
        active = self._documents.active()
        if active is not None:
            yield 2, active, 0

    def _findings(
        self, session_id: str, path: str, findings: tuple[Finding, ...]
    ) -> Iterator[Mark]:
        uri = self._documents.uri(path)
        if uri is None:
            return
        lines = self._lines(uri)
        if lines == []:
            return
        for finding, span in located(findings, lines):
            yield Mark(session_id, uri, span, finding)

    def _lines(self, uri: str) -> list[str] | None:
        """Return what a document says, or a closed file as far as anybody has read it."""
        lines = self._documents.lines(uri)
        if lines is not None:
            return lines
        self._read.add(uri)
        return self._closed.get(uri)


def nudge_of(state: SessionState) -> Nudge | None:
    """Return the announcement of the last turn that nothing has followed yet."""
    turn = state.turn
    if turn is None or INCOMPLETE_ACTION in state.silenced:
        return None
    for stored in reversed(turn.events):
        match stored.event:
            case e.ToolCallStarted():
                return None
            case e.GateFailed(origin=origin) if origin == INCOMPLETE_ACTION:
                return _nudge(turn)
            case _:
                continue
    return None


def _nudge(turn: TurnState) -> Nudge | None:
    if turn.ended is None:
        text = "The agent said it would act and did nothing; it was told to go on."
        return Nudge(turn.turn_id, text, is_running=True)
    if turn.ended.stop is not StopReason.INCOMPLETE_ACTION:
        return None
    text = "The agent said it would act and ended without doing it."
    return Nudge(turn.turn_id, text, is_running=False)
