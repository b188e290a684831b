"""Tracks which text of each file the model knows: the last it read, plus its own edits.

Texts are digests of stored blobs. Reading a range of lines counts as reading the whole text. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from pydantic import JsonValue

from agent_ls.domain.events import EditIntended

_MAX_EDITS = 20
"""Limit of ``SeenFile.edits``; beyond it the text after the last edit counts as read."""


@dataclass(frozen=True, slots=True)
class SeenFile:
    """What the model knows of one file."""

    text: str
    """Digest of the text that the model read or wrote as a whole."""
    edits: tuple[tuple[str, str], ...] = ()
    """The model's later edits on texts it had not seen: the digests before and after each."""

    @property
    def newest(self) -> str:
        """Return the digest of the newest text the model read or wrote."""
        return self.edits[-1][1] if self.edits else self.text

    def edited(self, before: str, after: str) -> SeenFile:
        """Return the entry after an edit by the model."""
        if before == self.newest:
            last = self.edits[-1:]
            kept = tuple((was, after) for was, _ in last)
            return SeenFile(self.text if last else after, (*self.edits[:-1], *kept))
        if len(self.edits) == _MAX_EDITS:
            return SeenFile(after)
        return replace(self, edits=(*self.edits, (before, after)))


Seen = Mapping[str, SeenFile]
"""By path, as calls spell it."""


def after_result(seen: Seen, data: JsonValue) -> Seen:
    """Return what the model knows after a call's result, if it was a read."""
    match data:
        case {"path": str(path), "text_blob": str(digest)}:
            return MappingProxyType({**seen, path: SeenFile(digest)})
        case _:
            return seen


def after_edit(seen: Seen, intent: EditIntended, after: str | None) -> Seen:
    """Return what the model knows after its own edit; ``after`` is None when no file is left."""
    known = dict(seen)
    before = known.pop(intent.edit.path, None)
    if intent.edit.kind == "move":
        if before is not None:
            known[intent.edit.new_path] = before
    elif after is not None:
        was = intent.before_blob
        followed = None
        if before is not None and was is not None:
            followed = before.edited(was, after)
        known[intent.edit.path] = followed or SeenFile(after)
    return MappingProxyType(known)
