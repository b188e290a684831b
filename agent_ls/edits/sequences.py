"""Edits of one call that build on each other, which none may: each is of the text before the call.

Owns what only another edit of the call brings into the file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from agent_ls.edits.keys import stripped
from agent_ls.edits.requests import Refused
from agent_ls.edits.texts import Texts

BUILT = Refused(
    "The old text has a line that is not in the file and that another edit of the call adds.",
    "not-found",
)
IN_SEQUENCE = (
    "\nEach edit of a call is looked for in the text as it was before the call, so none may "
    "build on another: give its old_string as that text has it."
)


class Added:
    """What the edits of one call bring into a file, looked up once for all of them."""

    def __init__(self, flat: str, wishes: Mapping[int, Texts]) -> None:
        """Read all edits of the call, by their numbers."""
        self._flat = flat
        self._lines: dict[str, set[int]] = defaultdict(set)
        self._texts: dict[str, set[int]] = defaultdict(set)
        for number, wish in wishes.items() if len(wishes) > 1 else ():
            self._texts[wish.new].add(number)
            for line in _lines(wish.new) - _lines(wish.old):
                self._lines[line].add(number)

    def is_in(self, number: int, old: str) -> bool:
        """Tell whether an old text has a line that only another edit adds, or is what one makes.

        Shape: ``number`` is the edit's that the old text belongs to.
        """
        if not self._texts:
            return False
        if self._texts[old] - {number} and old not in self._flat:
            return True
        return any(
            self._lines[line] - {number} and line not in self._flat
            for line in _lines(old)
            if line in self._lines
        )


def _lines(text: str) -> set[str]:
    return {line for line in map(stripped, text.split("\n")) if line}
