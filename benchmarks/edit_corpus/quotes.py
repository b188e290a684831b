"""The search-and-replace cases of one truth."""

from __future__ import annotations

import random
from collections.abc import Iterator

# Each of these adds its drifts to the tables, in this order.
from benchmarks.edit_corpus import dress, refused, texts  # noqa: F401
from benchmarks.edit_corpus.truths import Case, Truth, whole
from benchmarks.edit_corpus.windows import APPLY, REFUSE, times, window_of

_CERTAIN = ("exact", "twice", "numbered", "elided", "crlf", "bom", "no-final", "blank", "trailing")


def edits(truth: Truth) -> Iterator[Case]:
    """Yield the search-and-replace cases of one truth."""
    rng = random.Random(truth.seed)
    text = whole(truth.lines)
    change = rng.choice(truth.changes)
    for table in (APPLY, REFUSE):
        for name, bend in table.items():
            least = (
                3
                if name.startswith(("context", "elided", "blank", "twin"))
                else rng.choice((0, 1, 2, 3))
            )
            if name.startswith("elided"):
                least = 6
            window = window_of(truth, change, text, least)
            if window is None or not "".join(window.old).strip():
                continue
            found = bend(rng, truth, window, text)
            if found and table is APPLY and not name.startswith(_CERTAIN) and (
                times(truth.lines, window.old) > 1 or found[1].old in found[0]
            ):  # fmt: skip
                # What is unique only by what the drift takes away is not certain any more.
                continue
            if found:
                yield Case("search-replace", name, truth.path, *found)
