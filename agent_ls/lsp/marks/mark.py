"""One thing that the agent shows in a document: an approval, a question, a nudge, a finding, a
change that nobody has decided about.

Owns what a diagnostic says of it and where it stands in today's text; which there are is the
business of ``marks.py``. Lines and columns are 0-based and count code points.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from agent_ls.domain.approvals import ApprovalRequest, Question
from agent_ls.domain.findings import Finding, Severity
from agent_ls.safety.text import visible

SOURCE = "agent-ls"
CHANGE_CODE = "agent-change"
"""The code of a change's diagnostic; it is no problem, and nobody may be asked to fix it."""


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


@dataclass(frozen=True, slots=True)
class ChangeHint:
    """A change of the agent's that is still open."""

    hunk_id: str | None
    """None: it stands for those that get no hint of their own."""
    text: str


Subject = ApprovalRequest | Question | Nudge | PendingEdit | Finding | ChangeHint


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
    ends: tuple[str, str] | None = None
    """The lines it begins and ends on, which tell the client's columns; None: nobody knows."""

    def on(self, lines: Sequence[str] | None) -> Mark:
        """Return it on the lines of its document, none of which is past their end."""
        if not lines:
            return self
        last, wanted = len(lines) - 1, max(self.span.line, self.span.end_line)
        first, end = min(self.span.line, last), min(wanted, last)
        end_column = self.span.end_column if end == wanted else None
        span = Span(first, self.span.column, end, end_column)
        return replace(self, span=span, ends=(lines[first], lines[end]))

    @property
    def severity(self) -> Severity:
        """Return how a diagnostic shows it."""
        match self.subject:
            case Finding():
                return self.subject.severity
            case ChangeHint():
                return Severity.HINT
            case _:
                return Severity.INFORMATION

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
            case ChangeHint():
                return CHANGE_CODE

    @property
    def message(self) -> str:
        """Return a diagnostic's text."""
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


def located(
    findings: Iterable[Finding], lines: Sequence[str] | None
) -> Iterator[tuple[Finding, Span]]:
    """Yield the findings of a document that its text still has, and where; None: nobody knows it.

    Typing above one moves it, and mending its line takes it away, without another check.
    """
    places: defaultdict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(lines or ()):
        places[line.strip()].append(number)
    shown: set[tuple[Span, str]] = set()
    for finding in findings:
        line = finding.start_line
        if lines is not None and finding.line_text:
            same = places.get(finding.line_text, ())
            line = min(same, key=lambda number: abs(number - finding.start_line), default=-1)
        if line < 0:
            continue
        end_line = max(finding.end_line, finding.start_line) + line - finding.start_line
        span = Span(line, finding.start_column, end_line, finding.end_column)
        # Of two that are alike one may be mended, and both are then found on one line.
        if (span, finding.message) not in shown:
            shown.add((span, finding.message))
            yield finding, span
