"""Writes the matrix of editors and abilities into `docs/editors.md`, from the tests' own table.

Run it with `make generate`; a test says when the page is stale.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.editors.abilities import EDITORS, KEYS, LIMITS, STORIES

PAGE = Path(__file__).parents[1] / "docs" / "editors.md"
BEGIN, END = "<!-- abilities -->\n", "<!-- end of abilities -->\n"


def matrix() -> str:
    """Return the table: a row for each ability, a column for each editor, then the limits."""
    rows = [
        ["the user …", *(editor.title for editor in EDITORS.values())],
        ["---", *("---" for _ in EDITORS)],
    ]
    notes: list[str] = []
    for ability in STORIES:
        cells: list[str] = []
        for editor in EDITORS:
            limit = LIMITS.get((editor, ability))
            if limit is not None and limit not in notes:
                notes.append(limit)
            cells.append("✓" if limit is None else f"no ({notes.index(limit) + 1})")
        rows.append([ability, *cells])
    keys = [str(KEYS.get(editor, "–")) for editor in EDITORS]
    rows.append(["keys from the wish to the kept change", *keys])
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    said = "".join(f"{number}. {note}\n" for number, note in enumerate(notes, 1))
    return f"{BEGIN}{table}\n{said}{END}" if said else f"{BEGIN}{table}{END}"


def page() -> str:
    """Return the whole page with the matrix of now."""
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    return before + matrix() + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
