"""Whether a document has come to the text that an edit was to make.

Pure. Asked at every keystroke and at every place of an edit, so what a text is compared with is
worked out once, and one with other line ends is looked at where the edit begins and ends first.
"""

from __future__ import annotations

from functools import cached_property

from agent_ls.lsp.workspace.edit_proof import shared_ends

_PEEKED = 1000
"""Characters that are compared before all of a text is."""


class Wanted:
    """The text that an edit is to make, whatever line ends the editor makes uniform in it."""

    def __init__(self, before: str, expected: str) -> None:
        """Take the text before the edit and the one that it is to make."""
        self._before = before
        self._expected = expected
        self._has_ends = "\r" in expected

    def is_in(self, now: str) -> bool:
        """Say whether a text is the wanted one."""
        if now == self._expected:
            return True
        # Where the line ends are all that was to change, they count.
        if not (self._has_ends or "\r" in now) or self._is_of_ends:
            return False
        return self._may_be(now) and _plain(now) == self._plain

    def _may_be(self, now: str) -> bool:
        """Say whether the texts are alike where the edit begins and where it ends."""
        (head, at), (tail, to) = self._ends
        start, end = now[:_PEEKED], now[-_PEEKED:]
        if head and now.startswith(head):
            start = now[len(head) : len(head) + _PEEKED]
        else:
            at = 0
        if tail and now.endswith(tail):
            back = len(now) - len(tail)
            end = now[max(0, back - _PEEKED) : back]
        else:
            to = len(self._plain)
        return self._plain.startswith(_plain(start), at) and self._plain.endswith(
            _plain(end), 0, to
        )

    @cached_property
    def _plain(self) -> str:
        return _plain(self._expected)

    @cached_property
    def _is_of_ends(self) -> bool:
        return _plain(self._before) == self._plain

    @cached_property
    def _ends(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """What stands before and behind the edit, and where that ends and begins as plain text."""
        before = self._before
        head, tail = shared_ends(before, self._expected)
        # A line end of two characters is on one side or the other.
        first = before[:head].removesuffix("\r")
        last = before[len(before) - tail :].removeprefix("\n")
        return (first, len(_plain(first))), (last, len(self._plain) - len(_plain(last)))


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
