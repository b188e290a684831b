"""A user in front of Neovim, with the configuration that the documentation prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.editors.talk import Act
from tests.editors.terminal import DOCS, Terminal

_KEYS: Mapping[Act, str] = {
    "ask": "r",
    "allow": "y",
    "keep": "k",
    "undo": "u",
    "stop": "s",
    "converse": "c",
    "resume": "g",
}


class NeovimTerminal(Terminal):
    """Neovim 0.7 or 0.11; the leader is the space."""

    def configure(self, config: Path) -> None:
        name = f"{self.name}.lua"
        (config / "nvim").mkdir(parents=True)
        leader = "vim.g.mapleader = ' '\n"
        (config / "nvim" / "init.lua").write_text(leader + (DOCS / name).read_text())

    def arguments(self) -> Sequence[str]:
        return ("-n", "--cmd", "let g:loaded_python3_provider = 0")

    def to_rest(self) -> None:
        self.press("Escape")

    def quit(self) -> None:
        self.say(":qa!")
        self.press("Enter")

    def save(self) -> None:
        self.say(":w")
        self.press("Enter")

    def go_to(self, line: int, column: int = 0) -> None:
        self.press("Escape")
        self.say(f"{line + 1}G")
        self.press(*["Right"] * column)

    def act(self, act: Act) -> None:
        self.to_rest()
        self.keys -= 1
        self.until_commanded(lambda: self.press("Space", "a", _KEYS[act]), act)

    def look(self) -> None:
        self.press("Space", "a", "d")

    def resume(self) -> None:
        self.wait_for_screen("cut off in")
        self.act("resume")

    def converse(self) -> None:
        self.act("converse")
        self.wait_for_screen("Write here")

    def send(self, words: str) -> None:
        self.press("G", "A")
        self.say(words)
        self.wait_for_screen(words)
        self.until_commanded(lambda: self.press("C-s"), "send")
