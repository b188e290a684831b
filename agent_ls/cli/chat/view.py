"""Shows a session on the screen: a reader of its events.

Events come faster than a diff is read from the store, so they are shown in order by one task.
"""

from __future__ import annotations

import asyncio
import io
import logging
import time
from dataclasses import dataclass, field

from agent_ls.cli.chat.blocks import split_finished
from agent_ls.cli.chat.call_lines import OUTPUT_LINES, call_words, lines_below, result_line
from agent_ls.cli.chat.paint import Painter
from agent_ls.cli.chat.screen import BY, Screen
from agent_ls.domain import events as ev
from agent_ls.domain.approvals import ApprovalAnswer, ApprovalChoice
from agent_ls.domain.calls import ToolCall, ToolResult
from agent_ls.domain.commands import call_of
from agent_ls.domain.edits import text_of
from agent_ls.domain.errors import StoreError
from agent_ls.domain.sentences import counted
from agent_ls.domain.stops import PLAIN, STATUS_WORDS, TurnStatus
from agent_ls.domain.usage import Usage
from agent_ls.edits.diff import diff_to_read
from agent_ls.observers.human_log import HumanLog
from agent_ls.observers.report.words import duration, money, tokens
from agent_ls.session.session import Session

_log = logging.getLogger(__name__)

_MOST_DIFF_ROWS = 40
_MOST_PROMPT_LINES = 20
_LEAST_NEW_CHARS = 40
_MOST_DRAWN_CHARS = 8_000
"""A longer unfinished block is drawn without its Markdown, several times a second."""
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_SHOWN_ELSEWHERE = (
    *(ev.RequestPrepared, ev.AttemptFinished, ev.ToolCallStarted, ev.ToolCallFinished),
    *(
        ev.CallDecided,
        ev.ApprovalRequested,
        ev.QuestionAsked,
        ev.TurnEnded,
        ev.TurnStarted,
        ev.Answered,
    ),
)
"""Events that have a form of their own here; the others are lines of the log."""
_ALLOWED_HERE = ApprovalAnswer(choice=ApprovalChoice.ALLOW_ONCE, by=BY)
_ENDS = {
    TurnStatus.SUCCESS: ("✓", "green"),
    TurnStatus.PARTIAL: ("!", "yellow"),
    TurnStatus.ESCALATED: ("!", "yellow"),
    TurnStatus.FAILED: ("✗", "red"),
    TurnStatus.CANCELLED: ("■", "yellow"),
}


@dataclass(slots=True)
class _Running:
    """A call that runs."""

    tool: str
    words: str
    started_s: float
    output: str = ""


@dataclass(slots=True)
class _Edits:
    """How many lines were changed."""

    added: int = 0
    removed: int = 0
    diffs: list[str] = field(default_factory=list[str])
    """Those that the user has not seen yet."""


@dataclass(slots=True)
class _Turn:
    """What the line of state and the last line tell of a turn."""

    started_s: float = field(default_factory=time.monotonic)
    steps: int = 0
    usage: Usage = field(default_factory=Usage)
    asked: dict[str, ToolCall] = field(default_factory=dict[str, ToolCall])
    running: dict[str, _Running] = field(default_factory=dict[str, _Running])
    intents: dict[tuple[str, str], ev.EditIntended] = field(
        default_factory=dict[tuple[str, str], ev.EditIntended]
    )
    edits: dict[str, _Edits] = field(default_factory=dict[str, _Edits])
    """By call, until it has ended."""
    edited: _Edits = field(default_factory=_Edits)
    """Of all calls."""
    by_command: bool = False
    """Whether a command changed files, of which no lines are counted."""
    seen: set[str] = field(default_factory=set[str])
    """Calls whose diff the user has seen in an approval."""
    changed: set[str] = field(default_factory=set[str])
    """Files that were changed."""


class SessionView:
    """Draws one session."""

    def __init__(
        self, screen: Screen, painter: Painter, session: Session, *, tells_why: bool
    ) -> None:
        """``tells_why``: say why a turn did not end well."""
        self._tells_why = tells_why
        self._screen, self._painter, self._session = screen, painter, session
        self._log = HumanLog(io.StringIO(), with_answers=False, with_approvals=False)
        self._turn = _Turn()
        self._text = ""
        """What has arrived of the answer and is not printed yet."""
        self._look_at_chars = 0
        """At which length it is parsed again: with every piece a long text would take too long."""
        self._said: list[str] = []
        """What was streamed since the last calls."""
        self._has_begun = False
        """Whether some of the answer is printed."""
        self._is_below_text = False
        """Whether what was printed last is the model's text."""
        self._window_tokens = 0
        self.context_share = 0.0
        """How full the model's window was after the last answer; 0: not known."""
        self._take_in_turn()
        self._queue: asyncio.Queue[ev.StoredEvent | ev.Ephemeral] = asyncio.Queue()
        self._task = asyncio.ensure_future(self._show_all())

    def _take_in_turn(self) -> None:
        """Learn what the turn of an opened session did before, without showing it."""
        state = self._session.state
        for stored in state.turn.events if state.is_running and state.turn else ():
            self._log.lines_of(stored.event)
            self._count(stored.event)
            self._measure(stored.event)
            if isinstance(stored.event, ev.ToolCallFinished):
                self._turn.running.pop(stored.event.result.call_id, None)

    def on_event(self, stored: ev.StoredEvent) -> None:
        """Show the event after those before it."""
        self._queue.put_nowait(stored)

    def on_ephemeral(self, session_id: str, piece: ev.Ephemeral) -> None:
        """Show the piece after what came before it."""
        self._queue.put_nowait(piece)

    async def settled(self) -> None:
        """Wait until everything that came is shown."""
        await self._queue.join()

    async def close(self) -> None:
        """Show what came, and end."""
        await self.settled()
        self._task.cancel()

    async def _show_all(self) -> None:
        while True:
            item = await self._queue.get()
            try:
                if isinstance(item, ev.StoredEvent):
                    await self._event(item.event)
                else:
                    self._piece(item)
            except Exception:
                _log.exception("an event could not be shown")
            finally:
                self._queue.task_done()
            self._screen.refresh()

    def _print(self, text: str, style: str = "") -> None:
        self._screen.print(self._painter.words(text, self._screen.columns, style))

    def _line(self, text: str, style: str = "") -> None:
        self._screen.print(self._painter.line(text, self._screen.columns, style))

    def _piece(self, piece: ev.Ephemeral) -> None:
        match piece:
            case ev.TextStreamed(text=text):
                self._said.append(text)
                self._text += text
                if len(self._text) >= self._look_at_chars:
                    finished, self._text = split_finished(self._text)
                    self._answer(finished)
                    self._look_at_chars = len(self._text) + max(
                        _LEAST_NEW_CHARS, len(self._text) // 4
                    )
            case ev.AttemptDiscarded():
                if self._has_begun or self._text.strip():
                    self._flush()
                    self._line("(the text above is dropped; the model is asked again)", "dim")
                self._said.clear()
            case ev.CallOutputStreamed(call_id=call_id, text=text):
                if (call := self._turn.running.get(call_id)) is not None:
                    call.output = (call.output + text)[-20_000:]
            case _:
                pass

    def _answer(self, text: str) -> None:
        if text.strip():
            self._screen.print("\n" + self._painter.markdown(text, self._screen.columns))
            self._has_begun = self._is_below_text = True

    def _flush(self) -> None:
        """Print what is left of the answer."""
        text, self._text, self._look_at_chars = self._text, "", 0
        self._answer(text)
        self._has_begun = False

    def _lines_of(self, event: ev.Event) -> list[str]:
        """Return the log's lines."""
        lines = self._log.lines_of(event)
        if isinstance(event, ev.ApprovalResolved) and event.answer == _ALLOWED_HERE:
            # The line of the call's result says the rest.
            return [""]
        return lines

    async def _event(self, event: ev.Event) -> None:
        lines = self._lines_of(event)
        self._count(event)
        self._measure(event)
        match event:
            case ev.TurnStarted(prompt=prompt):
                self._prompt(call_of(prompt))
            case ev.PromptQueued(text=text, kind=kind):
                self._prompt(call_of(text), "  (while it works)" if kind == "steer" else "  (next)")
            case ev.AttemptFinished():
                self._flush()
                if event.failure:
                    # The next line says why: that of the recovery, or of the turn's end.
                    self._line("✗ The request failed", "red")
            case ev.EditApplied(status="applied"):
                await self._edited(event)
            case ev.ToolCallFinished(result=result):
                self._result(result)
            case ev.TurnEnded():
                self._ended(event)
            case _ if not isinstance(event, _SHOWN_ELSEWHERE):
                for line in lines:
                    # Terminals do not agree how wide a symbol with this selector is.
                    shown = line.replace("\ufe0f", "").removeprefix("   ")
                    self._print(shown.replace("   ", "  ", 1), "dim")
            case _:
                pass

    def _count(self, event: ev.Event) -> None:
        """Take in what later lines and the line of state tell."""
        turn = self._turn
        match event:
            case ev.TurnStarted():
                self._turn = _Turn()
                self._said.clear()
            case ev.RequestPrepared(number=number):
                turn.steps = number
            case ev.AttemptFinished() | ev.ChildEnded() | ev.AdviceGiven():
                turn.usage += event.usage
            case ev.Answered(message=message):
                turn.asked |= {call.id: call for call in message.calls}
                if message.calls:
                    self._said.clear()
            case ev.ToolCallStarted():
                words = call_words(event.tool, event.arguments_json)
                turn.running[event.call_id] = _Running(event.tool, words, time.monotonic())
            case ev.EditIntended():
                turn.intents[event.call_id, event.edit.path] = event
            case ev.ApprovalRequested(request=request):
                turn.seen |= {request.call_id, *(one.call_id for one in request.covers)}
                self._is_below_text = False
            case ev.CommandChanged(path=path):
                turn.changed.add(path)
                turn.by_command = True
            case _:
                pass

    def _measure(self, event: ev.Event) -> None:
        """Take in how full the model's window is."""
        match event:
            case ev.RequestPrepared(window_tokens=window_tokens):
                self._window_tokens = window_tokens
            case ev.AttemptFinished(usage=usage) if self._window_tokens and usage.total_tokens:
                self.context_share = usage.total_tokens / self._window_tokens
            case _:
                pass

    def _prompt(self, text: str, note: str = "") -> None:
        lines = text.strip().split("\n")
        left = len(lines) - _MOST_PROMPT_LINES
        more = f"\n… {counted(left, 'more line')}" if left > 0 else ""
        self._screen.print("\n" + self._painter.rule(self._screen.columns))
        self._print("> " + "\n".join(lines[:_MOST_PROMPT_LINES]) + more + note, "bold")

    def _result(self, result: ToolResult) -> None:
        turn = self._turn
        call = turn.running.pop(result.call_id, None)
        asked = turn.asked.get(result.call_id)
        tool = call.tool if call else asked.tool if asked else "call"
        words = call.words if call else call_words(tool, asked.arguments_json) if asked else tool
        edits = turn.edits.pop(result.call_id, None)
        size = f"+{edits.added} -{edits.removed}" if edits else ""
        columns = self._screen.columns
        if self._is_below_text:
            self._is_below_text = False
            self._screen.print("")
        self._screen.print(result_line(self._painter, columns, tool, words, size, result))
        if edits and edits.diffs:
            diff = "".join(edits.diffs)
            self._screen.print(
                self._painter.diff(diff, columns, most_rows=_MOST_DIFF_ROWS, is_titled=True)
            )
        if self._log.is_rejected(result.call_id):
            return
        output = call.output if call else ""
        way = "/output" if self._screen.doing.is_command("/output") else ""
        for line in lines_below(self._painter, columns, tool, output, result, way):
            self._screen.print(line)

    async def _edited(self, event: ev.EditApplied) -> None:
        """Take in what an edit changed, with its diff if nobody has seen it yet."""
        self._turn.changed.add(event.path)
        edits = self._turn.edits.setdefault(event.call_id, _Edits())
        for one in (edits, self._turn.edited):
            one.added += event.added_lines
            one.removed += event.removed_lines
        intent = self._turn.intents.pop((event.call_id, event.path), None)
        if intent is None or event.call_id in self._turn.seen:
            return
        before = await self._text_of(intent.before_blob)
        after = await self._text_of(event.after_blob)
        if (before, after) != (None, None):
            edits.diffs.append(diff_to_read(before, after, event.path))

    async def _text_of(self, digest: str | None) -> str | None:
        if digest is None:
            return None
        try:
            data = await self._session.content(digest)
        except StoreError:
            return None
        return None if data is None else text_of(data)[0]

    def _ended(self, event: ev.TurnEnded) -> None:
        turn = self._turn
        self._flush()
        if event.output.strip() not in "".join(self._said):
            self._answer(event.output)
            self._has_begun = False
        sign, style = _ENDS[event.status]
        stop = "" if event.stop in PLAIN else f" ({event.stop.replace('_', ' ')})"
        parts = [
            f"{sign} {STATUS_WORDS[event.status]}{stop}",
            counted(turn.steps, "step"),
            f"{tokens(turn.usage.total_tokens)} tokens",
        ]
        if turn.usage.cost_usd:
            parts.append(money(turn.usage.cost_usd))
        parts.append(_took(turn.started_s))
        if event.failure_reason and self._tells_why:
            self._print(event.failure_reason, style)
        self._screen.print("")
        self._line(" · ".join(parts), style)
        if turn.changed and not self._session.state.is_dry_run:
            self._print(self._changes_of(turn), "dim")
        turn.running.clear()

    def _changes_of(self, turn: _Turn) -> str:
        """Return what was changed, and what the user can do about it."""
        files = counted(len(turn.changed), "file")
        size = "" if turn.by_command else f", +{turn.edited.added} -{turn.edited.removed}"
        way = "/" if self._screen.doing.is_command("/diff") else "agent-ls "
        it = "it" if len(turn.changed) == 1 else "them"
        hints = f"{way}diff shows {it} · {way}undo takes back · {way}keep ends the review"
        return f"{files} changed{size} · {hints}"

    def live(self, columns: int, rows: int) -> str:
        """Draw the text that still arrives and the calls that run, in so many rows."""
        lines: list[str] = []
        if self._text.strip():
            lines += ["", *self._unfinished(columns, rows)][-rows:]
        now_s = time.monotonic()
        for call in self._turn.running.values():
            head = f"{_frame(now_s)} {call.words}"
            lines.append(self._painter.sides(head, _took(call.started_s), columns))
            lines += self._painter.tail(call.output, columns, OUTPUT_LINES)
        return "\n".join(lines[-rows:])

    def _unfinished(self, columns: int, rows: int) -> list[str]:
        text = self._text
        if len(text) > _MOST_DRAWN_CHARS:
            return self._painter.tail(text, columns, rows, "")
        return self._painter.markdown(text, columns).split("\n")

    def status(self, columns: int) -> str:
        """Draw the line of state."""
        state = self._session.state
        if not self._session.is_busy or self._session.is_cut_off:
            return ""
        turn, now_s = self._turn, time.monotonic()
        waits = state.approvals or state.questions
        parts = [
            "Waits for your answer" if waits else f"{_frame(now_s)} Works",
            "" if waits else _took(turn.started_s),
            f"{tokens(turn.usage.total_tokens)} tokens" if turn.usage.total_tokens else "",
            f"{len(state.queue)} queued" if state.queue else "",
            "Ctrl-C stops the turn" if waits else "Esc stops · Enter steers · Tab queues",
        ]
        return self._painter.line(" · ".join(filter(None, parts)), columns, "dim")


def _took(started_s: float) -> str:
    took_s = int(time.monotonic() - started_s)
    return duration(took_s * 1000) if took_s >= 60 else f"{took_s} s"


def _frame(now_s: float) -> str:
    return _SPINNER[int(now_s * 10) % len(_SPINNER)]
