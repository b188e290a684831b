"""What to do when a model writes its edits into the text: take them as calls of the edit tools.

Only where the user asked for a change. A diff may as well be a proposal, or tell what is done.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.modes import Mode
from agent_ls.domain.record import Record
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import Accept, Fail, Reask, RecoveryVerdict, TakeCalls
from agent_ls.edits.printed_blocks import Blocks, Patch, printed_blocks
from agent_ls.loop.evidence.user_intent import asks_for_change, wants_no_action
from agent_ls.loop.extension_points import Attempt
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.view import TurnView


class PrintedEditsOptions(Record):
    """Whether text is looked through for edits."""

    enabled: bool = True
    """Carry out diffs and SEARCH/REPLACE blocks that a model printed, where a change was asked."""
    max_reasks: int = Field(default=2, ge=0)
    """How often, in one step, an edit that is not whole is asked for again.

    Then the turn ends as ``incomplete_action``.
    """


@dataclass(frozen=True, slots=True)
class PrintedEdits:
    """Takes SEARCH/REPLACE blocks, unified diffs and patches from the text of an answer.

    Source: models trained on the formats of other agents.
    """

    name: ClassVar[str] = "printed_edits"
    workspace: Workspace
    options: PrintedEditsOptions = PrintedEditsOptions()

    async def judge(self, attempt: Attempt, view: TurnView) -> RecoveryVerdict:
        is_plain = attempt.error is None and not attempt.calls and not attempt.cut_calls
        if not self.options.enabled or not is_plain or not _may_edit(view):
            return Accept()
        found = printed_blocks(attempt.text)
        if found is None:
            return Accept()
        if found.is_broken:
            return self._again(view)
        paths = [path for edit in found.edits for path in _paths(edit)]
        if any(path in view.turn.touched for path in paths):
            # More likely the model tells what it has done.
            return Accept()
        for edit in found.edits:
            for path in _needed(edit):
                if not await self.workspace.exists(path):
                    return Accept()
        calls = [await self._call(edit) for edit in found.edits]
        return TakeCalls(calls=tuple(calls), text=found.text)

    def _again(self, view: TurnView) -> RecoveryVerdict:
        if view.recoveries(self.name) >= self.options.max_reasks:
            return Fail(
                StopReason.INCOMPLETE_ACTION,
                "The model writes its edits into the text of its answer, and not whole, so they "
                "were not made. Prompt again, or use another model.",
            )
        return Reask(
            "The edit in your answer is not whole, or names no file, so nothing was changed. "
            "Call edit_file or apply_patch with it."
        )

    async def _call(self, edit: Blocks | Patch) -> tuple[str, str]:
        if isinstance(edit, Patch):
            return "apply_patch", json.dumps({"patch": edit.source})
        if edit.is_creation and not await self.workspace.exists(edit.path):
            content = edit.requests[0].new + "\n"
            return "write_file", json.dumps({"path": edit.path, "content": content})
        edits = [
            {"old_string": request.old, "new_string": request.new}
            | ({} if request.line is None else {"line": request.line})
            for request in edit.requests
        ]
        return "edit_file", json.dumps({"path": edit.path, "edits": edits})


def _may_edit(view: TurnView) -> bool:
    """Say whether the user asked for a change, in a mode that makes it."""
    is_reading = view.mode is Mode.PLAN or view.turn.text_only
    return (
        not is_reading and asks_for_change(view.user_words) and not wants_no_action(view.user_words)
    )


def _paths(edit: Blocks | Patch) -> Iterator[str]:
    if isinstance(edit, Blocks):
        yield edit.path
        return
    for file in edit.files:
        yield file.path


def _needed(edit: Blocks | Patch) -> Iterator[str]:
    """Yield the files that have to exist."""
    if isinstance(edit, Blocks):
        if not edit.is_creation:
            yield edit.path
        return
    for file in edit.files:
        if file.kind != "create":
            yield file.path
