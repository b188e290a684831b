"""The set of annotations in documents: approvals, questions, nudges, findings and open changes.

Owns which annotations exist. ``presenters.py`` publishes them as diagnostics. Code actions and
hover look them up here, because some clients drop a diagnostic's data.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator

from agent_ls.domain import events as e
from agent_ls.domain.approvals import ApprovalRequest, Question
from agent_ls.domain.code_review import REVIEWER
from agent_ls.domain.findings import Finding
from agent_ls.domain.stops import StopReason
from agent_ls.loop.state.state import SessionState, TurnState
from agent_ls.lsp.diagnostics.annotation import Annotation, Nudge, PendingEdit, Span, located
from agent_ls.lsp.diagnostics.change_hints import ChangeHints
from agent_ls.lsp.workspace.document_lookup import DocumentLookup

INCOMPLETE_ACTION = StopReason.INCOMPLETE_ACTION.value
"""The gate whose nudges the user can answer."""

_SETTLE_S = 0.2
"""Delay between a document change and placing the annotations again."""


Publish = Callable[[str, list[Annotation]], None]
FindingsOf = Callable[[SessionState], Iterable[tuple[str, tuple[Finding, ...]]]]
"""Yields the files and their findings."""


class AnnotationSet:
    """The annotations of all sessions of one editor; an EventListener of each session."""

    def __init__(
        self,
        documents: DocumentLookup,
        states: Callable[[], Iterable[SessionState]],
        publish: Publish,
        findings: FindingsOf = lambda state: state.findings.items(),
        pending_edits: Callable[[], Iterable[PendingEdit]] = tuple,
        changes: ChangeHints | None = None,
        hides: Callable[[str, Finding, int], bool] = lambda uri, finding, line: False,
    ) -> None:
        """``publish`` is called with all annotations of a document whenever they change."""
        self._documents = documents
        self._pending_edits = pending_edits
        self._states = states
        self._publish = publish
        self._hides = hides
        self._findings_of = findings
        self._annotations: dict[str, list[Annotation]] = {}
        self._left: dict[str, str] = {}
        """By session, the turn whose nudge the user dismissed."""
        self._hidden = set[tuple[str, object]]()
        """Findings that the user hid: a session and a fingerprint."""
        self._changes = changes
        self._timer: asyncio.TimerHandle | None = None
        self._looking: asyncio.Task[None] | None = None

    def on_event(self, stored: e.StoredEvent) -> None:
        """Place all annotations again when an event may have added, moved or removed one."""
        if isinstance(
            stored.event,
            e.ApprovalRequested
            | e.ApprovalResolved
            | e.QuestionAsked
            | e.QuestionResolved
            | e.GateFailed
            | e.ToolCallStarted
            | e.FinalOutputGiven
            | e.FindingsReported
            | e.FileRenamed
            | e.PolicySilenced
            | e.TurnStarted
            | e.TurnEnded,
        ):
            if isinstance(stored.event, e.FinalOutputGiven):
                # A new review may find again what was hidden.
                self._hidden = {one for one in self._hidden if one[0] != stored.session_id}
            self.refresh()

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        """Ignore streamed pieces."""

    def on_document(self) -> None:
        """Place all annotations again soon: a document was opened, changed or closed."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SETTLE_S, self.look)

    def look(self) -> None:
        """Find the open changes and place all annotations again; never twice at once."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._changes is None:
            self.refresh()
        elif self._looking is not None and not self._looking.done():
            # The running look may have read older texts: schedule another one.
            self.on_document()
        else:
            self._looking = asyncio.get_running_loop().create_task(self._look(self._changes))

    async def _look(self, changes: ChangeHints) -> None:
        await changes.look()
        self.refresh()

    def leave(self, session_id: str, turn_id: str) -> None:
        """Hide the nudge of this turn."""
        self._left[session_id] = turn_id
        self.refresh()

    def hide(self, session_id: str, uri: str, line: int, message: str) -> bool:
        """Hide a finding of a review until the session's next one; False where there is none."""
        found = [
            one.subject
            for one in self._annotations.get(uri, ())
            if isinstance(one.subject, Finding)
            and one.subject.checker == REVIEWER
            and (one.session_id, one.span.line, one.subject.message) == (session_id, line, message)
        ]
        self._hidden.update((session_id, one.fingerprint) for one in found)
        self.refresh()
        return bool(found)

    def refresh(self) -> None:
        """Place all annotations again and publish the documents whose annotations changed."""
        found = [annotation for state in self._states() for annotation in self._of(state)]
        found += [
            Annotation("", edit.uri, Span.whole(edit.line), edit) for edit in self._pending_edits()
        ]
        lines = {
            uri: self._documents.lines(uri) for uri in {annotation.uri for annotation in found}
        }
        annotations: dict[str, list[Annotation]] = {}
        for annotation in found:
            annotations.setdefault(annotation.uri, []).append(annotation.on(lines[annotation.uri]))
        for annotation in self._changes.annotations() if self._changes is not None else ():
            # Change hints keep their place until the next look finds them in the new text.
            annotations.setdefault(annotation.uri, []).append(annotation)
        before, self._annotations = self._annotations, annotations
        for uri in sorted(before.keys() | annotations.keys()):
            if before.get(uri, []) != annotations.get(uri, []):
                self._publish(uri, annotations.get(uri, []))

    def at(self, uri: str, first_line: int, last_line: int) -> list[Annotation]:
        """Return a document's annotations that touch these lines, in order."""
        return [
            one for one in self._annotations.get(uri, ()) if one.span.touches(first_line, last_line)
        ]

    def in_document(self, uri: str) -> list[Annotation]:
        """Return a document's annotations."""
        return list(self._annotations.get(uri, ()))

    def documents(self) -> list[str]:
        """Return the URIs of the documents with annotations."""
        return sorted(uri for uri, annotations in self._annotations.items() if annotations)

    def pending(self) -> list[Annotation]:
        """Return the annotations of edits that wait to be applied by hand."""
        every = (one for annotations in self._annotations.values() for one in annotations)
        return [one for one in every if isinstance(one.subject, PendingEdit)]

    def waiting(self) -> list[tuple[str, ApprovalRequest | Question]]:
        """Return all open approvals and questions with their session ids, oldest first."""
        found: list[tuple[str, ApprovalRequest | Question]] = []
        for state in self._states():
            found += ((state.session_id, one) for one in state.approvals.values())
            found += ((state.session_id, one) for one in state.questions.values())
        return sorted(found, key=lambda one: one[1].id.partition("_")[2])

    def is_shown(self, subject_id: str) -> bool:
        """Say whether an approval or question is shown in a document."""
        return any(
            isinstance(one.subject, ApprovalRequest | Question) and one.subject.id == subject_id
            for annotations in self._annotations.values()
            for one in annotations
        )

    def _of(self, state: SessionState) -> Iterator[Annotation]:
        asked: list[ApprovalRequest | Question | Nudge] = [
            *state.approvals.values(),
            *state.questions.values(),
        ]
        nudge = nudge_of(state)
        if nudge is not None and self._left.get(state.session_id) != nudge.turn_id:
            asked.append(nudge)
        for subject in asked:
            place = next(self._candidates(subject, state.turn), None)
            if place is not None:
                yield Annotation(state.session_id, place[0], Span.whole(place[1]), subject)
        for path, findings in self._findings_of(state):
            uri = self._documents.uri(path)
            if uri is not None:
                for finding, span in located(findings, self._documents.lines(uri)):
                    is_hidden = (state.session_id, finding.fingerprint) in self._hidden
                    if not is_hidden and not self._hides(uri, finding, span.line):
                        yield Annotation(state.session_id, uri, span, finding)

    def _candidates(
        self, subject: ApprovalRequest | Question | Nudge, turn: TurnState | None
    ) -> Iterator[tuple[str, int]]:
        """Yield places, best first: the open target, the prompt's place, the active file."""
        if isinstance(subject, ApprovalRequest) and subject.preview.path is not None:
            uri = self._documents.open_uri(subject.preview.path)
            if uri is not None:
                yield uri, subject.preview.line or 0
        if turn is not None and turn.anchor is not None:
            uri = self._documents.open_uri(turn.anchor.path)
            if uri is not None:
                yield uri, turn.anchor.line
        active = self._documents.active()
        if active is not None:
            yield active, 0


def nudge_of(state: SessionState) -> Nudge | None:
    """Return the last turn's nudge for an unfulfilled announcement; None once a call followed."""
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
