"""A user in front of Kate, with the settings that the documentation prints.

Kate shows itself as pixels: what stands in it is what it told the server that it holds, and what
the server told it to show.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.editors.kate import Kate, KateError
from tests.editors.pictures import place_of
from tests.editors.rfb import differing
from tests.editors.talk import Act, is_act
from tests.editors.terminal import DOCS

_DIALOG_PIXELS = 50_000


class KateUser(Kate):
    """One running Kate. `keys` counts what the user has pressed, but not the words they wrote."""

    def __init__(self, name: str, binary: Path, file: Path, variables: Mapping[str, str]) -> None:
        del binary
        self.name, self.keys = name, 0
        self._did: list[str] = []
        super().__init__(file, json.loads((DOCS / "kate.json").read_text()), variables)

    def __str__(self) -> str:
        """What was done until now, for a count of keys that differs."""
        return "; ".join(self._did)

    def leave(self) -> None:
        """Quit as a user quits. Errors: KateError when something outlives Kate."""
        if leftovers := self.quit():
            raise KateError("still running after Kate had quit:\n" + "\n".join(leftovers))
        self._let_go()

    def quit(self) -> list[str]:
        """Save, so that Kate does not ask, and quit; answer what was still running."""
        with suppress(ConnectionError):
            self.screen.press("Control+s")
        return super().quit()

    # Eyes

    def texts(self) -> dict[str, str]:
        """The texts of the documents that Kate has open, by their URIs."""
        texts: dict[str, str] = {}
        for one in self.messages():
            document = (one["message"].get("params") or {}).get("textDocument") or {}
            match one["from"], one["message"].get("method"):
                case "editor", "textDocument/didOpen":
                    texts[document["uri"]] = document["text"]
                case "editor", "textDocument/didChange":
                    for change in one["message"]["params"]["contentChanges"]:
                        texts[document["uri"]] = _changed(texts[document["uri"]], change)
                case "editor", "textDocument/didClose":
                    texts.pop(document["uri"], None)
                case _:
                    continue
        return texts

    def shown(self) -> str:
        """The open documents, all messages, and the diagnostics published last of each."""
        found = {
            told["uri"]: [one["message"] for one in told["diagnostics"]]
            for told in self.said("server", "textDocument/publishDiagnostics")
        }
        messages = [one for several in found.values() for one in several]
        return "\n".join([*self.texts().values(), self.told(), *messages])

    def wait_for_screen(self, *words: str) -> None:
        """Wait until Kate holds or was told all of these; an edit that waits is applied."""
        self.wait_until(lambda: self._shows(words), f"{words} shown")

    def _shows(self, words: tuple[str, ...]) -> bool:
        if self._edit_waits():
            # Not counted: on a fast machine the edit comes in the moment in which Kate takes it.
            self.choose(_applies, "the edit that waits")
        elif any(one.endswith(".agent-ls.md") for one in self.texts()):
            self.screen.press("F5")
        return all(one in self.shown() for one in words)

    def _edit_waits(self) -> bool:
        told = self.said("server", "textDocument/publishDiagnostics")[-1:]
        return any(one.get("code") == "edit" for all in told for one in all["diagnostics"])

    def conversation(self) -> str:
        """What the file of the session's conversation holds."""
        return "\n".join(one.read_text("utf-8") for one in self._conversations())

    def _conversations(self) -> list[Path]:
        return sorted((self.home / "state" / "agent-ls").glob("*.agent-ls.md"))

    def look(self) -> None:
        """Open the tab of diagnostics, from the menu of the LSP client."""
        for key in ("Alt+l", "d"):
            before = self.screen.look()
            self.screen.press(key)
            self.wait_until(
                lambda before=before: differing(before, self.screen.look()) > _DIALOG_PIXELS,
                f"what {key} opens",
            )

    def take_picture(self) -> None:
        """Write the screen for the documentation, if that is asked for."""
        if place := place_of(self.name):
            self.screen.shot(place)

    # Hands

    def go_to(self, line: int, column: int = 0) -> None:
        """Put the caret on a character; both count from 0."""
        for key in ["Control+Home", *["Down"] * line, *["Right"] * column]:
            self.screen.press(key)
            self.keys += 1
        self._did.append(f"to line {line}")

    def act(self, act: Act) -> None:
        """Do what this code action does, from the menu; keep all changes one after the other."""
        if act == "keep":
            # While the turn runs the menu begins with the way to stop it.
            self.wait_for_progress("end")
        before, count = len(self.hints()), len(self._commands())
        pressed = self.choose(
            lambda one: is_act(one, act), act, or_else=lambda one: _has_behind(one, act)
        )
        self.keys += pressed
        titles = [one["title"] for one in self.answered("textDocument/codeAction")[-1]]
        self._did.append(f"{act} by {pressed} keys from {titles}")
        [command] = self.wait_until(lambda: self._commands()[count:], f"the command to {act}")
        if _has_behind({"command": command}, act):
            self.keys += self.choose(lambda one: is_act(one, act), act)
        if act == "keep":
            self.wait_until(lambda: len(self.hints()) < before, "the change kept")
            for hint in self.hints()[:1]:
                self.go_to(int(hint.partition(":")[0]))
                self.act("keep")

    def _commands(self) -> list[dict[str, Any]]:
        return self.said("editor", "workspace/executeCommand")

    def converse(self) -> None:
        """Open the conversation's file, which Kate cannot be shown."""
        self.act("converse")
        self.wait_until(lambda: "The conversation: " in self.told(), "where it is")
        self.wait_until(self._has_opened, "the conversation in Kate")

    def _has_opened(self) -> bool:
        [place] = self._conversations()
        plain = self.screen.look()
        self.screen.press("Control+o")
        if self.within(lambda: differing(plain, self.screen.look()) > _DIALOG_PIXELS):
            self.screen.type(str(place))
            self.screen.press("Return")
        if self.within(lambda: place.as_uri() in self.texts()):
            return True
        self.screen.press("Escape")
        return False

    def send(self, words: str) -> None:
        """Kate cannot: see `LIMITS`."""
        raise AssertionError(f"no story asks Kate by conversation: {words}")

    def reject(self, words: str) -> None:
        """Answer the approval that waits with these words, written as a comment."""
        self.screen.press("Control+Home")
        self.screen.type(f"# agent: {words}")
        self.screen.press("Return")
        self.screen.press("Up")
        self.act("reject")

    def resume(self) -> None:
        """Go on with the turn that was cut off."""
        self.wait_until(lambda: "agent-ls.session.resume" in self.told(), "the offer")
        self.act("resume")


def _applies(action: Mapping[str, Any]) -> bool:
    return (action.get("command") or {}).get("command") == "agent-ls.edit.apply"


def _has_behind(action: Mapping[str, Any], act: Act) -> bool:
    """Say whether this is *More…* with such an action."""
    command = action.get("command") or {}
    if command.get("command") != "agent-ls.more":
        return False
    return any(is_act({"command": one}, act) for one in command["arguments"][0]["choices"])


def _changed(text: str, change: Mapping[str, Any]) -> str:
    """Return the text after one change of a didChange; of characters that are one unit each."""
    if "range" not in change:
        return change["text"]
    lines = text.splitlines(keepends=True)
    start, end = (
        len("".join(lines[: place["line"]])) + place["character"]
        for place in (change["range"]["start"], change["range"]["end"])
    )
    return text[:start] + change["text"] + text[end:]
