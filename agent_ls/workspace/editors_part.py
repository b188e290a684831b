"""What of a file's change the editor did, and what is left for others: by what was written.

An editor tells late, or never, that it saved; then the times decide. It shows a text before it
writes it, and takes in what others wrote only after they did.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agent_ls.domain.images import is_text
from agent_ls.edits.encodings import forms, written_like
from agent_ls.loop.ports.workspace import EditorStep
from agent_ls.workspace.seen_files import Seen

REACTION_NS = 50_000_000
"""No editor takes in sooner than that what another program did to a file."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file as it was seen before and after a command; None: no file."""

    path: Path
    before: Seen | None
    after: Seen | None

    @property
    def is_none(self) -> bool:
        """Say whether both sides hold the same."""
        if self.before is None or self.after is None:
            return self.before is self.after
        return self.before.is_same(self.after)

    @property
    def came_ns(self) -> int:
        """Return when it came to be as it is, by the clock of the files."""
        if self.after is None:
            return folder_changed_ns(self.path)
        return max(self.after.signature[2:])


class EditorsPart:
    """What the editor did of the changes around one command."""

    def __init__(
        self, changes: Iterable[FileChange], began_ns: int, unsaved: Container[Path] = ()
    ) -> None:
        """Take all changes, when one began to look, and of which files the editor had a text then
        that the disk had not.
        """
        self._before = {one.path: one.before for one in changes}
        self._began_ns, self._unsaved = began_ns, unsaved

    def taken_from(self, change: FileChange, steps: Sequence[EditorStep]) -> FileChange:
        """Return what others changed: after what the editor did, or nothing."""
        before_ns = 0 if change.before is None else change.before.looked_ns
        after_ns = sys.maxsize if change.after is None else change.after.looked_ns
        for one in reversed(steps):
            # What was done before the first look was seen by it, and after the last one, by none.
            if one.is_done and before_ns <= one.at_ns <= after_ns:
                change = replace(change, before=self._left(change, one))
                break
        is_editors = not change.is_none and self._is_editors(change, steps)
        return replace(change, before=change.after) if is_editors else change

    def _is_editors(self, change: FileChange, steps: Sequence[EditorStep]) -> bool:
        """Say whether what a file holds at last was written by the editor."""
        next_done_ns = sys.maxsize
        for one in reversed(steps):
            if one.is_done and one.at_ns < change.came_ns - REACTION_NS:
                # Somebody has written it since, and what it was before that save is no more.
                return False
            if one.is_done:
                next_done_ns = one.at_ns
            is_cause = one.is_done or self._is_cause(change, one, next_done_ns)
            if is_cause and _holds(change.after, one):
                return True
        return False

    def _is_cause(self, change: FileChange, step: EditorStep, next_done_ns: int) -> bool:
        """Say whether it was the editor's text first, and not the file's."""
        if step.text is None:
            return change.came_ns <= step.at_ns + REACTION_NS
        if step.at_ns < self._began_ns:
            return change.path in self._unsaved and not _holds(change.before, step)
        # Nobody loads a file again, types and saves in that time.
        return min(step.at_ns - change.came_ns, next_done_ns - step.at_ns) <= REACTION_NS

    def _left(self, change: FileChange, step: EditorStep) -> Seen | None:
        """Return the file as the editor left it."""
        if step.text is None:
            return None
        if step.origin is not None:
            return self._before.get(step.origin) or change.after
        known = change.before or change.after
        data = step.data
        if data is None:
            data = written_like(step.text, None if known is None else known.data)
        if known is None:
            return Seen((0, len(data), 0, 0), None, data, None, is_text(data))
        return replace(known, data=data, digest=None, is_text=is_text(data))


def _holds(seen: Seen | None, step: EditorStep) -> bool:
    """Say whether a file is as a step left it."""
    if seen is None or step.text is None:
        return seen is None and step.text is None
    if step.origin is not None:
        return False
    if step.data is not None:
        return seen.is_same(replace(seen, data=step.data, digest=None))
    if seen.data is not None:
        return seen.data in forms(step.text)
    digest = seen.image.digest
    return any(hashlib.sha256(one).hexdigest() == digest for one in forms(step.text))


def folder_changed_ns(path: Path) -> int:
    """Return when something was made in, or taken from, the folder that a path is in."""
    for folder in path.parents:
        try:
            return folder.stat().st_mtime_ns
        except OSError:
            continue
    return 0
