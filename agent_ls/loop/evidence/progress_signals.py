"""Decides what may change the result of a repeated call; shared by policies that count repeats."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent_ls.domain import events as e
from agent_ls.domain.calls import Effect, ErrorKind, ToolResult

_COUNTS = ("hits", "files", "found", "entries", "symbols", "lines", "chars")
"""Keys under which reading tools report how much they found."""


def is_news(event: e.Event) -> bool:
    """Say whether an event may change what calls return: a file, the mode, the user's words."""
    match event:
        case e.EditApplied() | e.ReviewApplied():
            return event.status == "applied"
        case e.ModeChanged():
            return True
        case e.PromptQueued() | e.QueuedPromptChanged():
            return event.kind == "steer"
        case e.QuestionResolved():
            return event.answer.is_answered
        case e.ApprovalResolved():
            is_said = bool(event.answer.note or event.answer.arguments_json)
            return is_said and event.answer.by != "nobody"
        case _:
            return False


_TRANSIENT = re.compile(
    r"connection (reset|refused|aborted|closed|lost)|temporar(y|ily)|timed? ?out|try again"
    r"|too many requests|rate.?limit|service unavailable|bad gateway|resource busy"
    r"|database is locked|network is unreachable",
    re.IGNORECASE,
)


def is_transient(result: ToolResult) -> bool:
    """Say whether the same call may succeed a little later."""
    if result.error is ErrorKind.TIMEOUT:
        return True
    return result.error is ErrorKind.RUNTIME and _TRANSIENT.search(result.text) is not None


class ReadVersions:
    """The last read version of each file."""

    def __init__(self) -> None:
        self._versions: dict[str, str] = {}

    def is_newer(self, result: ToolResult) -> bool:
        """Record a result; say whether it read another version of a file than the last read."""
        match result.data:
            case {"path": str(path), "version": str(version)} if result.error is None:
                before = self._versions.get(path)
                self._versions[path] = version
                return before not in (None, version)
            case _:
                return False


class Known:
    """What results have brought so far: lines of files and hits, and commands that passed."""

    def __init__(self) -> None:
        self._known: set[int] = set()

    def is_new(self, event: e.ToolCallFinished, mark: str) -> bool:
        """Record a result; say whether it brought anything that no earlier result had.

        ``mark`` is equal for equal calls.
        """
        before = len(self._known)
        self._known.update(map(hash, _brought(event, mark)))
        return len(self._known) > before


def _brought(event: e.ToolCallFinished, mark: str) -> Iterator[str]:
    if event.result.error is not None:
        return
    match event.result.data:
        case {"path": str(path), "version": str(version)}:
            yield f"{path} {version}"
            # Reading another part of a long file is new too.
            yield from (f"{path}: {line}" for line in event.result.text.splitlines())
        case {"exit_code": 0} if event.effect is Effect.EXECUTE:
            yield f"passed {mark}"
        case {"exit_code": _} if event.effect is Effect.EXECUTE:
            return
        case _ if event.effect is Effect.DELEGATE:
            yield f"reported {mark}"
        case _ if event.effect is Effect.EXECUTE:
            # A tool server's call: it may have changed what nobody here sees.
            yield f"answered {mark}: {event.result.text}"
        case {**facts} if event.effect is Effect.READ and any(map(facts.get, _COUNTS)):
            yield from event.result.text.splitlines()
        case _:
            return
