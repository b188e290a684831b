"""Asks on the screen for approvals and answers: one key, or words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial

from agent_ls.cli.chat.diff_rows import is_diff, rows_of, size_of
from agent_ls.cli.chat.paint import Painter
from agent_ls.cli.chat.screen import BY, Ask, Screen
from agent_ls.cli.terminal import (
    AnswerKey,
    answer_keys,
    head_and_body,
    means_perhaps_yes,
    named_key,
)
from agent_ls.domain.approvals import (
    ApprovalAnswer,
    ApprovalChoice,
    ApprovalRequest,
    Question,
    QuestionAnswer,
)
from agent_ls.domain.calls import ToolKind
from agent_ls.domain.events import (
    ApprovalRequested,
    ApprovalResolved,
    Ephemeral,
    QuestionAsked,
    QuestionResolved,
    StoredEvent,
    TurnEnded,
)
from agent_ls.domain.modes import MODE_WORDS
from agent_ls.session.session import Session

_ASKED_BY_MODEL = "ask_user"
_CHANGES = (ToolKind.EDIT, ToolKind.DELETE, ToolKind.MOVE)
"""Whose payload is a diff; that of a command may look like one."""
_FOR_ONCE = (ApprovalChoice.ALLOW_ONCE, ApprovalChoice.REJECT_ONCE)
_MOST_KEYS = 9
"""Options of a question that have a key."""


class ScreenAnswers:
    """A reader that asks the user on the screen."""

    def __init__(
        self,
        screen: Screen,
        painter: Painter,
        session: Session,
        settled: Callable[[], Coroutine[None, None, None]],
        is_shown: Callable[[], bool],
        place: str,
    ) -> None:
        """``settled`` waits until the screen shows what happened before.

        ``is_shown``: whether the screen shows this session, and not another one by now. ``place``
        is the workspace as the user reads it.
        """
        self._place = place
        self._screen, self._painter, self._session = screen, painter, session
        self._settled, self._is_shown = settled, is_shown
        self._tasks: set[asyncio.Task[None]] = set()
        self._shown = ""
        """The id of what is being asked."""

    def on_event(self, stored: StoredEvent) -> None:
        """Ask, or stop asking."""
        match stored.event:
            case ApprovalRequested(request=request):
                self._start(self._approve(request))
            case QuestionAsked(question=question):
                self._start(self._answer(question))
            case ApprovalResolved(approval_id=ended) | QuestionResolved(question_id=ended):
                self._end(ended)
            case TurnEnded():
                self._end(self._shown)
            case _:
                pass

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        """Ignore streamed pieces."""

    def ask_pending(self) -> None:
        """Ask what a session that was opened again waits for."""
        state = self._session.state
        for request in state.approvals.values():
            self._start(self._approve(request))
        for question in state.questions.values():
            self._start(self._answer(question))

    def _end(self, ended: str) -> None:
        if ended == self._shown:
            self._shown = ""
            self._screen.ask(None)

    def _start(self, work: Coroutine[None, None, object]) -> None:
        async def done() -> None:
            await work

        task = asyncio.ensure_future(done())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _settle(self, work: Coroutine[None, None, bool], words: str) -> None:
        """Answer; words that came too late stay in the composer."""

        async def done() -> None:
            if not await work and words:
                self._say("That was decided before.", "yellow")
                self._screen.draft = self._screen.draft or words

        self._start(done())

    def _say(self, text: str, style: str = "") -> None:
        self._screen.print(self._painter.words(text, self._screen.columns, style))

    def _show(self, request: ApprovalRequest) -> str:
        """Print what is asked about; return its title."""
        columns = self._screen.columns
        title, payload = head_and_body(request.preview)
        has_diff = request.preview.kind in _CHANGES and is_diff(payload)
        size = f"  {size_of(rows_of(payload))}" if has_diff else ""
        self._screen.print("\n" + self._painter.words(title + size, columns, "bold"))
        if has_diff:
            self._screen.print(self._painter.diff(payload, columns, is_titled=True))
        elif payload:
            self._say(payload)
        return title

    async def _approve(self, request: ApprovalRequest) -> None:
        await self._settled()
        if request.id not in self._session.state.approvals or not self._is_shown():
            return
        title, keys = self._show(request), answer_keys(request, self._place)

        def settle(answer: ApprovalAnswer) -> None:
            self._settle(self._session.resolve_approval(request.id, answer), answer.note)

        def words(text: str) -> None:
            if key := named_key(text, keys):
                act(key)()
            elif means_perhaps_yes(text) or text.isdecimal():
                self._say(f"Nothing is decided: {text!r} is no answer here.", "yellow")
            elif text:
                choice = ApprovalChoice.REJECT_ONCE
                settle(ApprovalAnswer(choice=choice, note=text, by=BY))

        def act(key: AnswerKey) -> Callable[[], None]:
            return lambda: settle(ApprovalAnswer(choice=key.choice, by=BY))

        pressed = {letter: act(key) for letter, key in keys.items()}
        lasting = [letter for letter, key in keys.items() if key.choice not in _FOR_ONCE]
        rows = [
            (f"{letter} Enter" if letter in lasting else letter, key.words)
            for letter, key in keys.items()
        ]
        rows.append(("?", "explain the mode and these answers"))
        rows.append(("words", "reject, and the agent reads why; Enter sends them"))
        named = {
            letter: f"{key.name} Enter" if letter in lasting else key.name
            for letter, key in keys.items()
        }
        named["?"] = "? what they cover"
        pressed["?"] = partial(self._explain, rows)

        def panel(columns: int, height: int, chosen: str) -> str:
            # The question stands with its keys, however long what it is about was.
            head = self._painter.badge("Allow?", title, columns)
            why = self._painter.words(request.reason, columns, "dim")
            every = self._painter.rows(rows, columns, chosen)
            whole = "\n".join(filter(None, (head, why, every)))
            if _fits(f"\n{whole}\n", height):
                return f"\n{whole}\n"
            few = [f"→ {one}" if letter == chosen else one for letter, one in named.items()]
            shown = " · ".join([*few, "or words that say no"])
            return f"{head}\n{self._painter.words(shown, columns)}"

        self._shown = request.id
        self._screen.ask(Ask(panel, words, pressed, lasting, "A key above, or why not"))

    def _explain(self, rows: Sequence[tuple[str, str]]) -> None:
        columns, height = self._screen.size
        whole = self._painter.rows(rows, columns)
        if not _fits(whole, height):
            self._screen.print(whole)
        mode = self._session.state.mode_of_turn
        name, does = MODE_WORDS[mode]
        change = " Change it with /mode." if self._screen.doing.is_command("/mode") else ""
        self._say(
            f"Mode {mode} ({name}): {does}{change}\n"
            "What was allowed for the session ends with it; `agent-ls rules` lists what was "
            "allowed in this folder, and removes it.\n"
            "Words reject the call, and the agent reads them.",
            "dim",
        )

    async def _answer(self, question: Question) -> None:
        await self._settled()
        if question.id not in self._session.state.questions or not self._is_shown():
            return
        columns = self._screen.columns
        if question.origin == _ASKED_BY_MODEL:
            drawn = self._painter.markdown(f"**?** {question.text}", columns)
        else:
            # Commands, diffs and names of files as they are.
            drawn = self._painter.words(f"? {question.text}", columns)
        self._screen.print(f"\n{drawn}")

        def settle(text: str) -> None:
            if text := text or question.default:
                answer = QuestionAnswer(text=text, by=BY)
                self._settle(self._session.resolve_question(question.id, answer), text)

        options = question.options[:_MOST_KEYS]
        is_plan = question.origin == "plan"
        # In a plan a number begins a list of steps.
        rows = [(one[0] if is_plan else str(at), one) for at, one in enumerate(options, 1)]
        if is_plan:
            rows.append(
                ("", "or the numbers of steps, such as 1, 3-5; other words go to the agent")
            )
        else:
            rows.append(("", "type an answer, and Enter"))
        if question.default:
            rows.append(("", f"Enter alone answers: {question.default}"))
        pressed = {key: partial(settle, one) for key, one in rows if key}
        self._shown = question.id
        self._screen.ask(
            Ask(
                lambda columns, _, chosen: self._painter.rows(rows, columns, chosen),
                settle,
                pressed,
                hint="A key above, or an answer" if options else "Your answer",
            )
        )


def _fits(drawn: str, height: int) -> bool:
    return drawn.count("\n") < height
