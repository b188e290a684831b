"""Which files a command moved: what went from one place and came to another.

A file that is moved keeps its inode, size and time; a copy is known by its digest. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from agent_ls.workspace.editors_part import FileChange
from agent_ls.workspace.seen_files import Seen, identity


def with_moves(changes: Sequence[FileChange]) -> tuple[list[FileChange], dict[Path, Path]]:
    """Return the changes, where what is known of one side of a moved file is known of the other;
    and the other place of each such file whose bytes nobody kept.
    """
    known = {one.path: one for one in changes}
    others: dict[Path, Path] = {}
    for path, new_path in _pairs(changes):
        gone, came = known[path], known[new_path]
        assert gone.before is not None
        assert came.after is not None
        before, after = _completed(gone.before, came.after), _completed(came.after, gone.before)
        known[path] = replace(gone, before=before)
        known[new_path] = replace(known[new_path], after=after)
        if before.data is None:
            others |= {path: new_path, new_path: path}
    return [known[one.path] for one in changes], others


def _completed(seen: Seen, other: Seen) -> Seen:
    data = seen.data if seen.data is not None else other.data
    return replace(seen, data=data, digest=seen.digest or other.digest, is_text=other.is_text)


def _pairs(changes: Sequence[FileChange]) -> Iterator[tuple[Path, Path]]:
    """Yield from where and to where files were moved."""
    gone = [(one.path, one.before) for one in changes if one.before and not _stays(one)]
    came = [(one.path, one.after) for one in changes if one.after and not _stays(one)]
    found = dict(_matching(gone, came, lambda seen: identity(seen.signature)))
    yield from found.items()
    taken = set(found.values())
    gone = [(path, seen) for path, seen in gone if path not in found and seen.digest]
    if any(seen.data is None for _, seen in gone):
        came = [(path, seen) for path, seen in came if path not in taken]
        yield from _matching(gone, came, lambda seen: seen.image.digest)


def _matching(
    gone: Iterable[tuple[Path, Seen]],
    came: Iterable[tuple[Path, Seen]],
    key: Callable[[Seen], Hashable],
) -> Iterator[tuple[Path, Path]]:
    by_key: dict[Hashable, list[tuple[Path, Seen]]] = {}
    for path, seen in came:
        by_key.setdefault(key(seen), []).append((path, seen))
    for path, seen in gone:
        there = by_key.get(key(seen))
        if there and there[-1][1].is_same(seen):
            yield path, there.pop()[0]


def _stays(change: FileChange) -> bool:
    """Say whether the file at this place is the same one, whatever was written into it."""
    before, after = change.before, change.after
    return before is not None and after is not None and before.signature[0] == after.signature[0]
