"""A part of one line that the file has in other characters: typographic ones, or a normal form.

Whole lines are found elsewhere; this finds what stands inside one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from agent_ls.edits.characters import unclear_in
from agent_ls.edits.keys import MAX_CARRIED, carried, conversions, plain, units
from agent_ls.edits.locate import MAX_ALL_DRIFTED, Ground
from agent_ls.edits.texts import Texts


def fragments(ground: Ground, wish: Texts) -> list[tuple[int, Texts]]:
    """Return where the old text stands in other characters, and the wish in the file's.

    Shape: offsets into the flat text; empty for more than a part of a line.
    """
    if "\n" in wish.old or max(len(wish.old), len(wish.new)) > MAX_CARRIED:
        return []
    found: list[tuple[int, Texts]] = []
    key = plain(wish.old)
    is_ascii = wish.old.isascii()
    for number, line in enumerate(ground.file.lines):
        if len(found) > MAX_ALL_DRIFTED:
            break
        if (is_ascii and line.isascii()) or key not in plain(line):
            continue
        for start, end in _within(line, key):
            there = line[start:end]
            table = conversions([(wish.old, there)])
            if unclear_in(ground, table, [wish.new], there):
                return []
            new = carried(wish.old, wish.new, there, table)
            found.append((ground.file.starts[number] + start, replace(wish, old=there, new=new)))
    return found


def _within(line: str, key: str) -> Iterator[tuple[int, int]]:
    """Yield where the line says the same as the key, by whole characters."""
    pieces = units(line)
    whole = "".join(name for name, _ in pieces)
    at = whole.find(key)
    if at < 0:
        return
    # From each place in what the line counts as to the place in the line itself.
    starts: dict[int, int] = {0: 0}
    here = there = 0
    for name, piece in pieces:
        here, there = here + len(name), there + len(piece)
        starts[here] = there
    while at >= 0:
        if at in starts and at + len(key) in starts:
            yield starts[at], starts[at + len(key)]
        at = whole.find(key, at + 1)
