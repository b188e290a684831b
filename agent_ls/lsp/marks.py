"""What the agent shows in documents: approvals, questions, nudges and findings, each in its place.

Owns where a mark stands and when it goes; ``publisher.py`` sends marks as diagnostics, code
actions and hover look them up here and never in what a client sends back (some drop the data).
Lines and columns are 0-based and count code points.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from agent_ls.domain import events as e
from agent_ls.domain.approvals import ApprovalRequest, Question
from agent_ls.domain.findings import Finding, Severity
from agent_ls.domain.stops import StopReason
from agent_ls.loop.state import SessionState, TurnState
from agent_ls.safety.text import visible

SOURCE = "agent-ls"
INCOMPLETE_ACTION = StopReason.INCOMPLETE_ACTION.value
"""The gate whose nudges a person can answer."""

_SETTLE_S = 0.2
"""How long typing must pause before findings are looked for in the new text."""


@dataclass(frozen=True, slots=True)
class Nudge:
    """The agent announced something and did not do it."""

    turn_id: str
    text: str
    is_running: bool
    """The turn goes on: the model has been told."""


@dataclass(frozen=True, slots=True)
class PendingEdit:
    """An edit that the editor takes only from the person's hand."""

    id: str
    uri: str
    line: int
    label: str
    edit: object
    """What the code action carries; only its maker knows its type."""


Subject = ApprovalRequest | Question | Nudge | PendingEdit | Finding


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of text; an ``end_column`` of None is the end of the line."""

    line: int
    column: int = 0
    end_line: int = 0
    end_column: int | None = None

    @classmethod
    def whole(cls, line: int) -> Span:
        """Return one whole line."""
        return cls(line, 0, line, None)

    def touches(self, first_line: int, last_line: int) -> bool:
        """Say whether it has a line in common with these."""
        return self.line <= last_line and first_line <= max(self.line, self.end_line)


@dataclass(frozen=True, slots=True)
class Mark:
    """One thing shown in a document."""

    session_id: str
    uri: str
    span: Span
    subject: Subject

    @property
    def severity(self) -> Severity:
        """Return how a diagnostic shows it."""
        return self.subject.severity if isinstance(self.subject, Finding) else Severity.INFORMATION

    @property
    def source(self) -> str:
        """Return whom a diagnostic names."""
        return f"{self.subject.checker} (agent)" if isinstance(self.subject, Finding) else SOURCE

    @property
    def code(self) -> str:
        """Return a diagnostic's code."""
        match self.subject:
            case ApprovalRequest():
                return "approval"
            case Question():
                return "question"
            case Nudge():
                return "incomplete-action"
            case PendingEdit():
                return "edit"
            case Finding():
                return self.subject.code

    @property
    def message(self) -> str:
        """Return a diagnostic's text."""
        match self.subject:
            case ApprovalRequest():
                asked = self.subject
                return f"The agent asks: {asked.preview.title}\n{asked.reason}".rstrip()
            case Question():
                return f"The agent asks: {visible(self.subject.text)}"
            case Nudge():
                return self.subject.text
            case PendingEdit():
                return f"{self.subject.label}: waits for you to apply it"
            case Finding():
                return visible(self.subject.message)


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


Publish = Callable[[str, list[Mark]], None]


class Marks:
    """The marks of all sessions of one editor; a Reader of each."""

    def __init__(
        self,
        documents: Documents,
        states: Callable[[], Iterable[SessionState]],
        publish: Publish,
        pending_edits: Callable[[], Iterable[PendingEdit]] = tuple,
    ) -> None:
        """Take the editor's documents, the open sessions' states, the edits that are offered, and
        the way out.
        """
        self._documents = documents
        self._pending_edits = pending_edits
        self._states = states
        self._publish = publish
        self._marks: dict[str, list[Mark]] = {}
        self._places: dict[str, tuple[int, str, int]] = {}
        """Where a subject stands that has no place of its own: rank of the place, URI, line."""
        self._seen: set[str] = set()
        self._left: set[str] = set()
        self._closed: dict[str, list[str]] = {}
        """What documents say that were closed since findings were looked for in them."""
        self._mended: dict[str, list[Finding]] = {}
        """Findings that are there no more although nobody has reported it, by session."""
        self._timer: asyncio.TimerHandle | None = None

    def on_event(self, stored: e.StoredEvent) -> None:
        """Look again when something may stand elsewhere now."""
        if isinstance(stored.event, e.FindingsReported):
            self._mended.pop(stored.session_id, None)
            for path in stored.event.paths:
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
            self._timer = asyncio.get_running_loop().call_later(_SETTLE_S, self.refresh)

    def on_closed(self, uri: str, lines: list[str]) -> None:
        """Look again for findings in a document that is not open any more and says this."""
        self._closed[uri] = lines
        self.on_document()

    def on_mended(self, session_id: str, findings: list[Finding]) -> None:
        """Show these findings no more, and all others again."""
        self._mended[session_id] = findings
        self.refresh()

    def leave(self, turn_id: str) -> None:
        """Take a turn's nudge away for good."""
        self._left.add(turn_id)
        self.refresh()

    def refresh(self) -> None:
        """Place everything anew and publish the documents whose marks changed."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        marks: dict[str, list[Mark]] = {}
        self._seen = set()
        for state in self._states():
            for mark in self._of(state):
                marks.setdefault(mark.uri, []).append(mark)
        for edit in self._pending_edits():
            mark = Mark("", edit.uri, Span.whole(edit.line), edit)
            marks.setdefault(edit.uri, []).append(mark)
        self._places = {key: self._places[key] for key in self._places if key in self._seen}
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
        if nudge is not None and nudge.turn_id not in self._left:
            asked.append((f"nudge {nudge.turn_id}", nudge))
        for key, subject in asked:
            place = self._place(key, subject, state.turn)
            if place is not None:
                yield Mark(state.session_id, place[0], Span.whole(place[1]), subject)
        for path, findings in state.findings.items():
            yield from self._findings(state.session_id, path, findings)

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
        lines = self._documents.lines(uri)
        if lines is None:
            lines = self._closed.get(uri)
        else:
            self._closed.pop(uri, None)
        for finding in findings:
            is_mended = finding in self._mended.get(session_id, ())
            span = None if is_mended else located(finding, lines)
            if span is not None:
                yield Mark(session_id, uri, span, finding)


def located(finding: Finding, lines: list[str] | None) -> Span | None:
    """Return where a finding stands in today's text; None when its line is gone.

    Typing above it moves it, and mending its line takes it away, without another check.
    """
    end_line = max(finding.end_line, finding.start_line)
    span = Span(finding.start_line, finding.start_column, end_line, finding.end_column)
    if lines is None or not finding.line_text:
        return span
    same = (number for number, line in enumerate(lines) if line.strip() == finding.line_text)
    line = min(same, key=lambda number: abs(number - finding.start_line), default=None)
    if line is None:
        return None
    moved = line - finding.start_line
    return Span(line, span.column, end_line + moved, span.end_column)


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
