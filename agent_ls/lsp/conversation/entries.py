"""The entries of a turn in the conversation: calls, words, answers, and what waits for the user.

Each renders itself as a part of the page; ``transcript.py`` says what becomes which entry.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agent_ls.domain.approvals import ApprovalChoice
from agent_ls.domain.calls import NOT_RUN, ErrorKind, ToolKind
from agent_ls.lsp import wire
from agent_ls.lsp.conversation_page import Page, Region, fenced, plain_lines
from agent_ls.safety.text import label, visible_line

_LINE_CHARACTERS = 160
LANGUAGES = {ToolKind.EXECUTE: "sh", ToolKind.EDIT: "diff", ToolKind.DELETE: "diff"}
"""The language of a payload's code block."""
_GOOD_EXIT = "Exit code 0"
"""How a command's result begins that went well."""
_HOW = "Answer by a code action, or write your words below and take Send."


def short_line(text: str) -> str:
    """Return a text of any lines as one, with its middle cut out if it is long."""
    return label(" ".join(text.split()), _LINE_CHARACTERS)


@dataclass(slots=True)
class Call:
    """One step's call."""

    turn_id: str
    title: str
    kind: ToolKind
    outcome: str = " …"
    added_lines: int = 0
    removed_lines: int = 0
    place: wire.Location | None = None
    is_asked: bool = False
    is_rejected: bool = False

    def page(self) -> Page:
        """Return the lines that show it; none for nothing to show."""
        counts = f" +{self.added_lines} -{self.removed_lines}".replace(" +0 -0", "")
        line = f"- {self.title}"
        page = Page([f"{line}{counts}{self.outcome}"])
        place = self.place
        if place is not None and place.uri is not None and place.path in self.title:
            start = line.rindex(place.path)
            page.links.append(Region(0, 0, place.uri, start, start + len(place.path)))
        if counts:
            page.links.append(Region(0, 0, self.turn_id, len(line) + 1, len(line) + len(counts)))
        return page

    def finish(self, update: wire.ToolCallProgress) -> None:
        """Show how it ended: a command by its last line, since test runners sum up there."""
        text = update.content.text if update.content else ""
        first, _, printed = text.partition("\n")
        if self.is_rejected:
            return
        if self.is_asked and update.error is ErrorKind.DENIED:
            # The user rejected it together with an earlier call.
            self.outcome = ": rejected"
        elif update.status == "failed":
            self.outcome = f": failed, {short_line(first)}"
        elif update.outcome in NOT_RUN:
            self.outcome = f": {update.outcome}"
        elif self.kind is ToolKind.EXECUTE:
            last = printed.rstrip().splitlines()[-1:]
            exit_words = [] if first.startswith(_GOOD_EXIT) else [first]
            said = short_line(" ".join([*exit_words, *last]))
            self.outcome = f": {said}" if said else ""
        else:
            self.outcome = ""


@dataclass(slots=True)
class Words:
    """Paragraphs, or with ``mark`` quoted or listed lines."""

    text: str
    mark: str = ""

    def page(self) -> Page:
        """Return the lines that show it; none for nothing to show."""
        return Page([f"{self.mark}{one}".rstrip() for one in plain_lines(self.text)])


@dataclass(slots=True)
class Found:
    """One finding of a checker, and whether it is still there."""

    problem: wire.FoundProblem
    is_mended: bool = False

    def page(self) -> Page:
        """Return the lines that show it."""
        one = self.problem
        word = "mended" if self.is_mended else "found"
        place = visible_line(f"{one.path}:{one.line + 1}")
        return Page([f"- {word}: {place} {short_line(one.message)}"])


def finding_key(problem: wire.FoundProblem) -> tuple[str, str, str, str]:
    """Return what two reports of one finding have in common: its line may move."""
    return problem.path, problem.checker, problem.code, problem.message


@dataclass(slots=True)
class Answer:
    """What the agent says in one step: the text that is certain, and pieces that stream."""

    step_id: str
    text: str = ""
    pieces: list[str] = field(default_factory=list[str])

    def page(self) -> Page:
        """Return the lines that show it; none for nothing to show."""
        text = self.text + "".join(self.pieces)
        return Page(plain_lines(text)) if text.strip() else Page()


@dataclass(slots=True)
class Asked:
    """An approval or a question; a line once it is settled."""

    asked: wire.PermissionRequested | wire.QuestionAsked
    call: Call | None = None
    """Whose line tells the approval's outcome."""
    settled: str = ""
    is_done: bool = False
    """Nothing is shown any more."""

    def page(self) -> Page:
        """Return the lines that show it; none for nothing to show."""
        if self.is_done:
            return Page()
        if self.settled:
            return Page([f"- {self.settled}"])
        page = Page(self._lines())
        asked = self.asked
        is_approval = isinstance(asked, wire.PermissionRequested)
        subject = asked.approval_id if is_approval else asked.question_id
        page.waiting.append(Region(0, len(page.lines) - 1, subject))
        return page

    def _lines(self) -> list[str]:
        match self.asked:
            case wire.PermissionRequested() as asked:
                block = fenced(asked.payload, LANGUAGES.get(asked.kind, ""))
                reason = [*plain_lines(asked.reason), ""] if asked.reason else []
                title = visible_line(asked.title)
                return [f"**Allow?** {title}", "", *block, "", *reason, _HOW]
            case wire.QuestionAsked() as asked:
                first, *more = plain_lines(asked.text)
                options = [f"- {visible_line(one)}" for one in asked.options]
                spaced = ["", *options] if options else []
                return [f"**Question:** {first}", *more, *spaced, "", _HOW]

    def settle(self, update: wire.PermissionResolved | wire.QuestionResolved) -> None:
        """Show how it was decided, of a call's approval in the line of the call."""
        match self.asked, update:
            case wire.PermissionRequested() as asked, wire.PermissionResolved():
                verb = "allowed" if update.outcome.allows else "rejected"
                if update.outcome is ApprovalChoice.AMEND:
                    verb = "changed"
                elif update.outcome is ApprovalChoice.CANCELLED:
                    verb = "not answered"
                note = f": “{short_line(update.note)}”" if update.note else ""
                self.settled = f"{verb}: {visible_line(asked.title)}{note}"
                self.is_done = self.call is not None and verb in ("allowed", "rejected")
                if self.call is not None and verb == "rejected":
                    self.call.is_rejected, self.call.outcome = True, f": rejected{note}"
            case wire.QuestionAsked() as asked, wire.QuestionResolved():
                question = short_line(asked.text)
                answer = f"“{short_line(update.text)}”" if update.text else "nothing"
                self.settled = f"asked: {question} Answered: {answer}"
            case _:
                return


Entry = Call | Words | Found | Answer | Asked
