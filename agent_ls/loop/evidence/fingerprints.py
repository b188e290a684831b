"""What makes two calls, or two errors, the same again. Pure, but for counting a view's events.

Shared by what nudges a model that repeats itself and what refuses to go along with it.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from agent_ls.domain import events as e
from agent_ls.domain.calls import Effect, ErrorKind, ToolCall
from agent_ls.domain.plain_json import object_in, plain_json
from agent_ls.loop.evidence.news import ReadVersions, is_news
from agent_ls.loop.evidence.retries import is_transient
from agent_ls.loop.state.spelling import in_one_spelling
from agent_ls.loop.state.view import TurnView

_SECONDARY = frozenset(
    {
        "description",
        "explanation",
        "output_method",
        "output_path",
        "reason",
        "reasoning",
        "timeout",
        "timeout_ms",
        "timeout_s",
    }
)
"""Arguments that say why, how long or where to: not what is done."""
_SHOWS_A_FILE = re.compile(
    r"(?:cat|head|tail)(?: -n? ?\d+)? ([^\s|<>;&$`*?'\"-][^\s|<>;&$`*?'\"]*)"
)


def call_fingerprint(tool: str, arguments_json: str) -> str:
    """Return what is equal for calls that do the same, however they are written.

    A plain ``cat``, ``head`` or ``tail`` of one file is a read of that file.
    """
    try:
        data: object = plain_json(arguments_json or "{}")
    except ValueError:
        return f"{tool} {' '.join(arguments_json.split())}"
    if not isinstance(data, dict):
        return f"{tool} {arguments_json.strip()}"
    given = _primary(cast("Mapping[str, Any]", data))
    command = given.get("command")
    if isinstance(command, str) and (shown := _SHOWS_A_FILE.fullmatch(command)):
        return _written("read_file", {"path": posixpath.normpath(shown[1])})
    return _written(tool, given)


def _written(tool: str, given: Mapping[str, Any]) -> str:
    return f"{tool} {json.dumps(given, sort_keys=True, ensure_ascii=False)}"


def _primary(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that say what is done, each in one spelling."""
    found = in_one_spelling({name: data[name] for name in data if name not in _SECONDARY})
    if isinstance(command := found.get("command"), str):
        found["command"] = " ".join(command.split())
    return found


def calls_in_vain(view: TurnView) -> tuple[tuple[str, str], ...]:
    """Return id and fingerprint of the calls since anything could have changed their results.

    Shape: oldest first. A change is news (``news.py``), a command that was not run before, another
    version of a file that was read, or an error that passes by itself.
    """
    return tuple(view.turn.events.tallied(_Trail).calls)


class _Trail:
    """The calls so far, seen event by event."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self._prints: dict[str, str] = {}
        self._commands: set[str] = set()
        self._read = ReadVersions()

    def see(self, event: e.Event) -> None:
        if is_news(event):
            self._forget()
        match event:
            case e.Answered(message=message):
                for call in message.calls:
                    self._prints[call.id] = call_fingerprint(call.tool, call.arguments_json)
                    self.calls.append((call.id, self._prints[call.id]))
            case e.ToolCallFinished():
                self._finished(event)
            case _:
                pass

    def _finished(self, event: e.ToolCallFinished) -> None:
        result = event.result
        mark = self._prints.get(result.call_id, "")
        is_command = event.effect in (Effect.EXECUTE, Effect.DELEGATE)
        if is_transient(result):
            self._forget()
        elif is_command and mark not in self._commands:
            self._commands.add(mark)
            self._forget(but=result.call_id)
        elif self._read.is_newer(result):
            self._forget(but=result.call_id)

    def _forget(self, but: str = "") -> None:
        """Begin anew; a call whose own result is the news is the first of the new ones."""
        self.calls = [one for one in self.calls if one[0] == but]


def shown_call(call: ToolCall) -> str:
    """Return the call as a model recognises it, in one short line."""
    line = " ".join(f"{call.tool}({call.arguments_json})".split())
    return line if len(line) <= _MAX_SHOWN_CHARS else f"{line[:_MAX_SHOWN_CHARS]}…)"


_MAX_SHOWN_CHARS = 160

UNKNOWN_TOOL = "unknown tool"
"""The signature of a call to a tool that there is not."""
_CLASSES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(words, re.IGNORECASE))
    for name, words in (
        (UNKNOWN_TOOL, r"there is no tool|unknown (?:tool|operation)|no such tool"),
        (
            "permission",
            r"permission denied|not permitted|access (?:is )?denied|\bEACCES\b|\bEPERM\b|"
            r"forbidden|unauthori[sz]ed",
        ),
        (
            "connection",
            r"connection (?:refused|reset|aborted|closed|error|lost)|could not resolve|"
            r"network is unreachable|no route to host|\bECONN\w+|\bENOTFOUND\b",
        ),
        ("timeout", r"timed? ?out|deadline exceeded|\bETIMEDOUT\b"),
        (
            "path",
            r"no such file|does not exist|not found|there is no (?:file|folder)|outside|"
            r"\bENOENT\b|has no file|is a (?:folder|directory)",
        ),
    )
)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|“[^”]*”|`[^`]*`")
_NUMBER = re.compile(r"\d+")
_MAX_ERROR_CHARS = 200


def error_signature(tool: str, error: ErrorKind, text: str, paths: Sequence[str] = ()) -> str:
    """Return what is equal for the same error about the same paths, whatever number it names.

    Unknown tool, path, permission, connection and timeout are classes of their own. ``paths`` are
    those of the call; an error in other words is about them only where it names them.
    """
    if error is ErrorKind.DENIED:
        return f"permission: {tool}"
    line = text.strip().partition("\n")[0]
    found = (name for name, words in _CLASSES if words.search(line))
    kind = "timeout" if error is ErrorKind.TIMEOUT else next(found, "")
    if kind == UNKNOWN_TOOL:
        return kind
    if kind:
        return " ".join((kind, *paths))
    plain = " ".join(_NUMBER.sub("0", _QUOTED.sub("'…'", line)).lower().split())
    named = [path for path in paths if posixpath.basename(path) in line]
    return " ".join((f"{tool} {error}: {plain[:_MAX_ERROR_CHARS]}", *named))


def paths_in(arguments_json: str) -> tuple[str, ...]:
    """Return the paths that a call names, each in one spelling."""
    given = in_one_spelling(object_in(arguments_json))
    return tuple(
        value for name, value in given.items() if name.endswith("path") and isinstance(value, str)
    )


def calls_of(messages: Iterable[e.Answered]) -> Mapping[str, ToolCall]:
    """Return the calls of these answers, by id."""
    return {call.id: call for answer in messages for call in answer.message.calls}
