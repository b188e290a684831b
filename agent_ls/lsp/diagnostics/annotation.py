"""An annotation: an approval, question, nudge, pending edit, finding or change shown in a document.

Owns its diagnostic texts and its place in the current text. ``annotation_set.py`` decides which
there are. Lines and columns are 0-based and count code points.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from agent_ls.domain.approvals import ApprovalRequest, Question
from agent_ls.domain.findings import Finding, Severity
from agent_ls.safety.text import visible

SOURCE = "agent-ls"
_OF_CHECKER = " (agent)"
"""How the source of a checker's finding ends."""
CHANGE_CODE = "agent-change"
"""Diagnostic code of a change hint. It is no problem, so no fix is offered for it."""


@dataclass(frozen=True, slots=True)
class Nudge:
    """The agent announced an action and did not do it."""

    turn_id: str
    text: str
    is_running: bool
    """True: the turn goes on, and the model was told."""


@dataclass(frozen=True, slots=True)
class PendingEdit:
    """An edit that the user has to apply by hand."""

    id: str
    uri: str
    line: int
    label: str


@dataclass(frozen=True, slots=True)
class ChangeHint:
    """An open change of the agent."""

    hunk_id: str | None
    """None: stands for the changes beyond the limit per file."""
    text: str


def is_own_source(source: str) -> bool:
    """Say whether a diagnostic's source is ours."""
    return source == SOURCE or source.endswith(_OF_CHECKER)


Subject = ApprovalRequest | Question | Nudge | PendingEdit | Finding | ChangeHint


@dataclass(frozen=True, slots=True)
class Span:
    """A range of text; ``end_column`` None means the end of the line."""

    line: int
    column: int = 0
    end_line: int = 0
    end_column: int | None = None

    @classmethod
    def whole(cls, line: int) -> Span:
        """Return the span of one whole line."""
        return cls(line, 0, line, None)

    def touches(self, first_line: int, last_line: int) -> bool:
        """Say whether the span shares a line with ``first_line`` to ``last_line``."""
        return self.line <= last_line and first_line <= max(self.line, self.end_line)


@dataclass(frozen=True, slots=True)
class Annotation:
    """One thing shown in a document."""

    session_id: str
    uri: str
    span: Span
    subject: Subject
    ends: tuple[str, str] | None = None
    """The texts of its first and last line, to compute client columns; None: unknown."""

    def on(self, lines: Sequence[str] | None) -> Annotation:
        """Return the mark clamped to the document's lines."""
        if not lines:
            return self
        last, wanted = len(lines) - 1, max(self.span.line, self.span.end_line)
        first, end = min(self.span.line, last), min(wanted, last)
        end_column = self.span.end_column if end == wanted else None
        span = Span(first, self.span.column, end, end_column)
        return replace(self, span=span, ends=(lines[first], lines[end]))

    @property
    def severity(self) -> Severity:
        """Return the diagnostic's severity."""
        match self.subject:
            case Finding():
                return self.subject.severity
            case ChangeHint():
                return Severity.HINT
            case _:
                return Severity.INFORMATION

    @property
    def source(self) -> str:
        """Return the diagnostic's source."""
        if isinstance(self.subject, Finding):
            return f"{self.subject.checker}{_OF_CHECKER}"
        return SOURCE

    @property
    def code(self) -> str:
        """Return the diagnostic's code."""
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
            case ChangeHint():
                return CHANGE_CODE

    @property
    def message(self) -> str:
        """Return the diagnostic's text."""
        match self.subject:
            case ApprovalRequest():
                asked = self.subject
                title = f"The agent asks: {asked.preview.title}"
                parts = (title, asked.preview.payload.rstrip(), asked.reason)
                return "\n".join(filter(None, parts))
            case Question():
                return f"The agent asks: {visible(self.subject.text)}"
            case Nudge() | ChangeHint():
                return self.subject.text
            case PendingEdit():
                return f"{self.subject.label}: waits for you to apply it"
            case Finding():
                return visible(self.subject.message)


def _is_at(lines: Sequence[str], number: int, text: str) -> bool:
    return 0 <= number < len(lines) and lines[number].strip() == text


def located(
    findings: Iterable[Finding], lines: Sequence[str] | None
) -> Iterator[tuple[Finding, Span]]:
    """Yield the findings whose line still exists, with their place; ``lines`` None: unknown text.

    A finding follows its line when lines move, and goes when its line changes, without a new check.
    """
    places: defaultdict[str, list[int]] = defaultdict(list)
    shown: set[tuple[Span, str]] = set()
    for finding in findings:
        line = finding.start_line
        if lines is not None and finding.line_text and not _is_at(lines, line, finding.line_text):
            if not places:
                # In a long document this takes a while, and hardly a line has moved.
                for number, text in enumerate(lines):
                    places[text.strip()].append(number)
            same = places.get(finding.line_text, [])
            line = min(same, key=lambda number: abs(number - finding.start_line), default=-1)
        if line < 0:
            continue
        end_line = max(finding.end_line, finding.start_line) + line - finding.start_line
        span = Span(line, finding.start_column, end_line, finding.end_column)
        # Two equal lines with the same finding, one of them fixed: both findings map to one place.
        if (span, finding.message) not in shown:
            shown.add((span, finding.message))
            yield finding, span
