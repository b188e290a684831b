"""Which file each edit was of, while files get names that others had before.

Pure. A name is that of the file that got it last; one that had it before, and is gone, is beneath,
and has the name again as soon as that other file has gone elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from agent_ls.review.touches import Touch


@dataclass(frozen=True, slots=True)
class Lineage:
    """What happened to one file since a moment."""

    touches: Sequence[Touch]
    """Oldest first; never none."""
    is_gone: bool = False
    """It was taken away last: it stands nowhere."""
    is_covered: bool = False
    """Another file has its name now."""

    @property
    def stands(self) -> bool:
        """Say whether it is where its name leads."""
        return not self.is_gone and not self.is_covered

    @property
    def path(self) -> str:
        """Return where it is, or was last."""
        return self.touches[-1].new_path

    def made(self, hunk_id: str) -> bool:
        """Say whether a hunk is of one of its touches."""
        return bool(self.those_that_made((hunk_id,)))

    def those_that_made(self, hunk_ids: Iterable[str]) -> list[Touch]:
        """Return the touches that one of these hunks is of."""
        names = names_in(hunk_ids)
        return [one for one in self.touches if one.at in names]

    def decided_about(self, hunk_ids: Collection[str]) -> bool:
        """Say whether the review touched it for the sake of one of these hunks."""
        decisions = (one.decision for one in self.touches if one.decision is not None)
        return any(not set(one.hunks).isdisjoint(hunk_ids) for one in decisions)

    @property
    def origin(self) -> str:
        """Return where it was at the moment."""
        return self.touches[0].path


@dataclass(slots=True)
class _Line:
    """One file: its name, and the numbers of its touches, oldest first."""

    name: str
    numbers: list[int]


class Lineages:
    """Every touch with the file that it was of."""

    def __init__(self) -> None:
        """Know of no file."""
        self.touches: list[Touch] = []
        """Oldest first."""
        self._on_top: dict[str, _Line] = {}
        self._beneath: list[_Line] = []
        """The one that was covered last comes last."""

    def copied(self) -> Lineages:
        """Return the same, to go on from here by itself."""
        other = Lineages()
        other.touches = list(self.touches)
        other._on_top = {
            name: _Line(one.name, [*one.numbers]) for name, one in self._on_top.items()
        }
        other._beneath = [_Line(one.name, [*one.numbers]) for one in self._beneath]
        return other

    def keep(self, touch: Touch) -> None:
        """Take the next touch in."""
        line = self._brought_back(touch) or self._on_top.get(touch.path) or _Line(touch.path, [])
        self.touches.append(touch)
        line.numbers.append(len(self.touches) - 1)
        self._put(line, touch.new_path)

    def all(self) -> list[Lineage]:
        """Return every file that was touched, the one that was touched last first."""
        covered = [(one, True) for one in self._beneath]
        each = [*((one, False) for one in self._on_top.values()), *covered]
        each.sort(key=lambda one: one[0].numbers[-1], reverse=True)
        return [self._lineage(line, is_covered=is_covered) for line, is_covered in each]

    def of(self, path: str) -> Lineage | None:
        """Return all that happened to the file that had this path last."""
        line = self._on_top.get(path)
        return None if line is None else self._lineage(line, is_covered=False)

    def today(self, path: str) -> Lineage | None:
        """Return what happened to the file of today under a path; None where none is known."""
        touches = [self.touches[number] for number in self.numbers_of(path)]
        return Lineage(touches) if touches else None

    def that_made(self, hunk_ids: Collection[str]) -> Lineage | None:
        """Return all that happened to the file that one of these hunks was made in first."""
        names = names_in(hunk_ids)
        made = (number for number, one in enumerate(self.touches) if one.at in names)
        if (first := next(made, None)) is None:
            return None
        covered = [(one, True) for one in self._beneath]
        each = [*((one, False) for one in self._on_top.values()), *covered]
        line, is_covered = next(one for one in each if first in one[0].numbers)
        return self._lineage(line, is_covered=is_covered)

    def _lineage(self, line: _Line, *, is_covered: bool) -> Lineage:
        touches = [self.touches[number] for number in line.numbers]
        return Lineage(touches, self._is_gone(line), is_covered)

    def numbers_of(self, path: str) -> list[int]:
        """Return the numbers of the touches of the file of today under a path, oldest first.

        Shape: none of before the agent took it away, unless the review brought it back.
        """
        line = self._on_top.get(path)
        return [] if line is None or self._is_gone(line) else line.numbers[self._began(line) :]

    def rename(self, path: str, new_path: str) -> None:
        """Let the file of today under a path have another name, wherever it had this one."""
        line = self._on_top.get(path)
        if line is None or self._is_gone(line):
            return
        began = self._began(line)
        for number in line.numbers[began:]:
            one = self.touches[number]
            old, new = (new_path if name == path else name for name in (one.path, one.new_path))
            self.touches[number] = replace(one, path=old, new_path=new)
        older, line.numbers = line.numbers[:began], line.numbers[began:]
        self._put(line, new_path)
        if older:
            self._put(_Line(path, older), path)

    def _put(self, line: _Line, name: str) -> None:
        if self._on_top.get(line.name) is line:
            del self._on_top[line.name]
        self._beneath = [one for one in self._beneath if one is not line]
        line.name = name
        if (other := self._on_top.pop(name, None)) is not None:
            self._beneath.append(other)
        self._on_top[name] = line
        for one in reversed(self._beneath):
            if one.name not in self._on_top:
                self._on_top[one.name] = one
        shown = set(map(id, self._on_top.values()))
        self._beneath = [one for one in self._beneath if id(one) not in shown]

    def _brought_back(self, touch: Touch) -> _Line | None:
        """Return the file that the review brought back by this touch, if it did so."""
        if not touch.brings_back or touch.decision is None:
            return None
        top = self._on_top.get(touch.path)
        those = [*([top] if top else []), *reversed(self._beneath)]
        gone = [one for one in those if one.name == touch.path and self._is_gone(one)]
        if touch.decision.decision == "restore":
            # What a restore took away was not there at its moment; it brings another file back.
            gone = [one for one in gone if not self._was_restored(one)] or gone
        for one in gone:
            if any(map(self._lineage(one, is_covered=False).made, touch.decision.hunks)):
                return one
        return gone[0] if gone else None

    def _was_restored(self, line: _Line) -> bool:
        decision = self.touches[line.numbers[-1]].decision
        return decision is not None and decision.decision == "restore"

    def _is_gone(self, line: _Line) -> bool:
        return self.touches[line.numbers[-1]].is_gone

    def _began(self, line: _Line) -> int:
        """Return the index of the first touch of the file that a line ends with."""
        for index in range(len(line.numbers) - 1, 0, -1):
            before, after = (self.touches[number] for number in line.numbers[index - 1 : index + 1])
            if before.is_gone and not after.brings_back:
                return index
        return 0


def names_in(hunk_ids: Iterable[str]) -> set[str]:
    """Return the names of edits that these ids may begin with."""
    found = set[str]()
    for one in hunk_ids:
        while one:
            found.add(one)
            one = one.rpartition(".")[0]
    return found
