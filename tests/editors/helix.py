"""A user in front of Helix, with the configuration that the documentation prints."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.editors.talk import Act
from tests.editors.terminal import DOCS, Terminal, place_in

_KEYS: Mapping[Act, str] = {"keep": "k", "stop": "x", "converse": "c", "resume": "r"}


def find_helix(part: str, places: Path) -> Path | None:
    """Where this part of the installer has Helix, else the system's; None without it or tmux."""
    built = places / part / "hx"
    known = [str(built)] if built.exists() else [shutil.which("hx"), shutil.which("helix")]
    found = next((one for one in known if one), None)
    return Path(found) if found and shutil.which("tmux") else None


def _menu_order(action: Mapping[str, Any]) -> tuple[int, bool]:
    """Quick fixes, refactorings, source actions; among equals those about a diagnostic."""
    kinds = ("quickfix", "refactor", "source")
    return kinds.index(action["kind"].partition(".")[0]), not action.get("diagnostics")


class Helix(Terminal):
    """One running Helix."""

    def configure(self, config: Path) -> None:
        (config / "helix").mkdir(parents=True)
        for name in ("languages", "config"):
            shutil.copy(DOCS / f"helix-{name}.toml", config / "helix" / f"{name}.toml")

    def arguments(self) -> Sequence[str]:
        return ()

    def to_rest(self) -> None:
        self.press("Escape")
        self.wait_for_screen(" NOR ")

    def quit(self) -> None:
        self.say(":qa!")
        self.press("Enter")

    def save(self) -> None:
        self.say(":w")
        self.press("Enter")

    def go_to(self, line: int, column: int = 0) -> None:
        self.to_rest()
        self.press(*str(line + 1), "g", "g", *["Right"] * column)

    def act(self, act: Act) -> None:
        if act in _KEYS:
            self.until_commanded(lambda: self._pressed("i", _KEYS[act]), act)
        else:
            self.choose(act)

    def choose(self, act: Act) -> None:
        """Do what this code action does, by the menu."""
        self.until_commanded(lambda: self._chosen(act), act)

    def _pressed(self, *keys: str) -> bool:
        self.press("Space")
        self.within(lambda: "Space" in self.screen())
        self.press(*keys)
        return True

    def _chosen(self, act: Act) -> bool:
        """Choose from the menu, whose first action is selected."""
        offered = self.offered(lambda: self._pressed("a") and None)
        offered.sort(key=_menu_order)
        place = place_in(offered, act)
        if place is not None and self.within(lambda: offered[place]["title"][:40] in self.screen()):
            self.press(*["Down"] * place, "Enter")
            return True
        self.press("Escape")
        return False

    def look(self) -> None:
        """Helix shows it by itself."""

    def resume(self) -> None:
        self.wait_for_screen("agent-ls.session.resume")
        self.act("resume")

    def converse(self) -> None:
        self.act("converse")
        if "25.01" in self.name:
            self.wait_for_screen("The conversation: ~")
            self._pressed("i", "o")
            self.wait_for_screen(".agent-ls.md", "1/1")
            self.press("Enter")
            self.wait_for_screen("session: ses_")
            self.press("g", "e")
        self.wait_for_screen("Write here")

    def reject(self, words: str) -> None:
        if "25.01" in self.name:
            super().reject(words)
        else:
            self.tell("n", words)

    def tell(self, key: str, words: str) -> None:
        """Press a key that asks for words, write them and send them."""
        self._pressed("i", key)
        self.wait_for_screen(":lsp-workspace-command")
        self.say(words)
        self.press("Enter")

    def send(self, words: str) -> None:
        self.press("A")
        # Not key by key: keys that follow each other as closely as a program's would show nothing
        # of the user, but that Helix 25.01 mixes their changes.
        self.paste(words)
        self.wait_for_screen(words)
        self.until_commanded(lambda: self.press("C-s"), "send")
