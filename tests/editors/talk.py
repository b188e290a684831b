"""What a real editor and its server said to each other, as `lsp_tap.py` wrote it down."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal


class Talk:
    """The messages in one log, so far."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def messages(self) -> Iterator[dict[str, Any]]:
        """All messages so far, each with ``from``."""
        if not self._log.exists():
            return
        for line in self._log.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                yield json.loads(line)

    def said(self, who: str, method: str) -> list[dict[str, Any]]:
        """The parameters of what the editor or the server said by a method."""
        return [
            one["message"].get("params") or {}
            for one in self.messages()
            if one["from"] == who and one["message"].get("method") == method
        ]

    def answered(self, method: str) -> list[Any]:
        """The results of what the editor asked."""
        asked = {
            one["message"].get("id")
            for one in self.messages()
            if one["from"] == "editor" and one["message"].get("method") == method
        }
        return [
            one["message"]["result"]
            for one in self.messages()
            if one["from"] == "server"
            and one["message"].get("id") in asked
            and "result" in one["message"]
        ]

    def told(self) -> str:
        """All messages that the server had for the user."""
        return "\n".join(one["message"] for one in self.said("server", "window/showMessage"))

    def hints(self) -> list[str]:
        """The hints of open changes published last, as ``line: message`` from 0."""
        return [
            f"{one['range']['start']['line']}: {one['message']}"
            for one in self._published()
            if one.get("code") == "agent-change"
        ]

    def problems(self) -> str:
        """The messages of all diagnostics published last."""
        return "\n".join(one["message"] for one in self._published())

    def _published(self) -> list[dict[str, Any]]:
        told = self.said("server", "textDocument/publishDiagnostics")
        return told[-1]["diagnostics"] if told else []


Act = Literal["ask", "allow", "reject", "keep", "undo", "stop", "resume", "converse", "send"]
"""What a code action does for the user, whatever its title."""

_COMMANDS: Mapping[Act, str] = {
    "ask": "agent-ls.prompt",
    "allow": "agent-ls.approval.resolve",
    "reject": "agent-ls.approval.resolve",
    "keep": "agent-ls.review.keep",
    "undo": "agent-ls.review.undo",
    "stop": "agent-ls.stop",
    "resume": "agent-ls.session.resume",
    "converse": "agent-ls.conversation",
    "send": "agent-ls.conversation.send",
}
_ARGUMENTS: Mapping[Act, Mapping[str, str]] = {
    "allow": {"choice": "allow_once"},
    "reject": {"choice": "reject_once"},
}


def is_act(action: Mapping[str, Any], act: Act) -> bool:
    """Say whether a code action does this; a rejection is one with words."""
    command: dict[str, Any] = action.get("command") or {}
    if command.get("command") != _COMMANDS[act]:
        return False
    given: Any = (command.get("arguments") or [None])[0]
    if act not in _ARGUMENTS:
        return True
    has_note = bool(given.get("note"))
    return _ARGUMENTS[act].items() <= given.items() and has_note is (act == "reject")
