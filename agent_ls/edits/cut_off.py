"""Diffs that end too early: what came of the message is no whole edit.

Owns when the numbers of a header prove that. Most wrong ones prove nothing, as models miscount.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.edits.requests import Hunk, Refused

CUT_OFF = Refused(
    "The diff is cut off: its last hunk ends with a removed line, and its header counts more lines "
    "before and after. Send it whole, or count the lines right.",
    "malformed",
)


def is_cut_off(hunk: Hunk, counts: Sequence[int], body: Sequence[str]) -> bool:
    """Tell whether the last hunk lacks what was to come behind it.

    Shape: it ends with a line that goes, none comes, and ``counts`` (lines before, lines after) say
    that lines of both follow. ``body`` is all text behind the header.
    """
    last = max((number for number, line in enumerate(body) if line.strip()), default=0)
    is_removal = bool(hunk.lines) and all(line.sign != "+" for line in hunk.lines)
    if not is_removal or not body[last].startswith("-"):
        return False
    # Blank lines below may be context, all but the one that ends the message.
    blanks = max(0, len(body) - last - 2)
    shown = (len(hunk.old), len(hunk.new))
    return all(said > have + blanks for said, have in zip(counts, shown, strict=True))
