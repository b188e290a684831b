"""A user in front of Emacs in a terminal, set up as the documentation prints it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tests.editors.talk import Act
from tests.editors.terminal import DOCS, Terminal, TerminalError

_KEYS: Mapping[Act, str] = {
    "ask": "r",
    "allow": "y",
    "keep": "k",
    "undo": "u",
    "stop": "s",
    "resume": "g",
    "converse": "c",
}
_QUIET = """\
(setq inhibit-startup-screen t make-backup-files nil auto-save-default nil create-lockfiles nil
      native-comp-deferred-compilation nil warning-minimum-level :error)
"""


def find_emacs(version: int, places: Path) -> Path | None:
    """Where Emacs is: 28 the system's, 30 the installer's."""
    found = Path("/usr/bin/emacs") if version == 28 else places / f"emacs-{version}" / "emacs"
    return found if found.exists() else None


class Emacs(Terminal):
    """Emacs with eglot or with lsp-mode."""

    def configure(self, config: Path) -> None:
        (config / "emacs").mkdir(parents=True)
        client = "agent-ls-lsp-mode.el" if "lsp-mode" in self.name else "agent-ls-eglot.el"
        printed = [(DOCS / name).read_text() for name in (client, "agent-ls.el")]
        lexical = ";; -*- lexical-binding: t -*-\n"
        (config / "emacs" / "init.el").write_text("".join([lexical, _QUIET, *printed]))

    def arguments(self) -> Sequence[str]:
        return ("-nw",)

    def to_rest(self) -> None:
        self.press("C-g")

    def quit(self) -> None:
        self.wait_until(self._quits, "Emacs to end")

    def _quits(self) -> bool:
        """Ask it to end; a ``C-g`` that is still at work can swallow the keys."""
        with suppress(TerminalError):
            self.press("C-x", "C-c")
        return self.within(self._has_ended)

    def _has_ended(self) -> bool:
        """Answer what it asks about unsaved text; say whether it is gone."""
        try:
            screen = self.screen()
            if "(yes or no)" in screen:
                self.say("yes")
                self.press("Enter")
            elif "(y, n," in screen:
                self.press("q")
        except TerminalError:
            return True
        return False

    def save(self) -> None:
        self.press("C-x", "C-s")

    def go_to(self, line: int, column: int = 0) -> None:
        self.to_rest()
        self.wait_until(self._asks_for_line, "the question for a line")
        self.say(f"{line + 1}")
        self.press("Enter", *["Right"] * column)

    def _asks_for_line(self) -> bool:
        self.press("M-g", "g")
        return self.within(lambda: "Goto line" in self.screen())

    def act(self, act: Act) -> None:
        self.until_commanded(lambda: self.press("C-c", "a", _KEYS[act]), act)

    def look(self) -> None:
        self.press("C-c", "a", "d")

    def resume(self) -> None:
        self.wait_until(lambda: "cut off in" in self.told(), "the message")
        self.act("resume")

    def converse(self) -> None:
        self.act("converse")
        self.wait_until(self._shows_conversation, "the conversation")

    def _shows_conversation(self) -> bool:
        """Emacs 28 with eglot sometimes shows right after its start nothing until the next key."""
        if self.within(lambda: "Write here" in self.screen()):
            return True
        self.press("C-l")
        return False

    def send(self, words: str) -> None:
        self.press("M->")
        self.say(words)
        self.wait_for_screen(words)
        self.until_commanded(lambda: self.press("C-c", "C-c"), "send")
