"""Decides whether two calls, or two errors, are the same.

Shared by the policies that nudge a model that repeats itself and those that refuse repeats.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from agent_ls.domain import events as e
from agent_ls.domain.calls import Effect, ErrorKind, ToolCall, is_server_tool
from agent_ls.domain.failure_kinds import FailureKind, failure_kind
from agent_ls.domain.plain_json import parse_arguments, plain_json
from agent_ls.loop.evidence.progress_signals import ReadVersions, is_news, is_transient
from agent_ls.loop.state.spelling import in_one_spelling
from agent_ls.loop.state.view import TurnView

_SECONDARY = frozenset(
    {"description", "explanation", "output_method", "output_path", "reason", "reasoning"}
)
"""Arguments that explain a call or name its output path; they do not change what it does."""
_BY_KIND = frozenset({FailureKind.PERMISSION, FailureKind.NETWORK, FailureKind.TIMEOUT})
"""Errors of these kinds are the same whatever their wording."""
_UNKNOWN_TOOL = re.compile(r"there is no tool|unknown (?:tool|operation)|no such tool", re.I)
UNKNOWN_TOOL = "unknown tool"
"""Signature of a call to a tool that does not exist."""
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|“[^”]*”|`[^`]*`")
_NUMBER = re.compile(r"\d+")
_MAX_ERROR_CHARS = 200
_MAX_SHOWN_CHARS = 160


def fingerprint(tool: str, arguments_json: str) -> str:
    """Return a text that is equal for calls that do the same, however they are spelled."""
    try:
        data: object = plain_json(arguments_json or "{}")
    except ValueError:
        return f"{tool} {' '.join(arguments_json.split())}"
    # What a tool server's arguments mean only the server knows.
    if isinstance(data, dict) and not is_server_tool(tool):
        given = cast("dict[str, object]", data)
        data = in_one_spelling({name: given[name] for name in given if name not in _SECONDARY})
        if isinstance(command := data.get("command"), str):
            data["command"] = " ".join(command.split())
    return f"{tool} {json.dumps(data, sort_keys=True, ensure_ascii=False)}"


def calls_in_vain(view: TurnView) -> tuple[tuple[str, str], ...]:
    """Return (id, fingerprint) of the calls since their results could last have changed.

    Shape: oldest first. Results can change after news (``progress_signals.py``), a command not run
    before, another version of a file that was read, or a transient error.
    """
    return tuple(view.turn.events.tallied(_Trail).calls)


class _Trail:
    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self._prints: dict[str, str] = {}
        self._commands: set[str] = set()
        self._read = ReadVersions()

    def see(self, event: e.Event) -> None:
        if is_news(event):
            self.calls = []
        match event:
            case e.Answered(message=message):
                made = [
                    (one.id, fingerprint(one.tool, one.arguments_json)) for one in message.calls
                ]
                self._prints.update(made)
                self.calls += made
            case e.ToolCallFinished():
                self._finished(event)
            case _:
                pass

    def _finished(self, event: e.ToolCallFinished) -> None:
        call_id = event.result.call_id
        mark = self._prints.get(call_id, "")
        is_command = event.effect in (Effect.EXECUTE, Effect.DELEGATE)
        if is_transient(event.result):
            self.calls = []
        elif (is_command and mark not in self._commands) or self._read.is_newer(event.result):
            # The call that brought the change is the first of the new calls.
            self.calls = [one for one in self.calls if one[0] == call_id]
        if is_command:
            self._commands.add(mark)


def shown_call(call: ToolCall) -> str:
    """Return the call as one short line that the model recognises."""
    line = " ".join(f"{call.tool}({call.arguments_json})".split())
    return line if len(line) <= _MAX_SHOWN_CHARS else f"{line[:_MAX_SHOWN_CHARS]}…)"


def error_signature(tool: str, error: ErrorKind, text: str, paths: Sequence[str] = ()) -> str:
    """Return a text that is equal for the same error about the same paths; numbers are ignored.

    ``paths`` are the call's paths. An error compared by its wording counts only the paths it names.
    """
    if error is ErrorKind.DENIED:
        return f"permission: {tool}"
    line = text.strip().partition("\n")[0]
    if _UNKNOWN_TOOL.search(line):
        return UNKNOWN_TOOL
    kind = failure_kind(error, line)
    named = [path for path in paths if posixpath.basename(path) in line]
    if kind in _BY_KIND or (kind is FailureKind.NOT_FOUND and named):
        return " ".join((kind, *paths))
    if kind is FailureKind.NOT_FOUND:
        return " ".join((f"{kind}: {tool}", *paths))
    plain = " ".join(_NUMBER.sub("0", _QUOTED.sub("'…'", line)).lower().split())
    return " ".join((f"{tool} {error}: {plain[:_MAX_ERROR_CHARS]}", *named))


def paths_in(arguments_json: str) -> tuple[str, ...]:
    """Return the paths that a call names, normalised."""
    given = in_one_spelling(parse_arguments(arguments_json))
    return tuple(
        value for name, value in given.items() if name.endswith("path") and isinstance(value, str)
    )


def calls_of(messages: Iterable[e.Answered]) -> Mapping[str, ToolCall]:
    """Return the calls of these answers, by id."""
    return {call.id: call for answer in messages for call in answer.message.calls}
