"""Tags of one file: its definitions, and how often it uses which names in which form.

Makes tags of a text, and converts them to and from one line of JSON.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import Any, cast

from agent_ls.syntax.choosing import parsed
from agent_ls.syntax.definitions import definitions, signature
from agent_ls.syntax.languages import Language
from agent_ls.syntax.words import uses

MAX_TAGGED_BYTES = 1_000_000
"""Larger files are usually generated."""
_MAX_MEAN_LINE_BYTES = 400
"""Text with longer lines on average was not written by a user."""
MAX_USES = 3_000
_MIN_USE_CHARS = 3


@dataclass(frozen=True, slots=True)
class Tag:
    """One definition."""

    qualified: str
    kind: str
    depth: int
    line: int
    signature: str

    @property
    def name(self) -> str:
        """Return the last part of the qualified name."""
        return self.qualified.rpartition(".")[2] or self.qualified


@dataclass(frozen=True, slots=True)
class Tags:
    """The definitions and uses in one text."""

    defined: tuple[Tag, ...]
    uses: str
    """Distinct uses, as in ``words.uses``, separated by blanks."""
    counts: tuple[int, ...]
    """Count of each use, at most 255."""

    def may_use(self, name: str) -> bool:
        """Tell whether the text may contain the name; True if unsure, as for short names."""
        if (
            len(name) < _MIN_USE_CHARS
            or len(self.counts) >= MAX_USES - 1
            or not name.isidentifier()
        ):
            return True
        return name in self.uses


NOTHING = Tags((), "", ())


def tags_of(data: bytes, language: Language) -> Tags:
    """Return the tags of a text; none for binary, generated or unparsable data."""
    if len(data) > MAX_TAGGED_BYTES or b"\0" in data[:8_192]:
        return NOTHING
    if len(data) > 10_000 and len(data) > _MAX_MEAN_LINE_BYTES * (data.count(b"\n") + 1):
        return NOTHING
    language, tree = parsed(data, language, max_bytes=MAX_TAGGED_BYTES)
    if tree is None:
        return NOTHING
    found = tuple(
        Tag(one.qualified, one.kind, one.depth, one.name_row + 1, signature(one, data))
        for one in definitions(tree, data, language)
    )
    counted = uses(data.decode("utf-8", "replace"), language)
    used = counted.most_common(MAX_USES) if len(counted) > MAX_USES else counted.items()
    kept = [one for one in used if len(one[0]) >= _MIN_USE_CHARS]
    # Counts need not be exact, so cap them.
    return Tags(found, " ".join(use for use, _ in kept), tuple(min(n, 255) for _, n in kept))


def to_line(path: str, signature_of_file: tuple[int, int], tags: Tags) -> bytes:
    """Return a file's tags as one line with a checksum."""
    rows = [[one.qualified, one.kind, one.depth, one.line, one.signature] for one in tags.defined]
    value = [path, *signature_of_file, rows, tags.uses, tags.counts]
    data = json.dumps(value, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(data), data)


def from_line(line: bytes) -> tuple[str, tuple[int, int], Tags] | None:
    """Return path, size and time, and tags from a line; None if the checksum is wrong."""
    check, _, data = line.rstrip(b"\n").partition(b" ")
    try:
        if int(check, 16) != zlib.crc32(data):
            return None
        path, modified_ns, size, rows, used, counts = cast("list[Any]", json.loads(data))
        tags = Tags(tuple(Tag(*row) for row in rows), used, tuple(counts))
    except (ValueError, TypeError, RecursionError):
        return None
    return path, (modified_ns, size), tags
