"""What a user does with the agent, each ability as one story over any editor's driver."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from tests.editors.scripted import ServedModel
from tests.editors.talk import Act

_TEXT = '"""Prices."""\n\n# agent: set the tax\nTAX = 0.07\nFEE = 1\nLAST = 2\n'
_COMMENT = 2
EDIT = r"""
[[answer]]
[[answer.call]]
tool = "edit_file"
[answer.call.arguments]
path = "shop.py"
edits = [
  { old_string = "# agent: set the tax\nTAX = 0.07", new_string = "TAX = 0.19" },
  { old_string = "LAST = 2", new_string = "LAST = 3" },
]
"""
_ANSWER = """
[[answer]]
text = '''
The tax is 19 % now.

- Check the *last* price, too.
'''
"""
_REJECTED = (
    EDIT
    + """
[[answer]]
expect = { last_contains = ["as a string"] }
text = "Then not."
"""
)
_FAULT = r"""
[[answer]]
[[answer.call]]
tool = "edit_file"
[answer.call.arguments]
path = "shop.py"
edits = [{ old_string = "# agent: set the tax\nTAX = 0.07", new_string = "TAX = Decimal(1)" }]

[[answer]]
repeat = 0
text = "Done, but something is left."
"""
HANGS = """
[[answer]]
hang = "before"
"""
_EDITED = '"""Prices."""\n\nTAX = 0.19\nFEE = 1\nLAST = 3\n'


class User(Protocol):
    """Somebody in front of an editor with one file; see `terminal.py` for what each does."""

    name: str
    file: Path
    keys: int

    def __enter__(self) -> Self: ...
    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None: ...
    def start(self) -> None: ...
    def leave(self) -> None: ...
    def go_to(self, line: int, column: int = 0) -> None: ...
    def act(self, act: Act) -> None: ...
    def converse(self) -> None: ...
    def send(self, words: str) -> None: ...
    def reject(self, words: str) -> None: ...
    def resume(self) -> None: ...
    def wait_until(self, condition: Callable[[], object], what: str) -> object: ...
    def wait_for_screen(self, *words: str) -> None: ...
    def look(self) -> None: ...
    def take_picture(self) -> None: ...
    def told(self) -> str: ...
    def hints(self) -> list[str]: ...
    def problems(self) -> str: ...
    def text(self) -> str: ...
    def conversation(self) -> str: ...


@dataclass(frozen=True)
class Story:
    """One ability: what the model says, and what the user does and sees."""

    play: Callable[[User, ServedModel], None]
    scenario: str
    mode: str = "ask"
    text: str = _TEXT


def _asked(model: ServedModel, words: str, count: int = 1) -> bool:
    requests = model.requests()
    return len(requests) >= count and words in json.dumps(requests[-1], ensure_ascii=False)


def _run_comment(editor: User, model: ServedModel) -> None:
    editor.go_to(_COMMENT)
    editor.act("ask")
    editor.wait_until(lambda: _asked(model, "set the tax"), "the request")


def _wait_for_approval(editor: User) -> None:
    editor.wait_for_screen("Edit shop.py")


def ask_by_comment(editor: User, model: ServedModel) -> None:
    _run_comment(editor, model)
    editor.wait_until(lambda: "19 % now." in editor.told(), "the word that it is done")


def ask_by_conversation(editor: User, model: ServedModel) -> None:
    editor.converse()
    editor.send("Say what you see")
    editor.wait_until(lambda: _asked(model, "Say what you see"), "the request")
    editor.wait_for_screen("# Say what you see", "The tax is 19 % now.")


def read_the_answer(editor: User, model: ServedModel) -> None:
    _run_comment(editor, model)
    editor.converse()
    editor.wait_for_screen("The tax is 19 % now.", "- Check the *last* price, too.")


def get_an_edit(editor: User, model: ServedModel) -> None:
    _run_comment(editor, model)
    editor.wait_for_screen("TAX = 0.19", "LAST = 3")
    assert editor.text() == _EDITED


def see_what_it_would_change(editor: User, model: ServedModel) -> None:
    _run_comment(editor, model)
    _wait_for_approval(editor)
    editor.look()
    editor.wait_for_screen("-TAX = 0.07", "+TAX = 0.19", "+LAST = 3")
    editor.take_picture()


def allow(editor: User, model: ServedModel) -> None:
    """From the wish, with the caret on it, to the kept change: the keys of it are counted."""
    editor.go_to(_COMMENT)
    editor.keys = 0
    editor.act("ask")
    _wait_for_approval(editor)
    assert "TAX = 0.07" in editor.file.read_text()
    editor.act("allow")
    editor.wait_for_screen("TAX = 0.19")
    editor.wait_until(lambda: len(editor.hints()) == 2, "the hints of the changes")
    editor.act("keep")
    editor.wait_until(lambda: not editor.hints(), "the changes are kept")
    assert editor.keys == KEYS[editor.name], f"{editor.keys} keys to the kept change: {editor}"
    assert editor.text() == _EDITED


def reject_with_words(editor: User, model: ServedModel) -> None:
    _run_comment(editor, model)
    _wait_for_approval(editor)
    editor.reject("as a string")
    editor.wait_for_screen("Then not.")


def see_a_finding(editor: User, model: ServedModel) -> None:
    _run_comment(editor, model)
    editor.wait_for_screen("Decimal(1)")
    # Some editors show what is at the cursor only when it moves there.
    editor.wait_until(lambda: "Undefined name" in editor.problems(), "the finding")
    editor.go_to(_COMMENT, column=len("TAX = D"))
    editor.look()
    editor.wait_for_screen("Undefined name")


def undo_a_hunk(editor: User, model: ServedModel) -> None:
    _run_comment(editor, model)
    editor.wait_for_screen("LAST = 3")
    editor.wait_until(lambda: len(editor.hints()) == 2, "the hints of the changes")
    editor.go_to(4)
    editor.act("undo")
    editor.wait_for_screen("LAST = 2")
    assert editor.text() == _EDITED.replace("LAST = 3", "LAST = 2")


def stop(editor: User, model: ServedModel) -> None:
    _run_comment(editor, model)
    editor.act("stop")
    editor.wait_until(lambda: "Stopped" in editor.conversation(), "the end of the turn")


def leave_and_resume(editor: User, model: ServedModel) -> None:
    _run_comment(editor, model)
    editor.leave()
    editor.start()
    editor.resume()
    editor.wait_until(lambda: _asked(model, "set the tax", 2), "the second request")
    editor.wait_until(lambda: "19 % now." in editor.told(), "the word that it is done")


STORIES: Mapping[str, Story] = {
    "asks by comment": Story(ask_by_comment, _ANSWER),
    "asks by conversation": Story(ask_by_conversation, _ANSWER),
    "reads the answer": Story(read_the_answer, _ANSWER),
    "gets an edit": Story(get_an_edit, EDIT + _ANSWER, "accept-edits"),
    "sees what it would change": Story(see_what_it_would_change, EDIT + _ANSWER),
    "allows": Story(allow, EDIT + _ANSWER),
    "rejects with words": Story(reject_with_words, _REJECTED),
    "sees a finding": Story(see_a_finding, _FAULT, "accept-edits"),
    "undoes a hunk": Story(undo_a_hunk, EDIT + _ANSWER, "accept-edits"),
    "stops": Story(stop, HANGS),
    "leaves in mid-turn and resumes": Story(leave_and_resume, HANGS + _ANSWER),
}


@dataclass(frozen=True)
class Editor:
    """An editor's names."""

    title: str


EDITORS: Mapping[str, Editor] = {
    "neovim-0.11": Editor("Neovim 0.11"),
    "neovim-0.7": Editor("Neovim 0.7"),
    "helix-25.07": Editor("Helix 25.07"),
    "helix-25.01": Editor("Helix 25.01"),
    "emacs-30-eglot": Editor("Emacs 30, eglot"),
    "emacs-28-eglot": Editor("Emacs 28, eglot"),
    "emacs-28-lsp-mode": Editor("Emacs 28, lsp-mode"),
    "vim-ale": Editor("Vim 9, ALE"),
    "kate": Editor("Kate 22.12"),
}

KEYS: Mapping[str, int] = {
    "neovim-0.11": 9,
    "neovim-0.7": 9,
    "helix-25.07": 9,
    "helix-25.01": 9,
    "emacs-30-eglot": 9,
    "emacs-28-eglot": 9,
    "emacs-28-lsp-mode": 9,
    "vim-ale": 9,
    "kate": 18,
}
"""From a written comment to the kept change: pressed keys, as counted by the drivers."""

LIMITS: Mapping[tuple[str, str], str] = {
    ("kate", "asks by conversation"): "Kate starts a server for each language and folder: the "
    "conversation can be read there, but words that are written in it reach no session. Ask, "
    "answer and reject by a comment.",
}
"""What a client itself cannot do: no test, but its reason on the page."""
