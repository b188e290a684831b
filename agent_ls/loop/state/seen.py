"""Which text of each file the model goes by: the one it read last, with its own edits since.

Pure. Texts are digests in the store; a range of lines that was read counts as the whole text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from pydantic import JsonValue

from agent_ls.domain.events import EditIntended

_MAX_EDITS = 20
"""Of one file, each on a text that others had changed; then the last of them counts as read."""


@dataclass(frozen=True, slots=True)
class SeenFile:
    """What the model knows of one file."""

    text: str
    """The digest of the text it read or wrote as a whole."""
    edits: tuple[tuple[str, str], ...] = ()
    """Its edits since of texts that it had not seen: the digests before and after each."""
    is_read: bool = True
    """False: it was only shown names of what the text defines, and the store has no such text."""

    @property
    def newest(self) -> str:
        """Return the digest of the newest text that it read or made."""
        return self.edits[-1][1] if self.edits else self.text

    def edited(self, before: str, after: str) -> SeenFile:
        """Return what it knows after an edit of its own."""
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
    """Return what is known after a call's facts, which may be those of a read."""
    match data:
        case {"path": str(path), "text_blob": str(digest)}:
            return MappingProxyType({**seen, path: SeenFile(digest)})
        case {"listed": dict(listed)}:
            # Whoever has read a text does not know a newer one by its names.
            known = {path for path, one in seen.items() if one.is_read}
            names = {
                path: SeenFile(digest, is_read=False)
                for path, digest in listed.items()
                if path not in known and isinstance(digest, str)
            }
            return MappingProxyType({**seen, **names})
        case _:
            return seen


def after_edit(seen: Seen, intent: EditIntended, after: str | None) -> Seen:
    """Return what is known after an edit of the model's own; ``after`` is None for no file."""
    known = dict(seen)
    before = known.pop(intent.edit.path, None)
    if intent.edit.kind == "move":
        if before is not None:
            known[intent.edit.new_path] = before
    elif after is not None:
        was = intent.before_blob
        followed = None
        if before is not None and before.is_read and was is not None:
            followed = before.edited(was, after)
        known[intent.edit.path] = followed or SeenFile(after)
    return MappingProxyType(known)
