"""The screen of a conversation: what is drawn below what was printed, and the keys.

Knows no session. What was said stays in the terminal's own history above; below it are the text
that still arrives, a line of state, the composer and a footer.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial

from prompt_toolkit.application import Application
from prompt_toolkit.application.current import set_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.filters import Condition, has_completions
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    FormattedTextControl,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.layout.processors import AfterInput, ConditionalProcessor
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output

from agent_ls.cli.chat.screen_parts import STYLE, earlier_prompts, size_of_terminal

_MOST_COMPOSER_ROWS = 8
_MOST_MENU_ROWS = 8
_FEWEST_LIVE_ROWS = 3
_OTHER_ROWS = 2
"""The line of state and the footer."""
_FRAME_S = 0.1
_ALONE_S = 0.4
"""After a letter that answers: a sentence may begin with it, and goes on sooner."""
_ESCAPE_S = 0.3
"""After Escape: it may begin a key of its own."""
_MARK, _MORE = "> ", "  "
_RULE_ROWS = 12
"""A lower terminal has no line above the composer."""
BY = "terminal"
"""Who answers here, as answers say it."""
_EMPTY = "Say what to do · @ names a file · / lists commands"


@dataclass(frozen=True, slots=True)
class Ask:
    """Something that waits for one key, or for words and Enter."""

    panel: Callable[[int, int, str], str]
    """Draws the keys and what each covers, at this width and height, with the chosen key."""
    words: Callable[[str], None]
    """Called with words; they may be empty."""
    keys: Mapping[str, Callable[[], None]] = field(default_factory=dict[str, Callable[[], None]])
    """Each answers when it stands alone: after a moment, or with Enter."""
    with_enter: Collection[str] = ()
    """Those that answer with Enter alone, since what they decide lasts."""
    hint: str = ""
    """What an empty composer says."""


@dataclass(slots=True)
class Doing:
    """What the screen calls for the user's keys; replaced once there is a session."""

    send: Callable[[str, bool], None]
    """Called with a prompt, and whether it waits for the end of the turn."""
    stop: Callable[[], bool]
    """Stops the turn; False when none runs."""
    is_command: Callable[[str], bool] = lambda _text: False
    """Says whether a text is for the conversation itself, also while something is asked."""
    next_mode: Callable[[], None] = lambda: None
    """Goes to the next mode."""
    paste_image: Callable[[], None] = lambda: None
    """Inserts the image in the clipboard."""


def no_text(_columns: int, _rows: int) -> str:
    """Return nothing to draw."""
    return ""


class Screen:
    """The running screen."""

    def __init__(self, doing: Doing, *, completer: Completer | None = None) -> None:
        """``doing`` is called for what the user types."""
        self.doing = doing
        self.live: Callable[[int, int], str] = no_text
        """Draws what still changes, at this width and height."""
        self.status: Callable[[int], str] = lambda _columns: ""
        """Draws the line of state above the composer."""
        self.footer: Callable[[], str] = lambda: ""
        self.empty = _EMPTY
        """What an empty composer says while nothing is asked."""
        self.is_busy: Callable[[], bool] = lambda: False
        self.ended = 0
        """The exit code, once it has ended."""
        self.is_gone = False
        """The terminal is closed: nothing can be shown any more."""
        self._has_left = False
        self._ask: Ask | None = None
        self._takes_answer = False
        """Whether what is typed now answers ``_ask``: it was begun after the question came."""
        self._chosen = ""
        """The key of ``_ask`` that Enter alone presses; empty: none."""
        self._asked_s = 0.0
        """When ``_ask`` came, by the monotonic clock."""
        self._is_warned = False
        """Whether the next Ctrl-C leaves."""
        self._waiting: list[str] = []
        self._drawn: tuple[int, ANSI] | None = None
        self._buffer = Buffer(
            multiline=True,
            completer=completer,
            complete_while_typing=Condition(lambda: self._ask is None),
            history=earlier_prompts(),
            on_text_changed=lambda _buffer: self._typed(),
        )
        self._app = self._built()

    @property
    def columns(self) -> int:
        """Return the terminal's width."""
        return self._app.output.get_size().columns

    @property
    def size(self) -> tuple[int, int]:
        """Return the terminal's width, and the height that is left for what waits or changes."""
        size = self._app.output.get_size()
        composer = min(self._buffer.document.line_count, _MOST_COMPOSER_ROWS)
        return size.columns, size.rows - _OTHER_ROWS - self._has_rule - composer

    @property
    def _has_rule(self) -> bool:
        return self._app.output.get_size().rows >= _RULE_ROWS

    @property
    def draft(self) -> str:
        """Return what is typed and not sent."""
        return self._buffer.text

    @draft.setter
    def draft(self, text: str) -> None:
        self._buffer.text = text
        self._buffer.cursor_position = len(text)

    @property
    def is_asking(self) -> bool:
        """Say whether something waits for an answer."""
        return self._ask is not None

    def insert(self, text: str) -> None:
        """Insert a text where the cursor is."""
        self._buffer.insert_text(text)

    async def run(self) -> int:
        """Draw until the user leaves; return the exit code."""
        if self._has_left:
            return self.ended
        ticking = asyncio.ensure_future(self._tick())
        try:
            await self._app.run_async()
        except (EOFError, OSError):
            # The terminal was closed under it.
            self.is_gone = True
            self.ended = self.ended or 1
        finally:
            ticking.cancel()
            self._print_waiting()
        return self.ended

    def leave(self, code: int = 0, *, is_gone: bool = False) -> None:
        """End the screen with an exit code; ``is_gone`` if the terminal was closed."""
        self.is_gone = self.is_gone or is_gone
        self.ended = self.ended or code
        self._has_left = True
        self._print_waiting()
        if self._app.is_running and not self._app.is_done:
            self._app.exit()

    def print(self, text: str) -> None:
        """Print a drawn text above what is drawn; it stays."""
        self._waiting.append(f"{text}\n")
        if len(self._waiting) == 1:
            asyncio.get_running_loop().call_soon(self._print_waiting)

    def refresh(self) -> None:
        """Draw again soon."""
        self._app.invalidate()

    def ask(self, ask: Ask | None) -> None:
        """Show what waits for an answer; None when nothing does any more."""
        self._ask, self._chosen = ask, ""
        self._asked_s = time.monotonic()
        self._takes_answer = ask is not None and not self._buffer.text
        # What is asked about stands above the keys from the first frame on.
        self._print_waiting()
        self.refresh()

    def _print_waiting(self) -> None:
        if self._app.is_running and self._app.is_done:
            # It is about to take its drawing away, and would take this with it; then it prints.
            return
        text = "".join(self._waiting).replace("\n", "\r\n")
        self._waiting.clear()
        if self.is_gone or not text:
            return
        app = self._app
        is_drawn = app.is_running and not app.is_done
        try:
            if is_drawn:
                app.renderer.erase()
            app.output.write_raw(text)
            app.output.flush()
            if is_drawn:
                self._drawn = None
                with set_app(app):
                    app.renderer.render(app, app.layout)
        except OSError:
            self.leave(1, is_gone=True)

    async def _tick(self) -> None:
        """Draw again and again while something runs, for the seconds and the spinner."""
        while True:
            await asyncio.sleep(_FRAME_S)
            if self.is_busy():
                self._app.invalidate()

    def _typed(self) -> None:
        self._is_warned = False
        if self._buffer.text:
            self._chosen = ""
        elif self._ask is not None:
            self._takes_answer = True

    def _sent(self, *, waits: bool) -> None:
        """Take what is in the composer, as an answer or as a prompt."""
        text, ask = self._buffer.text or self._chosen, self._ask
        if ask is not None and not text and self._has_just_come:
            # Meant for what was asked before.
            return
        if ask is not None and self._takes_answer and not self.doing.is_command(text):
            self._buffer.reset()
            self._takes_answer, self._chosen = True, ""
            if act := ask.keys.get(text):
                act()
            else:
                ask.words(text.strip())
        elif text.strip():
            self._buffer.append_to_history()
            self._buffer.reset()
            self._takes_answer = ask is not None
            self.doing.send(text, waits)

    def _can_interrupt(self) -> bool:
        return self.is_busy() and not self._buffer.text

    def _interrupted(self) -> None:
        """Stop the turn, and nothing else."""
        self.doing.stop()
        self.refresh()

    def _stopped(self) -> None:
        """Stop the turn; without one clear the composer; twice in a row leave."""
        if self._is_warned:
            self.leave()
        elif self.doing.stop():
            self._is_warned = True
        elif self._buffer.text:
            self._buffer.reset()
        else:
            self._is_warned = True
        self.refresh()

    def _status(self) -> ANSI:
        if self._is_warned:
            return ANSI("Ctrl-C again leaves.")
        return ANSI(self.status(self.columns))

    def _lines(self) -> ANSI:
        """Return what is drawn above the line of state; it is made once a frame."""
        frame = self._app.render_counter
        if self._drawn is None or self._drawn[0] != frame:
            self._drawn = frame, self._made_lines()
        return self._drawn[1]

    def _made_lines(self) -> ANSI:
        if self._ask is not None:
            return ANSI(self._ask.panel(*self.size, self._chosen))
        size = self._app.output.get_size()
        rows = max(_FEWEST_LIVE_ROWS, size.rows // 2)
        return ANSI(self.live(size.columns, rows))

    def _built(self) -> Application[None]:
        is_live = Condition(lambda: bool(self._lines().value))
        composer = Window(
            BufferControl(
                self._buffer,
                key_bindings=self._keys(),
                input_processors=[
                    ConditionalProcessor(
                        AfterInput(self._hint, style="class:placeholder"),
                        Condition(lambda: not self._buffer.text),
                    )
                ],
            ),
            height=lambda: Dimension(min=1, max=_MOST_COMPOSER_ROWS),
            dont_extend_height=True,
            wrap_lines=True,
            get_line_prefix=lambda line, wraps: [("class:mark", _MORE if line or wraps else _MARK)],
        )
        body = HSplit(
            [
                ConditionalContainer(
                    Window(FormattedTextControl(self._lines), dont_extend_height=True), is_live
                ),
                Window(FormattedTextControl(self._status), height=1),
                ConditionalContainer(
                    Window(char="─", height=1, style="class:rule"),
                    Condition(lambda: self._has_rule),
                ),
                composer,
                CompletionsMenu(max_height=_MOST_MENU_ROWS),
                ConditionalContainer(
                    Window(
                        FormattedTextControl(lambda: [("class:footer", self.footer())]), height=1
                    ),
                    ~has_completions,
                ),
            ]
        )
        app = Application[None](
            Layout(body, focused_element=composer),
            style=STYLE,
            erase_when_done=True,
            min_redraw_interval=0.02,
            output=Vt100_Output(
                sys.stdout,
                size_of_terminal,
                term=os.environ.get("TERM"),
                default_color_depth=ColorDepth.from_env() or ColorDepth.DEPTH_8_BIT,
                # Terminals that do not say where their cursor is would show a warning.
                enable_cpr=False,
            ),
        )
        app.timeoutlen = app.ttimeoutlen = _ESCAPE_S
        return app

    def _hint(self) -> str:
        return self.empty if self._ask is None else self._ask.hint

    @property
    def _has_just_come(self) -> bool:
        """Say whether what is asked came a moment ago."""
        return time.monotonic() - self._asked_s < _ALONE_S

    @property
    def _may_answer(self) -> bool:
        return self._ask is not None and self._takes_answer and not self._buffer.text

    @property
    def _is_selected(self) -> bool:
        """Say whether a completion is chosen in the menu."""
        state = self._buffer.complete_state
        return state is not None and state.current_completion is not None

    @property
    def _can_wait(self) -> bool:
        is_answer = self._ask is not None and self._takes_answer
        has_text = bool(self._buffer.text) and not self._buffer.complete_state
        return self.is_busy() and has_text and not is_answer

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        bind: list[tuple[tuple[str, ...], Callable[[], None], Callable[[], bool] | None]] = [
            (("enter",), self._entered, None),
            (("tab",), self._tabbed, None),
            (("s-tab",), self._tabbed_back, None),
            (("up",), partial(self._choose, -1), lambda: self._may_answer),
            (("down",), partial(self._choose, 1), lambda: self._may_answer),
            (("escape", "enter"), partial(self._buffer.insert_text, "\n"), None),
            (("c-j",), partial(self._buffer.insert_text, "\n"), None),
            (("escape",), self._interrupted, self._can_interrupt),
            # An Alt key, or a sequence of the terminal's that nobody knows.
            (("escape", "<any>"), lambda: None, self._can_interrupt),
            (("c-c",), self._stopped, None),
            (("<sigint>",), self._stopped, None),
            (("c-d",), self.leave, lambda: not self._buffer.text),
            (("c-v",), lambda: self.doing.paste_image(), None),
            (("c-l",), lambda: self._app.renderer.clear(), None),
            (("c-z",), lambda: self._app.suspend_to_background(), None),
        ]
        for names, act, holds in bind:
            keys.add(*names, filter=Condition(holds) if holds else True)(_acting(act))
        keys.add("<any>", filter=Condition(lambda: self._may_answer))(self._answered)
        return keys

    def _choose(self, step: int) -> None:
        """Go so many keys on, of those that answer, and of none."""
        if self._has_just_come:
            # Pressed before the user can have read it, as for an earlier prompt.
            return
        letters = ["", *self._ask.keys] if self._ask else [""]
        at = letters.index(self._chosen) + step
        self._chosen = letters[at % len(letters)]

    def _answered(self, event: KeyPressEvent) -> None:
        ask, letter = self._ask, event.data
        if ask is None or not letter.isprintable():
            return
        self._buffer.insert_text(letter)
        if letter in ask.keys and letter not in ask.with_enter:
            asyncio.get_running_loop().call_later(_ALONE_S, self._decided, ask, letter)

    def _decided(self, ask: Ask, letter: str) -> None:
        """Take a letter as an answer, unless it became the beginning of words."""
        if self._ask is ask and self._buffer.text == letter:
            self._sent(waits=False)

    def _entered(self) -> None:
        if self._is_selected:
            self._buffer.complete_state = None
        elif self._buffer.document.char_before_cursor == "\\":
            self._buffer.delete_before_cursor()
            self._buffer.insert_text("\n")
        else:
            self._sent(waits=False)

    def _tabbed(self) -> None:
        if self._can_wait:
            self._sent(waits=True)
        elif self._buffer.complete_state is not None:
            self._buffer.complete_next()
        else:
            self._buffer.start_completion(select_first=True)

    def _tabbed_back(self) -> None:
        if self._buffer.complete_state is not None:
            self._buffer.complete_previous()
        else:
            self.doing.next_mode()


def _acting(act: Callable[[], None]) -> Callable[[KeyPressEvent], None]:
    return lambda _event: act()
