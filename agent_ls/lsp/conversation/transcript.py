"""Renders a session as Markdown: a fold of the updates that the panel gets, and nothing else.

Owns what a turn looks like. Knows no editor, no file and no time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from agent_ls.domain.calls import ToolKind
from agent_ls.domain.code_review import REVIEWER
from agent_ls.domain.plans import PlanStatus
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.lsp import wire
from agent_ls.lsp.conversation.entries import (
    Answer,
    Asked,
    Call,
    Entry,
    Found,
    Words,
    finding_key,
    short_line,
)
from agent_ls.lsp.conversation_page import HEADING, Page, Region, front_matter, plain_lines
from agent_ls.safety.text import label, visible_line

_TITLE_CHARACTERS = 80
_MOST_FINDINGS = 5
_VERBS = {
    ToolKind.READ: "read",
    ToolKind.EDIT: "edit",
    ToolKind.DELETE: "delete",
    ToolKind.MOVE: "move",
    ToolKind.EXECUTE: "run",
}
"""The other kinds are told by the tool's name."""
_BOXES = {
    PlanStatus.PENDING: "[ ]",
    PlanStatus.IN_PROGRESS: "[ ] *now:*",
    PlanStatus.COMPLETED: "[x]",
    PlanStatus.BLOCKED: "[ ] *blocked:*",
}
_SHOWN_OTHERWISE = ("ask_user", "update_plan")
"""Tools whose calls are seen as a question or as the plan."""


@dataclass(slots=True)
class _Turn:
    id: str
    prompt: str = ""
    items: list[Entry] = field(default_factory=list[Entry])
    plan: tuple[wire.PlanEntry, ...] = ()
    calls: dict[str, Call] = field(default_factory=dict[str, Call])
    asked: dict[str, Asked] = field(default_factory=dict[str, Asked])
    notices: dict[str, Words] = field(default_factory=dict[str, Words])
    answer: Answer | None = None
    """The newest."""
    step: int = 0
    usage_before: tuple[int, float] = (0, 0.0)
    ended: str = ""

    def page(self, usage: tuple[int, float]) -> Page:
        first, *rest = plain_lines(self.prompt)
        page = Page([f"# {first}", ""])
        if any(rest):
            page.add(Page([*plain_lines("\n".join(rest)), ""]))
        self._add_items(page)
        if self.plan:
            lines = [f"- {_BOXES[one.status]} {visible_line(one.content)}" for one in self.plan]
            page.add(Page([*lines, ""]))
        page.add(Page([self._state(page, usage), ""]))
        page.turns.append(Region(0, len(page.lines) - 1, label(first, _TITLE_CHARACTERS)))
        return page

    def _add_items(self, page: Page) -> None:
        """Add the items; lines of steps stand together as one list that folds."""
        pages = [shown for one in self.items if (shown := one.page()).lines]
        for is_step, group in groupby(pages, lambda one: one.is_list_item):
            begun = len(page.lines)
            for one in group:
                page.add(one)
                if not is_step:
                    page.add(Page([""]))
            if is_step:
                page.steps.append(Region(begun, len(page.lines) - 1))
                page.add(Page([""]))

    def _state(self, page: Page, usage: tuple[int, float]) -> str:
        if not self.ended:
            return "*Waits for you.*" if page.waiting else f"*Works, step {max(1, self.step)} …*"
        tokens, cost = usage[0] - self.usage_before[0], usage[1] - self.usage_before[1]
        money = f", ${cost:.4f}" if cost > 0 else ""
        steps = f"{self.step} step{'' if self.step == 1 else 's'}"
        return f"*{self.ended} ({steps}, {tokens:,} tokens{money})*"


class Transcript:
    """One session's text, so far."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._past: list[tuple[_Turn, tuple[int, float]]] = []
        """All turns but the last, each with the session's usage at its end."""
        self._past_page: Page | None = None
        """These turns, rendered; None: something in them has changed."""
        self._found: list[Found] = []
        """The findings of all turns."""
        self._problems: set[str] = set()
        """Why checkers could not run, each told once."""
        self._turn: _Turn | None = None
        self._queue: list[tuple[str, str]] = []
        """The id and the text of each prompt that waits."""
        self._usage = (0, 0.0)
        """Tokens and dollars of the session."""

    def turns(self) -> Page:
        """Return the text of the turns, as something to read."""
        page = Page()
        for turn, usage in self._past:
            page.add(turn.page(usage))
        if self._turn is not None:
            page.add(self._turn.page(self._usage))
        return page

    def page(self) -> Page:
        """Return the text as it is now, up to the last heading."""
        if self._past_page is None:
            self._past_page = Page(front_matter(self._session_id))
            for turn, usage in self._past:
                self._past_page.add(turn.page(usage))
        page = Page()
        page.add(self._past_page)
        if self._turn is not None:
            page.add(self._turn.page(self._usage))
        for _, prompt in self._queue:
            words = short_line(prompt.strip().partition("\n\n")[0])
            page.add(Page([f"> {words} *(waits)*", ""]))
        page.add(Page([HEADING]))
        return page

    def feed(self, update: wire.Update) -> None:
        """Take in the next update."""
        match update:
            case wire.TurnStartedUpdate(turn_id=turn_id):
                self._begin(turn_id)
            case wire.UsageUpdate(total=total, cost=cost):
                self._usage = (total.input_tokens + total.output_tokens, cost.amount)
            case wire.QueuedUpdate(content=content, prompt_id=prompt_id):
                self._queue.append((prompt_id, content.text))
            case wire.QueuedPromptChange():
                self._requeue(update)
            case wire.FindingsUpdate() if self._turn is not None:
                self._take_findings(self._turn, update)
            case _ if self._turn is not None:
                for take in _TAKES:
                    take(self._turn, update)
                self._unqueue(self._turn, update)
            case _:
                pass

    def _requeue(self, change: wire.QueuedPromptChange) -> None:
        """Change, move or drop a prompt that waits."""
        ids = [name for name, _ in self._queue]
        if change.prompt_id not in ids:
            return
        at = ids.index(change.prompt_id)
        name, text = self._queue.pop(at)
        ids.remove(name)
        if change.before is not None:
            at = ids.index(change.before) if change.before in ids else len(ids)
        if not change.is_dropped:
            self._queue.insert(at, (name, text if change.text is None else change.text))

    def _begin(self, turn_id: str) -> None:
        if self._turn is not None:
            self._past.append((self._turn, self._usage))
            if self._past_page is not None:
                self._past_page.add(self._turn.page(self._usage))
        self._turn = _Turn(turn_id, usage_before=self._usage)

    def renew_findings(self, now: Iterable[wire.FoundProblem]) -> bool:
        """Show which findings are still there; ``now`` are all of the session.

        Return whether that changes the text.
        """
        return self._renew(self._found, list(now))

    def rename(self, path: str, new_path: str) -> None:
        """Show findings under a file's new name; ``path`` may be a folder."""
        for one in self._found:
            old = one.problem.path
            if old == path or old.startswith(f"{path}/"):
                there = {"path": new_path + old.removeprefix(path)}
                one.problem = one.problem.model_copy(update=there)
                self._past_page = None

    def _take_findings(self, turn: _Turn, update: wire.FindingsUpdate) -> None:
        """Take in a report, which replaces what was found in its files before."""
        files = {*update.paths, *(one.path for one in update.findings)}
        new = list(update.findings)
        self._renew([one for one in self._found if one.problem.path in files], new)
        found = [Found(one) for one in new[:_MOST_FINDINGS]]
        self._found += found
        turn.items += found
        for problem in update.problems:
            if problem not in self._problems:
                turn.items.append(Words(" ".join(problem.split()), "- "))
        self._problems.update(update.problems)

    def _renew(self, known: Sequence[Found], now: list[wire.FoundProblem]) -> bool:
        """Mark which known findings are mended; take those still there out of ``now``."""
        before = [replace(one) for one in known]
        gone = list(known)
        for problem in list(now):
            key = finding_key(problem)
            alike = [one for one in gone if finding_key(one.problem) == key]
            if alike:
                nearest = min(alike, key=lambda one: abs(one.problem.line - problem.line))
                gone.remove(nearest)
                now.remove(problem)
                nearest.problem, nearest.is_mended = problem, False
        for one in gone:
            # Another review words the same defect in other words.
            one.is_mended = one.problem.checker != REVIEWER
        if before == list(known):
            return False
        self._past_page = None
        return True

    def _unqueue(self, turn: _Turn, update: wire.Update) -> None:
        """Take out of the queue what reached the model, or was stopped."""
        match update:
            case wire.UserMessageUpdate(origin="user" | "steer", content=content):
                texts = [text for _, text in self._queue]
                if content.text in texts:
                    del self._queue[texts.index(content.text)]
            case wire.CancelUpdate(returned=returned):
                self._queue.clear()
                turn.items += [Words(f"Not read by the agent: {one}", "> ") for one in returned]
            case _:
                pass


def _take_words(turn: _Turn, update: wire.Update) -> None:
    """Take in what the user and the agent say."""
    match update:
        case wire.UserMessageUpdate(origin="user", content=content):
            turn.prompt = content.text
        case wire.UserMessageUpdate(origin="steer", content=content):
            turn.items.append(Words(content.text, "> "))
        case wire.AgentMessageChunk(step_id=step_id, content=content):
            _answer_of(turn, step_id).pieces.append(content.text)
        case wire.ChunksDiscarded(step_id=step_id):
            _answer_of(turn, step_id).pieces.clear()
        case wire.AgentMessage(step_id=step_id, content=content):
            answer = _answer_of(turn, step_id)
            answer.pieces.clear()
            answer.text += content.text
        case wire.PlanUpdate(entries=entries):
            turn.plan = tuple(entries)
        case _:
            pass


def _answer_of(turn: _Turn, step_id: str) -> Answer:
    if turn.answer is None or turn.answer.step_id != step_id:
        turn.answer = Answer(step_id)
        turn.items.append(turn.answer)
    return turn.answer


def _take_call(turn: _Turn, update: wire.Update) -> None:
    match update:
        case wire.ToolCallUpdate(tool=tool, kind=kind) if tool not in _SHOWN_OTHERWISE:
            what = update.title.removeprefix(tool).strip()
            title = f"{_VERBS.get(kind, tool.replace('_', ' '))} {what}".rstrip()
            call = Call(turn.id, title, kind)
            turn.calls[update.tool_call_id] = call
            turn.items.append(call)
        case wire.ToolCallProgress(locations=locations, status=status):
            call = turn.calls.get(update.tool_call_id)
            if call is not None and locations:
                call.place = locations[0]
            if call is not None and status in ("completed", "failed"):
                call.finish(update)
        case wire.ToolCallDecision(decision="ask"):
            if (call := turn.calls.get(update.tool_call_id)) is not None:
                call.is_asked = True
        case wire.FileEdited(status="applied"):
            call = turn.calls.get(update.tool_call_id)
            if call is not None:
                call.added_lines += update.added_lines
                call.removed_lines += update.removed_lines
                call.place = call.place or update.location
        case _:
            pass


def _take_asked(turn: _Turn, update: wire.Update) -> None:
    match update:
        case wire.PermissionRequested():
            call = turn.calls.get(update.tool_call_id)
            turn.asked[update.approval_id] = Asked(update, call)
            turn.items.append(turn.asked[update.approval_id])
        case wire.QuestionAsked():
            turn.asked[update.question_id] = Asked(update)
            turn.items.append(turn.asked[update.question_id])
        case (
            wire.PermissionResolved(approval_id=subject)
            | wire.QuestionResolved(question_id=subject)
        ):
            if subject in turn.asked:
                turn.asked[subject].settle(update)
        case _:
            pass


def _take_notice(turn: _Turn, update: wire.Update) -> None:
    """Take in what else the panel tells in its log."""
    match update:
        case wire.NoticeUpdate(notice_id=known) if known in turn.notices:
            turn.items.remove(turn.notices.pop(known))
            _take_notice(turn, update)
        case wire.NoticeUpdate(text=text) if text and update.origin != "prefix":
            warning = "" if update.level == "info" else f"{update.level}: "
            said = Words(f"{warning}{short_line(text)}", "- ")
            turn.items.append(said)
            if update.notice_id:
                turn.notices[update.notice_id] = said
        case wire.SubAgentUpdate(status="in_progress", kind=kind, task=task):
            turn.items.append(Words(f"sub-agent {kind} started: {short_line(task)}", "- "))
        case wire.SubAgentUpdate(kind=kind, stop_reason=stop):
            turn.items.append(Words(f"sub-agent {kind} ended: {stop}", "- "))
        case wire.GateFailedUpdate(text=text):
            turn.items.append(Words(f"not accepted: {short_line(text)}", "- "))
        case wire.CompactedUpdate(before_tokens=before, after_tokens=after):
            words = f"shortened the conversation: {before:,} to {after:,} tokens"
            turn.items.append(Words(words, "- "))
        case _:
            pass


def _take_progress(turn: _Turn, update: wire.Update) -> None:
    match update:
        case wire.PhaseUpdate(step=step):
            turn.step = max(turn.step, step)
        case wire.TurnEndedUpdate():
            said = ""
            if turn.answer is not None:
                turn.answer.pieces.clear()
                said = turn.answer.text.strip()
            if update.output.strip() not in ("", said):
                turn.items.append(Words(update.output))
            word = "Partly done" if update.stop_reason is StopReason.COMPLETED else "Stopped"
            turn.ended = f"{word}: {update.failure_reason}" if update.failure_reason else "Done"
            if update.status is TurnStatus.CANCELLED:
                turn.ended = "Stopped"
            for asked in turn.asked.values():
                asked.settled = asked.settled or "not answered"
            for call in turn.calls.values():
                call.outcome = call.outcome.removesuffix(" …")
        case _:
            pass


_TAKES: tuple[Callable[[_Turn, wire.Update], None], ...] = (
    _take_words,
    _take_call,
    _take_asked,
    _take_notice,
    _take_progress,
)
