"""Describes a turn's work as text for another model that judges it.

The text comes from models and files: the sender must mark it as data.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial

from agent_ls.domain.errors import StoreError, WorkspaceError
from agent_ls.domain.events import ToolCallFinished, ToolCallStarted
from agent_ls.domain.plain_json import parse_arguments
from agent_ls.loop.off_loop import off_loop
from agent_ls.loop.ports.store import Blobs
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.view import TurnView

_MAX_TASK_CHARS = 4_000
_MAX_ANSWER_CHARS = 4_000
_MAX_DIFF_CHARS = 12_000
_MAX_DIFFED_BYTES = 1_000_000
_MAX_COMMANDS = 10


Diff = Callable[[str, str, str], str]
"""Returns the diff of two texts of a path, to be read."""


async def work_report(
    view: TurnView, answer: str, workspace: Workspace, blobs: Blobs, diff: Diff
) -> str:
    """Return task, plan, commands with exit codes, changes and answer, each cut to a limit."""
    parts = ["# Task", _cut("\n".join(view.user_words), _MAX_TASK_CHARS)]
    if view.session.plan:
        parts += ["# Plan", *(f"- {one.text} ({one.status})" for one in view.session.plan)]
    if commands := list(_commands(view))[-_MAX_COMMANDS:]:
        parts += ["# Commands that were run", *commands]
    changes = "".join([part async for part in _diffs(view, workspace, blobs, diff)])
    parts += ["# Changes", _cut(changes, _MAX_DIFF_CHARS) or "No file was changed."]
    parts += ["# Answer", _cut(answer, _MAX_ANSWER_CHARS) or "(empty)"]
    return "\n".join(parts)


def _commands(view: TurnView) -> Iterator[str]:
    started: dict[str, str] = {}
    for stored in view.turn.events:
        match stored.event:
            case ToolCallStarted(call_id=call_id, arguments_json=arguments):
                started[call_id] = arguments
            case ToolCallFinished(result=result):
                match result.data, started.get(result.call_id, ""):
                    case {"exit_code": code}, str(arguments) if arguments:
                        how = result.not_run or result.bad_exit or f"exit code {code}"
                        yield f"- {_command(arguments)}: {how}"
                    case _:
                        pass
            case _:
                pass


def _command(arguments_json: str) -> str:
    return str(parse_arguments(arguments_json).get("command", ""))[:200]


async def _diffs(
    view: TurnView, workspace: Workspace, blobs: Blobs, diff: Diff
) -> AsyncIterator[str]:
    for path, touched in view.turn.touched.items():
        try:
            before = await blobs.get_blob(touched.before_blob) if touched.before_blob else b""
            now = await workspace.snapshot(path) or b""
        except (StoreError, WorkspaceError):
            continue
        if before is None or len(before) + len(now) > _MAX_DIFFED_BYTES:
            yield f"{path} (too large to show)\n"
            continue
        texts = before.decode("utf-8", "replace"), now.decode("utf-8", "replace")
        yield await off_loop(len(before) + len(now), partial(diff, *texts, path))


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[:chars]}\n… (cut)"
